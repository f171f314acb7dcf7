/* SPDX-License-Identifier: Apache-2.0
 *
 * Write: a whole file at once. Runs in workers of the write profile, its check in those of
 * the read profile. */
#include "hands/tools/change.h"

#include <string.h>

/* The style of an existing file that a model cannot see in what Read showed it. */
struct style {
	enum text_kind kind;
	bool crlf;		/* every line ends so */
};

/* p: the text, decoded. */
static bool
is_crlf(const char *p, size_t n)
{
	const char *end = p + n, *nl = memchr(p, '\n', n);
	bool crlf = nl != NULL;

	for (; nl != NULL && crlf; nl = memchr(nl + 1, '\n', (size_t)(end - nl - 1)))
		crlf = nl > p && nl[-1] == '\r';
	return crlf;
}

static int
with_crlf(const char *p, size_t n, struct ats_buf *out)
{
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < n; ) {
		const char *nl = memchr(p + at, '\n', n - at);
		size_t k = nl != NULL ? (size_t)(nl - p) - at : n - at;

		rc = ats_buf_add(out, p + at, k);
		if (rc == 0 && nl != NULL)
			rc = ats_buf_add(out, "\r\n", 2);
		at += k + (nl != NULL);
	}
	return rc;
}

struct write_call {
	struct change c;
	struct style style;
	struct ats_buf decoded, lines;	/* what was and now may point into */
	struct ats_slice was, now;	/* the texts, without BOM, as UTF-8 where that can be */
	struct ats_buf bytes;		/* to be written */
};

/* What the existing file is like. */
static int
look_at_old(struct write_call *k)
{
	const struct change *c = &k->c;
	enum text_kind kind = text_detect(c->old, c->old_n);
	size_t bom = text_bom_len(kind);
	int rc = 0;

	k->was = (struct ats_slice){ c->old + bom, c->old_n - bom };
	if (kind == TEXT_UTF16LE || kind == TEXT_UTF16BE) {
		rc = text_from_utf16(
		    k->was.p, k->was.n, kind == TEXT_UTF16BE, &k->decoded);
		k->was = (struct ats_slice){ k->decoded.data, k->decoded.len };
	}
	k->style = (struct style){ kind, rc == 0 && is_crlf(k->was.p, k->was.n) };
	return rc;
}

/* The bytes to write: content in the style of the file that it replaces. */
static int
styled(struct write_call *k, const char *content, size_t n)
{
	enum text_kind kind = k->style.kind;
	int rc = 0;

	if (kind != TEXT_UTF8 && n >= 3 && memcmp(content, "\xef\xbb\xbf", 3) == 0) {
		content += 3;
		n -= 3;
	}
	if (k->style.crlf && memchr(content, '\r', n) == NULL) {
		rc = with_crlf(content, n, &k->lines);
		content = n > 0 ? k->lines.data : content;
		n = k->lines.len;
	}
	k->now = (struct ats_slice){ content, n };
	if (rc == 0 && (kind == TEXT_UTF16LE || kind == TEXT_UTF16BE))
		return text_to_utf16(content, n, kind == TEXT_UTF16BE, &k->bytes);
	if (rc == 0 && kind == TEXT_UTF8_BOM)
		rc = ats_buf_add(&k->bytes, "\xef\xbb\xbf", 3);
	return rc == 0 ? ats_buf_add(&k->bytes, content, n) : rc;
}

