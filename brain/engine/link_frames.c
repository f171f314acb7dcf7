/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames from hands, row by row. Runs in the engine; everything that comes is a sandbox's, and has
 * passed link.c's look at its head. A handler that is missing for a row does not compile. Negative
 * returns end the link. */
#include "brain/engine/link_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/dispatch.h"
#include "brain/engine/exec.h"
#include "brain/engine/hooks.h"
#include "brain/engine/link_hello.h"
#include "brain/engine/relay.h"
#include "brain/engine/upgrade.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/map.h"

#define RUNNING_MAX 16384

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

int
link_on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
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
