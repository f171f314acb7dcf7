/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of gateways' tools that come out of a sandbox. Runs in the engine; names, arguments, ids
 * and keys are a sandbox's, hostile. It can ask as its own sessions and no other, and what it
 * asks for is decided where all calls are. */
#include "brain/engine/relay.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/call_ask.h"
#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/link.h"
#include "brain/engine/sessions.h"
#include "common/chan.h"
#include "common/clock.h"
#include "common/log.h"

#define CALLS_MAX 1024u			/* of one sandbox at a time */
#define INPUT_MAX (16u << 20)		/* their arguments together */
#define HELD_MAX (16u << 20)		/* answers that wait for room */
#define PROGRESS_BACKLOG (1u << 20)
#define FULL_AGAIN_US 5000

struct relay_answer {
	TAILQ_ENTRY(relay_answer) link;
	uint64_t id;			/* hands' own */
	size_t size;
	struct outcome *outcome;	/* owned */
};

/* ---- answers ----------------------------------------------------------------------------- */

/* It would be waited for: over the next link it can be asked for again. */
static void
no_answer(struct sandbox *box, const char *why)
{
	ats_log(ATS_LOG_ERROR, "a sandbox gets no answer", "sandbox=%s why=\"%s\"", box->id, why);
	if (box->chan != NULL)
		ats_chan_close(box->chan, ATS_E_NOMEM, "no room for an answer");
}

static int
send_result(struct sandbox *box, uint64_t id, const struct outcome *o)
{
	struct ats_msg_RESULT m = {
		.outcome = outcome_name(o->kind), .blocks = o->blocks,
		.is_error = o->is_error, .has_is_error = o->is_error,
		.code = o->is_error && o->code != 0 ? ats_err_name(o->code) : NULL,
		.run_us = o->t.us[ATS_TIMING_RUN], .has_run_us = true,
	};
	struct ats_err err = { 0 };
	int rc = link_send_payload(box, ATS_FRAME_RESULT, id, &m, o->payload, &err);

	if (rc < 0 && rc != -ATS_E_FULL && rc != -ATS_E_EOF)
		no_answer(box, err.text);
	return rc;
}

static void
held_free(struct relay *r, struct relay_answer *a)
{
	TAILQ_REMOVE(&r->held, a, link);
	r->held_bytes -= a->size;
	free(a->outcome);
	free(a);
}

static void
again_soon(struct sandbox *box)
{
	static const struct timeval again = { 0, FULL_AGAIN_US };

	(void)event_add(box->retry, &again);
}

/* The link has no room now. */
static void
hold(struct sandbox *box, uint64_t id, const struct outcome *o)
{
	static const char text[] = "The call has ended, and its result is not given: the sandbox "
				   "does not take what is sent to it.";
	struct outcome instead = { .kind = o->kind, .is_error = true, .code = ATS_E_FULL,
		.payload = { text, sizeof(text) - 1 } };
	struct relay *r = &box->relay;
	struct relay_answer *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		no_answer(box, ats_err_text(ATS_E_NOMEM));
		return;
	}
	if (o->payload.n > HELD_MAX - r->held_bytes)
		o = &instead;
	a->id = id;
	a->outcome = outcome_dup(o);
	if (a->outcome == NULL) {
		free(a);
		no_answer(box, ats_err_text(ATS_E_NOMEM));
		return;
	}
	a->size = o == &instead ? 0 : o->payload.n;
	r->held_bytes += a->size;
	TAILQ_INSERT_TAIL(&r->held, a, link);
	again_soon(box);
}

static void
give(struct sandbox *box, uint64_t id, const struct outcome *o)
{
	if (!TAILQ_EMPTY(&box->relay.held) || send_result(box, id, o) == -ATS_E_FULL)
		hold(box, id, o);
}

static void
answer(struct asker *a, const struct call_answer *an)
{
	give(a->owner, strtoull(an->id, NULL, 10), an->outcome);
}

static void
refuse(struct sandbox *box, uint64_t id, enum outcome_kind kind, const struct ats_err *err)
{
	struct outcome o = { .kind = kind, .is_error = true, .code = err->code,
		.payload = { err->text, strlen(err->text) } };

	give(box, id, &o);
}

static void
progress(struct asker *a, struct waiter *w, const char *message)
{
	struct ats_msg_EVENT_PROGRESS m = { .message = message };
	struct sandbox *box = a->owner;

	if (box->chan == NULL || ats_chan_queued(box->chan) > PROGRESS_BACKLOG)
		return;
	w->progress_us = ats_clock_us();
	(void)(link_send(box, ATS_FRAME_EVENT_PROGRESS, strtoull(w->id, NULL, 10), &m, NULL) < 0);
}

void
relay_flush(struct sandbox *box)
{
	struct relay_answer *a;

	while ((a = TAILQ_FIRST(&box->relay.held)) != NULL) {
		if (send_result(box, a->id, a->outcome) == -ATS_E_FULL) {
			again_soon(box);
			return;
		}
		held_free(&box->relay, a);
	}
}

/* ---- calls -------------------------------------------------------------------------------- */

