/* SPDX-License-Identifier: Apache-2.0
 *
 * The MCP methods over the table of tools. Runs in the engine; parameters are a client's,
 * arguments of tools go to hands as they are and are checked there. */
#include "brain/engine/mcp.h"

#include <stdio.h>
#include <string.h>

#include "brain/engine/call_ask.h"
#include "brain/engine/calls_rpc.h"
#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/mcp_era.h"
#include "brain/engine/mcp_headers.h"
#include "brain/engine/mcp_list.h"
#include "brain/engine/mcp_listen.h"
#include "brain/engine/rpc.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/toolset.h"
#include "common/log.h"

#define NAMED_ANYWAY 50000u	/* characters that clients take without being told */
#define NAMED_MOST 500000u	/* more they do not believe */
#define DISCOVER_TTL_MS 60000u	/* the instructions depend on the gateways */

#define SANDBOX_TEXT \
	"These tools run in a sandbox that holds the workspace and nothing else of the host: " \
	"no credentials and no network. Paths are absolute or relative to the " \
	"working directory, which persists between Bash calls. If a result says that the " \
	"sandbox was lost, check the state of files before repeating a command."
#define GATEWAY_TEXT \
	" Only tools whose name has two underscores run on the host, with credentials that you " \
	"never see; a person may have to approve a call of them first."

/* Newest first. */
static const char *const revisions[] = { "2025-11-25", "2025-06-18", "2025-03-26",
	"2024-11-05" };

const char *
mcp_revision(const char *wanted)
{
	size_t i;

	for (i = 0; i < ATS_ARRAY_LEN(revisions); i++)
		if (strcmp(revisions[i], wanted) == 0)
			return revisions[i];
	return revisions[0];
}

static bool
has_gateways(const struct engine *e)
{
	return e->gateways != NULL &&
	    (gateways_each(e->gateways, NULL) != NULL || gateways_pending(e->gateways));
}

static void
write_offer(struct ats_json_w *w, const struct engine *e)
{
	ats_json_w_object(w, "capabilities");
	ats_json_w_object(w, "tools");
	ats_json_w_bool(w, "listChanged", true);
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_str(w, "instructions",
	    has_gateways(e) ? SANDBOX_TEXT GATEWAY_TEXT : SANDBOX_TEXT);
}

void
mcp_initialize(struct rpc *r)
{
	char wanted[64] = "";
	struct rpc_param p[] = {
		{ "protocolVersion", RPC_STR, true, sizeof(wanted), wanted },
	};
	struct ats_json_w *w;

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), true) < 0)
		return;
	r->client->revision = mcp_revision(wanted);
	gateways_want(r->e->gateways);
	w = rpc_begin(r);
	ats_json_w_str(w, "protocolVersion", r->client->revision);
	mcp_write_server(w, "serverInfo");
	write_offer(w, r->e);
	rpc_end(r);
}

void
mcp_initialized(struct rpc *r)
{
	/* Without a handshake it is about nothing. */
	if (r->client->revision != NULL)
		r->client->initialised = true;
}

void
mcp_discover(struct rpc *r)
{
	struct ats_json_w *w;

	gateways_want(r->e->gateways);
	w = rpc_begin(r);
	ats_json_w_array(w, "supportedVersions");
	ats_json_w_str(w, NULL, MCP_MODERN);
	ats_json_w_end(w);
	write_offer(w, r->e);
	mcp_write_cache(w, DISCOVER_TTL_MS);
	rpc_end(r);
}

void
mcp_ping(struct rpc *r)
{
	(void)rpc_begin(r);
	rpc_end(r);
}

/* What Claude Code goes by besides the annotations. */
static void
write_meta(struct ats_json_w *w, const struct ats_tool_row *t)
{
	bool core = (t->hints & ATS_HINT_CORE) != 0, large = t->max_chars > NAMED_ANYWAY;

	if (!core && !large)
		return;
	ats_json_w_object(w, "_meta");
	if (core)
		ats_json_w_bool(w, "anthropic/alwaysLoad", true);
	if (large)
		ats_json_w_u64(w, "anthropic/maxResultSizeChars",
		    t->max_chars < NAMED_MOST ? t->max_chars : NAMED_MOST);
	ats_json_w_end(w);
}

void
mcp_tool_write(struct ats_json_w *w, const struct ats_tool_row *t)
{
	bool read_only = (t->hints & ATS_HINT_RO) != 0;

	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "name", t->name);
	ats_json_w_str(w, "description", t->doc);
	ats_json_w_raw(w, "inputSchema", "", 0);
	if (w->rc == 0)
		w->rc = ats_tool_schema(t, w->out);
	ats_json_w_object(w, "annotations");
	ats_json_w_str(w, "title", t->name);
	ats_json_w_bool(w, "readOnlyHint", read_only);
	ats_json_w_bool(w, "destructiveHint", (t->hints & ATS_HINT_DESTRUCTIVE) != 0);
	ats_json_w_bool(w, "idempotentHint", (t->hints & ATS_HINT_IDEMPOTENT) != 0);
	ats_json_w_bool(w, "openWorldHint", false);
	ats_json_w_end(w);
	write_meta(w, t);
	ats_json_w_end(w);
}

