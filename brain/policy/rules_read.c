/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of permissions as they are written. Linked into vault and engine; the owner of the
 * configuration writes them. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "brain/policy/rules_private.h"
#include "common/fault.h"

#define MCP_PREFIX "mcp__ats"

/* ---- the tools of the sandbox -------------------------------------------------------------- */

static const struct {
	const char *name;
	enum policy_profile profile;
} tools[] = {
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc) { (name), PROFILE_##profile },
#define PARAM(sym, member, wire, type, req, min, max, doc)
#define END(sym)
#define ALIAS(name, target)
#define ITEM(sym, doc)
#include "proto/tools.def"
#undef TOOL
#undef ALIAS
};
static const struct {
	const char *name, *target;
} aliases[] = {
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc)
#define ALIAS(name, target) { (name), (target) },
#include "proto/tools.def"
#undef TOOL
#undef PARAM
#undef END
#undef ALIAS
#undef ITEM
};
_Static_assert(ATS_ARRAY_LEN(tools) <= 32, "a bit each");

unsigned
policy_tools_of_profile(enum policy_profile profile)
{
	unsigned set = 0;

	for (size_t i = 0; i < ATS_ARRAY_LEN(tools); i++)
		if (tools[i].profile == profile)
			set |= 1u << i;
	return set;
}

unsigned
policy_tools_named(const char *name, size_t n, bool open)
{
	unsigned set = 0;

	for (size_t i = 0; i < ATS_ARRAY_LEN(aliases); i++)
		if (!open && strlen(aliases[i].name) == n && memcmp(aliases[i].name, name, n) == 0)
			return policy_tools_named(aliases[i].target, strlen(aliases[i].target),
			    false);
	for (size_t i = 0; i < ATS_ARRAY_LEN(tools); i++)
		if (strncmp(tools[i].name, name, n) == 0 && (open || tools[i].name[n] == '\0'))
			set |= 1u << i;
	return set;
}

static bool
is(const char *name, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(name, word, n) == 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int
bad(const struct rule *r, struct ats_err *err, const char *why)
{
	return ats_err_set(err, ATS_E_INVAL, "\"%.200s\" %s", r->text, why);
}

static int
unknown_tool(const struct rule *r, struct ats_err *err)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(tools); i++)
		if (strncasecmp(tools[i].name, r->name, r->name_n) == 0 &&
		    tools[i].name[r->name_n] == '\0')
			return ats_err_set(err, ATS_E_INVAL, "\"%.200s\": no tool is called so; it "
			    "is written %s", r->text, tools[i].name);
	return bad(r, err, "names no tool of the sandbox; one of a gateway is GATEWAY__TOOL");
}

/* The name in front of a parenthesis or the end. */
static int
read_name(struct rule *r, const char **ret_rest, struct ats_err *err)
{
	size_t n = strcspn(r->text, "(");
	bool mcp = n >= strlen(MCP_PREFIX) && strncmp(r->text, MCP_PREFIX, strlen(MCP_PREFIX)) == 0;

	*ret_rest = r->text + n;
	r->name = r->text;
	if (mcp && n == strlen(MCP_PREFIX)) {		/* every tool */
		r->open = true;
		n = 0;
	} else if (mcp && strncmp(r->text + strlen(MCP_PREFIX), "__", 2) == 0) {
		r->name += strlen(MCP_PREFIX "__");
		n -= strlen(MCP_PREFIX "__");
	} else if (n == 0) {
		return bad(r, err, "names no tool");
	}
	if (n > 0 && r->name[n - 1] == '*') {
		r->open = true;
		n--;
	}
	r->name_n = n;
	if (n == 0 && !r->open)
		return bad(r, err, "names no tool");
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)r->name[i]) && r->name[i] != '_' && r->name[i] != '-')
			return bad(r, err, "has a character in its name that no tool has; a * can "
			    "only end it");
	r->tools = is(r->name, n, "Read") && !r->open ? policy_tools_of_profile(PROFILE_READ) :
	    is(r->name, n, "Edit") && !r->open ? policy_tools_of_profile(PROFILE_WRITE) :
	    policy_tools_named(r->name, n, r->open);
	if (r->tools == 0 && (n == 0 || r->name[0] < 'a' || r->name[0] > 'z' ||
				 (!r->open && strstr(r->name, "__") == NULL)))
		return unknown_tool(r, err);
	return 0;
}

