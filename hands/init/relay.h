/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes between stdin and stdout and a socket: of --stdio the one that front has as its link,
 * of attach the one of a hands that listens. Carried, never looked at; a buffer each way, and
 * the end of one way does not end the other. */
#ifndef ATS_HANDS_INIT_RELAY_H
#define ATS_HANDS_INIT_RELAY_H

#include <poll.h>
#include <stddef.h>

#include "common/err.h"

struct relay_way {
	int from, to;
	bool eof;
	size_t n, pos;
	char buf[64 << 10];
};
struct relay {
	int sock;		/* -1: off */
	struct relay_way in, out;
};
#define RELAY_POLLS 4

/* Takes sock. 0 and 1 become non-blocking. */
ATS_NODISCARD int relay_start(struct relay *r, int sock, struct ats_err *err);
void relay_poll(const struct relay *r, struct pollfd p[RELAY_POLLS]);
void relay_turn(struct relay *r, const struct pollfd p[RELAY_POLLS]);

#endif
