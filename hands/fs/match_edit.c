/* SPDX-License-Identifier: Apache-2.0
 *
 * The matcher of Edit. Runs in workers of the write profile; text and strings are
 * anybody's, so every pass is linear: lenient matching compares normalised copies and
 * maps the places back by walking the text once more. */
#include "hands/fs/match_edit.h"

#include "common/fault.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define AMBIGUOUS_MAX 100u

/* One step of the normalised text: the bytes taken from p; *ret is what they count as. */
static size_t
step(const char *p, size_t n, enum match_how how, char *ret)
{
	const unsigned char *u = (const unsigned char *)p;

	*ret = p[0];
	if (how >= MATCH_LINE_ENDS && n > 1 && p[0] == '\r' && p[1] == '\n') {
		*ret = '\n';
		return 2;
	}
	if (how == MATCH_QUOTES && n > 2 && u[0] == 0xe2 && u[1] == 0x80 &&
	    u[2] >= 0x98 && u[2] <= 0x9f) {
		*ret = u[2] <= 0x9b ? '\'' : '"';
		return 3;
	}
	return 1;
}

/* The same backwards from the end of p[0..n). */
static size_t
step_back(const char *p, size_t n, enum match_how how, char *ret)
{
	if (n > 1 && how >= MATCH_LINE_ENDS && p[n - 1] == '\n' && p[n - 2] == '\r') {
		*ret = '\n';
		return 2;
	}
	if (n > 2 && step(p + n - 3, 3, how, ret) == 3)
		return 3;
	*ret = p[n - 1];
	return 1;
}

static char *
normalise(const char *p, size_t n, enum match_how how, size_t *ret_n)
{
	char *out = ats_malloc(n + 1);
	size_t len = 0;

	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < n; len++)
		i += step(p + i, n - i, how, &out[len]);
	*ret_n = len;
	return out;
}

static int
add(struct match_set *m, size_t start, size_t end)
{
	if (m->n == MATCH_MAX)
		return -ATS_E_FULL;
	if (m->n == m->cap) {
		size_t cap = m->cap == 0 ? 16 : 2 * m->cap;
		struct match_span *v = ats_realloc(m->v, cap * sizeof(*v));

		if (v == NULL)
			return -ATS_E_NOMEM;
		m->v = v;
		m->cap = cap;
	}
	m->v[m->n++] = (struct match_span){ start, end };
	return 0;
}

static int
find_bytes(const char *t, size_t n, const char *old, size_t old_n, bool all,
    struct match_set *m)
{
	size_t at = 0;
	int rc = 0;

	m->n = 0;
	while (rc == 0 && (all || m->n < AMBIGUOUS_MAX)) {
		const char *hit = memmem(t + at, n - at, old, old_n);

		if (hit == NULL)
			break;
		at = (size_t)(hit - t);
		rc = add(m, at, at + old_n);
		at += all ? old_n : 1;
	}
	return rc;
}

/* Offsets in the normalised text become offsets in the text. */
static void
map_back(const char *t, size_t n, enum match_how how, struct match_set *m)
{
	size_t raw = 0, norm = 0, raw_end = 0, norm_end = 0;
	char c;

	for (size_t i = 0; i < m->n; i++) {
		for (; norm < m->v[i].start; norm++)
			raw += step(t + raw, n - raw, how, &c);
		for (; norm_end < m->v[i].end; norm_end++)
			raw_end += step(t + raw_end, n - raw_end, how, &c);
		m->v[i] = (struct match_span){ raw, raw_end };
	}
}

static bool
may_differ(const char *t, size_t n, const char *old, size_t old_n, enum match_how how)
{
	if (how == MATCH_LINE_ENDS)
		return memchr(t, '\r', n) != NULL || memchr(old, '\r', old_n) != NULL;
	return memmem(t, n, "\xe2\x80", 2) != NULL ||
	       memmem(old, old_n, "\xe2\x80", 2) != NULL;
}

