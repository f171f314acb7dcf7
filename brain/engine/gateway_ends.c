/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of calls that the vault was asked about: its words, results, losses, and what an
 * engine before this one had open. Runs in the engine. The vault is trusted, a result is a
 * gateway's. */
#include <stdio.h>
#include <string.h>

#include "brain/engine/call_resume.h"
#include "brain/engine/calls.h"
#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway_private.h"
#include "brain/engine/hooks.h"
#include "brain/engine/observe.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/vault_link.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/log.h"
#include "proto/msg.h"

#define EARLY_MAX (16u << 20)	/* results held until GATEWAY_STATE comes, of all calls */

/* ---- what became of it ------------------------------------------------------------------- */
/* It takes part again. */
static void
adopt(struct call *c)
{
	struct engine *e = c->e;

	if (c->state != CALL_RESUMED)
		return;
	TAILQ_REMOVE(&e->calls->resumed, c, link);
	c->state = CALL_ASKED;
	if (c->session == NULL)
		c->session = sessions_find(e->sessions, c->resumed_session);
	if (c->session != NULL && c->gateway == NULL)
		c->box = c->session->box;
	c->deadline_us = 0;
	if (TAILQ_EMPTY(&c->waiters))
		c->orphan_us = ats_clock_us() + e->set.orphan_ms * 1000;
	call_timer_set(c);
	if (c->cancelled) {
		c->cancelled = false;
		gateway_cancel(c);
	}
}

static void
emit(struct call *c, const char *kind, const char *text)
{
	if (c->session != NULL)
		events_emit(c->e, c->session->uid, kind, c->session->id, NULL, c->id, text);
}

static void
count_verdict(struct call *c, unsigned verdict)
{
	ats_metric_add(&c->e->observed->metrics, ATS_METRIC_APPROVALS, verdict, 0, 1);
	if (verdict == ATS_LABEL_VERDICT_ASKED || c->asked_us == 0)
		return;
	c->approval_us += ats_clock_us() - c->asked_us;
	c->asked_us = 0;
}

static void
on_waits(struct call *c, const char *approval)
{
	struct ats_msg_EVENT_PROGRESS m = { 0 };
	struct asked *a = c->asked;
	char text[160];

	if (a->state == ASKED_STARTED || (a->state == ASKED_WAITS &&
	    strcmp(a->approval, approval) == 0))
		return;
	count_verdict(c, ATS_LABEL_VERDICT_ASKED);
	a->state = ASKED_WAITS;
	(void)snprintf(a->approval, sizeof(a->approval), "%s",
	    ats_id_valid(approval) ? approval : "");
	if (!c->cancelled)
		gateway_deadline(c, 0);
	emit(c, "call.waiting", a->approval);
	(void)snprintf(text, sizeof(text), "waits for a person's approval: atsctl approve %s",
	    a->approval);
	m.message = text;
	call_progress(c, &m, (struct ats_slice){ NULL, 0 });
	call_waits(c, a->approval);
}

/* c may be gone after it. */
static void
take_result(struct call *c, const struct outcome *o)
{
	struct outcome with = *o;
	char text[128];

	c->result_us = ats_clock_us();
	with.exit_kind = NULL;
	with.has_exit_code = false;
	if (with.payload.n == 0) {
		(void)snprintf(text, sizeof(text), "%s %s and gave no text.", c->gateway->name,
		    with.is_error ? "failed" : "ended");
		with.payload = (struct ats_slice){ text, strlen(text) };
		with.blocks.p = NULL;
	}
	c->has_result = true;
	if (with.kind == OUTCOME_NOT_STARTED)
		call_did_not_run(c);
	if (call_class(c) == ATS_CLASS_PURE)
		gateway_ack(c);
	if (!c->e->hooks_on || !hooks_after(c, &with))
		call_finish(c, &with);
}

void
gateway_asked_again(struct call *c)
{
	if (c->gateway != NULL || c->asked == NULL || c->asked->state != ASKED_STARTED ||
	    c->state != CALL_ASKED || c->input == NULL || c->session == NULL)
		return;
	gateway_asked_free(c);
	/* One that hooks of this engine have not seen is looked at anew, and may be another. */
	c->permitted = !c->unsent;
	dispatch_submit(c);
}

