/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks: hooks.c has what there is and the runs, hooks_host.c those of the configuration, which the
 * spawner starts, hooks_box.c those of a workspace, which run in its sandbox, hooks_say.c what they
 * read and what follows from their answers, hooks_call.c what becomes of calls, hooks_after.c of
 * their answers, hooks_rpc.c the method of runtimes. */
#ifndef ATS_ENGINE_HOOKS_H
#define ATS_ENGINE_HOOKS_H

#include <stdint.h>
#include <sys/queue.h>

#include "brain/engine/call.h"
#include "proto/hooks.h"

#define HOOKS_TEXT_MAX (64u << 10)	/* of what hooks have to say to an agent, together */
#define HOOKS_RESPONSE_MAX (1u << 20)	/* of a result's text that hooks read */
#define HOOK_WHY_MAX 200
#define HOOKS_LATE_MS 5000u		/* after its time limit: nobody waits for it then */

struct ats_frame;
struct ats_msg_RESULT;
struct client;
struct event;
struct hook_run;
struct store_call;

enum hook_side { HOOK_HOST, HOOK_BOX };	/* of the configuration; of the workspace */

/* How one ended. */
enum hook_end {
	HOOK_RAN,			/* with 0, and what it said counts */
	HOOK_BLOCKED,			/* with 2 */
	HOOK_FAILED,			/* with another code, or what it said does not count */
	HOOK_TIMED_OUT,
	HOOK_NOT_RUN			/* it could not be started: ours to answer for */
};
struct hook_one {			/* while it runs, and after it */
	enum hook_end end;
	unsigned index;			/* in its configuration */
	bool blocks;			/* its failure denies */
	unsigned code;			/* exit code */
	uint64_t ms;
	struct ats_slice out, err;	/* what it printed, borrowed */
	bool cut;			/* more than out */
	char why[HOOK_WHY_MAX];		/* of HOOK_FAILED, HOOK_TIMED_OUT and HOOK_NOT_RUN */
};

struct hook_verdict {			/* of all hooks of a run, in their order */
	enum ats_hook_decision decision;
	bool stops;			/* one said continue: false */
	struct ats_buf reason;		/* of the decision */
	struct ats_buf context;		/* for the agent */
	struct ats_buf message;		/* for people */
	struct ats_buf input, output;	/* JSON of the last that has one; empty: none */
	struct ats_buf report;		/* JSON objects with commas between: one for each */
};

struct hook_ask {			/* all borrowed */
	enum ats_hook_event event;
	struct session *session;
	const char *name;		/* what matchers look at; "" none */
	/* Of a tool's events: */
	struct call *call;
	const struct outcome *outcome;	/* after it has run, or NULL */
	/* Of others: the runtime's object. */
	struct ats_slice given;
};
/* The run is gone after it. */
typedef void hook_done(void *ctx, enum hook_side side, struct hook_verdict *v);

struct hooks *hooks_new(struct engine *e);	/* owned; NULL without memory */
void hooks_free(struct hooks *h);
/* Whether there are hooks of that side for an event, and this name. Of a workspace's it is only
 * known whether the event may have any. */
bool hooks_wanted(const struct engine *e, enum hook_side side, const struct sandbox *box,
    enum ats_hook_event event, const char *name);
/* Starts them; done comes later, once. NULL, and an error: they cannot be run. */
struct hook_run *hooks_run(struct engine *e, enum hook_side side, const struct hook_ask *ask,
    hook_done *done, void *ctx, struct ats_err *err);
/* Ends it without a word. NULL is fine. */
void hooks_cancel(struct hook_run *r);
/* HOOK and HOOK_ENDED of the vault. */
ATS_NODISCARD int hooks_on_conf(struct engine *e, uint64_t index, uint64_t event,
    uint64_t timeout_ms, const char *matcher, uint64_t blocks);
void hooks_on_ended(struct engine *e, uint64_t number, uint64_t code, uint64_t exit,
    const char *text);
/* The vault's socket takes messages again. False: not all that waits. */
bool hooks_flush(struct engine *e);
/* READY of a sandbox: whether its workspace may have hooks. Its link is gone. */
void hooks_box_ready(struct sandbox *box, bool may);
void hooks_box_lost(struct sandbox *box);
bool hooks_box_is_awaited(const struct sandbox *box);
/* No sandbox can be had: those that wait for it fail. */
void hooks_box_refused(struct sandbox *box, const char *why);
/* 1: the result is of a hook's call; 0: it is not. Negative: it breaks the rules. */
ATS_NODISCARD int hooks_on_result(struct sandbox *box, const struct ats_msg_RESULT *m,
    const struct ats_frame *f, struct ats_err *err);
/* "hooks" of ats/status. */
void hooks_write(struct ats_json_w *w, const struct hooks *h);

