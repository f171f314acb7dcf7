/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed messages between our own processes (vault, spawner, engine, and atsctl to the
 * vault) over SOCK_SEQPACKET: u16 type, u32 seq, then tagged values in the order of the
 * message's row in a .def table. One datagram, at most ATS_IPC_MAX bytes and
 * ATS_FD_PASS_MAX descriptors. A message with a byte left over is refused. No JSON, no
 * pointers, nothing variable but length-checked strings without NUL. */
#ifndef ATS_COMMON_IPC_H
#define ATS_COMMON_IPC_H

#include <stdint.h>

#include "common/fd.h"

#define ATS_IPC_MAX 65536
#define ATS_IPC_FIELDS 8

/* sig: one letter a field, 'u' uint64, 's' string; e.g. "uss". max_str caps each string. */
struct ats_ipc_row {
	uint16_t type;
	const char *name;
	const char *sig;
	unsigned from;		/* bit set of who may send it; the table's own meaning */
	unsigned fds;		/* descriptors it carries at most */
};
struct ats_ipc_msg {
	uint16_t type;
	uint32_t seq;
	unsigned n;
	uint64_t u[ATS_IPC_FIELDS];	/* by field index */
	const char *s[ATS_IPC_FIELDS];	/* by field index; borrowed from buf on receive */
	int fds[ATS_FD_PASS_MAX];
	size_t nfds;
	size_t len;			/* received, in buf */
	char buf[ATS_IPC_MAX];
};

/* Sends; the row for m->type is looked up in rows[nrows] and gives the shape. fds are
 * borrowed. -ATS_E_PROTO if the message does not fit its row, -ATS_E_AGAIN, -ATS_E_EOF. */
ATS_NODISCARD int ats_ipc_send(int sock, const struct ats_ipc_row *rows, size_t nrows,
    const struct ats_ipc_msg *m);
/* Receives one message, accepting only rows with (row->from & from). Returns 1, 0 at EOF,
 * -ATS_E_AGAIN, or -ATS_E_PROTO (descriptors are closed). Received fds belong to m:
 * ats_ipc_done closes those that were not stolen (set to -1), and wipes the strings: a message
 * may carry a key. */
ATS_NODISCARD int ats_ipc_recv(int sock, const struct ats_ipc_row *rows, size_t nrows,
    unsigned from, struct ats_ipc_msg *ret_m);
void ats_ipc_done(struct ats_ipc_msg *m);

#endif
