/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs in a sandbox that ask for tools of the host: their calls come over the sandbox's
 * link, and answers go back on it. */
#ifndef ATS_ENGINE_RELAY_H
#define ATS_ENGINE_RELAY_H

#include "brain/engine/call_waiters.h"

struct ats_frame;
struct ats_msg_CALL_GATEWAY;
struct relay_answer;
struct sandbox;

struct relay {			/* of one sandbox */
	struct asker asker;
	TAILQ_HEAD(, relay_answer) held;	/* answers for which the link had no room */
	size_t held_bytes;
	bool forgot;		/* it may have had sessions that nothing is known of now */
};

void relay_init(struct sandbox *box);
/* A call: its answer comes later, also when it is refused. Negative: hands broke the protocol. */
ATS_NODISCARD int relay_on_call(struct sandbox *box, const struct ats_frame *f,
    const struct ats_msg_CALL_GATEWAY *m, struct ats_err *err);
/* Nobody there waits for it any more; its answer still goes. */
void relay_on_cancel(struct sandbox *box, uint64_t id);
/* The link is gone: its calls go on for a while, so that they can be asked for again. */
void relay_unlinked(struct sandbox *box);
/* The link may have room. */
void relay_flush(struct sandbox *box);

#endif
