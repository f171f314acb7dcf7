/* SPDX-License-Identifier: Apache-2.0
 *
 * exec: output is spliced from the program's pipes to the link, as much as the peer has
 * credited, so that the program waits when the peer does; stdin is granted back as the
 * program takes it. Runs in hands' front. Nothing here grows with the amount of data. */
#include "hands/front/exec.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
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

#define SMALL_BYTES (16u << 10) /* copied rather than spliced */
#define ARGV_MAX (256u << 10)

struct exec_stream {
	struct exec *x;
	unsigned which;
	struct ats_stream *stream;
	struct event ev;
	bool watched;
	bool open;	 /* the pipe may still give bytes */
	uint64_t offset; /* of the next byte sent */
	uint64_t end;	 /* once the program has ended: where its output ends */
	uint64_t gap;	 /* bytes behind that end which are not sent */
};
struct exec {
	struct call *c;
	struct shell *sh;
	struct exec_stream out[2];
	struct exec_stdin *in; /* NULL: none */
	bool ended;
	struct event finish_ev;
	struct shell_end end;
	struct job_exit exit;
};

static void on_cancel(struct call *c, bool timeout);
static void on_free(struct call *c);
static void on_started(void *ctx);
static void on_ended(void *ctx, const struct shell_end *end);
static void on_finish(evutil_socket_t fd, short what, void *arg);

static const struct call_ops ops = { .cancel = on_cancel, .free = on_free };
static const struct shell_ops shell_ops = { .started = on_started, .ended = on_ended };

static struct exec *
find(struct front *f, uint64_t id)
{
	struct call *c = calls_find(f->calls, id);

	return c != NULL && c->ops == &ops ? c->part : NULL;
}

/* ---- output ------------------------------------------------------------------------ */
static void
unwatch(struct exec_stream *s)
{
	if (s->watched)
		(void)event_del(&s->ev);
	s->watched = false;
}

static void
watch(struct exec_stream *s)
{
	if (!s->watched && s->open && !s->x->ended && event_add(&s->ev, NULL) == 0)
		s->watched = true;
}

static size_t
bytes_in(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

/* Nothing will come any more. */
static void
stream_over(struct exec_stream *s)
{
	s->open = false;
	unwatch(s);
	if (s->x->ended) /* not from within the pump: it frees the streams */
		event_active(&s->x->finish_ev, EV_TIMEOUT, 0);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct exec_stream *s = arg;

	(void)what;
	unwatch(s);
	if (bytes_in(fd) > 0)
		ats_stream_ready(s->stream);
	else if (ats_fd_at_end(fd))
		stream_over(s);
	else
		watch(s);
}

static void
on_pump(void *ctx, size_t max, struct ats_chunk *k)
{
	struct exec_stream *s = ctx;
	const struct ats_frame_row *row =
	    &ats_frame_rows[s->which == 0 ? ATS_FRAME_EVENT_STDOUT
					  : ATS_FRAME_EVENT_STDERR];

	*k = (struct ats_chunk){ .type = row->type, .kind = row->kind, .pipe_fd = -1 };
	if (s->x->ended && max > s->end - s->offset)
		max = (size_t)(s->end - s->offset);
	if (!s->open || ats_stream_take(s->stream, shell_pipe(s->x->sh, s->which), max,
			    k) == 0) {
		if (s->x->ended)
			stream_over(s);
		else
			watch(s);
		return;
	}
	k->json_len = (size_t)snprintf(
	    k->json, sizeof(k->json), "{\"offset\":%" PRIu64 "}", s->offset);
	s->offset += k->n;
}

static bool
start_streams(struct exec *x, uint64_t window)
{
	struct front *f = x->c->f;

	for (unsigned i = 0; i < 2; i++) {
		struct exec_stream *s = &x->out[i];

		s->stream =
		    ats_stream_new(link_chan(f->link), x->c->id, window, on_pump, s);
		if (s->stream == NULL)
			return false;
	}
	return true;
}

/* The shell runs: its pipes are there. */
static void
open_pipes(struct exec *x)
{
	struct front *f = x->c->f;

	for (unsigned i = 0; i < 2; i++) {
		struct exec_stream *s = &x->out[i];
		int fd = shell_pipe(x->sh, i);

		if (fd < 0 || s->open ||
		    event_assign(
			&s->ev, f->base, fd, EV_READ | EV_PERSIST, on_readable, s) < 0)
			continue;
		s->open = true;
		watch(s);
	}
	if (x->in != NULL && shell_pipe(x->sh, 2) >= 0)
		exec_stdin_open(x->in, shell_take_pipe(x->sh, 2));
}

static void
on_started(void *ctx)
{
	struct exec *x = ctx;

	call_started(x->c);
	if (x->sh != NULL) /* it had to wait for a worker */
		open_pipes(x);
}

/* ---- start ------------------------------------------------------------------------- */
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
	x->sh = shell_new(x->c->f, &job, &shell_ops, x);
	return x->sh != NULL;
}

