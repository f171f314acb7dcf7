/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawing pages: starts pdftoppm, takes its images from a pipe, checks each, and makes
 * the result. Runs in hands' front. The document is anybody's and what draws it is
 * believed nothing: images are checked as those of files are, and bytes are counted as
 * they come. */
#include "hands/front/render.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/log.h"
#include "hands/front/capture.h"
#include "hands/front/front.h"
#include "hands/front/shell.h"
#include "hands/fs/image.h"
#include "hands/fs/pdf.h"
#include "hands/init/roles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define TEXTS_MAX (24u << 10) /* what is said around the images */
#define PAGES_BYTES (WORKER_PAYLOAD_MAX - TEXTS_MAX)
#define PATH_MAX_SHOWN 4096u
#define STDERR_SHOWN 300

struct render {
	struct call *c;
	struct shell *sh;
	int fd; /* the document, until the program has it */
	struct render_ask ask;
	struct ats_buf path, delta;
	struct ats_buf images; /* one behind the other */
	struct capture said;   /* on stderr */
	bool is_full;	       /* the images do not all fit */
	bool timed_out;
};
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

static void on_cancel(struct call *c, bool timeout);
static void on_free(struct call *c);
static void on_started(void *ctx);
static void on_output(void *ctx, unsigned which, const char *p, size_t n);
static void on_ended(void *ctx, const struct shell_end *end);

static const struct call_ops ops = { .cancel = on_cancel, .free = on_free };
static const struct shell_ops shell_ops = {
	.started = on_started,
	.output = on_output,
	.ended = on_ended,
};

/* Pixels are limited by pdftoppm's own option, whatever size a page claims. Time, address
 * space and files are limited here: a shell is what sets limits wherever it exists. */
static const char script[] =
    "for l in 'c 0' 't 50' 'v 2097152' 'f 131072';do ulimit -$l 2>/dev/null;done;"
    "exec pdftoppm \"$@\"";

/* ---- start ------------------------------------------------------------------------- */
static int
add_argument(struct ats_buf *argv, const char *s)
{
	return ats_buf_add(argv, s, strlen(s) + 1);
}

static int
make_argv(const struct render_ask *ask, struct ats_buf *out)
{
	char first[24], last[24];
	const char *const words[] = { "sh", "-c", script, "pdftoppm", "-jpeg", "-jpegopt",
		"quality=80", "-scale-to", "1400", "-f", first, "-l", last, "-" };
	int rc = 0;

	(void)snprintf(first, sizeof(first), "%" PRIu64, ask->first);
	(void)snprintf(last, sizeof(last), "%" PRIu64, ask->last);
	for (size_t i = 0; i < ATS_ARRAY_LEN(words) && rc == 0; i++)
		rc = add_argument(out, words[i]);
	return rc;
}

static int
start_shell(struct render *r)
{
	ATS_CLEANUP_BUF struct ats_buf argv = { 0 };
	struct shell_job job = {
		.call = r->c->id,
		.cwd = BOX_TMP,
		.flags = JOB_EXEC | JOB_INPUT,
		.input = r->fd,
	};
	int rc;

	ats_buf_init(&argv, 4096);
	rc = make_argv(&r->ask, &argv);
	if (rc < 0)
		return rc;
	job.extra = (struct ats_slice){ argv.data, argv.len };
	r->sh = shell_new(r->c->f, &job, &shell_ops, r);
	return r->sh != NULL ? 0 : -ATS_E_NOMEM;
}

/* False: a worker made this up. */
static bool
read_ask(struct ats_slice payload, struct render_ask *ret, struct ats_slice *ret_path)
{
	if (payload.n < sizeof(*ret) || payload.n - sizeof(*ret) > PATH_MAX_SHOWN)
		return false;
	memcpy(ret, payload.p, sizeof(*ret));
	*ret_path =
	    (struct ats_slice){ payload.p + sizeof(*ret), payload.n - sizeof(*ret) };
	return ret->first >= 1 && ret->last >= ret->first &&
	       ret->last - ret->first < PDF_PAGES_MAX && ret->last < UINT32_MAX;
}

