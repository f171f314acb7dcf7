/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs out, replies in. Runs in hands' front; a worker's bytes are hostile. */
#include "hands/front/worker_io.h"

#include "common/fault.h"
#include "common/fd.h"
#include "hands/front/front.h"
#include "hands/front/pool.h"
#include "hands/front/upgrade.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define TX_MAX (24u << 20)
#define READS_PER_TURN 8

union one_fd { /* aligned as a control message must be */
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

/* Jobs not yet taken by their workers, in bytes: one process, one front. */
static size_t unsent_bytes;

size_t
worker_unsent(const struct front *f)
{
	(void)f;
	return unsent_bytes;
}

static struct worker *
make(struct front *f, enum ats_profile profile, uint64_t serial, const int *fds, size_t nfds,
    size_t want)
{
	struct worker *w = ats_calloc(1, sizeof(*w));
	bool ok = w != NULL && nfds == want;

	for (size_t i = 0; i < nfds && ok; i++)
		ok = ats_fd_nonblock(fds[i], true) == 0;
	if (ok) {
		w->f = f;
		w->profile = profile;
		w->serial = serial;
		w->sock = fds[0];
		w->out = nfds > 1 ? fds[1] : -1;
		w->err = nfds > 2 ? fds[2] : -1;
		w->in = nfds > 3 ? fds[3] : -1;
		w->passed = -1;
		ats_buf_init(&w->rx, FRONT_RX_MAX);
		ats_buf_init(&w->tx, TX_MAX);
		ok = event_assign(&w->read_ev, f->base, w->sock, EV_READ | EV_PERSIST,
			 on_readable, w) == 0 &&
		     event_assign(&w->write_ev, f->base, w->sock, EV_WRITE | EV_PERSIST,
			 on_writable, w) == 0 &&
		     event_add(&w->read_ev, NULL) == 0;
	}
	if (!ok) {
		for (size_t i = 0; i < nfds; i++)
			(void)close(fds[i]);
		free(w);
		return NULL;
	}
	return w;
}

struct worker *
worker_new(struct front *f, enum ats_profile profile, uint64_t serial, const int *fds,
    size_t nfds)
{
	return make(f, profile, serial, fds, nfds, profile == ATS_PROFILE_SHELL ? 4 : 1);
}

struct worker *
worker_adopt(struct front *f, enum ats_profile profile, uint64_t serial, int sock)
{
	return make(f, profile, serial, &sock, 1, 1);
}

void
worker_close(struct worker *w)
{
	if (w->sock >= 0) {
		(void)event_del(&w->read_ev);
		(void)event_del(&w->write_ev);
	}
	ats_fd_close(&w->sock);
	ats_fd_close(&w->out);
	ats_fd_close(&w->err);
	ats_fd_close(&w->in);
	ats_fd_close(&w->passed);
	unsent_bytes -= w->tx.len;
	ats_buf_done(&w->rx);
	ats_buf_done(&w->tx);
}

void
worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	worker_close(w);
	free(w);
}

void
worker_release(struct worker *w)
{
	w->ops = NULL;
	worker_close(w);
	pool_on_release(w->f->pool, w);
}

void
worker_done(struct worker *w)
{
	w->ops = NULL;
	pool_on_release(w->f->pool, w);
}

void
worker_lost(struct worker *w, int status)
{
	const struct worker_ops *ops = w->ops;
	void *ctx = w->ctx;

	worker_release(w);
	if (ops != NULL)
		ops->lost(ctx, status);
}

/* ---- out --------------------------------------------------------------------------- */
static int
queue_rest(struct worker *w, const struct iovec *iov, size_t n, size_t skip)
{
	size_t before = w->tx.len;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		size_t off = skip < iov[i].iov_len ? skip : iov[i].iov_len;

		skip -= off;
		if (iov[i].iov_len > off)
			rc = ats_buf_add(&w->tx, (const char *)iov[i].iov_base + off,
			    iov[i].iov_len - off);
	}
	unsent_bytes += w->tx.len - before;
	if (rc == 0 && w->tx.len > 0 && event_add(&w->write_ev, NULL) < 0)
		rc = -ATS_E_NOMEM;
	return rc;
}

