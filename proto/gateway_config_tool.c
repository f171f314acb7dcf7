/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools of a gateway: what is said of each, and whether its request can be made of its
 * arguments. Runs in ats-brain at its start and in ats-gateway; the user's own file is the
 * input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"
#include "proto/brain.h"
#include "proto/gateway_config_in.h"

#define HTTP ATS_GW_HTTP
#define COMMAND ATS_GW_COMMAND
#define MCP ATS_GW_MCP
#define ANY (HTTP | COMMAND | MCP)
#define DESCRIPTION_MAX 8192

/* What is filled while one is read: the hints may be absent. */
struct reading {
	struct ats_gw_tool tool;
	bool read_only, destructive, idempotent;
	bool says_destructive;
	char *body;
};

static int
take_word(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    const char *const *words, size_t n, const char *want, size_t *ret)
{
	char *s = ats_json_dup_str(v);

	for (size_t i = 0; s != NULL && i < n; i++)
		if (strcmp(s, words[i]) == 0) {
			free(s);
			*ret = i;
			return 0;
		}
	free(s);
	return ats_gw_wrong(in, key, "must be %s", want);
}

static int
take_permission(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	static const char *const words[] = { "allow", "ask", "deny" };
	enum ats_gw_permission *p = to;
	size_t i = 0;
	int rc = take_word(in, key, v, words, ATS_ARRAY_LEN(words), "allow, ask or deny", &i);

	if (rc == 0)
		*p = (enum ats_gw_permission)(ATS_GW_ALLOW + i);
	return rc;
}

