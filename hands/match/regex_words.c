/* SPDX-License-Identifier: Apache-2.0
 *
 * Algebra of word sets for regex_syntax.c. Everything is capped: a set that would grow too
 * large is given up, which only makes the search slower. */
#include "hands/match/regex_words.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (160u << 10)
#define PRODUCT_WORD_MAX 64u	/* bytes of a word where there are several */
#define RARE_ENOUGH 80u		/* of a single byte, to be worth looking for */

void
words_arena_init(struct words_arena *a)
{
	memset(a, 0, sizeof(*a));
	a->base = malloc(ARENA_BYTES);
	a->cap = a->base != NULL ? ARENA_BYTES : 0;
	a->off = a->base == NULL;
}

void
words_arena_done(struct words_arena *a)
{
	free(a->base);
	a->base = NULL;
}

void
words_unknown(struct words_node *ret)
{
	ret->exact_known = ret->need_known = false;
	ret->exact.n = ret->need.n = 0;
}

void
words_text(struct words_node *ret, const char *text, size_t n, bool fold)
{
	if (n == 1) {
		words_bytes(ret, text, 1, fold);
		return;
	}
	words_unknown(ret);
	ret->exact_known = true;
	ret->exact.n = 1;
	ret->exact.w[0] = (struct ats_slice){ text, n };
}

void
words_bytes(struct words_node *ret, const char *bytes, size_t n, bool fold)
{
	static const char ascii[128] = {	/* each byte, to point at */
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
		22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
		41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59,
		60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78,
		79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97,
		98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113,
		114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127
	};

	words_unknown(ret);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];
		bool seen = false;

		if (c >= 128 || ret->exact.n == LITERAL_WORDS_MAX) {
			words_unknown(ret);
			return;
		}
		if (fold && c >= 'A' && c <= 'Z')
			c |= 0x20;
		for (unsigned k = 0; k < ret->exact.n; k++)
			seen = seen || *ret->exact.w[k].p == (char)c;
		if (!seen)
			ret->exact.w[ret->exact.n++] = (struct ats_slice){ &ascii[c], 1 };
	}
	ret->exact_known = n > 0;
}

/* How good a set is to look for; 0 useless. */
static unsigned
score(const struct words_set *s, bool fold)
{
	size_t shortest = 8;
	unsigned rare = 255;

	if (s->n == 0)
		return 0;
	for (unsigned i = 0; i < s->n; i++) {
		unsigned one = literal_rarity(s->w[i].p, s->w[i].n, fold);

		if (s->w[i].n == 0)
			return 0;
		if (s->w[i].n < shortest)
			shortest = s->w[i].n;
		if (one < rare)
			rare = one;
	}
	if (shortest == 1 && (rare < RARE_ENOUGH || s->n > 1))
		return 0;
	return 1 + (unsigned)shortest * 40 + rare - (s->n < 32 ? s->n : 32);
}

static void
consider(const struct words_arena *a, const struct words_set *set, bool *need_known,
    struct words_set *need)
{
	unsigned new = score(set, a->fold);

	if (new > 0 && (!*need_known || new > score(need, a->fold))) {
		*need = *set;
		*need_known = true;
	}
}

/* x followed by y; in place where x is the last thing in the arena. */
static bool
join(struct words_arena *a, struct ats_slice x, struct ats_slice y, struct ats_slice *ret)
{
	bool last;
	size_t more;
	char *p;

	if (y.n == 0 || x.n == 0) {
		*ret = y.n == 0 ? x : y;
		return true;
	}
	if (a->off)
		return false;
	p = a->base + a->len;
	last = x.p + x.n == p;
	more = last ? y.n : x.n + y.n;
	if (more > a->cap - a->len)
		return false;
	if (!last) {
		memcpy(p, x.p, x.n);
		p += x.n;
	}
	memcpy(p, y.p, y.n);
	a->len += more;
	*ret = (struct ats_slice){ p + y.n - (x.n + y.n), x.n + y.n };
	return true;
}

/* x := every word of x followed by every word of y, in order. */
static bool
product(struct words_arena *a, struct words_set *x, const struct words_set *y)
{
	struct words_set out = { 0 };

	if (x->n * y->n > LITERAL_WORDS_MAX)
		return false;
	for (unsigned i = 0; i < x->n; i++)
		for (unsigned k = 0; k < y->n; k++) {
			if (x->n * y->n > 1 && x->w[i].n + y->w[k].n > PRODUCT_WORD_MAX)
				return false;
			if (!join(a, x->w[i], y->w[k], &out.w[out.n++]))
				return false;
		}
	*x = out;
	return true;
}