/* ---- calls (hooks_call.c) ---------------------------------------------------------------- */
/* Before a call is decided about. True: hooks run, and it goes on, or ends, by itself. */
bool hooks_before(struct call *c);
/* Before it is sent, by those of the workspace. As above; it is in no queue then. */
bool hooks_before_send(struct call *c);
/* Hooks that follow a call that is in the journal. */
enum hooks_due {
	HOOKS_DUE = 1,			/* it may have some */
	HOOKS_BOX_BEGAN = 2, HOOKS_HOST_BEGAN = 4
};
/* Before row is written: what the next engine must know for the hooks that follow c. */
void hooks_note(struct call *c, struct store_call *row);
/* What the row says of them. -ATS_E_NOMEM. */
ATS_NODISCARD int hooks_resume(struct call *c, const struct store_call *row);
/* It has ended with o: hooks may add to that. True: they answer it. */
bool hooks_after(struct call *c, const struct outcome *o);
/* Of a call in CALL_HOOKED: nobody waits for it, or its session is closed. c is gone after it. */
void hooks_call_cancel(struct call *c);
void hooks_call_done(struct call *c);	/* by call_drop */
/* How hooks name its tool. out has ATS_GATEWAY_TOOL_MAX + 8 bytes. */
const char *hooks_tool_name(const struct call *c, char *out, size_t size);

/* ---- runtimes (hooks_rpc.c) ---------------------------------------------------------------- */
void hooks_client_gone(struct client *c);
void hooks_session_closed(struct engine *e, const struct session *s);

/* ---- private to hooks*.c ------------------------------------------------------------------- */
/* Of a call: a text for the agent; its run is over; it ends with what is held, and is gone. */
void hooks_take_context(struct call *c, const char *text, size_t n);
void hooks_run_over(struct call *c);
void hooks_finish_held(struct call *c);
struct hook_conf {
	enum ats_hook_event event;
	uint64_t timeout_ms;
	char *matcher;			/* owned, or NULL */
	bool blocks;
	/* Why it failed when it last ran, with what to do; "": it did not. */
	char failure[HOOK_WHY_MAX];
};
struct hook_host;
struct hook_asked;
struct hooks {
	struct engine *e;
	struct hook_conf conf[ATS_HOOKS_MAX];
	size_t n;
	uint64_t events;		/* mask of conf */
	struct ats_map *hosts;		/* number -> struct hook_host that runs */
	struct ats_map *boxes;		/* id of a CALL_HOOK -> struct hook_run */
	uint64_t number;		/* of the last one of the configuration */
	size_t running, nruns;
	bool flushing;
	TAILQ_HEAD(, hook_host) waiting;
	TAILQ_HEAD(, hook_run) runs;
	TAILQ_HEAD(, hook_asked) asked;	/* of runtimes */
	uint64_t ran;			/* for people */
};
struct hook_run {
	TAILQ_ENTRY(hook_run) link;
	struct hooks *h;
	enum hook_side side;
	enum ats_hook_event event;
	char session[40];
	char *name;			/* owned */
	struct ats_buf input;
	hook_done *done;
	void *ctx;
	struct event *timer;
	/* HOOK_HOST */
	struct hook_host *hosts;	/* owned */
	size_t nhosts, pending;
	/* HOOK_BOX */
	struct sandbox *box;
	uint64_t id;			/* of the call, 0: the sandbox is not ready yet */
};
/* Frees r and hands on what ones[n] say, in their order. */
void hook_run_end(struct hook_run *r, struct hook_one *ones, size_t n);
/* Of a sandbox's hooks, none of which can be told of: one that stands for all. */
void hook_run_fail(struct hook_run *r, const char *why);
ATS_NODISCARD int hook_host_start(struct hook_run *r, struct ats_err *err);
void hook_host_stop(struct hook_run *r);
ATS_NODISCARD int hook_box_start(struct hook_run *r, struct ats_err *err);
void hook_box_stop(struct hook_run *r);
/* hooks_say.c: the input; -ATS_E_TOOBIG when hooks could not see all of a call. */
ATS_NODISCARD int hook_input_write(const struct hook_ask *ask, struct ats_buf *out);
void hook_verdict_init(struct hook_verdict *v);
void hook_verdict_done(struct hook_verdict *v);
/* Takes what it said. What does not count makes of it one that failed: end and why. */
void hook_verdict_add(struct hook_verdict *v, enum hook_side side, enum ats_hook_event event,
    struct hook_one *one);
/* Its end by an exit code, or a signal, that is neither 0 nor 2, as a sentence. */
void hook_say_code(char out[HOOK_WHY_MAX], bool signal, unsigned code);
const char *hook_end_name(enum hook_end end);	/* as logs have it; static */
/* A text for the agent, with a line between it and what is there. */
void hook_text_add(struct ats_buf *to, const char *text, size_t n);

#endif
