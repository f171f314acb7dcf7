/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher: the process that ats-hands starts as, outside the box. Finds the
 * situation by trying, starts init in it, waits; with -- CMD it is also that program's
 * parent. */
#ifndef ATS_HANDS_INIT_LAUNCHER_H
#define ATS_HANDS_INIT_LAUNCHER_H

#include "hands/init/init.h"

/* Returns the exit status. */
int launcher_run(const struct hands_options *o);

struct launched {		/* a box that stands */
	pid_t init;
	int sock;		/* SEQPACKET to it, see newest.h; owned */
	struct init_status status;
	struct box box;
};

/* One try at a situation, for launcher_run and for the probe. plan is filled in from o.
 * On success init runs (or, with probe, has run). groups is the caller's, made by
 * cgroups_make; keys are, too, or NULL. */
ATS_NODISCARD int launcher_try(const struct hands_options *o, enum box_situation s,
    bool probe, int link, int listen, const struct keys *keys, struct cgroups *groups,
    struct launched *ret, struct ats_err *err);

#endif
