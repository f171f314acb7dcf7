/* SPDX-License-Identifier: Apache-2.0
 *
 * Sending calls and taking their results. Runs in the engine; results are a sandbox's. */
#include "brain/engine/dispatch_private.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/answer.h"
#include "brain/engine/ctx.h"
#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/hooks.h"
#include "brain/engine/link.h"
#include "brain/engine/observe.h"
#include "brain/engine/permit.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/turns.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"

#define FULL_AGAIN_US 5000

void
dispatch_enqueue(struct call *c, bool first)
{
	struct sandbox *box = c->box;

	c->state = CALL_QUEUED;
	c->in_queue = true;
	c->deadline_us = ats_clock_us() + c->e->set.queue_ms * 1000;
	if (first)
		TAILQ_INSERT_HEAD(&box->queue, c, link);
	else
		TAILQ_INSERT_TAIL(&box->queue, c, link);
	box->nqueue++;
	call_timer_set(c);
}

void
dispatch_dequeue(struct call *c)
{
	if (!c->in_queue)
		return;
	TAILQ_REMOVE(&c->box->queue, c, link);
	c->box->nqueue--;
	c->in_queue = false;
}

/* ---- sending --------------------------------------------------------------------- */

static int
journal(struct call *c, struct ats_err *err)
{
	int64_t now = ats_clock_wall_ms();
	struct store_call row = {
		.id = c->id, .session = c->session->id, .sandbox = c->box->id,
		.key = call_client_key(c), .tool = call_tool_name(c), .digest = c->digest,
		.boot = c->box->boot, .path = c->path, .attempt = c->attempt,
		.asked = c->asked_sha[0] == '\0' ? NULL : c->asked_sha, .permitted = c->agreed,
		.created_ms = now,
		.deadline_ms = c->timeout_ms == 0 ? 0 : now + (int64_t)c->timeout_ms,
	};
	uint64_t began = ats_clock_us();
	int rc;

	hooks_note(c, &row);
	rc = store_call_sent(c->e->store, &row, err);

	observe_commit(c, began, rc);
	if (rc == 0)
		c->journaled = true;
	/* On a retry the row of the first time still tells enough. */
	return c->attempt > 0 ? 0 : rc;
}

static bool
wants_progress(const struct call *c)
{
	const struct waiter *w;

	TAILQ_FOREACH(w, &c->waiters, of_call)
		if (w->progress)
			return true;
	return false;
}

/* It is under way already: without its streams it is taken back, and nobody waits for its end. */
static int
start_streams(struct call *c, struct ats_err *err)
{
	int rc = exec_start(c->exec, c, err);

	if (rc == 0)
		return 0;
	c->given++;
	if (ats_map_put(c->box->ghosts, c->id, c->box) == 0)
		link_cancel(c->box, c->id, "cancelled");
	return rc;
}

static int
send_tool(struct call *c, struct ats_err *err)
{
	struct sandbox *box = c->box;
	bool pure = call_class(c) == ATS_CLASS_PURE;
	struct ats_msg_CALL_TOOL m = {
		.name = c->tool->name, .session = c->session->id,
		.input = { c->input, c->input_len },
		.deadline_ms = c->timeout_ms, .has_deadline_ms = true,
		.attempt = c->attempt, .has_attempt = c->attempt > 0,
		.keep = !pure, .has_keep = !pure,
	};
	int rc;

	m.progress = m.has_progress = wants_progress(c);
	m.split = m.has_split = !TAILQ_EMPTY(&c->waiters) &&
	    TAILQ_FIRST(&c->waiters)->form == CALL_FORM_ATS;
	m.ctx.p = box->ctx.data;
	m.ctx.n = box->ctx.len;
	if (c->exec == NULL)
		return link_send(box, ATS_FRAME_CALL_TOOL, c->id, &m, err);
	m.window = exec_window_size(c->exec);	/* its bytes go to the client's pipe */
	m.has_window = true;
	rc = link_send(box, ATS_FRAME_CALL_TOOL, c->id, &m, err);
	return rc < 0 ? rc : start_streams(c, err);
}

static int
send_validate(struct call *c, struct ats_err *err)
{
	struct ats_msg_CALL_VALIDATE m = {
		.name = c->tool->name, .session = c->session->id,
		.input = { c->input, c->input_len },
		.ctx = { c->box->ctx.data, c->box->ctx.len },
		.deadline_ms = c->timeout_ms, .has_deadline_ms = true,
	};

	return link_send(c->box, ATS_FRAME_CALL_VALIDATE, c->id, &m, err);
}

