/* SPDX-License-Identifier: Apache-2.0
 *
 * Confinement as one ordered list of steps. Each moment of a process's life runs those
 * steps that belong to it; any failure ends that process before a peer's byte is read. */
#ifndef ATS_HANDS_CONFINE_APPLY_H
#define ATS_HANDS_CONFINE_APPLY_H

#include "common/addr.h"
#include "hands/confine/filters.h"

enum confine_moment {
	CONFINE_FRONT = 1,	 /* front, before its exec; see confine_front */
	CONFINE_FILE_ZYGOTE = 2, /* read and write zygotes; workers inherit it */
	CONFINE_FILE_WORKER = 4, /* after the fork */
	CONFINE_SHELL_ZYGOTE = 8,
	CONFINE_MONITOR = 16, /* first process of a call, before it forks the shell */
	CONFINE_SHELL = 32    /* the shell's process, before exec */
};

struct confine {
	const struct box *box;
	enum ats_profile profile;
	int ruleset;			/* Landlock of the workers; -1: kernel has none */
	enum filter filter;
	struct ats_seccomp_prog prog;
	struct ats_seccomp_prog command;	/* FILTER_COMMAND; shells only */
};

/* Builds what is built once: the ruleset and the filter. Paths must be in their place. */
ATS_NODISCARD int confine_prepare(struct confine *c, const struct box *b,
    enum ats_profile profile, struct ats_err *err);
/* Runs the steps. On failure err begins with the step's name and the caller must end with
 * CONFINE_EXIT. Nothing is undone. */
ATS_NODISCARD int confine_apply(const struct confine *c, enum confine_moment m,
    struct ats_err *err);
#define CONFINE_EXIT 125
#define ZYGOTE_EXIT_STAYS 124	/* a zygote: a protected name cannot be put back, the box ends */
#define CONFINE_FD_MIN 16	/* descriptors that outlive a shell's dup2s lie above */

/* front: no exec, no fork, writes to its spill directory and that of the host's tools only; -1
 * for both, or the second: none. */
ATS_NODISCARD int confine_front(int spill_fd, int tools_fd, struct ats_err *err);
/* The dialer: as front, and of files it reads those that say where names are asked, of TCP it
 * connects to that port and to name servers. Root becomes ROLE_UID_FRONT for the network. */
ATS_NODISCARD int confine_dialer(const struct ats_addr *a, struct ats_err *err);

#endif
