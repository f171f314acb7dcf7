/* SPDX-License-Identifier: Apache-2.0
 *
 * One command under a shell monitor: gets a worker, gives it the job, reads its pipes in
 * bounded turns, ends it (TERM, then KILL), and reports the end once. Used by Bash,
 * background commands and exec, which differ in what they do with the bytes. */
#ifndef ATS_HANDS_FRONT_SHELL_H
#define ATS_HANDS_FRONT_SHELL_H

#include "hands/front/outcome.h"
#include "hands/front/worker_io.h"

struct front;
struct records;
struct shell;

#define SHELL_TURN_BYTES (256u << 10) /* read from one pipe in one turn of the loop */
#define SHELL_GRACE_US 2000000u	      /* from TERM to KILL, and from KILL to giving up */
#define SHELL_LAZY_US 1000u /* short commands end before their pipes are watched */

struct shell_end {
	const struct job_exit *exit; /* NULL: it never started; err says why */
	enum outcome_ended why;
	bool lost; /* the monitor died: status is the monitor's, or 0 */
	/* All that the call had started is gone, and somebody can write to its pipe still:
	 * it was given away over a socket. */
	bool pipe_held;
	struct ats_err err;
};
struct shell_ops {
	void (*started)(void *ctx); /* the worker has the job; may be NULL */
	/* Bytes of stdout (0) or stderr (1). NULL: the owner reads the pipes itself. */
	void (*output)(void *ctx, unsigned which, const char *p, size_t n);
	/* Once. Everything that was printed has been given out before, unless the owner
	 * reads the pipes itself. The shell may be freed in it. */
	void (*ended)(void *ctx, const struct shell_end *end);
};
struct shell_job { /* all borrowed */
	uint64_t call;
	const char *cwd;
	const char *session;	/* or NULL: it is no command of one */
	const char *const *env; /* added to the environment */
	size_t nenv;
	struct ats_slice extra; /* the command, or NUL-terminated arguments */
	uint32_t flags;		/* JOB_* */
	uint16_t rows, cols;
	bool lazy; /* watch the pipes only after SHELL_LAZY_US */
	int input; /* JOB_INPUT: what becomes stdin; must stay open until it started */
};

/* Returns owned, or NULL (no memory). Callbacks come later, except started. */
struct shell *shell_new(
    struct front *f, const struct shell_job *job, const struct shell_ops *ops, void *ctx);
/* Ends what runs, without a callback. NULL is fine. */
void shell_free(struct shell *s);
/* TERM, then KILL; ended follows. The first reason counts. */
void shell_stop(struct shell *s, enum outcome_ended why);
/* MONITOR_SIGNAL and MONITOR_RESIZE, if it runs. */
void shell_tell(struct shell *s, uint32_t what, uint32_t arg);
bool shell_is_started(const struct shell *s);
/* How long it waited for a worker to be made, microseconds. NULL (it began at once): 0. */
uint64_t shell_waited_us(const struct shell *s);
/* The pipes (borrowed) of an owner that reads them itself; -1 without one. which: 0
 * stdout, 1 stderr, 2 stdin (for writing). */
int shell_pipe(const struct shell *s, unsigned which);
/* The same, but it is the caller's from now on. */
int shell_take_pipe(struct shell *s, unsigned which);

/* ---- shell_move.c */
/* Whether another front could take it over as it is; one that has ended is but its pipes. */
bool shell_can_move(const struct shell *s);
ATS_NODISCARD int shell_save(const struct shell *s, struct records *r);
/* The next record, for a part that will be told as by shell_new; owned in *ret. */
ATS_NODISCARD int shell_load(struct front *f, const struct shell_ops *ops, void *ctx,
    struct records *r, struct shell **ret);
bool shell_runs(const struct shell *s);

#endif
