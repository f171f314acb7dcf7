/* SPDX-License-Identifier: Apache-2.0
 *
 * A tiny single-threaded fork server, one per profile; see hands/job.h for what it says
 * to front. Its children are workers (worker.h) or monitors (monitor.h). */
#ifndef ATS_HANDS_WORKER_ZYGOTE_H
#define ATS_HANDS_WORKER_ZYGOTE_H

#include "hands/confine/apply.h"
#include "hands/confine/guard.h"
#include "hands/confine/own_place.h"
#include "hands/job.h"

#define ZYGOTE_WORKERS_MAX 256

/* The role: role-zygote PROFILE BOX WORKSPACE REPOSITORY HANDS NUMBER [K=V...] [RULE...];
 * REPOSITORY: where it lies elsewhere, or ""; NUMBER strings that every command's environment
 * has; rules of what is hidden from tools.
 * Returns the exit status. */
int zygote_main(int argc, char **argv);

/* For its children. What a child has of its zygote. */
struct zygote_child {
	const struct confine *confine;
	const struct box *box;
	uint64_t serial;
	uint32_t flags;			/* of the WANT */
	int roots[4]; /* O_PATH: workspace, tmp, home, spill; -1 absent */
	bool has_bash;
	const char *const *env;		/* shell: what front gives each command first */
	size_t nenv;
	int oom, forks;			/* shell: counters of the box's cgroup, or -1 */
	struct budget_disk *disk;	/* shell; or NULL */
	struct guard *guard;		/* or NULL */
	unsigned slot;			/* its number with the guard */
	struct own_place sockets;	/* shell */
};
/* Gives front the worker's descriptors (borrowed) and closes the zygote's socket. Negative: front
 * was told that there will be none. */
ATS_NODISCARD int zygote_announce(
    const struct zygote_child *z, const int *fds, size_t nfds);
/* Says FAILED and ends the child with CONFINE_EXIT. */
void zygote_fail(const struct ats_err *err) __attribute__((noreturn));

#endif
