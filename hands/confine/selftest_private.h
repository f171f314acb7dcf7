/* SPDX-License-Identifier: Apache-2.0
 *
 * What the self-test's runner and its checks share. */
#ifndef ATS_HANDS_CONFINE_SELFTEST_PRIVATE_H
#define ATS_HANDS_CONFINE_SELFTEST_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hands/confine/selftest.h"
#include "hands/worker/job.h"

/* What a check rests on; it is left out where that was never claimed. */
#define ON_WALL 1u		/* anything that keeps files apart: not at level none */
#define ON_VIEW 2u
#define ON_BARE 4u		/* no view: the filter has to do it */
#define ON_SCOPES 8u		/* Landlock ABI 6 */
#define ON_NO_NET 16u		/* the network is off */
#define ON_OWN 32u		/* box_has_own_sockets: the monitor decides */

struct selftest {
	const struct zygote_child *z;
	struct sockaddr_un abstract;	/* the monitor listens there */
	socklen_t abstract_len;		/* 0: it does not */
	struct sockaddr_un path;	/* and there, unless tmp has too long a name */
};
struct check {
	const char *name;
	unsigned profiles, on;	/* 1u << enum ats_profile; ON_ */
	bool (*holds)(const struct selftest *s);
};
/* Of each profile, and of shells alone; both end with a row without a name. */
extern const struct check selftest_checks[], selftest_shell_checks[];

/* Sockets of the host; NULL-terminated. */
extern const char *const selftest_host_sockets[];
/* True: refused. */
bool selftest_no_open(const char *path, int flags);

#endif
