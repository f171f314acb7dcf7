/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels: life cycle, and the events of their sockets. Runs in the engine and in hands' front;
 * when the connection ends is the peer's choice.
 * Invariant: a callback may free the channel, the struct lives until the last callback on the
 * stack has returned. */
#include "common/chan.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/chan_private.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/wire_private.h"

static void
destroy(struct ats_chan *c)
{
	if (c->rd != NULL)
		event_free(c->rd);
	if (c->wr != NULL)
		event_free(c->wr);
	if (c->kick != NULL)
		event_free(c->kick);
	if (c->linger != NULL)
		event_free(c->linger);
	ats_wire_free(c->wire);
	ats_fd_close(&c->hold[0]);
	ats_fd_close(&c->hold[1]);
	ats_buf_done(&c->out);
	free(c->in.buf);
	free(c);
}

void
ats_chan_give(struct ats_chan *c, const struct ats_chan_ops *ops, void *ctx)
{
	c->ops = ops;
	c->ctx = ctx;
}

void
ats_chan_free(struct ats_chan *c)
{
	if (c == NULL)
		return;
	c->freed = true;
	if (c->busy == 0)
		destroy(c);
}

/* Every event callback ends here: the place where the channel may go away. */
static void
settle(struct ats_chan *c)
{
	if (!c->freed && c->closed && !c->reported) {
		c->reported = true;
		c->ops->closed(c->ctx, c->code, c->why);
	}
	c->busy--;
	if (c->freed && c->busy == 0)
		destroy(c);
}

void
ats_chan_kick(struct ats_chan *c)
{
	event_active(c->kick, EV_TIMEOUT, 0);
}

void
ats_chan_again(struct ats_chan *c)
{
	static const struct timeval now = { 0, 0 };

	(void)event_add(c->kick, &now);
}

/* closed() is never called from inside a function that the owner called: the kick does. */
void
ats_chan_fail(struct ats_chan *c, int code, const char *why)
{
	if (c->closed)
		return;
	c->closed = true;
	if (!c->closing) {		/* else the reason is the owner's */
		c->code = code < 0 ? -code : code;
		(void)snprintf(c->why, sizeof(c->why), "%s", why);
	}
	(void)event_del(c->rd);
	(void)event_del(c->wr);
	(void)event_del(c->linger);
	ats_chan_kick(c);
}

void
ats_chan_peer_gone(struct ats_chan *c)
{
	c->deaf = true;
	(void)event_del(c->wr);
	if (c->closing)			/* nothing is read any more */
		ats_chan_fail(c, ATS_E_EOF, "the peer closed the connection");
}

/* After reading: what came may have let the wire write (a handshake's step, an answer of its
 * own), and with it what waited in the queue. */
static void
drive(struct ats_chan *c)
{
	if (ats_wire_splices(c->wire) || c->closed || c->freed || c->deaf || c->corked > 0)
		return;
	ats_chan_flush(c);
	if (c->first != NULL)
		ats_stream_pump(c);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct ats_chan *c = arg;

	(void)fd;
	(void)what;
	c->busy++;
	ats_chan_read_turn(c, true);
	drive(c);
	settle(c);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct ats_chan *c = arg;

	(void)fd;
	(void)what;
	c->busy++;
	ats_chan_flush(c);
	if (!c->closed && !c->freed && ats_wire_pending(c->wire))
		ats_chan_again(c);	/* a handshake's last bytes came with the first data */
	ats_stream_pump(c);
	settle(c);
}

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct ats_chan *c = arg;
	bool more;

	(void)fd;
	(void)what;
	c->busy++;
	more = !c->freed && ats_wire_pending(c->wire);
	if (c->in.leftover || more)
		ats_chan_read_turn(c, more);
	drive(c);
	ats_stream_pump(c);
	settle(c);
}

static void
on_linger(evutil_socket_t fd, short what, void *arg)
{
	struct ats_chan *c = arg;

	(void)fd;
	(void)what;
	c->busy++;
	ats_chan_fail(c, c->code, c->why);
	settle(c);
}

/* MSG_NOSIGNAL has no counterpart in splice(2): a vanished peer must be an error. */
static void
ignore_sigpipe(void)
{
	struct sigaction now;

	if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		(void)signal(SIGPIPE, SIG_IGN);
}

struct ats_chan *
ats_chan_new(struct event_base *base, int fd, const struct ats_chan_ops *ops, void *ctx)
{
	struct ats_wire *w;

	if (ats_fd_nonblock(fd, true) < 0) {
		ats_fd_close(&fd);
		return NULL;
	}
	return ats_wire_plain_new(fd, false, &w) == 0 ?
	    ats_chan_new_wire(base, w, ops, ctx) : NULL;
}

struct ats_chan *
ats_chan_new_wire(struct event_base *base, struct ats_wire *w, const struct ats_chan_ops *ops,
    void *ctx)
{
	struct ats_chan *c = ats_calloc(1, sizeof(*c));
	int fd = ats_wire_fd(w);

	if (c == NULL) {
		ats_wire_free(w);
		return NULL;
	}
	ignore_sigpipe();
	ats_fd_widen(fd);
	*c = (struct ats_chan){ .base = base, .ops = ops, .ctx = ctx, .wire = w, .fd = fd,
		.no_splice = !ats_wire_splices(w), .splice_fd = -1, .hold = { -1, -1 },
		.last_rx_us = ats_clock_us() };
	ats_buf_init(&c->out, ATS_CHAN_OUT_MAX + ATS_FRAME_MAX);
	c->in.cap = CHAN_IN_REST;
	c->in.buf = ats_malloc(c->in.cap);
	c->rd = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, c);
	c->wr = event_new(base, fd, EV_WRITE, on_writable, c);
	c->kick = event_new(base, -1, 0, on_kick, c);
	c->linger = event_new(base, -1, 0, on_linger, c);
	if (c->in.buf == NULL || c->rd == NULL || c->wr == NULL || c->kick == NULL ||
	    c->linger == NULL || event_add(c->rd, NULL) < 0 ||
	    (ats_wire_wants_write(w) && event_add(c->wr, NULL) < 0)) {
		destroy(c);
		return NULL;
	}
	return c;
}

void
ats_chan_expect_sinks(struct ats_chan *c, bool on)
{
	c->sinks = on && ats_wire_splices(c->wire);
}

void
ats_chan_close(struct ats_chan *c, int code, const char *why)
{
	static const struct timeval patience = { CHAN_LINGER_S, 0 };

	if (c->closed || c->closing || c->freed)
		return;
	c->code = code < 0 ? -code : code;
	(void)snprintf(c->why, sizeof(c->why), "%s", why);
	c->closing = true;
	c->corked = 0;
	(void)event_del(c->rd);
	(void)event_add(c->linger, &patience);
	if (c->deaf)
		ats_chan_fail(c, c->code, c->why);
	ats_chan_flush(c);
}

uint64_t
ats_chan_last_rx_us(const struct ats_chan *c)
{
	return c->last_rx_us;
}

int
ats_chan_fd(const struct ats_chan *c)
{
	return c->fd;
}

struct ats_wire *
ats_chan_wire(const struct ats_chan *c)
{
	return c->wire;
}
