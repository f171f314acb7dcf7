/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks of the workspace's own settings: a read worker says which, and each runs as a command of
 * its own, in a shell worker. All that match run at once. */
#ifndef ATS_HANDS_FRONT_HOOK_H
#define ATS_HANDS_FRONT_HOOK_H

#include "hands/front/calls.h"

/* Answers the call, now or later: see CALL_HOOK. The output is {"events":MASK, "note":S,
 * "hooks":[{"exit":S,"code":N,"out":N,"err":N,"cut":B,"ms":N,"blocks":B}]}; exit is a kind of
 * RESULT.exit_kind, or not_started with the reason as its err. The payload is out and err bytes of
 * each, in this order. */
void hook_start(struct call *c, const struct ats_msg_CALL_HOOK *m);

#endif
