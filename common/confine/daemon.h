/* SPDX-License-Identifier: Apache-2.0
 *
 * How each process of ours that has a peer confines itself: ats_confine_daemon, ats_confine_reach,
 * then its filter (ats_seccomp_install). What it may reach and call is its own. */
#ifndef ATS_COMMON_CONFINE_DAEMON_H
#define ATS_COMMON_CONFINE_DAEMON_H

#include <stdint.h>

#include "common/err.h"

struct ats_landlock_rules;

/* Resource limits of a daemon, undumpable, no_new_privs, and no capability but those of keep
 * (bit n is capability n) that it has. 0 or -ATS_E_CONFINE with the step's name; then the
 * caller must _exit. */
ATS_NODISCARD int ats_confine_daemon(uint64_t keep, struct ats_err *err);
/* Landlock, for ever; rules as ats_landlock_build has them, of any ABI. A kernel without it is no
 * reason to refuse: the filter and the uid remain, and `atsctl doctor` tells. 0 or
 * -ATS_E_CONFINE. */
ATS_NODISCARD int ats_confine_reach(const struct ats_landlock_rules *rules, struct ats_err *err);

#endif
