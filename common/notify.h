/* SPDX-License-Identifier: Apache-2.0
 *
 * What a service says to its manager (sd_notify(3)): that it is ready, alive, about to stop. The
 * protocol is a datagram; libsystemd is not linked for it. */
#ifndef ATS_COMMON_NOTIFY_H
#define ATS_COMMON_NOTIFY_H

#include <stdint.h>

struct ats_notify {
	int fd;				/* owned; -1: nobody asks */
	uint64_t watchdog_ms;		/* between two signs of life; 0: none is wanted */
};

/* Takes $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID, and forgets the variables, so that no
 * child speaks for us. A sign of life is due after half of what the manager waits. A place that
 * cannot be reached is as none: a service runs without a manager, too. */
void ats_notify_open(struct ats_notify *ret);
/* Sends one line, such as "READY=1\n". Never blocks; what the manager does not take is lost. */
void ats_notify_say(const struct ats_notify *n, const char *line);
void ats_notify_close(struct ats_notify *n);	/* then nothing more is said; again is fine */

#endif