/* Sends or queues; fd (-1 none) goes with the first byte. A negative return means that
 * less than all of it can arrive. */
static int
put(struct worker *w, struct iovec *iov, size_t n, int fd)
{
	union one_fd control = { .align = { .cmsg_len = CMSG_LEN(sizeof(int)),
				     .cmsg_level = SOL_SOCKET,
				     .cmsg_type = SCM_RIGHTS } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = n };
	size_t total = 0;
	ssize_t sent = 0;

	for (size_t i = 0; i < n; i++)
		total += iov[i].iov_len;
	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control);
	}
	if (w->tx.len == 0) {
		do
			sent = sendmsg(w->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		while (sent < 0 && errno == EINTR);
		if (sent < 0 && errno != EAGAIN)
			return -ATS_E_EOF;
		if (sent < 0)
			sent = 0;
	}
	if (fd >= 0 && sent == 0)
		return -ATS_E_EOF;
	return (size_t)sent == total ? 0 : queue_rest(w, iov, n, (size_t)sent);
}

int
worker_run(struct worker *w, const struct worker_ops *ops, void *ctx,
    const struct job_head *head, const char *json, const char *extra)
{
	return worker_run_fd(w, ops, ctx, head, json, extra, -1);
}

int
worker_run_fd(struct worker *w, const struct worker_ops *ops, void *ctx,
    const struct job_head *head, const char *json, const char *extra, int fd)
{
	struct job_head h = *head;
	struct iovec iov[3] = {
		{ .iov_base = &h, .iov_len = sizeof(h) },
		/* sendmsg does not write through it. */
		{ .iov_base = (void *)(uintptr_t)json, .iov_len = head->json_len },
		{ .iov_base = (void *)(uintptr_t)extra, .iov_len = head->extra_len },
	};
	int rc = put(w, iov, 3, fd);

	if (rc < 0)
		return rc;
	w->state = WORKER_BUSY;
	w->ops = ops;
	w->ctx = ctx;
	if (ats_fault_kill_worker())
		pool_kill(w->f->pool, w);
	return 0;
}

void
worker_tell(struct worker *w, uint32_t what, uint32_t arg)
{
	struct monitor_msg m = { .what = what, .arg = arg };
	struct iovec iov = { .iov_base = &m, .iov_len = sizeof(m) };

	if (w->sock >= 0) /* one that cannot be told is ending: read_ev says so */
		(void)put(w, &iov, 1, -1);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	ssize_t n;

	(void)what;
	n = send(fd, w->tx.data, w->tx.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0) {
		ats_buf_consume(&w->tx, (size_t)n);
		unsent_bytes -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		unsent_bytes -= w->tx.len;
		ats_buf_reset(&w->tx);
	}
	if (w->tx.len == 0) {
		(void)event_del(&w->write_ev);
		upgrade_poke(w->f);
	}
}

/* ---- in ---------------------------------------------------------------------------- */
/* Size of the reply that begins at p, 0 when its head is not whole, or -ATS_E_PROTO. */
static long
reply_size(const struct worker *w, const char *p, size_t n, struct reply_head *ret)
{
	if (n < sizeof(*ret))
		return 0;
	memcpy(ret, p, sizeof(*ret));
	if (ret->what < REPLY_RESULT || ret->what > REPLY_TEXT || ret->zero != 0 ||
	    ret->json_len > WORKER_JSON_MAX || ret->payload_len > WORKER_PAYLOAD_MAX)
		return -ATS_E_PROTO;
	if (ret->what == REPLY_TEXT &&
	    (ret->json_len > 0 || ret->payload_len > WORKER_PAYLOAD_MAX - w->text_n))
		return -ATS_E_PROTO;
	return (long)(sizeof(*ret) + ret->json_len + ret->payload_len);
}

