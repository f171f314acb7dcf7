/* SPDX-License-Identifier: Apache-2.0
 *
 * What the shim answers: MCP's initialize, ping, tools/list, tools/call and their notifications.
 * Runs in the sandbox; the lines are an agent's, the specs the host's. */
#include "hands/shim/shim.h"

#include <string.h>

#include "hands/shim/out.h"
#include "hands/shim/rpc.h"

static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

/* ---- answers --------------------------------------------------------------------------- */
struct answer {
	struct ats_buf out;
	struct ats_json_w w;
};

static void
begin(struct answer *a, struct ats_slice id, const char *member)
{
	ats_buf_init(&a->out, SHIM_RESULT);
	ats_json_w_init(&a->w, &a->out);
	ats_json_w_object(&a->w, NULL);
	ats_json_w_str(&a->w, "jsonrpc", "2.0");
	if (id.p != NULL)
		ats_json_w_raw(&a->w, "id", id.p, id.n);
	if (member != NULL)
		ats_json_w_object(&a->w, member);
}

static void
send(struct shim *s, struct answer *a)
{
	while (a->w.depth > 0)
		ats_json_w_end(&a->w);
	if (a->w.rc == 0)
		out_line(s->out, a->out.data, a->out.len);
	else
		shim_end(s, ats_err_text(a->w.rc));
	ats_buf_done(&a->out);
}

static void
refuse(struct shim *s, struct ats_slice id, int code, const char *text, const char *about)
{
	ATS_CLEANUP_BUF struct ats_buf message = { 0 };
	struct answer a;

	ats_buf_init(&message, 512);
	(void)!ats_buf_addf(&message, "%s%.200s", text, about);
	begin(&a, id, "error");
	ats_json_w_i64(&a.w, "code", code);
	ats_json_w_strn(&a.w, "message", message.data, message.len);
	send(s, &a);
}

/* ---- methods --------------------------------------------------------------------------- */
static const char *
version_for(struct ats_slice params)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(versions); i++)
		if (params.p != NULL &&
		    ats_json_member_is(params, "protocolVersion", versions[i]))
			return versions[i];
	return versions[0];
}

static void
on_initialize(struct shim *s, const struct rpc *r)
{
	struct answer a;

	begin(&a, r->id, "result");
	ats_json_w_str(&a.w, "protocolVersion", version_for(r->params));
	ats_json_w_object(&a.w, "capabilities");
	ats_json_w_object(&a.w, "tools");
	ats_json_w_bool(&a.w, "listChanged", true);
	ats_json_w_end(&a.w);
	ats_json_w_end(&a.w);
	ats_json_w_object(&a.w, "serverInfo");
	ats_json_w_str(&a.w, "name", "ats-tools");
	ats_json_w_str(&a.w, "version", ATS_VERSION);
	send(s, &a);
}

static void
on_ping(struct shim *s, const struct rpc *r)
{
	struct answer a;

	begin(&a, r->id, "result");
	send(s, &a);
}

static void
write_tool(struct ats_json_w *w, const struct ats_spec *t)
{
	static const char any[] = "{\"type\":\"object\",\"properties\":{},"
	    "\"additionalProperties\":true}";

	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "name", t->name);
	if (t->description.p != NULL)
		ats_json_w_raw(w, "description", t->description.p, t->description.n);
	if (t->schema.p != NULL)
		ats_json_w_raw(w, "inputSchema", t->schema.p, t->schema.n);
	else
		ats_json_w_raw(w, "inputSchema", any, sizeof(any) - 1);
	ats_json_w_end(w);
}

static void
on_list(struct shim *s, const struct rpc *r)
{
	struct answer a;

	begin(&a, r->id, "result");
	ats_json_w_array(&a.w, "tools");
	for (size_t i = 0; i < s->specs.n; i++)
		write_tool(&a.w, &s->specs.v[i]);
	send(s, &a);
}

/* A token that is neither a string nor a number is none. */
static struct ats_slice
token_of(struct ats_slice params)
{
	struct ats_json_val meta, t;

	if (ats_json_get(params, "_meta", &meta) && meta.type == ATS_JSON_OBJECT &&
	    ats_json_get(meta.raw, "progressToken", &t) && t.raw.n <= SHIM_ID &&
	    (t.type == ATS_JSON_STRING || t.type == ATS_JSON_NUMBER))
		return t.raw;
	return (struct ats_slice){ NULL, 0 };
}