static int
take_method(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v, void *to)
{
	static const char *const words[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE" };
	size_t i = 0;
	char **at = to;
	int rc = take_word(in, key, v, words, ATS_ARRAY_LEN(words),
	    "GET, HEAD, POST, PUT, PATCH or DELETE", &i);

	if (rc < 0)
		return rc;
	free(*at);
	*at = ats_strdup(words[i]);
	return *at != NULL ? 0 : ats_gw_nomem(in);
}

static int
take_description(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	char **at = to;

	*at = v->raw.n <= DESCRIPTION_MAX ? ats_json_dup_str(v) : NULL;
	if (*at == NULL || (*at)[0] == '\0')
		return ats_gw_wrong(in, key,
		    "must be a text of at most %d bytes: it is what a model learns of the tool",
		    DESCRIPTION_MAX);
	return 0;
}

static int
take_destructive(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	struct reading *r = to;

	r->says_destructive = true;
	return ats_gw_take_bool(in, key, v, &r->destructive);
}

static int
take_input(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v, void *to)
{
	struct ats_gw_tool *t = to;
	struct ats_json_val props = { .type = ATS_JSON_END }, required, p;
	struct ats_json_iter it;
	struct ats_slice name;
	int rc = 0;

	if (v->type != ATS_JSON_OBJECT || !ats_json_member_is(v->raw, "type", "object"))
		return ats_gw_wrong(in, key, "must be a JSON Schema with \"type\": \"object\"");
	if (ats_json_get(v->raw, "properties", &props)) {
		if (props.type != ATS_JSON_OBJECT)
			return ats_gw_wrong(in, key, "properties must be an object");
		ats_json_iter_init(&it, props.raw);
		while (ats_json_next(&it, &name, &p))
			if (p.type != ATS_JSON_OBJECT && p.type != ATS_JSON_BOOL)
				return ats_gw_wrong(in, key, "the property \"%.*s\" must be a "
				    "schema",
				    (int)(name.n < 100 ? name.n : 100), name.p);
	}
	if (ats_json_get(v->raw, "required", &required))
		rc = ats_gw_take_words(in, "input.required", &required, &t->required);
	for (size_t i = 0; rc == 0 && i < t->required.n; i++)
		if (props.type != ATS_JSON_OBJECT ||
		    !ats_json_get(props.raw, t->required.v[i], &p))
			rc = ats_gw_wrong(in, key, "required names \"%.100s\", which is no "
			    "property",
			    t->required.v[i]);
	return rc < 0 ? rc : ats_gw_take_files(in, key, v->raw, &props, t);
}

#define TOOL(member) offsetof(struct reading, tool.member)
static const struct ats_gw_key keys[] = {
	{ "description", HTTP | COMMAND, TOOL(description), take_description },
	{ "input", HTTP | COMMAND, TOOL(name), take_input },	/* name is the first: all of it */
	{ "method", HTTP, TOOL(method), take_method },
	{ "path", HTTP, TOOL(path), ats_gw_take_template },
	{ "query", HTTP, TOOL(name), ats_gw_take_query },
	{ "body", HTTP, offsetof(struct reading, body), ats_gw_take_str },
	{ "argv", COMMAND, TOOL(argv), ats_gw_take_argv },
	{ "read_only", ANY, offsetof(struct reading, read_only), ats_gw_take_bool },
	{ "destructive", ANY, 0, take_destructive },
	{ "idempotent", ANY, offsetof(struct reading, idempotent), ats_gw_take_bool },
	{ "permission", ANY, TOOL(permission), take_permission },
	{ "timeout_ms", ANY, TOOL(timeout_ms), ats_gw_take_ms },
};
_Static_assert(offsetof(struct ats_gw_tool, name) == 0, "take_input and ats_gw_take_query");

void
ats_gw_tool_done(struct ats_gw_tool *t)
{
	free(t->name);
	free(t->description);
	free(t->input);
	ats_gw_words_done(&t->required);
	ats_gw_words_done(&t->files);
	free(t->method);
	ats_gw_template_done(&t->path);
	for (size_t i = 0; i < t->nquery; i++) {
		free(t->query[i].name);
		ats_gw_template_done(&t->query[i].value);
	}
	free(t->query);
	free(t->body_arg);
	ats_gw_words_done(&t->argv);
	memset(t, 0, sizeof(*t));
}

static bool
has_property(const struct ats_gw_tool *t, const char *name)
{
	struct ats_slice input = { t->input, t->input != NULL ? strlen(t->input) : 0 };
	struct ats_json_val props, p;

	return input.n > 0 && ats_json_get(input, "properties", &props) &&
	    ats_json_get(props.raw, name, &p);
}

static bool
is_required(const struct ats_gw_tool *t, const char *name)
{
	for (size_t i = 0; i < t->required.n; i++)
		if (strcmp(t->required.v[i], name) == 0)
			return true;
	return false;
}

static int
check_args(const struct ats_gw_in *in, const char *key, const struct ats_gw_tool *t,
    const struct ats_gw_template *of, bool must)
{
	for (size_t i = 0; i < of->n; i++) {
		const char *arg = of->v[i].text;

		if (!of->v[i].is_arg)
			continue;
		if (!has_property(t, arg))
			return ats_gw_wrong(in, key, "{%.100s} is no property of input; add it "
			    "there",
			    arg);
		if (must && !is_required(t, arg))
			return ats_gw_wrong(in, key,
			    "{%.100s} must be among input's \"required\": no path is without "
			    "it", arg);
	}
	return 0;
}

static int
check_body(const struct ats_gw_in *in, struct reading *r)
{
	struct ats_gw_tool *t = &r->tool;
	size_t n;

	if (r->body == NULL)
		return 0;
	if (strcmp(t->method, "GET") == 0 || strcmp(t->method, "HEAD") == 0)
		return ats_gw_wrong(in, "body", "a %s has none; use query", t->method);
	n = strlen(r->body);
	if (strcmp(r->body, "json") == 0 || strcmp(r->body, "form") == 0) {
		t->body = r->body[0] == 'j' ? ATS_GW_BODY_JSON : ATS_GW_BODY_FORM;
		return 0;
	}
	t->body = strncmp(r->body, "file:{", 6) == 0 ? ATS_GW_BODY_FILE : ATS_GW_BODY_TEXT;
	if (n < 8 || (t->body == ATS_GW_BODY_TEXT && strncmp(r->body, "text:{", 6) != 0) ||
	    r->body[n - 1] != '}')
		return ats_gw_wrong(in, "body",
		    "must be json, form, text:{ARGUMENT} or file:{ARGUMENT}");
	t->body_arg = ats_malloc(n - 6);
	if (t->body_arg == NULL)
		return ats_gw_nomem(in);
	memcpy(t->body_arg, r->body + 6, n - 7);
	t->body_arg[n - 7] = '\0';
	if (!has_property(t, t->body_arg) || !is_required(t, t->body_arg))
		return ats_gw_wrong(in, "body", "{%.100s} must be a required property of input",
		    t->body_arg);
	return 0;
}

/* An argument that goes nowhere would be dropped in silence. */
static int
check_all_used(const struct ats_gw_in *in, const struct ats_gw_tool *t)
{
	struct ats_slice input = { t->input, strlen(t->input) }, name;
	struct ats_json_val props, v;
	struct ats_json_iter it;
	int rc = 0;

	if (t->body == ATS_GW_BODY_JSON || t->body == ATS_GW_BODY_FORM ||
	    !ats_json_get(input, "properties", &props))
		return 0;
	ats_json_iter_init(&it, props.raw);
	while (rc == 0 && ats_json_next(&it, &name, &v)) {
		char *arg = ats_json_dup_key(name);
		bool used = arg != NULL && (ats_gw_template_has(&t->path, arg) ||
			(t->body_arg != NULL && strcmp(arg, t->body_arg) == 0));

		for (size_t i = 0; arg != NULL && !used && i < t->nquery; i++)
			used = ats_gw_template_has(&t->query[i].value, arg);
		if (!used)
			rc = ats_gw_wrong(in, "input", "the property \"%.*s\" goes nowhere: use it "
			    "in path, query or body", (int)(name.n < 100 ? name.n : 100), name.p);
		free(arg);
	}
	return rc;
}

static int
check_http(const struct ats_gw_in *in, struct reading *r)
{
	struct ats_gw_tool *t = &r->tool;
	int rc;

	if (t->method == NULL)
		return ats_gw_wrong(in, "method", "is missing");
	if (t->path.n == 0)
		return ats_gw_wrong(in, "path", "is missing");
	rc = ats_gw_check_path(in, "path", &t->path);
	if (rc == 0)
		rc = check_args(in, "path", t, &t->path, true);
	for (size_t i = 0; rc == 0 && i < t->nquery; i++)
		rc = check_args(in, "query", t, &t->query[i].value, false);
	if (rc == 0)
		rc = check_body(in, r);
	if (rc == 0)
		rc = ats_gw_check_files(in, t);
	return rc < 0 ? rc : check_all_used(in, t);
}

static bool
says_flags(struct ats_slice tool)
{
	struct ats_json_val v;

	return ats_json_get(tool, "read_only", &v) || ats_json_get(tool, "destructive", &v) ||
	    ats_json_get(tool, "idempotent", &v);
}

static int
check_tool(const struct ats_gw_in *in, const struct ats_gw_config *c, struct reading *r)
{
	static const char nothing[] =
	    "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}";
	struct ats_gw_tool *t = &r->tool;
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };
	char whole[ATS_GATEWAY_TOOL_MAX];
	int rc = 0;

	if (r->read_only && r->destructive)
		return ats_gw_wrong(in, "destructive", "a tool that is read_only is not");
	t->flags = r->read_only ? GATEWAY_READ_ONLY | GATEWAY_IDEMPOTENT : 0;
	if (!r->read_only && (r->destructive || !r->says_destructive))
		t->flags |= GATEWAY_DESTRUCTIVE;
	if (r->idempotent)
		t->flags |= GATEWAY_IDEMPOTENT;
	if (ats_gw_whole_name(c->name, t->name, whole) < 0)
		return ats_gw_wrong(in, "", "\"%s__%.100s\" is longer than %d characters", c->name,
		    t->name, ATS_GATEWAY_TOOL_MAX - 1);
	if (c->kind == ATS_GW_MCP)
		return 0;
	if (strcmp(whole + strlen(c->name) + 2, t->name) != 0)
		return ats_gw_wrong(in, "", "a tool's name is of letters, digits, _ and -");
	if (t->description == NULL)
		return ats_gw_wrong(in, "description", "is missing");
	if (t->input == NULL && (t->input = ats_strdup(nothing)) == NULL)
		return ats_gw_nomem(in);
	if (c->kind == ATS_GW_COMMAND && t->argv.n == 0)
		return ats_gw_wrong(in, "argv", "is missing");
	if (c->kind == ATS_GW_HTTP)
		rc = check_http(in, r);
	ats_buf_init(&json, ATS_GW_TOOL_JSON_MAX);
	if (rc == 0 && ats_gw_tool_json(c, t, &json) < 0)
		rc = ats_gw_wrong(in, "input", "description and input are longer than %u bytes",
		    ATS_GW_TOOL_JSON_MAX);
	return rc;
}

