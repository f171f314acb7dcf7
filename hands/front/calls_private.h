/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls.c and calls_frames.c share; nobody else includes this. */
#ifndef ATS_HANDS_FRONT_CALLS_PRIVATE_H
#define ATS_HANDS_FRONT_CALLS_PRIVATE_H

#include "common/map.h"
#include "hands/front/calls.h"

struct calls {
	struct front *f;
	struct ats_map *map;
	size_t active;
	size_t kept_bytes;
	unsigned unsent;
	struct event retry;
};

/* An active one in the table, or NULL: it is full, or there is no memory. */
struct call *call_alloc(struct calls *t, uint64_t id, const char *session, uint64_t fingerprint);
/* It has ended: no deadline any more. */
void call_end_active(struct call *c);
/* Returns the call, or NULL after the peer was told why there is none. */
struct call *call_new(
    struct calls *t, uint64_t id, const char *session, uint64_t fingerprint);

#endif