static int
read_spec(struct rule *r, char *spec, struct ats_err *err)
{
	struct ats_err why = { 0 };
	size_t n = strlen(spec);

	if (n < 2 || spec[n - 1] != ')')
		return bad(r, err, "has no ) at its end");
	spec[--n] = '\0';
	spec++;
	if (*spec == '\0')
		return bad(r, err, "has nothing in its parentheses; leave them out for all calls");
	if (r->open || r->tools == 0)
		return bad(r, err, "says more than a name, which only Bash, Read and Edit can");
	if (strcmp(spec, "*") == 0 || strcmp(spec, ":*") == 0)
		return 0;
	if (is(r->name, r->name_n, "Bash")) {
		r->command = command_pattern_new(spec);
		return r->command == NULL ? ats_err_set(err, ATS_E_NOMEM, "rule") : 0;
	}
	if (!is(r->name, r->name_n, "Read") && !is(r->name, r->name_n, "Edit"))
		return bad(r, err, (r->tools & policy_tools_of_profile(PROFILE_WRITE)) != 0 ?
		    "has a pattern: write Edit(...), which is for all tools that write files" :
		    (r->tools & policy_tools_of_profile(PROFILE_READ)) != 0 ?
		    "has a pattern: write Read(...), which is for all tools that read files" :
		    "says more than a name, which only Bash, Read and Edit can");
	if (path_pattern_new(spec, &r->path, &why) < 0)
		return why.code == ATS_E_NOMEM ? ats_err_set(err, ATS_E_NOMEM, "rule")
					       : bad(r, err, why.text);
	return 0;
}

static void
rule_done(struct rule *r)
{
	free(r->text);
	command_pattern_free(r->command);
	path_pattern_free(r->path);
}

/* The text as it was given stays for policy_rules_text; it is read in a copy behind it. */
static int
rule_read(struct rule *r, const char *text, struct ats_err *err)
{
	size_t n = strlen(text);
	const char *rest;
	char *spec;
	int rc;

	if (n == 0 || n > POLICY_RULE_MAX)
		return ats_err_set(err, ATS_E_INVAL, "a rule must have 1 to %d bytes",
		    POLICY_RULE_MAX);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return ats_err_set(err, ATS_E_INVAL,
			    "a rule has a control character at byte %zu", i);
	r->text = ats_strdup(text);
	if (r->text == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "rule");
	rc = read_name(r, &rest, err);
	if (rc < 0 || *rest == '\0')
		return rc;
	spec = ats_strdup(rest);
	if (spec == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "rule");
	rc = read_spec(r, spec, err);
	free(spec);
	return rc;
}

struct policy_rules *
policy_rules_new(void)
{
	return ats_calloc(1, sizeof(struct policy_rules));
}

void
policy_rules_free(struct policy_rules *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->n; i++)
		rule_done(&r->v[i]);
	free(r->v);
	free(r);
}

int
policy_rules_add(struct policy_rules *r, enum policy_effect effect, const char *text,
    struct ats_err *err)
{
	struct rule one = { .effect = effect }, *more;
	int rc;

	if (effect < POLICY_ALLOW || effect > POLICY_DENY)
		return ats_err_set(err, ATS_E_INVAL, "a rule allows, asks or denies");
	if (r->n >= POLICY_RULES_MAX)
		return ats_err_set(err, ATS_E_FULL, "there are more than %d rules",
		    POLICY_RULES_MAX);
	if (r->n == r->max) {
		more = ats_realloc(r->v, (r->max + 16) * sizeof(*r->v));
		if (more == NULL)
			return ats_err_set(err, ATS_E_NOMEM, "rule");
		r->v = more;
		r->max += 16;
	}
	rc = rule_read(&one, text, err);
	if (rc < 0) {
		rule_done(&one);
		return rc;
	}
	r->v[r->n++] = one;
	return 0;
}

size_t
policy_rules_count(const struct policy_rules *r)
{
	return r->n;
}

const char *
policy_rules_text(const struct policy_rules *r, size_t i, enum policy_effect *ret_effect)
{
	if (i >= r->n)
		return NULL;
	*ret_effect = r->v[i].effect;
	return r->v[i].text;
}

bool
policy_rules_gateway(const struct policy_rules *r, size_t i, char *ret, size_t size)
{
	const char *name, *end;

	if (i >= r->n || r->v[i].tools != 0)
		return false;
	name = r->v[i].name;
	end = strstr(name, "__");
	if (end == NULL || (size_t)(end - name) >= size || end >= name + r->v[i].name_n)
		return false;
	memcpy(ret, name, (size_t)(end - name));
	ret[end - name] = '\0';
	return true;
}

/* ---- words ---------------------------------------------------------------------------- */

bool
policy_default_parse(const char *word, enum policy_default *ret)
{
	static const char *const words[] = { "allow_reads", "ask", "deny", "allow" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(words); i++) {
		if (strcmp(words[i], word) == 0) {
			*ret = (enum policy_default)i;
			return true;
		}
	}
	return false;
}

const char *
policy_effect_name(enum policy_effect effect)
{
	static const char *const words[] = { "none", "allow", "ask", "deny" };

	return words[effect];
}

bool
policy_effect_parse(const char *word, enum policy_effect *ret)
{
	for (enum policy_effect e = POLICY_ALLOW; e <= POLICY_DENY; e++) {
		if (strcmp(policy_effect_name(e), word) == 0) {
			*ret = e;
			return true;
		}
	}
	return false;
}
