/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rules of permissions say to a call. Linked into vault and engine; models make the
 * calls. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "brain/policy/rules_private.h"
#include "common/json.h"
#include "common/path.h"

#define PATHS_MAX 2		/* of one call */

/* What is found out of a call when the first rule wants to know it. */
struct look {
	const struct policy_call *call;
	unsigned tool;			/* its bit, or 0 */
	bool command_read, paths_read;
	bool paths_unseen;		/* one could not be looked at */
	struct command command;
	char paths[PATHS_MAX][ATS_PATH_MAX];
	size_t npaths;
};

static bool
names_it(const struct rule *r, const struct look *l)
{
	if (l->call->kind == POLICY_SANDBOX)
		return (r->tools & l->tool) != 0;
	return strncmp(l->call->tool, r->name, r->name_n) == 0 &&
	       (r->open || l->call->tool[r->name_n] == '\0');
}

/* path as tools take it: relative to the directory of the call, ~ is HOME. */
static void
add_path(struct look *l, const char *dir, const char *path)
{
	const char *home = l->call->home;
	char *to = l->paths[l->npaths];

	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/') && home != NULL) {
		dir = home;
		for (path++; *path == '/'; path++)
			continue;
		path = *path == '\0' ? "." : path;
	}
	if (ats_path_join(dir, path, to, ATS_PATH_MAX) == 0)
		l->npaths++;
	else
		l->paths_unseen = true;
}

static bool
get_string(struct look *l, const char *name, struct ats_buf *out)
{
	struct ats_json_val v;
	int rc;

	ats_buf_reset(out);
	if (!ats_json_get(l->call->args, name, &v) || v.type != ATS_JSON_STRING)
		return false;
	rc = ats_json_to_str(&v, out);
	l->paths_unseen = l->paths_unseen || rc < 0;
	return rc == 0 && out->len > 0;
}

/* The file of the call; where it searches. */
static void
read_paths(struct look *l)
{
	static const char *const names[] = { "file_path", "notebook_path", "path" };
	const struct policy_call *call = l->call;
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	bool found = false;

	l->paths_read = true;
	ats_buf_init(&text, 2 * ATS_PATH_MAX);
	for (size_t i = 0; i < ATS_ARRAY_LEN(names) && !found; i++) {
		found = get_string(l, names[i], &text);
		if (found)
			add_path(l, call->cwd, text.data);
	}
	if (!found && (l->tool & policy_tools_of_profile(PROFILE_READ)) != 0)
		add_path(l, call->cwd, ".");
	/* A pattern of Glob can lead elsewhere, as far as it is no pattern. */
	if (strcmp(call->tool, "Glob") == 0 && get_string(l, "pattern", &text)) {
		size_t n = strcspn(text.data, "*?[{\\");

		while (n > 0 && text.data[n] != '\0' && text.data[n - 1] != '/')
			n--;
		ats_buf_truncate(&text, n);
		if (n > 0)
			add_path(l, l->npaths > 0 ? l->paths[0] : call->cwd, text.data);
	}
}

static struct command *
command_of(struct look *l)
{
	if (!l->command_read)
		command_read(l->call->args, &l->command);
	l->command_read = true;
	return &l->command;
}

/* Whether a rule that denies or asks is about this call: any part of it counts. */
static bool
concerns(const struct rule *r, struct look *l)
{
	const struct command *c;

	if (!names_it(r, l))
		return false;
	if (r->path != NULL) {
		if (!l->paths_read)
			read_paths(l);
		for (size_t i = 0; i < l->npaths; i++)
			if (path_pattern_match(r->path, l->call, l->paths[i], true))
				return true;
		return l->paths_unseen;
	}
	if (r->command == NULL)
		return true;
	c = command_of(l);
	if (c->overflow || c->nomem)
		return true;
	for (size_t i = 0; i < c->nviews; i++)
		if (command_pattern_match(r->command, c->views[i], strlen(c->views[i]), NULL))
			return true;
	/* Any run of parts as it was written, so that what is before or behind it is the same. */
	if (c->text.len > 0)
		return command_pattern_match(r->command, c->text.data, c->text.len, c->marks);
	for (size_t i = 0; i < c->nparts; i++)
		if (command_pattern_match(r->command, c->parts[i].p, c->parts[i].n, NULL))
			return true;
	return false;
}

/* Programs that change nothing of what they start. */
static struct ats_slice
without_wrapper(struct ats_slice s)
{
	static const char *const plain[] = { "nohup ", "nice ", "time ", "timeout " };
	size_t n;

	for (size_t i = 0; i < ATS_ARRAY_LEN(plain); i++) {
		n = strlen(plain[i]);
		if (s.n <= n || memcmp(s.p, plain[i], n) != 0)
			continue;
		if (i == 3) {		/* its seconds */
			size_t k = n;

			while (k < s.n && (isdigit((unsigned char)s.p[k]) || s.p[k] == '.'))
				k++;
			if (k == n || k + 1 >= s.n)
				return s;
			n = s.p[k] == ' ' ? k + 1 : k + 2;
			if (s.p[n - 1] != ' ')
				return s;
		}
		return (struct ats_slice){ s.p + n, s.n - n };
	}
	return s;
}

