/* SPDX-License-Identifier: Apache-2.0
 *
 * Background commands: the list of them, their start, and their end. Runs in hands' front; output
 * goes to a bounded file and never to memory, sessions in calls are the peer's. */
#include "hands/front/background_private.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/json.h"
#include "hands/front/background_text.h"
#include "hands/front/capture.h"
#include "hands/front/front.h"
#include "hands/front/spill.h"
#include "hands/front/upgrade.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void on_started(void *ctx);
static void on_output(void *ctx, unsigned which, const char *p, size_t n);
static void on_ended(void *ctx, const struct shell_end *end);
const struct shell_ops background_shell_ops = {
	.started = on_started,
	.output = on_output,
	.ended = on_ended,
};

struct background *
background_new(struct front *f)
{
	struct background *b = ats_calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->f = f;
	TAILQ_INIT(&b->jobs);
	/* Ids of an earlier life are not given again: a session may still name them. */
	b->next = spill_store_highest(f->spills, "bash_") + 1;
	return b;
}

/* Tells those that wait; gone: it never started. */
static void
wake(struct job *j, bool gone)
{
	struct background_waiter *w;

	while ((w = LIST_FIRST(&j->waiters)) != NULL) {
		background_wait_end(w);
		w->ended(w, gone ? NULL : j);
	}
}

static void
job_free(struct job *j)
{
	struct background *b = j->b;
	struct background_waiter *w;

	while ((w = LIST_FIRST(&j->waiters)) != NULL)
		background_wait_end(w);
	TAILQ_REMOVE(&b->jobs, j, entry);
	b->njobs--;
	if (j->v.status == JOB_RUNNING)
		b->nrunning--;
	if (j->starting != NULL)
		j->starting->part = NULL;
	if (j->killing != NULL)
		j->killing->part = NULL;
	(void)event_del(&j->life);
	(void)event_del(&j->step);
	shell_free(j->sh);
	spill_free(j->spill);
	free(j);
}

void
background_free(struct background *b)
{
	struct job *j;

	if (b == NULL)
		return;
	while ((j = TAILQ_FIRST(&b->jobs)) != NULL)
		job_free(j);
	free(b);
}

size_t
background_running(const struct background *b)
{
	return b->nrunning;
}

struct job *
background_of(struct background *b, const char *id, const char *session)
{
	struct job *j;

	TAILQ_FOREACH (j, &b->jobs, entry) {
		if (strcmp(j->v.id, id) == 0 && strcmp(j->session, session) == 0)
			return j;
	}
	return NULL;
}

int
background_list(const struct background *b, struct ats_buf *out)
{
	const struct job *j;
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_array(&w, NULL);
	TAILQ_FOREACH (j, &b->jobs, entry) {
		if (j->v.status != JOB_RUNNING)
			continue;
		ats_json_w_object(&w, NULL);
		ats_json_w_str(&w, "id", j->v.id);
		ats_json_w_str(&w, "session", j->session);
		ats_json_w_end(&w);
	}
	ats_json_w_end(&w);
	return w.rc;
}

/* ---- start ------------------------------------------------------------------------- */
/* Calls that wait for a job hold it as their part; a call that goes first lets go of it. */
static void
on_start_free(struct call *c)
{
	struct job *j = c->part;

	if (j != NULL)
		j->starting = NULL;
}

static void
on_start_cancel(struct call *c, bool timeout)
{
	struct job *j = c->part;

	call_fail(c, false, timeout ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
	    "The background command was not started: no shell was free in time.");
	if (j != NULL) {
		wake(j, true);
		job_free(j);
	}
}

static const struct call_ops start_ops = {
	.cancel = on_start_cancel,
	.free = on_start_free,
	.survives = true,
};

bool
background_has_room(struct call *c)
{
	if (c->f->background->nrunning < c->f->opt.background_jobs)
		return true;
	call_fail(c, true, ATS_E_FULL,
	    "%u commands run in the background already; "
	    "end one with KillShell first.",
	    c->f->opt.background_jobs);
	return false;
}

/* Makes room for one more: the oldest ended one whose end was told, else the oldest
 * ended. There is one: fewer run than are kept. */
static void
make_room(struct background *b)
{
	struct job *j, *victim = NULL;

	if (b->njobs < BACKGROUND_KEPT)
		return;
	TAILQ_FOREACH (j, &b->jobs, entry) {
		if (j->v.status == JOB_RUNNING || j->killing != NULL)
			continue;
		if (victim == NULL || (j->end_was_read && !victim->end_was_read))
			victim = j;
	}
	if (victim != NULL)
		job_free(victim);
}

static void
on_life(evutil_socket_t fd, short what, void *arg)
{
	struct job *j = arg;

	(void)fd;
	(void)what;
	(void)snprintf(j->v.note, sizeof(j->v.note),
	    "It was ended because it had run for %u s, as long as a command in the background "
	    "may.", j->b->f->opt.background_life_s);
	shell_stop(j->sh, ENDED_TIMEOUT);
}

