/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of an MCP server: answers, requests and notifications. Runs in ats-gateway; they are
 * the upstream's. What it asks of us is refused, but ping. */
#include <stdlib.h>
#include <string.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/mcp.h"
#include "brain/gateway/orders.h"
#include "common/log.h"
#include "common/map.h"

#define LOG_TEXT 500
#define BATCH_MAX 1000u

static void
junk(struct mcp *m, const char *text, size_t n, const char *why)
{
	char log[LOG_TEXT];

	/* The first ones help whoever sets it up; more would only fill the log. */
	ats_log(m->junk < 10 ? ATS_LOG_WARN : ATS_LOG_DEBUG, "not a message of MCP",
	    "gateway=%s why=\"%s\" text=%s", m->g->conf.name, why,
	    mask_quote(m->g->mask, log, sizeof(log), text, n));
	if (++m->junk > MCP_JUNK_MAX)
		mcp_on_down(m, "it says too much that is not MCP");
}

static void
reply(struct mcp *m, const struct ats_json_val *id, bool pong)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;
	struct ats_err err = { 0 };

	if ((id->type != ATS_JSON_STRING && id->type != ATS_JSON_NUMBER) || id->raw.n > 1000)
		return;
	ats_buf_init(&out, 4096);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_raw(&w, "id", id->raw.p, id->raw.n);
	ats_json_w_object(&w, pong ? "result" : "error");
	if (!pong) {
		ats_json_w_i64(&w, "code", -32601);
		ats_json_w_str(&w, "message", "this client offers no such method");
	}
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	if (w.rc == 0 && mcp_send(m, 0, &out, &err) < 0)
		ats_log(ATS_LOG_DEBUG, "a server's request is not answered", "why=\"%s\"",
		    err.text);
}

static void
on_progress(struct mcp *m, struct ats_slice params)
{
	struct ats_json_val v;
	struct mcp_asked *a;
	uint64_t token, done = 0;
	bool has_done;
	char *text = NULL;

	if (!ats_json_get(params, "progressToken", &v) || ats_json_to_u64(&v, &token) < 0)
		return;
	a = ats_map_get(m->asked, token);
	if (a == NULL || a->what != MCP_CALL)
		return;
	has_done = ats_json_get(params, "progress", &v) && ats_json_to_u64(&v, &done) == 0;
	if (ats_json_get(params, "message", &v))
		text = ats_json_dup_str(&v);
	order_progress(a->o, text != NULL ? text : "", has_done, done);
	free(text);
}

static void
on_notification(struct mcp *m, const struct ats_json_val *method, struct ats_slice message)
{
	struct ats_json_val params;
	char log[LOG_TEXT];
	bool has = ats_json_get(message, "params", &params) && params.type == ATS_JSON_OBJECT;
	char *name = ats_json_dup_str(method);

	if (name == NULL)
		return;
	if (strcmp(name, "notifications/progress") == 0 && has)
		on_progress(m, params.raw);
	else if (strcmp(name, "notifications/tools/list_changed") == 0)
		mcp_on_list_changed(m);
	else if (strcmp(name, "notifications/message") == 0 && has)
		ats_log(ATS_LOG_DEBUG, "the server says", "gateway=%s text=%s", m->g->conf.name,
		    mask_quote(m->g->mask, log, sizeof(log), params.raw.p, params.raw.n));
	free(name);
}

static void
on_one(struct mcp *m, struct ats_slice message)
{
	struct ats_json_val id, method;
	struct mcp_asked *a;
	uint64_t n;
	bool has_id;

	if (ats_json_type(message) != ATS_JSON_OBJECT) {
		junk(m, message.p, message.n, "no object");
		return;
	}
	has_id = ats_json_get(message, "id", &id);
	if (ats_json_get(message, "method", &method) && method.type == ATS_JSON_STRING) {
		if (has_id)
			reply(m, &id, ats_json_member_is(message, "method", "ping"));
		else
			on_notification(m, &method, message);
		return;
	}
	if (!has_id || ats_json_to_u64(&id, &n) < 0) {
		junk(m, message.p, message.n, "neither an answer to something nor a request");
		return;
	}
	a = ats_map_del(m->asked, n);
	if (a != NULL)			/* else nobody waits any more */
		mcp_on_answer(m, a, message);
}

void
mcp_on_message(struct mcp *m, const char *text, size_t n)
{
	struct ats_err err = { 0 };
	struct ats_json_iter it;
	struct ats_slice none;
	struct ats_json_val v;

	while (n > 0 && strchr(" \t\r\n", text[0]) != NULL && text[0] != '\0') {
		text++;
		n--;
	}
	if (ats_json_scan(text, n, &err) < 0) {
		junk(m, text, n, err.text);
		return;
	}
	if (ats_json_type((struct ats_slice){ text, n }) != ATS_JSON_ARRAY) {
		on_one(m, (struct ats_slice){ text, n });
		return;
	}
	/* Batches were part of one version. The first message may have ended everything. */
	ats_json_iter_init(&it, (struct ats_slice){ text, n });
	for (unsigned i = 0; m->state != MCP_DOWN && i < BATCH_MAX && ats_json_next(&it, &none, &v);
	     i++)
		on_one(m, v.raw);
}