static const struct rule *
allows_part(const struct policy_rules *r, const struct look *l, struct ats_slice part)
{
	for (;;) {
		struct ats_slice inner;

		for (size_t i = 0; i < r->n; i++)
			if (r->v[i].effect == POLICY_ALLOW && r->v[i].command != NULL &&
			    names_it(&r->v[i], l) &&
			    command_pattern_match(r->v[i].command, part.p, part.n, NULL))
				return &r->v[i];
		inner = without_wrapper(part);
		if (inner.n == part.n)
			return NULL;
		part = inner;
	}
}

/* The rule that allows the call: of a command each part must be allowed. */
static const struct rule *
allows(const struct policy_rules *r, struct look *l)
{
	const struct rule *by = NULL;
	const struct command *c;
	bool patterns = false;

	for (size_t i = 0; i < r->n; i++) {
		const struct rule *one = &r->v[i];
		bool all = true;

		if (one->effect != POLICY_ALLOW || !names_it(one, l))
			continue;
		if (one->command != NULL) {
			patterns = true;
			continue;
		}
		if (one->path != NULL && !l->paths_read)
			read_paths(l);
		for (size_t k = 0; one->path != NULL && k < l->npaths; k++)
			all = all && path_pattern_match(one->path, l->call, l->paths[k], false);
		if (all && (one->path == NULL || (l->npaths > 0 && !l->paths_unseen)))
			return one;
	}
	if (!patterns)
		return NULL;
	c = command_of(l);
	if (c->unclear || c->overflow || c->nomem)
		return NULL;
	for (size_t i = 0; i < c->nparts; i++) {
		by = allows_part(r, l, c->parts[i]);
		if (by == NULL)
			return NULL;
	}
	return by;
}

static const struct rule *
first_of(const struct policy_rules *r, enum policy_effect effect, struct look *l)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].effect == effect && concerns(&r->v[i], l))
			return &r->v[i];
	return NULL;
}

bool
policy_denies_all(const struct policy_rules *r, enum policy_kind kind, const char *tool)
{
	const struct policy_call call = { .kind = kind, .tool = tool };
	struct look l = { .call = &call };

	if (kind == POLICY_SANDBOX)
		l.tool = policy_tools_named(tool, strlen(tool), false);
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].effect == POLICY_DENY && r->v[i].command == NULL &&
		    r->v[i].path == NULL && names_it(&r->v[i], &l))
			return true;
	return false;
}

/* No rule is about it. */
static void
decide_without_rule(const struct policy_call *call, enum policy_default def,
    struct policy_decision *ret)
{
	static const char *const words[] = { "allow_reads", "ask", "deny", "allow" };

	ret->effect = POLICY_ALLOW;
	if (call->kind == POLICY_SANDBOX) {
		(void)snprintf(ret->why, sizeof(ret->why), "no rule of permissions is about it");
		return;
	}
	if (call->permission != POLICY_NONE) {
		ret->effect = call->permission;
		(void)snprintf(ret->why, sizeof(ret->why), "permission of the tool: %s",
		    policy_effect_name(call->permission));
		return;
	}
	if (def == POLICY_DEFAULT_DENY)
		ret->effect = POLICY_DENY;
	else if (def == POLICY_DEFAULT_ASK || (def == POLICY_ALLOW_READS && !call->read_only))
		ret->effect = POLICY_ASK;
	(void)snprintf(ret->why, sizeof(ret->why), "permissions.gateway_default: %s", words[def]);
}

void
policy_decide(const struct policy_rules *r, const struct policy_call *call,
    enum policy_default gateway_default, struct policy_decision *ret)
{
	struct look l = { .call = call, .tool = 0 };
	const struct rule *by;

	*ret = (struct policy_decision){ .effect = POLICY_NONE };
	if (call->kind == POLICY_SANDBOX)
		l.tool = policy_tools_named(call->tool, strlen(call->tool), false);
	by = first_of(r, POLICY_DENY, &l);
	if (by == NULL)
		by = first_of(r, POLICY_ASK, &l);
	if (by == NULL)
		by = allows(r, &l);
	if (by == NULL) {
		decide_without_rule(call, gateway_default, ret);
	} else {
		ret->effect = by->effect;
		ret->rule = by->text;
		ret->unseen = (by->command != NULL && (l.command.overflow || l.command.nomem)) ||
		    (by->path != NULL && l.paths_unseen);
		(void)snprintf(ret->why, sizeof(ret->why), "permissions.%s: %.160s%s",
		    policy_effect_name(by->effect), by->text,
		    ret->unseen ? " (the call cannot be looked at whole)" : "");
	}
	if (l.command_read)
		command_done(&l.command);
}
