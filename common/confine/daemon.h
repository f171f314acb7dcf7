/* SPDX-License-Identifier: Apache-2.0
 *
 * How each process of ours that has a peer begins to confine itself. What it may reach
 * (Landlock) and call (seccomp) follows, and is its own. */
#ifndef ATS_COMMON_CONFINE_DAEMON_H
#define ATS_COMMON_CONFINE_DAEMON_H

#include <stdint.h>

#include "common/err.h"

/* Resource limits of a daemon, undumpable, no_new_privs, and no capability but those of keep
 * (bit n is capability n) that it has. 0 or -ATS_E_CONFINE with the step's name; then the
 * caller must _exit. */
ATS_NODISCARD int ats_confine_daemon(uint64_t keep, struct ats_err *err);

#endif
