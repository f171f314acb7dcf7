/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that the vault is asked about: those of a gateway's tool, and those of the sandbox's
 * tools that a person decides about. Runs in the engine. The vault's words are trusted, a
 * result is a gateway's. */
#include "brain/engine/gateway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/vault_link.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/log.h"
#include "common/map.h"
#include "proto/msg.h"

#define EARLY_MAX (16u << 20)	/* results held until GATEWAY_STATE comes, of all calls */

static void
deadline_in(struct call *c, uint64_t ms)
{
	c->deadline_us = ms == 0 ? 0 : ats_clock_us() + ms * 1000;
	call_timer_set(c);
}

static struct asked *
asked_new(struct call *c)
{
	struct asked *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->call = c;
	c->asked = a;
	return a;
}

static void
forget_early(struct asked *a)
{
	if (a->early == NULL)
		return;
	a->call->e->gateways->early_bytes -= a->early->payload.n;
	free(a->early);
	a->early = NULL;
}

static void
forget_text(struct asked *a)
{
	free(a->tool);
	free(a->args);
	a->tool = a->args = NULL;
}

static void
asked_free(struct call *c)
{
	struct asked *a = c->asked;

	if (a == NULL)
		return;
	if (a->owes)
		TAILQ_REMOVE(&c->e->gateways->owed, a, link);
	forget_early(a);
	forget_text(a);
	free(a);
	c->asked = NULL;
}

void
gateway_call_done(struct call *c)
{
	asked_free(c);
	gateway_tool_let_go(c->gateway);
	c->gateway = NULL;
}

/* ---- telling the vault ------------------------------------------------------------------ */

/* 0: nothing is owed any more. -ATS_E_AGAIN: later. Others: it cannot be told. */
static int
try_tell(struct asked *a)
{
	struct call *c = a->call;
	struct gateway_ask ask = { .id = c->id, .limit_ms = c->timeout_ms };
	int rc = 0;

	if (a->state == ASKED_DUE && !a->cancel_due) {
		ask.session = c->session->id;
		ask.tool = a->tool != NULL ? a->tool : c->gateway->name;
		ask.args.p = a->args != NULL ? a->args : c->input;
		ask.args.n = a->args != NULL ? strlen(a->args) : c->input_len;
		rc = vault_link_gateway_ask(c->e, &ask);
		if (rc < 0)
			return rc;
		a->state = ASKED_TOLD;
		forget_text(a);
		deadline_in(c, c->e->set.queue_ms);
	}
	if (a->cancel_due)
		rc = vault_link_gateway_cancel(c->e, c->id);
	if (rc == 0)
		a->cancel_due = false;
	return rc;
}

/* c may be gone after it. */
static void
tell(struct asked *a)
{
	struct call *c = a->call;
	struct gateways *g = c->e->gateways;
	int rc = -ATS_E_AGAIN;

	if (a->owes)
		return;
	if (TAILQ_EMPTY(&g->owed))
		rc = try_tell(a);
	if (rc == -ATS_E_AGAIN) {
		a->owes = true;
		TAILQ_INSERT_TAIL(&g->owed, a, link);
		vault_link_want_room(c->e);
	} else if (rc < 0 && a->state == ASKED_DUE) {
		call_fail(c, OUTCOME_NOT_STARTED, -rc, "not started: it could not be asked for: %s",
		    ats_err_text(rc));
	}
}

bool
gateway_flush(struct engine *e)
{
	struct asked *a;
	struct call *c;
	int rc;

	while (e->gateways != NULL && (a = TAILQ_FIRST(&e->gateways->owed)) != NULL) {
		rc = try_tell(a);
		if (rc == -ATS_E_AGAIN)
			return false;
		TAILQ_REMOVE(&e->gateways->owed, a, link);
		a->owes = false;
		c = a->call;
		if (rc < 0 && a->state == ASKED_DUE)
			call_fail(c, OUTCOME_NOT_STARTED, -rc,
			    "not started: it could not be asked for: %s", ats_err_text(rc));
	}
	return true;
}

static int
journal(struct call *c, struct ats_err *err)
{
	struct store_call row = {
		.id = c->id, .session = c->session->id, .sandbox = c->session->box->id,
		.key = call_client_key(c), .tool = c->gateway->name, .digest = c->digest,
		.boot = "", .created_ms = ats_clock_wall_ms(),
	};
	int rc = store_call_sent(c->e->store, &row, err);

	c->journaled = rc == 0;
	return rc;
}