static int
report(const struct write_call *k, struct tool_result *out)
{
	const struct change *c = &k->c;
	const struct style *s = &k->style;
	const struct ats_buf *wrote = &k->bytes;
	struct diff_texts t = { k->was.p, k->was.n, k->now.p, k->now.n };
	struct match_edit edit;
	size_t lines;
	bool show;
	int rc;

	if (c->t.fd < 0) {
		lines = text_count_lines(wrote->data, wrote->len);
		rc = ats_buf_addf(&out->text, "Created %s (%zu bytes, %zu line%s).\n",
		    c->pl.path, wrote->len, lines, lines == 1 ? "" : "s");
		return rc == 0 ? change_report(c, NULL, NULL, 1, out) : rc;
	}
	rc = ats_buf_addf(&out->text, "Wrote %s (%zu bytes, before %zu)%s%s.\n",
	    c->pl.path, wrote->len, c->old_n,
	    s->crlf ? ", keeping its CRLF line ends" : "",
	    s->kind == TEXT_UTF8_BOM	? ", keeping its BOM"
	    : text_bom_len(s->kind) > 0 ? ", keeping its UTF-16 encoding"
					: "");
	show = s->kind != TEXT_BINARY && diff_middle(&t, &edit);
	return rc == 0 ? change_report(c, show ? &t : NULL, &edit, 1, out) : rc;
}

/* All but the writing. 0: to be written, 1: the first try of a retry had done it. */
static int
prepare(struct write_call *k, const struct tool_env *env, const struct ats_in_write *in,
    struct tool_result *out, struct ats_err *err)
{
	struct change *c = &k->c;
	bool exists;
	int rc = change_open(c, env, in->file_path, err);

	exists = rc == 0 && c->t.fd >= 0;
	if (exists)
		rc = change_load(c, err);
	if (rc < 0)
		return rc;
	if (exists)
		rc = look_at_old(k);
	if (rc == 0)
		rc = styled(k, in->content, strlen(in->content));
	if (rc < 0)
		return ats_err_set(err, -rc,
		    "The content cannot be written to %.300s: %s.", c->pl.path,
		    ats_err_text(rc));
	/* A retry finds its own work done. */
	if (exists && env->attempt > 0 && k->bytes.len == c->old_n &&
	    memcmp(k->bytes.data, c->old, c->old_n) == 0) {
		rc = ats_buf_addf(&out->text,
		    "%s has this content already: the first try had written it.",
		    c->pl.path);
		if (rc == 0)
			rc = change_saw_old(c, out);
		return rc == 0 ? 1 : rc;
	}
	return exists ? change_check_seen(c, err) : 0;
}

static int
commit(struct write_call *k, struct tool_result *out, struct ats_err *err)
{
	int rc = change_commit(&k->c, k->bytes.data, k->bytes.len, out, err);

	if (rc == 0 && report(k, out) < 0)
		rc = change_unreported(&k->c, err);
	return rc;
}

static void
begin(struct write_call *k)
{
	memset(k, 0, sizeof(*k));
	k->style.kind = TEXT_UTF8;
	k->c.t.fd = k->c.t.dirfd = k->c.t.turn = -1;
	ats_buf_init(&k->bytes, 2 * CHANGE_FILE_MAX);
	ats_buf_init(&k->lines, 2 * CHANGE_FILE_MAX);
	ats_buf_init(&k->decoded, 2 * CHANGE_FILE_MAX);
}

static int
end(struct write_call *k, int rc, const struct ats_err *err, struct tool_result *out)
{
	ats_buf_done(&k->bytes);
	ats_buf_done(&k->lines);
	ats_buf_done(&k->decoded);
	return change_end(&k->c, rc, err, out);
}

static int
run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "out of memory" };
	struct write_call k;
	int rc;

	begin(&k);
	rc = prepare(&k, env, input, out, &err);
	if (rc == 0)
		rc = commit(&k, out, &err);
	return end(&k, rc, &err, out);
}

static int
check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct ats_err err = { .code = ATS_E_NOMEM, .text = "out of memory" };
	struct write_call k;
	int rc;

	begin(&k);
	rc = prepare(&k, env, input, out, &err);
	if (rc == 0)
		rc = ats_buf_addf(&out->text, "Would %s %s (%zu bytes).",
		    k.c.t.fd < 0 ? "create" : "replace", k.c.pl.path, k.bytes.len);
	if (rc == 0)
		rc = change_would(&k.c, 1, out);
	return end(&k, rc, &err, out);
}

const struct tool tool_write = { ATS_TOOL_write, run, check };
