/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of calls that were sent when their link, their sandbox or the engine is lost. Runs
 * in the engine; which of them hands still has is a sandbox's word. */
#include "brain/engine/call_resume.h"
#include "brain/engine/calls.h"
#include "brain/engine/dispatch_private.h"

#include <stdio.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/hooks.h"
#include "brain/engine/link.h"
#include "brain/engine/observe.h"
#include "brain/engine/sessions.h"
#include "common/clock.h"
#include "common/map.h"

/* ---- after a loss ---------------------------------------------------------------- */

/* Models were told to look for these words, and what a link says means little to them. */
static void
unknown_lost(struct call *c, const char *why)
{
	char text[300];

	(void)snprintf(text, sizeof(text), "the sandbox was lost (%.250s)", why);
	call_finish_unknown(c, ATS_E_LOST, text);
}

static void
lost_one(struct call *c, const char *why)
{
	enum ats_tool_class class = call_class(c);
	bool again = c->attempt < c->e->set.retry_limit && c->session != NULL;

	c->state = CALL_QUEUED;		/* in no table of the sandbox */
	if (c->exec != NULL)
		exec_lost(c->exec);
	if (c->abandoned) {
		if (c->box->abandoned > 0)
			c->box->abandoned--;
		call_drop(c);
	} else if (c->exec != NULL && c->tool != NULL) {
		/* What went through the pipe cannot be taken back and sent again. */
		call_fail(c, OUTCOME_DONE, ATS_E_LOST,
		    "the sandbox was lost while the data were sent: they are not whole");
	} else if (c->cancelled && class == ATS_CLASS_PURE) {
		call_fail_stopped(c);
	} else if (class == ATS_CLASS_NEVER || c->cancelled) {
		unknown_lost(c, why);
	} else if (again) {
		c->attempt++;
		observe_count(c->e, ATS_METRIC_CALLS_RETRIED);
		dispatch_enqueue(c, true);
	} else if (class == ATS_CLASS_PURE) {
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_LOST,
		    "the sandbox was lost %u times while this ran; nothing was changed",
		    c->attempt + 1);
	} else {
		unknown_lost(c, why);
	}
}

/* What was sent ends; all of it, or what hands does not go on with when only the link is lost:
 * pure calls, which are told again, and data, which cannot be. */
static void
end_sent(struct sandbox *box, const char *why, bool all)
{
	struct call *c;
	size_t pos = 0;

	while ((c = ats_map_each(box->sent, &pos)) != NULL) {
		if (!all && call_class(c) != ATS_CLASS_PURE) {
			if (c->exec != NULL)
				exec_unlinked(c->exec);
			continue;
		}
		(void)ats_map_del(box->sent, c->id);
		lost_one(c, why);
		pos = 0;	/* from the start: answering one may end others */
	}
}

void
dispatch_paused(struct sandbox *box)
{
	end_sent(box, "the link to the sandbox was lost", false);
}

void
dispatch_lost(struct sandbox *box, const char *why)
{
	end_sent(box, why, true);
}

void
dispatch_refuse(struct sandbox *box, int code, const char *why)
{
	struct calls *t = box->e->calls;
	struct call *c, *next;

	for (c = calls_resumed_next(t, box, NULL); c != NULL; c = next) {
		next = calls_resumed_next(t, box, c);
		call_resumed_lost(c);
	}
	while ((c = TAILQ_FIRST(&box->queue)) != NULL) {
		dispatch_dequeue(c);
		if (call_may_have_run(c))
			call_finish_unknown(c, code, why);
		else
			call_fail(c, OUTCOME_NOT_STARTED, code,
			    "not started: the sandbox cannot be started: %s", why);
	}
	hooks_box_refused(box, why);
}

/* ---- after a restart of the engine ------------------------------------------------- */

static bool
among(const uint64_t *ids, size_t n, uint64_t id)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* Hands has it, or its result: streams go on, and what was said to nobody is said again. */
static void
goes_on(struct sandbox *box, struct call *c)
{
	if (c->exec != NULL)
		exec_resume(c->exec);
	if (c->cancelled)
		link_cancel(box, c->id, c->timed_out ? "timeout" : "cancelled");
}

static void
goes_on_resumed(struct sandbox *box, struct call *c)
{
	struct engine *e = c->e;
	uint64_t now = ats_clock_us();

	TAILQ_REMOVE(&e->calls->resumed, c, link);
	c->state = CALL_SENT;
	c->box = box;
	if (c->session == NULL)
		c->session = sessions_find(e->sessions, c->resumed_session);
	if (ats_map_put(box->sent, c->id, c) < 0) {
		c->state = CALL_QUEUED;
		call_finish_unknown(c, ATS_E_NOMEM, "no memory to go on with it");
		return;
	}
	c->sent_us = now;
	if (c->timeout_ms != 0)
		c->deadline_us = now + (c->timeout_ms + e->set.grace_ms) * 1000;
	if (TAILQ_EMPTY(&c->waiters))
		c->orphan_us = now + e->set.orphan_ms * 1000;
	goes_on(box, c);
	call_timer_set(c);
}

/* A call of ours was under way when the link was lost and never came there: it did not run. */
static void
did_not_run(struct sandbox *box, struct call *c)
{
	(void)ats_map_del(box->sent, c->id);
	c->state = CALL_QUEUED;
	call_did_not_run(c);
	if (c->abandoned) {
		if (box->abandoned > 0)
			box->abandoned--;
		call_drop(c);
	} else if (c->cancelled) {
		call_fail(c, OUTCOME_NOT_STARTED, c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "%s before it started", c->timed_out ? "timed out" : "cancelled");
	} else if (c->session == NULL) {
		call_finish_unknown(c, ATS_E_LOST, "its session is gone");
	} else {
		dispatch_enqueue(c, true);
	}
}

static void
resume_sent(struct sandbox *box, const uint64_t *running, size_t n)
{
	struct call *c;
	size_t pos = 0;

	/* First what goes on, once each: the second round begins anew with each change. */
	while ((c = ats_map_each(box->sent, &pos)) != NULL)
		if (among(running, n, c->id))
			goes_on(box, c);
	for (pos = 0; (c = ats_map_each(box->sent, &pos)) != NULL;) {
		if (among(running, n, c->id))
			continue;
		did_not_run(box, c);
		pos = 0;
	}
}

void
dispatch_resumed(struct sandbox *box, const uint64_t *running, size_t n)
{
	struct calls *t = box->e->calls;
	struct call *c, *next;
	size_t i;

	resume_sent(box, running, n);
	for (c = calls_resumed_next(t, box, NULL); c != NULL; c = next) {
		next = calls_resumed_next(t, box, c);
		if (strcmp(c->resumed_boot, box->boot) != 0)
			call_resumed_lost(c);
		else if (among(running, n, c->id))
			goes_on_resumed(box, c);
		else
			call_resumed_unsent(c);
	}
	/* What hands has and nobody here waits for: its result is acknowledged unseen. */
	for (i = 0; i < n; i++) {
		if (ats_map_get(box->sent, running[i]) != NULL)
			continue;
		if (ats_map_put(box->ghosts, running[i], box) == 0)
			link_cancel(box, running[i], "cancelled");
	}
}
