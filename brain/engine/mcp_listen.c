/* SPDX-License-Identifier: Apache-2.0
 *
 * Open requests subscriptions/listen (MCP 2026-07-28, Subscriptions). Runs in the engine; ids and
 * filters are a client's. Nothing is kept when a connection ends: the client asks again. */
#include "brain/engine/mcp_listen.h"

#include <stdlib.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/mcp.h"
#include "brain/engine/mcp_era.h"
#include "brain/engine/rpc.h"

struct mcp_listen_open {
	TAILQ_ENTRY(mcp_listen_open) link;
	bool tools;			/* else it is told nothing: there is nothing else here */
	size_t n;
	char id[];			/* raw */
};

static struct mcp_listen_open *
find(const struct client *c, struct ats_slice id)
{
	struct mcp_listen_open *o;

	TAILQ_FOREACH(o, &c->listens, link)
		if (o->n == id.n && memcmp(o->id, id.p, id.n) == 0)
			return o;
	return NULL;
}

bool
mcp_listens_to(const struct client *c, struct ats_slice id)
{
	return find(c, id) != NULL;
}

static void
forget(struct client *c, struct mcp_listen_open *o)
{
	TAILQ_REMOVE(&c->listens, o, link);
	c->nlistens--;
	free(o);
}

bool
mcp_listen_cancel(struct client *c, struct ats_slice id)
{
	struct mcp_listen_open *o = find(c, id);

	if (o != NULL)
		forget(c, o);
	return o != NULL;
}

void
mcp_listens_drop(struct client *c)
{
	while (!TAILQ_EMPTY(&c->listens))
		forget(c, TAILQ_FIRST(&c->listens));
}

/* Whose it is stands first in the parameters, as the client wrote it. */
static void
begin_note(struct ats_json_w *w, struct client *c, const char *method,
    const struct mcp_listen_open *o)
{
	ats_json_w_init(w, &c->out);
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "jsonrpc", "2.0");
	ats_json_w_str(w, "method", method);
	ats_json_w_object(w, "params");
	ats_json_w_object(w, "_meta");
	ats_json_w_raw(w, MCP_KEY "subscriptionId", o->id, o->n);
	ats_json_w_end(w);
}

/* False: there was no room, and c is dropped. */
static bool
end_note(struct ats_json_w *w, struct client *c)
{
	ats_json_w_end(w);
	ats_json_w_end(w);
	if (ats_json_w_line(w) < 0) {
		client_drop(c, "no room for a notification");
		return false;
	}
	client_flush(c);
	return true;
}

void
mcp_listens_tell(struct client *c)
{
	struct mcp_listen_open *o;
	struct ats_json_w w;

	if (c->dead)
		return;
	TAILQ_FOREACH(o, &c->listens, link) {
		if (!o->tools)
			continue;
		begin_note(&w, c, "notifications/tools/list_changed", o);
		if (!end_note(&w, c))
			return;
	}
}

/* What of the filter is kept to. -ATS_E_FIELD: r is answered. */
static int
read_filter(struct rpc *r, bool *ret_tools)
{
	struct ats_slice filter = { NULL, 0 }, uris = { NULL, 0 }, key;
	bool prompts, resources;
	struct rpc_param want[] = { { "notifications", RPC_OBJECT, true, 0, &filter } };
	struct rpc_param p[] = {
		{ "toolsListChanged", RPC_BOOL, false, 0, ret_tools },
		{ "promptsListChanged", RPC_BOOL, false, 0, &prompts },
		{ "resourcesListChanged", RPC_BOOL, false, 0, &resources },
		{ "resourceSubscriptions", RPC_ARRAY, false, 0, &uris },
	};
	struct rpc sub = *r;
	struct ats_json_iter it;
	struct ats_json_val v;
	int rc = rpc_params(r, want, ATS_ARRAY_LEN(want), true);

	sub.params = filter;
	if (rc == 0)
		rc = rpc_params(&sub, p, ATS_ARRAY_LEN(p), true);
	if (rc < 0 || uris.p == NULL)
		return rc;
	ats_json_iter_init(&it, uris);
	while (ats_json_next(&it, &key, &v)) {
		if (v.type != ATS_JSON_STRING) {
			rpc_error(r->client, r->id, RPC_PARAMS,
			    "resourceSubscriptions: expected strings");
			return -ATS_E_FIELD;
		}
	}
	return 0;
}

void
mcp_listen(struct rpc *r)
{
	struct ats_err err = { 0 };
	struct client *c = r->client;
	struct mcp_listen_open *o;
	bool tools = false;
	struct ats_json_w w;

	if (mcp_refuse_twice(r) || read_filter(r, &tools) < 0)
		return;
	o = c->nlistens < r->e->set.client_listens_max ? malloc(sizeof(*o) + r->id.n) : NULL;
	if (o == NULL) {
		(void)ats_err_set(&err, c->nlistens < r->e->set.client_listens_max ? ATS_E_NOMEM :
		    ATS_E_FULL, "too many subscriptions at once");
		rpc_fail(r, &err);
		return;
	}
	*o = (struct mcp_listen_open){ .tools = tools, .n = r->id.n };
	memcpy(o->id, r->id.p, r->id.n);
	TAILQ_INSERT_TAIL(&c->listens, o, link);
	c->nlistens++;
	begin_note(&w, c, "notifications/subscriptions/acknowledged", o);
	ats_json_w_object(&w, "notifications");
	if (tools)
		ats_json_w_bool(&w, "toolsListChanged", true);
	ats_json_w_end(&w);
	(void)end_note(&w, c);
}
