/* SPDX-License-Identifier: Apache-2.0
 *
 * Results until they are acknowledged. Runs in ats-gateway; the link's other end is the engine,
 * which is taken for hostile: what it sends is gated, and can end the link only. */
#include "brain/gateway/results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "brain/gateway/mask.h"
#include "brain/gateway/orders.h"
#include "common/chan.h"
#include "common/log.h"
#include "proto/msg.h"

#define PROGRESS_ROOM (1u << 20)	/* queued bytes over which none is sent */
#define MESSAGE_MAX 1000u		/* of EVENT_PROGRESS.message */

struct kept {
	uint64_t call;
	struct ats_buf json, payload;
	bool sent;
	struct kept *next;
};
struct results {
	struct event_base *base;
	struct ats_chan *chan;		/* or NULL */
	struct kept *first, **last;
	size_t n, bytes;
};

struct results *
results_new(struct event_base *base)
{
	struct results *rs = calloc(1, sizeof(*rs));

	if (rs == NULL)
		return NULL;
	rs->base = base;
	rs->last = &rs->first;
	return rs;
}

static void
kept_free(struct kept *k)
{
	ats_buf_done(&k->json);
	ats_buf_done(&k->payload);
	free(k);
}

static void
drop(struct results *rs, struct kept **at)
{
	struct kept *k = *at;

	*at = k->next;
	if (rs->last == &k->next)
		rs->last = at;
	rs->n--;
	rs->bytes -= k->json.len + k->payload.len;
	kept_free(k);
}

void
results_free(struct results *rs)
{
	if (rs == NULL)
		return;
	while (rs->first != NULL)
		drop(rs, &rs->first);
	ats_chan_free(rs->chan);
	free(rs);
}

/* In order; those for which there is no room go when others were acknowledged. */
static void
send_kept(struct results *rs)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_RESULT];

	for (struct kept *k = rs->first; rs->chan != NULL && k != NULL; k = k->next) {
		int rc = k->sent ? 0 : ats_chan_send(rs->chan, row->type, row->kind, k->call,
		    k->json.data, k->json.len, k->payload.data, k->payload.len);

		if (rc < 0)
			return;
		k->sent = true;
	}
}

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	int rc = ats_frame_gate(h, ATS_FROM_BRAIN, ATS_STATE_READY, err);

	(void)ctx;
	if (rc == 0 && ats_frame_row_find(h->type, h->kind) != &ats_frame_rows[ATS_FRAME_ACK])
		rc = ats_err_set(err, ATS_E_UNKNOWN_FRAME, "a gateway takes acknowledgements only");
	return rc;
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	struct results *rs = ctx;
	struct kept **at = &rs->first;

	(void)err;
	while (*at != NULL && (*at)->call != f->head.call)
		at = &(*at)->next;
	if (*at != NULL)
		drop(rs, at);
	send_kept(rs);
	return 0;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct results *rs = ctx;
	char text[200];

	ats_log(code == ATS_E_EOF ? ATS_LOG_INFO : ATS_LOG_WARN, "the engine's link ended",
	    "code=%s why=%s", ats_err_name(code),
	    ats_log_quote(text, sizeof(text), why, strlen(why)));
	ats_chan_free(rs->chan);
	rs->chan = NULL;
}

void
results_link(struct results *rs, int fd)
{
	static const struct ats_chan_ops ops = { .check = on_check, .frame = on_frame,
		.closed = on_closed };

	ats_chan_free(rs->chan);
	rs->chan = ats_chan_new(rs->base, fd, &ops, rs);
	if (rs->chan == NULL)
		ats_log(ATS_LOG_ERROR, "no link to the engine", "code=no_memory");
	for (struct kept *k = rs->first; k != NULL; k = k->next)
		k->sent = false;
	send_kept(rs);
}

int
results_add(struct results *rs, uint64_t call, struct result *r, uint64_t run_us)
{
	struct kept *k = calloc(1, sizeof(*k));
	int rc;

	if (k == NULL)
		return -ATS_E_NOMEM;
	k->call = call;
	ats_buf_init(&k->json, 64u << 10);
	ats_buf_init(&k->payload, 0);
	rc = result_json(r, run_us, &k->json);
	if (rc < 0) {
		kept_free(k);
		return rc;
	}
	k->payload = r->payload;	/* it changes its owner */
	ats_buf_init(&r->payload, 0);
	*rs->last = k;
	rs->last = &k->next;
	rs->n++;
	rs->bytes += k->json.len + k->payload.len;
	while (rs->n > ORDERS_KEPT_MAX || rs->bytes > ORDERS_KEPT_BYTES) {
		ats_log(ATS_LOG_ERROR, "a result is forgotten, the engine does not take them",
		    "call=c-%" PRIu64, rs->first->call);
		drop(rs, &rs->first);
	}
	send_kept(rs);
	return 0;
}

void
results_progress(struct results *rs, uint64_t call, const struct mask *m, const char *message,
    bool has_done, uint64_t done)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_EVENT_PROGRESS];
	struct ats_buf json ATS_CLEANUP_BUF = { 0 }, text ATS_CLEANUP_BUF = { 0 };
	struct ats_msg_EVENT_PROGRESS p = { .done = done, .has_done = has_done };

	if (rs->chan == NULL || ats_chan_queued(rs->chan) > PROGRESS_ROOM)
		return;
	ats_buf_init(&json, row->max_json);
	ats_buf_init(&text, MESSAGE_MAX + 1);
	if (mask_cut(m, message, strlen(message), MESSAGE_MAX, &text) < 0)
		return;
	p.message = text.data;
	if (ats_msg_encode(&row->shape, &p, &json, NULL) == 0)
		(void)!ats_chan_send(
		    rs->chan, row->type, row->kind, call, json.data, json.len, NULL, 0);
}
