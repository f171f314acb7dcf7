/* SPDX-License-Identifier: Apache-2.0
 *
 * Literal search. One word: two of its rarest bytes are compared at 32 places at once, then
 * the word. Several words: the first three bytes of all words, in eight groups, are looked
 * up by nibbles at 32 places at once. Machines without AVX2 take SSE2 or plain loops.
 * Runs in read workers; words come from the model, the text from any file. */
#include "hands/match/literal.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_X86 1
#else
#define HAVE_X86 0
#endif

#define GROUPS 8u
#define PRINT_MAX 3u		/* fingerprint bytes */

struct word {
	const char *p;
	size_t n;
};
struct literal {
	struct word words[LITERAL_WORDS_MAX];
	size_t nwords;
	char *text;			/* the words, lower case when fold */
	bool fold, avx2;
	size_t at[2];			/* one word: the two places compared */
	unsigned char byte[2], mask[2];	/* their values; 0x20 ignores case */
	size_t nprint;			/* several: bytes of the fingerprint */
	unsigned char lo[PRINT_MAX][16], hi[PRINT_MAX][16];
	unsigned char first[256];	/* groups by the first byte */
	uint64_t members[GROUPS];	/* bit per word */
};

/* Logarithm of how often a byte occurs in C, JavaScript, Python and prose, 0 to 255. */
static const unsigned char frequency[256] = {
	120, 0, 0, 0, 0, 0, 0, 0, 0, 224, 227, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	255, 164, 199, 187, 144, 160, 178, 198, 210, 210, 204, 175, 214, 204, 204, 195,
	209, 197, 194, 185, 182, 178, 179, 175, 180, 171, 193, 205, 170, 206, 193, 156,
	159, 202, 186, 202, 197, 206, 192, 185, 182, 202, 138, 176, 197, 198, 198, 196,
	198, 158, 202, 204, 205, 188, 177, 174, 173, 167, 149, 176, 175, 176, 132, 230,
	171, 228, 205, 222, 222, 239, 216, 206, 211, 230, 165, 195, 221, 213, 228, 226,
	217, 178, 231, 229, 234, 218, 204, 195, 200, 199, 169, 189, 173, 189, 152, 0,
	138, 115, 122, 107, 121, 116, 117, 110, 118, 114, 106, 107, 121, 111, 105, 117,
	109, 107, 97, 103, 130, 107, 111, 109, 113, 111, 126, 111, 122, 107, 101, 108,
	123, 112, 102, 102, 109, 115, 109, 107, 119, 104, 107, 95, 99, 110, 118, 120,
	114, 102, 94, 102, 105, 96, 112, 103, 130, 113, 122, 123, 125, 119, 106, 114,
	0, 0, 112, 123, 80, 95, 30, 0, 27, 0, 11, 43, 0, 0, 69, 48,
	95, 78, 0, 0, 0, 0, 110, 127, 62, 53, 0, 0, 0, 0, 0, 0,
	96, 27, 132, 110, 139, 146, 140, 135, 132, 122, 0, 0, 0, 0, 0, 116,
	30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

static unsigned char
lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

static bool
is_lower(unsigned char c)
{
	return c >= 'a' && c <= 'z';
}

static unsigned
commonness(unsigned char c, bool fold)
{
	unsigned other;

	if (!fold || !is_lower(lower(c)))
		return frequency[c];
	other = frequency[lower(c) ^ 0x20];
	c = lower(c);
	return other > frequency[c] ? other : frequency[c];
}

unsigned
literal_rarity(const char *word, size_t n, bool fold)
{
	unsigned least = 255;

	for (size_t i = 0; i < n; i++) {
		unsigned f = commonness((unsigned char)word[i], fold);

		if (f < least)
			least = f;
	}
	return 255 - least;
}

static void
choose_pair(struct literal *l)
{
	const struct word *w = &l->words[0];
	size_t best = 0, second = w->n - 1;

	for (size_t i = 1; i < w->n; i++)
		if (commonness((unsigned char)w->p[i], l->fold) <
		    commonness((unsigned char)w->p[best], l->fold))
			best = i;
	if (second == best)
		second = 0;
	for (size_t i = 0; i < w->n; i++)
		if (i != best && w->p[i] != w->p[best] &&
		    commonness((unsigned char)w->p[i], l->fold) <
		    commonness((unsigned char)w->p[second], l->fold))
			second = i;
	l->at[0] = best;
	l->at[1] = second;
	for (int k = 0; k < 2; k++) {
		l->byte[k] = (unsigned char)w->p[l->at[k]];
		l->mask[k] = l->fold && is_lower(l->byte[k]) ? 0x20 : 0;
	}
}

static void
add_print(struct literal *l, size_t k, unsigned char c, unsigned char bit)
{
	l->lo[k][c & 15] |= bit;
	l->hi[k][c >> 4] |= bit;
	if (k == 0)
		l->first[c] |= bit;
}

static void
choose_groups(struct literal *l)
{
	l->nprint = PRINT_MAX;
	for (size_t i = 0; i < l->nwords; i++)
		if (l->words[i].n < l->nprint)
			l->nprint = l->words[i].n;
	for (size_t i = 0; i < l->nwords; i++) {
		const struct word *w = &l->words[i];
		size_t group = i * GROUPS / l->nwords;
		unsigned char bit = (unsigned char)(1u << group);

		l->members[group] |= (uint64_t)1 << i;
		for (size_t k = 0; k < l->nprint; k++) {
			unsigned char c = (unsigned char)w->p[k];

			add_print(l, k, c, bit);
			if (l->fold && is_lower(c))
				add_print(l, k, c ^ 0x20, bit);
		}
	}
}

struct literal *
literal_new(const struct ats_slice *words, size_t n, bool fold)
{
	struct literal *l;
	size_t total = 0, at = 0;

	if (n == 0 || n > LITERAL_WORDS_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (words[i].n == 0)
			return NULL;
		total += words[i].n;
	}
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->text = malloc(total);
	if (l->text == NULL) {
		free(l);
		return NULL;
	}
	l->fold = fold;
	l->nwords = n;
	for (size_t i = 0; i < n; i++) {
		l->words[i].p = l->text + at;
		l->words[i].n = words[i].n;
		for (size_t j = 0; j < words[i].n; j++) {
			unsigned char c = (unsigned char)words[i].p[j];

			l->text[at++] = (char)(fold ? lower(c) : c);
		}
	}
#if HAVE_X86
	__builtin_cpu_init();
	l->avx2 = __builtin_cpu_supports("avx2") > 0;
#endif
	if (n == 1)
		choose_pair(l);
	else
		choose_groups(l);
	return l;
}

void
literal_free(struct literal *l)
{
	if (l == NULL)
		return;
	free(l->text);
	free(l);
}

static inline bool
word_at(const struct literal *l, const struct word *w, const char *p)
{
	if (!l->fold)
		return memcmp(p, w->p, w->n) == 0;
	for (size_t i = 0; i < w->n; i++)
		if (lower((unsigned char)p[i]) != (unsigned char)w->p[i])
			return false;
	return true;
}

/* ---- one word ---------------------------------------------------------------------- */
static const char *
one_plain(const struct literal *l, const char *p, const char *end)
{
	const struct word *w = &l->words[0];
	const char *last = end - w->n;

	for (; p <= last; p++) {
		if (l->mask[0] == 0) {
			p = memchr(p + l->at[0], l->byte[0], (size_t)(last - p) + 1);
			if (p == NULL)
				return NULL;
			p -= l->at[0];
		}
		if (((unsigned char)p[l->at[1]] | l->mask[1]) == l->byte[1] &&
		    word_at(l, w, p))
			return p;
	}
	return NULL;
}

#if HAVE_X86
/* The places of the bits of mask, in order. */
#define TRY_PLACES(mask, base)                                                           \
	while ((mask) != 0) {                                                            \
		const char *place = (base) + __builtin_ctz(mask);                        \
                                                                                         \
		if (word_at(l, w, place))                                                \
			return place;                                                    \
		(mask) &= (mask) - 1;                                                    \
	}

static const char *
one_sse2(const struct literal *l, const char *p, const char *end)
{
	const struct word *w = &l->words[0];
	const char *last = end - w->n;
	const __m128i a = _mm_set1_epi8((char)l->byte[0]), b = _mm_set1_epi8((char)l->byte[1]);
	const __m128i ma = _mm_set1_epi8((char)l->mask[0]), mb = _mm_set1_epi8((char)l->mask[1]);

	for (; last - p >= 15; p += 16) {
		__m128i x = _mm_loadu_si128((const void *)(p + l->at[0]));
		__m128i y = _mm_loadu_si128((const void *)(p + l->at[1]));
		unsigned m;

		x = _mm_cmpeq_epi8(_mm_or_si128(x, ma), a);
		y = _mm_cmpeq_epi8(_mm_or_si128(y, mb), b);
		m = (unsigned)_mm_movemask_epi8(_mm_and_si128(x, y));
		TRY_PLACES(m, p)
	}
	return one_plain(l, p, end);
}

__attribute__((target("avx2"))) static const char *
one_avx2(const struct literal *l, const char *p, const char *end)
{
	const struct word *w = &l->words[0];
	const char *last = end - w->n;
	const __m256i a = _mm256_set1_epi8((char)l->byte[0]);
	const __m256i b = _mm256_set1_epi8((char)l->byte[1]);
	const __m256i ma = _mm256_set1_epi8((char)l->mask[0]);
	const __m256i mb = _mm256_set1_epi8((char)l->mask[1]);

	for (; last - p >= 63; p += 64) {
		const char *q0 = p + l->at[0], *q1 = p + l->at[1];
		__m256i x0 = _mm256_loadu_si256((const void *)q0);
		__m256i x1 = _mm256_loadu_si256((const void *)(q0 + 32));
		__m256i y0 = _mm256_loadu_si256((const void *)q1);
		__m256i y1 = _mm256_loadu_si256((const void *)(q1 + 32));
		unsigned m;

		x0 = _mm256_cmpeq_epi8(_mm256_or_si256(x0, ma), a);
		x1 = _mm256_cmpeq_epi8(_mm256_or_si256(x1, ma), a);
		y0 = _mm256_cmpeq_epi8(_mm256_or_si256(y0, mb), b);
		y1 = _mm256_cmpeq_epi8(_mm256_or_si256(y1, mb), b);
		x0 = _mm256_and_si256(x0, y0);
		x1 = _mm256_and_si256(x1, y1);
		if (_mm256_testz_si256(_mm256_or_si256(x0, x1), _mm256_set1_epi8(-1)))
			continue;
		m = (unsigned)_mm256_movemask_epi8(x0);
		TRY_PLACES(m, p)
		m = (unsigned)_mm256_movemask_epi8(x1);
		TRY_PLACES(m, p + 32)
	}
	return one_sse2(l, p, end);
}
#endif

/* ---- several words ------------------------------------------------------------------ */
static bool
group_at(const struct literal *l, unsigned groups, const char *p, const char *end,
    size_t *ret_len)
{
	while (groups != 0) {
		uint64_t m = l->members[__builtin_ctz(groups)];

		for (; m != 0; m &= m - 1) {
			const struct word *w = &l->words[__builtin_ctzll(m)];

			if (w->n <= (size_t)(end - p) && word_at(l, w, p)) {
				*ret_len = w->n;
				return true;
			}
		}
		groups &= groups - 1;
	}
	return false;
}

static const char *
many_plain(const struct literal *l, const char *p, const char *end, size_t *ret_len)
{
	for (; p < end; p++) {
		unsigned g = l->first[(unsigned char)*p];

		if (g != 0 && group_at(l, g, p, end, ret_len))
			return p;
	}
	return NULL;
}

#if HAVE_X86
__attribute__((target("avx2"))) static inline __m256i
groups_of(const struct literal *l, size_t k, const char *p)
{
	const __m256i low = _mm256_set1_epi8(15);
	__m256i lo = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)l->lo[k]));
	__m256i hi = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)l->hi[k]));
	__m256i x = _mm256_loadu_si256((const void *)(p + k));

	lo = _mm256_shuffle_epi8(lo, _mm256_and_si256(x, low));
	hi = _mm256_shuffle_epi8(hi, _mm256_and_si256(_mm256_srli_epi16(x, 4), low));
	return _mm256_and_si256(lo, hi);
}