/* c may be gone after it. */
static void
on_started(struct call *c)
{
	struct asked *a = c->asked;

	if (c->gateway == NULL) {
		count_verdict(c, ATS_LABEL_VERDICT_STARTED);
		emit(c, "call.started", NULL);
		a->state = ASKED_STARTED;
		c->deadline_us = 0;
		gateway_permitted(c);
		gateway_asked_again(c);
		return;
	}
	if (a->state == ASKED_STARTED)
		return;
	count_verdict(c, ATS_LABEL_VERDICT_STARTED);
	a->state = ASKED_STARTED;
	a->generation = gateway_links_generation(c->e->gateways, c->gateway->gateway);
	observe_sent(c);
	if (!c->cancelled && !c->abandoned)
		gateway_deadline(c, c->timeout_ms == 0 ? 0 : c->timeout_ms + c->e->set.grace_ms);
	emit(c, "call.started", NULL);
	if (a->early != NULL)
		take_result(c, a->early);
}

static void
ask_again(struct call *c)
{
	struct asked *a = c->asked;

	gateway_forget_early(a);
	a->state = ASKED_DUE;
	a->approval[0] = '\0';
	c->attempt++;
	c->asked_us = ats_clock_us();
	observe_count(c->e, ATS_METRIC_CALLS_RETRIED);
	/* The vault may know the old id still. */
	if (call_renumber(c) < 0) {
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
		return;
	}
	gateway_deadline(c, c->e->set.queue_ms);
	gateway_tell(a);
}

/* Its gateway ended while it ran. c may be gone after it. */
static void
lost(struct call *c, const char *why)
{
	bool pure = call_class(c) == ATS_CLASS_PURE;

	if (c->abandoned) {
		call_drop(c);
	} else if (c->cancelled && pure) {
		call_fail_stopped(c);
	} else if (!pure) {
		call_finish_unknown(c, ATS_E_GATEWAY_LOST, why);
	} else if (c->session == NULL || c->attempt >= c->e->set.retry_limit) {
		call_fail(c, OUTCOME_DONE, ATS_E_GATEWAY_LOST, "%s, %u times while this ran. It "
		    "only reads: nothing was changed", why, c->attempt + 1);
	} else {
		ask_again(c);
	}
}

static void
on_refused(struct call *c, int code, const char *text)
{
	struct asked *a = c->asked;
	const char *own = c->timed_out ? "timed out" : "cancelled";

	if (c->gateway != NULL && (code == ATS_E_LOST || code == ATS_E_GATEWAY_LOST)) {
		/* A result may lie in the link still: its end decides. */
		if (a->state != ASKED_STARTED || !gateway_links_open(c->e->gateways,
		    c->gateway->gateway, a->generation))
			lost(c, text[0] != '\0' ? text : "its gateway ended");
		return;
	}
	if (c->gateway != NULL)		/* its word: it was not ordered */
		call_did_not_run(c);
	if (c->abandoned) {
		call_drop(c);
	} else if (c->cancelled) {
		call_fail(c, OUTCOME_NOT_STARTED, c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "%s before it started", own);
	} else {
		call_fail(c, OUTCOME_NOT_STARTED, code == 0 ? ATS_E_DENIED : code, "%s",
		    text[0] != '\0' ? text : "It was refused, which is final, and did not start.");
	}
}

void
gateway_on_state(struct engine *e, uint64_t id, uint64_t state, uint64_t code, const char *text,
    const char *approval)
{
	struct call *c = calls_find(e->calls, id);

	if (c == NULL || c->asked == NULL) {
		/* Of an engine before this one, whose caller will ask again, or not; or its answer
		 * is known already. */
		if (state != GATEWAY_WAITS)
			gateway_answer_kept(e, id);
		if (state != GATEWAY_REFUSED && (c == NULL || c->state == CALL_RESUMED) &&
		    vault_link_gateway_cancel(e, id) < 0)
			ats_log(ATS_LOG_WARN, "a call that nobody waits for goes on", "call=c-%llu",
			    (unsigned long long)id);
		return;
	}
	if (c->uncommitted || c->state == CALL_HOOKED)
		return;
	adopt(c);
	if (state == GATEWAY_WAITS) {
		on_waits(c, approval);
	} else if (state == GATEWAY_STARTED) {
		on_started(c);
	} else {
		count_verdict(c, ATS_LABEL_VERDICT_REFUSED);
		if (!c->cancelled)
			emit(c, "call.refused", ats_err_name((int)code));
		on_refused(c, (int)code, text);
		gateway_answer_kept(e, id);
	}
}

void
gateway_lost(struct engine *e, const char *gateway, uint64_t generation)
{
	struct call *c;
	size_t pos = 0;

	while ((c = calls_each(e->calls, &pos)) != NULL) {
		if (c->state != CALL_ASKED || c->gateway == NULL || c->uncommitted ||
		    strcmp(c->gateway->gateway, gateway) != 0 || c->asked == NULL ||
		    c->asked->state != ASKED_STARTED || c->asked->generation > generation)
			continue;
		lost(c, "its gateway ended");
		pos = 0;	/* the map has changed */
	}
}