static void
misbehaved(struct worker *w)
{
	pool_kill(w->f->pool, w);
	worker_lost(w, -1);
}

/* One whole reply at p in rx, whose first text_n bytes are content: more of it, or a reply
 * for the owner. */
static void
deliver_one(struct worker *w, struct ats_buf *rx, char *p, struct reply_head *h)
{
	const char *json = p + sizeof(*h), *payload = json + h->json_len;

	if (h->what == REPLY_TEXT) {
		memmove(rx->data + w->text_n, payload, h->payload_len);
		w->text_n += h->payload_len;
		return;
	}
	if (h->what == REPLY_RESULT && h->payload_len == 0 && w->text_n > 0) {
		payload = rx->data;
		h->payload_len = (uint32_t)w->text_n;
	}
	w->ops->reply(w->ctx, h, json, payload);
}

/* Hands out the whole replies in rx; what stays there is content and the part of a reply.
 * False: the worker is not there any more. */
static bool
deliver(struct worker *w, struct ats_buf *rx)
{
	size_t at = w->text_n, rest;
	struct reply_head h;
	long size;

	while ((size = reply_size(w, rx->data + at, rx->len - at, &h)) > 0 &&
	       (size_t)size <= rx->len - at) {
		if (w->state != WORKER_BUSY || w->ops == NULL) {
			misbehaved(w);
			return false;
		}
		deliver_one(w, rx, rx->data + at, &h);
		if (w->state != WORKER_BUSY)
			return false;
		at += (size_t)size;
	}
	if (size < 0) {
		misbehaved(w);
		return false;
	}
	rest = rx->len - at;
	memmove(rx->data + w->text_n, rx->data + at, rest);
	ats_buf_truncate(rx, w->text_n + rest);
	return true;
}

/* A descriptor that comes along is kept, the newest one. */
static ssize_t
take(struct worker *w, char *p, size_t n)
{
	size_t nfds = 0;
	int fd = -1;
	ssize_t got = ats_fd_recv(w->sock, p, n, &fd, 1, &nfds);

	if (nfds > 0) {
		ats_fd_close(&w->passed);
		w->passed = fd;
	}
	return got;
}

/* Reads into rx. 1 go on, 0 enough for this turn, -1 the worker is gone from our hands. */
static int
read_into(struct worker *w, struct ats_buf *rx)
{
	ssize_t n = -ATS_E_PROTO;
	char *to;

	if (ats_buf_reserve(rx, FRONT_RX_BYTES, &to) == 0)
		n = take(w, to, FRONT_RX_BYTES);
	if (n == -ATS_E_AGAIN)
		return 0;
	if (n == -ATS_E_PROTO) {	/* more bytes or descriptors than any reply has */
		misbehaved(w);
		return -1;
	}
	if (n <= 0) {
		pool_on_eof(w->f->pool, w);
		return -1;
	}
	ats_buf_commit(rx, (size_t)n);
	return deliver(w, rx) ? n == FRONT_RX_BYTES : -1;
}

static struct ats_buf
steal(struct ats_buf *b)
{
	struct ats_buf stolen = *b;

	ats_buf_init(b, b->max);
	return stolen;
}

/* The bytes are nobody's while they are handled: that may end the worker. */
static int
read_once(struct worker *w)
{
	struct front *f = w->f;
	struct ats_buf rx = steal(w->rx.len > 0 ? &w->rx : &f->rx);
	int rc = read_into(w, &rx);

	if (rc >= 0 && rx.len > 0) {
		w->rx = rx;
	} else if (f->rx.base == NULL && rx.cap <= FRONT_RX_KEEP) {
		ats_buf_truncate(&rx, 0);
		f->rx = rx;
	} else {
		ats_buf_done(&rx);
	}
	return rc;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;

	(void)fd;
	(void)what;
	for (int i = 0; i < READS_PER_TURN; i++) {
		if (read_once(w) <= 0)
			return;
	}
}
