/* SPDX-License-Identifier: Apache-2.0
 *
 * Who waits for a call. A call may have several waiters (a client that lost its connection
 * asks again) or none. */
#ifndef ATS_ENGINE_CALL_WAITERS_H
#define ATS_ENGINE_CALL_WAITERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buf.h"

struct call;
struct call_ask;
struct ats_msg_EVENT_PROGRESS;
struct outcome;

enum call_form {
	CALL_FORM_MCP,
	CALL_FORM_MODERN,	/* MCP from 2026-07-28 on */
	CALL_FORM_ATS, CALL_FORM_EXEC, CALL_FORM_VALIDATE
};

struct waiter {
	TAILQ_ENTRY(waiter) of_call, of_asker;
	struct call *call;
	struct asker *asker;
	enum call_form form;
	bool progress;
	bool wants_ctx;			/* its answer tells what the session holds now */
	uint64_t progress_us;		/* when the last was sent */
	uint64_t progress_n;
	const char *token;		/* raw JSON, in id[] */
	char id[];			/* raw id of the request, NUL, token, NUL */
};
TAILQ_HEAD(waiter_list, waiter);

struct call_answer {			/* all borrowed */
	enum call_form form;
	const char *id;			/* of the request, raw */
	uint64_t call;
	const struct outcome *outcome;
	const char *notice;		/* one more text for the model, or NULL */
};
/* Who asks for calls: a client of the door, or the programs in a sandbox (relay.h). */
struct asker {
	/* What became of one request; its waiter, if it had one, is no longer counted. */
	void (*answer)(struct asker *a, const struct call_answer *answer);
	/* Only for waiters that want it, and not too often. */
	void (*progress)(struct asker *a, struct waiter *w, const char *message);
	/* It waits for a person now, by the id of that approval. NULL: does not care. */
	void (*waits)(struct asker *a, struct waiter *w, const char *approval);
	void *owner;
	struct waiter_list waiters;
	size_t nwaiters;
};

/* One more. -ATS_E_NOMEM: none. */
ATS_NODISCARD int call_waiter_add(struct call *c, const struct call_ask *ask);
/* The asker took its request back: no answer will go to it. */
void call_waiter_drop(struct waiter *w);
/* All waiters of an asker that is gone. */
void call_asker_gone(struct asker *a);
struct waiter *call_waiter_find(struct asker *a, struct ats_slice rpc_id);
/* Progress of a running call. */
void call_progress(struct call *c, const struct ats_msg_EVENT_PROGRESS *m,
    struct ats_slice newest);
/* It waits for a person: who asked for it hears that. approval: "" is not told. */
void call_waits(struct call *c, const char *approval);
/* Answers all waiters, and drops them. */
void call_tell_waiters(struct call *c, const struct outcome *o);

#endif
