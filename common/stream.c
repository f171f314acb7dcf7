/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of a channel: bulk data under credit, in turns. Runs in the engine and in hands'
 * front; credit comes from the peer, data from our own pumps.
 * A chunk is made only when nothing is queued, so back-pressure of the socket reaches the
 * producer, and a control frame never waits behind more than one chunk. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/chan_private.h"
#include "common/fault.h"
#include "common/fd.h"

#define CREDIT_MAX (UINT64_C(1) << 63)

struct ats_stream {
	struct ats_chan *chan;
	uint64_t call, credit;
	ats_pump_fn pump;
	void *ctx;
	bool ready;			/* the owner said that there is data */
	bool queued;			/* in the channel's list */
	struct ats_stream *prev, *next;
};

struct ats_stream *
ats_stream_new(struct ats_chan *c, uint64_t call, uint64_t credit, ats_pump_fn pump,
    void *ctx)
{
	struct ats_stream *s = ats_calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	*s = (struct ats_stream){ .chan = c, .call = call, .credit = credit, .pump = pump,
		.ctx = ctx };
	return s;
}

static void
enqueue(struct ats_stream *s)
{
	struct ats_chan *c = s->chan;

	if (s->queued || !s->ready || s->credit == 0)
		return;
	s->queued = true;
	s->prev = c->last;
	s->next = NULL;
	if (c->last != NULL)
		c->last->next = s;
	else
		c->first = s;
	c->last = s;
}

static void
dequeue(struct ats_stream *s)
{
	struct ats_chan *c = s->chan;

	if (!s->queued)
		return;
	if (s->prev != NULL)
		s->prev->next = s->next;
	else
		c->first = s->next;
	if (s->next != NULL)
		s->next->prev = s->prev;
	else
		c->last = s->prev;
	s->queued = false;
}

/* Wakes the pump unless somebody else will: it runs, or a full socket will become free. */
static void
wake(struct ats_stream *s)
{
	struct ats_chan *c = s->chan;

	enqueue(s);
	if (s->queued && !c->pumping && !c->closed && !c->deaf && c->out.len == 0 &&
	    c->splice_left == 0)
		ats_chan_kick(c);
}

void
ats_stream_ready(struct ats_stream *s)
{
	s->ready = true;
	wake(s);
}

int
ats_stream_credit(struct ats_stream *s, uint64_t more)
{
	if (more > CREDIT_MAX || s->credit > CREDIT_MAX - more)
		return -ATS_E_CREDIT;
	s->credit += more;
	wake(s);
	return 0;
}

uint64_t
ats_stream_credit_left(const struct ats_stream *s)
{
	return s->credit;
}

/* ---- from pipes ------------------------------------------------------------------- */

/* Wide enough for a chunk whose pages are not full. */
static bool
open_hold(struct ats_chan *c)
{
	if (c->hold[0] >= 0)
		return true;
	if (ats_fd_pipe(c->hold, O_NONBLOCK) < 0) {
		c->hold[0] = c->hold[1] = -1;
		return false;		/* out of descriptors: copied */
	}
	(void)fcntl(c->hold[1], F_SETPIPE_SZ, 2 * ATS_CHAN_CHUNK);
	return true;
}

