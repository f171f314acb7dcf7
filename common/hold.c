/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring of bytes that a lost link may have swallowed. Runs in the engine and in hands' front;
 * what is in it is a client's or a program's, how much is bounded by credit and by max. */
#include "common/hold.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/fault.h"

#define HOLD_FIRST (64u << 10)

void
ats_hold_init(struct ats_hold *h, size_t max_bytes)
{
	*h = (struct ats_hold){ .max = max_bytes };
}

void
ats_hold_done(struct ats_hold *h)
{
	free(h->ring);
	h->ring = NULL;
	h->cap = h->at = h->len = 0;
}

uint64_t
ats_hold_end(const struct ats_hold *h)
{
	return h->base + h->len;
}

/* Twice the size, with what is held at its beginning. False: the old one stays. */
static bool
grow(struct ats_hold *h)
{
	size_t cap = h->cap < HOLD_FIRST / 2 ? HOLD_FIRST : h->cap * 2, run = h->cap - h->at;
	char *ring;

	if (cap > h->max)
		cap = h->max;
	ring = cap > h->cap ? ats_malloc_read(cap) : NULL;
	if (ring == NULL)
		return false;
	if (run > h->len)
		run = h->len;
	if (h->len > 0) {
		memcpy(ring, h->ring + h->at, run);
		memcpy(ring + run, h->ring, h->len - run);
	}
	free(h->ring);
	h->ring = ring;
	h->cap = cap;
	h->at = 0;
	return true;
}

size_t
ats_hold_room(struct ats_hold *h, size_t want, char **ret_p)
{
	size_t end, run;

	while (h->cap - h->len < want && grow(h))
		;
	if (want == 0 || h->len == h->cap)
		return 0;
	end = (h->at + h->len) % h->cap;
	run = end < h->at ? h->at - end : h->cap - end;
	*ret_p = h->ring + end;
	return run < want ? run : want;
}

void
ats_hold_commit(struct ats_hold *h, size_t n)
{
	h->len += n;
}

size_t
ats_hold_at(const struct ats_hold *h, uint64_t pos, const char **ret_p)
{
	size_t skip, from, run;

	if (pos < h->base || pos - h->base >= h->len)
		return 0;
	skip = (size_t)(pos - h->base);
	from = (h->at + skip) % h->cap;
	run = h->cap - from;
	*ret_p = h->ring + from;
	return run < h->len - skip ? run : h->len - skip;
}

void
ats_hold_drop(struct ats_hold *h, uint64_t pos)
{
	if (pos <= h->base)
		return;
	if (pos - h->base >= h->len) {
		h->at = h->len = 0;	/* the next bytes lie in one run */
	} else {
		h->at = (h->at + (size_t)(pos - h->base)) % h->cap;
		h->len -= (size_t)(pos - h->base);
	}
	h->base = pos;
}
