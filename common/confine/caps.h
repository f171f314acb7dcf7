/* SPDX-License-Identifier: Apache-2.0
 *
 * Capabilities, no_new_privs and dumpability of the calling process. Each step reads back
 * what it set and fails closed; err begins with the step's name ("caps.bounding: ..."). A
 * partial drop cannot be repaired: after an error the caller must _exit. */
#ifndef ATS_COMMON_CONFINE_CAPS_H
#define ATS_COMMON_CONFINE_CAPS_H

#include <stdint.h>

#include "common/err.h"

/* All return 0 or -ATS_E_CONFINE. */
ATS_NODISCARD int ats_caps_no_new_privs(struct ats_err *err);
ATS_NODISCARD int ats_caps_undumpable(struct ats_err *err);
/* noroot, no_setuid_fixup, no keep_caps, no_ambient_raise, all locked. Needs CAP_SETPCAP;
 * after a setresuid away from 0 it is too late. */
ATS_NODISCARD int ats_caps_lock_securebits(struct ats_err *err);
/* Drops every capability but those of keep (bit n is capability n) from the bounding set.
 * Needs CAP_SETPCAP unless there is nothing to drop. */
ATS_NODISCARD int ats_caps_bound(uint64_t keep, struct ats_err *err);
/* Clears ambient; sets permitted and effective to keep (a subset of what there is) and
 * inheritable to nothing. */
ATS_NODISCARD int ats_caps_keep(uint64_t keep, struct ats_err *err);
/* Checks that no set, ambient included, holds a capability; bounding too when asked. */
ATS_NODISCARD int ats_caps_verify_empty(bool bounding, struct ats_err *err);
/* All of the above with keep = 0, in order, uid kept. A process without CAP_SETPCAP cannot
 * lower its bounding set or lock its securebits: then no_new_privs is what makes both
 * harmless, and it must be set already. */
ATS_NODISCARD int ats_caps_drop_all(struct ats_err *err);
/* The effective set, 0 on error. */
uint64_t ats_caps_effective(void);

#endif
