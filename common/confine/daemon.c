/* SPDX-License-Identifier: Apache-2.0
 *
 * The common steps of a daemon's confinement. Runs in it, once, before a peer's first byte. */
#include "common/confine/daemon.h"

#include <linux/capability.h>

#include "common/confine/caps.h"
#include "common/confine/landlock.h"
#include "common/confine/limits.h"
#include "common/fd.h"

static int
drop_caps(uint64_t keep, struct ats_err *err)
{
	uint64_t have = ats_caps_effective();
	int rc;

	keep &= have;
	if ((have >> CAP_SETPCAP & 1) == 0 || keep == 0)
		return ats_caps_drop_all(err);
	rc = ats_caps_lock_securebits(err);
	if (rc == 0)
		rc = ats_caps_bound(keep, err);
	return rc < 0 ? rc : ats_caps_keep(keep, err);
}

int
ats_confine_daemon(uint64_t keep, struct ats_err *err)
{
	int rc = ats_limits_set(ats_limits_daemon, ats_limits_ndaemon, err);

	if (rc == 0)
		rc = ats_caps_undumpable(err);
	/* Before the capabilities: without CAP_SETPCAP it is what makes the rest harmless. */
	if (rc == 0)
		rc = ats_caps_no_new_privs(err);
	return rc < 0 ? rc : drop_caps(keep, err);
}

int
ats_confine_reach(const struct ats_landlock_rules *rules, struct ats_err *err)
{
	int rc, set ATS_CLEANUP_FD = -1;

	if (ats_landlock_abi() == 0)
		return 0;
	rc = ats_landlock_build(rules, &set, NULL, err);
	return rc < 0 ? rc : ats_landlock_restrict(set, err);
}
