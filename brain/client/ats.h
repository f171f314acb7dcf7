/* SPDX-License-Identifier: Apache-2.0
 *
 * libats: lets an agent runtime on the host run its tools in a sandbox of agent-tool-server.
 * The manual is libats(3); docs/INTEGRATION.md shows the three places in a dispatch loop.
 *
 *   ats_init();                                   once, before there are threads
 *   if (ats_servable(tool) && !ats_ctx_is_plan(ctx, tool, input, n))
 *           forward it
 *   else
 *           run the native tool, as before
 *
 * Without REMOTE_TOOLS_URL in the environment ats_servable is one branch that is never taken.
 *
 * Threads: each struct ats and each struct ats_ctx belongs to one thread at a time; different
 * ones may be used by different threads at once. After a fork the child uses none that it
 * inherited. Global state is ats_on alone, which ats_init writes and nothing else does.
 * The library never ends the process, changes no signal handler, mask or working directory,
 * raises no SIGPIPE and no SIGCHLD, prints nothing, and passes no descriptor on to a program that
 * the runtime starts.
 *
 * Memory: what a function takes is borrowed until it returns. */
#ifndef LIBATS_ATS_H
#define LIBATS_ATS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct ats;		/* one session with brain */
struct ats_ctx;		/* what the runtime knows: cwd, files it has read, background shells */

/* ---- how things end ---------------------------------------------------------------- */

/* A call. What is not ATS_DONE carries a text for the model all the same. */
enum ats_end {
	ATS_DONE = 0,		/* it ran to its end, which may be an error of the tool */
	ATS_NOT_STARTED = 1,	/* it had no effect and can be sent again */
	ATS_UNKNOWN = 2		/* it was lost while it ran: look before it is repeated */
};
/* A function that did nothing. */
enum ats_fail {
	ATS_ERR_ARG = -1,	/* an argument that cannot be; JSON that is none */
	ATS_ERR_MEMORY = -2,
	ATS_ERR_PLAN = -3,	/* a plan file: the host's alone, run the native tool */
	ATS_ERR_REFUSED = -4,	/* what brain said is not to be believed; nothing was taken */
	ATS_ERR_LIMIT = -5,	/* more than a table or buffer holds (libats(3), LIMITS) */
	ATS_ERR_OPEN = -6,	/* no brain, no session: ats_why says why */
	ATS_ERR_SYSTEM = -7	/* a system call failed: errno says how */
};

/* ---- is a call ours? ---------------------------------------------------------------- */

/* 1 when REMOTE_TOOLS_URL names where sandboxes come from, else 0. Read it, never write it. */
extern int ats_on;
/* Reads REMOTE_TOOLS_URL; returns ats_on. Call it before other threads use the library. */
int ats_init(void);
/* Whether the sandbox has a tool of that name (or another name of it); ats_on is not asked. */
int ats_serves(const char *tool);

/* The interceptor. */
static inline int
ats_servable(const char *tool)
{
	return __builtin_expect(ats_on != 0, 0) && ats_serves(tool);
}

/* ---- a session ------------------------------------------------------------------------ */

#define ATS_NO_START 1u		/* do not start a brain when none runs */
struct ats_options {
	size_t size;		/* sizeof(struct ats_options) */
	const char *url;	/* NULL: REMOTE_TOOLS_URL */
	const char *workspace;	/* NULL: the current directory */
	const char *session;	/* a name of the runtime's choice, or an id; NULL: a new one, which
				 * ats_close closes */
	const char *socket;	/* of a brain that is not the user's own; NULL: that one */
	const char *atsctl;	/* its path; NULL: where it was installed, else by PATH */
	unsigned flags;
};
/* Begins to open a session; nothing waits. o may be NULL. 0, ATS_ERR_ARG, _MEMORY, _SYSTEM. */
int ats_start(const struct ats_options *o, struct ats **ret);
/* The same, and waits until it is open. ATS_ERR_OPEN: *ret is there, for ats_why alone. */
int ats_open(const struct ats_options *o, struct ats **ret);
/* Ends it. Calls without an answer are answered first: unknown, or not started. NULL is fine. */
void ats_close(struct ats *a);
/* 0 opening, 1 open, ATS_ERR_OPEN when it could not be opened or is lost for good. */
int ats_state(const struct ats *a);
/* One line about the last failure, "" when there was none. Valid until the next call with a. */
const char *ats_why(const struct ats *a);
/* "" while it is opened. */
const char *ats_session(const struct ats *a);
/* Absolute, as brain resolved it: where paths of the session begin. "" while it is opened. */
const char *ats_workspace(const struct ats *a);

/* ---- with an event loop ---- */

/* One descriptor for the life of a: it is readable when ats_process has something to do. */
int ats_fd(const struct ats *a);
/* Does what can be done without waiting; answers are given from here alone (and from ats_close).
 * Returns ats_state. */
int ats_process(struct ats *a);

/* ---- the five host calls: 1 and 2, ctx ------------------------------------------------- */

