/* SPDX-License-Identifier: Apache-2.0
 *
 * The first process of a shell call: pid 1 of its pid namespace, outside the Landlock
 * domain of what it starts, not dumpable. Prepared with a bash that waits for its
 * command. */
#ifndef ATS_HANDS_WORKER_MONITOR_H
#define ATS_HANDS_WORKER_MONITOR_H

#include "common/tree.h"
#include "hands/confine/own_sockets.h"
#include "hands/worker/job.h"
#include "hands/worker/monitor_limits.h"
#include "hands/worker/tty.h"
#include "hands/worker/zygote.h"

#define MONITOR_GRACE_MS 100	/* for processes that are left when the shell ended */

#define JOB_STRINGS_MAX 512

struct monitor {
	const struct zygote_child *z;
	struct tree tree;
	int sock, signals;
	int out[2], err[2], in[2];
	int command;		/* to the waiting bash, -1 none */
	int fields;		/* what it reads then */
	bool in_workspace;	/* it waits there */
	int input;		/* JOB_INPUT: what becomes stdin, -1 none */
	pid_t shell;
	bool ended;
	bool killed;		/* front said KILL */
	uint64_t written;	/* bytes, by the processes that were reaped */
	struct job job;
	const char *cwd;
	const char *strings[JOB_STRINGS_MAX];	/* the job's environment */
	size_t nstrings;
	struct tty tty;
	struct own_sockets sockets;
	struct limits limits;
	struct job_exit exit;
	struct guard_mark mark;
};

void monitor_main(const struct zygote_child *z) __attribute__((noreturn));

#endif