void
exec_start(struct call *c, const struct ats_msg_CALL_EXEC *m)
{
	struct exec *x = ats_calloc(1, sizeof(*x));
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "no memory" };

	if (x != NULL) {
		x->c = c;
		for (unsigned i = 0; i < 2; i++) {
			x->out[i].x = x;
			x->out[i].which = i;
		}
		(void)evtimer_assign(&x->finish_ev, c->f->base, on_finish, x);
		c->ops = &ops;
		c->part = x;
	}
	if (x == NULL || !start_shell(x, m, &err)) {
		call_fail(
		    c, false, err.code, "The program was not started: %s.", err.text);
		return;
	}
	if (shell_is_started(x->sh))
		open_pipes(x);
}

/* ---- the end ----------------------------------------------------------------------- */
/* A program that was ended by us may leave output for which there is no credit, and
 * perhaps never will be: no more than that is sent, and the peer hears how much is
 * missing. */
static void
give_up(struct exec_stream *s, uint64_t credit)
{
	uint64_t left = s->end > s->offset ? s->end - s->offset : 0;

	if (left <= credit)
		return;
	s->gap += left - credit;
	s->end = s->offset + credit;
}

static void
send_gap(struct exec_stream *s)
{
	struct ats_msg_EVENT_GAP m = {
		.stream = s->which == 0 ? "stdout" : "stderr",
		.from = s->offset,
		.has_from = true,
		.to = s->offset + s->gap,
		.has_to = true,
	};
	struct ats_buf *out = &s->x->c->f->out;

	if (s->gap == 0)
		return;
	ats_buf_reset(out);
	if (ats_msg_encode(&ats_frame_rows[ATS_FRAME_EVENT_GAP].shape, &m, out, NULL) ==
	    0)
		(void)link_send(s->x->c->f->link, ATS_FRAME_EVENT_GAP, s->x->c->id,
		    out->data, out->len, NULL, 0);
}

static void
send_result(struct exec *x)
{
	struct ats_msg_RESULT r = { .has_exit_code = true };
	struct call *c = x->c;
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
	send_gap(&x->out[0]);
	send_gap(&x->out[1]);
	call_answer(c, &r, text.data, text.len);
}

/* The last output of a short command leaves with the result, in one write. */
static void
send_rest(struct exec_stream *s, struct ats_chan *chan)
{
	struct front *f = s->x->c->f;
	int fd = shell_pipe(s->x->sh, s->which);
	uint64_t left = s->end - s->offset;
	char json[64];
	ssize_t n;
	int len;

	if (!s->open || left == 0 || left > ATS_CHAN_CHUNK ||
	    left > ats_stream_credit_left(s->stream) ||
	    ats_chan_queued(chan) > SMALL_BYTES)
		return;
	n = read(fd, f->block, (size_t)left);
	if (n <= 0)
		return;
	len = snprintf(json, sizeof(json), "{\"offset\":%" PRIu64 "}", s->offset);
	s->offset += (uint64_t)n;
	(void)link_send(f->link,
	    s->which == 0 ? ATS_FRAME_EVENT_STDOUT : ATS_FRAME_EVENT_STDERR, s->x->c->id,
	    json, (size_t)len, f->block, (size_t)n);
}

