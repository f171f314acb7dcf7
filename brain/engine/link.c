/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames from hands, row by row. Runs in the engine; everything that comes is a sandbox's.
 * A handler that is missing for a row does not compile. Negative returns end the link. */
#include "brain/engine/link_hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/hooks.h"
#include "brain/engine/relay.h"
#include "brain/engine/sessions.h"
#include "brain/engine/upgrade.h"
#include "brain/engine/vault_link.h"
#include "common/chan.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/map.h"

#define RUNNING_MAX 16384

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

static int
on_HELLO(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_HELLO *m,
    struct ats_err *err)
{
	(void)f;
	return link_on_hello(box, m, err);
}

static int
on_PROVE(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_PROVE *m,
    struct ats_err *err)
{
	(void)f;
	return link_on_prove(box, m, err);
}

static int
read_running(struct ats_slice raw, uint64_t *ids, size_t *ret_n, struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	size_t n = 0;

	*ret_n = 0;
	if (raw.p == NULL)
		return 0;
	v = ats_json_value(raw);
	if (v.type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "ready.running: expected an array");
	ats_json_iter_init(&it, raw);
	while (ats_json_next(&it, &key, &v)) {
		if (n == RUNNING_MAX || v.type != ATS_JSON_NUMBER ||
		    ats_json_to_u64(&v, &ids[n]) < 0)
			return ats_err_set(err, ATS_E_FIELD, "ready.running: expected call ids");
		n++;
	}
	*ret_n = n;
	return 0;
}

static void
take_program(struct sandbox *box, const struct ats_msg_READY *m)
{
	struct hands_program *p = &box->program;

	(void)snprintf(p->version, sizeof(p->version), "%s", m->version == NULL ? "" : m->version);
	(void)snprintf(p->build, sizeof(p->build), "%s", m->build == NULL ? "" : m->build);
	(void)snprintf(p->init, sizeof(p->init), "%s", m->init == NULL ? "" : m->init);
	p->fronts = m->fronts;
}

static int
on_READY(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_READY *m,
    struct ats_err *err)
{
	uint64_t *ids;
	size_t n = 0;
	char *text;
	int rc;

	(void)f;
	if (!box->hello_done || box->proof.wanted != box->proof.proven)
		return ats_err_set(err, ATS_E_STATE, "ready before hello");
	ids = calloc(RUNNING_MAX, sizeof(*ids));
	text = malloc(m->confinement.n + 1);
	if (ids == NULL || text == NULL) {
		free(ids);
		free(text);
		return ats_err_set(err, ATS_E_NOMEM, "ready");
	}
	memcpy(text, m->confinement.p, m->confinement.n);
	text[m->confinement.n] = '\0';
	free(box->confinement);
	box->confinement = text;
	take_program(box, m);
	box->may_have_hooks = m->has_hooks && m->hooks;
	rc = read_running(m->running, ids, &n, err);
	if (rc == 0) {
		box->state = SANDBOX_READY;
		dispatch_resumed(box, ids, n);
		sandbox_on_ready(box);
	}
	free(ids);
	return rc;
}

static int
on_RESULT(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_RESULT *m,
    struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);
	int rc;

	if (c != NULL)
		return dispatch_result(c, m, f, err);
	rc = hooks_on_result(box, m, f, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (ats_map_del(box->ghosts, f->head.call) == NULL)
		return ats_err_set(err, ATS_E_PROTO, "a result for a call that nobody made");
	link_ack(box, f->head.call);
	return 0;
}

static int
on_output(struct sandbox *box, const struct ats_frame *f, enum exec_stream_id id,
    uint64_t offset, struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);

	if (c == NULL && ats_map_get(box->ghosts, f->head.call) != NULL)
		return 0;
	if (c == NULL || c->exec == NULL)
		return ats_err_set(err, ATS_E_PROTO, "output of a call that is no exec");
	box->failures = 0;	/* a link that breaks often is of use if it carries something */
	return exec_output(c->exec, id, offset, f->head.payload_len, f->payload, f->payload_n,
	    err);
}

static int
on_EVENT_STDOUT(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_EVENT_STDOUT *m, struct ats_err *err)
{
	return on_output(box, f, EXEC_STDOUT, m->offset, err);
}

static int
on_EVENT_STDERR(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_EVENT_STDERR *m, struct ats_err *err)
{
	return on_output(box, f, EXEC_STDERR, m->offset, err);
}

static int
on_EVENT_GAP(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_EVENT_GAP *m,
    struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);
	enum exec_stream_id id = exec_stream_of(m->stream);

	if (c == NULL || c->exec == NULL || id == EXEC_STREAMS)
		return ats_err_set(err, ATS_E_PROTO, "a gap of a call that is no exec");
	return exec_gap(c->exec, id, m->from, m->to, err);
}

static int
on_EVENT_PROGRESS(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_EVENT_PROGRESS *m, struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);

	(void)err;
	if (c != NULL && !c->abandoned)
		call_progress(c, m, (struct ats_slice){ f->payload, f->payload_n });
	return 0;
}

