/* SPDX-License-Identifier: Apache-2.0
 *
 * Member names of the objects that are open during a scan. Linked into every process;
 * anybody controls the names. Large objects go into a hash set whose hash is seeded from
 * the kernel's random bytes: neither many names nor chosen ones cost more than others. */
#include "common/json_in.h"

#include <string.h>

#include <sys/auxv.h>

#define SMALL_OBJECT 8u		/* up to so many names are compared one by one */
#define NO_SLOT UINT16_MAX

/* The next byte of an escaped name that scan_string has accepted; -1 at its end. *code
 * holds what is left of a character of several bytes. */
struct name_reader {
	const char *p, *end;
	unsigned char out[4];
	unsigned nout, at;
};

static int
name_byte(struct name_reader *r)
{
	if (r->at < r->nout)
		return r->out[r->at++];
	if (r->p >= r->end || *r->p == '"')
		return -1;
	if (*r->p != '\\')
		return (unsigned char)*r->p++;
	r->at = 0;
	r->p = ats_json_unescape_one(r->p, r->end, r->out, &r->nout);
	return r->out[r->at++];
}

static inline uint64_t
mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 m = (unsigned __int128)a * b;

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

#define HASH_K 0x9e3779b97f4a7c15u

/* Hash of a name's bytes, unescaped, eight at a time; raw is the text between quotes. */
static uint32_t
name_hash(uint64_t seed, struct ats_slice raw)
{
	uint64_t h = seed, w = 0, total = 0;

	if (memchr(raw.p, '\\', raw.n) == NULL) {
		size_t n = raw.n;
		const char *p = raw.p;

		for (; n >= 8; n -= 8, p += 8) {
			memcpy(&w, p, 8);
			h = mix(h ^ w, HASH_K);
		}
		w = 0;
		memcpy(&w, p, n);
		total = raw.n;
	} else {
		struct name_reader r = { .p = raw.p, .end = raw.p + raw.n };
		unsigned char word[8];
		int c;

		while ((c = name_byte(&r)) >= 0) {
			word[total++ & 7] = (unsigned char)c;
			if ((total & 7) == 0) {
				memcpy(&w, word, 8);
				h = mix(h ^ w, HASH_K);
			}
		}
		w = 0;
		memcpy(&w, word, total & 7);
	}
	h = mix(h ^ w, HASH_K);
	h = mix(h ^ total, 0xd6e8feb86659fd93u);
	return (uint32_t)(h ^ (h >> 32));
}

static bool
same_name(const struct ats_json_names *nm, uint32_t a, uint32_t b)
{
	struct name_reader ra = { .p = nm->s + a, .end = nm->s + nm->len };
	struct name_reader rb = { .p = nm->s + b, .end = nm->s + nm->len };
	int ca, cb;

	do {
		ca = name_byte(&ra);
		cb = name_byte(&rb);
	} while (ca == cb && ca >= 0);
	return ca == cb;
}

/* Puts v[k] into the set; true if an equal one of the same object is there. */
static bool
set_add(struct ats_json_names *nm, uint32_t k, uint32_t first)
{
	struct ats_json_name *me = &nm->v[k];
	uint32_t slot = me->hash & (nm->slots - 1);

	for (; nm->set[slot] != 0; slot = (slot + 1) & (nm->slots - 1)) {
		uint32_t other = nm->set[slot] - 1u;

		if (other >= first && nm->v[other].hash == me->hash &&
		    same_name(nm, nm->v[other].off, me->off))
			return true;
	}
	nm->set[slot] = (uint16_t)(k + 1);
	me->slot = (uint16_t)slot;
	return false;
}

static bool
is_among(const struct ats_json_names *nm, uint32_t first, uint32_t k)
{
	for (uint32_t j = first; j < k; j++) {
		if (nm->v[j].hash == nm->v[k].hash &&
		    same_name(nm, nm->v[j].off, nm->v[k].off))
			return true;
	}
	return false;
}

int
ats_json_names_add(struct ats_json_names *nm, uint32_t first, size_t off, size_t len)
{
	uint32_t k = nm->n, n = k - first;

	if (n >= ATS_JSON_MAX_KEYS || k >= nm->max)
		return -ATS_E_FULL;
	nm->v[k] = (struct ats_json_name){
		.hash = name_hash(nm->seed ^ first,
		    (struct ats_slice){ nm->s + off, len }),
		.off = (uint32_t)off,
		.slot = NO_SLOT,
	};
	if (n < SMALL_OBJECT) {
		if (is_among(nm, first, k))
			return -ATS_E_EXISTS;
		nm->n++;
		return 0;
	}
	if (!nm->set_clean) {
		memset(nm->set, 0, nm->slots * sizeof(nm->set[0]));
		nm->set_clean = true;
	}
	if (n == SMALL_OBJECT) {
		for (uint32_t j = first; j < k; j++)
			(void)set_add(nm, j, first);
	}
	if (set_add(nm, k, first))
		return -ATS_E_EXISTS;
	nm->n++;
	return 0;
}

void
ats_json_names_drop(struct ats_json_names *nm, uint32_t first)
{
	if (nm->n - first > SMALL_OBJECT) {
		for (uint32_t k = nm->n; k > first; k--)
			nm->set[nm->v[k - 1].slot] = 0;
	}
	nm->n = first;
}

void
ats_json_names_init(struct ats_json_names *nm, const char *s, size_t len)
{
	unsigned long at = getauxval(AT_RANDOM);

	nm->s = s;
	nm->len = len;
	nm->seed = HASH_K;
	if (at != 0)
		memcpy(&nm->seed, (const void *)at, sizeof(nm->seed));
	nm->n = 0;
	nm->set_clean = false;
}
