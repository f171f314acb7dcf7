/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of pure answers: a map and a queue in order of age. Runs in the engine; keys
 * are clients', answers are a sandbox's.
 *
 * Entries lie one behind the other in chunks of their own, not in the heap: they live long, are of
 * all sizes and end in the order in which they came, so that between them the heap would have
 * holes that nothing fits into and that no trim gives back. A chunk goes with its last entry. */
#include "brain/engine/cache.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>

#include "common/map.h"

#define CHUNKS 64u		/* of the size that all have, within max_bytes */

struct chunk {
	_Alignas(max_align_t) size_t size;	/* bytes, with this head */
	size_t used, live;			/* bytes, entries */
};
struct entry {
	TAILQ_ENTRY(entry) link;
	struct chunk *in;
	struct cache_hit hit;
	char digest[65];
	char exit_kind[17];
	char *key;		/* in bytes[] */
	char bytes[];
};
TAILQ_HEAD(entry_list, entry);

struct cache {
	struct ats_map *map;
	struct entry_list order;	/* oldest first */
	struct chunk *last;		/* where the next one goes, or NULL */
	/* Empty ones, or NULL: of the size that all have, of one large entry. Memory that has to be
	 * found and cleared for each large answer would cost as much as the answer itself. */
	struct chunk *spare, *spare_large;
	size_t count, max_entries;
	size_t bytes, max_bytes;	/* of chunks, without the spare ones */
};

/* ---- chunks ----------------------------------------------------------------------------- */

static struct chunk **
spare_of(struct cache *c, size_t size)
{
	return size == c->max_bytes / CHUNKS ? &c->spare : &c->spare_large;
}

/* Of this size, or of one large entry that was up to half as large again. */
static struct chunk *
chunk_new(struct cache *c, size_t size)
{
	struct chunk **spare = spare_of(c, size), *k = *spare;

	if (k != NULL && k->size >= size && k->size - size <= size / 2) {
		*spare = NULL;
	} else {
		/* There at once: a page that is missing costs more between two calls. */
		k = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (k == MAP_FAILED)
			return NULL;
		k->size = size;
		k->used = sizeof(*k);
	}
	c->bytes += k->size;
	return k;
}

/* The newest empty one is kept: what comes next is as large, more likely than not. */
static void
chunk_free(struct cache *c, struct chunk *k)
{
	struct chunk **spare;

	if (k == NULL)
		return;
	c->bytes -= k->size;
	k->used = sizeof(*k);
	k->live = 0;
	if (c->last == k)
		c->last = NULL;
	spare = spare_of(c, k->size);
	if (*spare != NULL)
		(void)munmap(*spare, (*spare)->size);
	*spare = k;
}

/* Room for an entry of so many bytes, in a chunk that has it or, if it is large, of its own. */
static struct entry *
place(struct cache *c, size_t size)
{
	size_t whole = c->max_bytes / CHUNKS;
	struct chunk *k = c->last;
	struct entry *en;

	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	if (size > whole / 4) {
		k = chunk_new(c, sizeof(*k) + size);
	} else if (k == NULL || k->size - k->used < size) {
		k = chunk_new(c, whole);
		/* One whose entries have all been put anew has no other end. */
		if (k != NULL && c->last != NULL && c->last->live == 0)
			chunk_free(c, c->last);
		c->last = k != NULL ? k : c->last;
	}
	if (k == NULL)
		return NULL;
	en = (void *)((char *)k + k->used);
	memset(en, 0, sizeof(*en));	/* what is behind it is copied there */
	en->in = k;
	k->used += size;
	k->live++;
	return en;
}

/* ---- entries ---------------------------------------------------------------------------- */

struct cache *
cache_new(size_t max_entries, size_t max_bytes)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->map = ats_map_new(max_entries + 1);
	if (c->map == NULL) {
		free(c);
		return NULL;
	}
	c->max_entries = max_entries;
	c->max_bytes = max_bytes;
	TAILQ_INIT(&c->order);
	return c;
}

/* An entry of it is no more. */
static void
leave(struct cache *c, struct chunk *k)
{
	/* The last one stays: more is to come into it. */
	if (--k->live == 0 && k != c->last)
		chunk_free(c, k);
}

static void
entry_drop(struct cache *c, struct entry *en)
{
	(void)ats_map_del_str(c->map, en->key);
	TAILQ_REMOVE(&c->order, en, link);
	c->count--;
	leave(c, en->in);
}

void
cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	while (!TAILQ_EMPTY(&c->order))
		entry_drop(c, TAILQ_FIRST(&c->order));
	chunk_free(c, c->last);
	if (c->spare != NULL)
		(void)munmap(c->spare, c->spare->size);
	if (c->spare_large != NULL)
		(void)munmap(c->spare_large, c->spare_large->size);
	ats_map_free(c->map);
	free(c);
}

static void
copy_slice(char **at, struct ats_slice from, struct ats_slice *to)
{
	if (from.p == NULL)
		return;
	memcpy(*at, from.p, from.n);
	to->p = *at;
	to->n = from.n;
	*at += from.n;
}

static struct entry *
entry_new(struct cache *c, const char *key, const char *digest, uint64_t call,
    const struct outcome *o)
{
	size_t klen = strlen(key) + 1;
	size_t body = o->payload.n + o->blocks.n + o->output.n;
	bool kept = body <= c->max_bytes / 16;
	struct entry *en = place(c, sizeof(struct entry) + klen + (kept ? body : 0));
	char *at;

	if (en == NULL)
		return NULL;
	en->key = en->bytes;
	memcpy(en->key, key, klen);
	memcpy(en->digest, digest, sizeof(en->digest));
	en->hit.digest = en->digest;
	en->hit.call = call;
	en->hit.kept = kept;
	if (!kept)
		return en;
	at = en->bytes + klen;
	en->hit.outcome = *o;
	copy_slice(&at, o->payload, &en->hit.outcome.payload);
	copy_slice(&at, o->blocks, &en->hit.outcome.blocks);
	copy_slice(&at, o->output, &en->hit.outcome.output);
	if (o->exit_kind != NULL) {
		strncpy(en->exit_kind, o->exit_kind, sizeof(en->exit_kind) - 1);
		en->hit.outcome.exit_kind = en->exit_kind;
	}
	return en;
}

void
cache_put(struct cache *c, const char *key, const char *digest, uint64_t call,
    const struct outcome *o)
{
	struct entry *en = ats_map_get_str(c->map, key);

	if (en != NULL)
		entry_drop(c, en);
	en = entry_new(c, key, digest, call, o);
	if (en == NULL)
		return;
	while (c->count > 0 && (c->count >= c->max_entries || c->bytes > c->max_bytes))
		entry_drop(c, TAILQ_FIRST(&c->order));
	if (ats_map_put_str(c->map, en->key, en) < 0) {
		leave(c, en->in);
		return;
	}
	TAILQ_INSERT_TAIL(&c->order, en, link);
	c->count++;
}

bool
cache_get(const struct cache *c, const char *key, struct cache_hit *ret)
{
	const struct entry *en = ats_map_get_str(c->map, key);

	if (en == NULL)
		return false;
	*ret = en->hit;
	return true;
}