static void
on_ended(void *ctx, const struct shell_end *end)
{
	struct exec *x = ctx;
	struct call *c = x->c;
	struct ats_chan *chan = link_chan(c->f->link);
	bool idle = chan != NULL && ats_chan_queued(chan) == 0;

	if (end->exit == NULL) {
		call_fail(c, false,
		    end->err.code == 0 ? ATS_E_NOT_STARTED : end->err.code,
		    "The program was not started: %s.", end->err.text);
		return;
	}
	x->end = *end;
	x->exit = *end->exit;
	x->end.exit = &x->exit;
	x->ended = true;
	if (chan != NULL)
		ats_chan_cork(chan);
	for (unsigned i = 0; i < 2; i++) {
		struct exec_stream *s = &x->out[i];
		int fd = shell_pipe(x->sh, i);

		s->end = s->offset + (s->open && fd >= 0 ? bytes_in(fd) : 0);
		unwatch(s);
		if (end->why != ENDED_ITSELF)
			give_up(s, ats_stream_credit_left(s->stream));
		if (idle) /* else bytes of this very pipe may be on their way */
			send_rest(s, chan);
		s->open = s->offset < s->end;
		if (s->open)
			ats_stream_ready(s->stream);
	}
	if (!x->out[0].open && !x->out[1].open)
		send_result(x);
	if (chan != NULL)
		ats_chan_uncork(chan);
}

static void
on_finish(evutil_socket_t fd, short what, void *arg)
{
	struct exec *x = arg;

	(void)fd;
	(void)what;
	if (x->ended && !x->out[0].open && !x->out[1].open)
		send_result(x);
}

static void
on_cancel(struct call *c, bool timeout)
{
	struct exec *x = c->part;

	if (!x->ended) {
		shell_stop(x->sh, timeout ? ENDED_TIMEOUT : ENDED_CANCEL);
		return;
	}
	/* It ended, but the peer does not take its output. */
	for (unsigned i = 0; i < 2; i++) {
		give_up(&x->out[i], 0);
		x->out[i].open = false;
	}
	send_result(x);
}

static void
on_free(struct call *c)
{
	struct exec *x = c->part;

	(void)event_del(&x->finish_ev);
	for (unsigned i = 0; i < 2; i++) {
		unwatch(&x->out[i]);
		ats_stream_free(x->out[i].stream);
	}
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

	if (strcmp(stream, "stdout") == 0)
		which = 0;
	else if (strcmp(stream, "stderr") == 0)
		which = 1;
	else
		return ats_err_set(err, ATS_E_FIELD, "window: no such stream of hands");
	if (x == NULL)
		return which == 0 ? tool_call_on_window(f, call, bytes, err) : 0;
	if (ats_stream_credit(x->out[which].stream, bytes) < 0)
		return ats_err_set(err, ATS_E_CREDIT, "window: too much credit");
	return 0;
}

void
exec_on_signal(struct front *f, uint64_t call, unsigned number)
{
	struct exec *x = find(f, call);

	if (x == NULL)
		tool_call_on_signal(f, call);
	else if (number > 0)
		shell_tell(x->sh, MONITOR_SIGNAL, number);
}

void
exec_on_resize(struct front *f, uint64_t call, unsigned rows, unsigned cols)
{
	struct exec *x = find(f, call);

	if (x != NULL)
		shell_tell(x->sh, MONITOR_RESIZE, rows << 16 | (cols & 0xffff));
}
