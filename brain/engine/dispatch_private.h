/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of a sandbox, for dispatch*.c. */
#ifndef ATS_ENGINE_DISPATCH_PRIVATE_H
#define ATS_ENGINE_DISPATCH_PRIVATE_H

#include "brain/engine/dispatch.h"

/* c waits for its sandbox, as the next or the last; it is queued from then on. */
void dispatch_enqueue(struct call *c, bool first);
/* It does not any more. One that is not in the queue stays as it is. */
void dispatch_dequeue(struct call *c);

#endif
