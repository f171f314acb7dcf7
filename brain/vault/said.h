/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command of a credential writes to stderr: its end is kept for a line of the log. */
#ifndef ATS_VAULT_SAID_H
#define ATS_VAULT_SAID_H

#include "common/buf.h"

struct event;
struct event_base;
struct said {
	int fd;				/* our end, or -1 */
	struct event *rd;
	struct ats_buf tail;
	bool cut;			/* there was more before it */
};

#define SAID_NOTHING { .fd = -1 }

/* *ret_write (owned) is the end for the command. s is read while the loop runs; said_close in any
 * case. -ATS_E_SYS, -ATS_E_NOMEM. */
ATS_NODISCARD int said_open(struct said *s, struct event_base *base, int *ret_write,
    struct ats_err *err);
void said_close(struct said *s);	/* wipes */
/* Takes what is there still, then appends the last whole lines to out. A value of a credential is
 * within a line: none is there by half. */
ATS_NODISCARD int said_lines(struct said *s, struct ats_buf *out);

#endif
