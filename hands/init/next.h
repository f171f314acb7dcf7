/* SPDX-License-Identifier: Apache-2.0
 *
 * init's part in an upgrade: it starts the new front, and makes it the front when the old one
 * has ended. Which of them goes on is theirs to decide (hands/front/upgrade.h). */
#ifndef ATS_HANDS_INIT_NEXT_H
#define ATS_HANDS_INIT_NEXT_H

#include "hands/init/init_private.h"

/* What the front has said; all of it, without waiting. */
void next_hear_front(struct init *in);
/* The file that the launcher has opened, or why it has not. False: it has ended. */
bool next_hear_launcher(struct init *in);
/* The front has ended: whether the new one is it from here on. */
bool next_goes_on(struct init *in);
/* The new front has ended. */
void next_ended(struct init *in, int status);

#endif
