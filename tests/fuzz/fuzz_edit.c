/* SPDX-License-Identifier: Apache-2.0
 *
 * The matcher of Edit. Input: which allocation fails, flags, length of old, length of
 * new, then old, new and the text. The places are those that a slow search finds; no byte
 * outside an edit changes, taking the edits back gives the text, what was put there is
 * new but for line ends and quotes, and the diff, applied to the old text, makes the new
 * one. */
#include "hands/fs/match_edit.h"
#include "tests/fuzz/edit_reference.h"

enum {
	ALL = 1,
	NARROW = 2
}; /* NARROW: little room for results, the other bits say how much */

/* Whether s in the text that was matched counts as new. */
static bool
is_like(const char *p, size_t n, struct ats_slice want, enum match_how how)
{
	struct reference_text a, b;
	bool same;

	reference_open(&a, p, n, how == MATCH_EXACT ? MATCH_LINE_ENDS : how);
	reference_open(&b, want.p, want.n, how == MATCH_EXACT ? MATCH_LINE_ENDS : how);
	same = a.n == b.n && memcmp(a.c, b.c, a.n) == 0;
	reference_done(&a);
	reference_done(&b);
	return same;
}

/* Old bytes outside the edits, and back again. */
static void
check_edits(const struct diff_texts *t, const struct match_set *set,
    const struct match_edit *edits, struct ats_slice with)
{
	size_t at = 0, new_at = 0;
	struct ats_buf back, place;

	ats_buf_init(&back, 64u << 20);
	ats_buf_init(&place, 64u << 20);
	for (size_t i = 0; i < set->n; i++) {
		const struct match_edit *e = &edits[i];
		const struct match_span *s = &set->v[i];

		FUZZ_CHECK(e->old_start >= s->start && e->old_end <= s->end);
		FUZZ_CHECK(e->old_start <= e->old_end && e->new_start <= e->new_end);
		FUZZ_CHECK(e->old_start >= at && e->new_end <= t->new_n);
		FUZZ_CHECK(e->new_start - new_at == e->old_start - at);
		FUZZ_CHECK(
		    memcmp(t->old + at, t->new_text + new_at, e->old_start - at) == 0);
		ats_buf_truncate(&place, 0);
		FUZZ_CHECK(
		    ats_buf_add(&place, t->old + s->start, e->old_start - s->start) == 0);
		FUZZ_CHECK(ats_buf_add(&place, t->new_text + e->new_start,
			       e->new_end - e->new_start) == 0);
		FUZZ_CHECK(
		    ats_buf_add(&place, t->old + e->old_end, s->end - e->old_end) == 0);
		FUZZ_CHECK(is_like(place.data, place.len, with, set->how));
		FUZZ_CHECK(
		    ats_buf_add(&back, t->new_text + new_at, e->new_start - new_at) == 0);
		FUZZ_CHECK(ats_buf_add(&back, t->old + e->old_start,
			       e->old_end - e->old_start) == 0);
		at = e->old_end;
		new_at = e->new_end;
	}
	FUZZ_CHECK(ats_buf_add(&back, t->new_text + new_at, t->new_n - new_at) == 0);
	FUZZ_CHECK(back.len == t->old_n && memcmp(back.data, t->old, back.len) == 0);
	ats_buf_done(&back);
	ats_buf_done(&place);
}

static void
check_diff(
    const struct diff_texts *t, const struct match_edit *edits, size_t n, size_t max)
{
	struct ats_buf out;
	struct match_edit m;
	bool differ = diff_middle(t, &m);

	FUZZ_CHECK(differ ==
		   (t->old_n != t->new_n || memcmp(t->old, t->new_text, t->old_n) != 0));
	FUZZ_CHECK(
	    m.old_start == m.new_start && t->old_n - m.old_end == t->new_n - m.new_end);
	FUZZ_CHECK(memcmp(t->old, t->new_text, m.old_start) == 0);
	FUZZ_CHECK(memcmp(t->old + m.old_end, t->new_text + m.new_end,
		       t->old_n - m.old_end) == 0);
	ats_buf_init(&out, 1u << 20);
	FUZZ_CHECK(diff_unified(t, edits, n, max, &out) == 0);
	FUZZ_CHECK(out.len <= max + 2048);
	if (max > 100000)
		reference_patch(t, &out);
	ats_buf_reset(&out);
	if (differ) {
		FUZZ_CHECK(diff_unified(t, &m, 1, 1u << 19, &out) == 0);
		reference_patch(t, &out);
	}
	ats_buf_done(&out);
}

static void
check_lines(const char *text, size_t n, struct ats_slice old)
{
	struct ats_slice line = { NULL, 0 };
	size_t no = match_nearest_line(text, n, old.p, old.n, &line), count = 1;

	if (no == 0)
		return;
	FUZZ_CHECK(line.p >= text && line.p + line.n <= text + n);
	for (const char *p = text; p < line.p; p++)
		count += *p == '\n';
	FUZZ_CHECK(no == count && no == match_line_of(text, (size_t)(line.p - text)));
	FUZZ_CHECK(memchr(line.p, '\n', line.n) == NULL);
}

static void
edit(struct ats_slice old, struct ats_slice with, struct ats_slice t, unsigned fault,
    unsigned flags)
{
	bool all = (flags & ALL) != 0, narrow = (flags & NARROW) != 0;
	size_t max = narrow ? 16 * (flags >> 2) : 1u << 19;
	struct match_set set = { .v = NULL }, want = { .v = NULL };
	struct match_edit *edits = NULL;
	struct ats_buf out;
	int rc;

	ats_buf_init(&out, narrow ? max : 64u << 20);
	reference_find(t.p, t.n, old, all, &want);
	ats_fault_alloc(fault);
	rc = match_find(t.p, t.n, old.p, old.n, all, &set);
	if (rc == 0 && all)
		rc = match_apply(t.p, t.n, &set, with.p, with.n, &out, &edits);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || (rc == -ATS_E_NOMEM && fault > 0) ||
		   (rc == -ATS_E_TOOBIG && narrow));
	if (rc == 0) {
		FUZZ_CHECK(set.n == want.n && (set.n == 0 || set.how == want.how));
		for (size_t i = 0; i < set.n; i++)
			FUZZ_CHECK(set.v[i].start == want.v[i].start &&
				   set.v[i].end == want.v[i].end);
	}
	if (rc == 0 && all) {
		const struct diff_texts texts = { t.p, t.n, out.data, out.len };

		check_edits(&texts, &set, edits, with);
		check_diff(&texts, edits, set.n, max);
		free(edits);
	}
	match_set_done(&set);
	match_set_done(&want);
	ats_buf_done(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	size_t old_n = 1u + fuzz_byte(&in), new_n = fuzz_byte(&in);
	struct ats_slice old = fuzz_bytes(&in, old_n), with = fuzz_bytes(&in, new_n),
			 text;
	char *copy;

	if (old.n < old_n || size > 8192)
		return 0;
	text = fuzz_bytes(&in, in.n);
	copy = fuzz_copy(text);
	text.p = copy;
	check_lines(text.p, text.n, old);
	edit(old, with, text, fault, flags);
	free(copy);
	return 0;
}
