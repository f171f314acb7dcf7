/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a call has no pid namespace it has a Landlock domain of its own, and a process in there
 * that is ours: its kill(-1) reaches the domain's processes and no other, all in one system call
 * that no fork gets past. It waits for that, and does it when the monitor says so or dies. A walk
 * over /proc does the same by and by; beside a fork bomb, with as many shares of the processor,
 * that takes half a minute. Tools can kill the ender with themselves: the walk remains. */
#ifndef ATS_HANDS_WORKER_ENDER_H
#define ATS_HANDS_WORKER_ENDER_H

#include "hands/worker/zygote.h"

/* Signals must stop at the domain (Landlock ABI 6), or it would be the end of everybody. */
bool ender_possible(const struct zygote_child *z);
/* In the process that becomes the shell, when it is confined: makes the ender, a child of the
 * monitor. sock: the monitor's other end is in tree.h. This process was made with
 * SHELL_EXIT_SIGNAL, which the ender inherits: a plain wait(2) of the monitor does not see it. */
ATS_NODISCARD int ender_start(int sock, struct ats_err *err);

#endif
