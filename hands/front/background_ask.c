/* SPDX-License-Identifier: Apache-2.0
 *
 * What tools ask of commands in the background: to be found, told of, waited for, and ended. Runs
 * in hands' front; ids and sessions in calls are the peer's. */
#include "hands/front/background_private.h"

#include "hands/front/background_text.h"
#include "hands/front/front.h"
#include "hands/front/shell.h"

struct job *
background_find(struct call *c, const char *id)
{
	struct job *j = background_of(c->f->background, id, c->session);

	call_started(c);
	if (j == NULL)
		call_fail(c, true, ATS_E_UNKNOWN_ID,
		    "There is no background command %.32s in this "
		    "session.",
		    id);
	return j;
}

bool
background_is_running(const struct job *j)
{
	return j->v.status == JOB_RUNNING;
}

/* ---- waiting for the end ----------------------------------------------------------- */
void
background_wait(struct job *j, struct background_waiter *w)
{
	w->j = j;
	LIST_INSERT_HEAD(&j->waiters, w, entry);
}

void
background_wait_end(struct background_waiter *w)
{
	if (w->j == NULL)
		return;
	LIST_REMOVE(w, entry);
	w->j = NULL;
}

/* ---- ending one -------------------------------------------------------------------- */
static void
on_kill_free(struct call *c)
{
	struct job *j = c->part;

	if (j != NULL)
		j->killing = NULL;
}

static void
on_kill_cancel(struct call *c, bool timeout)
{
	call_fail(c, true, timeout ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
	    "The command is being ended; read its state with BashOutput.");
}

static const struct call_ops kill_ops = {
	.cancel = on_kill_cancel,
	.free = on_kill_free,
	.survives = true,
};

/* NULL: the call was told why it cannot be ended. */
static struct job *
find_to_stop(struct call *c, const char *id)
{
	struct job *j = background_find(c, id);

	if (j == NULL || j->v.status != JOB_RUNNING || j->killing == NULL)
		return j;
	call_fail(c, true, ATS_E_BUSY, "%s is being ended already.", j->v.id);
	return NULL;
}

void
background_check_stop(struct call *c, const char *id)
{
	struct job *j = find_to_stop(c, id);

	if (j != NULL)
		background_text_status(c, &j->v);
}

void
background_stop(struct call *c, const char *id)
{
	struct job *j = find_to_stop(c, id);

	if (j == NULL)
		return;
	if (j->v.status != JOB_RUNNING) {
		background_text_killed(c, &j->v);
	} else {
		j->killing = c;
		c->ops = &kill_ops;
		c->part = j;
		shell_stop(j->sh, ENDED_KILLED);
	}
}

/* ---- telling of one ---------------------------------------------------------------- */
void
background_check_tell(struct call *c, const char *id)
{
	struct job *j = background_find(c, id);

	if (j != NULL)
		background_text_status(c, &j->v);
}

void
background_tell(struct call *c, struct job *j)
{
	j->end_was_read = j->v.status != JOB_RUNNING;
	background_text_output(c, &j->v);
}

void
background_filter(struct call *c, struct job *j, const struct ats_frame *fr)
{
	j->end_was_read = j->v.status != JOB_RUNNING;
	background_text_filter(c, &j->v, fr);
}
