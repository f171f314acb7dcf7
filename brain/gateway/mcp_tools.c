/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of tools. Runs in ats-gateway; they are the upstream's: names become ones that agents can
 * call, schemas are passed on as they are, and of the rest what is known. */
#include "brain/gateway/mcp_tools.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "proto/brain.h"

#define LOG_NAME 200

struct mcp_tools *
mcp_tools_new(void)
{
	return calloc(1, sizeof(struct mcp_tools));
}

static void
tool_done(struct mcp_tool *t)
{
	free(t->name);
	free(t->shown);
	free(t->json);
	*t = (struct mcp_tool){ 0 };
}

void
mcp_tools_free(struct mcp_tools *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n; i++)
		tool_done(&l->v[i]);
	free(l);
}

const struct mcp_tool *
mcp_tools_find(const struct mcp_tools *l, const struct ats_gw_config *c, const char *name)
{
	char shown[ATS_GATEWAY_TOOL_MAX];

	for (size_t i = 0; l != NULL && i < l->n; i++)
		if (strcmp(l->v[i].name, name) == 0)
			return &l->v[i];
	if (l == NULL || ats_gw_whole_name(c->name, name, shown) < 0)
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].shown, shown) == 0)
			return &l->v[i];
	return NULL;
}

/* ---- one tool -------------------------------------------------------------------------------- */
static bool
hint(struct ats_slice annotations, const char *name, bool otherwise)
{
	struct ats_json_val v;

	if (annotations.p == NULL || !ats_json_get(annotations, name, &v) ||
	    v.type != ATS_JSON_BOOL)
		return otherwise;
	return v.b;
}

static unsigned
flags_of(const struct ats_gw_config *c, const char *name, struct ats_slice annotations)
{
	const struct ats_gw_tool *said = ats_gw_find_tool(c, name);
	bool reads = hint(annotations, "readOnlyHint", false);

	/* What the configuration says of it is known better. */
	if (said != NULL && (said->flags & GATEWAY_READ_ONLY) != 0)
		reads = true;
	return (reads ? GATEWAY_READ_ONLY : 0u) |
	    (!reads && hint(annotations, "destructiveHint", true) ? GATEWAY_DESTRUCTIVE : 0u) |
	    (hint(annotations, "idempotentHint", false) ? GATEWAY_IDEMPOTENT : 0u);
}

static char *
make_json(struct ats_slice tool, struct ats_slice schema, struct ats_slice annotations,
    unsigned flags, uint64_t timeout_ms)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;
	struct ats_json_val v;

	ats_buf_init(&out, ATS_GW_TOOL_JSON_MAX);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	if (ats_json_get(tool, "description", &v) && v.type == ATS_JSON_STRING)
		ats_json_w_raw(&w, "description", v.raw.p, v.raw.n);
	ats_json_w_raw(&w, "inputSchema", schema.p, schema.n);
	ats_json_w_object(&w, "annotations");
	if ((annotations.p != NULL && ats_json_get(annotations, "title", &v) &&
	        v.type == ATS_JSON_STRING) ||
	    (ats_json_get(tool, "title", &v) && v.type == ATS_JSON_STRING))
		ats_json_w_raw(&w, "title", v.raw.p, v.raw.n);
	ats_json_w_bool(&w, "readOnlyHint", (flags & GATEWAY_READ_ONLY) != 0);
	ats_json_w_bool(&w, "destructiveHint", (flags & GATEWAY_DESTRUCTIVE) != 0);
	ats_json_w_bool(&w, "idempotentHint", (flags & GATEWAY_IDEMPOTENT) != 0);
	ats_json_w_bool(&w, "openWorldHint", hint(annotations, "openWorldHint", true));
	ats_json_w_end(&w);
	ats_json_w_u64(&w, "timeoutMs", timeout_ms);
	ats_json_w_end(&w);
	return w.rc < 0 ? NULL : ats_buf_steal(&out, NULL);
}

static bool
is_taken(const struct mcp_tools *l, const char *shown)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i].shown, shown) == 0)
			return true;
	return false;
}

static bool
is_wanted(const struct ats_gw_config *c, const char *name)
{
	for (size_t i = 0; i < c->allow.n; i++)
		if (strcmp(c->allow.v[i], name) == 0)
			return true;
	return !c->has_allow;
}

static const char *
why_not(const struct mcp_tools *l, const struct ats_gw_config *c, const char *name, char *shown,
    const struct ats_json_val *schema)
{
	if (name == NULL || name[0] == '\0' || strlen(name) >= ATS_GW_TOOL_NAME_MAX)
		return "its name is missing or too long";
	if (ats_gw_whole_name(c->name, name, shown) < 0)
		return "its name is too long together with the gateway's";
	if (is_taken(l, shown))
		return "another tool has that name, as agents see it";
	if (schema->type != ATS_JSON_OBJECT)
		return "it has no inputSchema that is an object";
	return l->n >= ATS_GW_TOOLS_MAX ? "there are too many" : NULL;
}

static int
add_tool(struct mcp_tools *l, const struct ats_gw_config *c, struct ats_slice tool)
{
	struct ats_json_val v, schema = { .type = ATS_JSON_NULL };
	struct ats_slice annotations = { NULL, 0 };
	char shown[ATS_GATEWAY_TOOL_MAX] = "", log[LOG_NAME];
	struct mcp_tool t = { 0 };
	const char *why;

	if (ats_json_get(tool, "name", &v))
		t.name = ats_json_dup_str(&v);
	if (t.name != NULL && !is_wanted(c, t.name)) {
		tool_done(&t);
		return 0;
	}
	if (ats_json_get(tool, "annotations", &v) && v.type == ATS_JSON_OBJECT)
		annotations = v.raw;
	(void)ats_json_get(tool, "inputSchema", &schema);
	why = why_not(l, c, t.name, shown, &schema);
	if (why == NULL) {
		t.flags = flags_of(c, t.name, annotations);
		t.shown = strdup(shown);
		t.json = make_json(tool, schema.raw, annotations, t.flags,
		    ats_gw_timeout_ms(c, ats_gw_find_tool(c, t.name)));
		if (t.shown != NULL && t.json != NULL) {
			l->v[l->n++] = t;
			return 0;
		}
		why = "what is said of it is too long";
	}
	ats_log(ATS_LOG_WARN, "a tool of the server is left out", "gateway=%s tool=%s why=\"%s\"",
	    c->name, ats_log_quote(log, sizeof(log), t.name != NULL ? t.name : "",
	    t.name != NULL ? strlen(t.name) : 0), why);
	tool_done(&t);
	return 0;
}

int
mcp_tools_page(struct mcp_tools *l, const struct ats_gw_config *c, struct ats_slice result,
    char **ret_cursor)
{
	struct ats_json_val tools, v;
	struct ats_json_iter it;
	struct ats_slice none;
	int rc = 0;

	if (ats_json_type(result) != ATS_JSON_OBJECT || !ats_json_get(result, "tools", &tools) ||
	    tools.type != ATS_JSON_ARRAY)
		return -ATS_E_FIELD;
	ats_json_iter_init(&it, tools.raw);
	while (rc == 0 && ats_json_next(&it, &none, &v)) {
		if (v.type != ATS_JSON_OBJECT)
			return -ATS_E_FIELD;
		rc = add_tool(l, c, v.raw);
	}
	*ret_cursor = NULL;
	if (rc == 0 && ats_json_get(result, "nextCursor", &v) && v.type == ATS_JSON_STRING)
		*ret_cursor = ats_json_dup_str(&v);
	return rc;
}
