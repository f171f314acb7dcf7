/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of calls: waiters, limits, answers. Runs in the engine; what is in a call came
 * from a client, what ends it from a sandbox or from us. */
#include "brain/engine/call.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/cache.h"
#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/exec.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/link.h"
#include "brain/engine/observe.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/turns.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/map.h"

#define ABANDONED_MAX 32
#define COMMIT_AGAIN_US 1000000

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

/* Nobody can join it any more. The key may be another call's by now. */
static void
forget_key(struct call *c)
{
	struct ats_map *by_key = c->e->calls->by_key;

	if (c->key != NULL && ats_map_get_str(by_key, c->key) == c)
		(void)ats_map_del_str(by_key, c->key);
}

void
call_drop(struct call *c)
{
	struct calls *t = c->e->calls;

	(void)ats_map_del(t->by_id, c->id);
	forget_key(c);
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

void
call_fail_stopped(struct call *c)
{
	/* Half a check says nothing. */
	call_fail(c, c->validate ? OUTCOME_NOT_STARTED : OUTCOME_DONE,
	    c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED, "%s",
	    c->timed_out ? "timed out" : "cancelled");
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
acknowledge(struct call *c)
{
	if (c->gateway != NULL)
		gateway_ack(c);
	else
		link_ack(c->box, c->id);
}

static void
commit_again(struct call *c)
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
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct call *c = arg;
	uint64_t now = ats_clock_us();

	(void)fd;
	(void)what;
	if (c->uncommitted) {
		commit_again(c);
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

void
calls_session_closed(struct calls *t, struct session *s)
{
	struct call *c;
	size_t pos = 0;

	while ((c = ats_map_each(t->by_id, &pos)) != NULL) {
		if (c->session != s)
			continue;
		if (c->uncommitted || c->abandoned) {
			c->session = NULL;
			continue;
		}
		if (c->state == CALL_HOOKED) {
			hooks_call_cancel(c);
			pos = 0;
			continue;
		}
		if (c->asked != NULL) {
			gateway_session_closed(c);
			pos = 0;
			continue;
		}
		if (c->state == CALL_SENT && c->box->chan != NULL) {
			link_cancel(c->box, c->id, "cancelled");
			c->abandoned = true;
			c->box->abandoned++;
		}
		c->deadline_us = 0;
		call_fail(c, c->state == CALL_QUEUED ? OUTCOME_NOT_STARTED : OUTCOME_UNKNOWN,
		    ATS_E_CANCELLED, "the session was closed");
		pos = 0;	/* the map has changed */
		(void)s;
	}
	pos = 0;
	while ((c = ats_map_each(t->by_id, &pos)) != NULL)
		if (c->session == s)
			c->session = NULL;
}

/* ---- the end --------------------------------------------------------------------- */

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
		forget_key(c);
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
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	o.payload.p = text;
	o.payload.n = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
	call_finish(c, &o);
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