static void
say_valid(struct call *c, const struct ats_err *err)
{
	struct outcome o = { .kind = OUTCOME_DONE, .is_error = err->code != 0, .code = err->code };

	o.payload.p = err->code != 0 ? err->text :
	    "It has the arguments that are required. The tool itself checks the rest, and whether "
	    "it may run is decided when it is called.";
	o.payload.n = strlen(o.payload.p);
	call_finish(c, &o);
}

void
gateway_submit(struct call *c)
{
	struct ats_err err = { 0 };
	int rc = gateway_tool_check(c->gateway, (struct ats_slice){ c->input, c->input_len }, &err);

	if (c->validate) {
		say_valid(c, &err);
		return;
	}
	c->state = CALL_ASKED;
	if (rc == 0 && asked_new(c) == NULL)
		rc = ats_err_set(&err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	if (rc == 0 && call_class(c) != ATS_CLASS_PURE)
		rc = journal(c, &err);
	if (rc < 0) {
		call_fail(c, OUTCOME_NOT_STARTED, err.code, "not started: %s", err.text);
		return;
	}
	deadline_in(c, c->e->set.queue_ms);
	tell(c->asked);
}

int
gateway_ask_person(struct call *c, const char *tool, struct ats_slice args, struct ats_err *err)
{
	struct asked *a;

	if (args.n > ATS_GATEWAY_ARGS_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "its arguments have more than %u bytes, which "
		    "is more than a person is asked about", ATS_GATEWAY_ARGS_MAX);
	a = asked_new(c);
	if (a != NULL) {
		a->tool = strdup(tool);
		a->args = strndup(args.p, args.n);
	}
	if (a == NULL || a->tool == NULL || a->args == NULL) {
		asked_free(c);
		return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	}
	c->state = CALL_ASKED;
	deadline_in(c, c->e->set.queue_ms);
	tell(a);
	return 0;
}

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
on_waits(struct call *c, const char *approval)
{
	struct ats_msg_EVENT_PROGRESS m = { 0 };
	struct asked *a = c->asked;
	char text[160];

	if (a->state == ASKED_STARTED || (a->state == ASKED_WAITS &&
	    strcmp(a->approval, approval) == 0))
		return;
	a->state = ASKED_WAITS;
	(void)snprintf(a->approval, sizeof(a->approval), "%s",
	    ats_id_valid(approval) ? approval : "");
	if (!c->cancelled)
		deadline_in(c, 0);
	emit(c, "call.waiting", a->approval);
	(void)snprintf(text, sizeof(text), "waits for a person's approval: atsctl approve %s",
	    a->approval);
	m.message = text;
	call_progress(c, &m, (struct ats_slice){ NULL, 0 });
}

/* c may be gone after it. */
static void
take_result(struct call *c, const struct outcome *o)
{
	struct outcome with = *o;
	char text[128];

	with.exit_kind = NULL;
	with.has_exit_code = false;
	if (with.payload.n == 0) {
		(void)snprintf(text, sizeof(text), "%s %s and gave no text.", c->gateway->name,
		    with.is_error ? "failed" : "ended");
		with.payload = (struct ats_slice){ text, strlen(text) };
		with.blocks.p = NULL;
	}
	c->has_result = true;
	if (call_class(c) == ATS_CLASS_PURE)
		gateway_ack(c);
	call_finish(c, &with);
}

/* c may be gone after it. */
static void
on_started(struct call *c)
{
	struct asked *a = c->asked;

	if (c->gateway == NULL) {
		emit(c, "call.started", NULL);
		asked_free(c);
		c->permitted = true;
		c->deadline_us = 0;
		dispatch_submit(c);
		return;
	}
	if (a->state == ASKED_STARTED)
		return;
	a->state = ASKED_STARTED;
	a->generation = gateway_links_generation(c->e->gateways, c->gateway->gateway);
	c->sent_us = ats_clock_us();
	if (!c->cancelled && !c->abandoned)
		deadline_in(c, c->timeout_ms == 0 ? 0 : c->timeout_ms + c->e->set.grace_ms);
	emit(c, "call.started", NULL);
	if (a->early != NULL)
		take_result(c, a->early);
}

static void
ask_again(struct call *c)
{
	struct asked *a = c->asked;

	forget_early(a);
	a->state = ASKED_DUE;
	a->approval[0] = '\0';
	c->attempt++;
	/* The vault may know the old id still. */
	if (call_renumber(c) < 0) {
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
		return;
	}
	deadline_in(c, c->e->set.queue_ms);
	tell(a);
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
		call_finish_unknown(c, ATS_E_LOST, why);
	} else if (c->session == NULL || c->attempt >= c->e->set.retry_limit) {
		call_fail(c, OUTCOME_DONE, ATS_E_LOST, "%s, %u times while this ran. It only reads: "
		    "nothing was changed", why, c->attempt + 1);
	} else {
		ask_again(c);
	}
}

