/* SPDX-License-Identifier: Apache-2.0
 *
 * Where programs in the box find tools of the host: a directory of front's that workers read,
 * with the socket by which they ask, and this very program as the one that asks. */
#ifndef ATS_HANDS_INIT_TOOLS_PLACE_H
#define ATS_HANDS_INIT_TOOLS_PLACE_H

#include "hands/init/init.h"

/* Makes the directory in the state directory and listens in it (plan->relay), and finds what the
 * box sees this program as (box.hands; box.exe where it must be mounted). Users and places of the
 * box are set. What cannot be had is logged and left out; the directory alone must be there. */
ATS_NODISCARD int tools_place_make(struct init_plan *plan, struct ats_err *err);
#endif
