/* SPDX-License-Identifier: Apache-2.0
 *
 * Read: a file's lines, an image, a notebook's cells, or the pages of a PDF, which another
 * program draws. Runs in workers of the read profile; path and content are anybody's. The
 * common file costs one openat2, fstat, read and close. */
#include "hands/fs/file.h"
#include "hands/fs/pdf.h"
#include "hands/fs/text.h"
#include "hands/tools/notebook_show.h"
#include "hands/tools/read_kind.h"
#include "hands/tools/read_lines.h"

#include "common/clock.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_MAX (64u << 20)	/* larger ones, which no tool can change, are not hashed */
#define STEP (64u << 10)
/* A page's steps are short: each page of memory that a worker writes for the first time costs
 * more than the bytes in it. */
#define PAGE_STEP (16u << 10)

struct doc {			/* the file */
	struct fs_place pl;
	struct stat st;
	struct read_judge judge;
	struct pdf_range pages;	/* asked for */
	int fd;			/* -1 once it was handed on */
};

static uint64_t
mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static int
show_image(const struct image *im, const char *p, struct tool_result *out)
{
	int rc = ats_buf_add(&out->text, p, im->size);

	if (rc == 0)
		rc = tool_block(out, im->mime);
	if (rc == 0 && (im->width > IMAGE_SIDE_MANY || im->height > IMAGE_SIDE_MANY))
		rc = ats_buf_addf(&out->text,
		    "[%ux%u pixels. A conversation with more than 20 images may hold none "
		    "of over %u on a side.]",
		    im->width, im->height, IMAGE_SIDE_MANY);
	return rc < 0 ? rc : tool_blocks_end(out);
}

/* Front will have them drawn, from this very descriptor. */
static int
ask_for_pages(struct doc *d, const char *p, size_t n, struct tool_result *out)
{
	out->render = (struct tool_render){ .fd = ats_steal_fd(&d->fd),
		.first = d->pages.first, .last = d->pages.last,
		.pages = pdf_page_count(p, n), .size = d->judge.size };
	return ats_buf_add_str(&out->text, d->pl.path);
}

/* The bytes are the whole file. */
static int
show_whole(struct doc *d, const char *p, size_t n, struct read_page *page,
    struct tool_result *out)
{
	struct ats_buf decoded ATS_CLEANUP_BUF = { 0 };
	struct image im;
	size_t bom;
	int rc;

	switch (read_judge(&d->judge, p, n, true, &im, out)) {
	case READ_REFUSED:
		return 0;
	case READ_IMAGE:
		return show_image(&im, p, out);
	case READ_PDF:
		return ask_for_pages(d, p, n, out);
	case READ_TEXT:
		break;
	}
	if (read_is_utf16(p, n)) {
		ats_buf_init(&decoded, 2 * READ_WHOLE_BYTES);
		rc = text_from_utf16(p + 2, n - 2, p[0] == '\xfe', &decoded);
		if (rc < 0)
			return rc;
		p = decoded.data;
		n = decoded.len;
	}
	if (read_ends_in(d->pl.path, ".ipynb") && !page->is_asked) {
		rc = notebook_show(p, n, out);
		if (rc <= 0)		/* 1: no notebook after all */
			return rc;
	}
	bom = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	rc = read_page_add(page, p + bom, n - bom, true);
	if (page->has_more)
		page->all_lines = text_count_lines(p + bom, n - bom);
	return rc < 0 ? rc : read_page_end(page, d->pl.path);
}

static int
read_hashed(struct doc *d, struct read_page *page, struct tool_result *out)
{
	char sha[ATS_SHA256_HEX], *p = NULL;
	struct ats_err err;
	size_t n = 0;
	int rc = fs_read_sized(d->fd, (size_t)d->st.st_size, READ_WHOLE_BYTES, &p, &n, &err);

	if (rc < 0)
		return tool_fail(out, err.code, "%s: %s", d->pl.path, err.text);
	page->file_size = d->judge.size = n;
	rc = show_whole(d, p, n, page, out);
	if (rc == 0 && !out->is_error) {
		ats_sha256_hex(p, n, sha);
		rc = tool_saw(out, d->pl.path, n, mtime_ns(&d->st), sha);
	}
	free(p);
	return rc;
}

static bool
time_is_up(const struct tool_env *env)
{
	return env->deadline_us != 0 && ats_clock_us() + 500000 > env->deadline_us;
}

/* Where a file is read to, a step at a time. */
struct stream {
	int fd;
	char *buf;
	size_t step;			/* size of buf */
	struct ats_sha256 *hash;	/* of what was read, or NULL */
	uint64_t n;			/* bytes read */
	uint64_t newlines;		/* in what no page shows any more */
	char last;			/* byte that was read */
};

/* As read(2), and hashed. */
static ssize_t
step(struct stream *s)
{
	ssize_t n = ats_fd_read(s->fd, s->buf, s->step);

	if (n > 0) {
		s->n += (uint64_t)n;
		s->last = s->buf[n - 1];
		if (s->hash != NULL)
			ats_sha256_add(s->hash, s->buf, (size_t)n);
	}
	return n;
}

