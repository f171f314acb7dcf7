/* SPDX-License-Identifier: Apache-2.0
 *
 * A request becomes a call, joins one that lives, or is answered from memory or journal.
 * Runs in the engine; keys and inputs are a client's. */
#include "brain/engine/call_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/cache.h"
#include "brain/engine/call_resume.h"
#include "brain/engine/calls.h"
#include "brain/engine/ctx.h"
#include "brain/engine/ctx_host.h"
#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/exec.h"
#include "brain/engine/gateway.h"
#include "brain/engine/rpc.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/map.h"
#include "common/share.h"

#define INPUT_BYTES (256u << 20)	/* of all calls that live: they may wait long */

/* Same tool and same text: the same input. */
static int
digest_of(const struct call_ask *ask, char out[ATS_SHA256_HEX])
{
	const char *name = ask->tool != NULL ? ask->tool->name :
	    ask->gateway != NULL ? ask->gateway->name : "exec";
	struct ats_sha256 *sha = ats_sha256_new();

	if (sha == NULL)
		return -ATS_E_NOMEM;
	if (ask->form == CALL_FORM_VALIDATE)
		ats_sha256_add(sha, "validate", sizeof("validate"));
	ats_sha256_add(sha, name, strlen(name) + 1);
	ats_sha256_add(sha, ask->input.p, ask->input.n);
	ats_sha256_finish(sha, out);
	return 0;
}

static int
reused(struct ats_err *err)
{
	return ats_err_set(err, ATS_E_ID_REUSED, "%s", ats_err_text(ATS_E_ID_REUSED));
}

/* What the session holds now; without memory the answer goes without it. */
static void
write_ctx(const struct call_ask *ask, struct ats_buf *out)
{
	struct ats_ctx_named named;

	if (ask->ctx.p == NULL || ask->tool == NULL || ask->form != CALL_FORM_ATS)
		return;
	ats_ctx_name(ask->tool, ask->session->cwd, ask->input, &named);
	(void)!ctx_host_write(ask->session, ask->tool, named.path, out);
}

static void
answer_now(const struct call_ask *ask, uint64_t call, const struct outcome *o)
{
	char id[RPC_ID_MAX + 1];
	struct outcome with = *o;
	struct call_answer a = { .form = ask->form, .id = id, .call = call, .outcome = &with };
	struct ats_buf ctx ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&ctx, CTX_HOST_MAX);
	write_ctx(ask, &ctx);
	with.ctx_delta = (struct ats_slice){ ctx.len > 0 ? ctx.data : NULL, ctx.len };
	memcpy(id, ask->rpc_id.p, ask->rpc_id.n);
	id[ask->rpc_id.n] = '\0';
	ask->asker->answer(ask->asker, &a);
	exec_free(ask->exec);
}

static void
answer_stored(const struct call_ask *ask, struct store_call *row)
{
	char text[256];

	if (row->payload_lost) {
		(void)snprintf(text, sizeof(text),
		    "This call has been answered before. Its answer had %llu bytes (sha256 %s) and "
		    "is no longer kept; the call was not run again.",
		    (unsigned long long)row->payload_len, row->payload_sha256);
		row->outcome.payload.p = text;
		row->outcome.payload.n = strlen(text);
		row->outcome.blocks.p = NULL;
	}
	answer_now(ask, row->id, &row->outcome);
}

static int
take_input(struct call *c, const struct call_ask *ask, struct ats_err *err)
{
	struct calls *t = c->e->calls;

	if (ask->input.n > INPUT_BYTES - t->input_bytes)
		return ats_err_set(err, ATS_E_FULL, "the inputs of all calls are too large");
	c->input = malloc(ask->input.n + 1);
	if (c->input == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "input");
	memcpy(c->input, ask->input.p, ask->input.n);
	c->input[ask->input.n] = '\0';
	c->input_len = ask->input.n;
	t->input_bytes += c->input_len;
	return 0;
}

static uint64_t
timeout_of(const struct engine *e, const struct call_ask *ask)
{
	uint64_t ms = ask->timeout_ms;

	if (ask->tool != NULL && ms > ask->tool->timeout_max_ms)
		ms = ask->tool->timeout_max_ms;
	if (ask->gateway != NULL && ms == 0)
		ms = ask->gateway->timeout_ms;
	if (ask->gateway != NULL && ms == 0)
		ms = e->set.gateway_ms;
	return ms;
}

