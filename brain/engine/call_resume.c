/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of an engine before this one: sent, without an answer in the journal. What became
 * of them shows when their sandbox says which calls it has. Runs in the engine. */
#include "brain/engine/call_resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/call_ask.h"
#include "brain/engine/calls.h"
#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/turns.h"
#include "common/clock.h"
#include "common/log.h"

static void
copy_id(char out[33], const char *text)
{
	(void)snprintf(out, 33, "%s", text == NULL ? "" : text);
}

static int
load_row(void *ctx, const struct store_call *row)
{
	struct calls *t = ctx;
	char key[CALL_FULL_KEY_MAX];
	int64_t left_ms;
	struct call *c;

	if (row->key != NULL)
		(void)snprintf(key, sizeof(key), "%s:%s", row->session, row->key);
	c = call_new(t->e, row->id, row->key == NULL ? NULL : key);
	if (c == NULL)
		return -ATS_E_NOMEM;
	c->tool = ats_tool_find(row->tool);
	c->state = CALL_RESUMED;
	TAILQ_INSERT_TAIL(&t->resumed, c, link);
	if (gateway_is_name(row->tool) && gateway_resume(c, row->tool) < 0) {
		call_drop(c);
		return -ATS_E_NOMEM;
	}
	c->journaled = true;
	c->attempt = (unsigned)row->attempt;
	c->unsent = row->asked != NULL && row->boot[0] == '\0';
	c->given = c->attempt + !c->unsent;
	if (row->asked != NULL)
		(void)snprintf(c->asked_sha, sizeof(c->asked_sha), "%s", row->asked);
	c->agreed = row->permitted;
	if (!c->unsent && row->hooks != 0 && hooks_resume(c, row) < 0) {
		call_drop(c);
		return -ATS_E_NOMEM;
	}
	if (c->unsent && !c->agreed && gateway_resume_asked(c) < 0) {
		call_drop(c);
		return -ATS_E_NOMEM;
	}
	(void)snprintf(c->digest, sizeof(c->digest), "%s", row->digest);
	copy_id(c->resumed_boot, row->boot);
	copy_id(c->resumed_box, row->sandbox);
	copy_id(c->resumed_session, row->session);
	if (row->path != NULL)
		c->path = strdup(row->path);
	turns_resume(c);
	if (row->deadline_ms != 0) {
		left_ms = row->deadline_ms - ats_clock_wall_ms();
		c->timeout_ms = left_ms > 1 ? (uint64_t)left_ms : 1;
		/* The clock may have been set. */
		if (c->tool != NULL && c->timeout_ms > c->tool->timeout_max_ms)
			c->timeout_ms = c->tool->timeout_max_ms;
	}
	return 0;
}

int
calls_resume(struct calls *t, struct ats_err *err)
{
	struct call *c, *next;
	size_t n = 0;
	int rc = store_calls_open(t->e->store, load_row, t, err);

	if (rc < 0)
		return rc;
	for (c = TAILQ_FIRST(&t->resumed); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		n++;
		/* Its client's pipes went with that engine; hands, which may run it still, is
		 * told to end it when it says so. */
		if (call_is_exec(c))
			call_finish_unknown(c, ATS_E_LOST, "the engine was restarted while it ran");
	}
	if (n > 0)
		ats_log(ATS_LOG_INFO, "calls of an engine before this one", "calls=%zu", n);
	return 0;
}

static void
send_again(struct call *c)
{
	struct calls *t = c->e->calls;

	if (c->session == NULL)
		c->session = sessions_find(c->e->sessions, c->resumed_session);
	if (c->session == NULL) {
		call_finish_unknown(c, ATS_E_LOST, "its session is gone");
		return;
	}
	TAILQ_REMOVE(&t->resumed, c, link);
	c->state = CALL_QUEUED;
	c->box = c->session->box;
	dispatch_submit(c);
}

/* The vault knows nothing of it: nobody was asked yet, or the answer is in the journal. It waits
 * for a while for who asked for it. */
static void
settle_unsent(struct call *c)
{
	gateway_asked_free(c);
	if (c->cancelled) {
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_CANCELLED, "cancelled before it started");
	} else if (c->input != NULL && !TAILQ_EMPTY(&c->waiters)) {
		send_again(c);
	} else {
		turns_leave(c);
		c->deadline_us = ats_clock_us() + c->e->set.orphan_ms * 1000;
		call_timer_set(c);
	}
}

void
call_resumed_asked(struct call *c)
{
	c->deadline_us = 0;
	if (c->input != NULL && !TAILQ_EMPTY(&c->waiters))
		send_again(c);
	else
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_CANCELLED, "nobody asked for it again");
}

void
calls_resume_settle(struct calls *t)
{
	struct sandbox *box;
	struct call *c, *next;

	for (c = TAILQ_FIRST(&t->resumed); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->gateway != NULL)
			continue;
		if (c->unsent) {
			settle_unsent(c);
			continue;
		}
		box = sandboxes_find(t->e->boxes, c->resumed_box);
		/* Nobody knows whether it lives but it itself. */
		if (box != NULL && settings_elsewhere(&t->e->set))
			sandbox_want(box);
		else if (box == NULL || box->state == SANDBOX_NONE)
			call_resumed_lost(c);
	}
	gateway_resume_settle(t);
}

struct call *
calls_resumed_next(struct calls *t, const struct sandbox *box, const struct call *after)
{
	struct call *c = after == NULL ? TAILQ_FIRST(&t->resumed) : TAILQ_NEXT(after, link);

	while (c != NULL &&
	    (c->gateway != NULL || c->unsent || strcmp(c->resumed_box, box->id) != 0))
		c = TAILQ_NEXT(c, link);
	return c;
}

void
call_resumed_lost(struct call *c)
{
	c->lost = true;
	if (c->gateway != NULL) {
		call_finish_unknown(c, ATS_E_GATEWAY_LOST, "the engine was restarted while it was "
		    "asked for or ran, and nobody knows of it now");
		return;
	}
	if (c->tool == NULL || c->tool->class != ATS_CLASS_CHECKED ||
	    c->attempt >= c->e->set.retry_limit) {
		call_finish_unknown(c, ATS_E_LOST,
		    "the sandbox was lost while it ran, and the engine was restarted");
		return;
	}
	if (c->input == NULL) {	/* asked again, it brings its input */
		turns_leave(c);
		return;
	}
	c->attempt++;
	send_again(c);
}

void
call_resumed_unsent(struct call *c)
{
	call_did_not_run(c);
	if (c->input != NULL && !TAILQ_EMPTY(&c->waiters)) {
		send_again(c);
		return;
	}
	if (call_may_have_run(c)) {	/* this attempt not, but one before it */
		call_resumed_lost(c);
		return;
	}
	if (store_call_drop(c->e->store, c->id, NULL) < 0)
		ats_log(ATS_LOG_WARN, "a call that was not sent stays in the journal",
		    "session=%s call=c-%llu", c->resumed_session, (unsigned long long)c->id);
	call_drop(c);
}