static uint64_t
newlines(const char *p, size_t n)
{
	return text_count_lines(p, n) - (n > 0 && p[n - 1] != '\n');
}

/* What has to be looked at whole if it can be held: all but plain text. */
static bool
wants_whole(const struct doc *d, const struct read_page *page, const char *p, size_t n)
{
	return d->judge.size <= READ_WHOLE_BYTES &&
	       (image_claims(p, n) != NULL || read_is_utf16(p, n) ||
		   pdf_claims(p, n, read_ends_in(d->pl.path, ".pdf")) ||
		   (read_ends_in(d->pl.path, ".ipynb") && !page->is_asked));
}

/* Of the bytes that tell text from other data, in a step of n that is not the first. */
static bool
has_early_nul(const struct stream *s, size_t n)
{
	uint64_t before = s->n - n;

	if (before >= TEXT_LOOK_AT)
		return false;
	if (n > TEXT_LOOK_AT - before)
		n = (size_t)(TEXT_LOOK_AT - before);
	return memchr(s->buf, '\0', n) != NULL;
}

/* Reads until the page is full, or the time of a large file is up: what there is then, and
 * where to go on. 1: this is not for streams. */
static int
stream_page(const struct tool_env *env, struct stream *s, struct doc *d,
    struct read_page *page, struct tool_result *out)
{
	enum read_kind kind = READ_REFUSED;
	struct image im;
	ssize_t n = 0;
	int rc = 0;

	while (rc == 0 && !page->is_full && (n = step(s)) > 0) {
		size_t skip = 0;

		if (s->n == (uint64_t)n) {
			if (wants_whole(d, page, s->buf, (size_t)n))
				return 1;
			kind = read_judge(&d->judge, s->buf, (size_t)n, false, &im, out);
			if (kind != READ_TEXT)
				return kind == READ_PDF
					   ? ask_for_pages(d, s->buf, (size_t)n, out) : 0;
			skip = n >= 3 && memcmp(s->buf, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
		} else if (has_early_nul(s, (size_t)n)) {
			read_refuse_binary(&d->judge, "binary data", out);
			return 0;
		}
		rc = read_page_add(page, s->buf + skip, (size_t)n - skip, false);
		if (rc == 0 && page->is_full)
			s->newlines = newlines(s->buf + n - page->rest, page->rest);
		if (d->judge.size > READ_WHOLE_BYTES && time_is_up(env))
			return rc;
	}
	if (rc == 0 && n < 0)
		return tool_fail(
		    out, ATS_E_SYS, "%s cannot be read: %s", d->pl.path, strerror(errno));
	return rc == 0 && !page->is_full ? read_page_add(page, "", 0, true) : rc;
}

/* A file of any size. The hash of the whole is what a later change is held against. */
static int
read_stream(const struct tool_env *env, struct doc *d, struct read_page *page,
    struct tool_result *out)
{
	uint64_t size = d->judge.size;
	bool is_large = size > READ_WHOLE_BYTES;
	struct stream s = { .fd = d->fd, .buf = ats_malloc_read(PAGE_STEP), .step = PAGE_STEP };
	char sha[ATS_SHA256_HEX] = "";
	ssize_t n;
	int rc;

	if (s.buf == NULL)
		return -ATS_E_NOMEM;
	if (size <= HASH_MAX)
		s.hash = ats_sha256_new();
	rc = stream_page(env, &s, d, page, out);
	/* the rest, for its hash */
	while (rc == 0 && !out->is_error && s.hash != NULL && s.n < size &&
	       !(is_large && time_is_up(env)) && (n = step(&s)) > 0)
		s.newlines += newlines(s.buf, (size_t)n);
	if (rc == 0 && page->has_more && !is_large && s.n == size)
		page->all_lines = page->line - 1 + s.newlines + (s.last != '\n');
	if (s.hash != NULL && s.n == size)
		ats_sha256_finish(s.hash, sha);
	else
		ats_sha256_free(s.hash);
	free(s.buf);
	if (rc == 1)
		return lseek(d->fd, 0, SEEK_SET) < 0
			   ? tool_fail(out, ATS_E_SYS, "%s cannot be read: %s",
				 d->pl.path, strerror(errno))
			   : read_hashed(d, page, out);
	if (rc == 0 && !out->is_error && out->render.fd < 0)
		rc = read_page_end(page, d->pl.path);
	if (rc == 0 && !out->is_error)
		rc = tool_saw(out, d->pl.path, size, mtime_ns(&d->st), sha);
	return rc;
}

/* False: out says why. Else d->fd is the caller's. */
static bool
open_doc(const struct tool_env *env, const struct ats_in_read *in, struct doc *d,
    struct tool_result *out)
{
	struct ats_err err;
	int rc = pdf_range_parse(in->pages, &d->pages, &err);

