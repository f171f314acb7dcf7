/* SPDX-License-Identifier: Apache-2.0
 *
 * How a command ended, and what is said about it. Pure. */
#ifndef ATS_HANDS_FRONT_OUTCOME_H
#define ATS_HANDS_FRONT_OUTCOME_H

#include <stdint.h>

#include "common/buf.h"

enum outcome_kind {
	OUTCOME_EXIT,
	OUTCOME_SIGNAL,
	OUTCOME_TIMEOUT,
	OUTCOME_CANCELLED,
	OUTCOME_OOM,
	OUTCOME_PIDS,
	OUTCOME_SECCOMP,
	OUTCOME_CPU,
	OUTCOME_FILE_SIZE
};
/* Who ended it. */
enum outcome_by {
	BY_COMMAND,	/* itself, or a signal of its own */
	BY_KERNEL,	/* a forbidden system call, or a limit that ends a process */
	BY_TIMEOUT,	/* the call's timeout parameter */
	BY_DEFAULT,	/* the timeout of calls that name none */
	BY_MAXIMUM,	/* the longest timeout there is */
	BY_DEADLINE,	/* the caller's, for the whole call */
	BY_CALLER,	/* who cancelled the call */
	BY_KILL,	/* KillShell, TaskStop */
	BY_LIFE		/* it had run for as long as a command in the background may */
};
/* Why front ended it, if it did. */
enum outcome_ended { ENDED_ITSELF, ENDED_TIMEOUT, ENDED_CANCEL, ENDED_KILLED };

struct outcome {
	enum outcome_kind kind;
	unsigned code; /* exit status or signal number */
	bool is_error;
	int err;	    /* ATS_E_* of a result that is an error, or 0 */
	const char *benign; /* what a harmless exit status means, or NULL; static */
	enum outcome_by by; /* BY_TIMEOUT for any end by time: the caller knows which */
};

/* As results have them; static. */
const char *outcome_kind_name(enum outcome_kind kind);
const char *outcome_by_name(enum outcome_by by);
/* status: wait status; flags: EXIT_* of job.h. command may be NULL (exec) and is only
 * looked at when the status is 1; printed: whether there was output. */
void outcome_decide(int status, unsigned flags, enum outcome_ended ended,
    const char *command, bool printed, struct outcome *ret);
/* What exit status 1 of this command means when it is no failure (grep, diff, test ...),
 * or NULL. The last command of the last list decides, as it does for bash. */
const char *outcome_benign(const char *command, bool printed);
/* Appends the sentence an error begins with ("Exit code 2"), without a newline; nothing
 * for a success. limit_ms is the timeout that was in force. */
int outcome_line(const struct outcome *o, uint64_t limit_ms, struct ats_buf *out);
/* "SIGKILL" and so on; never NULL. */
const char *outcome_signal_name(unsigned number);

#endif
