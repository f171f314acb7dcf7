/* SPDX-License-Identifier: Apache-2.0
 *
 * One try to make a box: for the launcher, and for the probe. */
#ifndef ATS_HANDS_INIT_LAUNCH_H
#define ATS_HANDS_INIT_LAUNCH_H

#include "hands/init/init.h"

struct launch {			/* what is tried; all borrowed */
	const struct hands_options *options;
	enum box_situation situation;
	bool probe;		/* init ends when the box stands */
	int link, listen;	/* for front, or -1 */
	const struct keys *keys;	/* or NULL */
	struct cgroups *groups;	/* as cgroups_make has made them */
};
struct launched {		/* a box that stands */
	pid_t init;
	int sock;		/* SEQPACKET to it, see newest.h; owned */
	struct init_status status;
	struct box box;
};

/* How many situations min_level allows to be tried. What is hidden can be kept from shells by
 * mounts only. */
size_t launch_situations(const struct hands_options *o);
/* Prepares the places, starts init, and hears how it went. 0: it runs, or with probe has run.
 * -ATS_E_UNAVAILABLE: this machine does not have the situation, another may be tried; other codes:
 * it went wrong. */
ATS_NODISCARD int launch_try(const struct launch *l, struct launched *ret, struct ats_err *err);

#endif