struct ats_read {		/* a file as the runtime last saw it */
	const char *path;	/* absolute, normal */
	uint64_t size, mtime_ns;
	const char *sha256;	/* 64 lower-case hex digits; "": it was seen in part */
};
/* workspace: ats_workspace of the session, or a directory. plan_dir: the host's plan folder,
 * absolute, or NULL. */
int ats_ctx_new(const char *workspace, const char *plan_dir, struct ats_ctx **ret);
void ats_ctx_free(struct ats_ctx *c);	/* NULL is fine */
const char *ats_ctx_cwd(const struct ats_ctx *c);
/* ATS_ERR_ARG: not a normal path of the workspace, /tmp or the sandbox's HOME. */
int ats_ctx_set_cwd(struct ats_ctx *c, const char *cwd);
/* What the runtime knows of a file; 0 or ATS_ERR_ARG, _PLAN, _MEMORY. */
int ats_ctx_set_read(struct ats_ctx *c, const struct ats_read *r);
/* Fills *ret, valid until c changes; 0, or ATS_ERR_ARG when nothing is known. */
int ats_ctx_get_read(const struct ats_ctx *c, const char *path, struct ats_read *ret);
/* Ids of the background shells, NULL-terminated; valid until c changes. */
const char *const *ats_ctx_shells(const struct ats_ctx *c);

/* 1. What goes with a call: cwd and what is known of the file that input names, never a plan
 * file. input is the tool's, a JSON object. *ret is JSON (ats_free). ATS_ERR_PLAN: the input names
 * a plan file. */
int ats_ctx_in(const struct ats_ctx *c, const char *tool, const char *input, size_t n, char **ret);
/* 2. Takes what a call has changed: all of delta or nothing. ATS_ERR_REFUSED: a cwd out of the
 * roots, a file that input did not name, a plan file, or not what a delta looks like. */
int ats_ctx_apply(struct ats_ctx *c, const char *tool, const char *input, size_t n,
    const char *delta, size_t delta_len);
/* Whether input names a file of the plan folder, under whatever name: 1 or 0. */
int ats_ctx_is_plan(const struct ats_ctx *c, const char *tool, const char *input, size_t n);
/* Opens a plan file for the native tool: name is one plain file name beneath the plan folder, of
 * a regular file or of none yet. flags as of open(2). A descriptor (close-on-exec), ATS_ERR_PLAN
 * for every other name, or ATS_ERR_SYSTEM. */
int ats_plan_open(const struct ats_ctx *c, const char *name, size_t n, int flags, unsigned mode);

/* ---- 3, 4 and 5, forwarding ---------------------------------------------------------- */

struct ats_request {
	size_t size;		/* sizeof(struct ats_request) */
	const char *name;	/* of the tool; of a hook: its event */
	const char *input;	/* JSON object: the tool's input; what the hook is to read */
	size_t input_len;
	const char *ctx;	/* of ats_ctx_in, or NULL; not of a hook */
	const char *call_id;	/* the runtime's own, or NULL: asked again it is the same call; a
				 * hook is another one each time */
	uint64_t timeout_ms;	/* 0: the tool's own; not of a hook */
};
struct ats_answer {
	enum ats_end end;
	int is_error;		/* the model should see it as an error */
	int valid;		/* of a validate: the verdict */
	const char *code;	/* "", or a word of docs/gen/errors.md */
	const char *text;	/* for the model; UTF-8, NUL-terminated; images left out */
	size_t text_len;
	const char *result;	/* brain's whole answer, JSON; "" when there is none */
	size_t result_len;	/* no NUL stands after it, nor after ctx_delta */
	const char *ctx_delta;	/* JSON for ats_ctx_apply, or NULL */
	size_t ctx_delta_len;
};
/* Called once for each call that was sent, from ats_process or ats_close of the same session. The
 * answer is valid until it returns. It may send, and cancel; it must not close. */
typedef void ats_done_fn(void *arg, const struct ats_answer *answer);

/* 3. A tool call; 4. the tool's checks alone (validateInput); 5. a command hook, which runs in the
 * sandbox. They do not wait; done may be NULL. *ret_call (or NULL) is for ats_cancel. Negative:
 * nothing was sent and done is not called. */
int ats_send_tool(struct ats *a, const struct ats_request *q, ats_done_fn *done, void *arg,
    uint64_t *ret_call);
int ats_send_validate(struct ats *a, const struct ats_request *q, ats_done_fn *done, void *arg,
    uint64_t *ret_call);
int ats_send_hook(struct ats *a, const struct ats_request *q, ats_done_fn *done, void *arg,
    uint64_t *ret_call);
/* Asks for its end; its answer still comes. One that is answered already is no error. */
int ats_cancel(struct ats *a, uint64_t call);

/* The same three, and wait for the answer, serving what else was sent. Return enum ats_end with
 * *ret to be freed, or enum ats_fail without. */
int ats_tool(struct ats *a, const struct ats_request *q, struct ats_answer **ret);
int ats_validate(struct ats *a, const struct ats_request *q, struct ats_answer **ret);
int ats_hook(struct ats *a, const struct ats_request *q, struct ats_answer **ret);
void ats_answer_free(struct ats_answer *answer);	/* NULL is fine */
void ats_free(void *p);		/* what ats_ctx_in gave */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
