/* SPDX-License-Identifier: Apache-2.0
 *
 * The channel to one hands, from its start to its end: what goes out, and which heads may come in.
 * Runs in the engine; everything that comes is a sandbox's. */
#include "brain/engine/link.h"

#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/link_frames.h"
#include "brain/engine/link_hello.h"
#include "brain/engine/relay.h"
#include "brain/engine/vault_link.h"
#include "common/chan.h"
#include "common/clock.h"
#include "common/map.h"

/* ---- sending --------------------------------------------------------------------- */

int
link_send_payload(struct sandbox *box, enum ats_frame_id frame, uint64_t call, const void *msg,
    struct ats_slice payload, struct ats_err *err)
{
	const struct ats_frame_row *row = &ats_frame_rows[frame];
	int rc;

	/* A new link takes calls, and words about those of the last one, when it is ready. */
	if (box->chan == NULL || (row->state == ATS_STATE_READY && box->state != SANDBOX_READY))
		return ats_err_set(err, ATS_E_EOF, "no link to the sandbox");
	ats_buf_reset(&box->json);
	rc = ats_msg_encode(&row->shape, msg, &box->json, err);
	if (rc < 0)
		return rc;
	rc = ats_chan_send(box->chan, row->type, row->kind, call, box->json.data,
	    box->json.len, payload.p, payload.n);
	return rc < 0 ? ats_err_set(err, -rc, "%s: %s", row->shape.name, ats_err_text(rc)) : 0;
}

int
link_send(struct sandbox *box, enum ats_frame_id frame, uint64_t call, const void *msg,
    struct ats_err *err)
{
	return link_send_payload(box, frame, call, msg, (struct ats_slice){ NULL, 0 }, err);
}

void
link_cancel(struct sandbox *box, uint64_t call, const char *why)
{
	struct ats_msg_CANCEL m = { .why = why };

	if (box == NULL)
		return;
	(void)(link_send(box, ATS_FRAME_CANCEL, call, &m, NULL) < 0);
}

void
link_ack(struct sandbox *box, uint64_t call)
{
	struct ats_msg_ACK m = { 0 };

	if (box == NULL)
		return;
	(void)(link_send(box, ATS_FRAME_ACK, call, &m, NULL) < 0);
}

int
link_heartbeat(struct sandbox *box)
{
	uint64_t silent_us = ats_clock_us() - ats_chan_last_rx_us(box->chan);
	uint64_t interval_us = box->e->set.heartbeat_ms * 1000;
	struct ats_msg_PING m = { .seq = ++box->ping_seq, .has_seq = true };

	if (silent_us >= 2 * interval_us)
		return -ATS_E_SILENT;
	if (silent_us >= interval_us / 2)
		(void)(link_send(box, ATS_FRAME_PING, 0, &m, NULL) < 0);
	return 0;
}

/* ---- receiving ------------------------------------------------------------------- */

/* EXEC_STREAMS: no output. */
static enum exec_stream_id
output_of(uint8_t type, uint8_t kind)
{
	const struct ats_frame_row *row = ats_frame_row_find(type, kind);

	if (row == &ats_frame_rows[ATS_FRAME_EVENT_STDOUT])
		return EXEC_STDOUT;
	return row == &ats_frame_rows[ATS_FRAME_EVENT_STDERR] ? EXEC_STDERR : EXEC_STREAMS;
}

