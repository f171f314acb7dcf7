/* SPDX-License-Identifier: Apache-2.0
 *
 * ats/hook.run: a runtime tells of an event. Runs in the engine; parameters are a client's. */
#include <stdlib.h>
#include <string.h>

#include "brain/engine/calls_rpc.h"
#include "brain/engine/engine.h"
#include "brain/engine/hooks.h"
#include "brain/engine/rpc.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"

#define ASKED_A_CLIENT 64u
#define NAME_MAX_BYTES 512u

struct hook_asked {
	TAILQ_ENTRY(hook_asked) link;
	struct client *client;
	struct session *session;
	enum ats_hook_event event;
	struct hook_run *run;
	struct hook_verdict sum;	/* of the sides that have ended */
	char *given;			/* owned */
	char name[NAME_MAX_BYTES + 1];
	size_t id_len;
	char id[];			/* raw */
};

/* Before it is answered: an answer may end the client, and with it what it waits for. */
static void
take_out(struct hooks *h, struct hook_asked *a)
{
	TAILQ_REMOVE(&h->asked, a, link);
	a->client->lists--;
}

static void
asked_free(struct hook_asked *a)
{
	hooks_cancel(a->run);
	hook_verdict_done(&a->sum);
	free(a->given);
	free(a);
}

static void
write_text(struct ats_json_w *w, const char *key, const struct ats_buf *text)
{
	if (text->len > 0)
		ats_json_w_strn(w, key, text->data, text->len);
}

static void
write_json(struct ats_json_w *w, const char *key, const struct ats_buf *json)
{
	if (json->len > 0)
		ats_json_w_raw(w, key, json->data, json->len);
}

static void
answer(struct hooks *h, struct hook_asked *a)
{
	struct rpc r = { .e = h->e, .client = a->client, .id = { a->id, a->id_len } };
	const struct hook_verdict *v = &a->sum;
	struct ats_json_w *w;

	take_out(h, a);
	w = rpc_begin(&r);

	ats_json_w_str(w, "decision", ats_hook_decision_name(v->decision));
	write_text(w, "reason", &v->reason);
	ats_json_w_bool(w, "continue", !v->stops);
	write_json(w, "updated_input", &v->input);
	write_json(w, "updated_output", &v->output);
	write_text(w, "additional_context", &v->context);
	write_text(w, "system_message", &v->message);
	ats_json_w_array(w, "hooks");
	if (v->report.len > 0)
		ats_json_w_raw(w, NULL, v->report.data, v->report.len);
	ats_json_w_end(w);
	rpc_end(&r);
	asked_free(a);
}

/* The higher decision wins; texts are put together; what replaces is the later one's. */
static void
sum(struct hook_verdict *to, const struct hook_verdict *v)
{
	if (v->decision > to->decision) {
		to->decision = v->decision;
		ats_buf_reset(&to->reason);
		hook_text_add(&to->reason, v->reason.data, v->reason.len);
	}
	to->stops = to->stops || v->stops;
	hook_text_add(&to->context, v->context.data, v->context.len);
	hook_text_add(&to->message, v->message.data, v->message.len);
	if (v->input.len > 0) {
		ats_buf_reset(&to->input);
		(void)!ats_buf_add(&to->input, v->input.data, v->input.len);
	}
	if (v->output.len > 0) {
		ats_buf_reset(&to->output);
		(void)!ats_buf_add(&to->output, v->output.data, v->output.len);
	}
	if (v->report.len > 0 && to->report.len > 0)
		(void)!ats_buf_add_char(&to->report, ',');
	(void)!ats_buf_add(&to->report, v->report.data, v->report.len);
}

static void on_done(void *ctx, enum hook_side side, struct hook_verdict *v);

/* False: there are none of that side. */
static bool
start(struct hook_asked *a, enum hook_side side)
{
	struct engine *e = a->client->e;
	struct hook_ask ask = { .event = a->event, .session = a->session, .name = a->name,
		.given = { a->given, strlen(a->given) } };
	struct hook_one one = { .end = HOOK_NOT_RUN };
	struct ats_err err = { 0 };

	if (side == HOOK_BOX ? e->set.workspace_hooks == 0 ||
	        (a->session->box->state == SANDBOX_READY &&
	        !hooks_wanted(e, side, a->session->box, a->event, a->name)) :
	    !hooks_wanted(e, side, NULL, a->event, a->name))
		return false;
	a->run = hooks_run(e, side, &ask, on_done, a, &err);
	if (a->run != NULL)
		return true;
	(void)memccpy(one.why, err.text, '\0', sizeof(one.why) - 1);
	hook_verdict_add(&a->sum, side, a->event, &one);
	return false;
}

