/* SPDX-License-Identifier: Apache-2.0
 *
 * Resource limits from a table, set for soft and hard at once and read back. */
#ifndef ATS_COMMON_CONFINE_LIMITS_H
#define ATS_COMMON_CONFINE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct ats_limit {
	int resource;		/* RLIMIT_* */
	const char *name;	/* for messages */
	uint64_t value;		/* lowered to the present hard limit; UINT64_MAX: leave it */
};
#define ATS_LIMIT_CPU_GRACE_S 2	/* RLIMIT_CPU: from SIGXCPU to SIGKILL */
/* 0 or -ATS_E_CONFINE with the limit's name. */
ATS_NODISCARD int ats_limits_set(const struct ats_limit *limits, size_t n,
    struct ats_err *err);
/* Raises the soft limit of open files to 16384, or to the hard one; not more, for programs that
 * close all that there may be. It is also how many descriptors of its user may be under way in
 * sockets when this process passes one (unix(7)), and a command of the same user may have thousands
 * there. What cannot be raised stays. */
void ats_limits_raise_files(void);
/* What each daemon of ours takes: CORE, RTPRIO, NICE and MSGQUEUE 0. */
extern const struct ats_limit ats_limits_daemon[];
extern const size_t ats_limits_ndaemon;

#endif
