/* SPDX-License-Identifier: Apache-2.0
 *
 * A control group of a box: what all its processes hold together. Made by the launcher beneath
 * or, in a delegated tree of cgroup v2, beside its own group, entered by init before zygotes are
 * started (front, of which no tool runs, may be outside), removed when the box has ended. Best
 * effort: what cannot be had is reported.
 *
 * A group's directory is locked (flock) as long as its launcher or init lives. One that nobody
 * locks was left behind by a kill -9 and is removed by the next launcher. */
#ifndef ATS_HANDS_CONFINE_CGROUP_H
#define ATS_HANDS_CONFINE_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "hands/confine/budget.h"

struct cgroup {			/* in one hierarchy; -1 where there is none */
	int parent;
	int dir;		/* locked */
	int tasks;		/* cgroup v1: writing 0 enters */
};
struct cgroups {
	char name[32];
	struct cgroup memory, pids;	/* in cgroup v2 memory stands for both */
	int into;		/* cgroup v2: for CLONE_INTO_CGROUP; borrowed, or -1 */
	int oom, forks;		/* memory.events or its like, pids.events; or -1 */
	bool has_memory, has_pids;
	char why[160];		/* what kept has_memory from being true */
};

/* Never fails: has_memory and has_pids say what came of it. */
void cgroups_make(struct cgroups *g, const struct budget *b);
/* fork(2) with namespace flags, into the group where that is how it is entered. Clears has_* in
 * both processes when the group cannot be entered. */
pid_t cgroups_fork(struct cgroups *g, unsigned long flags);
/* In the child: enters the groups of cgroup v1. */
void cgroups_enter(struct cgroups *g);
/* Removes the group when all its processes have ended, and closes everything. */
void cgroups_end(struct cgroups *g);

/* Reads the number behind key ("oom_kill ") at the beginning of a line of an open file of a
 * group. False: not there. */
bool cgroups_count(int fd, const char *key, uint64_t *ret);

#endif
