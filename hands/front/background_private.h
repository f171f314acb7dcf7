/* SPDX-License-Identifier: Apache-2.0
 *
 * What background.c and background_move.c share; nobody else includes this. */
#ifndef ATS_HANDS_FRONT_BACKGROUND_PRIVATE_H
#define ATS_HANDS_FRONT_BACKGROUND_PRIVATE_H

#include "hands/front/background.h"
#include "hands/front/background_text.h"

struct job {
	TAILQ_ENTRY(job) entry;
	struct background *b;
	struct job_view v; /* what texts are made of */
	char session[33];
	struct shell *sh;
	struct spill *spill;
	struct call *starting; /* the Bash call that is not answered yet */
	struct call *killing;  /* the KillShell call that waits for the end */
	LIST_HEAD(, background_waiter) waiters;
	struct event life, step;
	uint64_t ends_us; /* when its life is over, monotonic */
	bool end_was_read;
};
TAILQ_HEAD(job_list, job);
struct background {
	struct front *f;
	struct job_list jobs; /* oldest first */
	unsigned njobs, nrunning, next;
};

extern const struct shell_ops background_shell_ops;

/* One that runs, at the end of the list, without id, shell and spill. NULL: no memory. */
struct job *background_job(struct background *b);

#endif
