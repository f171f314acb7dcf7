/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands under their monitors: their start, what ends them, and how their end is told. Runs in
 * hands' front; how long a command goes on is its own choice, what the monitor says is checked for
 * size and form. */
#include "hands/front/shell_private.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/log.h"
#include "hands/front/delivery.h"
#include "hands/front/front.h"
#include "hands/front/pool.h"
#include "hands/front/upgrade.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 4
#define JOB_MAX ((1u << 20) + (512u << 10))
/* After the end a pipe is read until it is empty, but not for ever: somebody may hold its
 * other end who got it over a socket. */
#define LAST_BYTES (4u << 20)

static void on_reply(
    void *ctx, const struct reply_head *h, const char *json, const char *payload);
static void on_lost(void *ctx, int status);
const struct worker_ops shell_worker_ops = { .reply = on_reply, .lost = on_lost };

static void
on_lazy(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	shell_watch(arg);
}

/* ---- the end ----------------------------------------------------------------------- */
void
shell_arm(struct event *ev, uint64_t us)
{
	struct timeval tv = ats_timeval_us(us);

	(void)evtimer_add(ev, &tv);
}

static void
finish(struct shell *s)
{
	struct worker *w = s->w;
	struct front *f = s->f;

	s->state = SHELL_ENDED;
	(void)evtimer_del(&s->lazy_ev);
	(void)evtimer_del(&s->stop_ev);
	s->w = NULL;
	s->end.why = s->why;
	/* The answer first, then what only tidies up. The pipes are closed by shell_free. */
	s->ops->ended(s->ctx, &s->end);
	if (w != NULL) {
		/* Its monitor ends once its socket is closed, and takes a processor from those
		 * who pass the answer on: when nothing is on its way. */
		worker_done(w);
		pool_touch(f->pool);
	}
	upgrade_poke(f);
}

/* What is still in the pipes, in bounded turns, then the end. */
static void
drain_step(struct shell *s)
{
	bool again = false;

	for (unsigned i = 0; i < 2 && s->ops->output != NULL; i++) {
		int rc = s->pipe[i] < 0 ? -1 : shell_drain(s, i);

		if (rc == -2)
			return;
		again = again || rc > 0;
	}
	s->last_bytes += SHELL_TURN_BYTES;
	if (again && s->last_bytes < LAST_BYTES)
		event_active(&s->step_ev, EV_TIMEOUT, 0);
	else {
		s->end.pipe_held = s->told && s->ops->output != NULL && shell_is_held(s);
		finish(s);
	}
}

static void
on_step(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	drain_step(arg);
}

static void
begin_end(struct shell *s)
{
	s->state = SHELL_DRAINING;
	(void)evtimer_del(&s->lazy_ev);
	(void)evtimer_del(&s->stop_ev);
	shell_unwatch(s, 0);
	shell_unwatch(s, 1);
	drain_step(s);
}

static void
fail(struct shell *s, int code, const char *text)
{
	(void)ats_err_set(&s->end.err, code, "%s", text);
	s->end.exit = NULL;
	finish(s);
}

/* The monitor's own words; nothing of the command ran. */
static void
refused(struct shell *s, const char *text, size_t n)
{
	ATS_CLEANUP_BUF struct ats_buf clean = { 0 };

	ats_buf_init(&clean, 2048);
	if (ats_utf8_repair(&clean, text, n < 500 ? n : 500) < 0)
		ats_buf_reset(&clean);
	fail(s, ATS_E_CONFINE, clean.data);
}

static void
on_reply(void *ctx, const struct reply_head *h, const char *json, const char *payload)
{
	struct shell *s = ctx;

	if (h->what == REPLY_STARTED || s->state != SHELL_RUNNING)
		return;
	if (h->what == REPLY_RESULT) { /* the monitor could not start it */
		refused(s, payload, h->payload_len);
		return;
	}
	if (h->what != REPLY_EXIT ||
	    (size_t)h->json_len + h->payload_len != sizeof(s->exit)) {
		ats_log(ATS_LOG_WARN, "a shell monitor broke the rules", "call=c-%llu",
		    (unsigned long long)s->head.call);
		pool_kill(s->f->pool, s->w);
		s->end.lost = true;
		s->exit.status = SIGKILL;
	} else {
		memcpy(&s->exit, json, sizeof(s->exit));
		s->told = true;
		s->exit.cwd[sizeof(s->exit.cwd) - 1] = '\0';
		s->exit.names[sizeof(s->exit.names) - 1] = '\0';
	}
	s->end.exit = &s->exit;
	begin_end(s);
}

