/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain wire: the socket itself. Runs in the engine and in hands' front; every byte that
 * comes is the peer's. Nothing is held here, and splice(2) may go around it. */
#include <string.h>
#include <sys/socket.h>

#include "common/fault.h"
#include "common/fd.h"
#include "common/wire_private.h"

#define PARTS_MAX 8u

static ssize_t
plain_recv(struct ats_wire *w, void *buf, size_t n)
{
	ssize_t got = ats_wire_sys_recv(w->fd, buf, n);

	if (got > 0)
		return got;
	if (got == 0)
		return ats_wire_fail(w, ATS_E_EOF, "the peer closed the connection");
	return ats_wire_fail_errno(w);
}

static ssize_t
plain_send(struct ats_wire *w, const struct iovec *iov, size_t n, bool more)
{
	struct iovec part[PARTS_MAX];
	size_t total = 0;
	ssize_t put;

	if (n > PARTS_MAX)
		n = PARTS_MAX;
	memcpy(part, iov, n * sizeof(*iov));
	for (size_t i = 0; i < n; i++)
		total += part[i].iov_len;
	put = ats_wire_sys_send(w->fd, part, n, more);
	w->wants_write = put < 0 || (size_t)put < total;
	return put < 0 ? ats_wire_fail_errno(w) : put;
}

/* Nothing is held: what a full socket refused is its caller's. */
static int
plain_flush(struct ats_wire *w)
{
	w->wants_write = false;
	return 0;
}

static const struct ats_wire_ops plain_ops = {
	.recv = plain_recv,
	.send = plain_send,
	.flush = plain_flush,
};

int
ats_wire_plain_new(int fd, bool network, struct ats_wire **ret)
{
	struct ats_wire *w = ats_calloc(1, sizeof(*w));

	if (w == NULL) {
		ats_fd_close(&fd);
		return -ATS_E_NOMEM;
	}
	*w = (struct ats_wire){ .ops = &plain_ops, .fd = fd, .splices = true,
		.network = network };
	*ret = w;
	return 0;
}