int
ats_gw_take_tools(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to)
{
	struct ats_gw_config *c = to;
	struct ats_json_iter it;
	struct ats_slice name;
	struct ats_json_val e;
	int rc = 0;

	if (v->type != ATS_JSON_OBJECT)
		return ats_gw_wrong(in, key, "must be an object of tools");
	c->tools = ats_calloc(ATS_GW_TOOLS_MAX, sizeof(*c->tools));
	if (c->tools == NULL)
		return ats_gw_nomem(in);
	ats_json_iter_init(&it, v->raw);
	while (rc == 0 && ats_json_next(&it, &name, &e)) {
		struct reading r = { .tool = { .name = ats_json_dup_key(name) } };
		char where[400];
		struct ats_gw_in inner = { where, in->kind, in->err };

		(void)snprintf(where, sizeof(where), "%s.tools.%.*s", in->where,
		    (int)(name.n < 100 ? name.n : 100), name.p);
		if (c->ntools >= ATS_GW_TOOLS_MAX)
			rc = ats_gw_wrong(in, key, "has more than %d tools", ATS_GW_TOOLS_MAX);
		else if (r.tool.name == NULL || strlen(r.tool.name) >= ATS_GW_TOOL_NAME_MAX)
			rc = ats_gw_wrong(&inner, "", "the name is longer than %d bytes, or has a "
			    "NUL",
			    ATS_GW_TOOL_NAME_MAX - 1);
		else if (e.type != ATS_JSON_OBJECT)
			rc = ats_gw_wrong(&inner, "", "must be an object");
		else
			rc = ats_gw_read(&inner, keys, ATS_ARRAY_LEN(keys), e.raw, &r);
		if (rc == 0)
			rc = check_tool(&inner, c, &r);
		r.tool.says_flags = rc == 0 && says_flags(e.raw);
		free(r.body);
		if (rc < 0)
			ats_gw_tool_done(&r.tool);
		else
			c->tools[c->ntools++] = r.tool;
	}
	return rc;
}
