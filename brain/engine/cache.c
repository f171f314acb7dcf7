/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of pure answers: a map and a queue in order of age. Runs in the engine; keys
 * are clients', answers are a sandbox's. */
#include "brain/engine/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/map.h"

struct entry {
	TAILQ_ENTRY(entry) link;
	struct cache_hit hit;
	char digest[65];
	char exit_kind[17];
	size_t size;
	char *key;		/* in bytes[] */
	char bytes[];
};
TAILQ_HEAD(entry_list, entry);

struct cache {
	struct ats_map *map;
	struct entry_list order;	/* oldest first */
	size_t count, bytes, max_entries, max_bytes;
};

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

static void
entry_drop(struct cache *c, struct entry *en)
{
	(void)ats_map_del_str(c->map, en->key);
	TAILQ_REMOVE(&c->order, en, link);
	c->count--;
	c->bytes -= en->size;
	free(en);
}

void
cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	while (!TAILQ_EMPTY(&c->order))
		entry_drop(c, TAILQ_FIRST(&c->order));
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
entry_new(const struct cache *c, const char *key, const char *digest, uint64_t call,
    const struct outcome *o)
{
	size_t klen = strlen(key) + 1;
	size_t body = o->payload.n + o->blocks.n + o->output.n;
	bool kept = body <= c->max_bytes / 16;
	size_t size = sizeof(struct entry) + klen + (kept ? body : 0);
	struct entry *en = malloc(size);
	char *at;

	if (en == NULL)
		return NULL;
	memset(en, 0, sizeof(*en));	/* what is behind it is copied there */
	en->size = size;
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
	while (c->count > 0 &&
	    (c->count >= c->max_entries || c->bytes + en->size > c->max_bytes))
		entry_drop(c, TAILQ_FIRST(&c->order));
	if (ats_map_put_str(c->map, en->key, en) < 0) {
		free(en);
		return;
	}
	TAILQ_INSERT_TAIL(&c->order, en, link);
	c->count++;
	c->bytes += en->size;
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