static void
on_done(void *ctx, enum hook_side side, struct hook_verdict *v)
{
	struct hook_asked *a = ctx;
	struct hooks *h = a->client->e->hooks;

	a->run = NULL;
	sum(&a->sum, v);
	if (side == HOOK_HOST || !start(a, HOOK_HOST))
		answer(h, a);
}

/* What a matcher looks at, from the member of the input that is the event's. */
static bool
find_name(enum ats_hook_event event, struct ats_slice input, char out[NAME_MAX_BYTES + 1])
{
	const char *member = ats_hook_event_rows[event].matched;
	struct ats_json_val v;
	char *name;
	bool fits;

	out[0] = '\0';
	if (member[0] == '\0' || !ats_json_get(input, member, &v))
		return true;
	name = ats_json_dup_str(&v);
	fits = name != NULL && strlen(name) <= NAME_MAX_BYTES;
	if (fits)
		memcpy(out, name, strlen(name) + 1);
	free(name);
	return fits;
}

static struct hook_asked *
asked_new(struct rpc *r, struct session *s, enum ats_hook_event event, struct ats_slice input)
{
	struct hook_asked *a = calloc(1, sizeof(*a) + r->id.n);

	if (a == NULL)
		return NULL;
	a->given = strndup(input.p, input.n);
	if (a->given == NULL) {
		free(a);
		return NULL;
	}
	a->client = r->client;
	a->session = s;
	a->event = event;
	hook_verdict_init(&a->sum);
	a->id_len = r->id.n;
	memcpy(a->id, r->id.p, r->id.n);
	TAILQ_INSERT_TAIL(&r->e->hooks->asked, a, link);
	r->client->lists++;
	return a;
}

void
hooks_run_request(struct rpc *r)
{
	char event[33] = "", id[200] = "", session[40] = "", name[NAME_MAX_BYTES + 1];
	struct ats_slice input = { "{}", 2 };
	struct rpc_param p[] = {
		{ "event", RPC_STR, true, sizeof(event), event },
		{ "input", RPC_OBJECT, false, 0, &input },
		{ "call_id", RPC_STR, false, sizeof(id), id },
		{ "session", RPC_STR, false, sizeof(session), session },
	};
	struct ats_err err = { 0 };
	enum ats_hook_event which = ATS_HOOK_EVENTS;
	struct hook_asked *a;
	struct session *s;

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	s = calls_session(r, session);
	if (s == NULL)
		return;
	if (!ats_hook_event_find(event, strlen(event), &which))
		(void)ats_err_set(&err, ATS_E_FIELD, "event: there is none of this name");
	else if (!find_name(which, input, name))
		(void)ats_err_set(&err, ATS_E_FIELD, "input.%s: expected a string of at most %u "
		    "bytes", ats_hook_event_rows[which].matched, NAME_MAX_BYTES);
	else if (r->client->lists >= ASKED_A_CLIENT)
		(void)ats_err_set(&err, ATS_E_FULL, "hooks of too many events run already");
	a = err.code != 0 ? NULL : asked_new(r, s, which, input);
	if (a == NULL) {
		if (err.code == 0)
			(void)ats_err_set(&err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
		rpc_fail(r, &err);
		return;
	}
	memcpy(a->name, name, sizeof(name));
	if (!start(a, HOOK_BOX) && !start(a, HOOK_HOST))
		answer(r->e->hooks, a);
}

void
hooks_client_gone(struct client *c)
{
	struct hooks *h = c->e->hooks;
	struct hook_asked *a, *next;

	for (a = c->lists == 0 || h == NULL ? NULL : TAILQ_FIRST(&h->asked); a != NULL; a = next) {
		next = TAILQ_NEXT(a, link);
		if (a->client != c)
			continue;
		take_out(h, a);
		asked_free(a);
	}
}

void
hooks_session_closed(struct engine *e, const struct session *s)
{
	struct hook_asked *a = e->hooks == NULL ? NULL : TAILQ_FIRST(&e->hooks->asked);
	struct ats_err err = { 0 };
	struct rpc r = { .e = e };

	(void)ats_err_set(&err, ATS_E_CANCELLED, "the session was closed");
	while (a != NULL) {
		if (a->session != s) {
			a = TAILQ_NEXT(a, link);
			continue;
		}
		take_out(e->hooks, a);
		r.client = a->client;
		r.id = (struct ats_slice){ a->id, a->id_len };
		rpc_fail(&r, &err);
		asked_free(a);
		a = TAILQ_FIRST(&e->hooks->asked);	/* others may have gone with it */
	}
}