static void
on_step(evutil_socket_t fd, short what, void *arg)
{
	struct job *j = arg;

	(void)fd;
	(void)what;
	if (!spill_finish(j->spill))
		event_active(&j->step, EV_TIMEOUT, 0);
}

struct job *
background_job(struct background *b)
{
	struct job *j = ats_calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->b = b;
	(void)evtimer_assign(&j->life, b->f->base, on_life, j);
	(void)evtimer_assign(&j->step, b->f->base, on_step, j);
	LIST_INIT(&j->waiters);
	TAILQ_INSERT_TAIL(&b->jobs, j, entry);
	b->njobs++;
	b->nrunning++;
	return j;
}

static struct job *
job_new(struct background *b, const struct call *c)
{
	struct job *j = background_job(b);
	char name[SPILL_NAME];

	if (j == NULL)
		return NULL;
	(void)snprintf(j->v.id, sizeof(j->v.id), "bash_%u", b->next++);
	(void)snprintf(j->session, sizeof(j->session), "%s", c->session);
	(void)snprintf(name, sizeof(name), "%s.out", j->v.id);
	if (spill_new(b->f->spills, name, &j->spill, NULL) < 0) {
		job_free(j);
		return NULL;
	}
	j->v.spill = j->spill;
	return j;
}

void
background_start(struct call *c, const struct bash_input *in)
{
	struct background *b = c->f->background;
	struct timeval life = { .tv_sec = (time_t)c->f->opt.background_life_s };
	struct shell_job job;
	struct job *j;

	if (!background_has_room(c))
		return;
	make_room(b);
	j = job_new(b, c);
	if (j == NULL) {
		call_fail(c, true, ATS_E_NOSPC,
		    "The command was not started: its output file "
		    "could not be made.");
		return;
	}
	bash_job(c, in, &job);
	job.flags |= JOB_MERGE;
	j->starting = c;
	c->ops = &start_ops;
	c->part = j;
	j->sh = shell_new(b->f, &job, &background_shell_ops, j);
	if (j->sh == NULL) {
		j->starting = NULL;
		c->part = NULL;
		call_fail(
		    c, false, ATS_E_NOMEM, "The command was not started: no memory.");
		job_free(j);
		return;
	}
	j->ends_us = ats_clock_us() + (uint64_t)life.tv_sec * 1000000;
	(void)evtimer_add(&j->life, &life);
}

static void
on_started(void *ctx)
{
	struct job *j = ctx;
	struct call *c = j->starting;

	if (c == NULL)
		return;
	call_started(c);
	c->setup_us = shell_waited_us(j->sh);
	j->starting = NULL;
	c->part = NULL;
	background_text_started(c, &j->v);
}

/* ---- while it runs ----------------------------------------------------------------- */
static void
on_output(void *ctx, unsigned which, const char *p, size_t n)
{
	struct job *j = ctx;

	(void)which;
	(void)spill_add(j->spill, p, n);
}

static void
note_end(struct job *j, const struct shell_end *end, const struct outcome *o)
{
	const struct job_exit *e = end->exit;
	bool ours = end->why != ENDED_ITSELF;

	j->v.exit_code = WIFSIGNALED(e->status) ? 128u + o->code : o->code;
	if (ours && (WIFSIGNALED(e->status) || j->v.exit_code == 128 + SIGTERM))
		j->v.exit_code = 128 + SIGKILL;
	j->v.kind = o->kind;
	j->v.by = end->why == ENDED_KILLED ? BY_KILL : ours ? BY_LIFE : o->by;
	j->v.pids = (e->flags & EXIT_PIDS) != 0;
	j->v.disk = (e->flags & EXIT_DISK) != 0;
	j->v.survivors = ours ? 0 : e->survivors;
	memcpy(j->v.names, e->names, sizeof(j->v.names));
}

static void
on_ended(void *ctx, const struct shell_end *end)
{
	struct job *j = ctx;
	struct call *c = j->killing;
	struct outcome o;

	(void)event_del(&j->life);
	if (end->exit == NULL) {
		c = j->starting;
		j->starting = NULL;
		if (c != NULL) {
			c->part = NULL;
			call_fail(c, false,
			    end->err.code == 0 ? ATS_E_NOT_STARTED : end->err.code,
			    "The command was not started: %s.", end->err.text);
		}
		wake(j, true);
		job_free(j);
		return;
	}
	outcome_decide(end->exit->status, end->exit->flags, ENDED_ITSELF, NULL, true, &o);
	j->b->nrunning--;
	note_end(j, end, &o);
	if (end->why != ENDED_ITSELF || WIFSIGNALED(end->exit->status))
		j->v.status = JOB_KILLED;
	else
		j->v.status = o.code == 0 ? JOB_COMPLETED : JOB_FAILED;
	on_step(-1, 0, j);
	if (c != NULL) {
		j->killing = NULL;
		c->part = NULL;
		background_text_killed(c, &j->v);
	}
	wake(j, false);
	upgrade_poke(j->b->f);
	front_stop_if_drained(j->b->f);
}