__attribute__((target("avx2"))) static const char *
many_avx2(const struct literal *l, const char *p, const char *end, size_t *ret_len)
{
	for (; end - p >= 32 + (long)PRINT_MAX - 1; p += 32) {
		__m256i g = groups_of(l, 0, p);
		unsigned char at[32];
		unsigned m;

		if (l->nprint > 1)
			g = _mm256_and_si256(g, groups_of(l, 1, p));
		if (l->nprint > 2)
			g = _mm256_and_si256(g, groups_of(l, 2, p));
		m = ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(g,
		    _mm256_setzero_si256()));
		if (m == 0)
			continue;
		_mm256_storeu_si256((void *)at, g);
		for (; m != 0; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m);

			if (group_at(l, at[i], p + i, end, ret_len))
				return p + i;
		}
	}
	return many_plain(l, p, end, ret_len);
}
#endif

const char *
literal_find(const struct literal *l, const char *p, const char *end, size_t *ret_len)
{
	if (l->nwords == 1) {
		size_t n = l->words[0].n;

		*ret_len = n;
		if ((size_t)(end - p) < n)
			return NULL;
		if (n == 1 && l->mask[0] == 0)
			return memchr(p, l->byte[0], (size_t)(end - p));
#if HAVE_X86
		return l->avx2 ? one_avx2(l, p, end) : one_sse2(l, p, end);
#else
		return one_plain(l, p, end);
#endif
	}
#if HAVE_X86
	if (l->avx2)
		return many_avx2(l, p, end, ret_len);
#endif
	return many_plain(l, p, end, ret_len);
}

