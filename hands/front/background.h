/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands in the background: started by Bash with run_in_background, read by BashOutput
 * and TaskOutput, ended by KillShell and TaskStop. They belong to a session, outlive links,
 * and end with the sandbox. */
#ifndef ATS_HANDS_FRONT_BACKGROUND_H
#define ATS_HANDS_FRONT_BACKGROUND_H

#include "hands/front/bash.h"

#include <sys/queue.h>

struct background;
struct job;

/* With the ended ones; the oldest read one goes first. More than may run: see background_jobs
 * in proto/limits.def. */
#define BACKGROUND_KEPT 64u
#define BACKGROUND_FILTER_MAX (4u << 20) /* new output that a filter is given */

struct background *background_new(struct front *f); /* returns owned or NULL */
void background_free(struct background *b);	    /* ends them all */
/* Answers the call, now or later. */
void background_start(struct call *c, const struct bash_input *in);
/* Whether one more may run; false: the call was told so. */
bool background_has_room(struct call *c);
/* The one of that session (borrowed), or NULL. */
struct job *background_of(struct background *b, const char *id, const char *session);
/* Appends [{"id":S,"session":S}] of those that run. */
ATS_NODISCARD int background_list(const struct background *b, struct ats_buf *out);
size_t background_running(const struct background *b);

/* ---- background_ask.c: for the tools */
/* The command of the call's session (borrowed), or NULL after the call was told that there is
 * none. */
struct job *background_find(struct call *c, const char *id);
bool background_is_running(const struct job *j);
/* Each answers the call, now or later. */
void background_stop(struct call *c, const char *id); /* when it has ended */
void background_tell(struct call *c, struct job *j);  /* status and what is new */
/* The same, through the filter of the call's input (fr), which a worker compiles. */
void background_filter(struct call *c, struct job *j, const struct ats_frame *fr);
/* The same beforehand, for a validate: the status, or why it would fail. */
void background_check_stop(struct call *c, const char *id);
void background_check_tell(struct call *c, const char *id);
/* Is told once, and is out of the list then: j is the command that has ended, or NULL when it
 * could not be started. */
struct background_waiter {
	LIST_ENTRY(background_waiter) entry;
	struct job *j; /* that it waits for, NULL: for none */
	void (*ended)(struct background_waiter *w, struct job *j);
};
void background_wait(struct job *j, struct background_waiter *w);
void background_wait_end(struct background_waiter *w);

/* ---- task_output.c: a TaskOutput that waits */
/* The command that this call waits for (borrowed), or NULL. */
const struct job *task_output_job(const struct call *c);
/* It waits again. False: no memory. */
ATS_NODISCARD bool task_output_load(struct call *c, struct job *j);

/* ---- background_move.c */
struct records;
/* Whether another front could take all of them over as they are. */
bool background_can_move(const struct background *b);
/* All of them, as records. *ret_n: how many. */
ATS_NODISCARD int background_save(const struct background *b, struct records *r, uint64_t *ret_n);
/* The number of the next id. */
uint64_t background_next(const struct background *b);
void background_set_next(struct background *b, uint64_t next);
/* One, whose JOB was read into rec. */
union record_any;
ATS_NODISCARD int background_load(
    struct background *b, struct records *r, union record_any *rec);
const char *background_id(const struct job *j);

#endif
