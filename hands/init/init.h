/* SPDX-License-Identifier: Apache-2.0
 *
 * init: first process of the box. Builds it, starts front and the zygotes, reaps,
 * restarts a zygote that died, and ends the box when front ends. Reads no peer's byte. */
#ifndef ATS_HANDS_INIT_INIT_H
#define ATS_HANDS_INIT_INIT_H

#include "hands/confine/cgroup.h"
#include "hands/init/keys.h"
#include "hands/init/options.h"

struct init_plan {			/* made by the launcher, inherited by the fork */
	const struct hands_options *options;
	struct box box;
	struct cgroups *groups;		/* borrowed; or NULL */
	bool probe;			/* build, report, end */
	/* No weaker situation will be tried when this one fails, so front may greet its
	 * peer while the view is being built: pivot_root moves it along. */
	bool early_front;
	int exe;			/* this program, for execveat */
	int link, listen;		/* or -1 */
	int relay;			/* tools_place_make: listens, or -1 */
	const struct keys *keys;	/* the launcher's: after the fork only its paths are */
	int key;			/* of keys_pass, for front; or -1 */
	int workspace;			/* O_PATH, in the launcher's mount namespace, or -1 */
	int idmap_ws;			/* user namespace, or -1 */
	int status;			/* to the launcher: one struct init_status */
	int launcher;			/* SEQPACKET to it, for newest.h; or -1 */
	uid_t uid;			/* of the launcher */
	gid_t gid;
};
struct init_status {
	bool ok;
	uint32_t facts;
	struct ats_err err;
};

void init_main(const struct init_plan *plan) __attribute__((noreturn));

#endif
