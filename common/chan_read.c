/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels: receiving. Runs in the engine and in hands' front; every byte is the peer's.
 * A header is judged before its body is waited for, the buffer grows with the bytes that
 * came and never beyond one frame, and a turn is bounded. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "common/chan_private.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/wire.h"

static size_t
unread(const struct chan_reader *in)
{
	return in->end - in->pos;
}

/* Body bytes that must be in memory before the frame can be delivered. */
static size_t
body_need(const struct chan_reader *in)
{
	return (size_t)in->head.json_len + in->head.payload_len - in->spliced;
}

static bool
wants_sink(const struct ats_chan *c)
{
	return c->sinks && c->ops->sink != NULL && !c->in.sink_over &&
	    c->in.head.payload_len > c->in.spliced;
}

/* ---- bytes ------------------------------------------------------------------------ */

/* Moves the unread bytes into a buffer of cap bytes. */
static int
resize(struct chan_reader *in, size_t cap)
{
	char *p;

	if (in->pos > 0) {
		memmove(in->buf, in->buf + in->pos, unread(in));
		in->end -= in->pos;
		in->pos = 0;
	}
	if (cap == in->cap)
		return 0;
	p = ats_realloc(in->buf, cap);
	if (p == NULL)
		return -ATS_E_NOMEM;
	in->buf = p;
	in->cap = cap;
	return 0;
}

/* For a body of need bytes with its header before it. Another of about the size has room, too,
 * where it comes, and need not be moved to the front. */
static size_t
room_for(size_t need)
{
	return (need + ATS_FRAME_HEAD + CHAN_IN_REST - 1) / CHAN_IN_REST * CHAN_IN_REST;
}

/* Room at the end for what is awaited: doubling what is half full, so that a header alone,
 * which may claim 20 MiB, makes nothing large. */
static int
make_room(struct chan_reader *in, size_t need)
{
	bool filled = in->end == in->cap;
	size_t cap = in->cap;

	if (in->pos == in->end)
		in->pos = in->end = 0;
	if (filled && in->cap < CHAN_IN_BASE)
		return resize(in, CHAN_IN_BASE);
	/* Moving a short rest to the front is cheaper than the small reads it would cause. */
	if (in->cap - in->end < in->cap / 2 && in->pos >= unread(in))
		return resize(in, in->cap);
	if (in->pos + need <= in->cap && in->end < in->cap)
		return 0;
	if (need > in->cap && unread(in) >= in->cap / 2)
		cap = in->cap * 2 < need ? in->cap * 2 : room_for(need);
	return resize(in, cap);
}

/* Where a large frame came, the next may be as large. After a pause, which heartbeats end, the
 * memory goes: of a thousand sandboxes most are idle. */
static void
shrink_after_pause(struct ats_chan *c)
{
	struct chan_reader *in = &c->in;

	if (in->cap > CHAN_IN_REST && in->pos == in->end && !in->have_head &&
	    ats_clock_us() - c->last_rx_us >= CHAN_KEEP_US)
		(void)resize(in, CHAN_IN_REST);
}

/* One recv. 1 came, 0 nothing now, -1 the channel failed. need: bytes awaited from pos. */
static int
fill(struct ats_chan *c, size_t need)
{
	struct chan_reader *in = &c->in;
	size_t room;
	ssize_t got;

	shrink_after_pause(c);
	if (make_room(in, need) < 0) {
		ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
		return -1;
	}
	room = in->cap - in->end;
	if (room > CHAN_TURN_BYTES)
		room = CHAN_TURN_BYTES;
	/* With sinks about, bytes of the next payload must stay in the socket. */
	if (c->sinks && room > need - unread(in))
		room = need - unread(in);
	got = ats_wire_recv(c->wire, in->buf + in->end, room);
	if (got > 0) {
		in->end += (size_t)got;
		c->last_rx_us = ats_clock_us();
		return 1;
	}
	if (got == -ATS_E_AGAIN)
		return 0;
	if (got == -ATS_E_EOF && (in->have_head || unread(in) > 0))
		ats_chan_fail(c, ATS_E_EOF, "the peer closed in the middle of a frame");
	else
		ats_chan_fail(c, (int)-got, ats_wire_why(c->wire));
	return -1;
}

/* ---- sinks ------------------------------------------------------------------------ */

/* Payload bytes that are in memory already go first. */
static void
sink_buffered(struct chan_reader *in, int pipe_fd)
{
	char *p = in->buf + in->pos + in->head.json_len;
	size_t n = unread(in) - in->head.json_len, left = in->head.payload_len - in->spliced;
	ssize_t put;

	if (n > left)
		n = left;
	if (n == 0)
		return;
	put = ats_fd_write(pipe_fd, p, n);
	if (put <= 0) {
		in->sink_over = true;
		return;
	}
	memmove(p, p + put, (size_t)(in->buf + in->end - p) - (size_t)put);
	in->end -= (size_t)put;
	in->spliced += (size_t)put;
	if ((size_t)put < n)
		in->sink_over = true;
}

/* EAGAIN of a splice may mean either end. */
static bool
pipe_is_full(int pipe_fd)
{
	struct pollfd p = { .fd = pipe_fd, .events = POLLOUT };

	return poll(&p, 1, 0) != 1 || (p.revents & POLLOUT) == 0;
}

