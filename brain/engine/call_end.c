/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a call: what is kept of it, and who is told. Runs in the engine; what ends it
 * came from a sandbox, a gateway or us, and is only ever data here. */
#include "brain/engine/call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "brain/engine/cache.h"
#include "brain/engine/calls.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/exec.h"
#include "brain/engine/gateway.h"
#include "brain/engine/link.h"
#include "brain/engine/observe.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/turns.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/map.h"

#define COMMIT_AGAIN_US 1000000

/* ---- what is kept ---------------------------------------------------------------- */

static void
acknowledge(struct call *c)
{
	if (c->gateway != NULL)
		gateway_ack(c);
	else
		link_ack(c->box, c->id);
}

/* The journal is full: the answer stays in memory until it can be written. */
static bool
keep_uncommitted(struct call *c, const struct outcome *o)
{
	if (c->key == NULL)
		return false;	/* nobody can ask for it again */
	cache_put(c->e->calls->cache, c->key, c->digest, c->id, o);
	if (c->state == CALL_SENT && c->box != NULL)
		(void)ats_map_del(c->box->sent, c->id);
	c->uncommitted = true;
	c->orphan_us = 0;
	c->deadline_us = ats_clock_us() + COMMIT_AGAIN_US;
	return true;
}

void
call_commit_again(struct call *c)
{
	struct cache_hit hit;

	if (cache_get(c->e->calls->cache, c->key, &hit) && hit.kept &&
	    store_call_done(c->e->store, c->id, &hit.outcome, c->session, NULL) < 0) {
		c->deadline_us = ats_clock_us() + COMMIT_AGAIN_US;
		call_timer_set(c);
		return;
	}
	if (c->has_result && c->exec == NULL)
		acknowledge(c);
	c->state = CALL_QUEUED;		/* no longer in sent */
	call_drop(c);
}

static void
remember_pure(struct call *c, const struct outcome *o)
{
	if (c->key != NULL && o->kind == OUTCOME_DONE && !c->cancelled &&
	    call_class(c) == ATS_CLASS_PURE)
		cache_put(c->e->calls->cache, c->key, c->digest, c->id, o);
}

/* It has a row because a person was asked: what can be run again is, when it is asked for again. */
static bool
is_forgotten(const struct call *c, const struct outcome *o)
{
	return c->gateway == NULL && (call_class(c) == ATS_CLASS_PURE ||
	    (o->kind == OUTCOME_NOT_STARTED && o->code != ATS_E_DENIED && c->asked_sha[0] != '\0'));
}

/* Of a call with a row. True: hands may forget the result now. */
static bool
remember(struct call *c, const struct outcome *o)
{
	struct ats_err err = { 0 };
	bool keeps = c->has_result && c->exec == NULL && !call_is_exec(c) &&
	    call_class(c) != ATS_CLASS_PURE;
	uint64_t began = ats_clock_us();
	int rc = is_forgotten(c, o) ? store_call_drop(c->e->store, c->id, &err) :
	    store_call_done(c->e->store, c->id, o, c->session, &err);

	observe_commit(c, began, rc);
	if (rc == 0) {
		c->journaled = false;
		return keeps;
	}
	ats_log(ATS_LOG_ERROR, "an answer is not in the journal", "session=%s call=c-%llu "
	    "why=\"%s\"", call_session_id(c), (unsigned long long)c->id, err.text);
	return !keep_uncommitted(c, o) && keeps;
}

/* ---- the answer ------------------------------------------------------------------ */

bool
call_may_have_run(const struct call *c)
{
	return c->given > 0 && call_class(c) != ATS_CLASS_PURE;
}

void
call_did_not_run(struct call *c)
{
	if (c->given > 0)
		c->given--;
}

/* What ends it now was said of an attempt that did not start, and another may have run. */
static void
finish_attempt(struct call *c, const struct outcome *o)
{
	static const char head[] = "The outcome of this call is unknown: it was given to a sandbox "
				   "or to its gateway before, and may have run there in part or to "
				   "its end. It was not run again:\n";
	static const char tail[] = "\nLook at the state of things before you repeat it.";
	struct outcome with = { .kind = OUTCOME_UNKNOWN, .is_error = true, .code = o->code,
		.payload = { "The outcome of this call is unknown.", 36 } };
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&text, sizeof(head) + sizeof(tail) + o->payload.n);
	rc = ats_buf_add_str(&text, head);
	if (rc == 0)
		rc = ats_buf_add(&text, o->payload.p, o->payload.n);
	if (rc == 0)
		rc = ats_buf_add_str(&text, tail);
	if (rc == 0)
		with.payload = (struct ats_slice){ text.data, text.len };
	call_finish(c, &with);
}

