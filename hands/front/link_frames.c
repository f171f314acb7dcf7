/* SPDX-License-Identifier: Apache-2.0
 *
 * One handler for each frame that brain may send after ready. Runs in hands' front, after the
 * gate; what the frames say is still the peer's. */
#include "hands/front/link_private.h"

#include "hands/front/calls.h"
#include "hands/front/exec.h"
#include "hands/front/front.h"
#include "hands/front/gateway.h"
#include "hands/front/upgrade.h"

#include <string.h>

#define IF_BRAIN(...) __VA_ARGS__
#define IF_EITHER(...) __VA_ARGS__
#define IF_HANDS(...)
#define IN_HELLO(...)		/* link_peer.c */
#define IN_READY(...) __VA_ARGS__
#define IN_ANY(...) __VA_ARGS__

typedef int frame_fn(struct link *l, const struct ats_frame *fr, struct ats_err *err);
/* A frame that brain may send then and that has no handler does not link. */
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc) \
	IN_##state(IF_##from(static frame_fn on_##name;))
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "proto/frames.def"
#undef FRAME
static frame_fn *const handlers[ATS_FRAME_COUNT] = {
#define FRAME(name, type, kind, wire, from, state, mj, mp, doc) \
	IN_##state(IF_##from([ATS_FRAME_##name] = on_##name, ))
#include "proto/frames.def"
#undef FRAME
#undef FIELD
#undef END
};

static int
decode(struct link *l, enum ats_frame_id id, const struct ats_frame *fr, void *ret,
    struct ats_err *err)
{
	return ats_msg_decode(&ats_frame_rows[id].shape, fr->json, fr->head.json_len, 0,
	    ret, &l->f->arena, err);
}

static int
on_RESUME(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_RESUME m;
	int rc = decode(l, ATS_FRAME_RESUME, fr, &m, err);

	return rc < 0 ? rc : exec_on_resume(l->f, fr->head.call, &m, err);
}

static int
on_CALL_TOOL(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	return calls_on_tool(l->f->calls, fr, err);
}

static int
on_CALL_EXEC(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	return calls_on_exec(l->f->calls, fr, err);
}

static int
on_CALL_VALIDATE(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	return calls_on_validate(l->f->calls, fr, err);
}

static int
on_CALL_HOOK(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	return calls_on_hook(l->f->calls, fr, err);
}

static int
on_EVENT_STDIN(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_EVENT_STDIN m;
	int rc = decode(l, ATS_FRAME_EVENT_STDIN, fr, &m, err);

	return rc < 0 ? rc : exec_on_stdin(l->f, fr, &m, err);
}

static int
on_PING(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_PING m;
	struct ats_msg_PONG answer = { .seq = 0 };
	int rc = decode(l, ATS_FRAME_PING, fr, &m, err);

	if (rc < 0)
		return rc;
	answer.seq = m.seq;
	rc = link_send_msg(l, ATS_FRAME_PONG, 0, &answer);
	return rc == -ATS_E_EOF ? 0 : rc;
}

static int
on_PONG(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_PONG m;

	return decode(l, ATS_FRAME_PONG, fr, &m, err);
}

static int
on_CANCEL(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_CANCEL m;
	int rc = decode(l, ATS_FRAME_CANCEL, fr, &m, err);

	if (rc < 0)
		return rc;
	calls_on_cancel(
	    l->f->calls, fr->head.call, m.why != NULL && strcmp(m.why, "timeout") == 0);
	return 0;
}

/* What brain says of calls that hands made, for programs in the sandbox. */
static int
on_RESULT(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	return gateway_on_result(l->f->gateway, fr, err);
}

static int
on_EVENT_PROGRESS(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	return gateway_on_progress(l->f->gateway, fr, err);
}

static int
on_TOOLS(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	return gateway_on_tools(l->f->gateway, fr, err);
}

static int
on_SIGNAL(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_SIGNAL m;
	int rc = decode(l, ATS_FRAME_SIGNAL, fr, &m, err);

	if (rc == 0)
		exec_on_signal(l->f, fr->head.call, (unsigned)m.number);
	return rc;
}

static int
on_RESIZE(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_RESIZE m;
	int rc = decode(l, ATS_FRAME_RESIZE, fr, &m, err);

	if (rc == 0)
		exec_on_resize(l->f, fr->head.call, (unsigned)m.rows, (unsigned)m.cols);
	return rc;
}

static int
on_WINDOW(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_WINDOW m;
	int rc = decode(l, ATS_FRAME_WINDOW, fr, &m, err);

	return rc < 0 ? rc : exec_on_window(l->f, fr->head.call, m.stream, m.bytes, err);
}

static int
on_ACK(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_ACK m;
	int rc = decode(l, ATS_FRAME_ACK, fr, &m, err);

	if (rc == 0)
		calls_on_ack(l->f->calls, fr->head.call);
	return rc;
}

static int
on_DRAIN(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_DRAIN m;
	int rc = decode(l, ATS_FRAME_DRAIN, fr, &m, err);

	if (rc < 0)
		return rc;
	l->f->draining = true;
	front_stop_if_drained(l->f);
	return 0;
}

static int
on_UPGRADE(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_UPGRADE m;
	int rc = decode(l, ATS_FRAME_UPGRADE, fr, &m, err);

	if (rc == 0)
		upgrade_ask(l->f);
	return rc;
}

static int
on_GOODBYE(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	return peer_on_goodbye(l->at, fr, err);
}

int
link_frame(struct link *l, const struct ats_frame *fr, struct ats_err *err)
{
	const struct ats_frame_row *row =
	    ats_frame_row_find(fr->head.type, fr->head.kind);
	frame_fn *fn = row == NULL ? NULL : handlers[ats_frame_row_id(row)];

	return fn == NULL ? -ATS_E_UNKNOWN_FRAME : fn(l, fr, err);
}
