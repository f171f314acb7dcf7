/* SPDX-License-Identifier: Apache-2.0
 *
 * exec: output goes from the program's pipes to the link (exec_out.c), as much as the peer has
 * credited, so that the program waits when the peer does; stdin is granted back as the
 * program takes it. A lost link ends none of it: the program runs on, and the same brain resumes
 * the streams; one that knows nothing of it cancels it. Runs in hands' front. Nothing here grows
 * with the amount of data. */
#include "hands/front/exec_private.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
#include "hands/front/exec_out.h"
#include "hands/front/exec_stdin.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/shell.h"
#include "hands/front/tool_call.h"
#include "proto/msg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ARGV_MAX (256u << 10)

static void on_cancel(struct call *c, bool timeout);
static void on_unlinked(struct call *c);
static void on_free(struct call *c);
static void on_started(void *ctx);
static void on_ended(void *ctx, const struct shell_end *end);

const struct call_ops exec_call_ops = {
	.part = RECORD_EXEC,
	.move = exec_move,
	.save = exec_save,
	.cancel = on_cancel,
	.survives = true,
	.keeps_part = true,
	.unlinked = on_unlinked,
	.free = on_free,
};
const struct shell_ops exec_shell_ops = { .started = on_started, .ended = on_ended };

static struct exec *
find(struct front *f, uint64_t id)
{
	struct call *c = calls_find(f->calls, id);

	return c != NULL && c->ops == &exec_call_ops ? c->part : NULL;
}

/* ---- start ------------------------------------------------------------------------- */
static bool
start_streams(struct exec *x, uint64_t window)
{
	struct ats_chan *chan = link_chan(x->c->f->link);

	for (unsigned i = 0; i < 2; i++) {
		x->out[i] = exec_out_new(x->c, i, window, &x->finish_ev);
		if (x->out[i] == NULL || !exec_out_attach(x->out[i], chan))
			return false;
	}
	x->linked = true;
	return true;
}

/* The shell runs: its pipes are there. */
static void
open_pipes(struct exec *x)
{
	for (unsigned i = 0; i < 2; i++)
		exec_out_open(x->out[i], shell_pipe(x->sh, i));
	if (x->in != NULL && shell_pipe(x->sh, 2) >= 0)
		exec_stdin_open(x->in, shell_take_pipe(x->sh, 2));
}

static void
on_started(void *ctx)
{
	struct exec *x = ctx;

	call_started(x->c);
	x->c->setup_us = shell_waited_us(x->sh);
	if (x->sh != NULL) /* it had to wait for a worker */
		open_pipes(x);
}

static int
join_argv(const struct ats_msg_CALL_EXEC *m, struct ats_buf *out)
{
	int rc = m->n_argv > 0 && m->argv[0][0] != '\0' ? 0 : -ATS_E_INVAL;

	for (size_t i = 0; i < m->n_argv && rc == 0; i++)
		rc = ats_buf_add(out, m->argv[i], strlen(m->argv[i]) + 1);
	return rc;
}

static uint16_t
u16(uint64_t v)
{
	return v > 10000 ? 10000 : (uint16_t)v;
}

static bool
start_shell(struct exec *x, const struct ats_msg_CALL_EXEC *m, struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf argv = { 0 }, arena = { 0 };
	struct ats_CTX_IN ctx;
	struct shell_job job;

	ats_buf_init(&argv, ARGV_MAX + 4096);
	ats_buf_init(&arena, 512u << 10);
	if (join_argv(m, &argv) < 0) {
		(void)ats_err_set(err, ATS_E_INVAL, "argv is empty or too long");
		return false;
	}
	if (ats_msg_decode(&ats_shape_CTX_IN, m->ctx.p, m->ctx.n, ATS_DECODE_SCANNED,
		&ctx, &arena, err) < 0)
		return false;
	job = (struct shell_job){
		.call = x->c->id,
		.cwd = ctx.cwd,
		.session = m->session,
		.env = ctx.env,
		.nenv = ctx.n_env,
		.extra = { argv.data, argv.len },
		.flags = JOB_EXEC | (m->want_stdin ? JOB_STDIN : 0) |
			 (m->tty ? JOB_TTY | JOB_STDIN : 0),
		.rows = u16(m->rows),
		.cols = u16(m->cols),
	};
	(void)ats_err_set(err, ATS_E_NOMEM, "no memory");
	if (m->want_stdin && (x->in = exec_stdin_new(x->c)) == NULL)
		return false;
	if (!start_streams(x, m->window))
		return false;
	x->sh = shell_new(x->c->f, &job, &exec_shell_ops, x);
	return x->sh != NULL;
}

