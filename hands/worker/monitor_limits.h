/* SPDX-License-Identifier: Apache-2.0
 *
 * Which limit a call ran into, as far as it can be seen without a cgroup of its own. What a
 * program prints is never looked at here. */
#ifndef ATS_HANDS_WORKER_MONITOR_LIMITS_H
#define ATS_HANDS_WORKER_MONITOR_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_EVERY_MS 1000	/* between two looks at the process limit */

struct limits {
	bool watching;
	int oom, forks;		/* counters of the box's cgroup (borrowed), or -1 */
	uint64_t oom_kills;	/* of the box, or of the machine, when the command began */
	bool oom_known;
	uint64_t forks_refused;	/* of the box */
	bool forks_known;
	bool pids_reached;
	uint64_t next_ms;	/* 0: no look is due */
};

/* After the command was started: none of this is on its way. oom, forks: open files of the
 * box's cgroup (memory.events or memory.oom_control, pids.events), or -1. */
void limits_begin(struct limits *l, int oom, int forks);
/* Milliseconds until limits_look is due, -1 never. */
int limits_wait(const struct limits *l);
/* Looks, if it is due. */
void limits_turn(struct limits *l);
/* Looks whether a process can be made, now; before anything is ended, as the answer is
 * another one afterwards. */
void limits_look(struct limits *l);
/* EXIT_OOM, EXIT_OOM_BOX and EXIT_PIDS for a shell that ended with this wait status. */
uint32_t limits_flags(const struct limits *l, int status);
/* Whether the shell or a command of it was killed when it had used limit_s and the time after
 * SIGXCPU, which a program may ignore. used_us: by the shell and all it waited for. */
bool limits_cpu_used(uint64_t limit_s, int status, uint64_t used_us);
/* What one process may hold, in MiB; 0 no limit. */
uint32_t limits_data_mb(void);

#endif
