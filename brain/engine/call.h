/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a call: asked, queued, sent, answered once. A call may have several waiters
 * (a client that lost its connection asks again) or none. All answers leave through
 * call_finish. */
#ifndef ATS_ENGINE_CALL_H
#define ATS_ENGINE_CALL_H

#include <stdint.h>
#include <sys/queue.h>

#include "brain/engine/outcome.h"
#include "proto/tools.h"

#define CALL_PURE_BIT (UINT64_C(1) << 63)	/* ids of calls that are not journaled */
#define CALL_KEY_MAX 320
#define CALL_NEWEST_MAX (24u << 10)	/* 8 KiB in which each byte had to be replaced */

struct asked;
struct engine;
struct exec;
struct gateway_tool;
struct hook_run;
struct ats_msg_EVENT_PROGRESS;
struct sandbox;
struct session;

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

enum call_state {
	CALL_QUEUED,	/* waits for its sandbox */
	CALL_SENT,	/* hands has it */
	CALL_RESUMED,	/* of an engine before this one; what became of it shows at READY */
	CALL_ASKED,	/* the vault decides about it, or its gateway runs it (gateway.h) */
	CALL_HOOKED,	/* hooks run before it, or after it (hooks.h) */
	CALL_ENDING,	/* an exec whose result is here and whose output is not yet taken */
};

struct call {
	TAILQ_ENTRY(call) link;		/* queue of its sandbox, or the resumed list */
	uint64_t id;
	struct engine *e;
	struct session *session;	/* NULL when it was closed meanwhile */
	struct sandbox *box;
	/* One of them, or neither: exec. */
	const struct ats_tool_row *tool;
	struct gateway_tool *gateway;	/* held */
	struct asked *asked;		/* owned: the vault was asked about it, or NULL */
	struct gateway_files *files;	/* owned: that go with it, until the vault has them */
	struct exec *exec;		/* owned */
	struct hook_run *hooks;		/* owned: of CALL_HOOKED */
	struct outcome *held;		/* owned: its end, while hooks run after it, or NULL */
	struct ats_buf *hook_context;	/* owned: what hooks have to say to the agent, or NULL */
	char *key;			/* owned: session ":" key of the client, or NULL */
	char *input;			/* owned, arguments; NULL for CALL_RESUMED */
	size_t input_len;
	char digest[65];
	char *path;			/* owned: the file it names, normalised, or NULL */
	char *cwd;			/* owned: what path was relative to, or NULL */
	uint64_t read_nr;		/* of what was known of path when it was sent */
	struct turn *turn;		/* of its file, had or waited for, or NULL */
	char *last_line;		/* owned: newest progress, or NULL */
	struct ats_buf newest;		/* of its output; empty: none came */
	uint64_t printed;		/* bytes of output until then */
	/* CALL_RESUMED: where it was sent to, and whether that is known to be gone */
	char resumed_boot[33], resumed_box[33], resumed_session[33];
	bool lost;
	struct waiter_list waiters;
	enum call_state state;
	bool validate;			/* only the tool's checks */
	bool asks;			/* a check: a person would be asked before it runs */
	bool permitted;			/* a person has said that the sandbox may run it */
	bool unsent;			/* of an engine before this one, which had only asked,
					 * at this attempt */
	char asked_sha[65];		/* of what a person was asked about it; "" was not */
	bool agreed;			/* and has said yes to */
	unsigned hooks_due;		/* enum hooks_due, as it is in the journal */
	char *ran;			/* owned: what an engine before this one sent, or NULL */
	size_t ran_len;
	bool hooked_host, hooked_box;	/* hooks of the configuration, of the workspace have run */
	bool hook_asks;			/* one wants a person to decide */
	bool hook_allows;		/* those of the configuration do not: no rule need ask */
	bool in_queue;
	bool looked_at;			/* path and timeout_ms are those of the input */
	bool waits_turn;		/* another call on its file comes first */
	bool journaled;			/* has a row that is open */
	bool cancelled;			/* a cancel was sent, or wished for */
	bool timed_out;
	bool finishing;			/* its waiters are being answered, or were */
	bool abandoned;			/* answered; kept until its result or its sandbox's end */
	bool has_result;		/* hands gave one, and keeps it until it is acknowledged */
	bool uncommitted;		/* answered, but the journal was full: tried again */
	unsigned attempt;
	unsigned given;			/* how often it went out and may have run, by all that is
					 * known: whoever says that it did not takes one back */
	uint64_t timeout_ms;
	uint64_t created_us, sent_us, deadline_us, orphan_us;
	/* of its time (proto/timings.def); asked_us: since when the vault decides, 0 not now */
	uint64_t result_us, asked_us, queued_us, policy_us, approval_us, journal_us;
	uint64_t hooked_us, hooks_us;	/* since when hooks run, 0 not now; how long they did */
	struct event *timer;
};
TAILQ_HEAD(call_list, call);

struct calls *calls_new(struct engine *e);
void calls_free(struct calls *t);
/* The engine ends. Who cannot ask the next one, since a call has his pipes, hears of it here if
 * it was given to no sandbox. Answers are in the clients' buffers (door_flush). */
void calls_stop(struct calls *t);
size_t calls_count(const struct calls *t);
struct call *calls_each(const struct calls *t, size_t *pos);
struct call *calls_find(const struct calls *t, uint64_t id);
/* Whether this engine, or one before it, has given that id to a call. */
bool calls_id_given(const struct calls *t, uint64_t id);

