/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a call: asked (call_ask.h), queued, sent, answered once. All answers leave
 * through call_finish. */
#ifndef ATS_ENGINE_CALL_H
#define ATS_ENGINE_CALL_H

#include <stdint.h>
#include <sys/queue.h>

#include "brain/engine/call_waiters.h"
#include "brain/engine/outcome.h"
#include "proto/tools.h"

#define CALL_PURE_BIT (UINT64_C(1) << 63)	/* ids of calls that are not journaled */
#define CALL_NEWEST_MAX (24u << 10)	/* 8 KiB in which each byte had to be replaced */

struct asked;
struct engine;
struct exec;
struct gateway_tool;
struct hook_run;
struct sandbox;
struct session;

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

/* call.c: a call in the tables; key is the full one or NULL. NULL: no memory. */
struct call *call_new(struct engine *e, uint64_t id, const char *key);
/* Another id, of those that are not journaled. -ATS_E_NOMEM: the old one. */
ATS_NODISCARD int call_renumber(struct call *c);
/* Nobody can join it any more. */
void call_forget_key(struct call *c);
/* Frees a call without an answer; it must have no waiters. */
void call_drop(struct call *c);
/* What a retry may do: the tool's class, but a validate is pure and an exec is never. */
enum ats_tool_class call_class(const struct call *c);
bool call_is_exec(const struct call *c);
/* The part of the full key that is the client's. */
const char *call_client_key(const struct call *c);
const char *call_tool_name(const struct call *c);
const char *call_session_id(const struct call *c);	/* "" when it was closed */
/* Sets the timer to the nearest of the call's limits. */
void call_timer_set(struct call *c);
/* Cancels for everybody: a queued call ends at once, a running one is asked to. */
void call_cancel(struct call *c);
/* The last waiter has left. c may be gone after it. */
void call_orphaned(struct call *c);

/* call_end.c: answers all waiters and ends the call; with abandoned set before, it lives on without
 * waiters. Not started is said of a call of which no attempt may have run, else it is unknown,
 * with what was to be said as the reason. c may be gone after it. */
void call_finish(struct call *c, const struct outcome *o);
/* The same with a code and a text of ours; is_error. */
void call_fail(struct call *c, enum outcome_kind kind, int code, const char *fmt, ...)
    ATS_PRINTF(4, 5);
/* Ends a pure call that was cancelled or timed out, and of which nothing came. */
void call_fail_stopped(struct call *c);
/* Ends it as unknown, with a text that says what is known. */
void call_finish_unknown(struct call *c, int code, const char *why);
/* Writes the answer that the journal had no room for. c may be gone after it. */
void call_commit_again(struct call *c);
/* Whether some attempt may have had an effect: one that has none of a call that only reads. */
bool call_may_have_run(const struct call *c);
/* Who had it says that it did not run there. */
void call_did_not_run(struct call *c);

#endif
