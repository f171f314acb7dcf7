/* SPDX-License-Identifier: Apache-2.0
 *
 * One call: its making, its limits, how it is cancelled. Runs in the engine; what is in a call
 * came from a client. */
#include "brain/engine/call.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/call_resume.h"
#include "brain/engine/calls.h"
#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/link.h"
#include "brain/engine/sessions.h"
#include "brain/engine/turns.h"
#include "common/clock.h"
#include "common/map.h"

#define ABANDONED_MAX 32

const char *
call_tool_name(const struct call *c)
{
	return c->tool != NULL ? c->tool->name : c->gateway != NULL ? c->gateway->name : "exec";
}

bool
call_is_exec(const struct call *c)
{
	return c->tool == NULL && c->gateway == NULL;
}

enum ats_tool_class
call_class(const struct call *c)
{
	if (c->validate)
		return ATS_CLASS_PURE;
	if (c->gateway != NULL)
		return gateway_tool_class(c->gateway);
	return c->tool == NULL ? ATS_CLASS_NEVER : c->tool->class;
}

const char *
call_session_id(const struct call *c)
{
	return c->session != NULL ? c->session->id : "";
}

const char *
call_client_key(const struct call *c)
{
	return c->key == NULL ? NULL : strchr(c->key, ':') + 1;
}

static void on_timer(evutil_socket_t fd, short what, void *arg);

struct call *
call_new(struct engine *e, uint64_t id, const char *key)
{
	struct call *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->e = e;
	c->id = id;
	c->created_us = ats_clock_us();
	TAILQ_INIT(&c->waiters);
	ats_buf_init(&c->newest, CALL_NEWEST_MAX);
	c->timer = event_new(e->base, -1, 0, on_timer, c);
	c->key = key == NULL ? NULL : strdup(key);
	if (c->timer == NULL || (key != NULL && c->key == NULL) ||
	    ats_map_put(e->calls->by_id, id, c) < 0)
		goto fail;
	if (key != NULL && ats_map_put_str(e->calls->by_key, key, c) < 0) {
		(void)ats_map_del(e->calls->by_id, id);
		goto fail;
	}
	return c;
fail:
	if (c->timer != NULL)
		event_free(c->timer);
	free(c->key);
	free(c);
	return NULL;
}

int
call_renumber(struct call *c)
{
	struct calls *t = c->e->calls;
	uint64_t id = t->next_pure;

	if (ats_map_put(t->by_id, id, c) < 0)
		return -ATS_E_NOMEM;
	t->next_pure++;
	(void)ats_map_del(t->by_id, c->id);
	c->id = id;
	return 0;
}

void
call_forget_key(struct call *c)
{
	struct ats_map *by_key = c->e->calls->by_key;

	/* It may be another call's by now. */
	if (c->key != NULL && ats_map_get_str(by_key, c->key) == c)
		(void)ats_map_del_str(by_key, c->key);
}

void
call_drop(struct call *c)
{
	struct calls *t = c->e->calls;

	(void)ats_map_del(t->by_id, c->id);
	call_forget_key(c);
	turns_leave(c);
	if (c->in_queue) {
		TAILQ_REMOVE(&c->box->queue, c, link);
		c->box->nqueue--;
	}
	if (c->state == CALL_RESUMED)
		TAILQ_REMOVE(&t->resumed, c, link);
	if (c->state == CALL_SENT && c->box != NULL) {
		(void)ats_map_del(c->box->sent, c->id);
		if (c->abandoned && c->box->abandoned > 0)
			c->box->abandoned--;
	}
	hooks_call_done(c);
	exec_free(c->exec);
	gateway_call_done(c);
	event_free(c->timer);
	free(c->key);
	t->input_bytes -= c->input_len;
	free(c->input);
	free(c->ran);
	free(c->path);
	free(c->cwd);
	free(c->last_line);
	ats_buf_done(&c->newest);
	free(c);
}

/* ---- limits ---------------------------------------------------------------------- */

