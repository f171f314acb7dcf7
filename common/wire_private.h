/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kinds of wires share. A kind is a table of functions and a struct that begins with
 * struct ats_wire; WebSocket stands on another wire, which it owns. */
#ifndef ATS_COMMON_WIRE_PRIVATE_H
#define ATS_COMMON_WIRE_PRIVATE_H

#include "common/wire.h"

struct ats_wire_ops {
	ssize_t (*recv)(struct ats_wire *w, void *buf, size_t n);
	ssize_t (*send)(struct ats_wire *w, const struct iovec *iov, size_t n, bool more);
	/* These may be NULL: nothing to do, never pending, no session, only memory. */
	int (*flush)(struct ats_wire *w);
	bool (*pending)(const struct ats_wire *w);
	bool (*wants_write)(const struct ats_wire *w);	/* beside w->wants_write */
	void (*shutdown)(struct ats_wire *w);
	bool (*exporter)(const struct ats_wire *w, unsigned char ret_bytes[32]);
	void (*done)(struct ats_wire *w);		/* frees what the kind holds, not w */
};

struct ats_wire {
	const struct ats_wire_ops *ops;
	int fd;				/* owned by the lowest wire; the others say -1 */
	bool wants_write;
	bool splices;
	bool network;			/* TCP below: its end is drained, see ats_wire_free */
	char why[256];
};

/* Each takes what it stands on, also on failure. */
ATS_NODISCARD int ats_wire_plain_new(int fd, bool network, struct ats_wire **ret);
ATS_NODISCARD int ats_wire_tls_new(int fd, const struct ats_wire_plan *plan,
    struct ats_wire **ret, struct ats_err *err);
ATS_NODISCARD int ats_wire_ws_new(struct ats_wire *lower, const struct ats_wire_plan *plan,
    struct ats_wire **ret, struct ats_err *err);

/* Notes why, unless there is a reason already. Returns -code. */
int ats_wire_fail(struct ats_wire *w, int code, const char *fmt, ...) ATS_PRINTF(3, 4);
/* The same for what a system call left in errno: -ATS_E_AGAIN, -ATS_E_EOF, -ATS_E_SYS. */
int ats_wire_fail_errno(struct ats_wire *w);
/* Fault points of tests, restarted on EINTR: like recv(2) and sendmsg(2) otherwise. */
ssize_t ats_wire_sys_recv(int fd, void *buf, size_t n);
ssize_t ats_wire_sys_send(int fd, struct iovec *iov, size_t n, bool more);

#endif
