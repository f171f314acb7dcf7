/* SPDX-License-Identifier: Apache-2.0
 *
 * What shell.c, shell_pipe.c and shell_move.c share; nobody else includes this. */
#ifndef ATS_HANDS_FRONT_SHELL_PRIVATE_H
#define ATS_HANDS_FRONT_SHELL_PRIVATE_H

#include "hands/front/pool.h"
#include "hands/front/shell.h"

enum shell_state { SHELL_WAITING, SHELL_RUNNING, SHELL_DRAINING, SHELL_ENDED };
struct shell {
	struct front *f;
	const struct shell_ops *ops;
	void *ctx;
	enum shell_state state;
	bool lazy;
	struct job_head head;
	int input;
	struct ats_buf strings, extra; /* the job, while it waits for a worker */
	struct worker *w;
	struct pool_waiter waiter;
	int pipe[3];
	int spent[2]; /* at their end: closed when nobody waits for that */
	struct event ev[2];
	bool watched[2];
	bool *freed; /* set by shell_free for a frame on the stack */
	struct event lazy_ev, stop_ev, step_ev;
	enum outcome_ended why;
	unsigned stop_step; /* 0 not asked, 1 TERM sent, 2 KILL sent */
	size_t last_bytes;
	bool told; /* by the monitor, that all of it ended */
	struct job_exit exit;
	struct shell_end end;
};

extern const struct worker_ops shell_worker_ops;

/* One that has no worker and waits for none. NULL: no memory. */
struct shell *shell_alloc(struct front *f, const struct shell_ops *ops, void *ctx);
void shell_arm(struct event *ev, uint64_t us);

/* ---- shell_pipe.c; which: as in shell_pipe */
/* Its owner is given what its pipes give from here on. */
void shell_watch(struct shell *s);
void shell_unwatch(struct shell *s, unsigned which);
void shell_close_pipe(struct shell *s, unsigned which);
/* Reads at most one turn's bytes. 1 there may be more, 0 empty now, -1 ended (closed), or
 * -2: the shell was freed meanwhile. */
int shell_drain(struct shell *s, unsigned which);
/* Whether there is a pipe that is empty and not at its end. */
bool shell_is_held(const struct shell *s);

#endif
