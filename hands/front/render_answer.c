/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of drawn pages: each image is checked, and the result made. Runs in hands' front.
 * What drew them is believed nothing: images are checked as those of files are. */
#include "hands/front/render_private.h"

#include "hands/front/outcome.h"
#include "hands/fs/image.h"
#include "hands/fs/pdf.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#define STDERR_SHOWN 300

struct page {
	struct image im;
	const char *p;
};
struct drawn {
	struct page pages[PDF_PAGES_MAX];
	size_t n;
	bool is_odd; /* something else follows them, see err */
	struct ats_err err;
};

static void
split(const struct render *r, struct drawn *d)
{
	size_t want = (size_t)(r->ask.last - r->ask.first) + 1, at = 0;

	memset(d, 0, sizeof(*d));
	while (d->n < want && at < r->images.len) {
		struct page *page = &d->pages[d->n];

		page->p = r->images.data + at;
		d->is_odd =
		    image_check(page->p, r->images.len - at, &page->im, &d->err) < 0;
		if (d->is_odd)
			return;
		at += page->im.size;
		d->n++;
	}
	d->is_odd = at < r->images.len;
	if (d->is_odd)
		(void)ats_err_set(&d->err, ATS_E_PROTO, "there are too many");
}

static int
add_document(const struct render *r, struct ats_buf *out)
{
	int rc = ats_buf_addf(
	    out, "%s is a PDF document of %" PRIu64 " bytes", r->path.data, r->ask.size);

	if (rc == 0 && r->ask.pages > 0)
		rc = ats_buf_addf(out, " and %" PRIu64 " page%s", r->ask.pages,
		    r->ask.pages == 1 ? "" : "s");
	return rc < 0 ? rc : ats_buf_add_str(out, ". ");
}

/* How the program ended, for a sentence; exit may be NULL: we ended it. */
static int
add_end(const struct render *r, const struct job_exit *exit, const struct drawn *d,
    struct ats_buf *out)
{
	char line[STDERR_SHOWN];
	struct outcome o;
	int rc = 0;

	if (r->timed_out)
		return ats_buf_add_str(out, "it took longer than this call may");
	if (r->is_full)
		return ats_buf_addf(
		    out, "a page has more than the %u bytes that fit", RENDER_IMAGES_MAX);
	outcome_decide(exit->status, exit->flags, ENDED_ITSELF, NULL, true, &o);
	if (o.kind != OUTCOME_EXIT)
		rc = ats_buf_addf(out, "it was ended by %s", outcome_signal_name(o.code));
	else if (o.code != 0)
		rc = ats_buf_addf(out, "it ended with status %u", o.code);
	else if (d->is_odd)
		rc = ats_buf_addf(out,
		    "what it printed is not an image for each page: %s", d->err.text);
	else
		rc = ats_buf_add_str(out, "it printed nothing");
	if (rc == 0 && capture_last_line(&r->said, line, sizeof(line))[0] != '\0')
		rc = ats_buf_addf(out, " (it says: %s)", line);
	return rc;
}

/* ---- nothing was drawn ------------------------------------------------------------- */
static void
fail(struct render *r, int code, const struct ats_buf *text)
{
	struct ats_msg_RESULT m = {
		.is_error = true,
		.has_is_error = true,
		.code = ats_err_name(code),
	};

	call_answer(r->c, &m, text->data, text->len);
}

/* 126, 127: as a shell has it, there is no such program or it cannot be run. */
static bool
is_missing(const struct job_exit *exit)
{
	return exit != NULL && WIFEXITED(exit->status) &&
	       (WEXITSTATUS(exit->status) == 127 || WEXITSTATUS(exit->status) == 126);
}

static void
answer_nothing(struct render *r, const struct job_exit *exit, const struct drawn *d)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	int code = r->timed_out ? ATS_E_TIMEOUT : r->is_full ? ATS_E_TOOBIG : ATS_E_INVAL;
	int rc;

	ats_buf_init(&text, RENDER_TEXTS_MAX);
	rc = add_document(r, &text);
	if (rc == 0 && is_missing(exit)) {
		code = ATS_E_UTF8;
		rc = ats_buf_addf(&text,
		    "Read shows pages as images drawn by pdftoppm, which %s. The package "
		    "poppler-utils (Debian's name) in the sandbox's image would give it.",
		    WEXITSTATUS(exit->status) == 127 ? "is not in this sandbox"
						     : "cannot be run in this sandbox");
	} else if (rc == 0) {
		rc = ats_buf_addf(&text,
		    "Its pages %" PRIu64 "-%" PRIu64 " could not be drawn by pdftoppm: ",
		    r->ask.first, r->ask.last);
		if (rc == 0)
			rc = add_end(r, exit, d, &text);
		if (rc == 0)
			rc = ats_buf_add_char(&text, '.');
	}
	if (rc < 0)
		call_fail(r->c, true, rc, "The pages could not be drawn.");
	else
		fail(r, code, &text);
}

