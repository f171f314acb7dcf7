/* SPDX-License-Identifier: Apache-2.0
 *
 * Replacements on the text of a file. Runs in workers of the write profile; the file's
 * content is anybody's, the replacements are the model's. */
#include "hands/tools/edit_text.h"

#include "common/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDIT_MAX (4u * CHANGE_FILE_MAX)	/* replace_all can make a file grow */

struct edit_step
edit_step_make(const char *old, const char *with, bool all)
{
	struct edit_step s = { { old, strlen(old) }, { with, strlen(with) }, all };

	if (s.old.n <= 3 || memcmp(s.old.p, "\xef\xbb\xbf", 3) != 0)
		return s;
	s.old.p += 3;
	s.old.n -= 3;
	if (s.with.n >= 3 && memcmp(s.with.p, "\xef\xbb\xbf", 3) == 0) {
		s.with.p += 3;
		s.with.n -= 3;
	}
	return s;
}

/* The text that is searched: after the BOM, UTF-16 decoded. */
static int
decode(struct edit_text *e, struct ats_err *err)
{
	const struct change *c = e->c;
	struct ats_buf again ATS_CLEANUP_BUF = { 0 };
	bool be;
	int rc;

	e->kind = text_detect(c->old, c->old_n);
	e->was = (struct ats_slice){ c->old + text_bom_len(e->kind),
	    c->old_n - text_bom_len(e->kind) };
	if (e->kind == TEXT_BINARY)
		return ats_err_set(err, ATS_E_UTF8,
		    "%.400s is a binary file; nothing was written.", c->pl.path);
	if (e->kind != TEXT_UTF16LE && e->kind != TEXT_UTF16BE)
		return 0;
	be = e->kind == TEXT_UTF16BE;
	ats_buf_init(&again, EDIT_MAX);
	rc = text_from_utf16(e->was.p, e->was.n, be, &e->decoded);
	if (rc == 0)
		rc = text_to_utf16(e->decoded.data, e->decoded.len, be, &again);
	if (rc < 0)
		return ats_err_set(err, -rc, "%.400s cannot be decoded.", c->pl.path);
	if (again.len != c->old_n || memcmp(again.data, c->old, again.len) != 0)
		return ats_err_set(err, ATS_E_UTF8,
		    "%.400s is not valid UTF-16; nothing was written.", c->pl.path);
	e->was = (struct ats_slice){ e->decoded.data, e->decoded.len };
	return 0;
}

int
edit_text_open(struct edit_text *t, struct change *c, struct ats_err *err)
{
	int rc = 0;

	memset(t, 0, sizeof(*t));
	t->c = c;
	ats_buf_init(&t->decoded, EDIT_MAX);
	ats_buf_init(&t->now, EDIT_MAX);
	t->was = (struct ats_slice){ "", 0 };
	if (c->old != NULL)
		rc = decode(t, err);
	t->text = t->was;
	return rc;
}

void
edit_text_done(struct edit_text *t)
{
	free(t->edits);
	ats_buf_done(&t->decoded);
	ats_buf_done(&t->now);
}

/* ---- one step ---------------------------------------------------------------------- */
/* Bytes of an unknown encoding are only touched where they are surely ASCII. */
static int
check_bytes(const struct edit_text *e, const struct edit_step *step,
    const struct match_set *set, struct ats_err *err)
{
	if (e->kind != TEXT_BYTES)
		return 0;
	if (!text_is_ascii(step->old.p, step->old.n) ||
	    !text_is_ascii(step->with.p, step->with.n))
		return ats_err_set(err, ATS_E_UTF8,
		    "%.300s is not UTF-8; in it only ASCII text can be replaced by ASCII "
		    "text. Nothing was written.",
		    e->c->pl.path);
	for (size_t i = 0; i < set->n; i++) {
		size_t at = set->v[i].start;

		if (at > 0 && (e->text.p[at - 1] & 0x80) != 0)
			return ats_err_set(err, ATS_E_UTF8,
			    "%.300s is not UTF-8, and the text follows a byte that may "
			    "begin a character. Nothing was written.",
			    e->c->pl.path);
	}
	return 0;
}