/* It never ran. The result is told as that of one that did: when the streams are. */
static void
never_started(struct exec *x, int code, const char *text)
{
	struct call *c = x->c;

	x->ended = x->told = true;
	for (unsigned i = 0; i < 2; i++)
		if (x->out[i] != NULL)
			exec_out_end(x->out[i]);
	call_fail(c, false, code, "The program was not started: %s.", text);
}

void
exec_start(struct call *c, const struct ats_msg_CALL_EXEC *m)
{
	struct exec *x = ats_calloc(1, sizeof(*x));
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "no memory" };

	if (x != NULL) {
		x->c = c;
		(void)evtimer_assign(&x->finish_ev, c->f->base, exec_on_finish, x);
		c->ops = &exec_call_ops;
		c->part = x;
	}
	if (x == NULL) {
		call_fail(c, false, err.code, "The program was not started: %s.", err.text);
		return;
	}
	if (!start_shell(x, m, &err)) {
		never_started(x, err.code, err.text);
		return;
	}
	if (shell_is_started(x->sh))
		open_pipes(x);
}

/* ---- the end ----------------------------------------------------------------------- */
static void
send_result(struct exec *x)
{
	struct ats_msg_RESULT r = { .has_exit_code = true };
	struct shell *sh = x->sh;
	struct outcome o;
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };

	ats_buf_init(&text, 4096);
	outcome_decide(x->exit.status, x->exit.flags, x->end.why, NULL, false, &o);
	if (o.kind != OUTCOME_EXIT)
		(void)outcome_line(&o, 0, &text);
	r.is_error = r.has_is_error = o.err != 0;
	r.code = o.err != 0 ? ats_err_name(o.err) : NULL;
	r.exit_kind = outcome_kind_name(o.kind);
	r.exit_code = o.code & 0xff;
	if (o.kind == OUTCOME_TIMEOUT || o.kind == OUTCOME_CANCELLED)
		ats_buf_reset(&text);
	for (unsigned i = 0; i < 2; i++)
		exec_out_close(x->out[i]);
	x->told = true;
	x->sh = NULL;
	call_answer(x->c, &r, text.data, text.len);	/* x may be gone */
	shell_free(sh);
}

static bool
is_over(const struct exec *x)
{
	return x->ended && x->linked && exec_out_is_over(x->out[0]) &&
	       exec_out_is_over(x->out[1]);
}

/* The result follows the last byte of both streams, on each link anew. */
static void
finish_if_over(struct exec *x)
{
	if (x->told || !(x->unwanted ? x->ended : is_over(x)))
		return;
	if (x->c->state == CALL_ACTIVE) {
		send_result(x);
	} else {
		x->told = true;
		call_send_kept(x->c);
	}
}

void
exec_on_finish(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	finish_if_over(arg);
}

static void
on_ended(void *ctx, const struct shell_end *end)
{
	struct exec *x = ctx;
	struct ats_chan *chan = link_chan(x->c->f->link);

	if (end->exit == NULL) {
		never_started(x, end->err.code == 0 ? ATS_E_NOT_STARTED : end->err.code,
		    end->err.text);
		return;
	}
	x->end = *end;
	x->exit = *end->exit;
	x->end.exit = &x->exit;
	x->ended = true;
	if (chan != NULL)
		ats_chan_cork(chan);
	for (unsigned i = 0; i < 2; i++) {
		exec_out_end(x->out[i]);
		/* A program that was ended by us may leave output for which there is no
		 * credit, and perhaps never will be. */
		if (end->why != ENDED_ITSELF)
			exec_out_give_up(x->out[i]);
		exec_out_send_rest(x->out[i]);
	}
	finish_if_over(x);
	if (chan != NULL)
		ats_chan_uncork(chan);
}

