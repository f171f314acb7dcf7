/* SPDX-License-Identifier: Apache-2.0
 *
 * The object of "hooks", in the form that Claude Code's settings have it. Runs in ats-brain at its
 * start, where the file is the user's own and every mistake is an error, and in hands' read
 * workers, where it is a repository's. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "proto/hooks.h"

struct reading {
	struct ats_hooks *h;
	const char *where;
	bool strict;
	struct ats_err *err;
	enum ats_hook_event event;
	char *matcher;			/* of the group, owned, or NULL */
	unsigned group, nr;		/* from 1, for texts */
};

static void
hook_done(struct ats_hook *k)
{
	free(k->matcher);
	free(k->command);
	for (size_t i = 0; i < k->nargs; i++)
		free(k->args[i]);
	free(k->args);
	memset(k, 0, sizeof(*k));
}

void
ats_hooks_done(struct ats_hooks *h)
{
	for (size_t i = 0; i < h->n; i++)
		hook_done(&h->v[i]);
	free(h->v);
	memset(h, 0, sizeof(*h));
}

static int ATS_PRINTF(2, 3)
wrong(struct reading *r, const char *fmt, ...)
{
	char text[400], at[120] = "";
	struct ats_err *err = r->strict ? r->err : &r->h->why;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r->nr > 0)
		(void)snprintf(at, sizeof(at), ".%s[%u].hooks[%u]",
		    ats_hook_event_rows[r->event].name, r->group, r->nr);
	else if (r->group > 0)
		(void)snprintf(at, sizeof(at), ".%s[%u]", ats_hook_event_rows[r->event].name,
		    r->group);
	if (r->strict)
		return ats_err_set(err, ATS_E_CONFIG, "%s%s: %s", r->where, at, text);
	if (r->h->skipped++ == 0)
		(void)ats_err_set(err, ATS_E_CONFIG, "%s%s: %s", r->where, at, text);
	return -ATS_E_CONFIG;
}

static int
nomem(struct reading *r)
{
	return ats_err_set(r->err, ATS_E_NOMEM, "%s: out of memory", r->where);
}

/* What is skipped of a lenient reading is no failure of it. */
static int
go_on(const struct reading *r, int rc)
{
	return !r->strict && rc == -ATS_E_CONFIG ? 0 : rc;
}

/* ---- one hook ------------------------------------------------------------------------------ */

static int
take_args(struct reading *r, struct ats_hook *k, const struct ats_json_val *v)
{
	struct ats_json_iter it;
	struct ats_slice none;
	struct ats_json_val e;
	size_t bytes = 0;

	if (v->type != ATS_JSON_ARRAY)
		return wrong(r, "args must be an array of strings");
	k->args = ats_calloc(ATS_HOOK_ARGS_MAX + 2, sizeof(*k->args));
	if (k->args == NULL)
		return nomem(r);
	k->nargs = 1;			/* the program comes there */
	ats_json_iter_init(&it, v->raw);
	while (ats_json_next(&it, &none, &e)) {
		char *s = k->nargs <= ATS_HOOK_ARGS_MAX ? ats_json_dup_str(&e) : NULL;

		if (s != NULL)
			k->args[k->nargs++] = s;
		if (s == NULL || (bytes += strlen(s)) > ATS_HOOK_COMMAND_MAX)
			return wrong(r, "args must be at most %u strings without NUL, of %u bytes",
			    ATS_HOOK_ARGS_MAX, ATS_HOOK_COMMAND_MAX);
	}
	return 0;
}

static int
take_timeout(struct reading *r, struct ats_hook *k, const struct ats_json_val *v)
{
	uint64_t s;

	if (ats_json_to_u64(v, &s) < 0 || s < 1 || s > ATS_HOOK_TIMEOUT_MAX_S)
		return wrong(r, "timeout must be a whole number of seconds from 1 to %u",
		    ATS_HOOK_TIMEOUT_MAX_S);
	k->timeout_ms = s * 1000;
	return 0;
}

