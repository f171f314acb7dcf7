/* SPDX-License-Identifier: Apache-2.0
 *
 * What tools gateways have. Runs in the vault. Those of the configuration are the user's words;
 * those of an MCP server come through its gateway's process and are anybody's: they are bounded,
 * must be strict JSON, and are passed on unread but for what is required. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/policy/rules.h"
#include "brain/vault/gateway.h"
#include "brain/vault/vault.h"
#include "common/fault.h"
#include "common/json.h"

#define NAME_SHOWN 64u		/* bytes of a name that is anybody's */
#define FLAGS (GATEWAY_READ_ONLY | GATEWAY_DESTRUCTIVE | GATEWAY_IDEMPOTENT)

void
gateway_tools_done(struct gateway_tools *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].name);
		free(t->v[i].json);
	}
	free(t->v);
	*t = (struct gateway_tools){ 0 };
}

static int
add(struct gateway_tools *t, const struct gateway_tool *tool, const char *name, const char *json)
{
	struct gateway_tool *to;

	if (t->v == NULL)
		t->v = ats_calloc(ATS_GW_TOOLS_MAX, sizeof(*t->v));
	if (t->v == NULL)
		return -ATS_E_NOMEM;
	to = &t->v[t->n];
	*to = *tool;
	to->name = ats_strdup(name);
	to->json = ats_strdup(json);
	if (to->name != NULL && to->json != NULL) {
		t->n++;
		return 0;
	}
	free(to->name);
	free(to->json);
	return -ATS_E_NOMEM;
}

int
gateway_tools_configured(struct gateway *g, struct ats_err *err)
{
	const struct ats_gw_config *c = &g->src->conf;
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };
	int rc = 0;

	ats_buf_init(&json, ATS_GW_TOOL_JSON_MAX);
	g->known = c->kind != ATS_GW_MCP;
	g->tools_owed = true;
	for (size_t i = 0; rc == 0 && g->known && i < c->ntools; i++) {
		struct gateway_tool t = { .flags = c->tools[i].flags, .said = &c->tools[i] };

		ats_buf_reset(&json);
		rc = ats_gw_tool_json(c, t.said, &json);
		if (rc == 0)
			rc = ats_gw_whole_name(c->name, t.said->name, t.whole);
		if (rc == 0)
			rc = add(&g->tools, &t, t.said->name, json.data);
	}
	return rc == 0 ? 0 : ats_err_set(err, -rc, "gateways.%s: %s", c->name, ats_err_text(rc));
}

/* ---- of an MCP server ----------------------------------------------------------------- */

static bool
is_let(const struct ats_gw_config *c, const char *name)
{
	for (size_t i = 0; i < c->allow.n; i++)
		if (strcmp(c->allow.v[i], name) == 0)
			return true;
	return !c->has_allow;
}

static const char *
why_not(const struct gateway *g, const struct gateway_tool *t, const char *json)
{
	struct ats_json_val v;

	if (ats_json_scan(json, strlen(json), NULL) < 0)
		return "what is said of it is not strict JSON";
	if (ats_json_type((struct ats_slice){ json, strlen(json) }) != ATS_JSON_OBJECT ||
	    !ats_json_get((struct ats_slice){ json, strlen(json) }, "inputSchema", &v) ||
	    v.type != ATS_JSON_OBJECT)
		return "it has no inputSchema";
	for (size_t i = 0; i < g->coming.n; i++)
		if (strcmp(g->coming.v[i].whole, t->whole) == 0)
			return "another of the same name came before";
	return NULL;
}

static void
leave_out(struct gateway *g, const char *name, const char *why)
{
	struct ats_buf shown ATS_CLEANUP_BUF = { 0 };

	g->refused++;
	ats_buf_init(&shown, 4 * ATS_GW_TOOL_NAME_MAX);
	if (ats_utf8_show(&shown, name, strnlen(name, 64)) == 0)
		ats_log(ATS_LOG_WARN, "a tool is left out", "gateway=%s tool=\"%s\" why=\"%s\"",
		    g->src->conf.name, shown.data, why);
}

int
gateway_tools_on_tool(struct gateway *g, uint64_t flags, const char *name, const char *json,
    struct ats_err *err)
{
	const struct ats_gw_config *c = &g->src->conf;
	struct gateway_tool t = { .said = ats_gw_find_tool(c, name) };
	const char *why;

	if (c->kind != ATS_GW_MCP)
		return ats_err_set(err, ATS_E_STATE, "its tools are the configuration's");
	if ((flags & ~(uint64_t)FLAGS) != 0)
		return ats_err_set(err, ATS_E_FIELD, "unknown flags of a tool");
	if (g->coming.n + g->refused >= ATS_GW_TOOLS_MAX)
		return ats_err_set(err, ATS_E_FULL, "more than %d tools", ATS_GW_TOOLS_MAX);
	t.flags = t.said != NULL && t.said->says_flags ? t.said->flags : (unsigned)flags;
	if (!is_let(c, name)) {
		g->refused++;		/* as the configuration wants it: no line in the log */
		return 0;
	}
	if (strlen(name) >= ATS_GW_TOOL_NAME_MAX ||
	    ats_gw_whole_name(c->name, name, t.whole) < 0)
		why = "its name is empty or too long";
	else if (strlen(json) > ATS_GW_TOOL_JSON_MAX)
		why = "what is said of it is too long";
	else
		why = why_not(g, &t, json);
	if (why != NULL) {
		leave_out(g, name, why);
		return 0;
	}
	return add(&g->coming, &t, name, json) == 0 ? 0 :
	    ats_err_set(err, ATS_E_NOMEM, "out of memory");
}