/* One that is named must be of this sandbox, whose sessions have one owner. */
static struct session *
session_of(const struct sandbox *box, const char *id)
{
	struct session *s, *oldest = NULL;
	size_t pos = 0;

	if (id != NULL) {
		s = sessions_find_owned(box->e->sessions, id, box->uid);
		return s != NULL && s->box == box ? s : NULL;
	}
	while ((s = sessions_each(box->e->sessions, &pos)) != NULL)
		if (s->box == box && (oldest == NULL || s->nr < oldest->nr))
			oldest = s;
	return oldest;
}

static int
check_room(const struct relay *r, size_t more, struct ats_err *err)
{
	const struct waiter *w;

	if (r->asker.nwaiters >= CALLS_MAX)
		return ats_err_set(err, ATS_E_FULL, "not started: programs in this sandbox wait "
		    "for %u calls already, the most there may be", CALLS_MAX);
	TAILQ_FOREACH(w, &r->asker.waiters, of_asker)
		more += w->call->input_len;
	if (more > INPUT_MAX)
		return ats_err_set(err, ATS_E_FULL, "not started: the arguments of all calls of "
		    "this sandbox have more than %u bytes", INPUT_MAX);
	return 0;
}

/* Negative, with what is known of this call by it: one that was asked for over a link before this
 * one may have run since, whatever is in its way now. */
static int
fill(struct sandbox *box, const struct ats_msg_CALL_GATEWAY *m, struct call_ask *ask,
    enum outcome_kind *ret_kind, struct ats_err *err)
{
	char quoted[200];
	const char *name = ats_log_quote(quoted, sizeof(quoted), m->name, strlen(m->name));
	int rc;

	ask->session = session_of(box, m->session);
	if (ask->session == NULL && box->relay.forgot) {	/* nor are its calls known */
		*ret_kind = OUTCOME_UNKNOWN;
		return ats_err_set(err, ATS_E_UNKNOWN_ID, "this sandbox has no such session now. "
		    "If this was called before in one that has been closed, it may have run");
	}
	if (ask->session == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_ID, "this sandbox has no such session");
	ask->gateway = gateways_find(box->e->gateways, m->name);
	if (ask->gateway == NULL) {
		rc = call_ask_known(box->e, ask, m->name, err);
		return rc != 0 ? rc : ats_err_set(err, ATS_E_UNKNOWN_TOOL, "no tool of the host is "
		    "called %s now; list the tools again", name);
	}
	if (ats_json_type(m->input) != ATS_JSON_OBJECT)
		return ats_err_set(err, ATS_E_FIELD, "the arguments of %s are no object", name);
	rc = check_room(&box->relay, m->input.n, err);
	if (rc < 0 && call_is_known(box->e, ask->session, ask->key))
		*ret_kind = OUTCOME_UNKNOWN;
	return rc;
}

int
relay_on_call(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_CALL_GATEWAY *m, struct ats_err *err)
{
	char id[24], key[CALL_KEY_MAX];
	struct call_ask ask = { .form = CALL_FORM_MCP, .asker = &box->relay.asker,
		.input = m->input, .key = key, .timeout_ms = m->deadline_ms };
	enum outcome_kind kind = OUTCOME_NOT_STARTED;
	struct ats_err why = { 0 };
	int rc;

	(void)snprintf(id, sizeof(id), "%" PRIu64, f->head.call);
	ask.rpc_id = (struct ats_slice){ id, strlen(id) };
	if (call_waiter_find(ask.asker, ask.rpc_id) != NULL)
		return ats_err_set(err, ATS_E_PROTO, "call.gateway: this call runs already");
	/* Another start of hands may count its keys from the beginning. */
	(void)snprintf(key, sizeof(key), "gw:%s:%s", box->boot, m->key);
	if (m->progress)
		ask.progress_token = ask.rpc_id;
	rc = fill(box, m, &ask, &kind, &why);
	if (rc == 0)
		rc = call_ask(box->e, &ask, &why);
	if (rc < 0)
		refuse(box, f->head.call, kind, &why);
	return 0;
}

void
relay_on_cancel(struct sandbox *box, uint64_t id)
{
	struct ats_err why = { 0 };
	struct waiter *w;
	struct call *c;
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, id);
	w = call_waiter_find(&box->relay.asker, (struct ats_slice){ text, strlen(text) });
	if (w == NULL)
		return;		/* its answer is under way */
	c = w->call;
	if (TAILQ_FIRST(&c->waiters) == w && TAILQ_NEXT(w, of_call) == NULL) {
		call_cancel(c);
		return;
	}
	call_waiter_drop(w);
	(void)ats_err_set(&why, ATS_E_CANCELLED, "cancelled; it goes on for others who wait, and "
	    "may have run");
	refuse(box, id, OUTCOME_UNKNOWN, &why);
}

void
relay_unlinked(struct sandbox *box)
{
	while (!TAILQ_EMPTY(&box->relay.held))
		held_free(&box->relay, TAILQ_FIRST(&box->relay.held));
	call_asker_gone(&box->relay.asker);
}

void
relay_init(struct sandbox *box)
{
	box->relay.asker.answer = answer;
	box->relay.asker.progress = progress;
	box->relay.asker.owner = box;
	TAILQ_INIT(&box->relay.asker.waiters);
	TAILQ_INIT(&box->relay.held);
}