static int
take_failure(struct reading *r, struct ats_hook *k, const struct ats_json_val *v)
{
	if (v->type == ATS_JSON_STRING && v->raw.n == 7 && memcmp(v->raw.p, "\"block\"", 7) == 0)
		k->blocks = true;
	else if (v->type != ATS_JSON_STRING || v->raw.n != 10 ||
	    memcmp(v->raw.p, "\"continue\"", 10) != 0)
		return wrong(r, "onFailure must be continue or block");
	return 0;
}

static int
take_member(struct reading *r, struct ats_hook *k, struct ats_slice key,
    const struct ats_json_val *v, bool *typed)
{
	if (ats_json_key_is(key, "type")) {
		*typed = v->type == ATS_JSON_STRING && v->raw.n == 9 &&
		    memcmp(v->raw.p, "\"command\"", 9) == 0;
		return *typed ? 0 : wrong(r, "type must be \"command\": hooks of other types "
		    "(%.*s) are not run", (int)(v->raw.n < 40 ? v->raw.n : 40), v->raw.p);
	}
	if (ats_json_key_is(key, "command")) {
		k->command = ats_json_dup_str(v);
		return k->command != NULL && k->command[0] != '\0' &&
		    strlen(k->command) <= ATS_HOOK_COMMAND_MAX ? 0 :
		    wrong(r, "command must be a string without NUL of 1 to %u bytes",
		        ATS_HOOK_COMMAND_MAX);
	}
	if (ats_json_key_is(key, "args"))
		return take_args(r, k, v);
	if (ats_json_key_is(key, "timeout"))
		return take_timeout(r, k, v);
	if (ats_json_key_is(key, "onFailure"))
		return take_failure(r, k, v);
	/* For people, and nothing follows from it. */
	if (!r->strict && ats_json_key_is(key, "statusMessage"))
		return 0;
	return wrong(r, "%.*s: unknown key; remove it or use one of: type, command, args, timeout, "
	    "onFailure", (int)(key.n < 60 ? key.n : 60), key.p);
}

static int
check_hook(struct reading *r, struct ats_hook *k, bool typed)
{
	if (!typed)
		return wrong(r, "type is missing; it must be \"command\"");
	if (k->command == NULL)
		return wrong(r, "command is missing");
	if (k->args == NULL)
		return 0;
	if (r->strict && k->command[0] != '/')
		return wrong(r, "\"%.100s\": with args, command must be the absolute path of a "
		    "program; no shell reads it", k->command);
	k->args[0] = ats_strdup(k->command);
	return k->args[0] != NULL ? 0 : nomem(r);
}

static int
read_hook(struct reading *r, struct ats_slice object, struct ats_hook *k)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	bool typed = false;
	int rc = 0;

	*k = (struct ats_hook){ .event = r->event, .timeout_ms = ATS_HOOK_TIMEOUT_MS };
	if (ats_json_type(object) != ATS_JSON_OBJECT)
		return wrong(r, "must be an object with type and command");
	ats_json_iter_init(&it, object);
	while (rc == 0 && ats_json_next(&it, &key, &v))
		rc = take_member(r, k, key, &v, &typed);
	if (rc == 0)
		rc = check_hook(r, k, typed);
	if (rc == 0 && r->matcher != NULL && (k->matcher = ats_strdup(r->matcher)) == NULL)
		rc = nomem(r);
	return rc;
}

static int
add_hook(struct reading *r, struct ats_slice object)
{
	struct ats_hook k;
	int rc;

	if (r->h->n >= ATS_HOOKS_MAX)
		return wrong(r, "there are more than %u hooks", ATS_HOOKS_MAX);
	rc = read_hook(r, object, &k);
	if (rc < 0) {
		hook_done(&k);
		return rc;
	}
	r->h->v[r->h->n++] = k;
	r->h->events |= ATS_HOOK_BIT(r->event);
	return 0;
}

/* ---- groups, events -------------------------------------------------------------------------- */