size_t
ats_stream_take(struct ats_stream *s, int pipe_fd, size_t max, struct ats_chunk *ret_chunk)
{
	static char block[ATS_CHAN_CHUNK];	/* one loop; sent before the next pump */
	struct ats_chunk *k = ret_chunk;
	struct ats_chan *c = s->chan;
	ssize_t got;
	int have = 0;

	k->mem = NULL;
	k->pipe_fd = -1;
	k->n = 0;
	if (ioctl(pipe_fd, FIONREAD, &have) < 0 || have <= 0)
		return 0;
	if (max > (size_t)have)
		max = (size_t)have;
	if (max > sizeof(block))
		max = sizeof(block);
	if (max >= CHAN_SPLICE_FROM && !c->no_splice && open_hold(c)) {
		got = splice(pipe_fd, NULL, c->hold[1], NULL, max,
		    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		k->pipe_fd = c->hold[0];
	} else {
		got = ats_fd_read(pipe_fd, block, max);
		k->mem = block;
	}
	k->n = got > 0 ? (size_t)got : 0;
	return k->n;
}

/* Reads n bytes that a pipe holds to the end of out. */
static int
queue_from_pipe(struct ats_chan *c, int pipe_fd, size_t n)
{
	int have = 0;
	char *p;

	/* The pipe may be blocking: a pump that promised too much must not hang the loop. */
	if (ioctl(pipe_fd, FIONREAD, &have) < 0 || have < 0 || (size_t)have < n) {
		ats_chan_fail(c, ATS_E_SYS, "a pipe holds less than its pump said");
		return -1;
	}
	if (ats_buf_reserve(&c->out, n, &p) < 0 || ats_fd_read_all(pipe_fd, p, n) < 0) {
		ats_chan_fail(c, ATS_E_NOMEM, "cannot read from a pipe");
		return -1;
	}
	ats_buf_commit(&c->out, n);
	return 0;
}

/* Ends the splice under way by copying: its bytes take their place within out. */
static void
splice_rescue(struct ats_chan *c)
{
	size_t n = c->splice_left, at = c->splice_at, tail = c->out.len - at;
	char *after = NULL;

	if (tail > 0) {
		after = ats_malloc(tail);
		if (after == NULL) {
			ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
			return;
		}
		memcpy(after, c->out.data + at, tail);
		ats_buf_truncate(&c->out, at);
	}
	c->splice_left = c->splice_at = 0;
	if (queue_from_pipe(c, c->splice_fd, n) == 0 && tail > 0 &&
	    ats_buf_add(&c->out, after, tail) < 0)
		ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
	free(after);
	c->splicing = NULL;
	c->splice_fd = -1;
}

int
ats_stream_splice(struct ats_chan *c)
{
	ssize_t put = splice(c->splice_fd, NULL, c->fd, NULL, c->splice_left,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	int have = 0;

	if (put > 0) {
		c->splice_left -= (size_t)put;
		if (c->splice_left == 0)
			c->splicing = NULL;
		return 1;
	}
	if (put < 0 && errno == EINTR)
		return 1;
	if (put < 0 && errno == EINVAL) {
		c->no_splice = true;
		splice_rescue(c);
		return c->closed ? -1 : 1;
	}
	/* Empty would spin for ever on a writable socket; full is what EAGAIN should mean. */
	if (put < 0 && errno == EAGAIN && ioctl(c->splice_fd, FIONREAD, &have) == 0 && have > 0)
		return 0;
	if (put < 0 && (errno == EPIPE || errno == ECONNRESET))
		ats_chan_peer_gone(c);
	else
		ats_chan_fail(c, ATS_E_SYS, "a pipe holds less than its pump said");
	return -1;
}

void
ats_stream_free(struct ats_stream *s)
{
	if (s == NULL)
		return;
	dequeue(s);
	/* Half a frame is out: the other half must be sent though its owner leaves. */
	if (s->chan->splicing == s && s->chan->splice_fd != s->chan->hold[0] &&
	    !s->chan->closed)
		splice_rescue(s->chan);
	else if (s->chan->splicing == s)
		s->chan->splicing = NULL;
	free(s);
}

/* ---- the pump --------------------------------------------------------------------- */

static int
send_head(struct ats_chan *c, const struct ats_stream *s, const struct ats_chunk *k)
{
	unsigned char head[ATS_FRAME_HEAD];
	struct ats_frame_head h = { .type = k->type, .kind = k->kind, .call = s->call,
		.json_len = (uint32_t)k->json_len,
		.len = (uint32_t)(ATS_FRAME_HEAD + k->json_len + k->n) };

	ats_frame_head_put(&h, head);
	if (ats_buf_add(&c->out, head, sizeof(head)) < 0 ||
	    ats_buf_add(&c->out, k->json, k->json_len) < 0) {
		ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
		return -1;
	}
	return 0;
}

static void
send_chunk(struct ats_chan *c, struct ats_stream *s, const struct ats_chunk *k)
{
	if (k->mem != NULL) {
		/* Cannot be full: out is empty. Failures close the channel by themselves. */
		if (ats_chan_send(c, k->type, k->kind, s->call, k->json, k->json_len, k->mem,
			k->n) < 0 && !c->deaf)
			ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
		return;
	}
	if (send_head(c, s, k) < 0)
		return;
	if (k->n < CHAN_SPLICE_FROM || c->no_splice) {
		if (queue_from_pipe(c, k->pipe_fd, k->n) < 0)
			return;
	} else {
		c->splicing = s;
		c->splice_fd = k->pipe_fd;
		c->splice_at = c->out.len;
		c->splice_left = k->n;
	}
	ats_chan_flush(c);
}

/* One chunk of the stream at the head of the list. Bytes sent, 0 when it had none. */
static size_t
pump_one(struct ats_chan *c)
{
	struct ats_stream *s = c->first;
	struct ats_chunk k = { .pipe_fd = -1 };
	size_t max = c->no_splice ? CHAN_COPY_CHUNK : ATS_CHAN_CHUNK;

	if (max > s->credit)
		max = (size_t)s->credit;
	dequeue(s);
	s->pump(s->ctx, max, &k);
	if (k.n == 0) {
		s->ready = false;
		return 0;
	}
	ATS_BUG(k.n > max || k.json_len > sizeof(k.json));
	ATS_BUG(k.mem == NULL && k.pipe_fd < 0);
	s->credit -= k.n;
	enqueue(s);			/* at the end: the others first */
	send_chunk(c, s, &k);
	return k.n;
}

void
ats_stream_pump(struct ats_chan *c)
{
	size_t sent = 0;

	if (c->pumping || c->closing || c->deaf)
		return;
	c->pumping = true;
	while (c->first != NULL && !c->closed && !c->freed && !c->deaf && c->corked == 0 &&
	    c->out.len == 0 && c->splice_left == 0 && sent < CHAN_TURN_BYTES)
		sent += pump_one(c);
	c->pumping = false;
	if (sent >= CHAN_TURN_BYTES && c->first != NULL && !c->closed && !c->freed)
		ats_chan_again(c);
}
