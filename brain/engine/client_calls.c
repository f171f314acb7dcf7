/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of the door as one who asks for calls: answers and progress become lines. Runs in
 * the engine. */
#include <string.h>

#include "brain/engine/answer.h"
#include "brain/engine/client.h"
#include "brain/engine/engine.h"
#include "common/clock.h"

#define PROGRESS_BACKLOG (1u << 20)	/* of unread answers: progress is left out */

static void
answer(struct asker *a, const struct call_answer *an)
{
	struct client *cl = a->owner;
	size_t mark = cl->out.len;

	if (cl->dead)
		return;
	door_lend(cl->e->door, &cl->out);
	if (answer_write(&cl->out, an->form, an->id, an->call, an->outcome, an->notice) < 0) {
		client_drop(cl, "no room for an answer");
		return;
	}
	batch_answered(cl, (struct ats_slice){ an->id, strlen(an->id) }, mark);
	if (a->nwaiters == 0)	/* no other answer can go with it: it need not wait */
		client_write(cl);
	else
		client_flush(cl);
}

/* A notification to the client; its params follow, then notify_end. */
static void
notify_begin(struct client *cl, struct ats_json_w *j, const char *method)
{
	ats_json_w_init(j, &cl->out);
	ats_json_w_object(j, NULL);
	ats_json_w_str(j, "jsonrpc", "2.0");
	ats_json_w_str(j, "method", method);
	ats_json_w_object(j, "params");
}

/* Without memory there is none. */
static void
notify_end(struct client *cl, struct ats_json_w *j)
{
	ats_json_w_end(j);
	ats_json_w_end(j);
	if (ats_json_w_line(j) == 0)
		client_flush(cl);
}

static void
progress(struct asker *a, struct waiter *w, const char *message)
{
	struct client *cl = a->owner;
	struct ats_json_w j;

	if (cl->dead || cl->out.len > PROGRESS_BACKLOG)
		return;
	w->progress_us = ats_clock_us();
	notify_begin(cl, &j, "notifications/progress");
	ats_json_w_raw(&j, "progressToken", w->token, strlen(w->token));
	ats_json_w_u64(&j, "progress", ++w->progress_n);
	/* The oldest revision has no message. */
	if (w->form == CALL_FORM_MODERN || cl->revision == NULL ||
	    strcmp(cl->revision, "2024-11-05") != 0)
		ats_json_w_str(&j, "message", message);
	notify_end(cl, &j);
}

static void
waits(struct asker *a, struct waiter *w, const char *approval)
{
	struct client *cl = a->owner;
	struct ats_json_w j;

	if (cl->dead || !cl->watches ||
	    (w->form != CALL_FORM_MCP && w->form != CALL_FORM_MODERN))
		return;
	notify_begin(cl, &j, "ats/call.waits");
	ats_json_w_raw(&j, "requestId", w->id, strlen(w->id));
	ats_json_w_str(&j, "approval", approval);
	notify_end(cl, &j);	/* without it atsctl approve is left to the person */
}

void
client_asker_init(struct client *c)
{
	c->asker.answer = answer;
	c->asker.progress = progress;
	c->asker.waits = waits;
	c->asker.owner = c;
	TAILQ_INIT(&c->asker.waiters);
}
