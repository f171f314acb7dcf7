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
/* Each answers the call, now or later. */
void background_start(struct call *c, const struct bash_input *in);
void background_stop(struct call *c, const char *id); /* when it has ended */
void background_tell(struct call *c, struct job *j);  /* status and what is new */
/* The same, through the filter of the call's input (fr), which a worker compiles. */
void background_filter(struct call *c, struct job *j, const struct ats_frame *fr);
/* The same beforehand, for a validate: the status, or why it would fail. */
void background_check_stop(struct call *c, const char *id);
void background_check_tell(struct call *c, const char *id);
/* Whether one more may run; false: the call was told so. */
bool background_has_room(struct call *c);
/* The command of the call's session, or NULL after the call was told that there is none.
 */
struct job *background_find(struct call *c, const char *id);
bool background_is_running(const struct job *j);
/* Is told once, and is out of the list then: j is the command that has ended, or NULL when it
 * could not be started. */
struct background_waiter {
	LIST_ENTRY(background_waiter) entry;
	struct job *j; /* that it waits for, NULL: for none */
	void (*ended)(struct background_waiter *w, struct job *j);
};
void background_wait(struct job *j, struct background_waiter *w);
void background_wait_end(struct background_waiter *w);
/* Appends [{"id":S,"session":S}] of those that run. */
ATS_NODISCARD int background_list(const struct background *b, struct ats_buf *out);
size_t background_running(const struct background *b);

#endif
