/* SPDX-License-Identifier: Apache-2.0
 *
 * The input of an exec. Runs in the engine; the pipe is a client's, the credit and what is asked
 * for again a sandbox's: neither may block the loop or grow memory past the window. It is copied,
 * not spliced: a splice leaves nothing to send again. */
#include "brain/engine/exec_stdin.h"

#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "brain/engine/engine.h"
#include "brain/engine/link.h"
#include "common/chan.h"
#include "common/fd.h"
#include "common/hold.h"

#define STDIN_MAX (1u << 20)	/* on its way; hands gives no more credit */

struct exec_stdin {
	struct call *call;		/* NULL before the start */
	int fd;
	bool shared;
	struct event *event;
	struct ats_stream *feed;	/* NULL: not begun, or not resumed yet */
	struct ats_hold hold;		/* not yet taken by the program, as far as we know */
	uint64_t offset;		/* of the next byte to send */
	uint64_t window, granted;	/* the first credit; position up to which it goes */
	bool over;			/* the pipe is at its end */
	bool eof_sent;			/* on this link */
	bool stopped;
};

/* Needs no credit, but comes last. */
static void
send_eof(struct exec_stdin *in)
{
	struct ats_msg_EVENT_STDIN m = {
		.offset = in->offset, .has_offset = true, .eof = true, .has_eof = true,
	};

	in->over = true;
	if (in->feed == NULL || in->eof_sent || in->offset < ats_hold_end(&in->hold))
		return;
	/* A failure is the link's, which then is lost. */
	in->eof_sent =
	    link_send(in->call->box, ATS_FRAME_EVENT_STDIN, in->call->id, &m, NULL) == 0;
}

/* Bytes in the pipe; -1 at its end. */
static int
has(const struct exec_stdin *in)
{
	struct pollfd p = { .fd = in->fd, .events = POLLIN };
	int n = 0;

	if (ioctl(p.fd, FIONREAD, &n) < 0)
		return -1;
	if (n > 0)
		return n;
	if (poll(&p, 1, 0) == 1 && (p.revents & POLLIN) == 0 &&
	    (p.revents & (POLLHUP | POLLERR)) != 0)
		return -1;
	return 0;
}

/* false: there is no room until hands has taken some. */
static bool
take(struct exec_stdin *in, size_t max)
{
	size_t room;
	ssize_t n;
	char *p;

	room = ats_hold_room(&in->hold, max, &p);
	if (room == 0)
		return false;
	if (in->shared)		/* before each use: the flag is the client's to change */
		(void)(ats_fd_nonblock(in->fd, true) < 0);
	n = ats_fd_read(in->fd, p, room);
	if (n > 0)
		ats_hold_commit(&in->hold, (size_t)n);
	return true;
}

static void
on_pump(void *ctx, size_t max, struct ats_chunk *ret)
{
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_EVENT_STDIN];
	struct exec_stdin *in = ctx;
	size_t n;

	ret->n = 0;
	if (!in->over && in->offset == ats_hold_end(&in->hold) && !take(in, max))
		return;
	n = ats_hold_at(&in->hold, in->offset, &ret->mem);
	if (n == 0) {
		if (in->over || has(in) < 0)
			send_eof(in);
		else
			(void)event_add(in->event, NULL);
		return;
	}
	ret->n = n < max ? n : max;
	ret->type = row->type;
	ret->kind = row->kind;
	ret->json_len = (size_t)snprintf(ret->json, sizeof(ret->json), "{\"offset\":%llu}",
	    (unsigned long long)in->offset);
	in->offset += ret->n;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct exec_stdin *in = arg;

	(void)fd;
	(void)what;
	if (has(in) < 0)	/* the end needs no credit */
		send_eof(in);
	else if (in->feed != NULL)
		ats_stream_ready(in->feed);
}

struct exec_stdin *
exec_stdin_new(int fd, bool shared)
{
	struct exec_stdin *in = calloc(1, sizeof(*in));

	if (in == NULL) {
		ats_fd_close(&fd);
		return NULL;
	}
	in->fd = fd;
	in->shared = shared;
	ats_hold_init(&in->hold, STDIN_MAX);
	return in;
}

void
exec_stdin_free(struct exec_stdin *in)
{
	if (in == NULL)
		return;
	exec_stdin_stop(in);
	if (in->event != NULL)
		event_free(in->event);
	ats_fd_close(&in->fd);
	ats_hold_done(&in->hold);
	free(in);
}

static int
begin(struct exec_stdin *in, uint64_t credit, struct ats_err *err)
{
	struct call *c = in->call;

	in->feed = ats_stream_new(c->box->chan, c->id, credit, on_pump, in);
	if (in->feed == NULL || event_add(in->event, NULL) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "exec");
	return 0;
}

int
exec_stdin_start(struct exec_stdin *in, struct call *c, struct ats_err *err)
{
	in->call = c;
	if (in->event == NULL)
		in->event = event_new(c->e->base, in->fd, EV_READ, on_readable, in);
	if (in->event == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "exec");
	return begin(in, 0, err);
}

int
exec_stdin_window(struct exec_stdin *in, uint64_t bytes, struct ats_err *err)
{
	uint64_t taken;

	if (in->feed == NULL)
		return 0;	/* stopped, or it comes with what is resumed */
	if (ats_stream_credit(in->feed, bytes) < 0)
		return ats_err_set(err, ATS_E_CREDIT, "stdin: credit overflows");
	if (in->granted == 0)
		in->window = bytes;
	in->granted += bytes;
	taken = in->granted - in->window;	/* it gives back what has left it */
	ats_hold_drop(&in->hold, taken < in->offset ? taken : in->offset);
	ats_stream_ready(in->feed);
	return 0;
}

void
exec_stdin_unlinked(struct exec_stdin *in)
{
	ats_stream_free(in->feed);
	in->feed = NULL;
	if (in->event != NULL)
		(void)event_del(in->event);
}

uint64_t
exec_stdin_sent(const struct exec_stdin *in)
{
	return in->offset;
}

int
exec_stdin_resumed(struct exec_stdin *in, uint64_t at, uint64_t window, struct ats_err *err)
{
	int rc;

	if (in->stopped)
		return 0;
	if (at > in->offset || at < in->hold.base)
		return ats_err_set(err, ATS_E_PROTO, "stdin: cannot go on from there");
	if (at > in->hold.base)
		in->call->box->failures = 0;	/* the last link carried something */
	ats_hold_drop(&in->hold, at);
	in->offset = at;
	in->eof_sent = false;
	if (in->granted == 0)
		in->window = window;
	in->granted = at + window;
	rc = begin(in, window, err);
	if (rc < 0)
		return rc;
	ats_stream_ready(in->feed);
	if (in->over)
		send_eof(in);
	return 0;
}

void
exec_stdin_stop(struct exec_stdin *in)
{
	exec_stdin_unlinked(in);
	in->stopped = true;
}