static int
no_match(const struct edit_text *e, struct ats_slice old, struct ats_err *err)
{
	struct ats_slice line = { "", 0 };
	size_t at = match_nearest_line(e->text.p, e->text.n, old.p, old.n, &line);

	if (at == 0)
		return ats_err_set(err, ATS_E_NO_MATCH,
		    "old_string was not found in %.300s, nor anything like it. Nothing "
		    "was written.",
		    e->c->pl.path);
	return ats_err_set(err, ATS_E_NO_MATCH,
	    "old_string was not found in %.200s. The nearest place is line %zu: "
	    "\"%.*s\". Compare spaces and indentation. Nothing was written.",
	    e->c->pl.path, at, (int)text_cut(line.p, line.n, 160), line.p);
}

static int
ambiguous(
    const struct edit_text *e, const struct match_set *set, struct ats_err *err)
{
	char lines[128] = "";
	size_t n = 0;

	for (size_t i = 0; i < set->n && i < 5; i++) {
		int k = snprintf(lines + n, sizeof(lines) - n, "%s%zu", i > 0 ? ", " : "",
		    match_line_of(e->text.p, set->v[i].start));

		n += k > 0 ? (size_t)k : 0;
	}
	return ats_err_set(err, ATS_E_AMBIGUOUS,
	    "old_string is in %s%zu places of %.200s (lines "
	    "%s%s). Give more of the text around the place, or set replace_all. Nothing "
	    "was written.",
	    set->n >= 100 ? "at least " : "", set->n, e->c->pl.path, lines,
	    set->n > 5 ? " ..." : "");
}

/* The changes a, then b on their result, as changes of the first text to the last. */
static int
compose(const struct match_edit *a, size_t na, const struct match_edit *b, size_t nb,
    struct match_edit **ret, size_t *ret_n)
{
	size_t i = 0, j = 0, n = 0;
	size_t da = 0, db = 0;	/* how far the changes so far have moved what follows; may wrap */
	struct match_edit *v = ats_malloc((na + nb + 1) * sizeof(*v));

