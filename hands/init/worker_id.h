/* SPDX-License-Identifier: Apache-2.0
 *
 * The user id of a box's workers, where root starts it and the workspace does not decide. Each
 * box has its own: what the kernel counts by user (RLIMIT_NPROC, pipes, watches) is counted over
 * the whole machine, containers and all, and one box must not use up what is another's. */
#ifndef ATS_HANDS_INIT_WORKER_ID_H
#define ATS_HANDS_INIT_WORKER_ID_H

#include <sys/types.h>

/* The one that this state directory has had (its home belongs to it); else any of
 * ROLE_UID_WORKERS that /etc/passwd does not name: with ten boxes two have the same in one of
 * twenty times, and then share what is counted. */
uid_t worker_id_choose(const char *state);

#endif
