/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/list, and the change of what it says. Runs in the engine; parameters are a client's. */
#include "brain/engine/mcp_list.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/mcp.h"
#include "brain/engine/mcp_era.h"
#include "brain/engine/mcp_listen.h"
#include "brain/engine/rpc.h"
#include "brain/engine/toolset.h"
#include "common/clock.h"

#define WAITS_A_CLIENT 16u
#define LIST_TTL_MS 60000u	/* that a client listens to its change is not known here */

struct waiting {
	TAILQ_ENTRY(waiting) link;
	struct client *client;
	bool modern;
	size_t id_len;
	char id[];		/* raw */
};
struct mcp_lists {
	struct engine *e;
	TAILQ_HEAD(, waiting) waiting;
	struct event *enough;
};

static void
give(struct rpc *r)
{
	struct ats_json_w *w = rpc_begin(r);

	ats_json_w_raw(w, "tools", "", 0);
	if (w->rc == 0)
		w->rc = toolset_write(r->e, w->out);
	/* One that is not whole yet is not kept. */
	if (r->modern)
		mcp_write_cache(w, gateways_all_told(r->e->gateways) ? LIST_TTL_MS : 0);
	rpc_end(r);
}

static void
drop(struct mcp_lists *l, struct waiting *x)
{
	TAILQ_REMOVE(&l->waiting, x, link);
	x->client->lists--;
	free(x);
}

static void
give_all(struct mcp_lists *l)
{
	struct waiting *x;
	struct rpc r = { .e = l->e };
	char id[RPC_ID_MAX + 1];

	(void)event_del(l->enough);
	while ((x = TAILQ_FIRST(&l->waiting)) != NULL) {
		memcpy(id, x->id, x->id_len);
		r.client = x->client;
		r.modern = x->modern;
		r.id = (struct ats_slice){ id, x->id_len };
		drop(l, x);
		give(&r);
	}
}

static void
on_enough(evutil_socket_t fd, short what, void *arg)
{
	struct mcp_lists *l = arg;

	(void)fd;
	(void)what;
	gateways_too_late(l->e->gateways);
	give_all(l);
}

struct mcp_lists *
mcp_lists_new(struct engine *e)
{
	struct mcp_lists *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->e = e;
	TAILQ_INIT(&l->waiting);
	l->enough = event_new(e->base, -1, 0, on_enough, l);
	if (l->enough == NULL) {
		free(l);
		return NULL;
	}
	return l;
}

void
mcp_lists_free(struct mcp_lists *l)
{
	if (l == NULL)
		return;
	while (!TAILQ_EMPTY(&l->waiting))
		drop(l, TAILQ_FIRST(&l->waiting));
	event_free(l->enough);
	free(l);
}

void
mcp_lists_check(struct engine *e)
{
	if (e->lists != NULL && !gateways_pending(e->gateways))
		give_all(e->lists);
}

void
mcp_lists_client_gone(struct client *c)
{
	struct mcp_lists *l = c->e->lists;
	struct waiting *x, *next;

	for (x = c->lists == 0 ? NULL : TAILQ_FIRST(&l->waiting); x != NULL; x = next) {
		next = TAILQ_NEXT(x, link);
		if (x->client == c)
			drop(l, x);
	}
}

static struct waiting *
find(const struct client *c, struct ats_slice id)
{
	struct waiting *x = c->lists == 0 ? NULL : TAILQ_FIRST(&c->e->lists->waiting);

	while (x != NULL && (x->client != c || x->id_len != id.n || memcmp(x->id, id.p, id.n) != 0))
		x = TAILQ_NEXT(x, link);
	return x;
}

bool
mcp_list_waits(const struct client *c, struct ats_slice id)
{
	return find(c, id) != NULL;
}

bool
mcp_list_cancel(struct client *c, struct ats_slice id)
{
	struct waiting *x = find(c, id);

	if (x != NULL)
		drop(c->e->lists, x);
	return x != NULL;
}

/* False: it must be answered now. */
static bool
wait_for_gateways(struct rpc *r)
{
	uint64_t ms = r->e->set.list_ms;
	struct timeval enough = ats_timeval_ms(ms);
	struct mcp_lists *l = r->e->lists;
	struct waiting *x;

	gateways_want(r->e->gateways);
	if (!gateways_pending(r->e->gateways) || r->client->lists >= WAITS_A_CLIENT)
		return false;
	x = malloc(sizeof(*x) + r->id.n);
	if (x == NULL)
		return false;
	x->client = r->client;
	x->modern = r->modern;
	x->id_len = r->id.n;
	memcpy(x->id, r->id.p, r->id.n);
	if (TAILQ_EMPTY(&l->waiting))
		(void)event_add(l->enough, &enough);
	TAILQ_INSERT_TAIL(&l->waiting, x, link);
	r->client->lists++;
	return true;
}

void
mcp_tools_list(struct rpc *r)
{
	char cursor[8] = "";
	struct rpc_param p[] = { { "cursor", RPC_STR, false, sizeof(cursor), cursor } };

	if (mcp_refuse_twice(r) || rpc_params(r, p, ATS_ARRAY_LEN(p), true) < 0)
		return;
	if (cursor[0] != '\0') {
		rpc_error(r->client, r->id, RPC_PARAMS, "cursor: the list has one page");
		return;
	}
	if (!wait_for_gateways(r))
		give(r);
}

void
mcp_list_changed(struct client *c)
{
	static const char line[] = "{\"jsonrpc\":\"2.0\","
				   "\"method\":\"notifications/tools/list_changed\"}\n";

	mcp_listens_tell(c);
	if (c->dead || !c->initialised)
		return;
	if (ats_buf_add(&c->out, line, sizeof(line) - 1) < 0) {
		client_drop(c, "no room for a notification");
		return;
	}
	client_flush(c);
}
