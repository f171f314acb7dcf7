/* SPDX-License-Identifier: Apache-2.0
 *
 * What wildcards mean to git, done slowly: a byte of the pattern at a time against the
 * whole path, with a table of what was tried; braces, which git has none of, by writing
 * out every word. */
#ifndef ATS_TESTS_GLOB_REFERENCE_H
#define ATS_TESTS_GLOB_REFERENCE_H

#include <ctype.h>

#include "tests/fuzz/fuzz.h"

#define REFERENCE_MAX 160u /* bytes of a pattern and of a path */
#define REFERENCE_WORDS 64u

static inline bool
reference_named(const char *p, size_t n, int c, bool *ret_known)
{
	*ret_known = true;
	if (n == 5 && memcmp(p, "space", n) == 0)
		return c == ' ' || c == '\t' || c == '\n' || c == '\r';
#define NAMED(x)                                          \
	if (n == sizeof(#x) - 1 && memcmp(p, #x, n) == 0) \
	return c < 0x80 && is##x(c) != 0
	NAMED(alnum);
	NAMED(alpha);
	NAMED(blank);
	NAMED(cntrl);
	NAMED(digit);
	NAMED(graph);
	NAMED(lower);
	NAMED(print);
	NAMED(punct);
	NAMED(upper);
	NAMED(xdigit);
#undef NAMED
	*ret_known = false;
	return false;
}

/* The class at p[0] == '[' as a set; returns its length, 0 when it is none that could
 * match. A character counts at once, and once more as the start of a range. */
static inline size_t
reference_class(const char *p, size_t n, bool set[256])
{
	bool negated = n > 1 && (p[1] == '!' || p[1] == '^'), known = true;
	size_t at = negated ? 2 : 1, first = at;
	int before = -1;

	memset(set, 0, 256);
	for (; at < n && (p[at] != ']' || at == first); at++) {
		int c = (unsigned char)p[at], next = -1;

		if (c == '\\') {
			if (++at == n)
				return 0;
			next = (unsigned char)p[at];
			set[next] = true;
		} else if (c == '-' && before >= 0 && at + 1 < n && p[at + 1] != ']') {
			at += 1 + (p[at + 1] == '\\');
			if (at >= n)
				return 0;
			for (int k = before; k <= (int)(unsigned char)p[at]; k++)
				set[k] = true;
		} else if (c == '[' && at + 1 < n && p[at + 1] == ':') {
			const char *close = memchr(p + at + 2, ']', n - at - 2);

			if (close == NULL)
				return 0;
			if (close == p + at + 2 || close[-1] != ':') {
				set['['] = true;
				next = '[';
			} else {
				for (int k = 0; k < 256; k++)
					set[k] |= reference_named(p + at + 2,
					    (size_t)(close - p) - at - 3, k, &known);
				at = (size_t)(close - p);
			}
		} else {
			next = c;
			set[c] = true;
		}
		before = next;
	}
	for (int c = 0; c < 256; c++)
		set[c] = known && set[c] != negated;
	return at < n ? at + 1 : 0;
}

struct reference_match {
	struct ats_slice p, t;
	signed char known[REFERENCE_MAX + 1]
			 [REFERENCE_MAX + 1]; /* 1 yes, -1 no, 0 not yet */
};

static inline bool reference_at(struct reference_match *m, size_t p, size_t t);

/* Stars at p, as many as there are. Between slashes two of them reach over slashes. */
static inline bool
reference_stars(struct reference_match *m, size_t p, size_t t)
{
	const char *s = m->p.p;
	size_t end = p;
	bool deep;

	while (end < m->p.n && s[end] == '*')
		end++;
	deep = end - p >= 2 && (p == 0 || s[p - 1] == '/') &&
	       (end == m->p.n || s[end] == '/' ||
		   (s[end] == '\\' && end + 1 < m->p.n && s[end + 1] == '/'));
	if (deep && end < m->p.n && s[end] == '/' && reference_at(m, end + 1, t))
		return true;
	if (end == m->p.n)
		return deep || memchr(m->t.p + t, '/', m->t.n - t) == NULL;
	for (; t <= m->t.n; t++) {
		if (reference_at(m, end, t))
			return true;
		if (t < m->t.n && m->t.p[t] == '/' && !deep)
			return false;
	}
	return false;
}

/* Whether the pattern from p matches the text from t. */
static inline bool
reference_at(struct reference_match *m, size_t p, size_t t)
{
	char c = p < m->p.n ? m->p.p[p] : '\0', have = t < m->t.n ? m->t.p[t] : '\0';
	bool set[256], yes = false;
	size_t k;

	if (m->known[p][t] != 0)
		return m->known[p][t] > 0;
	if (p == m->p.n)
		yes = t == m->t.n;
	else if (c == '*')
		yes = reference_stars(m, p, t);
	else if (t == m->t.n)
		yes = false;
	else if (c == '?')
		yes = have != '/' && reference_at(m, p + 1, t + 1);
	else if (c == '[')
		yes = have != '/' &&
		      (k = reference_class(m->p.p + p, m->p.n - p, set)) > 0 &&
		      set[(unsigned char)have] && reference_at(m, p + k, t + 1);
	else if (c == '\\')
		yes = p + 1 < m->p.n && m->p.p[p + 1] == have &&
		      reference_at(m, p + 2, t + 1);
	else
		yes = c == have && reference_at(m, p + 1, t + 1);
	m->known[p][t] = yes ? 1 : -1;
	return yes;
}

/* 1, 0, or -1: too large to say. */
static inline int
reference_path(struct ats_slice pattern, struct ats_slice path)
{
	static struct reference_match m;

	if (pattern.n > REFERENCE_MAX || path.n > REFERENCE_MAX)
		return -1;
	m.p = pattern;
	m.t = path;
	memset(m.known, 0, (pattern.n + 1) * sizeof(m.known[0]));
	return reference_at(&m, 0, 0);
}

/* Whether the path is one: names with one slash between them. */
static inline bool
reference_is_path(struct ats_slice path)
{
	for (size_t i = 0; i < path.n; i++)
		if (path.p[i] == '\0' ||
		    (path.p[i] == '/' &&
			(i == 0 || i + 1 == path.n || path.p[i + 1] == '/')))
			return false;
	return path.n > 0;
}

/* ---- braces ---------------------------------------------------------------------- */
struct reference_words {
	char *w[REFERENCE_WORDS];
	size_t n;
	bool full;
};

static inline size_t
reference_unit(const char *p)
{
	bool set[256];
	size_t n = strlen(p), k;

	if (*p == '\\')
		return n > 1 ? 2 : 1;
	k = *p == '[' ? reference_class(p, n, set) : 1;
	return k > 0 ? k : 1;
}

/* Writes out what p can be, all words behind each head. */
static inline void
reference_expand(
    const char *head, size_t head_n, const char *p, struct reference_words *ret)
{
	size_t open = 0, depth, from, at;
	struct ats_buf word;

	while (p[open] != '\0' && p[open] != '{')
		open += reference_unit(p + open);
	ats_buf_init(&word, 1u << 20);
	FUZZ_CHECK(
	    ats_buf_add(&word, head, head_n) == 0 && ats_buf_add(&word, p, open) == 0);
	if (p[open] == '\0') {
		ret->full = ret->full || ret->n == REFERENCE_WORDS;
		if (!ret->full)
			ret->w[ret->n++] =
			    fuzz_string((struct ats_slice){ word.data, word.len });
		ats_buf_done(&word);
		return;
	}
	for (at = from = open + 1, depth = 1; depth > 0 && !ret->full;
	     at += reference_unit(p + at)) {
		size_t close, d = 1;

		depth += p[at] == '{';
		depth -= p[at] == '}';
		if (depth > 1 || (depth == 1 && p[at] != ','))
			continue;
		/* the member, then what is behind the group */
		for (close = open + 1; d > 0; close += reference_unit(p + close)) {
			d += p[close] == '{';
			d -= p[close] == '}';
		}
		{
			struct ats_buf rest;

			ats_buf_init(&rest, 1u << 20);
			FUZZ_CHECK(ats_buf_add(&rest, p + from, at - from) == 0 &&
				   ats_buf_add_str(&rest, p + close) == 0);
			reference_expand(word.data, word.len, rest.data, ret);
			ats_buf_done(&rest);
		}
		from = at + 1;
	}
	ats_buf_done(&word);
}

static inline void
reference_words_done(struct reference_words *w)
{
	while (w->n > 0)
		free(w->w[--w->n]);
}

#endif
