/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a brain no longer than somebody waits for us. Process: atsctl; its standard input is
 * the client's, which ends it when it goes. */
#ifndef ATS_CTL_LEAVE_H
#define ATS_CTL_LEAVE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* Of a command whose client is at standard input, as long as brain is being reached. */
struct leave {
	bool owes;		/* an answer to what was read already */
	bool asked;		/* something stood in it when it ended */
	uint64_t end_ms;	/* when the wait ends, since its client has gone; 0: it is there */
};
/* poll(2) of one descriptor, or of none (p NULL, or its fd -1), for at most wait_ms (< 0: for
 * ever), where brain is waited for. l is NULL for a command that no end of standard input ends.
 * When that ends the wait may go on for a moment, in which a brain that refuses says why: then
 * the process ends, with 0. Where something was read, or can be read, that wants an answer it is
 * longer, and its end is -ATS_E_TIMEOUT. 0 when p is ready, or wait_ms has passed: the caller
 * looks. */
ATS_NODISCARD int leave_poll(struct leave *l, struct pollfd *p, int wait_ms,
    struct ats_err *err);

#endif