/* The vault says that a call is started before its gateway gets the order, and all that it said has
 * been read: what it did not say so of has not begun, and is as if it had never been asked for. The
 * others end with their gateways, whose process is of the same brain. */
void
gateway_vault_gone(struct engine *e)
{
	struct call *c;
	size_t pos = 0;

	while ((c = calls_each(e->calls, &pos)) != NULL) {
		if (c->gateway == NULL || c->state != CALL_ASKED || !c->journaled || c->abandoned)
			continue;
		if (c->asked->state != ASKED_STARTED && c->asked->early == NULL) {
			if (store_call_drop(e->store, c->id, NULL) == 0)
				c->journaled = false;
			continue;
		}
		call_finish_unknown(c, ATS_E_GATEWAY_LOST, "it had been given to its gateway, "
		    "with these arguments, and brain ended while it ran");
		pos = 0;	/* the map has changed */
	}
}

/* ---- results ----------------------------------------------------------------------------- */
/* The vault's word that it runs is on another socket, and may be read after this. */
static int
hold_early(struct call *c, const struct outcome *o, struct ats_err *err)
{
	struct gateways *g = c->e->gateways;
	struct asked *a = c->asked;

	if (a->early != NULL)
		return ats_err_set(err, ATS_E_PROTO, "two results for one call");
	if (o->payload.n > EARLY_MAX - g->early_bytes)
		return ats_err_set(err, ATS_E_FULL, "too many results of calls that do not run");
	a->early = outcome_dup(o);
	if (a->early == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "result");
	g->early_bytes += o->payload.n;
	return 0;
}

static bool
is_of(const struct call *c, const char *gateway)
{
	return c->gateway != NULL && strcmp(c->gateway->gateway, gateway) == 0;
}

int
gateway_on_result(struct engine *e, const char *gateway, const struct ats_msg_RESULT *m,
    const struct ats_frame *f, struct ats_err *err)
{
	struct call *c = calls_find(e->calls, f->head.call);
	struct outcome o;
	int rc;

	if (c == NULL && calls_id_given(e->calls, f->head.call)) {
		/* Answered before: its acknowledgement was lost with a link or an engine. */
		gateway_links_ack(e->gateways, gateway, f->head.call);
		return 0;
	}
	if (c == NULL || !is_of(c, gateway))
		return ats_err_set(err, ATS_E_PROTO, "a result for a call that is not its own");
	rc = dispatch_read_outcome(m, f, &o, err);
	if (rc < 0)
		return rc;
	if (c->uncommitted || c->state == CALL_HOOKED)
		return 0;	/* acknowledged when it is written */
	if (c->abandoned) {
		gateway_ack(c);
		call_drop(c);
		return 0;
	}
	if (c->state != CALL_RESUMED && c->asked->state != ASKED_STARTED)
		return hold_early(c, &o, err);
	adopt(c);
	take_result(c, &o);
	return 0;
}

int
gateway_on_progress(struct engine *e, const char *gateway, const struct ats_msg_EVENT_PROGRESS *m,
    const struct ats_frame *f, struct ats_err *err)
{
	struct call *c = calls_find(e->calls, f->head.call);

	if (c == NULL)
		return 0;
	if (!is_of(c, gateway))
		return ats_err_set(err, ATS_E_PROTO, "progress of a call that is not its own");
	if (!c->abandoned && !c->uncommitted)
		call_progress(c, m, (struct ats_slice){ f->payload, f->payload_n });
	return 0;
}

void
gateway_ack(struct call *c)
{
	gateway_links_ack(c->e->gateways, c->gateway->gateway, c->id);
}

/* ---- after a restart of the engine ----------------------------------------------------------- */
int
gateway_resume_asked(struct call *c)
{
	if (gateway_asked_new(c) == NULL)
		return -ATS_E_NOMEM;
	c->asked->state = ASKED_TOLD;
	return 0;
}

int
gateway_resume(struct call *c, const char *tool)
{
	c->gateway = gateway_tool_named(tool);
	if (c->gateway == NULL || gateway_asked_new(c) == NULL)
		return -ATS_E_NOMEM;
	c->asked->state = ASKED_TOLD;
	return 0;
}

void
gateway_resume_settle(struct calls *t)
{
	struct call *c, *next;

	for (c = TAILQ_FIRST(&t->resumed); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->gateway == NULL)
			continue;
		/* One that has ended is not named, and its result is under way. */
		if (gateway_links_generation(t->e->gateways, c->gateway->gateway) != 0)
			gateway_deadline(c, t->e->set.grace_ms);
		else
			call_resumed_lost(c);
	}
}
