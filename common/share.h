/* SPDX-License-Identifier: Apache-2.0
 *
 * The places of a table that several users of the machine take from. */
#ifndef ATS_COMMON_SHARE_H
#define ATS_COMMON_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the places of this user are counted: not those of root, nor of whose brain it is. */
static inline bool
ats_share_counts(uint64_t uid, uint64_t owner)
{
	return uid != 0 && uid != owner;
}

/* Whether somebody who holds mine of the all places that are taken, of limit, may have one more:
 * each may take half of what the others leave. So who is alone has half of them, nobody keeps the
 * next one out, and no number of users has to be known. */
static inline bool
ats_share_has_room(size_t limit, size_t all, size_t mine)
{
	return all < limit && mine < limit - all;
}

#endif