/* Nobody waits: what has no effect, or only one on a client's pipes, need not go on. */
void
call_orphaned(struct call *c)
{
	if (c->finishing)
		return;		/* its waiters leave one by one */
	if (c->state == CALL_QUEUED && c->attempt == 0 && !c->journaled) {
		call_drop(c);
		return;
	}
	/* One that a person thinks about is not asked for twice. */
	if (c->gateway == NULL && (c->exec != NULL || c->tool == NULL ||
	    call_class(c) == ATS_CLASS_PURE)) {
		call_cancel(c);
		return;
	}
	c->orphan_us = ats_clock_us() + c->e->set.orphan_ms * 1000;
	call_timer_set(c);
}

void
call_timer_set(struct call *c)
{
	uint64_t now = ats_clock_us(), at = c->deadline_us;
	struct timeval tv;

	if (c->orphan_us != 0 && (at == 0 || c->orphan_us < at))
		at = c->orphan_us;
	if (at == 0) {
		(void)event_del(c->timer);
		return;
	}
	at = at > now ? at - now : 0;
	tv.tv_sec = (time_t)(at / 1000000);
	tv.tv_usec = (suseconds_t)(at % 1000000);
	(void)event_add(c->timer, &tv);
}

/* Cancelled, and hands gives no result. */
static void
give_up(struct call *c)
{
	struct sandbox *box = c->box;

	c->abandoned = true;
	c->deadline_us = 0;
	box->abandoned++;
	if (call_class(c) == ATS_CLASS_PURE)
		call_fail_stopped(c);
	else
		call_finish_unknown(c, c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "it was cancelled, and the sandbox gave no result");
	if (box->abandoned > ABANDONED_MAX)
		sandbox_lost(box, ATS_E_SILENT, "it does not end cancelled calls");
	else
		dispatch_next(box);	/* those that waited for it need not */
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct call *c = arg;
	uint64_t now = ats_clock_us();

	(void)fd;
	(void)what;
	if (c->uncommitted) {
		call_commit_again(c);
	} else if (c->orphan_us != 0 && now >= c->orphan_us) {
		c->orphan_us = 0;
		call_cancel(c);
	} else if (c->deadline_us == 0 || now < c->deadline_us) {
		call_timer_set(c);
	} else if (c->state == CALL_QUEUED && c->waits_turn) {
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_BUSY,
		    "not started: an earlier call on the same file did not end in time");
	} else if (c->state == CALL_QUEUED) {
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_NO_SANDBOX,
		    "not started: no sandbox was ready in time%s%s",
		    c->box->last_error[0] != '\0' ? ": " : "", c->box->last_error);
	} else if (c->state == CALL_RESUMED && c->unsent) {
		call_resumed_asked(c);
	} else if (c->state == CALL_RESUMED) {
		call_resumed_lost(c);
	} else if (c->state == CALL_ASKED) {
		gateway_timed_out(c);
	} else if (c->state == CALL_ENDING) {
		c->timed_out = !c->cancelled;
		exec_drain_stop(c->exec);	/* c may be gone */
	} else if (!c->cancelled) {
		c->timed_out = true;
		c->cancelled = true;
		link_cancel(c->box, c->id, "timeout");
		c->deadline_us = now + c->e->set.cancel_ms * 1000;
		call_timer_set(c);
	} else {
		give_up(c);
	}
}

void
call_cancel(struct call *c)
{
	if (c->abandoned || c->uncommitted)
		return;
	if (c->state == CALL_QUEUED) {
		if (call_may_have_run(c))
			call_finish_unknown(c, ATS_E_CANCELLED,
			    "it was cancelled while it waited to be tried again");
		else
			call_fail(c, OUTCOME_NOT_STARTED, ATS_E_CANCELLED,
			    "cancelled before it started");
		return;
	}
	if (c->state == CALL_ENDING) {
		exec_drain_stop(c->exec);	/* c may be gone */
		return;
	}
	if (c->state == CALL_HOOKED) {
		hooks_call_cancel(c);
		return;
	}
	if (c->state == CALL_ASKED) {
		gateway_cancel(c);		/* the same */
		return;
	}
	if (c->cancelled)
		return;
	if (c->state == CALL_RESUMED && c->unsent && c->asked == NULL) {
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_CANCELLED, "cancelled before it started");
		return;
	}
	c->cancelled = true;
	if (c->state == CALL_RESUMED)
		return;		/* sent when hands says that it runs, or the vault that it waits */
	link_cancel(c->box, c->id, "cancelled");
	c->deadline_us = ats_clock_us() + c->e->set.cancel_ms * 1000;
	call_timer_set(c);
}
