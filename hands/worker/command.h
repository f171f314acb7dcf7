/* SPDX-License-Identifier: Apache-2.0
 *
 * From a job to a running command: by the waiting bash, by a cold one, or as a program. */
#ifndef ATS_HANDS_WORKER_COMMAND_H
#define ATS_HANDS_WORKER_COMMAND_H

#include "hands/worker/monitor.h"

/* The waiting bash was started: makes what its command will be handed over in. Less of it is
 * slower, and nothing else. */
void command_warm(struct monitor *m);
/* m->job is there. Afterwards m->shell runs it and the monitor holds no pipe of it. An error
 * means that nothing ran. */
ATS_NODISCARD int command_begin(struct monitor *m, struct ats_err *err);
/* Ends the bash that waits, if there is one. */
void command_drop_waiting(struct monitor *m);

#endif
