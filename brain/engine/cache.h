/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of pure calls, so that the same id gives the same answer while the engine lives.
 * Bounded by count and bytes; the oldest go first. Pure. */
#ifndef ATS_ENGINE_CACHE_H
#define ATS_ENGINE_CACHE_H

#include "brain/engine/outcome.h"

struct cache;
struct cache_hit {			/* valid until the next put */
	uint64_t call;
	const char *digest;
	bool kept; /* false: the answer was too large, only its digest is known */
	struct outcome outcome;
};

/* Returns owned, or NULL without memory. */
struct cache *cache_new(size_t max_entries, size_t max_bytes);
void cache_free(struct cache *c);
/* Copies. Of an answer that is too large only the digest is kept, without memory nothing:
 * the call would run again. */
void cache_put(struct cache *c, const char *key, const char *digest, uint64_t call,
    const struct outcome *o);
bool cache_get(const struct cache *c, const char *key, struct cache_hit *ret);

#endif
