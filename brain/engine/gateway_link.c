/* SPDX-License-Identifier: Apache-2.0
 *
 * The links on which results of gateways come, one a running gateway. Runs in the engine; a
 * gateway talks to the network and to programs of others, so what comes from it is hostile: any
 * breach ends its link, and no more. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/gateway_private.h"
#include "brain/engine/vault_link.h"
#include "common/chan.h"
#include "common/log.h"
#include "proto/msg.h"

#define ARENA_MAX (2u << 20)

struct gateway_link {
	TAILQ_ENTRY(gateway_link) link;	/* the newest first */
	struct gateways *g;
	char gateway[ATS_GATEWAY_NAME_MAX + 1];
	uint64_t generation;
	struct ats_chan *chan;
	struct ats_buf arena;
};

static void
link_free(struct gateway_link *l)
{
	TAILQ_REMOVE(&l->g->links, l, link);
	ats_chan_free(l->chan);
	ats_buf_done(&l->arena);
	free(l);
}

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(h->type, h->kind);
	int rc = ats_frame_gate(h, ATS_FROM_HANDS, ATS_STATE_READY, err);

	(void)ctx;
	if (rc < 0)
		return rc;
	if (row != &ats_frame_rows[ATS_FRAME_RESULT] &&
	    row != &ats_frame_rows[ATS_FRAME_EVENT_PROGRESS])
		return ats_err_set(err, ATS_E_STATE, "not a frame that a gateway sends");
	return 0;
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(f->head.type, f->head.kind);
	struct gateway_link *l = ctx;
	union {
		struct ats_msg_RESULT result;
		struct ats_msg_EVENT_PROGRESS progress;
	} m;
	int rc;

	rc = ats_msg_decode(&row->shape, f->json, f->head.json_len, 0, &m, &l->arena, err);
	if (rc < 0)
		return rc;
	if (row == &ats_frame_rows[ATS_FRAME_RESULT])
		return gateway_on_result(l->g->e, l->gateway, &m.result, f, err);
	return gateway_on_progress(l->g->e, l->gateway, &m.progress, f, err);
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct gateway_link *l = ctx;
	struct engine *e = l->g->e;
	char name[sizeof(l->gateway)];
	uint64_t generation = l->generation;
	bool broken = code != ATS_E_EOF;

	memcpy(name, l->gateway, sizeof(name));
	ats_log(broken ? ATS_LOG_WARN : ATS_LOG_INFO, "the link of a gateway ended",
	    "gateway=%s generation=%llu why=\"%s\"", name, (unsigned long long)generation, why);
	link_free(l);
	/* Nothing that it does can be told to anybody. */
	if (broken)
		vault_link_gateway_broken(e, name, generation);
	gateway_lost(e, name, generation);
}

static const struct ats_chan_ops ops = {
	.check = on_check,
	.frame = on_frame,
	.closed = on_closed,
};

static struct gateway_link *
newest(const struct gateways *g, const char *gateway)
{
	struct gateway_link *l;

	if (g == NULL)
		return NULL;
	TAILQ_FOREACH(l, &g->links, link)
		if (strcmp(l->gateway, gateway) == 0)
			return l;
	return NULL;
}

void
gateway_links_on_fd(struct gateways *g, const char *gateway, uint64_t generation, int fd)
{
	struct gateway_link *l = newest(g, gateway), *n;

	if (strlen(gateway) > ATS_GATEWAY_NAME_MAX ||
	    (l != NULL && l->generation > generation)) {
		(void)close(fd);
		return;
	}
	/* Of an older one the end is still to be read, and results before it. */
	if (l != NULL && l->generation == generation)
		link_free(l);
	n = calloc(1, sizeof(*n));
	if (n == NULL) {
		(void)close(fd);
		ats_log(ATS_LOG_ERROR, "no memory for the link of a gateway", "gateway=%s",
		    gateway);
		return;
	}
	n->g = g;
	n->generation = generation;
	(void)snprintf(n->gateway, sizeof(n->gateway), "%s", gateway);
	ats_buf_init(&n->arena, ARENA_MAX);
	TAILQ_INSERT_HEAD(&g->links, n, link);
	n->chan = ats_chan_new(g->e->base, fd, &ops, n);
	if (n->chan == NULL)
		link_free(n);
}

uint64_t
gateway_links_generation(const struct gateways *g, const char *gateway)
{
	const struct gateway_link *l = newest(g, gateway);

	return l == NULL ? 0 : l->generation;
}

bool
gateway_links_open(const struct gateways *g, const char *gateway, uint64_t generation)
{
	const struct gateway_link *l;

	TAILQ_FOREACH(l, &g->links, link)
		if (strcmp(l->gateway, gateway) == 0 && l->generation == generation)
			return true;
	return false;
}

void
gateway_links_ack(struct gateways *g, const char *gateway, uint64_t call)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_ACK];
	struct gateway_link *l = newest(g, gateway);

	/* Without a link, or room in it, it comes again, and is acknowledged then. */
	if (l != NULL)
		(void)!ats_chan_send(l->chan, row->type, row->kind, call, "{}", 2, NULL, 0);
}

void
gateway_links_free(struct gateways *g)
{
	struct gateway_link *l;

	while ((l = TAILQ_FIRST(&g->links)) != NULL)
		link_free(l);
}