struct call_ask {			/* all borrowed */
	struct session *session;
	const struct ats_tool_row *tool;	/* with neither: exec */
	struct gateway_tool *gateway;
	struct ats_slice input;		/* scanned JSON object */
	const char *key;		/* idempotency key of the client, or NULL */
	uint64_t timeout_ms;		/* 0: the tool's own */
	struct asker *asker;
	enum call_form form;		/* CALL_FORM_VALIDATE: only the tool's checks */
	struct ats_slice rpc_id, progress_token;	/* raw JSON; token may be empty */
	struct exec *exec;		/* taken on success */
	struct ats_slice ctx;		/* scanned: a runtime's (ctx_host.h), or p == NULL */
};
/* Takes a request: finds the call of the same key, its answer in the journal, or makes a
 * new one. 0: the waiter is answered now or later. Negative: nothing was taken, the caller
 * answers (-ATS_E_ID_REUSED, -ATS_E_FULL, -ATS_E_NOMEM, -ATS_E_NOSPC). */
ATS_NODISCARD int call_ask(struct engine *e, const struct call_ask *ask, struct ats_err *err);
/* Whether a call of this key of a client lives, or has an answer that is kept. */
bool call_is_known(struct engine *e, const struct session *s, const char *key);
/* The same for a tool of a gateway that is called name and is not there (now): 1 when the call of
 * ask->key is known, and is answered now or later. 0: it is not. Negative: as call_ask. */
ATS_NODISCARD int call_ask_known(struct engine *e, struct call_ask *ask, const char *name,
    struct ats_err *err);
/* What a retry may do: the tool's class, but a validate is pure and an exec is never. */
enum ats_tool_class call_class(const struct call *c);
/* Ends a pure call that was cancelled or timed out, and of which nothing came. */
void call_fail_stopped(struct call *c);
/* Whether some attempt may have had an effect: one that has none of a call that only reads. */
bool call_may_have_run(const struct call *c);
/* Who had it says that it did not run there. */
void call_did_not_run(struct call *c);
/* Answers all waiters and ends the call; with abandoned set before, it lives on without
 * waiters. Not started is said of a call of which no attempt may have run, else it is unknown,
 * with what was to be said as the reason. c may be gone after it. */
void call_finish(struct call *c, const struct outcome *o);
/* The same with a code and a text of ours; is_error. */
void call_fail(struct call *c, enum outcome_kind kind, int code, const char *fmt, ...)
    ATS_PRINTF(4, 5);
/* Cancels for everybody: a queued call ends at once, a running one is asked to. */
void call_cancel(struct call *c);
/* The asker took its request back: no answer will go to it. */
void call_waiter_drop(struct waiter *w);
/* All waiters of an asker that is gone. */
void call_asker_gone(struct asker *a);
struct waiter *call_waiter_find(struct asker *a, struct ats_slice rpc_id);
/* By the client's own id ("id:..." is tried first, then the rest). NULL if not alive. */
struct call *call_find_key(const struct calls *t, const struct session *s, const char *call_id);
/* Progress of a running call. */
void call_progress(struct call *c, const struct ats_msg_EVENT_PROGRESS *m,
    struct ats_slice newest);
/* It waits for a person: who asked for it hears that. approval: "" is not told. */
void call_waits(struct call *c, const char *approval);
/* Sets the timer to the nearest of the call's limits. */
void call_timer_set(struct call *c);
/* Frees a call without an answer; it must have no waiters. */
void call_drop(struct call *c);
/* A session is closed: its calls are cancelled and forget it. */
void calls_session_closed(struct calls *t, struct session *s);
/* Loads what the journal has open, after start. */
ATS_NODISCARD int calls_resume(struct calls *t, struct ats_err *err);
/* The vault has said which sandboxes are alive: calls of the others are lost. */
void calls_resume_settle(struct calls *t);
/* The next resumed call of this sandbox after this one (NULL: the first). */
struct call *calls_resumed_next(struct calls *t, const struct sandbox *box,
    const struct call *after);
/* The sandbox it was sent to is gone: a call that must not run twice is unknown; one that
 * can be checked waits to be asked again, with its input. c may be gone after it. */
void call_resumed_lost(struct call *c);
/* It had only been asked about: it goes on if somebody asked again, else it ends. */
void call_resumed_asked(struct call *c);
/* It was never received: it runs if somebody asked again, else it is forgotten. */
void call_resumed_unsent(struct call *c);
/* Ends it as unknown, with a text that says what is known. */
void call_finish_unknown(struct call *c, int code, const char *why);

/* ---- private to call*.c -------------------------------------------------------------- */
struct cache;
struct calls {
	struct engine *e;
	struct ats_map *by_id, *by_key;
	struct ats_map *turns;		/* of turns.c */
	bool closing;			/* nothing is sent any more */
	struct call_list resumed;
	struct cache *cache;
	uint64_t next_pure;
	size_t input_bytes;		/* of all calls */
};
/* A call in the tables; key is the full one or NULL. */
struct call *call_new(struct engine *e, uint64_t id, const char *key);
/* Another id, of those that are not journaled. -ATS_E_NOMEM: the old one. */
ATS_NODISCARD int call_renumber(struct call *c);
bool call_is_exec(const struct call *c);
ATS_NODISCARD int call_waiter_add(struct call *c, const struct call_ask *ask);
/* The last waiter has left. c may be gone after it. */
void call_orphaned(struct call *c);
/* Answers all waiters, and drops them. */
void call_tell_waiters(struct call *c, const struct outcome *o);
/* The part of the full key that is the client's. */
const char *call_client_key(const struct call *c);
const char *call_tool_name(const struct call *c);
const char *call_session_id(const struct call *c);	/* "" when it was closed */

#endif