/* The call of this key lives: one more waits for it. */
static int
join(struct call *c, const struct call_ask *ask, const char *digest, struct ats_err *err)
{
	int rc;

	if (strcmp(c->digest, digest) != 0)
		return reused(err);
	if (ask->tool == NULL && ask->gateway == NULL)
		return ats_err_set(err, ATS_E_BUSY, "this exec runs already");
	if (ask->asker->nwaiters >= c->e->set.client_calls_max)
		return ats_err_set(err, ATS_E_FULL, "too many calls at once");
	if (c->input == NULL) {
		rc = take_input(c, ask, err);
		if (rc < 0)
			return rc;
	}
	if (call_waiter_add(c, ask) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "request");
	c->orphan_us = 0;
	if (c->unsent)
		c->timeout_ms = timeout_of(c->e, ask);
	if (c->state != CALL_RESUMED) {
		call_timer_set(c);
		gateway_asked_again(c);
		return 0;
	}
	if (c->session == NULL)
		c->session = ask->session;
	if (c->gateway != NULL || c->asked != NULL)
		return 0;	/* the vault says what became of it */
	c->box = c->session->box;
	if (c->unsent) {
		call_resumed_asked(c);
		return 0;
	}
	if (c->lost)
		call_resumed_lost(c);
	else
		sandbox_want(c->box);
	return 0;
}

/* text is borrowed. */
static struct outcome
unknown(const char *text)
{
	return (struct outcome){ .kind = OUTCOME_UNKNOWN, .is_error = true, .code = ATS_E_LOST,
		.payload = { text, strlen(text) } };
}

/* A journal is there and cannot be read: the call of this key may have run, or run now. To say
 * that it did not would ask for it twice. 1, or an error. */
static int
answer_unread(struct engine *e, const struct call_ask *ask, struct ats_err *err)
{
	struct ats_err why = *err;
	struct outcome o;

	(void)ats_err_set(&why, ATS_E_LOST, "Whether this call has run is not known: the engine "
	    "was restarted and cannot read what it wrote before (%s). Check before you call again.",
	    err->text);
	o = unknown(why.text);
	answer_now(ask, store_next_id(e->store), &o);
	return 1;
}

/* It lives, and this waiter is one too many: that it was not taken would say that it does not run.
 * 1. */
static int
answer_unjoined(const struct call *live, const struct call_ask *ask, const struct ats_err *why)
{
	char text[sizeof(why->text) + 160];
	struct outcome o;

	(void)snprintf(text, sizeof(text), "This call was asked for before and has not ended: what "
	    "becomes of it is not known here, since it cannot be waited for (%s). It is not run "
	    "twice.", why->text);
	o = unknown(text);
	o.code = why->code;
	answer_now(ask, live->id, &o);
	return 1;
}

static bool
is_pure(const struct call_ask *ask)
{
	if (ask->gateway != NULL && gateway_tool_class(ask->gateway) == ATS_CLASS_PURE)
		return true;
	return ask->form == CALL_FORM_VALIDATE ||
	       (ask->tool != NULL && ask->tool->class == ATS_CLASS_PURE);
}

/* 1: answered or joined. 0: a new call. */
static int
ask_again(struct engine *e, const struct call_ask *ask, const char *key, const char *digest,
    struct ats_err *err)
{
	struct call *live = ats_map_get_str(e->calls->by_key, key);
	struct store_call row;
	struct cache_hit hit;
	int rc;

	if (live != NULL) {
		rc = join(live, ask, digest, err);
		return rc == 0 ? 1 : rc == -ATS_E_ID_REUSED || is_pure(ask) ? rc :
		    answer_unjoined(live, ask, err);
	}
	if (cache_get(e->calls->cache, key, &hit)) {
		if (strcmp(hit.digest, digest) != 0)
			return reused(err);
		if (hit.kept) {
			answer_now(ask, hit.call, &hit.outcome);
			return 1;
		}
	}
	if (is_pure(ask))
		return 0;
	rc = store_call_by_key(e->store, ask->session->id, ask->key, &row, err);
	if (rc < 0 && store_is_unread(e->store))
		return answer_unread(e, ask, err);
	if (rc <= 0)
		return rc;
	if (strcmp(row.digest, digest) != 0)
		return reused(err);
	if (row.state != STORE_DONE)
		row.outcome = unknown(ats_err_text(ATS_E_LOST));
	answer_stored(ask, &row);
	return 1;
}