static int
send_exec(struct call *c, struct ats_err *err)
{
	struct ats_msg_CALL_EXEC m = { .session = c->session->id };
	int rc;

	exec_fill(c->exec, &m);
	m.ctx.p = c->box->ctx.data;
	m.ctx.n = c->box->ctx.len;
	m.deadline_ms = c->timeout_ms;
	m.has_deadline_ms = c->timeout_ms != 0;
	rc = link_send(c->box, ATS_FRAME_CALL_EXEC, c->id, &m, err);
	return rc < 0 ? rc : start_streams(c, err);
}

/* 0: sent. -ATS_E_FULL or -ATS_E_EOF: later. Others: never. */
static int
send_call(struct call *c, struct ats_err *err)
{
	const struct session_read *known;
	struct sandbox *box = c->box;
	int rc;

	if (c->tool != NULL)
		turns_look_at_input(c);
	if (c->attempt > 0 && c->path != NULL && c->cwd == NULL)
		return ats_err_set(err, ATS_E_LOST,
		    "the working directory that its path was relative to is not known any more");
	rc = permit_check_again(c, err);
	if (rc < 0)
		return rc;
	known = c->path == NULL ? NULL : session_read_find(c->session, c->path);
	c->read_nr = known == NULL ? 0 : known->nr;
	ats_buf_reset(&box->ctx);
	rc = ctx_in_write(c->session, c->cwd, c->path == NULL ? "" : c->path,
	    c->exec != NULL ? exec_term(c->exec) : "", &box->ctx);
	if (rc < 0)
		return ats_err_set(err, -rc, "ctx_in");
	if (call_class(c) != ATS_CLASS_PURE) {
		rc = journal(c, err);
		if (rc < 0)
			return rc;
	}
	if (ats_map_put(box->sent, c->id, c) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "call");
	rc = c->validate       ? send_validate(c, err)
	     : c->tool != NULL ? send_tool(c, err)
			       : send_exec(c, err);
	if (rc < 0) {
		(void)ats_map_del(box->sent, c->id);
		return rc;
	}
	c->state = CALL_SENT;
	c->given++;
	observe_sent(c);
	c->deadline_us = c->timeout_ms == 0 ? 0 :
	    c->sent_us + (c->timeout_ms + c->e->set.grace_ms) * 1000;
	call_timer_set(c);
	return 0;
}

/* false: it is back in the queue and the next would fare no better. */
static bool
try_send(struct call *c)
{
	struct timeval again = { 0, FULL_AGAIN_US };
	struct ats_err err = { 0 };
	int rc;

	if (c->e->hooks_on && hooks_before_send(c))
		return true;
	rc = send_call(c, &err);
	if (rc == 0)
		return true;
	if (rc == -ATS_E_FULL || rc == -ATS_E_EOF) {
		dispatch_enqueue(c, true);
		if (rc == -ATS_E_FULL)
			(void)event_add(c->box->retry, &again);
		return false;
	}
	if (call_may_have_run(c))
		call_finish_unknown(c, err.code, err.text);
	else
		call_fail(c, OUTCOME_NOT_STARTED, err.code, "not started: %s", err.text);
	return true;
}

static bool
has_room(const struct sandbox *box)
{
	return box->state == SANDBOX_READY && box->upgrade == NULL &&
	    ats_map_count(box->sent) < box->e->set.inflight_max;
}

void
dispatch_submit(struct call *c)
{
	struct sandbox *box = c->box;

	c->state = CALL_QUEUED;
	if (c->e->hooks_on && hooks_before(c))
		return;
	if (!permit_check(c))
		return;
	if (!turns_take(c)) {
		c->deadline_us = ats_clock_us() + c->e->set.queue_ms * 1000;
		call_timer_set(c);
	} else if (has_room(box) && TAILQ_EMPTY(&box->queue)) {
		(void)try_send(c);
		return;
	} else {
		dispatch_enqueue(c, false);
	}
	sandbox_want(box);
}

void
dispatch_ready(struct call *c)
{
	dispatch_enqueue(c, false);
	event_active(c->box->retry, EV_TIMEOUT, 0);
}

void
dispatch_again(struct call *c)
{
	dispatch_enqueue(c, true);
	sandbox_want(c->box);
	dispatch_next(c->box);
}