int
match_find(const char *text, size_t n, const char *old, size_t old_n, bool all,
    struct match_set *ret)
{
	struct match_set m = { .how = MATCH_EXACT };
	int rc = find_bytes(text, n, old, old_n, all, &m);

	while (rc == 0 && m.n == 0 && m.how < MATCH_QUOTES) {
		char *t, *o;
		size_t tn = 0, on = 0;

		m.how++;
		if (!may_differ(text, n, old, old_n, m.how))
			continue;
		t = normalise(text, n, m.how, &tn);
		o = normalise(old, old_n, m.how, &on);
		rc = t == NULL || o == NULL ? -ATS_E_NOMEM
					    : find_bytes(t, tn, o, on, all, &m);
		free(t);
		free(o);
		if (rc == 0)
			map_back(text, n, m.how, &m);
	}
	if (rc < 0) {
		match_set_done(&m);
		return rc;
	}
	*ret = m;
	return 0;
}

void
match_set_done(struct match_set *m)
{
	free(m->v);
	m->v = NULL;
	m->n = m->cap = 0;
}

/* What is left of a place and of new when their common ends are taken off. */
struct middle {
	size_t start, end;		/* in the text */
	size_t new_start, new_end;	/* in new */
};

static struct middle
trim(const char *t, struct match_span s, const char *new_text, size_t new_n,
    enum match_how how)
{
	struct middle d = { s.start, s.end, 0, new_n };
	char a, b;

	while (d.start < d.end && d.new_start < d.new_end) {
		size_t k = step(t + d.start, d.end - d.start, how, &a);
		size_t l = step(new_text + d.new_start, d.new_end - d.new_start, how, &b);

		if (a != b)
			break;
		d.start += k;
		d.new_start += l;
	}
	while (d.start < d.end && d.new_start < d.new_end) {
		size_t k = step_back(t + d.start, d.end - d.start, how, &a);
		size_t l =
		    step_back(new_text + d.new_start, d.new_end - d.new_start, how, &b);

		if (a != b)
			break;
		/* CR CRLF and a bare LF: what stays would make the CR a line end */
		if (k < l && d.new_end > l && new_text[d.new_end - l - 1] == '\r')
			break;
		d.end -= k;
		d.new_end -= l;
	}
	return d;
}

/* Whether the line at or after a place, or else the one before it, ends in CRLF. */
static bool
is_crlf_near(const char *t, size_t n, size_t at)
{
	const char *nl = memchr(t + at, '\n', n - at);

	if (nl == NULL)
		nl = memrchr(t, '\n', at);
	return nl != NULL && nl > t && nl[-1] == '\r';
}

/* The bytes of new with the file's line ends; out holds from `from` on what stands before
 * them in the place. A return that belongs to the line keeps its line end as new has it:
 * CR CR LF made CR LF would be another text. */
static int
add_with_line_ends(struct ats_buf *out, size_t from, const char *p, size_t n, bool crlf)
{
	int rc = 0;

	while (rc == 0 && n > 0) {
		const char *nl = memchr(p, '\n', n);
		size_t k = nl != NULL ? (size_t)(nl - p) : n;
		bool pair = nl != NULL && k > 0 && p[k - 1] == '\r';

		rc = ats_buf_add(out, p, k - pair);
		if (rc == 0 && nl != NULL) {
			pair &= out->len > from && out->data[out->len - 1] == '\r';
			rc = crlf || pair ? ats_buf_add(out, "\r\n", 2)
					  : ats_buf_add_char(out, '\n');
		}
		k += nl != NULL;
		p += k;
		n -= k;
	}
	return rc;
}

/* Two strings that differ in their line ends only. */
static bool
is_same_but_line_ends(const char *a, size_t an, const char *b, size_t bn)
{
	size_t i = 0, j = 0;
	char c, d;

	while (i < an && j < bn) {
		i += step(a + i, an - i, MATCH_LINE_ENDS, &c);
		j += step(b + j, bn - j, MATCH_LINE_ENDS, &d);
		if (c != d)
			return false;
	}
	return i == an && j == bn;
}