static void
on_refused(struct call *c, int code, const char *text)
{
	struct asked *a = c->asked;
	const char *own = c->timed_out ? "timed out" : "cancelled";

	if (c->gateway != NULL && code == ATS_E_LOST) {
		/* A result may lie in the link still: its end decides. */
		if (a->state != ASKED_STARTED || !gateway_links_open(c->e->gateways,
		    c->gateway->gateway, a->generation))
			lost(c, text[0] != '\0' ? text : "its gateway ended");
	} else if (c->abandoned) {
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
		/* Of an engine before this one, whose caller will ask again, or not. */
		if (state != GATEWAY_REFUSED && c == NULL &&
		    vault_link_gateway_cancel(e, id) < 0)
			ats_log(ATS_LOG_WARN, "a call that nobody waits for goes on", "call=c-%llu",
			    (unsigned long long)id);
		return;
	}
	if (c->uncommitted)
		return;
	adopt(c);
	if (state == GATEWAY_WAITS)
		on_waits(c, approval);
	else if (state == GATEWAY_STARTED)
		on_started(c);
	else
		on_refused(c, (int)code, text);
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
	if (c->uncommitted)
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

/* ---- its end by us ------------------------------------------------------------------------- */

void
gateway_cancel(struct call *c)
{
	struct asked *a = c->asked;
	bool told = a->state != ASKED_DUE;

	if (c->cancelled)
		return;
	c->cancelled = true;
	if (c->gateway == NULL || !told) {
		/* Nothing runs before this engine says so. */
		if (told && vault_link_gateway_cancel(c->e, c->id) < 0)
			ats_log(ATS_LOG_WARN, "an approval is asked for and not needed",
			    "call=c-%llu", (unsigned long long)c->id);
		call_fail(c, OUTCOME_NOT_STARTED, c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "%s before it started", c->timed_out ? "timed out" : "cancelled");
		return;
	}
	a->cancel_due = true;
	deadline_in(c, c->e->set.cancel_ms);
	tell(a);
}

void
gateway_timed_out(struct call *c)
{
	if (!c->cancelled) {
		c->timed_out = true;
		gateway_cancel(c);
		return;
	}
	c->abandoned = true;
	c->deadline_us = 0;
	if (call_class(c) == ATS_CLASS_PURE)
		call_fail_stopped(c);
	else
		call_finish_unknown(c, c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "it was cancelled, and its gateway gave no result");
}

void
gateway_session_closed(struct call *c)
{
	struct asked *a = c->asked;
	bool told = c->state == CALL_RESUMED || a->state != ASKED_DUE;

	c->deadline_us = 0;
	if (told && c->gateway != NULL && c->state != CALL_RESUMED) {
		c->abandoned = true;
		c->cancelled = true;
		a->cancel_due = true;
		tell(a);
	} else if (told && vault_link_gateway_cancel(c->e, c->id) < 0) {
		ats_log(ATS_LOG_WARN, "a call of a closed session goes on", "call=c-%llu",
		    (unsigned long long)c->id);
	}
	call_fail(c, told && c->gateway != NULL ? OUTCOME_UNKNOWN : OUTCOME_NOT_STARTED,
	    ATS_E_CANCELLED, "the session was closed");
}

/* ---- after a restart of the engine ----------------------------------------------------------- */

int
gateway_resume(struct call *c, const char *tool)
{
	c->gateway = gateway_tool_named(tool);
	if (c->gateway == NULL || asked_new(c) == NULL)
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
			deadline_in(c, t->e->set.grace_ms);
		else
			call_resumed_lost(c);
	}
}

/* ---- for people -------------------------------------------------------------------------------- */

const char *
gateway_state_name(const struct call *c)
{
	static const char *const names[] = { [ASKED_DUE] = "asked", [ASKED_TOLD] = "asked",
		[ASKED_WAITS] = "waiting", [ASKED_STARTED] = "running" };

	return c->asked == NULL ? "asked" : names[c->asked->state];
}

size_t
gateway_waiting(const struct engine *e, uint64_t uid)
{
	const struct call *c;
	size_t pos = 0, n = 0;

	while ((c = calls_each(e->calls, &pos)) != NULL)
		n += c->asked != NULL && c->asked->state == ASKED_WAITS && !c->abandoned &&
		    c->session != NULL && c->session->uid == uid;
	return n;
}
