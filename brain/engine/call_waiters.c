/* SPDX-License-Identifier: Apache-2.0
 *
 * Who waits for a call: added, found, told, gone. Runs in the engine; ids and tokens are
 * those of a client, or of a sandbox. */
#include "brain/engine/call_waiters.h"

#include <stdlib.h>
#include <string.h>

#include "brain/engine/call.h"
#include "brain/engine/call_ask.h"
#include "brain/engine/ctx_host.h"
#include "brain/engine/gateway.h"
#include "brain/engine/sessions.h"
#include "common/clock.h"
#include "common/json.h"
#include "proto/msg.h"

#define PROGRESS_US 200000

int
call_waiter_add(struct call *c, const struct call_ask *ask)
{
	size_t n = ask->rpc_id.n, tn = ask->progress_token.n;
	struct waiter *w = calloc(1, sizeof(*w) + n + tn + 2);

	if (w == NULL)
		return -ATS_E_NOMEM;
	memcpy(w->id, ask->rpc_id.p, n);
	w->token = w->id + n + 1;
	if (tn > 0)
		memcpy(w->id + n + 1, ask->progress_token.p, tn);
	w->progress = tn > 0;
	w->call = c;
	w->asker = ask->asker;
	w->form = ask->form;
	w->wants_ctx = ask->ctx.p != NULL;
	TAILQ_INSERT_TAIL(&c->waiters, w, of_call);
	TAILQ_INSERT_TAIL(&ask->asker->waiters, w, of_asker);
	ask->asker->nwaiters++;
	if (c->asked != NULL && c->asked->state == ASKED_WAITS && c->asked->approval[0] != '\0' &&
	    w->asker->waits != NULL)
		w->asker->waits(w->asker, w, c->asked->approval);
	return 0;
}

void
call_waits(struct call *c, const char *approval)
{
	struct waiter *w, *next;

	for (w = approval[0] == '\0' ? NULL : TAILQ_FIRST(&c->waiters); w != NULL; w = next) {
		next = TAILQ_NEXT(w, of_call);
		if (w->asker->waits != NULL)
			w->asker->waits(w->asker, w, approval);
	}
}

static void
unlink_waiter(struct waiter *w)
{
	TAILQ_REMOVE(&w->call->waiters, w, of_call);
	TAILQ_REMOVE(&w->asker->waiters, w, of_asker);
	w->asker->nwaiters--;
}

void
call_waiter_drop(struct waiter *w)
{
	unlink_waiter(w);
	free(w);
}

struct waiter *
call_waiter_find(struct asker *a, struct ats_slice rpc_id)
{
	struct waiter *w;

	TAILQ_FOREACH(w, &a->waiters, of_asker)
		if (strlen(w->id) == rpc_id.n && memcmp(w->id, rpc_id.p, rpc_id.n) == 0)
			return w;
	return NULL;
}

void
call_asker_gone(struct asker *a)
{
	struct waiter *w;
	struct call *c;

	while ((w = TAILQ_FIRST(&a->waiters)) != NULL) {
		c = w->call;
		call_waiter_drop(w);
		if (TAILQ_EMPTY(&c->waiters))
			call_orphaned(c);
	}
}

/* Without memory the answer goes without it. */
static void
write_ctx(const struct call *c, struct ats_buf *out)
{
	if (out->len == 0 && c->session != NULL && c->tool != NULL && !c->validate)
		(void)!ctx_host_write(c->session, c->tool, c->path == NULL ? "" : c->path, out);
}

void
call_tell_waiters(struct call *c, const struct outcome *o)
{
	struct outcome with = *o;
	struct call_answer a = { .call = c->id, .outcome = &with };
	struct ats_buf ctx ATS_CLEANUP_BUF = { 0 };
	char *notice = NULL;
	struct waiter *w;

	ats_buf_init(&ctx, CTX_HOST_MAX);
	if (c->session != NULL && !TAILQ_EMPTY(&c->waiters) && c->exec == NULL &&
	    !c->validate && c->gateway == NULL) {
		notice = c->session->notice;
		c->session->notice = NULL;
	}
	if (c->asks)
		notice = strdup("A person is asked before this runs: a rule says so.");
	/* A client that is dropped meanwhile takes its own waiters away, this one included
	 * only after it was unlinked here. */
	while ((w = TAILQ_FIRST(&c->waiters)) != NULL) {
		unlink_waiter(w);
		a.form = w->form;
		a.id = w->id;
		a.notice = notice;
		with.ctx_delta = (struct ats_slice){ NULL, 0 };
		if (w->wants_ctx)
			write_ctx(c, &ctx);
		if (w->wants_ctx && ctx.len > 0)
			with.ctx_delta = (struct ats_slice){ ctx.data, ctx.len };
		w->asker->answer(w->asker, &a);
		free(w);
	}
	free(notice);
}

void
call_progress(struct call *c, const struct ats_msg_EVENT_PROGRESS *m, struct ats_slice newest)
{
	uint64_t now = ats_clock_us();
	struct waiter *w;

	free(c->last_line);
	c->last_line = strdup(m->message);
	if (newest.n > 0) {
		ats_buf_reset(&c->newest);
		c->printed = m->done;
		if (ats_utf8_repair(&c->newest, newest.p, newest.n) < 0)
			ats_buf_reset(&c->newest);
	}
	TAILQ_FOREACH(w, &c->waiters, of_call) {
		if (!w->progress || now - w->progress_us < PROGRESS_US)
			continue;
		w->asker->progress(w->asker, w, m->message);
	}
}
