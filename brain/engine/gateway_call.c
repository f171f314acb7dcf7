/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that the vault is asked about: those of a gateway's tool, and those of the sandbox's
 * tools that a person decides about. Runs in the engine; arguments are a client's, or a
 * sandbox's. */
#include "brain/engine/gateway_private.h"

#include <stdlib.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/hooks.h"
#include "brain/engine/observe.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/vault_link.h"
#include "common/clock.h"
#include "common/log.h"

void
gateway_deadline(struct call *c, uint64_t ms)
{
	c->deadline_us = ms == 0 ? 0 : ats_clock_us() + ms * 1000;
	call_timer_set(c);
}

struct asked *
gateway_asked_new(struct call *c)
{
	struct asked *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->call = c;
	c->asked = a;
	return a;
}

void
gateway_forget_early(struct asked *a)
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

void
gateway_asked_free(struct call *c)
{
	struct asked *a = c->asked;

	if (a == NULL)
		return;
	if (a->owes)
		TAILQ_REMOVE(&c->e->gateways->owed, a, link);
	gateway_forget_early(a);
	gateway_files_done(c);
	forget_text(a);
	free(a);
	c->asked = NULL;
}

void
gateway_call_done(struct call *c)
{
	gateway_asked_free(c);
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
		ask.strict = c->hook_asks;
		ask.nfiles = gateway_files(c, &ask.files);
		rc = vault_link_gateway_ask(c->e, &ask);
		if (rc < 0)
			return rc;
		a->state = ASKED_TOLD;
		if (c->gateway != NULL)
			c->given++;
		forget_text(a);
		gateway_files_done(c);
		gateway_deadline(c, c->e->set.queue_ms);
	}
	if (a->cancel_due)
		rc = vault_link_gateway_cancel(c->e, c->id);
	if (rc == 0)
		a->cancel_due = false;
	return rc;
}

void
gateway_tell(struct asked *a)
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
	uint64_t began = ats_clock_us();
	int rc;

	hooks_note(c, &row);
	rc = store_call_sent(c->e->store, &row, err);

	observe_commit(c, began, rc);
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
	int rc;

	if (c->e->hooks_on && hooks_before(c))
		return;
	rc = gateway_tool_check(c->gateway, (struct ats_slice){ c->input, c->input_len }, &err);
	if (c->validate) {
		say_valid(c, &err);
		return;
	}
	c->state = CALL_ASKED;
	if (rc == 0 && gateway_asked_new(c) == NULL)
		rc = ats_err_set(&err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	if (rc < 0)
		call_fail(c, OUTCOME_NOT_STARTED, err.code, "not started: %s", err.text);
	else if (!gateway_files_read(c))
		gateway_go_on(c);
}

void
gateway_go_on(struct call *c)
{
	struct ats_err err = { 0 };

	if (call_class(c) != ATS_CLASS_PURE && journal(c, &err) < 0) {
		call_fail(c, OUTCOME_NOT_STARTED, err.code, "not started: %s", err.text);
		return;
	}
	c->asked_us = ats_clock_us();
	gateway_deadline(c, c->e->set.queue_ms);
	gateway_tell(c->asked);
}

/* So that the next engine knows of the question, or of its answer: a person is asked once. Without
 * it, as on a full disk, the next one asks again. */
static bool
journal_asked(struct call *c)
{
	/* A file that an earlier attempt has named is the one of the next. */
	struct store_call row = {
		.id = c->id, .session = c->session->id, .sandbox = c->box->id,
		.key = call_client_key(c), .tool = call_tool_name(c), .digest = c->digest,
		.boot = "", .path = c->attempt > 0 ? c->path : NULL, .attempt = c->attempt,
		.created_ms = ats_clock_wall_ms(), .asked = c->asked_sha, .permitted = c->agreed,
	};
	struct ats_err err = { 0 };

	if (c->tool == NULL || c->key == NULL)
		return true;		/* it cannot be asked for again */
	if (store_call_sent(c->e->store, &row, &err) < 0) {
		ats_log(ATS_LOG_WARN, "a question is not in the journal", "session=%s call=c-%llu "
		    "why=\"%s\"", c->session->id, (unsigned long long)c->id, err.text);
		return false;
	}
	c->journaled = true;
	return true;
}

void
gateway_permitted(struct call *c)
{
	c->agreed = c->tool != NULL;
	if (c->session != NULL && journal_asked(c))
		gateway_answer_kept(c->e, c->id);
}

void
gateway_answer_kept(struct engine *e, uint64_t call)
{
	(void)(vault_link_gateway_noted(e, call) < 0);	/* else the next engine is told, too */
}

int
gateway_ask_person(struct call *c, const char *tool, struct ats_slice args, struct ats_err *err)
{
	struct asked *a;

	if (args.n > ATS_GATEWAY_ARGS_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "its arguments have more than %u bytes, "
		    "which is more than a person is asked about", ATS_GATEWAY_ARGS_MAX);
	a = gateway_asked_new(c);
	if (a != NULL) {
		a->tool = strdup(tool);
		a->args = strndup(args.p, args.n);
	}
	if (a == NULL || a->tool == NULL || a->args == NULL) {
		gateway_asked_free(c);
		return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	}
	c->state = CALL_ASKED;
	c->agreed = c->permitted = false;
	(void)journal_asked(c);
	c->asked_us = ats_clock_us();
	gateway_deadline(c, c->e->set.queue_ms);
	gateway_tell(a);
	return 0;
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
			    "session=%s call=c-%llu", call_session_id(c),
			    (unsigned long long)c->id);
		call_fail(c, OUTCOME_NOT_STARTED, c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "%s before it started", c->timed_out ? "timed out" : "cancelled");
		return;
	}
	a->cancel_due = true;
	gateway_deadline(c, c->e->set.cancel_ms);
	gateway_tell(a);
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
		gateway_tell(a);
	} else if (told && vault_link_gateway_cancel(c->e, c->id) < 0) {
		ats_log(ATS_LOG_WARN, "a call of a closed session goes on",
		    "session=%s call=c-%llu", call_session_id(c), (unsigned long long)c->id);
	}
	call_fail(c, told && c->gateway != NULL ? OUTCOME_UNKNOWN : OUTCOME_NOT_STARTED,
	    ATS_E_CANCELLED, "the session was closed");
}
