/* SPDX-License-Identifier: Apache-2.0
 *
 * Unix sockets of a command's own where no namespace keeps the host's apart (see
 * box_has_own_sockets): the kernel stops the command's socket(2), bind(2) and connect(2) and asks
 * the monitor, which never lets one go on. It makes the socket itself and gives it to the
 * command, keeping one for itself until it is bound or connected: so it knows a socket by its
 * inode, and does with its own what the command asks. It copies an address once and does with
 * it as own_place.h says. The filter leaves a command no other call that takes an address. When
 * the monitor is gone the calls fail. */
#ifndef ATS_HANDS_CONFINE_OWN_SOCKETS_H
#define ATS_HANDS_CONFINE_OWN_SOCKETS_H

#include <poll.h>
#include <stdint.h>

#include "hands/confine/own_place.h"

#define OWN_WAITING_MAX 8u	/* connects that wait for a listener that has enough to do */

#define OWN_MADE_MAX 64u	/* made and not bound or connected; the oldest one is forgotten */

struct own_sockets {
	int listener;		/* -1: none */
	struct own_place place;
	struct own_made {
		int sock;	/* -1: free */
		ino_t ino;
	} made[OWN_MADE_MAX];
	size_t next;		/* of them */
	struct own_waiting {
		uint64_t id;
		int sock;
		char path[OWN_ADDRESS];
	} waiting[OWN_WAITING_MAX];
	size_t nwaiting;
};

/* place is copied, its descriptors are borrowed. */
void own_sockets_init(struct own_sockets *s, const struct own_place *place);
/* In the process that will run the command, the last of its filters: gives the listener to
 * channel, a socket, and keeps nothing. */
ATS_NODISCARD int own_sockets_confine(int channel, struct ats_err *err);
/* In the monitor, when that was done; an earlier listener is closed. */
ATS_NODISCARD int own_sockets_take(struct own_sockets *s, int channel, struct ats_err *err);
void own_sockets_close(struct own_sockets *s);
/* For poll(2), and the time it may take: wait_ms (-1: any) or less. */
struct pollfd own_sockets_poll(const struct own_sockets *s);
int own_sockets_wait(const struct own_sockets *s, int wait_ms);
/* Answers one call at most, so that a command that asks all the time keeps nobody waiting. */
void own_sockets_turn(struct own_sockets *s, short revents);

#endif