static void
set_empty_word(struct words_set *s)
{
	s->n = 1;
	s->w[0] = (struct ats_slice){ "", 0 };
}

void
words_repeat(struct words_node *node, unsigned min, unsigned max, bool lazy)
{
	struct words_set *e = &node->exact;

	if (min == 1 && max == 1)
		return;
	if (min == 0 && max == 1 && node->exact_known && e->n < LITERAL_WORDS_MAX) {
		if (lazy)
			memmove(&e->w[1], &e->w[0], e->n * sizeof(e->w[0]));
		e->w[lazy ? 0 : e->n] = (struct ats_slice){ "", 0 };
		e->n++;
		node->need_known = false;
		return;
	}
	if (min == 0) {
		words_unknown(node);
		return;
	}
	/* At least once: needed, no longer exact. words_seq_add joins it on both sides. */
	if (node->exact_known) {
		node->need = node->exact;
		node->need_known = true;
	}
	node->exact_known = false;
}

void
words_seq_init(struct words_seq *s)
{
	s->whole = true;
	s->need_known = false;
	set_empty_word(&s->cur);
}

void
words_seq_add(struct words_arena *a, struct words_seq *s, const struct words_node *node)
{
	if (node->exact_known && product(a, &s->cur, &node->exact))
		return;
	s->whole = false;
	consider(a, &s->cur, &s->need_known, &s->need);
	if (node->exact_known) {
		s->cur = node->exact;
		return;
	}
	/* exact.n stays set for one-or-more: its first copy follows cur, its last leads on. */
	if (node->need_known && node->exact.n > 0) {
		if (product(a, &s->cur, &node->exact))
			consider(a, &s->cur, &s->need_known, &s->need);
		s->cur = node->exact;
		return;
	}
	if (node->need_known)
		consider(a, &node->need, &s->need_known, &s->need);
	set_empty_word(&s->cur);
}

void
words_seq_finish(struct words_arena *a, const struct words_seq *s, struct words_node *ret)
{
	words_unknown(ret);
	ret->need_known = s->need_known;
	if (s->need_known)
		ret->need = s->need;
	if (s->whole) {
		ret->exact = s->cur;
		ret->exact_known = true;
	} else {
		consider(a, &s->cur, &ret->need_known, &ret->need);
	}
}

static bool
add_set(struct words_set *to, const struct words_set *from)
{
	if (to->n + from->n > LITERAL_WORDS_MAX)
		return false;
	memcpy(&to->w[to->n], from->w, from->n * sizeof(from->w[0]));
	to->n += from->n;
	return true;
}

/* The words to look for in a node, or NULL. */
static const struct words_set *
best(const struct words_node *n, bool fold)
{
	unsigned e = n->exact_known ? score(&n->exact, fold) : 0;
	unsigned d = n->need_known ? score(&n->need, fold) : 0;

	if (e == 0 && d == 0)
		return NULL;
	return e >= d ? &n->exact : &n->need;
}

void
words_either(struct words_arena *a, struct words_node *ret, const struct words_node *other)
{
	const struct words_set *x = best(ret, a->fold), *y = best(other, a->fold);
	struct words_set need = { 0 };
	bool known = x != NULL && y != NULL && add_set(&need, x) && add_set(&need, y);

	ret->exact_known = ret->exact_known && other->exact_known &&
	    add_set(&ret->exact, &other->exact);
	if (!ret->exact_known)
		ret->exact.n = 0;
	ret->need_known = known;
	if (known)
		ret->need = need;
}

int
words_choose(const struct words_arena *a, const struct words_node *all,
    struct ats_slice *ret_words, size_t *ret_n, bool *ret_exact, char **ret_block)
{
	const struct words_set *s = best(all, a->fold);
	size_t total = 1;
	char *p;

	*ret_n = 0;
	*ret_exact = false;
	*ret_block = NULL;
	/* A single common byte is not worth much, but when it is the whole pattern it is. */
	if (s == NULL && all->exact_known && all->exact.n == 1 && all->exact.w[0].n > 0)
		s = &all->exact;
	if (s == NULL || a->off)
		return 0;
	for (unsigned i = 0; i < s->n; i++)
		total += s->w[i].n;
	p = malloc(total);
	if (p == NULL)
		return -ATS_E_NOMEM;
	*ret_block = p;
	for (unsigned i = 0; i < s->n; i++) {
		memcpy(p, s->w[i].p, s->w[i].n);
		ret_words[i] = (struct ats_slice){ p, s->w[i].n };
		p += s->w[i].n;
	}
	*ret_n = s->n;
	*ret_exact = s == &all->exact;
	return 0;
}
