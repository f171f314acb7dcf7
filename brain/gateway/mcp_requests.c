/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of an upstream MCP server. Runs in ats-gateway; arguments of calls come from the
 * vault, in canonical form. */
#include <stdlib.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/mcp.h"
#include "brain/gateway/orders.h"
#include "common/map.h"

#define OUT_MAX ((1u << 20) + 65536)	/* arguments and what is around them */

int
mcp_send(struct mcp *m, uint64_t id, const struct ats_buf *json, struct ats_err *err)
{
	return m->transport->send(m, id, json->data, json->len, err);
}

void
mcp_begin(struct ats_json_w *w, struct ats_buf *out, uint64_t id, const char *method)
{
	ats_buf_init(out, OUT_MAX);
	ats_json_w_init(w, out);
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "jsonrpc", "2.0");
	if (id != 0)
		ats_json_w_u64(w, "id", id);
	ats_json_w_str(w, "method", method);
}

int
mcp_end(struct mcp *m, struct ats_json_w *w, uint64_t id, struct ats_err *err)
{
	ats_json_w_end(w);
	return w->rc < 0 ? ats_err_set(err, -w->rc, "the message is too long") :
	    mcp_send(m, id, w->out, err);
}

void
mcp_notify(struct mcp *m, const char *method)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;

	mcp_begin(&w, &out, 0, method);
	(void)!mcp_end(m, &w, 0, NULL);
}

static int
ask(struct mcp *m, struct mcp_asked *a, struct ats_err *err)
{
	a->id = ++m->next_id;
	return ats_map_put(m->asked, a->id, a) < 0 ?
	    ats_err_set(err, ATS_E_FULL, "too many requests wait for the server") : 0;
}

/* One of ours that nobody gave an order for. NULL with err. */
static struct mcp_asked *
ask_own(struct mcp *m, enum mcp_what what, struct ats_err *err)
{
	struct mcp_asked *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		(void)ats_err_set(err, ATS_E_NOMEM, "out of memory");
		return NULL;
	}
	a->what = what;
	if (ask(m, a, err) == 0)
		return a;
	free(a);
	return NULL;
}

static void
unask(struct mcp *m, struct mcp_asked *a)
{
	(void)ats_map_del(m->asked, a->id);
	free(a);
}

int
mcp_ask_initialize(struct mcp *m, struct ats_err *err)
{
	struct mcp_asked *a = ask_own(m, MCP_INITIALIZE, err);
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;
	int rc;

	if (a == NULL)
		return -err->code;
	mcp_begin(&w, &out, a->id, "initialize");
	ats_json_w_object(&w, "params");
	ats_json_w_str(&w, "protocolVersion", MCP_NEWEST);
	ats_json_w_object(&w, "capabilities");
	ats_json_w_end(&w);
	ats_json_w_object(&w, "clientInfo");
	ats_json_w_str(&w, "name", "ats-gateway");
	ats_json_w_str(&w, "version", ATS_VERSION);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	rc = mcp_end(m, &w, a->id, err);
	if (rc < 0)
		unask(m, a);
	return rc;
}

int
mcp_ask_list(struct mcp *m, const char *cursor, struct ats_err *err)
{
	struct mcp_asked *a = ask_own(m, MCP_LIST, err);
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;
	int rc;

	if (a == NULL)
		return -err->code;
	mcp_begin(&w, &out, a->id, "tools/list");
	if (cursor != NULL) {
		ats_json_w_object(&w, "params");
		ats_json_w_str(&w, "cursor", cursor);
		ats_json_w_end(&w);
	}
	rc = mcp_end(m, &w, a->id, err);
	if (rc < 0)
		unask(m, a);
	return rc;
}

int
mcp_ask_call(struct mcp *m, struct mcp_asked *a, struct ats_err *err)
{
	const struct mcp_tool *t = mcp_tools_find(m->tools, &m->g->conf, a->o->name);
	struct ats_slice args = order_args(a->o);
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;
	int rc;

	if (t == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_TOOL, "the server has no tool %s (any more)",
		    a->o->name);
	rc = ask(m, a, err);
	if (rc < 0)
		return rc;
	mcp_begin(&w, &out, a->id, "tools/call");
	ats_json_w_object(&w, "params");
	ats_json_w_str(&w, "name", t->name);
	ats_json_w_raw(&w, "arguments", args.p, args.n);
	ats_json_w_object(&w, "_meta");
	ats_json_w_u64(&w, "progressToken", a->id);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	rc = mcp_end(m, &w, a->id, err);
	if (rc < 0)
		(void)ats_map_del(m->asked, a->id);
	return rc;
}