/* ---- pages ------------------------------------------------------------------------- */
/* Whether there is more, and how to get it. */
static int
add_tail(const struct render *r, const struct job_exit *exit, const struct drawn *d,
    struct ats_buf *out)
{
	uint64_t want = r->ask.last - r->ask.first + 1, next = r->ask.first + d->n;
	bool clean = exit != NULL && exit->status == 0 && !d->is_odd && !r->is_full;
	int rc;

	if (clean && (d->n < want || next == r->ask.pages + 1))
		return ats_buf_addf(
		    out, "[The document ends with page %" PRIu64 ".]", next - 1);
	if (clean)
		return ats_buf_addf(out,
		    r->ask.pages >= next
			? "[There are more: pages \"%" PRIu64 "-%" PRIu64 "\".]"
			: "[If there are more, they are pages \"%" PRIu64 "-%" PRIu64
			  "\".]",
		    next,
		    r->ask.pages >= next && r->ask.pages < next + want - 1
			? r->ask.pages
			: next + want - 1);
	if (r->is_full)
		return ats_buf_addf(out,
		    "[The result is full. Go on with pages \"%" PRIu64 "-%" PRIu64 "\".]",
		    next, r->ask.last);
	rc =
	    ats_buf_addf(out, "[Page %" PRIu64 " could not be drawn by pdftoppm: ", next);
	if (rc == 0)
		rc = add_end(r, exit, d, out);
	return rc < 0 ? rc : ats_buf_add_str(out, ".]");
}

static int
add_block(struct ats_buf *blocks, const char *mime, size_t len)
{
	int rc = ats_buf_add_char(blocks, blocks->len == 0 ? '[' : ',');

	if (rc == 0)
		rc = mime != NULL
			 ? ats_buf_addf(blocks,
			       "{\"type\":\"image\",\"mime\":\"%s\",\"len\":%zu}", mime,
			       len)
			 : ats_buf_addf(blocks, "{\"type\":\"text\",\"len\":%zu}", len);
	return rc;
}

static int
add_page(const struct render *r, const struct drawn *d, size_t i, struct ats_buf *content,
    struct ats_buf *blocks)
{
	const struct page *page = &d->pages[i];
	size_t start = content->len;
	int rc = 0;

	if (i == 0)
		rc = ats_buf_addf(content, "%s, ", r->path.data);
	if (rc == 0)
		rc = ats_buf_addf(content, "page %" PRIu64, r->ask.first + i);
	if (rc == 0 && i == 0 && r->ask.pages >= r->ask.first + d->n - 1)
		rc = ats_buf_addf(content, " of %" PRIu64, r->ask.pages);
	if (rc == 0)
		rc = ats_buf_add_char(content, ':');
	if (rc == 0)
		rc = add_block(blocks, NULL, content->len - start);
	if (rc == 0)
		rc = ats_buf_add(content, page->p, page->im.size);
	return rc < 0 ? rc : add_block(blocks, page->im.mime, page->im.size);
}

static void
answer_pages(struct render *r, const struct job_exit *exit, const struct drawn *d)
{
	ATS_CLEANUP_BUF struct ats_buf content = { 0 }, blocks = { 0 };
	struct ats_msg_RESULT m = { 0 };
	size_t start;
	int rc = 0;

	ats_buf_init(&content, WORKER_PAYLOAD_MAX);
	ats_buf_init(&blocks, 4096);
	for (size_t i = 0; i < d->n && rc == 0; i++)
		rc = add_page(r, d, i, &content, &blocks);
	start = content.len;
	if (rc == 0)
		rc = add_tail(r, exit, d, &content);
	if (rc == 0)
		rc = add_block(&blocks, NULL, content.len - start);
	if (rc == 0)
		rc = ats_buf_add_char(&blocks, ']');
	if (rc < 0) {
		call_fail(
		    r->c, true, rc, "The pages were drawn, but: %s.", ats_err_text(rc));
		return;
	}
	m.blocks = (struct ats_slice){ blocks.data, blocks.len };
	if (r->delta.len > 0)
		m.ctx_delta = (struct ats_slice){ r->delta.data, r->delta.len };
	call_answer(r->c, &m, content.data, content.len);
}

void
render_answer(struct render *r, const struct job_exit *exit)
{
	struct drawn d;

	split(r, &d);
	if (d.n == 0)
		answer_nothing(r, exit, &d);
	else
		answer_pages(r, exit, &d);
}
