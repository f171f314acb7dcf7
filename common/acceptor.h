/* SPDX-License-Identifier: Apache-2.0
 *
 * A listening socket in a loop: connections are taken a few at a time, so that no crowd keeps the
 * loop from its other work, and when descriptors or memory run out they wait in the backlog for
 * a tenth of a second instead of turning the loop in a circle. */
#ifndef ATS_COMMON_ACCEPTOR_H
#define ATS_COMMON_ACCEPTOR_H

#include "common/err.h"

struct ats_acceptor;
struct event_base;

/* Takes fd, a connected socket (CLOEXEC, non-blocking). May stop or pause the acceptor, but not
 * free it. */
typedef void (*ats_acceptor_fn)(void *ctx, int fd);

/* Makes fd non-blocking and borrows it, as it does base and ctx; does not begin yet. Returns owned,
 * or NULL without memory. */
struct ats_acceptor *ats_acceptor_new(struct event_base *base, int fd, ats_acceptor_fn admit,
    void *ctx);
/* Takes connections from now on. -ATS_E_NOMEM. */
ATS_NODISCARD int ats_acceptor_start(struct ats_acceptor *a);
/* Takes none any more, also when it was pausing. NULL is fine. */
void ats_acceptor_stop(struct ats_acceptor *a);
/* Takes none for so long: for an owner that takes only so many. */
void ats_acceptor_pause(struct ats_acceptor *a, unsigned ms);
void ats_acceptor_free(struct ats_acceptor *a);		/* NULL is fine; fd stays open */

#endif
