/* SPDX-License-Identifier: Apache-2.0
 *
 * Who calls a tool at a terminal is told there that a person has to approve it. */
#ifndef ATS_CTL_WAITS_H
#define ATS_CTL_WAITS_H

#include "brain/ctl/brain.h"

/* Before the call: asks for events, if stderr is a terminal. No answer is needed. */
void waits_watch(struct ctl_session *s);
/* Of a line of the door: writes to stderr when a call of the session waits for a person. */
void waits_look(const struct ctl_session *s, const struct door_msg *m);

#endif