static void
on_lost(void *ctx, int status)
{
	struct shell *s = ctx;

	s->w = NULL;
	if (s->state != SHELL_RUNNING)
		return;
	s->end.lost = true;
	s->exit.status = status == -1 ? SIGKILL : status;
	s->end.exit = &s->exit;
	begin_end(s);
}

/* ---- the start --------------------------------------------------------------------- */
/* False: the worker was dead already. */
static bool
run(struct shell *s, struct worker *w, struct ats_slice strings, struct ats_slice extra)
{
	s->head.json_len = (uint32_t)strings.n;
	s->head.extra_len = (uint32_t)extra.n;
	if (worker_run_fd(
		w, &shell_worker_ops, s, &s->head, strings.p, extra.p, s->input) < 0) {
		worker_release(w);
		return false;
	}
	s->w = w;
	s->pipe[0] = ats_steal_fd(&w->out);
	s->pipe[1] = ats_steal_fd(&w->err);
	s->pipe[2] = ats_steal_fd(&w->in);
	s->state = SHELL_RUNNING;
	if (s->lazy)
		shell_arm(&s->lazy_ev, SHELL_LAZY_US);
	else
		shell_watch(s);
	upgrade_poke(s->f);
	if (s->ops->started != NULL)
		s->ops->started(s->ctx);
	return true;
}

static void
on_worker(void *ctx, struct worker *w, const struct ats_err *err)
{
	struct shell *s = ctx;
	struct ats_slice strings = { s->strings.data, s->strings.len };
	struct ats_slice extra = { s->extra.data, s->extra.len };

	if (w == NULL) {
		fail(s, err->code, err->text);
		return;
	}
	if (!run(s, w, strings, extra)) {
		fail(s, ATS_E_NOT_STARTED, "its worker ended before it could take it");
		return;
	}
	ats_buf_done(&s->strings);
	ats_buf_done(&s->extra);
}

static int
make_strings(const struct shell *s, const struct shell_job *j, struct ats_buf *out)
{
	const struct front_options *o = &s->f->opt;
	int rc = ats_buf_add(out, j->cwd, strlen(j->cwd) + 1);

	for (size_t i = 0; i < o->nenv && rc == 0; i++)
		rc = ats_buf_add(out, o->env[i], strlen(o->env[i]) + 1);
	if (rc == 0 && j->session != NULL)
		rc = delivery_env(s->f->delivery, j->session, out);
	for (size_t i = 0; i < j->nenv && rc == 0; i++) {
		if (j->env[i][0] != '\0') /* an empty one would end the list */
			rc = ats_buf_add(out, j->env[i], strlen(j->env[i]) + 1);
	}
	return rc < 0 ? rc : ats_buf_add_char(out, '\0');
}

static int
start(struct shell *s, const struct shell_job *j)
{
	struct ats_slice strings;
	struct worker *w;
	int rc = make_strings(s, j, &s->strings);

	if (rc < 0)
		return rc;
	strings = (struct ats_slice){ s->strings.data, s->strings.len };
	for (int i = 0; i < TRIES; i++) {
		if ((w = pool_take(s->f->pool, ATS_PROFILE_SHELL)) == NULL)
			break;
		if (run(s, w, strings, j->extra)) {
			ats_buf_done(&s->strings);
			return 0;
		}
	}
	rc = ats_buf_add(&s->extra, j->extra.p, j->extra.n);
	if (rc == 0)
		pool_wait(s->f->pool, ATS_PROFILE_SHELL, &s->waiter);
	return rc;
}