static int
read_meta(struct rpc *r, struct ats_slice meta, char key[CALL_KEY_MAX],
    struct ats_slice *ret_token)
{
	struct ats_json_val v;
	char id[200];
	struct rpc sub = *r;
	struct rpc_param p[] = { { "claudecode/toolUseId", RPC_STR, false, sizeof(id), id } };

	id[0] = '\0';
	sub.params = meta;
	if (meta.p == NULL)
		return 0;
	if (rpc_params(&sub, p, ATS_ARRAY_LEN(p), true) < 0)
		return -ATS_E_FIELD;
	if (id[0] != '\0')
		(void)snprintf(key, CALL_KEY_MAX, "tu:%s", id);
	if (ats_json_get(meta, "progressToken", &v) &&
	    (v.type == ATS_JSON_STRING || v.type == ATS_JSON_NUMBER) && v.raw.n <= RPC_ID_MAX)
		*ret_token = v.raw;
	return 0;
}

bool
mcp_refuse_twice(struct rpc *r)
{
	if (call_waiter_find(&r->client->asker, r->id) == NULL &&
	    !mcp_list_waits(r->client, r->id) && !mcp_listens_to(r->client, r->id))
		return false;
	rpc_error(r->client, r->id, RPC_INVALID, "id: a request of that id is not answered yet");
	return true;
}

/* We ask clients for nothing while a call runs, so none of them can have a state of ours: to run
 * such a call would run one twice that somebody else asked about. */
static bool
refuse_state(struct rpc *r)
{
	struct ats_json_val v;

	if (!r->modern || !ats_json_get(r->params, "requestState", &v))
		return false;
	rpc_error(r->client, r->id, RPC_PARAMS, "requestState: not one that was given out here; "
	    "call again without it");
	return true;
}

/* The door over HTTP hands in what the head of the request said. False: r is answered. */
static bool
heads_fit(struct rpc *r, struct ats_slice meta, const struct call_ask *ask)
{
	struct ats_err err = { 0 };
	struct ats_json_val headers;

	if (meta.p == NULL || ask->gateway == NULL ||
	    !ats_json_get(meta, MCP_HEADERS, &headers) || headers.type != ATS_JSON_OBJECT ||
	    mcp_headers_check(ask->gateway->schema, ask->input, headers.raw, &err) == 0)
		return true;
	rpc_error(r->client, r->id, MCP_HEADER_MISMATCH, "%s", err.text);
	return false;
}

void
mcp_tools_call(struct rpc *r)
{
	struct ats_slice args = { "{}", 2 }, meta = { NULL, 0 };
	char name[65] = "", key[CALL_KEY_MAX] = "", hint[CALLS_HINT_MAX];
	struct rpc_param p[] = {
		{ "name", RPC_STR, true, sizeof(name), name },
		{ "arguments", RPC_OBJECT, false, 0, &args },
		{ "_meta", RPC_OBJECT, false, 0, &meta },
	};
	struct call_ask ask = { .form = r->modern ? CALL_FORM_MODERN : CALL_FORM_MCP,
		.asker = &r->client->asker, .rpc_id = r->id };
	struct ats_err err = { 0 };

	if (mcp_refuse_twice(r) || refuse_state(r))
		return;
	if (rpc_params(r, p, ATS_ARRAY_LEN(p), true) < 0 ||
	    read_meta(r, meta, key, &ask.progress_token) < 0)
		return;
	ask.input = args;
	if (key[0] == '\0')
		calls_key_of_id(r, key);
	ask.key = key[0] == '\0' ? NULL : key;
	if (!toolset_find(r->e, name, &ask)) {
		ask.session = r->client->session;
		if (ask.session != NULL && call_ask_known(r->e, &ask, name, &err) > 0)
			return;
		calls_tool_hint(r->e, name, hint, sizeof(hint));
		rpc_error(r->client, r->id, RPC_PARAMS, "Unknown tool: %s; %s", name, hint);
		return;
	}
	if (!heads_fit(r, meta, &ask))
		return;
	ask.session = calls_session(r, "");
	if (ask.session == NULL)
		return;
	if (call_ask(r->e, &ask, &err) < 0)
		rpc_fail(r, &err);
}

void
mcp_cancelled(struct rpc *r)
{
	struct waiter *w;
	struct ats_json_val v;
	struct call *c;

	if (!ats_json_get(r->params, "requestId", &v))
		return;
	if (mcp_list_cancel(r->client, v.raw)) {
		batch_skip(r->client, v.raw);
		return;
	}
	if (mcp_listen_cancel(r->client, v.raw))
		return;
	w = call_waiter_find(&r->client->asker, v.raw);
	if (w == NULL)
		return;		/* answered already: a race that the protocol allows */
	c = w->call;
	call_waiter_drop(w);
	batch_skip(r->client, v.raw);
	if (TAILQ_EMPTY(&c->waiters))
		call_cancel(c);
}
