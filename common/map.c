/* SPDX-License-Identifier: Apache-2.0
 *
 * Open-addressing hash map, linear probing, tombstones (so that an entry may be removed
 * during iteration: only put moves entries). Linked into every process; peers may choose
 * keys, therefore hashes are seeded from the 16 random bytes the kernel gave us. */
#include "common/map.h"

#include <stdlib.h>
#include <string.h>

#include <sys/auxv.h>

#include "common/fault.h"

struct entry {
	uint64_t hash;	/* of a string key; the key itself otherwise */
	char *str;	/* owned, NULL for integer keys */
	void *value;	/* NULL: free */
};

struct ats_map {
	struct entry *slots;
	size_t nslots;	/* a power of two */
	size_t count;
	size_t used;	/* count and tombstones */
	size_t max;
	uint64_t seed;
};

static char tombstone;

static uint64_t
mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t
hash_str(const struct ats_map *m, const char *s)
{
	size_t n = strlen(s);
	uint64_t h = m->seed, w;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&w, s, 8);
		h = mix(h ^ w, 0x9e3779b97f4a7c15u);
	}
	w = (uint64_t)n << 56;
	memcpy(&w, s, n);
	return mix(h ^ w, 0xd6e8feb86659fd93u) ^ h;
}

struct ats_map *
ats_map_new(size_t max_entries)
{
	struct ats_map *m = ats_calloc(1, sizeof(*m));
	unsigned long at = getauxval(AT_RANDOM);

	if (m == NULL)
		return NULL;
	m->max = max_entries;
	if (at != 0)
		memcpy(&m->seed, (const void *)at, sizeof(m->seed));
	m->seed = mix(m->seed ^ (uint64_t)(uintptr_t)m, 0xa0761d6478bd642fu) | 1;
	return m;
}

void
ats_map_free(struct ats_map *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->nslots; i++)
		free(m->slots[i].str);
	free(m->slots);
	free(m);
}

static size_t
home(const struct ats_map *m, uint64_t hash, bool is_str)
{
	return (size_t)(is_str ? hash : mix(hash ^ m->seed, 0x9e3779b97f4a7c15u)) &
	    (m->nslots - 1);
}

static struct entry *
lookup(const struct ats_map *m, uint64_t hash, const char *str)
{
	if (m->nslots == 0)
		return NULL;
	for (size_t i = home(m, hash, str != NULL);; i = (i + 1) & (m->nslots - 1)) {
		struct entry *e = &m->slots[i];

		if (e->value == NULL)
			return NULL;
		if (e->value == &tombstone || e->hash != hash)
			continue;
		if (str == NULL ? e->str == NULL :
				  e->str != NULL && strcmp(e->str, str) == 0)
			return e;
	}
}

static void
insert(struct ats_map *m, struct entry e)
{
	size_t i = home(m, e.hash, e.str != NULL);

	while (m->slots[i].value != NULL && m->slots[i].value != &tombstone)
		i = (i + 1) & (m->nslots - 1);
	if (m->slots[i].value == NULL)
		m->used++;
	m->slots[i] = e;
	m->count++;
}

static int
make_room(struct ats_map *m)
{
	struct entry *old = m->slots, *slots;
	size_t nold = m->nslots, n = nold == 0 ? 16 : nold;

	if (nold != 0 && (m->used + 1) * 4 <= nold * 3)
		return 0;
	if ((m->count + 1) * 2 > n)	/* else: same size, tombstones swept */
		n *= 2;
	slots = ats_calloc(n, sizeof(*slots));
	if (slots == NULL)
		return -ATS_E_NOMEM;
	m->slots = slots;
	m->nslots = n;
	m->count = m->used = 0;
	for (size_t i = 0; i < nold; i++) {
		if (old[i].value != NULL && old[i].value != &tombstone)
			insert(m, old[i]);
	}
	free(old);
	return 0;
}

static int
put(struct ats_map *m, uint64_t hash, const char *str, void *value)
{
	struct entry e = { .hash = hash, .value = value };
	int rc;

	ATS_BUG(value == NULL);
	if (lookup(m, hash, str) != NULL)
		return -ATS_E_EXISTS;
	if (m->count >= m->max)
		return -ATS_E_FULL;
	rc = make_room(m);
	if (rc < 0)
		return rc;
	if (str != NULL) {
		e.str = ats_strdup(str);
		if (e.str == NULL)
			return -ATS_E_NOMEM;
	}
	insert(m, e);
	return 0;
}

static void *
del(struct ats_map *m, struct entry *e)
{
	void *value;

	if (e == NULL)
		return NULL;
	value = e->value;
	free(e->str);
	*e = (struct entry){ .value = &tombstone };
	m->count--;
	return value;
}

int
ats_map_put(struct ats_map *m, uint64_t key, void *value)
{
	return put(m, key, NULL, value);
}

void *
ats_map_get(const struct ats_map *m, uint64_t key)
{
	const struct entry *e = lookup(m, key, NULL);

	return e != NULL ? e->value : NULL;
}

void *
ats_map_del(struct ats_map *m, uint64_t key)
{
	return del(m, lookup(m, key, NULL));
}

int
ats_map_put_str(struct ats_map *m, const char *key, void *value)
{
	return put(m, hash_str(m, key), key, value);
}

void *
ats_map_get_str(const struct ats_map *m, const char *key)
{
	const struct entry *e = lookup(m, hash_str(m, key), key);

	return e != NULL ? e->value : NULL;
}

void *
ats_map_del_str(struct ats_map *m, const char *key)
{
	return del(m, lookup(m, hash_str(m, key), key));
}

size_t
ats_map_count(const struct ats_map *m)
{
	return m->count;
}

void *
ats_map_each(const struct ats_map *m, size_t *pos)
{
	while (*pos < m->nslots) {
		void *v = m->slots[(*pos)++].value;

		if (v != NULL && v != &tombstone)
			return v;
	}
	return NULL;
}