void
call_finish(struct call *c, const struct outcome *o)
{
	struct engine *e = c->e;
	struct outcome with = *o;
	bool journaled = c->journaled, ack;

	if (o->kind == OUTCOME_NOT_STARTED && call_may_have_run(c)) {
		finish_attempt(c, o);
		return;
	}
	c->finishing = true;
	turns_leave(c);
	observe_hops(c, &with);
	ack = journaled && remember(c, &with);
	call_tell_waiters(c, &with);
	/* The client first: nobody waits for the rest. */
	if (!journaled || call_class(c) == ATS_CLASS_PURE)
		remember_pure(c, &with);
	if (ack)
		acknowledge(c);
	if (journaled)
		observe_hops(c, &with);	/* with the commit that the answer itself is in */
	observe_ended(e, c, &with);
	if (c->session != NULL) {
		c->session->calls += !c->validate;
		events_emit(e, c->session->uid, "call.end", c->session->id,
		    c->box == NULL ? NULL : c->box->id, c->id, outcome_name(with.kind));
	}
	if (c->uncommitted || c->abandoned) {
		call_forget_key(c);
		exec_let_go(c->exec);
		call_timer_set(c);
	} else {
		call_drop(c);
	}
	engine_idle_check(e);
}

void
call_fail(struct call *c, enum outcome_kind kind, int code, const char *fmt, ...)
{
	struct outcome o = { .kind = kind, .is_error = true, .code = code };
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	o.payload = (struct ats_slice){ text, strlen(text) };
	o.payload.n -= ats_utf8_cut_tail(text, o.payload.n);
	call_finish(c, &o);
}

void
call_fail_stopped(struct call *c)
{
	/* Half a check says nothing. */
	call_fail(c, c->validate ? OUTCOME_NOT_STARTED : OUTCOME_DONE,
	    c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED, "%s",
	    c->timed_out ? "timed out" : "cancelled");
}

static int
add_newest(const struct call *c, struct ats_buf *out)
{
	int rc = ats_buf_addf(out, "\nIt had printed %" PRIu64 " bytes when it was last heard "
	    "of%s:\n", c->printed, c->printed > c->newest.len ? "; the newest of them" : "");

	return rc < 0 ? rc : ats_buf_add(out, c->newest.data, c->newest.len);
}

void
call_finish_unknown(struct call *c, int code, const char *why)
{
	struct outcome o = { .kind = OUTCOME_UNKNOWN, .is_error = true, .code = code };
	struct ats_buf text;
	int rc;

	ats_buf_init(&text, 2 * CALL_NEWEST_MAX);
	rc = ats_buf_addf(&text,
	    "The outcome of this call is unknown: %s. It may have run in part or to its end; ",
	    why);
	if (rc == 0 && c->gateway != NULL)
		rc = ats_buf_add_str(&text, "it was not run again. Look whether it had its effect, "
		    "where that shows, before you repeat it.");
	else if (rc == 0 && c->attempt > 0)	/* CHECKED: each attempt looks before it writes */
		rc = ats_buf_addf(&text, "it was tried %u times, and none was answered. ",
		    c->attempt + 1);
	else if (rc == 0)
		rc = ats_buf_add_str(&text, "it was not run again. ");
	if (rc == 0 && c->gateway == NULL)
		rc = ats_buf_add_str(&text, "Processes that it had started are gone, files that "
		    "it wrote remain. Look at the state of things before you repeat it.");
	if (rc == 0 && c->newest.len > 0)
		rc = add_newest(c, &text);
	else if (rc == 0 && c->last_line != NULL && c->gateway == NULL)
		(void)(ats_buf_addf(&text, "\nThe last line of output that came: %s",
		    c->last_line) < 0);
	o.payload.p = text.data;
	o.payload.n = text.len;
	call_finish(c, &o);
	ats_buf_done(&text);
}