/* ---- small scans -------------------------------------------------------------------- */
uint64_t
literal_count_lines(const char *p, size_t n)
{
	uint64_t lines = 0;
	size_t i = 0;

#if HAVE_X86
	const __m128i nl = _mm_set1_epi8('\n'), zero = _mm_setzero_si128();

	while (n - i >= 16) {
		__m128i sum = zero;
		/* A byte counts to 255 at most before it must be added up. */
		size_t rounds = (n - i) / 16 < 255 ? (n - i) / 16 : 255;

		for (size_t k = 0; k < rounds; k++, i += 16)
			sum = _mm_sub_epi8(sum, _mm_cmpeq_epi8(nl,
			    _mm_loadu_si128((const void *)(p + i))));
		sum = _mm_sad_epu8(sum, zero);
		lines += (uint64_t)_mm_cvtsi128_si64(sum) +
		    (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum));
	}
#endif
	for (; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

bool
literal_has_high(const char *p, size_t n)
{
	size_t i = 0;

	for (; n - i >= 32; i += 32) {
		uint64_t w[4];

		memcpy(w, p + i, sizeof(w));
		if (((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080u) != 0)
			return true;
	}
	for (; i < n; i++)
		if ((unsigned char)p[i] > 0x7f)
			return true;
	return false;
}
