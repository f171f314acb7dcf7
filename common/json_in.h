/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to json*.c: the fast loop over plain characters, and the member names of the
 * objects that are open during a scan. */
#ifndef ATS_COMMON_JSON_IN_H
#define ATS_COMMON_JSON_IN_H

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/json.h"

#define ATS_JSON_SLOTS 4096u	/* a power of two > ATS_JSON_OPEN_KEYS */
/* The same for a usual text, which is small: 32 KiB of stack are eight pages of a process, of
 * which a fresh one has to get each. */
#define ATS_JSON_FEW_KEYS 64u
#define ATS_JSON_FEW_SLOTS 256u

static inline bool
ats_json_is_special(unsigned char c)
{
	return c < 0x20 || c >= 0x80 || c == '"' || c == '\\';
}

/* Marks those of the next ATS_JSON_STEP bytes for which ats_json_is_special. Only the first
 * mark is surely right. */
#ifdef __SSE2__
#define ATS_JSON_STEP 16u

static inline uint64_t
ats_json_marks(const char *s)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)s);
	/* As signed numbers the bytes from 0x80 on are below 0x20, too. */
	__m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
	__m128i own = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
	    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));

	return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_or_si128(low, own));
}

static inline size_t
ats_json_first(uint64_t marks)
{
	return (size_t)__builtin_ctzll(marks);
}
#else
#define ATS_JSON_STEP 8u

static inline uint64_t
ats_json_marks(const char *s)
{
	const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
	uint64_t w, q, b;

	memcpy(&w, s, 8);
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		w = __builtin_bswap64(w);
	q = w ^ (ones * '"');
	b = w ^ (ones * '\\');
	return ((q - ones) | (b - ones) | (w - ones * 0x20) | w) & high;
}

static inline size_t
ats_json_first(uint64_t marks)
{
	/* Borrows run upwards: the lowest mark is right, in this byte order. */
	return (size_t)(__builtin_ctzll(marks) >> 3);
}
#endif

/* Index of the first byte from i on that is a quote, a backslash, a control character or
 * not ASCII; n if there is none. */
static inline size_t
ats_json_plain_run(const char *s, size_t i, size_t n)
{
	for (; n - i >= ATS_JSON_STEP; i += ATS_JSON_STEP) {
		uint64_t m = ats_json_marks(s + i);

		if (m != 0)
			return i + ats_json_first(m);
	}
	while (i < n && !ats_json_is_special((unsigned char)s[i]))
		i++;
	return i;
}

/* Names leave in the reverse order of their coming: a slot of the set is just emptied. */
struct ats_json_name {
	uint32_t hash;
	uint32_t off;		/* of the first byte after the quote */
	uint16_t slot;
};
struct ats_json_names {
	const char *s;
	size_t len;
	uint64_t seed;
	uint32_t n, max;		/* in v */
	uint32_t slots;			/* in set, a power of two > max */
	bool set_clean;
	struct ats_json_name *v;	/* borrowed, as set is */
	uint16_t *set;			/* index into v + 1, 0 free */
};

/* v, max, set and slots are the caller's to fill in. */
void ats_json_names_init(struct ats_json_names *nm, const char *s, size_t len);
/* The name at [off, off+len) of the object whose names begin at v[first]. -ATS_E_FULL, or
 * -ATS_E_EXISTS when the object has it already. */
ATS_NODISCARD int ats_json_names_add(
    struct ats_json_names *nm, uint32_t first, size_t off, size_t len);
/* Its object has ended: forgets the names from v[first] on. */
void ats_json_names_drop(struct ats_json_names *nm, uint32_t first);

#endif