static int
take_matcher(struct reading *r, const struct ats_json_val *v)
{
	struct ats_err why = { 0 };

	free(r->matcher);
	r->matcher = ats_json_dup_str(v);
	if (r->matcher == NULL)
		return wrong(r, "matcher must be a string without NUL");
	if (ats_hook_matcher_check(r->matcher, &why) < 0)
		return wrong(r, "matcher: %.300s", why.text);
	if (r->strict && r->matcher[0] != '\0' && strcmp(r->matcher, "*") != 0 &&
	    ats_hook_event_rows[r->event].matched[0] == '\0')
		return wrong(r, "matcher: %s has nothing that one could look at",
		    ats_hook_event_rows[r->event].name);
	return 0;
}

static int
read_hooks_of(struct reading *r, const struct ats_json_val *list)
{
	struct ats_json_iter it;
	struct ats_slice none;
	struct ats_json_val v;
	int rc = 0;

	if (list->type != ATS_JSON_ARRAY)
		return wrong(r, "hooks must be an array of objects");
	ats_json_iter_init(&it, list->raw);
	for (r->nr = 1; rc == 0 && ats_json_next(&it, &none, &v); r->nr++)
		rc = go_on(r, add_hook(r, v.raw));
	r->nr = 0;
	return rc;
}

static int
read_group(struct reading *r, struct ats_slice object)
{
	struct ats_json_val hooks = { .type = ATS_JSON_END }, v;
	struct ats_json_iter it;
	struct ats_slice key;
	int rc = 0;

	if (ats_json_type(object) != ATS_JSON_OBJECT)
		return wrong(r, "must be an object with hooks, and perhaps a matcher");
	ats_json_iter_init(&it, object);
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "matcher"))
			rc = take_matcher(r, &v);
		else if (ats_json_key_is(key, "hooks"))
			hooks = v;
		else
			rc = go_on(r, wrong(r, "%.*s: unknown key; remove it or use one of: "
			    "matcher, hooks", (int)(key.n < 60 ? key.n : 60), key.p));
	}
	return rc < 0 ? rc : read_hooks_of(r, &hooks);
}

static int
read_event(struct reading *r, struct ats_slice key, const struct ats_json_val *list)
{
	struct ats_json_iter it;
	struct ats_slice none;
	struct ats_json_val v;
	int rc = 0;

	r->group = r->nr = 0;
	if (!ats_hook_event_find(key.p, key.n, &r->event))
		return wrong(r, "%.*s: unknown event, or one of which we never hear; "
		    "docs/HOOKS.md has all",
		    (int)(key.n < 60 ? key.n : 60), key.p);
	if (list->type != ATS_JSON_ARRAY)
		return wrong(r, "%s must be an array", ats_hook_event_rows[r->event].name);
	ats_json_iter_init(&it, list->raw);
	for (r->group = 1; rc == 0 && ats_json_next(&it, &none, &v); r->group++) {
		rc = go_on(r, read_group(r, v.raw));
		free(r->matcher);
		r->matcher = NULL;
	}
	return rc;
}

int
ats_hooks_read(struct ats_hooks *ret, const char *where, struct ats_slice object, bool strict,
    struct ats_err *err)
{
	struct reading r = { .h = ret, .where = where, .strict = strict, .err = err };
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;
	int rc = 0;

	if (ret->v == NULL && (ret->v = ats_calloc(ATS_HOOKS_MAX, sizeof(*ret->v))) == NULL)
		rc = nomem(&r);
	if (rc == 0 && ats_json_type(object) != ATS_JSON_OBJECT)
		rc = go_on(&r, wrong(&r, "must be an object of events"));
	else if (rc == 0) {
		ats_json_iter_init(&it, object);
		while (rc == 0 && ats_json_next(&it, &key, &v))
			rc = go_on(&r, read_event(&r, key, &v));
	}
	if (rc < 0)
		ats_hooks_done(ret);
	return rc;
}