static int
ask_new(struct engine *e, const struct call_ask *ask, const char *key, const char *digest,
    struct ats_err *err)
{
	struct call *c;
	int rc;

	c = call_new(e, is_pure(ask) ? e->calls->next_pure++ : store_next_id(e->store), key);
	if (c == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "call");
	c->session = ask->session;
	c->box = ask->gateway == NULL ? ask->session->box : NULL;
	c->tool = ask->tool;
	c->gateway = ask->gateway == NULL ? NULL : gateway_tool_hold(ask->gateway);
	c->validate = ask->form == CALL_FORM_VALIDATE;
	c->timeout_ms = timeout_of(e, ask);
	memcpy(c->digest, digest, sizeof(c->digest));
	rc = take_input(c, ask, err);
	if (rc == 0 && call_waiter_add(c, ask) < 0)
		rc = ats_err_set(err, ATS_E_NOMEM, "call");
	if (rc < 0) {
		call_drop(c);
		return rc;
	}
	c->exec = ask->exec;
	events_emit(e, c->session->uid, "call.begin", c->session->id,
	    c->box == NULL ? NULL : c->box->id, c->id, call_tool_name(c));
	engine_idle_check(e);
	if (c->gateway != NULL)
		gateway_submit(c);
	else
		dispatch_submit(c);
	return 0;
}

bool
call_is_known(struct engine *e, const struct session *s, const char *key)
{
	char full[CALL_FULL_KEY_MAX];
	struct store_call row;

	(void)snprintf(full, sizeof(full), "%s:%s", s->id, key);
	return ats_map_get_str(e->calls->by_key, full) != NULL ||
	    store_call_by_key(e->store, s->id, key, &row, NULL) > 0;
}

int
call_ask_known(struct engine *e, struct call_ask *ask, const char *name, struct ats_err *err)
{
	char digest[ATS_SHA256_HEX], key[CALL_FULL_KEY_MAX];
	int rc = 0;

	if (ask->key == NULL || ask->form == CALL_FORM_VALIDATE || !gateway_is_name(name))
		return 0;
	ask->gateway = gateway_tool_named(name);
	if (ask->gateway == NULL)
		return 0;
	(void)snprintf(key, sizeof(key), "%s:%s", ask->session->id, ask->key);
	rc = digest_of(ask, digest);
	if (rc == 0)
		rc = ask_again(e, ask, key, digest, err);
	gateway_tool_let_go(ask->gateway);
	ask->gateway = NULL;
	return rc;
}

/* Users of the machine share what there is, as at the door. Counted only when it can matter. */
static bool
has_room(const struct engine *e, uint64_t uid)
{
	size_t all = calls_count(e->calls), mine = 0, pos = 0;
	const struct call *c;

	if (ats_share_counts(uid, e->brain_uid) && all >= e->set.calls_max / 2)
		while ((c = calls_each(e->calls, &pos)) != NULL)
			mine += c->session != NULL && c->session->uid == uid;
	return ats_share_has_room(e->set.calls_max, all, mine);
}

int
call_ask(struct engine *e, const struct call_ask *ask, struct ats_err *err)
{
	char digest[ATS_SHA256_HEX] = "", key[CALL_FULL_KEY_MAX];
	bool keyed = ask->key != NULL;
	int rc = 0;

	if (keyed) {
		(void)snprintf(key, sizeof(key), "%s:%s", ask->session->id, ask->key);
		rc = digest_of(ask, digest);
		if (rc < 0)
			return ats_err_set(err, -rc, "call");
		rc = ask_again(e, ask, key, digest, err);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	/* From here on it is new. Clients that send a call again rely on ATS_E_FULL saying so
	 * (docs/PROTOCOL.md): what has no room before this is answered as unknown, or is pure. */
	if (!has_room(e, ask->session->uid) ||
	    ask->asker->nwaiters >= e->set.client_calls_max)
		return ats_err_set(err, ATS_E_FULL, "too many calls at once");
	/* Only of a new call: one that is asked for again has moved the session on. */
	if (ask->ctx.p != NULL) {
		rc = ctx_host_take(ask->session, ask->ctx, err);
		if (rc < 0)
			return rc;
		sessions_touch(e->sessions, ask->session);
	}
	return ask_new(e, ask, keyed ? key : NULL, digest, err);
}
