/* SPDX-License-Identifier: Apache-2.0
 *
 * Which call goes to its sandbox when, and what happens to it when the sandbox is lost. */
#ifndef ATS_ENGINE_DISPATCH_H
#define ATS_ENGINE_DISPATCH_H

#include "brain/engine/call.h"

struct ats_frame;
struct ats_msg_RESULT;

/* Sends the call or queues it until its sandbox is ready, if the rules let it run (permit.h). c
 * may be gone after it. */
void dispatch_submit(struct call *c);
/* Its turn has come (turns.h): it is sent soon. */
void dispatch_ready(struct call *c);
/* Its turn goes on, after hooks have run: it is the next to be sent. */
void dispatch_again(struct call *c);
/* Sends what waits while there is room; call it when the sandbox became ready or a result
 * came. */
void dispatch_next(struct sandbox *box);
/* A RESULT of this call: checks and applies its delta, commits, acknowledges, answers.
 * Negative: the sandbox broke the protocol. */
ATS_NODISCARD int dispatch_result(struct call *c, const struct ats_msg_RESULT *m,
    const struct ats_frame *f, struct ats_err *err);
/* What a RESULT says, borrowed from it. Negative: it says what none can. */
ATS_NODISCARD int dispatch_read_outcome(const struct ats_msg_RESULT *m,
    const struct ats_frame *f, struct outcome *ret, struct ats_err *err);
/* Only the link is gone: calls that do not outlive it end as after a loss, the others wait. */
void dispatch_paused(struct sandbox *box);
/* The sandbox is gone: each of its running calls is sent again or ended by its class. */
void dispatch_lost(struct sandbox *box, const char *why);
/* No sandbox can be had: what waits for it is answered. */
void dispatch_refuse(struct sandbox *box, int code, const char *why);
/* After READY of a sandbox that may be one we had: running[n] are the ids it has. */
void dispatch_resumed(struct sandbox *box, const uint64_t *running, size_t n);

#endif