/* Before a byte of JSON: direction, state, size, and for output the window. */
static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	struct sandbox *box = ctx;
	const struct ats_frame_row *row = ats_frame_row_find(h->type, h->kind);
	enum ats_frame_id row_id;
	enum exec_stream_id id;
	struct call *c;
	int rc;

	rc = ats_frame_gate(h, ATS_FROM_HANDS,
	    box->state == SANDBOX_READY ? ATS_STATE_READY : ATS_STATE_HELLO, err);
	if (rc < 0)
		return rc;
	if (row == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_FRAME, "unknown frame");
	row_id = ats_frame_row_id(row);
	if (box->proof.wanted && !box->proof.proven && row_id != ATS_FRAME_HELLO &&
	    row_id != ATS_FRAME_PROVE && row_id != ATS_FRAME_GOODBYE)
		return link_not_proven(box, "it goes on without a proof", err);
	id = output_of(h->type, h->kind);
	c = id == EXEC_STREAMS ? NULL : ats_map_get(box->sent, h->call);
	if (c == NULL || c->exec == NULL)
		return 0;	/* judged when it is here */
	return exec_check(c->exec, id, h->payload_len, err);
}

static int
on_sink(void *ctx, const struct ats_frame *f)
{
	enum exec_stream_id id = output_of(f->head.type, f->head.kind);
	struct sandbox *box = ctx;
	struct call *c = ats_map_get(box->sent, f->head.call);

	return id == EXEC_STREAMS || c == NULL || c->exec == NULL ? -1 : exec_sink(c->exec, id);
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct sandbox *box = ctx;

	/* Its hands may have the TLS key of the generation before. */
	if (code == ATS_E_PERM && box->proof.wanted)
		box->pin_previous = !box->pin_previous;
	sandbox_lost(box, code, why);
}

static const struct ats_chan_ops ops = {
	.check = on_check,
	.frame = link_on_frame,
	.sink = on_sink,
	.closed = on_closed,
};

/* ---- its life -------------------------------------------------------------------- */

int
link_start(struct sandbox *box, int fd, const char *address, struct ats_err *err)
{
	struct ats_addr addr;
	int rc = 0;

	box->hello_done = false;
	box->epoch++;
	proof_end(&box->proof);
	if (address[0] == '\0') {
		box->chan = ats_chan_new(box->e->base, fd, &ops, box);
		if (box->chan == NULL)
			return ats_err_set(err, ATS_E_NOMEM, "link");
	} else {
		rc = ats_addr_parse(address, &addr, err);
		if (rc == 0)
			rc = proof_begin(&box->proof, box->epoch, err);
		if (rc < 0) {
			(void)close(fd);
			return rc;
		}
		box->proof.tls_elsewhere = box->e->trust.has_pin || box->e->trust.ca_pem != NULL;
		box->kind = addr.kind;
		rc = link_connect(box, fd, &addr, &ops, err);
		if (rc < 0)
			return rc;
	}
	/* One that has left already may have said why: it is read, then its end is seen. */
	rc = link_hello(box, err);
	return rc == -ATS_E_EOF ? 0 : rc;
}

int
link_adopt(struct sandbox *box, struct ats_chan *c, struct proof *p, enum ats_addr_kind kind,
    struct ats_err *err)
{
	box->hello_done = true;
	box->epoch = p->epoch;
	box->kind = kind;
	proof_end(&box->proof);
	box->proof = *p;
	*p = (struct proof){ 0 };
	box->chan = c;
	ats_chan_give(c, &ops, box);
	if (link_key_proven(&box->key, box->proof.generation))
		vault_link_proven(box->e, box, box->proof.generation);
	return link_take_hands(box, box->proof.boot, box->proof.workspace, err);
}

void
link_cut(struct sandbox *box)
{
	struct ats_frame_head half;
	size_t n = box->chan == NULL ? 0 : ats_chan_cut(box->chan, &half);
	struct call *c = n == 0 ? NULL : ats_map_get(box->sent, half.call);

	if (c == NULL || c->exec == NULL)
		return;
	box->failures = 0;
	exec_half(c->exec, output_of(half.type, half.kind), n);
}

void
link_stop(struct sandbox *box)
{
	ats_chan_free(box->chan);
	box->chan = NULL;
	relay_unlinked(box);
	ats_buf_reset(&box->json);
	ats_buf_reset(&box->ctx);
	ats_buf_reset(&box->arena);
	ats_buf_reset(&box->delta_arena);
}
