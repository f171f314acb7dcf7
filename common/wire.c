/* SPDX-License-Identifier: Apache-2.0
 *
 * Wires: which kind a plan asks for, and what all kinds have in common. Runs in the engine and
 * in hands' front; every byte that comes is the peer's. */
#include "common/wire.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fault.h"
#include "common/fd.h"
#include "common/wire_private.h"

#define DRAIN_BYTES (256u << 10)

int
ats_wire_new(int fd, const struct ats_wire_plan *plan, struct ats_wire **ret,
    struct ats_err *err)
{
	struct ats_wire *w = NULL;
	int rc;

	if (ats_fd_nonblock(fd, true) < 0) {
		rc = ats_err_sys(err, "the socket of a link");
		ats_fd_close(&fd);
		return rc;
	}
	if (plan->kind == ATS_ADDR_TLS || plan->kind == ATS_ADDR_WSS)
		rc = ats_wire_tls_new(fd, plan, &w, err);
	else
		rc = ats_wire_plain_new(fd, plan->kind != ATS_ADDR_UNIX, &w);
	if (rc == 0 && (plan->kind == ATS_ADDR_WS || plan->kind == ATS_ADDR_WSS))
		rc = ats_wire_ws_new(w, plan, &w, err);
	if (rc == -ATS_E_NOMEM)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	if (rc == 0)
		*ret = w;
	return rc;
}

/* What came and was not read makes close(2) of a TCP socket a reset, which takes from the peer
 * what it has not read yet: our last words. */
static void
drain(int fd)
{
	char waste[4096];
	size_t left = DRAIN_BYTES;
	ssize_t got;

	(void)shutdown(fd, SHUT_WR);
	do {
		got = recv(fd, waste, sizeof(waste), MSG_DONTWAIT);
		left -= got > 0 ? (size_t)got : 0;
	} while (got > 0 && left >= sizeof(waste));
}

void
ats_wire_free(struct ats_wire *w)
{
	if (w == NULL)
		return;
	if (w->ops->done != NULL)
		w->ops->done(w);
	if (w->network && w->fd >= 0)
		drain(w->fd);
	ats_fd_close(&w->fd);
	free(w);
}

int
ats_wire_fd(const struct ats_wire *w)
{
	return w->fd;
}

ssize_t
ats_wire_recv(struct ats_wire *w, void *buf, size_t n)
{
	return w->ops->recv(w, buf, n);
}

ssize_t
ats_wire_send(struct ats_wire *w, const struct iovec *iov, size_t n, bool more)
{
	return w->ops->send(w, iov, n, more);
}

int
ats_wire_flush(struct ats_wire *w)
{
	return w->ops->flush != NULL ? w->ops->flush(w) : 0;
}

bool
ats_wire_pending(const struct ats_wire *w)
{
	return w->ops->pending != NULL && w->ops->pending(w);
}

bool
ats_wire_wants_write(const struct ats_wire *w)
{
	return w->wants_write || (w->ops->wants_write != NULL && w->ops->wants_write(w));
}

bool
ats_wire_splices(const struct ats_wire *w)
{
	return w->splices;
}

void
ats_wire_shutdown(struct ats_wire *w)
{
	if (w->ops->shutdown != NULL)
		w->ops->shutdown(w);
}

const char *
ats_wire_why(const struct ats_wire *w)
{
	return w->why;
}

bool
ats_wire_exporter(const struct ats_wire *w, unsigned char ret_bytes[32])
{
	return w->ops->exporter != NULL && w->ops->exporter(w, ret_bytes);
}

int
ats_wire_fail(struct ats_wire *w, int code, const char *fmt, ...)
{
	va_list ap;

	if (w->why[0] == '\0') {
		va_start(ap, fmt);
		(void)vsnprintf(w->why, sizeof(w->why), fmt, ap);
		va_end(ap);
	}
	return -code;
}

int
ats_wire_fail_errno(struct ats_wire *w)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return -ATS_E_AGAIN;
	if (errno == EPIPE || errno == ECONNRESET)
		return ats_wire_fail(w, ATS_E_EOF, "the peer closed the connection");
	return ats_wire_fail(w, ATS_E_SYS, "%s", strerror(errno));
}

ssize_t
ats_wire_sys_recv(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = ats_fault_eintr() ? -1 : recv(fd, buf, ats_fault_read(n), 0);
	while (got < 0 && errno == EINTR);
	return got;
}

ssize_t
ats_wire_sys_send(int fd, struct iovec *iov, size_t n, bool more)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = n };
	ssize_t put;

	iov[n - 1].iov_len = ats_fault_write(iov[n - 1].iov_len);
	do
		put = ats_fault_eintr() ? -1 :
		    sendmsg(fd, &msg, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
	while (put < 0 && errno == EINTR);
	return put;
}
