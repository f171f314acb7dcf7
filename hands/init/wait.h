/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher's long part: it reaps, passes signals on, and ends box and command in order.
 * As pid 1 of a container that is all there is of an init. */
#ifndef ATS_HANDS_INIT_WAIT_H
#define ATS_HANDS_INIT_WAIT_H

#include <sys/types.h>

#include "common/err.h"

struct acceptor;
struct newest;
struct relay;

/* Container engines send SIGKILL 10 s after the first signal; our end comes before. */
#define WAIT_STOP_MS 8000

struct wait {
	int signals;		/* of wait_signals, borrowed */
	pid_t box;		/* its init */
	pid_t command;		/* 0: none */
	pid_t dialer;		/* 0: none; ends by itself when front does */
	bool namespaced;	/* the box ends whole when its init does */
	struct relay *relay;	/* borrowed */
	struct acceptor *acceptor;	/* borrowed */
	struct newest *newest;		/* borrowed */
};

/* Blocks the signals that wait_for_end takes, before the first child is made; fills *ret_fd
 * (owned by the caller). Orphans of what we start become our children. */
ATS_NODISCARD int wait_signals(int *ret_fd, struct ats_err *err);

/* Returns the exit status, 128+N for death by signal N.
 *
 * Without a command the box's end is the end; TERM, INT, QUIT and HUP ask it to end. With one
 * it gets every signal, its end is the end, and its status is ours; TERM is for the box, too.
 * A box that ends in order before it (no brain came) leaves it running; one that fails takes
 * it along. What was asked to end has WAIT_STOP_MS, or until it is asked again. Nothing that
 * was started here runs when this returns. */
int wait_for_end(const struct wait *w);

#endif