	if (v == NULL)
		return -ATS_E_NOMEM;
	while (i < na || j < nb) {
		bool a_first = j == nb || (i < na && a[i].new_start <= b[j].old_start);
		size_t from = a_first ? a[i].new_start : b[j].old_start, to = from;

		v[n].old_start = from - da;
		v[n].new_start = from + db;
		for (;;) {	/* those that touch are one */
			if (i < na && a[i].new_start <= to) {
				to = a[i].new_end > to ? a[i].new_end : to;
				da += (a[i].new_end - a[i].new_start) -
				    (a[i].old_end - a[i].old_start);
				i++;
			} else if (j < nb && b[j].old_start <= to) {
				to = b[j].old_end > to ? b[j].old_end : to;
				db += (b[j].new_end - b[j].new_start) -
				    (b[j].old_end - b[j].old_start);
				j++;
			} else {
				break;
			}
		}
		v[n].old_end = to - da;
		v[n++].new_end = to + db;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

/* Takes over what the step made of the text. */
static int
advance(struct edit_text *t, const struct match_set *set, struct ats_buf *made,
    const struct match_edit *edits, struct ats_err *err)
{
	struct match_edit *all;
	size_t n;

	if (compose(t->edits, t->nedits, edits, set->n, &all, &n) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "Not enough memory.");
	free(t->edits);
	t->edits = all;
	t->nedits = n;
	ats_buf_done(&t->now);
	t->now = *made;
	ats_buf_init(made, EDIT_MAX);
	t->text = (struct ats_slice){ t->now.data, t->now.len };
	t->places = set->n;
	t->how = set->how;
	return 0;
}

static int
find(const struct edit_text *t, const struct edit_step *step, struct match_set *set,
    struct ats_err *err)
{
	int rc = match_find(
	    t->text.p, t->text.n, step->old.p, step->old.n, step->all, set);

	if (rc == -ATS_E_FULL)
		return ats_err_set(err, ATS_E_FULL,
		    "old_string is in more than %u places of %.300s.", MATCH_MAX,
		    t->c->pl.path);
	if (rc < 0)
		return ats_err_set(err, ATS_E_NOMEM, "Not enough memory.");
	if (set->n == 0)
		return no_match(t, step->old, err);
	if (set->n > 1 && !step->all)
		return ambiguous(t, set, err);
	return check_bytes(t, step, set, err);
}

int
edit_text_apply(struct edit_text *t, const struct edit_step *step, struct ats_err *err)
{
	struct match_set set = { 0 };
	struct match_edit *edits = NULL;
	struct ats_buf made ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&made, EDIT_MAX);
	rc = find(t, step, &set, err);
	if (rc == 0) {
		rc = match_apply(t->text.p, t->text.n, &set, step->with.p, step->with.n,
		    &made, &edits);
		if (rc < 0)
			(void)ats_err_set(err, -rc, "%.300s would become too large: %s.",
			    t->c->pl.path, ats_err_text(rc));
	}
	if (rc == 0 && made.len == t->text.n &&
	    memcmp(made.data, t->text.p, t->text.n) == 0)
		rc = ats_err_set(err, ATS_E_INVAL,
		    "The edit changes nothing: %.300s has the new text there already.",
		    t->c->pl.path);
	if (rc == 0)
		rc = advance(t, &set, &made, edits, err);
	free(edits);
	match_set_done(&set);
	return rc;
}

/* ---- writing ----------------------------------------------------------------------- */
int
edit_text_commit(struct edit_text *e, struct tool_result *out, struct ats_err *err)
{
	struct ats_buf bytes ATS_CLEANUP_BUF = { 0 };
	int rc;

	if (e->kind == TEXT_UTF8 || e->kind == TEXT_BYTES)
		return change_commit(e->c, e->text.p, e->text.n, out, err);
	ats_buf_init(&bytes, EDIT_MAX);
	if (e->kind == TEXT_UTF8_BOM) {
		rc = ats_buf_add(&bytes, e->c->old, 3);
		if (rc == 0)
			rc = ats_buf_add(&bytes, e->text.p, e->text.n);
	} else {
		rc = text_to_utf16(
		    e->text.p, e->text.n, e->kind == TEXT_UTF16BE, &bytes);
	}
	if (rc < 0)
		return ats_err_set(err, -rc, "The new text cannot be encoded: %s.",
		    ats_err_text(rc));
	return change_commit(e->c, bytes.data, bytes.len, out, err);
}

int
edit_text_report(const struct edit_text *t, struct tool_result *out)
{
	struct diff_texts d = { t->was.p, t->was.n, t->text.p, t->text.n };

	return change_report(t->c, &d, t->edits, t->nedits, out);
}

int
edit_may_create(struct change *c, struct ats_slice s, struct tool_result *out,
    struct ats_err *err)
{
	int rc = 0;

	if (c->t.fd < 0 || (c->t.st.st_size == 0 && s.n > 0))
		return 0;
	if (s.n == 0 && c->t.st.st_size == 0 && c->env->attempt == 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "%.300s exists and is empty; there is nothing to do.", c->pl.path);
	if (c->env->attempt > 0 && (size_t)c->t.st.st_size == s.n)
		rc = change_load(c, err);
	if (rc < 0)
		return rc;
	if (c->old == NULL || c->old_n != s.n || memcmp(c->old, s.p, s.n) != 0)
		return ats_err_set(err, ATS_E_EXISTS,
		    "%.300s exists and is not empty; an empty old_string only "
		    "creates files. Nothing was written.",
		    c->pl.path);
	rc = ats_buf_addf(
	    &out->text, "%s was created by the first try already.", c->pl.path);
	if (rc == 0)
		rc = change_saw_old(c, out);
	return rc == 0 ? 1 : rc;
}

int
edit_create(struct change *c, struct ats_slice s, struct tool_result *out,
    struct ats_err *err)
{
	size_t n = s.n, lines = text_count_lines(s.p, n);
	int rc = change_commit(c, s.p, n, out, err);

	if (rc == 0)
		rc = ats_buf_addf(&out->text, "Created %s (%zu bytes, %zu line%s).\n",
		    c->pl.path, n, lines, lines == 1 ? "" : "s");
	return rc == 0 ? change_report(c, NULL, NULL, 1, out) : rc;
}