static struct render *
render_new(struct call *c, int fd)
{
	struct render *r = ats_calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->c = c;
	r->fd = fd;
	ats_buf_init(&r->path, 4 * PATH_MAX_SHOWN);
	ats_buf_init(&r->delta, WORKER_JSON_MAX);
	ats_buf_init(&r->images, PAGES_BYTES);
	capture_init(&r->said);
	c->ops = &ops;
	c->part = r;
	return r;
}

void
render_start(struct call *c, int fd, struct ats_slice delta, struct ats_slice payload)
{
	struct render *r = render_new(c, fd);
	struct ats_slice path = { NULL, 0 };
	int rc;

	if (r == NULL) {
		ats_fd_close(&fd);
		call_fail(c, true, ATS_E_NOMEM, "%s: no memory.", c->row->name);
		return;
	}
	if (!read_ask(payload, &r->ask, &path)) {
		ats_log(ATS_LOG_WARN, "a worker broke the rules",
		    "session=%s call=c-%" PRIu64 " tool=%s", c->session, c->id, c->row->name);
		call_fail(
		    c, true, ATS_E_PROTO, "%s's worker answered nonsense.", c->row->name);
		return;
	}
	rc = ats_utf8_repair(&r->path, path.p, path.n);
	if (rc == 0 && delta.n > 0)
		rc = ats_buf_add(&r->delta, delta.p, delta.n);
	if (rc == 0)
		rc = start_shell(r);
	if (rc < 0)
		call_fail(c, true, -rc, "%s: the pages could not be drawn: %s.",
		    c->row->name, ats_err_text(rc));
}

static void
on_started(void *ctx)
{
	struct render *r = ctx;

	ats_fd_close(&r->fd);
}

/* ---- what was drawn ---------------------------------------------------------------- */
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
		    out, "a page has more than the %u bytes that fit", PAGES_BYTES);
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

	ats_buf_init(&text, TEXTS_MAX);
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

/* ---- the answer -------------------------------------------------------------------- */
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

/* exit NULL: we end it, for the time or because nothing more fits. */
static void
finish(struct render *r, const struct job_exit *exit)
{
	struct drawn d;

	split(r, &d);
	if (d.n == 0)
		answer_nothing(r, exit, &d);
	else
		answer_pages(r, exit, &d);
}

static void
on_output(void *ctx, unsigned which, const char *p, size_t n)
{
	struct render *r = ctx;
	size_t room = PAGES_BYTES - r->images.len;

	if (which == 1) {
		(void)capture_add(&r->said, p, n);
		return;
	}
	if (n <= room && ats_buf_add(&r->images, p, n) == 0)
		return;
	(void)!ats_buf_add(&r->images, p, n < room ? n : room);
	r->is_full = true;
	finish(r, NULL); /* what still draws ends with the call's part */
}

static void
on_ended(void *ctx, const struct shell_end *end)
{
	struct render *r = ctx;

	if (end->exit == NULL)
		call_fail(r->c, true,
		    end->err.code == 0 ? ATS_E_NOT_STARTED : end->err.code,
		    "The pages could not be drawn: %s.", end->err.text);
	else
		finish(r, end->exit);
}

static void
on_cancel(struct call *c, bool timeout)
{
	struct render *r = c->part;

	if (!timeout) {
		call_fail(c, true, ATS_E_CANCELLED, "%s was cancelled.", c->row->name);
		return;
	}
	r->timed_out = true;
	finish(r, NULL);
}

static void
on_free(struct call *c)
{
	struct render *r = c->part;

	shell_free(r->sh);
	ats_fd_close(&r->fd);
	ats_buf_done(&r->path);
	ats_buf_done(&r->delta);
	ats_buf_done(&r->images);
	capture_done(&r->said);
	free(r);
}
