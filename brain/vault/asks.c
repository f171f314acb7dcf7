/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are under way, from the engine's question to their end. Runs in the vault. What the
 * engine and a gateway are owed is state of the call, not a queue, and asks_sync sends as much as
 * their sockets take: the engine hears that a call is started before its gateway gets the order,
 * so that it knows of every call whose result can come. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/vault/audit.h"
#include "brain/vault/credentials.h"
#include "brain/vault/decide.h"
#include "brain/vault/gateway.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/map.h"

struct ask *
asks_find(const struct vault *v, uint64_t id)
{
	return ats_map_get(v->decide->by_id, id);
}

static bool
is_running(const struct ask *a)
{
	return a->gateway != NULL && (a->state == ASK_READY || a->state == ASK_STARTED ||
	    a->state == ASK_ORDERED);
}

/* The counts follow the state. */
static void
set_state(struct vault *v, struct ask *a, enum ask_state state)
{
	bool ran = is_running(a), counted = a->state == ASK_STARTED || a->state == ASK_ORDERED;
	bool counts = state == ASK_STARTED || state == ASK_ORDERED;

	a->state = state;
	v->decide->running += (size_t)is_running(a) - (size_t)ran;
	if (a->gateway == NULL || counted == counts)
		return;
	a->gateway->ncalls += (size_t)counts - (size_t)counted;
	gateway_check_idle(a->gateway);
}

static void
drop(struct vault *v, struct ask *a)
{
	set_state(v, a, ASK_OVER);
	v->decide->nkept -= a->kept;
	(void)ats_map_del(v->decide->by_id, a->id);
	TAILQ_REMOVE(&v->decide->asks, a, link);
	v->decide->n--;
	v->decide->bytes -= a->args_n;
	ask_files_done(v, a);
	ats_buf_done(&a->args);
	free(a->name);
	free(a);
}

static void
owe(struct ask *a, enum ats_gateway_state say)
{
	a->say = say;
	a->owe_state = true;
}

/* ---- the audit log --------------------------------------------------------------------------- */

int
ask_audit(struct vault *v, const struct ask *a, const char *event, const char *outcome, int code,
    const char *text, struct ats_err *err)
{
	struct ats_buf masked ATS_CLEANUP_BUF = { 0 };
	char call[32];
	struct audit_line l = { .event = event, .uid = a->uid, .session = a->session,
		.call = call, .gateway = a->gateway != NULL ? a->gateway->src->conf.name : NULL,
		.tool = a->tool, .sha256 = a->sha256, .rule = a->rule, .approval = a->approval,
		.way = a->way, .grant = a->grant, .outcome = outcome, .text = text };

	(void)snprintf(call, sizeof(call), "c-%llu", (unsigned long long)a->id);
	if (a->effect != POLICY_NONE)
		l.decision = policy_effect_name(a->effect);
	if (code != 0)
		l.code = ats_err_name(code);
	if (a->state == ASK_ORDERED && outcome != NULL)
		l.ms = ats_clock_ms() - a->ordered_ms;
	ats_buf_init(&masked, 6u << 20);
	if (v->conf->audit_arguments && a->args.len > 0 &&
	    credentials_mask(v, (struct ats_slice){ a->args.data, a->args.len }, &masked) == 0)
		l.arguments = (struct ats_slice){ masked.data, masked.len };
	/* A value that was part of a number or of an escape: it stays out, the line must be one. */
	if (l.arguments.p != NULL && ats_json_scan(masked.data, masked.len, NULL) < 0)
		l.arguments = (struct ats_slice){ "\"***\"", 5 };
	return audit_write(v->audit, &l, err);
}

/* What has happened is not undone by a log that is full; it has said so. */
static void
note(struct vault *v, const struct ask *a, const char *event, const char *outcome, int code,
    const char *text)
{
	(void)!ask_audit(v, a, event, outcome, code, text, NULL);
}

/* ---- what becomes of them ----------------------------------------------------------- */

static void
end_refused(struct vault *v, struct ask *a, int code, const char *text)
{
	(void)ats_err_set(&a->why, code, "%s", text);
	set_state(v, a, ASK_OVER);
	a->owe_cancel = false;
	owe(a, GATEWAY_REFUSED);
	v->decide->bytes -= a->args_n;
	a->args_n = 0;
	ask_files_done(v, a);
	ats_buf_done(&a->args);
	ats_buf_init(&a->args, ATS_GATEWAY_ARGS_MAX);
}

