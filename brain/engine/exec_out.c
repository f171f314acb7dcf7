/* SPDX-License-Identifier: Apache-2.0
 *
 * What an exec writes: from the link into the client's pipes, under credit. Runs in the engine;
 * bytes and offsets are a sandbox's, pipes a client's: neither may block the loop or grow memory
 * past the window. */
#include "brain/engine/exec_private.h"

#include <errno.h>
#include <event2/event.h>

#include "brain/engine/engine.h"
#include "brain/engine/link.h"
#include "common/fd.h"

#define WRITE_MAX (64u << 10)
#define SIGPIPE_NUMBER 13

/* Before each use: the flag is the client's to change, blocking would be everybody's. */
static void
keep_nonblocking(struct exec_out *s)
{
	if (s->shared)
		(void)(ats_fd_nonblock(s->fd, true) < 0);
}

static void
give_credit(struct exec_out *s)
{
	struct exec *x = s->x;
	struct ats_msg_WINDOW m = {
		.stream = exec_stream_names[s->id], .bytes = s->taken, .has_bytes = true,
	};

	if (s->taken < x->e->set.exec_window / 2 || x->ending || !x->linked)
		return;
	if (link_send(x->call->box, ATS_FRAME_WINDOW, x->call->id, &m, NULL) < 0)
		return;		/* tried again with the next bytes that leave */
	s->granted += s->taken;
	s->taken = 0;
}

/* As a shell would: whoever writes into a pipe without a reader is told so. */
static void
send_sigpipe(struct exec *x)
{
	struct ats_msg_SIGNAL m = { .number = SIGPIPE_NUMBER, .has_number = true };

	if (!x->ending && x->linked)
		(void)(link_send(x->call->box, ATS_FRAME_SIGNAL, x->call->id, &m, NULL) < 0);
}

static void
reader_gone(struct exec_out *s)
{
	struct exec *x = s->x;

	s->over = true;
	x->cut |= s->held.len > 0;
	s->taken += s->held.len;
	ats_buf_done(&s->held);
	send_sigpipe(x);
}

static void
write_held(struct exec_out *s)
{
	ssize_t n;

	while (s->held.len > 0) {
		keep_nonblocking(s);
		n = ats_fd_write(s->fd, s->held.data,
		    s->held.len < WRITE_MAX ? s->held.len : WRITE_MAX);
		if (n > 0) {
			s->taken += (uint64_t)n;
			ats_buf_consume(&s->held, (size_t)n);
		} else if (n < 0 && errno == EAGAIN) {
			(void)event_add(s->event, NULL);
			return;
		} else {
			reader_gone(s);
		}
	}
	ats_buf_reset(&s->held);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct exec_out *s = arg;

	(void)fd;
	(void)what;
	write_held(s);
	give_credit(s);
	exec_finish_drained(s->x, false);
}

int
exec_out_start(struct exec_out *s, struct ats_err *err)
{
	if (s->fd < 0 || s->event != NULL)
		return 0;
	s->event = event_new(s->x->e->base, s->fd, EV_WRITE, on_writable, s);
	return s->event == NULL ? ats_err_set(err, ATS_E_NOMEM, "exec") : 0;
}

int
exec_check(struct exec *x, enum exec_stream_id id, uint64_t n, struct ats_err *err)
{
	const struct exec_out *s = &x->s[id];

	if (n > s->granted - s->offset)
		return ats_err_set(err, ATS_E_CREDIT, "%s: more than its window",
		    exec_stream_names[id]);
	return 0;
}

int
exec_sink(struct exec *x, enum exec_stream_id id)
{
	const struct exec_out *s = &x->s[id];

	return s->over || s->shared || s->held.len > 0 ? -1 : s->fd;
}

int
exec_output(struct exec *x, enum exec_stream_id id, uint64_t offset, uint64_t total,
    const char *rest, size_t n, struct ats_err *err)
{
	struct exec_out *s = &x->s[id];

	if (offset != s->offset || id == EXEC_STDIN)
		return ats_err_set(err, ATS_E_PROTO, "%s: not the next byte",
		    exec_stream_names[id]);
	s->offset += total;
	s->taken += total - n;
	if (s->fd < 0 || s->over) {
		s->taken += n;
		x->cut |= n > 0;
	} else if (n > 0) {
		if (ats_buf_add(&s->held, rest, n) < 0)
			return ats_err_set(err, ATS_E_NOMEM, "%s", exec_stream_names[id]);
		if (s->held.len == n)	/* else on_writable is waiting */
			write_held(s);
	}
	give_credit(s);
	return 0;
}

int
exec_gap(struct exec *x, enum exec_stream_id id, uint64_t from, uint64_t to,
    struct ats_err *err)
{
	struct exec_out *s = &x->s[id];

	if (id == EXEC_STDIN || from != s->offset || to < from || to - from > INT64_MAX / 4 ||
	    s->granted > INT64_MAX / 2)
		return ats_err_set(err, ATS_E_PROTO, "%s: an impossible gap",
		    exec_stream_names[id]);
	s->offset = to;
	s->granted += to - from;	/* what was dropped used no credit */
	x->gap |= to > from;
	return 0;
}

void
exec_half(struct exec *x, enum exec_stream_id id, uint64_t n)
{
	x->s[id].offset += n;
	x->s[id].taken += n;
}

void
exec_out_resumed(struct exec *x)
{
	struct exec_out *out = &x->s[EXEC_STDOUT], *err = &x->s[EXEC_STDERR];

	give_credit(out);
	give_credit(err);
	if ((out->over && out->event != NULL) || (err->over && err->event != NULL))
		send_sigpipe(x);	/* the first may have been lost */
}

void
exec_out_close(struct exec_out *s)
{
	if (s->event != NULL)
		event_free(s->event);
	s->event = NULL;
	s->over = true;
	ats_fd_close(&s->fd);
	ats_buf_done(&s->held);
}