static int
apply_one(const char *text, size_t n, struct match_span s, enum match_how how,
    struct ats_slice with, struct ats_buf *out, struct match_edit *ret)
{
	bool literal = (how == MATCH_EXACT && memchr(with.p, '\r', with.n) != NULL) ||
	    is_same_but_line_ends(text + s.start, s.end - s.start, with.p, with.n);
	struct middle d = { s.start, s.end, 0, with.n };
	size_t from = out->len;
	int rc;

	if (!literal)
		d = trim(
		    text, s, with.p, with.n, how == MATCH_EXACT ? MATCH_LINE_ENDS : how);
	/* s.start .. d.start was matched and stays */
	rc = ats_buf_add(out, text + s.start, d.start - s.start);
	ret->old_start = d.start;
	ret->old_end = d.end;
	ret->new_start = out->len;
	if (rc == 0 && literal)
		rc = ats_buf_add(out, with.p, with.n);
	else if (rc == 0)
		rc = add_with_line_ends(out, from, with.p + d.new_start,
		    d.new_end - d.new_start, is_crlf_near(text, n, s.start));
	ret->new_end = out->len;
	if (rc == 0)
		rc = ats_buf_add(out, text + d.end, s.end - d.end);
	return rc;
}

int
match_apply(const char *text, size_t n, const struct match_set *m, const char *new_text,
    size_t new_n, struct ats_buf *out, struct match_edit **ret_edits)
{
	struct match_edit *edits = ats_calloc(m->n > 0 ? m->n : 1, sizeof(*edits));
	struct ats_slice with = { new_text, new_n };
	size_t at = 0;
	int rc = edits != NULL ? 0 : -ATS_E_NOMEM;

	for (size_t i = 0; rc == 0 && i < m->n; i++) {
		rc = ats_buf_add(out, text + at, m->v[i].start - at);
		if (rc == 0)
			rc = apply_one(text, n, m->v[i], m->how, with, out, &edits[i]);
		at = m->v[i].end;
	}
	if (rc == 0)
		rc = ats_buf_add(out, text + at, n - at);
	if (rc < 0) {
		free(edits);
		return rc;
	}
	*ret_edits = edits;
	return 0;
}

static struct ats_slice
strip(const char *p, size_t n)
{
	while (n > 0 && (*p == ' ' || *p == '\t' || *p == '\r')) {
		p++;
		n--;
	}
	while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r'))
		n--;
	return (struct ats_slice){ p, n };
}

/* Next line of *at, stripped. */
static struct ats_slice
next_line(const char *p, size_t n, size_t *at)
{
	const char *nl = memchr(p + *at, '\n', n - *at);
	size_t k = nl != NULL ? (size_t)(nl - p) - *at : n - *at;
	struct ats_slice s = strip(p + *at, k);

	*at += k + (nl != NULL);
	return s;
}

size_t
match_nearest_line(const char *text, size_t n, const char *old, size_t old_n,
    struct ats_slice *ret_line)
{
	struct ats_slice want = { "", 0 }, line;
	size_t best = 0, best_score = 0, no = 0;

	for (size_t at = 0; at < old_n; ) {
		line = next_line(old, old_n, &at);
		if (line.n > want.n)
			want = line;
	}
	if (want.n < 3)
		return 0;
	for (size_t at = 0; at < n; ) {
		size_t head = 0, tail = 0, less, score;

		line = next_line(text, n, &at);
		no++;
		less = line.n < want.n ? line.n : want.n;
		while (head < less && line.p[head] == want.p[head])
			head++;
		while (tail < less - head &&
		    line.p[line.n - 1 - tail] == want.p[want.n - 1 - tail])
			tail++;
		score = 2000 * (head + tail) / (line.n + want.n);
		if (score > best_score) {
			best_score = score;
			best = no;
			*ret_line = line;
		}
	}
	return best_score >= 600 ? best : 0;
}

size_t
match_line_of(const char *text, size_t at)
{
	size_t line = 1;

	for (const char *p = text, *end = text + at; p < end; line++) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (p == NULL)
			break;
		p++;
	}
	return line;
}
