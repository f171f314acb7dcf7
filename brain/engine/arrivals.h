/* SPDX-License-Identifier: Apache-2.0
 *
 * Hands that connects to brain (sandbox.url listen:). Whoever reaches the port comes in here,
 * and becomes a sandbox's link when he has proven to be it; until then he costs little, not
 * for long, and learns nothing: an id that is not there, a wrong key and silence end alike. */
#ifndef ATS_ENGINE_ARRIVALS_H
#define ATS_ENGINE_ARRIVALS_H

#include "common/err.h"

struct arrivals;
struct engine;

/* Takes the listening socket, also on failure. seed: 64 hex digits for our TLS key, or "".
 * Returns owned, NULL with err. */
struct arrivals *arrivals_new(struct engine *e, int fd, const char *address, const char *seed,
    struct ats_err *err);
void arrivals_free(struct arrivals *a);

#endif
