/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels: life cycle and sending. Runs in the engine and in hands' front. What is sent is
 * ours; how slowly it is taken, and when the connection ends, is the peer's choice.
 * Invariants: nothing is written out of order; a callback may free the channel, the struct
 * lives until the last callback on the stack has returned. */
#include "common/chan.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The wire said AGAIN: it waits to write or, in a handshake, for the peer. That it is heard
 * while closing, when nothing is read any more, is for this alone. */
static void
arm(struct ats_chan *c)
{
	bool writes = ats_wire_splices(c->wire) || ats_wire_wants_write(c->wire);
	int rc = 0;

	if (writes)
		rc = event_add(c->wr, NULL);
	else if (c->closing)
		rc = event_add(c->rd, NULL);
	if (writes && c->closing)
		(void)event_del(c->rd);
	if (rc < 0)
		ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
}

static void
send_failed(struct ats_chan *c, int rc)
{
	if (rc == -ATS_E_EOF)
		ats_chan_peer_gone(c);
	else
		ats_chan_fail(c, -rc, ats_wire_why(c->wire));
}

/* Bytes written, 0 when the wire takes none now, -1 when the channel failed. */
static ssize_t
put_iov(struct ats_chan *c, const struct iovec *iov, size_t n, bool more)
{
	ssize_t put = ats_wire_send(c->wire, iov, n, more);

	if (put >= 0)
		return put;
	if (put == -ATS_E_AGAIN)
		return 0;
	send_failed(c, (int)put);
	return -1;
}

/* What the wire holds itself. True when that has left. */
static bool
flush_wire(struct ats_chan *c)
{
	int rc = ats_wire_splices(c->wire) ? 0 : ats_wire_flush(c->wire);

	if (rc == -ATS_E_AGAIN)
		arm(c);
	else if (rc < 0)
		send_failed(c, rc);
	return rc == 0;
}

void
ats_chan_flush(struct ats_chan *c)
{
	while (!c->closed && !c->freed && !c->deaf) {
		struct iovec iov = { .iov_base = c->out.data,
			.iov_len = c->splice_left > 0 ? c->splice_at : c->out.len };
		ssize_t put;
		int rc;

		if (iov.iov_len == 0 && c->splice_left == 0)
			break;
		if (iov.iov_len == 0) {
			rc = ats_stream_splice(c);
			if (rc == 0)
				arm(c);
			if (rc <= 0)
				return;
			continue;
		}
		put = put_iov(c, &iov, 1, c->splice_left > 0);
		if (put == 0)
			arm(c);
		if (put <= 0)
			return;
		ats_buf_consume(&c->out, (size_t)put);
		if (c->splice_left > 0)
			c->splice_at -= (size_t)put;
	}
	if (c->closed || c->freed || c->deaf)
		return;
	ats_buf_reset(&c->out);
	if (!flush_wire(c) || !c->closing)
		return;
	ats_wire_shutdown(c->wire);
	ats_chan_fail(c, c->code, c->why);
}

/* Appends the parts. Nothing, or all of it. */
static int
queue_parts(struct ats_chan *c, const struct iovec *parts, size_t n)
{
	size_t total = 0;
	char *p;
	int rc;

	for (size_t i = 0; i < n; i++)
		total += parts[i].iov_len;
	rc = ats_buf_reserve(&c->out, total, &p);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		memcpy(p, parts[i].iov_base, parts[i].iov_len);
		p += parts[i].iov_len;
	}
	ats_buf_commit(&c->out, total);
	return 0;
}

/* Takes n bytes off the front of the parts. */
static void
skip_parts(struct iovec *parts, size_t *n_parts, size_t n)
{
	size_t whole = 0;

	while (whole < *n_parts && n >= parts[whole].iov_len)
		n -= parts[whole++].iov_len;
	*n_parts -= whole;
	memmove(parts, parts + whole, *n_parts * sizeof(*parts));
	if (*n_parts > 0) {
		parts[0].iov_base = (char *)parts[0].iov_base + n;
		parts[0].iov_len -= n;
	}
}

/* Straight into the wire; what it does not take is queued. A wire that took a part without
 * waiting for the socket (it makes records) is asked again at once. */
static int
send_now(struct ats_chan *c, struct iovec *parts, size_t n)
{
	ssize_t put, sent = 0;

	do {
		put = put_iov(c, parts, n, false);
		if (put < 0)
			return -ATS_E_EOF;
		skip_parts(parts, &n, (size_t)put);
		sent += put;
	} while (n > 0 && put > 0 && !ats_wire_wants_write(c->wire));
	if (n > 0 && queue_parts(c, parts, n) < 0) {
		if (sent > 0)		/* half a frame is out: nothing may follow it */
			ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
		return -ATS_E_NOMEM;
	}
	if (n > 0 || ats_wire_wants_write(c->wire))
		arm(c);
	return 0;
}

int
ats_chan_send(struct ats_chan *c, uint8_t type, uint8_t kind, uint64_t call,
    const char *json, size_t json_len, const void *payload, size_t payload_len)
{
	unsigned char head[ATS_FRAME_HEAD];
	struct ats_frame_head h = { .type = type, .kind = kind, .call = call };
	struct iovec parts[3] = { { head, sizeof(head) } };
	size_t n = 1;

	if (c->closed || c->closing || c->freed || c->deaf)
		return -ATS_E_EOF;
	if (json_len > ATS_FRAME_MAX - ATS_FRAME_HEAD ||
	    payload_len > ATS_FRAME_MAX - ATS_FRAME_HEAD - json_len)
		return -ATS_E_TOOBIG;
	if (c->out.len >= ATS_CHAN_OUT_MAX)
		return -ATS_E_FULL;
	h.json_len = (uint32_t)json_len;
	h.len = (uint32_t)(ATS_FRAME_HEAD + json_len + payload_len);
	ats_frame_head_put(&h, head);
	/* iovec has no const; the wire and memcpy only read. */
	if (json_len > 0)
		parts[n++] = (struct iovec){ (void *)(uintptr_t)json, json_len };
	if (payload_len > 0)
		parts[n++] = (struct iovec){ (void *)(uintptr_t)payload, payload_len };
	if (c->corked == 0 && c->out.len == 0 && c->splice_left == 0)
		return send_now(c, parts, n);
	return queue_parts(c, parts, n);
}

void
ats_chan_cork(struct ats_chan *c)
{
	c->corked++;
}

void
ats_chan_uncork(struct ats_chan *c)
{
	if (c->corked == 0 || --c->corked > 0)
		return;
	if (c->out.len > 0)
		ats_chan_flush(c);
	if (c->first != NULL && !c->closed)
		ats_chan_kick(c);
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

size_t
ats_chan_queued(const struct ats_chan *c)
{
	return c->out.len + c->splice_left;
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