/* Moves payload into the sink. 1 nothing left for it, 0 wait for the socket, -1 failed. */
static int
sink_step(struct ats_chan *c)
{
	struct chan_reader *in = &c->in;
	struct ats_frame f = { .head = in->head, .json = in->buf + in->pos };
	int pipe_fd = c->ops->sink(c->ctx, &f);
	ssize_t got;

	if (c->freed || c->closed || c->closing)
		return -1;
	if (pipe_fd < 0) {
		in->sink_over = true;
		return 1;
	}
	sink_buffered(in, pipe_fd);
	while (!in->sink_over && in->head.payload_len > in->spliced) {
		got = splice(c->fd, NULL, pipe_fd, NULL, in->head.payload_len - in->spliced,
		    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (got > 0) {
			in->spliced += (size_t)got;
			c->last_rx_us = ats_clock_us();
		} else if (got == 0) {
			ats_chan_fail(c, ATS_E_EOF,
			    "the peer closed in the middle of a frame");
			return -1;
		} else if (errno == EAGAIN && !pipe_is_full(pipe_fd)) {
			return 0;
		} else if (errno != EINTR) {
			in->sink_over = true;	/* full, closed or no pipe: to memory */
		}
	}
	return 1;
}

size_t
ats_chan_cut(const struct ats_chan *c, struct ats_frame_head *ret_head)
{
	if (!c->in.have_head || c->in.spliced == 0)
		return 0;
	*ret_head = c->in.head;
	return c->in.spliced;
}

/* ---- frames ----------------------------------------------------------------------- */

static int
take_head(struct ats_chan *c)
{
	struct chan_reader *in = &c->in;
	struct ats_err err = { .text = "" };
	int rc;

	rc = ats_frame_head_get((const unsigned char *)in->buf + in->pos, &in->head, &err);
	if (rc == 0)
		rc = c->ops->check(c->ctx, &in->head, &err);
	if (c->freed || c->closed || c->closing)
		return -1;
	if (rc < 0) {
		ats_chan_fail(c, -rc, err.text[0] != '\0' ? err.text : ats_err_text(rc));
		return -1;
	}
	in->pos += ATS_FRAME_HEAD;
	in->have_head = true;
	in->spliced = 0;
	in->sink_over = false;
	return 0;
}

static int
deliver(struct ats_chan *c)
{
	struct chan_reader *in = &c->in;
	struct ats_frame f = { .head = in->head, .json = in->buf + in->pos,
		.payload = in->buf + in->pos + in->head.json_len,
		.payload_n = in->head.payload_len - in->spliced };
	struct ats_err err = { .text = "" };
	int rc = c->ops->frame(c->ctx, &f, &err);

	if (c->freed)
		return -1;
	in->pos += body_need(in);
	in->have_head = false;
	if (rc < 0)
		ats_chan_fail(c, -rc, err.text[0] != '\0' ? err.text : ats_err_text(rc));
	if (c->closed || c->closing)
		return -1;
	if (in->pos == in->end)
		in->pos = in->end = 0;
	if (in->cap > CHAN_IN_KEEP && unread(in) <= CHAN_IN_BASE)
		(void)resize(in, CHAN_IN_BASE);
	return 1;
}

/* One frame from what is buffered. 1 delivered, 0 more bytes are needed (*ret_need counted
 * from pos), -1 stop. */
static int
take_frame(struct ats_chan *c, size_t *ret_need)
{
	struct chan_reader *in = &c->in;
	int rc;

	*ret_need = ATS_FRAME_HEAD;
	if (!in->have_head) {
		if (unread(in) < ATS_FRAME_HEAD)
			return 0;
		if (take_head(c) < 0)
			return -1;
	}
	*ret_need = in->head.json_len;
	if (wants_sink(c)) {
		if (unread(in) < in->head.json_len)
			return 0;
		rc = sink_step(c);
		if (rc <= 0)
			return -1;	/* failed, or spliced all there is: no recv */
	}
	*ret_need = body_need(in);
	if (unread(in) < *ret_need)
		return 0;
	return deliver(c);
}

static void
read_turn(struct ats_chan *c, bool readable)
{
	unsigned frames = 0;
	size_t need, bytes = 0;
	bool full = false;
	int rc;

	c->in.leftover = false;
	while (!c->closed && !c->closing && !c->freed) {
		rc = take_frame(c, &need);
		if (rc < 0)
			return;
		if (rc > 0) {
			bytes += c->in.head.len;
			if (++frames < CHAN_TURN_FRAMES && bytes < CHAN_TURN_BYTES)
				continue;
			c->in.leftover = true;
			ats_chan_again(c);
			return;
		}
		/* One recv a turn, another for the rest of a frame that filled the buffer; with
		 * sinks about a frame takes several small ones. */
		if (!(readable || (full && c->in.have_head)) || fill(c, need) <= 0)
			return;
		readable = c->sinks;
		full = c->in.end == c->in.cap;
	}
}

void
ats_chan_read_turn(struct ats_chan *c, bool readable)
{
	read_turn(c, readable);
	/* The socket says nothing of what the wire has taken from it already. */
	if (!c->closed && !c->closing && !c->freed && ats_wire_pending(c->wire))
		ats_chan_again(c);
}