static void
on_cancel(struct call *c, bool timeout)
{
	struct exec *x = c->part;

	/* It was attached to, and not resumed: a ghost of an engine that is gone. */
	if (!x->linked && !timeout && link_is_ready(c->f->link))
		x->unwanted = true;
	if (!x->ended) {
		shell_stop(x->sh, timeout ? ENDED_TIMEOUT : ENDED_CANCEL);
		return;
	}
	if (x->linked)	/* the peer does not take its output; else it waits to be fetched */
		for (unsigned i = 0; i < 2; i++)
			exec_out_cut(x->out[i]);
	finish_if_over(x);
}

static void
on_unlinked(struct call *c)
{
	struct exec *x = c->part;

	x->linked = x->told = x->unwanted = false;
	for (unsigned i = 0; i < 2; i++)
		if (x->out[i] != NULL)
			exec_out_detach(x->out[i]);
}

static void
on_free(struct call *c)
{
	struct exec *x = c->part;

	(void)event_del(&x->finish_ev);
	for (unsigned i = 0; i < 2; i++)
		exec_out_free(x->out[i]);
	exec_stdin_free(x->in);
	shell_free(x->sh);
	free(x);
}

/* ---- frames ------------------------------------------------------------------------ */
int
exec_on_stdin(struct front *f, const struct ats_frame *fr,
    const struct ats_msg_EVENT_STDIN *m, struct ats_err *err)
{
	struct exec *x = find(f, fr->head.call);

	if (x == NULL || x->in == NULL)
		return 0;
	return exec_stdin_take(x->in, fr, m, err);
}

int
exec_stdin_sink(struct front *f, const struct ats_frame *fr)
{
	struct exec *x = find(f, fr->head.call);

	return x == NULL || x->in == NULL ? -1 : exec_stdin_sink_fd(x->in);
}

int
exec_on_window(struct front *f, uint64_t call, const char *stream, uint64_t bytes,
    struct ats_err *err)
{
	struct exec *x = find(f, call);
	unsigned which;
	int rc;

	if (strcmp(stream, "stdout") == 0)
		which = 0;
	else if (strcmp(stream, "stderr") == 0)
		which = 1;
	else
		return ats_err_set(err, ATS_E_FIELD, "window: no such stream of hands");
	if (x == NULL)
		return which == 0 ? tool_call_on_window(f, call, bytes, err) : 0;
	rc = x->out[which] == NULL ? 0 : exec_out_credit(x->out[which], bytes);
	return rc < 0 ? ats_err_set(err, -rc, "window: %s",
		    rc == -ATS_E_CREDIT ? "too much credit" : "the exec was not resumed")
		      : 0;
}

int
exec_on_resume(struct front *f, uint64_t call, const struct ats_msg_RESUME *m,
    struct ats_err *err)
{
	const struct call *c = calls_find(f->calls, call);
	struct exec *x = find(f, call);
	uint64_t have[2] = { m->out, m->err }, window[2] = { m->out_window, m->err_window };
	int rc = 0;

	if (c == NULL || c->row != NULL)
		return ats_err_set(err, ATS_E_STATE, "resume: no such exec");
	if (x == NULL)
		return 0; /* it never ran, for want of memory; its result came by itself */
	if (x->linked)
		return ats_err_set(err, ATS_E_STATE, "resume: it is linked");
	x->linked = true;
	for (unsigned i = 0; i < 2 && rc == 0; i++)
		if (x->out[i] != NULL)
			rc = exec_out_resume(
			    x->out[i], link_chan(f->link), have[i], window[i], err);
	if (rc == 0 && x->in != NULL)
		rc = exec_stdin_resume(x->in, m->has_in ? m->in : UINT64_MAX, err);
	if (rc == 0)
		finish_if_over(x);
	return rc;
}

void
exec_stdin_cut(struct front *f, uint64_t call, size_t n)
{
	struct exec *x = find(f, call);

	if (x != NULL && x->in != NULL)
		exec_stdin_half(x->in, n);
}

void
exec_on_signal(struct front *f, uint64_t call, unsigned number)
{
	struct exec *x = find(f, call);

	if (x == NULL)
		tool_call_on_signal(f, call);
	else if (number > 0 && x->sh != NULL)
		shell_tell(x->sh, MONITOR_SIGNAL, number);
}

void
exec_on_resize(struct front *f, uint64_t call, unsigned rows, unsigned cols)
{
	struct exec *x = find(f, call);

	if (x != NULL && x->sh != NULL)
		shell_tell(x->sh, MONITOR_RESIZE, rows << 16 | (cols & 0xffff));
}
