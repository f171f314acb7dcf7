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

#endif