static int
on_WINDOW(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_WINDOW *m,
    struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);

	if (c == NULL)
		return 0;	/* credit that crossed the end of its call */
	if (c->exec == NULL || exec_stream_of(m->stream) != EXEC_STDIN)
		return ats_err_set(err, ATS_E_PROTO, "window: not for stdin of an exec");
	return exec_window(c->exec, m->bytes, err);
}

static int
on_RESUMED(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_RESUMED *m,
    struct ats_err *err)
{
	struct call *c = ats_map_get(box->sent, f->head.call);

	if (c == NULL && ats_map_get(box->ghosts, f->head.call) != NULL)
		return 0;
	if (c == NULL || c->exec == NULL)
		return ats_err_set(err, ATS_E_PROTO, "resumed: no such exec");
	return exec_resumed(c->exec, m->in, m->in_window, err);
}

static int
on_PING(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_PING *m,
    struct ats_err *err)
{
	struct ats_msg_PONG pong = { .seq = m->seq, .has_seq = true };

	(void)f;
	return link_send(box, ATS_FRAME_PONG, 0, &pong, err);
}

static int
on_PONG(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_PONG *m,
    struct ats_err *err)
{
	(void)f;
	if (m->seq > box->ping_seq)
		return ats_err_set(err, ATS_E_PROTO, "a pong for a ping that nobody sent");
	return 0;
}

static int
on_UNCHANGED(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_UNCHANGED *m, struct ats_err *err)
{
	char quoted[480];

	(void)f;
	(void)err;
	(void)ats_log_quote(quoted, sizeof(quoted), m->text, strlen(m->text));
	upgrade_unchanged(box, ats_err_from_name(m->code), quoted);
	return 0;
}

static int
on_GOODBYE(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_GOODBYE *m,
    struct ats_err *err)
{
	char quoted[480];
	const char *text = m->text == NULL ? "" : m->text;
	int code = ats_err_from_name(m->code);

	(void)f;
	(void)ats_log_quote(quoted, sizeof(quoted), text, strlen(text));
	if (box->proof.wanted && code == ATS_E_PROOF)
		return ats_err_set(err, ATS_E_PROOF, "hands did not take our proof: %s", quoted);
	/* Not from one who is between us: nothing would be tried again. */
	if (box->proof.wanted && !box->proof.proven)
		return ats_err_set(err, ATS_E_EOF, "hands said goodbye: %s: %s", m->code, quoted);
	if (code == ATS_E_TAKEN_OVER) {
		box->displaced = true;
		return ats_err_set(err, code, "another brain took this sandbox over; atsctl "
		    "sandbox takeover %s takes it back", box->id);
	}
	if (code == ATS_E_UNAVAILABLE || code == ATS_E_CONFINE)
		return ats_err_set(err, code, "%s: %s", ats_err_name(code), quoted);
	return ats_err_set(err, ATS_E_EOF, "hands said goodbye: %s", quoted);
}

/* A program in the sandbox asks for a tool of the host. */
static int
on_CALL_GATEWAY(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_CALL_GATEWAY *m, struct ats_err *err)
{
	return relay_on_call(box, f, m, err);
}

static int
on_CANCEL(struct sandbox *box, const struct ats_frame *f, const struct ats_msg_CANCEL *m,
    struct ats_err *err)
{
	(void)m;
	(void)err;
	relay_on_cancel(box, f->head.call);
	return 0;
}

/* One typed handler a row that hands may send; what only brain sends has none. */
#define IF_HANDS(...) __VA_ARGS__
#define IF_EITHER(...) __VA_ARGS__
#define IF_BRAIN(...)

union message {
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc) struct ats_msg_##name name;
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "proto/frames.def"
#undef FRAME
#undef FIELD
#undef END
};

static int
dispatch_frame(struct sandbox *box, enum ats_frame_id id, const struct ats_frame *f,
    const union message *m, struct ats_err *err)
{
	switch (id) {
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc)                          \
	IF_##from(case ATS_FRAME_##name : return on_##name(box, f, &m->name, err);)
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "proto/frames.def"
#undef FRAME
#undef FIELD
#undef END
	default:
		return ats_err_set(err, ATS_E_STATE, "not a frame that hands sends");
	}
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(f->head.type, f->head.kind);
	struct sandbox *box = ctx;
	union message m;
	int rc;

	if (row == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_FRAME, "unknown frame");
	rc = ats_msg_decode(&row->shape, f->json, f->head.json_len, 0, &m, &box->arena, err);
	if (rc < 0)
		return rc;
	rc = dispatch_frame(box, ats_frame_row_id(row), f, &m, err);
	if (rc == 0 && ats_fault_drop_after(row->shape.name))
		return ats_err_set(err, ATS_E_EOF, "the fault that was asked for");
	return rc;
}

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
	.frame = on_frame,
	.sink = on_sink,
	.closed = on_closed,
};

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
