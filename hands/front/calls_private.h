/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls.c, calls_frames.c, calls_move.c and call_answer.c share. */
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
/* What its kind has of it is gone. */
void call_free_part(struct call *c);
void call_free(struct call *c);
/* Sends results that are kept unsent, in a moment. */
void calls_try_again(struct calls *t);
/* Returns the call, or NULL after the peer was told why there is none. */
struct call *call_new(
    struct calls *t, uint64_t id, const char *session, uint64_t fingerprint);

#endif
