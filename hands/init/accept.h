/* SPDX-License-Identifier: Apache-2.0
 *
 * --listen: who may attach. Of a Unix socket the kernel says who connects (SO_PEERCRED), and
 * only outside of the box's user namespace does it say so truly; and the box has no network. So
 * the launcher accepts, looks, and passes the connection on to front. It reads no byte of it. */
#ifndef ATS_HANDS_INIT_ACCEPT_H
#define ATS_HANDS_INIT_ACCEPT_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/addr.h"

#define ACCEPT_A_SECOND 32u	/* from the network; others wait in the backlog */

struct acceptor {
	int listen;		/* -1: off; owned */
	int to;			/* SEQPACKET, one descriptor a datagram; owned */
	char kind;		/* the byte with it, see roles.h */
	const uid_t *uids;	/* beside root and our own; borrowed */
	size_t nuids;
	uint64_t again_ms;	/* out of descriptors, or too many came: not before */
	uint64_t second_ms;	/* since then we have passed on */
	unsigned passed;
	uint64_t logged_ms, refused;	/* since the last line on the log */
};

/* Listens there. A Unix socket is for our own uid alone, or for all where other uids are allowed,
 * since then the look at each peer decides; whoever comes from the network will have to prove who
 * he is. *ret_front, owned, is what front takes connections from. */
ATS_NODISCARD int accept_start(struct acceptor *a, const struct ats_addr *addr,
    const uid_t *uids, size_t nuids, int *ret_front, struct ats_err *err);
/* Milliseconds until it wants a turn; -1 none. */
int accept_poll(const struct acceptor *a, struct pollfd *p);
void accept_turn(struct acceptor *a, const struct pollfd *p);
void accept_end(struct acceptor *a);

#endif