int
gateway_tools_on_tools(struct gateway *g, uint64_t n, struct ats_err *err)
{
	if (g->src->conf.kind != ATS_GW_MCP)
		return ats_err_set(err, ATS_E_STATE, "its tools are the configuration's");
	if (n != g->coming.n + g->refused)
		return ats_err_set(err, ATS_E_PROTO, "it tells of another number of tools");
	gateway_tools_done(&g->tools);
	g->tools = g->coming;
	g->coming = (struct gateway_tools){ 0 };
	g->refused = 0;
	g->known = true;
	gateway_tools_owe(g);
	return 0;
}

const struct gateway_tool *
gateway_tools_find(const struct gateway *g, const char *whole)
{
	for (size_t i = 0; i < g->tools.n; i++)
		if (strcmp(g->tools.v[i].whole, whole) == 0)
			return &g->tools.v[i];
	return NULL;
}

bool
gateway_tool_misses(const struct gateway_tool *t, struct ats_slice args, char *ret, size_t size)
{
	struct ats_json_val schema, required, e, v;
	struct ats_json_iter it;
	struct ats_slice none;

	if (!ats_json_get((struct ats_slice){ t->json, strlen(t->json) }, "inputSchema",
		&schema) ||
	    !ats_json_get(schema.raw, "required", &required) || required.type != ATS_JSON_ARRAY)
		return false;
	ats_json_iter_init(&it, required.raw);
	while (ats_json_next(&it, &none, &e)) {
		char *name = ats_json_dup_str(&e);
		bool missing = name != NULL && !ats_json_get(args, name, &v);

		if (missing)
			(void)snprintf(ret, size, "%s", name);
		free(name);
		if (missing)
			return true;
	}
	return false;
}

bool
gateway_tool_has_no(const struct gateway *g, const struct gateway_tool *t, struct ats_slice args,
    char *ret, size_t size)
{
	struct ats_buf shown ATS_CLEANUP_BUF = { 0 };
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;

	if (g->src->conf.kind != ATS_GW_HTTP)
		return false;
	ats_buf_init(&shown, 4 * NAME_SHOWN);
	ats_json_iter_init(&it, args);
	while (ats_json_next(&it, &key, &v)) {
		if (ats_gw_takes_arg(t->said, key))
			continue;
		(void)!ats_utf8_show(&shown, key.p, key.n < NAME_SHOWN ? key.n : NAME_SHOWN);
		(void)snprintf(ret, size, "%s", shown.data);
		return true;
	}
	return false;
}

/* ---- to the engine --------------------------------------------------------------------- */

void
gateway_tools_owe(struct gateway *g)
{
	g->tools_owed = true;
}

static void
stop_telling(struct gateway *g)
{
	if (g->telling != NULL) {
		gateway_tools_done(g->telling);
		free(g->telling);
	}
	g->telling = NULL;
	g->told = 0;
}

void
gateway_tools_engine_gone(struct gateway *g)
{
	stop_telling(g);
	g->tools_owed = true;
}

/* The engine counts what came, so that a list that has begun must be ended as it was. */
static int
begin_telling(struct gateway *g)
{
	int rc = 0;

	g->telling = ats_calloc(1, sizeof(*g->telling));
	if (g->telling == NULL)
		return -ATS_E_NOMEM;
	for (size_t i = 0; rc == 0 && i < g->tools.n; i++)
		rc = add(g->telling, &g->tools.v[i], g->tools.v[i].name, g->tools.v[i].json);
	if (rc < 0)
		stop_telling(g);
	return rc;
}

static unsigned
told_flags(const struct gateway *g, const struct gateway_tool *t)
{
	struct policy_decision d;
	const struct policy_call call = { .kind = POLICY_GATEWAY, .tool = t->whole,
		.args = { "{}", 2 }, .read_only = (t->flags & GATEWAY_READ_ONLY) != 0,
		.permission = t->said == NULL ? POLICY_NONE :
		    (enum policy_effect)t->said->permission };

	/* Rules on tools of gateways are about names alone. */
	policy_decide(g->v->conf->rules, &call, g->v->conf->gateway_policy, &d);
	return t->flags | (d.effect == POLICY_DENY ? GATEWAY_HIDDEN :
	    d.effect == POLICY_ASK ? GATEWAY_ASKS : 0u);
}

int
gateway_tools_sync(struct gateway *g)
{
	int fd = g->v->engine.fd, rc = 0;
	bool asked = g->known || g->why.code != 0;

	while (rc == 0 && (g->telling != NULL || g->tools_owed)) {
		if (g->telling == NULL) {
			g->tools_owed = false;
			rc = begin_telling(g);
		}
		for (; rc == 0 && g->told < g->telling->n; g->told += rc == 0) {
			const struct gateway_tool *t = &g->telling->v[g->told];

			rc = ats_brain_send(fd, ATS_MSG_GATEWAY_TOOL, 0, NULL, 0,
			    g->src->conf.name, t->name, t->json, (uint64_t)told_flags(g, t));
		}
		if (rc == 0)
			rc = ats_brain_send(fd, ATS_MSG_GATEWAY_TOOLS, 0, NULL, 0,
			    g->src->conf.name, (uint64_t)g->telling->n,
			    (uint64_t)(g->known ? 0 : asked ? g->why.code : ATS_E_AGAIN),
			    g->known ? "" : asked ? g->why.text : "its server was not asked yet");
		if (rc == 0)
			stop_telling(g);
	}
	return rc;
}
