/* SPDX-License-Identifier: Apache-2.0
 *
 * The host side of a box: workspace and state directory, their owners, the uids to use.
 */
#ifndef ATS_HANDS_INIT_PLACES_H
#define ATS_HANDS_INIT_PLACES_H

#include "hands/init/init.h"

/* Fills plan->box and the id maps for the situation; makes home, spill and tmp in the
 * state directory with the owners that the situation needs. */
ATS_NODISCARD int places_prepare(struct init_plan *plan, enum box_situation s,
    struct ats_err *err);

#endif