void
dispatch_next(struct sandbox *box)
{
	struct call *c;

	while (has_room(box) && (c = TAILQ_FIRST(&box->queue)) != NULL) {
		dispatch_dequeue(c);
		if (!try_send(c))
			return;
	}
}

/* ---- results --------------------------------------------------------------------- */

int
dispatch_read_outcome(const struct ats_msg_RESULT *m, const struct ats_frame *f, struct outcome *o,
    struct ats_err *err)
{
	memset(o, 0, sizeof(*o));
	if (outcome_parse(m->outcome, &o->kind) < 0 || o->kind == OUTCOME_UNKNOWN)
		return ats_err_set(
		    err, ATS_E_FIELD, "result.outcome: expected done or not_started");
	o->is_error = m->is_error;
	o->code = m->code == NULL ? 0 : ats_err_from_name(m->code);
	o->payload.p = f->payload;
	o->payload.n = f->payload_n;
	o->blocks = m->blocks;
	o->output = m->output;
	o->exit_kind = m->exit_kind;
	o->exit_code = m->exit_code;
	o->has_exit_code = m->has_exit_code;
	o->t.us[ATS_TIMING_QUEUE] = m->queue_us;
	o->t.us[ATS_TIMING_SETUP] = m->setup_us;
	o->t.us[ATS_TIMING_RUN] = m->run_us;
	o->here_us = m->here_us;
	if (o->blocks.p != NULL)
		return answer_blocks_check(o->blocks, o->payload.n, err);
	return 0;
}

/* It did not hold its turn, and another call has told of the file since it was sent. */
static bool
is_outdated(const struct call *c)
{
	const struct session_read *r;

	if (c->exec == NULL || c->path == NULL)
		return false;
	r = session_read_find(c->session, c->path);
	return (r == NULL ? 0 : r->nr) != c->read_nr;
}

static int
take_delta(struct call *c, struct ats_slice delta, struct ats_err *err)
{
	const char *dropped = NULL;
	size_t shells;
	int rc;

	if (delta.p == NULL || c->session == NULL || c->tool == NULL)
		return 0;
	if (c->validate)
		return ats_err_set(
		    err, ATS_E_FIELD, "result.ctx_delta: a validate changes nothing");
	if (is_outdated(c))
		return 0;
	shells = c->session->nshells;
	rc = ctx_delta_apply(c->session, c->tool, c->path == NULL ? "" : c->path, delta,
	    &c->box->delta_arena, &dropped, err);
	if (rc < 0)
		return rc;
	if (dropped != NULL)
		ats_log(ATS_LOG_WARN, "part of a ctx_delta was dropped",
		    "session=%s sandbox=%s call=c-%llu what=\"%s\"", c->session->id,
		    c->box->id, (unsigned long long)c->id, dropped);
	if (c->session->nshells != shells)
		engine_idle_check(c->e);
	return 0;
}

int
dispatch_result(struct call *c, const struct ats_msg_RESULT *m, const struct ats_frame *f,
    struct ats_err *err)
{
	struct sandbox *box = c->box;
	struct engine *e = c->e;
	struct session *s;
	struct outcome o;
	int rc;

	c->result_us = ats_clock_us();
	rc = dispatch_read_outcome(m, f, &o, err);
	if (rc == 0)
		rc = take_delta(c, m->ctx_delta, err);
	if (rc < 0)
		return rc;
	box->failures = 0;
	if (o.kind == OUTCOME_NOT_STARTED)
		call_did_not_run(c);
	if (c->abandoned) {
		link_ack(box, c->id);
		call_drop(c);
	} else if (c->exec != NULL) {
		(void)ats_map_del(box->sent, c->id);
		c->state = CALL_ENDING;
		c->orphan_us = 0;
		if (c->tool == NULL) {
			link_ack(box, c->id);	/* its output came before it */
			c->deadline_us = 0;	/* a file's data have their time, this any */
		}
		call_timer_set(c);
		if (c->tool != NULL && c->session != NULL)
			sessions_touch(e->sessions, c->session);
		exec_end(c->exec, &o);
	} else {
		c->has_result = true;
		s = c->session;
		if (!e->hooks_on || !hooks_after(c, &o))
			call_finish(c, &o);
		if (s != NULL)
			sessions_touch(e->sessions, s);	/* c is gone */
	}
	dispatch_next(box);
	return 0;
}
