/* SPDX-License-Identifier: Apache-2.0
 *
 * The one frame that the launcher writes: why a peer gets no box. */
#ifndef ATS_HANDS_INIT_GOODBYE_H
#define ATS_HANDS_INIT_GOODBYE_H

#include "common/err.h"

/* Best effort: a peer that is gone needs no reason. fd is borrowed. */
void goodbye_say(int fd, const struct ats_err *why);

#endif
