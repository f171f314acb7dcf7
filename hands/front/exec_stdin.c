/* SPDX-License-Identifier: Apache-2.0
 *
 * The stdin of an exec. Runs in hands' front; the peer sends the bytes and may not send
 * more than it was granted, the program takes them as it likes. */
#include "hands/front/exec_private.h"

#include "common/fault.h"
#include "common/fd.h"
#include "hands/front/exec.h"
#include "hands/front/front.h"
#include "hands/front/link.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
grant(struct exec_stdin *in, uint64_t n)
{
	char json[64];
	int len = snprintf(
	    json, sizeof(json), "{\"stream\":\"stdin\",\"bytes\":%" PRIu64 "}", n);

	in->granted += n;
	(void)link_send(
	    in->c->f->link, ATS_FRAME_WINDOW, in->c->id, json, (size_t)len, NULL, 0);
}

static void
consumed(struct exec_stdin *in, size_t n)
{
	in->owed += n;
	if (in->eof || in->owed < EXEC_GRANT_FROM)
		return;
	grant(in, in->owed);
	in->owed = 0;
}

static void
close_pipe(struct exec_stdin *in)
{
	if (in->fd < 0)
		return;
	(void)event_del(&in->ev);
	ats_fd_close(&in->fd);
	if (link_chan(in->c->f->link) != NULL && in->started)
		ats_chan_expect_sinks(link_chan(in->c->f->link), false);
}

/* Bytes that the pipe took; the program having closed it takes everything. */
static size_t
push(struct exec_stdin *in, const char *p, size_t n)
{
	ssize_t put;

	if (in->broken)
		return n;
	if (in->fd < 0 || n == 0)
		return 0;
	put = ats_fd_write(in->fd, p, n);
	if (put >= 0)
		return (size_t)put;
	if (errno == EAGAIN)
		return 0;
	in->broken = true;
	close_pipe(in);
	return n;
}

static void
drain(struct exec_stdin *in)
{
	size_t n = push(in, in->queue.data, in->queue.len);

	ats_buf_consume(&in->queue, n);
	consumed(in, n);
	if (in->fd < 0)
		return;
	if (in->queue.len > 0)
		(void)event_add(&in->ev, NULL);
	else if (in->eof)
		close_pipe(in);
}

void
exec_stdin_on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	drain(arg);
}

struct exec_stdin *
exec_stdin_new(struct call *c)
{
	struct exec_stdin *in = ats_calloc(1, sizeof(*in));

	if (in == NULL)
		return NULL;
	in->c = c;
	in->fd = -1;
	ats_buf_init(&in->queue, EXEC_STDIN_WINDOW);
	grant(in, EXEC_STDIN_WINDOW);
	return in;
}

void
exec_stdin_free(struct exec_stdin *in)
{
	if (in == NULL)
		return;
	close_pipe(in);
	ats_buf_done(&in->queue);
	free(in);
}

void
exec_stdin_open(struct exec_stdin *in, int fd)
{
	in->started = true;
	in->fd = fd;
	if (event_assign(&in->ev, in->c->f->base, fd, EV_WRITE, exec_stdin_on_writable, in) < 0) {
		in->broken = true;
		ats_fd_close(&in->fd);
	} else if (link_chan(in->c->f->link) != NULL) {
		ats_chan_expect_sinks(link_chan(in->c->f->link), true);
	}
	drain(in);
}

int
exec_stdin_sink_fd(const struct exec_stdin *in)
{
	return in->queue.len > 0 || in->eof ? -1 : in->fd;
}

int
exec_stdin_take(struct exec_stdin *in, const struct ats_frame *fr,
    const struct ats_msg_EVENT_STDIN *m, struct ats_err *err)
{
	size_t spliced = fr->head.payload_len - fr->payload_n, n;

	if (in->eof && m->eof && fr->head.payload_len == 0 && m->offset == in->received)
		return 0; /* said again on another link */
	if (m->offset != in->received || in->eof)
		return ats_err_set(err, ATS_E_PROTO, "stdin: not the bytes that follow");
	if (fr->head.payload_len > in->granted - in->received)
		return ats_err_set(err, ATS_E_CREDIT, "stdin: more than the window");
	in->received += fr->head.payload_len;
	in->eof = m->eof;
	consumed(in, spliced);
	n = in->queue.len > 0 ? 0 : push(in, fr->payload, fr->payload_n);
	consumed(in, n);
	if (n < fr->payload_n &&
	    ats_buf_add(&in->queue, fr->payload + n, fr->payload_n - n) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "stdin: no memory");
	if (in->started)
		drain(in);
	return 0;
}

int
exec_stdin_resume(struct exec_stdin *in, uint64_t sent, struct ats_err *err)
{
	struct link *l = in->c->f->link;
	char json[96];
	int n;

	if (sent < in->received)
		return ats_err_set(err, ATS_E_FIELD, "resume: less of stdin than came");
	if (in->fd >= 0)
		ats_chan_expect_sinks(link_chan(l), true);
	n = snprintf(json, sizeof(json), "{\"in\":%" PRIu64 ",\"in_window\":%" PRIu64 "}",
	    in->received, in->granted - in->received);
	(void)link_send(l, ATS_FRAME_RESUMED, in->c->id, json, (size_t)n, NULL, 0);
	return 0;
}

void
exec_stdin_half(struct exec_stdin *in, size_t n)
{
	in->received += n;
	consumed(in, n);
}
