/* SPDX-License-Identifier: Apache-2.0
 *
 * The state directory where workers have a user id of their own and no view: they reach home and
 * tmp by the host's path, so that each directory above must let others through. */
#ifndef ATS_HANDS_INIT_BARE_STATE_H
#define ATS_HANDS_INIT_BARE_STATE_H

#include <limits.h>

#include "common/err.h"

/* Leaves state as it is when others may pass all directories above it; else (a daemon's state is
 * closed, and stays so) replaces it by one that it makes and that is found again: below
 * /var/lib/ats-hands or /run/ats-hands-state, named by a digest of state. -ATS_E_SYS. */
ATS_NODISCARD int bare_state(char state[PATH_MAX], struct ats_err *err);

#endif