	d->fd = -1;
	if (rc == 0)
		rc = fs_place(env, in->file_path, &d->pl, &err);
	if (rc == 0)
		rc = fs_open_file(env, &d->pl, &d->fd, &d->st, &err);
	if (rc < 0)
		(void)tool_fail(out, err.code, "%s%s", err.text,
		    err.code == ATS_E_NOTFILE &&
			    strstr(err.text, "is a directory") != NULL
			? " Use LS or Glob for it."
			: "");
	d->judge.path = d->pl.path;
	d->judge.size = (uint64_t)d->st.st_size;
	d->judge.lines_asked = in->has_offset || in->has_limit;
	return rc == 0;
}

/* The bytes as they are, whatever they are, with the memory of a step. */
static int
send_raw(const struct tool_env *env, int fd, const struct stat *st,
    const struct fs_place *pl, struct tool_result *out)
{
	struct stream s = { .fd = fd, .buf = ats_malloc_read(STEP), .step = STEP };
	uint64_t size = (uint64_t)st->st_size;
	char sha[ATS_SHA256_HEX] = "";
	ssize_t n = 1;	/* until the end was seen */
	int rc = 0;

	if (s.buf == NULL)
		return -ATS_E_NOMEM;
	if (size <= HASH_MAX)
		s.hash = ats_sha256_new();
	while (rc == 0 && !time_is_up(env) && (n = step(&s)) > 0)
		rc = ats_fd_write_all(env->data_fd, s.buf, (size_t)n);
	if (s.hash != NULL && s.n == size)
		ats_sha256_finish(s.hash, sha);
	else
		ats_sha256_free(s.hash);
	free(s.buf);
	if (n < 0)
		return tool_fail(
		    out, ATS_E_SYS, "%s cannot be read: %s", pl->path, strerror(errno));
	if (rc < 0 || n > 0)
		return tool_fail(out, rc < 0 ? ATS_E_EOF : ATS_E_TIMEOUT,
		    "%s: only the first %llu bytes of it were sent.", pl->path,
		    (unsigned long long)s.n);
	rc = ats_buf_addf(
	    &out->text, "%s: %llu bytes.", pl->path, (unsigned long long)s.n);
	return rc < 0 ? rc : tool_saw(out, pl->path, size, mtime_ns(st), sha);
}

static int
run(const struct tool_env *env, const void *input, struct tool_result *out)
{
	const struct ats_in_read *in = input;
	struct read_page page ATS_UNINITIALIZED;
	struct doc d ATS_UNINITIALIZED;
	int rc;

	if (env->has_data && (in->has_offset || in->has_limit))
		return tool_fail(out, ATS_E_INVAL,
		    "offset and limit count lines; the data is the whole file.");
	if (!open_doc(env, in, &d, out))
		return 0;
	if (env->has_data) {
		rc = send_raw(env, d.fd, &d.st, &d.pl, out);
		ats_fd_close(&d.fd);
		return rc;
	}
	read_page_init(&page, &out->text, d.judge.size,
	    in->has_offset && in->offset > 0 ? in->offset : 1,
	    in->has_limit ? in->limit : READ_LINES_DEFAULT);
	page.is_asked = d.judge.lines_asked;
	page.give = env->give;
	page.give_ctx = env->give_ctx;
	rc = d.judge.size < PAGE_STEP ? read_hashed(&d, &page, out)
				      : read_stream(env, &d, &page, out);
	ats_fd_close(&d.fd);
	if (rc == 0 && out->render.fd >= 0 && lseek(out->render.fd, 0, SEEK_SET) < 0)
		return tool_fail(out, ATS_E_SYS, "%s cannot be read: %s", d.pl.path,
		    strerror(errno));
	return rc;
}

/* As read_hashed and read_stream begin. */
static int
check_content(const struct doc *d, struct tool_result *out)
{
	bool whole = d->judge.size <= READ_WHOLE_BYTES;
	struct ats_err err;
	struct image im;
	char *p = NULL;
	size_t n = 0;
	ssize_t got;

	if (whole) {
		if (fs_read_sized(d->fd, (size_t)d->st.st_size, READ_WHOLE_BYTES, &p, &n,
			&err) < 0)
			return tool_fail(out, err.code, "%s: %s", d->pl.path, err.text);
	} else {
		p = ats_malloc_read(STEP);
		if (p == NULL)
			return -ATS_E_NOMEM;
		got = ats_fd_read(d->fd, p, STEP);
		if (got < 0)
			(void)tool_fail(out, ATS_E_SYS, "%s cannot be read: %s",
			    d->pl.path, strerror(errno));
		n = got < 0 ? 0 : (size_t)got;
	}
	if (!out->is_error)
		(void)read_judge(&d->judge, p, n, whole, &im, out);
	free(p);
	return 0;
}

static int
check(const struct tool_env *env, const void *input, struct tool_result *out)
{
	struct doc d;
	int rc;

	if (!open_doc(env, input, &d, out))
		return 0;
	rc = check_content(&d, out);
	ats_fd_close(&d.fd);
	if (rc < 0 || out->is_error)
		return rc;
	return ats_buf_addf(&out->text, "%s can be read (%llu bytes).", d.pl.path,
	    (unsigned long long)d.st.st_size);
}

const struct tool tool_read = { ATS_TOOL_read, run, check };