/* ---- ending it --------------------------------------------------------------------- */
static void
on_stop(evutil_socket_t fd, short what, void *arg)
{
	struct shell *s = arg;

	(void)fd;
	(void)what;
	if (s->state == SHELL_WAITING) {
		pool_wait_cancel(s->f->pool, ATS_PROFILE_SHELL, &s->waiter);
		fail(s, s->why == ENDED_TIMEOUT ? ATS_E_TIMEOUT : ATS_E_CANCELLED,
		    "it was ended before a shell was free");
		return;
	}
	if (s->state != SHELL_RUNNING)
		return;
	if (s->stop_step == 1) {
		s->stop_step = 2;
		worker_tell(s->w, MONITOR_KILL, 0);
		shell_arm(&s->stop_ev, SHELL_GRACE_US);
		return;
	}
	/* The monitor does not obey: its namespace dies with it. */
	pool_kill(s->f->pool, s->w);
	s->exit.status = SIGKILL;
	s->end.exit = &s->exit;
	begin_end(s);
}

void
shell_stop(struct shell *s, enum outcome_ended why)
{
	if (s->state >= SHELL_DRAINING || s->stop_step != 0)
		return;
	s->why = why;
	s->stop_step = 1;
	if (s->state == SHELL_WAITING) {
		event_active(&s->stop_ev, EV_TIMEOUT, 0);
		return;
	}
	shell_watch(s);
	worker_tell(s->w, MONITOR_TERM, 0);
	shell_arm(&s->stop_ev, SHELL_GRACE_US);
}

void
shell_tell(struct shell *s, uint32_t what, uint32_t arg)
{
	if (s->state == SHELL_RUNNING && s->w != NULL)
		worker_tell(s->w, what, arg);
}

bool
shell_is_started(const struct shell *s)
{
	return s->state != SHELL_WAITING;
}

uint64_t
shell_waited_us(const struct shell *s)
{
	return s == NULL ? 0 : s->waiter.waited_us;
}

struct shell *
shell_alloc(struct front *f, const struct shell_ops *ops, void *ctx)
{
	struct shell *s = ats_calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->f = f;
	s->ops = ops;
	s->ctx = ctx;
	s->input = -1;
	s->pipe[0] = s->pipe[1] = s->pipe[2] = s->spent[0] = s->spent[1] = -1;
	s->waiter.got = on_worker;
	s->waiter.ctx = s;
	ats_buf_init(&s->strings, JOB_MAX);
	ats_buf_init(&s->extra, JOB_MAX);
	(void)evtimer_assign(&s->lazy_ev, f->base, on_lazy, s);
	(void)evtimer_assign(&s->stop_ev, f->base, on_stop, s);
	(void)evtimer_assign(&s->step_ev, f->base, on_step, s);
	return s;
}

struct shell *
shell_new(
    struct front *f, const struct shell_job *j, const struct shell_ops *ops, void *ctx)
{
	struct shell *s = shell_alloc(f, ops, ctx);

	if (s == NULL)
		return NULL;
	s->lazy = j->lazy;
	if ((j->flags & JOB_INPUT) != 0)
		s->input = j->input;
	s->head = (struct job_head){
		.call = j->call,
		.flags = j->flags,
		.rows = j->rows,
		.cols = j->cols,
	};
	if (start(s, j) < 0) {
		shell_free(s);
		return NULL;
	}
	return s;
}

void
shell_free(struct shell *s)
{
	if (s == NULL)
		return;
	if (s->freed != NULL)
		*s->freed = true;
	pool_wait_cancel(s->f->pool, ATS_PROFILE_SHELL, &s->waiter);
	(void)evtimer_del(&s->lazy_ev);
	(void)evtimer_del(&s->stop_ev);
	(void)evtimer_del(&s->step_ev);
	for (unsigned i = 0; i < 3; i++)
		shell_close_pipe(s, i);
	ats_fd_close(&s->spent[0]);
	ats_fd_close(&s->spent[1]);
	if (s->w != NULL) { /* its tree goes with it */
		worker_tell(s->w, MONITOR_KILL, 0);
		pool_kill(s->f->pool, s->w);
		worker_release(s->w);
	}
	ats_buf_done(&s->strings);
	ats_buf_done(&s->extra);
	free(s);
}