static void
start(struct shim *s, const struct rpc *r, const struct ats_spec *spec, struct ats_slice args)
{
	static const char large[] = "The arguments are longer than 1 MiB. The tool was not "
	    "started.";
	static const char many[] = "64 calls of tools of the host are under way. The tool was not "
	    "started; wait for one to end, then try again.";
	struct shim_call *c = shim_call_new(s, r->id, token_of(r->params));

	if (c == NULL)
		shim_end(s, "out of memory");
	else if (args.n > SHIM_ARGUMENTS)
		shim_call_text(s, c, true, large, sizeof(large) - 1);
	else if (s->ncalls > SHIM_CALLS)
		shim_call_text(s, c, true, many, sizeof(many) - 1);
	else
		s->way->call(s, c, spec, args);
}

static void
on_call(struct shim *s, const struct rpc *r)
{
	static const struct ats_slice empty = { "{}", 2 };
	ATS_CLEANUP_BUF struct ats_buf name = { 0 };
	struct ats_json_val v, args = { .type = ATS_JSON_OBJECT, .raw = empty };
	const struct ats_spec *spec;

	ats_buf_init(&name, ATS_SPECS_NAME);
	if (r->params.p == NULL || !ats_json_get(r->params, "name", &v) ||
	    v.type != ATS_JSON_STRING) {
		refuse(s, r->id, RPC_PARAMS, "Invalid params: the name of a tool is missing", "");
		return;
	}
	if (ats_json_to_str(&v, &name) < 0 ||
	    (spec = ats_specs_find(&s->specs, name.data)) == NULL)
		refuse(s, r->id, RPC_PARAMS, "Unknown tool: ", name.data);
	else if (ats_json_get(r->params, "arguments", &args) && args.type != ATS_JSON_OBJECT)
		refuse(s, r->id, RPC_PARAMS, "Invalid params: arguments is not an object", "");
	else if (shim_call_of(s, r->id) != NULL)
		refuse(s, r->id, RPC_INVALID, "Invalid request: this id is under way", "");
	else
		start(s, r, spec, args.raw);
}

static void
on_cancelled(struct shim *s, const struct rpc *r)
{
	struct ats_json_val id;
	struct shim_call *c;

	if (r->params.p == NULL || !ats_json_get(r->params, "requestId", &id) ||
	    (c = shim_call_of(s, id.raw)) == NULL)
		return;
	c->cancelled = true;
	s->way->cancel(s, c);
}

static void
on_initialized(struct shim *s, const struct rpc *r)
{
	(void)r;
	s->initialized = true;
}

static const struct method {
	const char *name;
	enum rpc_kind kind;
	void (*run)(struct shim *s, const struct rpc *r);
} methods[] = {
	{ "initialize", RPC_REQUEST, on_initialize },
	{ "ping", RPC_REQUEST, on_ping },
	{ "tools/list", RPC_REQUEST, on_list },
	{ "tools/call", RPC_REQUEST, on_call },
	{ "notifications/initialized", RPC_NOTIFICATION, on_initialized },
	{ "notifications/cancelled", RPC_NOTIFICATION, on_cancelled },
};

void
shim_line(struct shim *s, const char *line, size_t n)
{
	struct rpc r;

	rpc_read(line, n, &r);
	if (r.kind == RPC_WRONG) {
		refuse(s, r.id, r.code, r.text, "");
		return;
	}
	if (r.kind == RPC_RESPONSE)
		return;
	for (size_t i = 0; i < ATS_ARRAY_LEN(methods); i++) {
		if (methods[i].kind == r.kind && strcmp(methods[i].name, r.method) == 0) {
			methods[i].run(s, &r);
			return;
		}
	}
	if (r.kind == RPC_REQUEST)
		refuse(s, r.id, RPC_NO_METHOD, "Method not found: ", r.method);
}

void
shim_line_too_long(struct shim *s)
{
	refuse(s, (struct ats_slice){ "null", 4 }, RPC_PARSE, "Parse error: a line longer than "
	    "16 MiB", "");
}

void
shim_tools_changed(struct shim *s, struct ats_specs *specs)
{
	struct answer a;

	if (specs != NULL && ats_specs_equal(specs, &s->specs)) {
		ats_specs_done(specs);
		return;
	}
	if (specs != NULL) {
		ats_specs_done(&s->specs);
		s->specs = *specs;
	}
	if (!s->initialized)
		return;
	begin(&a, (struct ats_slice){ NULL, 0 }, NULL);
	ats_json_w_str(&a.w, "method", "notifications/tools/list_changed");
	send(s, &a);
}
