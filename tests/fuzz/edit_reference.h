/* SPDX-License-Identifier: Apache-2.0
 *
 * What Edit's matcher and its diff must come to, done slowly: a text as characters that
 * know where they stand, a search at each of them, and a patch program. */
#ifndef ATS_TESTS_EDIT_REFERENCE_H
#define ATS_TESTS_EDIT_REFERENCE_H

#include "tests/fuzz/fuzz.h"

#include "hands/fs/diff.h"
#include "hands/fs/match_edit.h"

struct reference_text {
	char *c;	     /* one for each character */
	size_t *start, *end; /* its bytes */
	size_t n;
};

static inline void
reference_open(struct reference_text *t, const char *p, size_t n, enum match_how how)
{
	static const char quotes[] = "''''\"\"\"\"";

	t->c = malloc(n + 1);
	t->start = calloc(n + 1, sizeof(*t->start));
	t->end = calloc(n + 1, sizeof(*t->end));
	FUZZ_CHECK(t->c != NULL && t->start != NULL && t->end != NULL);
	t->n = 0;
	for (size_t at = 0; at < n; t->n++) {
		size_t k = 1;
		char c = p[at];

		if (how != MATCH_EXACT && n - at >= 2 && memcmp(p + at, "\r\n", 2) == 0) {
			k = 2;
			c = '\n';
		} else if (how == MATCH_QUOTES && n - at >= 3 &&
			   memcmp(p + at, "\xe2\x80", 2) == 0) {
			unsigned last = (unsigned char)p[at + 2];

			if (last >= 0x98 && last <= 0x9f) {
				k = 3;
				c = quotes[last - 0x98];
			}
		}
		t->c[t->n] = c;
		t->start[t->n] = at;
		at += k;
		t->end[t->n] = at;
	}
}

static inline void
reference_done(struct reference_text *t)
{
	free(t->c);
	free(t->start);
	free(t->end);
}

static inline void
reference_find(
    const char *p, size_t n, struct ats_slice old, bool all, struct match_set *ret)
{
	*ret = (struct match_set){ .v = calloc(n + 1, sizeof(*ret->v)) };
	FUZZ_CHECK(ret->v != NULL);
	for (int how = MATCH_EXACT; how <= (int)MATCH_QUOTES && ret->n == 0; how++) {
		struct reference_text t, o;

		ret->how = (enum match_how)how;
		reference_open(&t, p, n, ret->how);
		reference_open(&o, old.p, old.n, ret->how);
		for (size_t i = 0; i + o.n <= t.n && (all || ret->n < 100);) {
			if (memcmp(t.c + i, o.c, o.n) != 0) {
				i++;
				continue;
			}
			ret->v[ret->n++] =
			    (struct match_span){ t.start[i], t.end[i + o.n - 1] };
			i += all ? o.n : 1;
		}
		reference_done(&t);
		reference_done(&o);
	}
}

/* ---- patch: what stays, goes and comes by a unified diff ------------------------- */
/* The diff says nothing of a return at a line's end and cuts long lines. */
static inline bool
reference_is_whole(const char *p, size_t n)
{
	size_t line = 0;

	for (size_t i = 0; i < n; i++) {
		line = p[i] == '\n' ? 0 : line + 1;
		if (p[i] == '\r' || line > DIFF_LINE_MAX)
			return false;
	}
	return true;
}

static inline const char *
reference_line(const char **at, const char *end, size_t *ret_n)
{
	const char *p = *at, *nl = memchr(p, '\n', (size_t)(end - p));

	*at = nl != NULL ? nl + 1 : end;
	*ret_n = (size_t)(*at - p);
	return p;
}

static inline void
reference_patch(const struct diff_texts *t, const struct ats_buf *diff)
{
	const char *p = diff->data, *end = p + diff->len, *old = t->old, *s;
	const char *old_end = t->old + t->old_n;
	size_t line = 1, n, left[2] = { 0, 0 };
	struct ats_buf out;

	if (!reference_is_whole(t->old, t->old_n) ||
	    !reference_is_whole(t->new_text, t->new_n))
		return;
	ats_buf_init(&out, 64u << 20);
	while (p < end) {
		unsigned long from, count, to, new_count;
		const char *body = reference_line(&p, end, &n);
		bool no_newline = p < end && *p == '\\';

		if (left[0] == 0 && left[1] == 0) {
			FUZZ_CHECK(sscanf(body, "@@ -%lu,%lu +%lu,%lu @@\n", &from,
				       &count, &to, &new_count) == 4);
			left[0] = count;
			left[1] = new_count;
			for (from += count == 0; line < from; line++) {
				s = reference_line(&old, old_end, &n);
				FUZZ_CHECK(n > 0 && ats_buf_add(&out, s, n) == 0);
			}
			n = 1;
			for (size_t i = 0; i < out.len; i++)
				n += out.data[i] == '\n';
			FUZZ_CHECK(to + (new_count == 0) == n);
			continue;
		}
		if (no_newline) {
			size_t skipped;

			(void)reference_line(&p, end, &skipped);
			n--;
		}
		FUZZ_CHECK(n > 0 && strchr(" -+", body[0]) != NULL);
		if (body[0] != '+') {
			size_t old_n;

			s = reference_line(&old, old_end, &old_n);
			FUZZ_CHECK(left[0]-- > 0 && old_n == n - 1);
			FUZZ_CHECK(memcmp(s, body + 1, old_n) == 0);
			line++;
		}
		if (body[0] != '-') {
			FUZZ_CHECK(left[1]-- > 0);
			FUZZ_CHECK(ats_buf_add(&out, body + 1, n - 1) == 0);
		}
	}
	FUZZ_CHECK(left[0] == 0 && left[1] == 0);
	FUZZ_CHECK(ats_buf_add(&out, old, (size_t)(old_end - old)) == 0);
	FUZZ_CHECK(out.len == t->new_n && memcmp(out.data, t->new_text, out.len) == 0);
	ats_buf_done(&out);
}

#endif