void
ask_end(struct vault *v, struct ask *a, int code, const char *fmt, ...)
{
	char text[sizeof(a->why.text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	end_refused(v, a, code, text);
}

/* A tool of the sandbox: the engine is told, and that is all. */
static void
permit_in_sandbox(struct vault *v, struct ask *a)
{
	struct ats_err err = { 0 };

	if (ask_audit(v, a, "permitted", NULL, 0, NULL, &err) < 0) {
		end_refused(v, a, ATS_E_NOSPC, "It was not run: the audit log cannot be written. "
		    "Tell the user; brain.log has more.");
		return;
	}
	set_state(v, a, ASK_OVER);
	owe(a, GATEWAY_STARTED);
}

void
ask_permit(struct vault *v, struct ask *a)
{
	if (a->gateway == NULL) {
		permit_in_sandbox(v, a);
		return;
	}
	if (gateway_tools_find(a->gateway, a->tool) == NULL) {
		note(v, a, "refused", NULL, ATS_E_UNKNOWN_TOOL, NULL);
		ask_end(v, a, ATS_E_UNKNOWN_TOOL, "%s is not there any more. It was not run.",
		    a->tool);
		return;
	}
	set_state(v, a, ASK_READY);
	gateway_need(a->gateway);
}

bool
asks_forget(struct vault *v, uint64_t id)
{
	struct ask *a = asks_find(v, id);

	if (a == NULL || (!a->kept && (a->gateway != NULL || a->state != ASK_OVER)))
		return false;
	drop(v, a);
	return true;
}

void
asks_cancel(struct vault *v, uint64_t id)
{
	struct ask *a = asks_find(v, id);

	if (a == NULL || a->state == ASK_OVER)
		return;
	if (a->state == ASK_ORDERED) {
		a->owe_cancel = true;
		return;
	}
	if (a->state == ASK_WAITS)
		approve_withdraw(v, a);
	else
		note(v, a, "withdrawn", "not_started", ATS_E_CANCELLED, NULL);
	end_refused(v, a, ATS_E_CANCELLED, "It was cancelled before it started.");
}

bool
asks_wait_for(const struct gateway *g)
{
	const struct ask *a;

	TAILQ_FOREACH(a, &g->v->decide->asks, link)
		if (a->gateway == g && a->state == ASK_READY)
			return true;
	return false;
}

void
asks_gateway_failed(struct gateway *g, const struct ats_err *why)
{
	struct vault *v = g->v;
	struct ask *a;
	char text[sizeof(a->why.text)];

	(void)snprintf(text, sizeof(text), "It was not started: %.380s. Tell the user; calling "
	    "again now will not help.", why->text);
	TAILQ_FOREACH(a, &v->decide->asks, link) {
		if (a->gateway != g || a->state != ASK_READY)
			continue;
		note(v, a, "not_started", "not_started", why->code, why->text);
		end_refused(v, a, ATS_E_NOT_STARTED, text);
	}
}

void
asks_gateway_lost(struct gateway *g)
{
	struct vault *v = g->v;
	struct ask *a;

	TAILQ_FOREACH(a, &v->decide->asks, link) {
		if (a->gateway != g)
			continue;
		if (a->state == ASK_ORDERED) {
			note(v, a, "ended", "unknown", ATS_E_GATEWAY_LOST, NULL);
			end_refused(v, a, ATS_E_GATEWAY_LOST, "its gateway ended while it ran");
		} else if (a->state == ASK_STARTED) {
			note(v, a, "not_started", "not_started", ATS_E_NOT_STARTED, NULL);
			end_refused(v, a, ATS_E_NOT_STARTED, "It was not started: its gateway "
			    "ended just then. It can be called again.");
		}
	}
}

bool
asks_on_ended(struct gateway *g, uint64_t id, uint64_t code)
{
	struct vault *v = g->v;
	struct ask *a = asks_find(v, id);

	if (a == NULL || a->gateway != g || a->state != ASK_ORDERED || code > 999)
		return false;
	note(v, a, "ended", code == 0 ? "done" : code == ATS_E_NOT_STARTED ? "not_started" :
	    "failed", (int)code, NULL);
	drop(v, a);
	return true;
}

void
asks_session_gone(struct vault *v, const char *session)
{
	struct ask *a, *next;

	(void)grants_session_closed(v->decide->grants, session);
	for (a = TAILQ_FIRST(&v->decide->asks); a != NULL; a = next) {
		next = TAILQ_NEXT(a, link);
		if (strcmp(a->session, session) == 0)
			asks_cancel(v, a->id);
	}
}

/* A new engine learns of all that is under way, and of what its predecessor was told and may not
 * have written down; what that was not told as started never will be. */
void
asks_engine_gone(struct vault *v)
{
	struct ask *a;

	if (v->decide == NULL)
		return;
	TAILQ_FOREACH(a, &v->decide->asks, link) {
		if (a->state == ASK_READY) {
			note(v, a, "withdrawn", "not_started", ATS_E_NOT_STARTED, NULL);
			end_refused(v, a, ATS_E_NOT_STARTED,
			    "It was not started: brain's engine ended. It can be called again.");
		}
		a->owe_state = true;
		v->decide->nkept -= a->kept;
		a->kept = false;
	}
}

/* ---- what is owed ------------------------------------------------------------------- */

/* It is over and told: until the engine says that it has it, it may be the next one's to hear. */
static void
keep(struct vault *v, struct ask *a)
{
	struct ask *o;

	a->kept = true;
	if (++v->decide->nkept <= ASKS_KEPT)
		return;
	TAILQ_FOREACH(o, &v->decide->asks, link)
		if (o->kept)
			break;
	if (o != NULL)
		drop(v, o);
}

/* -ATS_E_AGAIN: no more now. 0: a is told; *ret_gone: and nothing more becomes of it. */
static int
tell(struct vault *v, struct ask *a, bool *ret_gone)
{
	int rc = ats_brain_send(v->engine.fd, ATS_MSG_GATEWAY_STATE, 0, NULL, 0, a->id,
	    (uint64_t)a->say, (uint64_t)(a->say == GATEWAY_REFUSED ? a->why.code : 0),
	    a->say == GATEWAY_REFUSED ? a->why.text : "",
	    a->say == GATEWAY_WAITS ? a->approval : "");

	if (rc < 0)
		return rc;
	a->owe_state = false;
	if (a->state == ASK_READY && a->say == GATEWAY_STARTED)
		set_state(v, a, ASK_STARTED);
	*ret_gone = a->state == ASK_OVER;
	if (*ret_gone)
		keep(v, a);
	return 0;
}

/* It is in the log before anything can happen. */
static void
start(struct vault *v, struct ask *a)
{
	struct ats_err err = { 0 };

	if (ask_audit(v, a, "ordered", NULL, 0, NULL, &err) < 0)
		end_refused(v, a, ATS_E_NOSPC, "It was not run: the audit log cannot be written. "
		    "Tell the user; brain.log has more.");
	else
		owe(a, GATEWAY_STARTED);
}

static void
order(struct vault *v, struct ask *a)
{
	int rc = gateway_order(a->gateway, a->id, a->limit_ms, a->name,
	    (struct ats_slice){ a->args.data, a->args.len }, a->files, a->nfiles);

	if (rc == 0) {
		ask_files_done(v, a);	/* its gateway has them */
		a->ordered_ms = ats_clock_ms();
		set_state(v, a, ASK_ORDERED);
	} else if (rc == -ATS_E_AGAIN) {
		gateway_want_room(a->gateway);
	} else if (rc != -ATS_E_EOF) {	/* its end is seen where it is read */
		end_refused(v, a, ATS_E_NOT_STARTED,
		    "It was not started: brain has no room for it. It can be called again.");
	}
}

static int
sync_one(struct vault *v, struct ask *a)
{
	bool gone = false;
	int rc = 0;

	/* That it waits, to an engine that is new, also when it was approved before it came. */
	if (a->owe_state)
		rc = tell(v, a, &gone);
	if (rc == 0 && !gone && a->state == ASK_READY && gateway_takes(a->gateway)) {
		start(v, a);
		rc = tell(v, a, &gone);
	}
	if (rc < 0 || gone)
		return rc;
	if (a->state == ASK_STARTED && gateway_takes(a->gateway))
		order(v, a);
	if (a->state == ASK_ORDERED && a->owe_cancel) {
		rc = gateway_cancel_order(a->gateway, a->id);
		a->owe_cancel = rc == -ATS_E_AGAIN;
		if (a->owe_cancel)
			gateway_want_room(a->gateway);
	}
	return 0;
}

int
asks_sync(struct vault *v)
{
	struct ask *a, *next;
	int rc = 0;

	for (a = TAILQ_FIRST(&v->decide->asks); rc == 0 && a != NULL; a = next) {
		next = TAILQ_NEXT(a, link);
		rc = sync_one(v, a);
	}
	return rc;
}

void
asks_free(struct vault *v)
{
	struct ask *a;

	while ((a = TAILQ_FIRST(&v->decide->asks)) != NULL) {
		a->gateway = NULL;	/* they are gone already, or not yet: not told */
		drop(v, a);
	}
}
