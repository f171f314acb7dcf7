/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting a role: fork, user and capabilities, descriptors, exec of this same file. */
#ifndef ATS_HANDS_INIT_START_H
#define ATS_HANDS_INIT_START_H

#include "hands/confine/box.h"

#define START_FDS_MAX 11

struct start_fd {
	int from; /* borrowed; -1: absent, an O_PATH descriptor stands there */
	int to;
};
struct start_plan {
	const struct box *box;
	enum ats_profile profile;	/* FRONT: front */
	int exe;			/* O_PATH */
	const char *const *argv;
	struct start_fd fds[START_FDS_MAX];
	size_t nfds;
	bool await_exec;	/* return when the role runs, or has ended */
};
/* Returns the pid or a negative code. That the exec failed is seen by the child's end. */
ATS_NODISCARD pid_t start_role(const struct start_plan *p);

#endif
