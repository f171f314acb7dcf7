/* SPDX-License-Identifier: Apache-2.0
 *
 * A file comes through one buffer in windows of whole lines; a window is searched at once.
 * Most files are one read and one search. Lines are counted, and bytes looked at for what
 * makes a file binary, only where something was found. A line longer than LINE_MAX is
 * searched in pieces. Runs in read workers; the files are anybody's. */
#include "hands/match/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "hands/fs/text.h"
#include "hands/match/search_show.h"

#define WINDOW (128u << 10)		/* stays in the second-level cache */
#define LOOK (16u << 10)		/* read first where one match is all that is wanted */
#define MARK_MAX 4u			/* bytes of a byte order mark */
#define LINE_MAX_BYTES (4u << 20)
#define WHOLE_MAX (64u << 20)		/* multiline, UTF-16 */
#define BINARY_HEAD 8192u
#define BINARY_MAX (16u << 20)		/* searched of a large binary file */

struct searcher {
	const struct search_options *o;
	struct regex_run *run;
	char *buf;
	size_t cap;
	size_t have;			/* bytes in buf */
	size_t from;			/* searched up to here */
	uint64_t taken;			/* bytes of the file read */
	bool in_line;			/* buf[from] continues a line that matched */
	bool decoded;			/* was UTF-16: NUL is no sign */
	struct search_show show;
};

struct searcher *
searcher_new(const struct search_options *o)
{
	struct searcher *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->o = o;
	s->cap = WINDOW;
	s->buf = ats_malloc_read(s->cap);
	s->run = regex_run_new(o->re);
	search_show_init(&s->show, o);
	if (s->buf == NULL || s->run == NULL) {
		searcher_free(s);
		return NULL;
	}
	return s;
}

void
searcher_free(struct searcher *s)
{
	if (s == NULL)
		return;
	regex_run_free(s->run);
	search_show_done(&s->show);
	free(s->buf);
	free(s);
}

const struct ats_buf *
searcher_text(const struct searcher *s)
{
	return &s->show.text;
}

/* ---- one window -------------------------------------------------------------------------- */
static size_t
line_start(const char *buf, size_t at)
{
	const char *nl = memrchr(buf, '\n', at);

	return nl != NULL ? (size_t)(nl - buf) + 1 : 0;
}

/* Behind the newline of the line that holds at, or limit. */
static size_t
line_next(const char *buf, size_t at, size_t limit)
{
	const char *nl = at < limit ? memchr(buf + at, '\n', limit - at) : NULL;

	return nl != NULL ? (size_t)(nl - buf) + 1 : limit;
}

static bool
is_binary(struct searcher *s)
{
	return !s->decoded && memchr(s->buf, '\0', s->have) != NULL;
}

/* A match that may span lines, from the line at start to before next. Another one may begin
 * where it ends. Returns as on_match does. */
static size_t
on_span(struct searcher *s, size_t start, size_t next, const struct regex_span *m,
    struct search_hit *hit)
{
	bool empty = m->end == m->start;
	int rc = 0;

	hit->matches += !(empty && s->o->only_matching);
	if (s->o->mode == SEARCH_FILES)
		return SIZE_MAX;
	if (s->o->mode == SEARCH_CONTENT && !s->o->only_matching)
		rc = search_show_lines(&s->show, s->buf, start, next, m);
	else if (s->o->mode == SEARCH_CONTENT && !empty)
		rc = search_show_match(&s->show, s->buf, m);
	if (rc < 0 || s->show.lines >= s->o->max_lines) {
		hit->more = true;
		return SIZE_MAX;
	}
	if (!empty)
		return m->end;
	return s->o->only_matching ? m->end + 1 : next;
}

/* One match, m, was found. Returns where to go on, or SIZE_MAX when the file is done with. */
static size_t
on_match(struct searcher *s, size_t limit, const struct regex_span *m, struct search_hit *hit)
{
	const struct search_options *o = s->o;
	size_t start = line_start(s->buf, m->start), last, next;
	int rc;

	/* A match that ends in a newline does not reach into the line behind it. */
	last = m->end > m->start && s->buf[m->end - 1] == '\n' ? m->end - 1 : m->end;
	next = line_next(s->buf, last, limit);
	if (o->multiline)
		return on_span(s, start, next, m, hit);
	if (start <= s->from && s->in_line && !o->only_matching)
		return next;		/* a further piece of a line that was counted */
	hit->matches++;
	if (o->mode == SEARCH_FILES)
		return SIZE_MAX;
	if (o->mode == SEARCH_COUNT)
		return next;
	if (o->only_matching) {
		next = m->end > m->start ? m->end : m->end + 1;
		rc = m->end > m->start ? search_show_match(&s->show, s->buf, m) : 0;
		hit->matches -= m->end == m->start;
	} else {
		rc = search_show_lines(&s->show, s->buf, start, next, m);
	}
	if (rc < 0 || s->show.lines >= o->max_lines) {
		hit->more = true;
		return SIZE_MAX;
	}
	return next;
}

/* Searches buf[from, limit). Returns 1 when the file is done with, 0 to go on, or an error. */
static int
search_window(struct searcher *s, size_t limit, struct search_hit *hit)
{
	size_t at = s->from;
	struct regex_span m;
	bool checked = s->o->mode == SEARCH_FILES;
	int rc = regex_begin(s->run, s->buf, limit);

	while (rc == 0 && at < limit) {
		rc = regex_find(s->run, s->buf, limit, at, &m);
		if (rc <= 0)
			break;
		if (!checked && is_binary(s)) {
			hit->binary = true;
			hit->matches = 1;
			search_show_drop(&s->show);
			return 1;
		}
		checked = true;
		at = on_match(s, limit, &m, hit);
		if (at == SIZE_MAX)
			return 1;
		rc = 0;
	}
	if (rc == -ATS_E_TOOBIG) {
		hit->steps = hit->cut = true;
		hit->steps_line = search_show_line(&s->show, s->buf, m.start);
		return 1;
	}
	if (rc == 0 && s->o->mode == SEARCH_CONTENT &&
	    search_show_after(&s->show, s->buf, limit) < 0) {
		hit->more = true;
		return 1;
	}
	s->in_line = limit > 0 && s->buf[limit - 1] != '\n' && at >= limit &&
	    hit->matches > 0;
	s->from = limit;
	return rc;
}

/* ---- the file ------------------------------------------------------------------------------ */
/* Drops what is no longer needed from the front of buf. */
static void
shift(struct searcher *s)
{
	size_t keep = search_show_keep(&s->show, s->buf, s->from);

	if (keep == 0)
		return;
	search_show_shift(&s->show, s->buf, keep);
	memmove(s->buf, s->buf + keep, s->have - keep);
	s->have -= keep;
	s->from -= keep;
}

static int
grow(struct searcher *s, size_t max)
{
	size_t cap = s->cap * 2 < max ? s->cap * 2 : max;
	char *buf;

	if (cap <= s->cap)
		return -ATS_E_TOOBIG;
	buf = realloc(s->buf, cap);
	if (buf == NULL)
		return -ATS_E_NOMEM;
	s->buf = buf;
	s->cap = cap;
	return 0;
}

/* Reads until buf has least bytes, and most at most. Returns 1 at the end of the file, 0, or
 * -ATS_E_SYS. A read that gives less than asked for is no end: on FUSE and under signals it
 * happens. */
static int
fill_some(struct searcher *s, int fd, size_t least, size_t most)
{
	while (s->have < least) {
		ssize_t got = ats_fd_read(fd, s->buf + s->have, most - s->have);

		if (got < 0)
			return errno == EAGAIN ? 1 : -ATS_E_SYS;
		s->have += (size_t)got;
		s->taken += (size_t)got;
		if (got == 0)
			return 1;
	}
	return 0;
}

/* Fills the free part of buf. */
static int
fill(struct searcher *s, int fd)
{
	return fill_some(s, fd, s->cap, s->cap);
}

/* Reads all there is, up to WHOLE_MAX. */
static int
fill_whole(struct searcher *s, int fd, struct search_hit *hit)
{
	for (;;) {
		int rc = fill(s, fd);

		if (rc != 0)
			return rc < 0 ? rc : 0;
		rc = grow(s, WHOLE_MAX);
		if (rc == -ATS_E_TOOBIG)
			hit->cut = true;
		if (rc < 0)
			return rc == -ATS_E_TOOBIG ? 0 : rc;
	}
}

/* UTF-16 by its mark; ff fe 00 00 would be UTF-32, which counts as binary. */
static bool
is_utf16(const struct searcher *s)
{
	if (s->have < 2 || (memcmp(s->buf, "\xff\xfe", 2) != 0 &&
	    memcmp(s->buf, "\xfe\xff", 2) != 0))
		return false;
	return s->have < 4 || memcmp(s->buf, "\xff\xfe\0\0", 4) != 0;
}

static int
decode(struct searcher *s)
{
	ATS_CLEANUP_BUF struct ats_buf out = { 0 };
	size_t n = 0;
	char *text;
	int rc;

	ats_buf_init(&out, (size_t)WHOLE_MAX * 3);
	rc = text_from_utf16(s->buf + 2, s->have - 2, s->buf[0] == '\xfe', &out);
	if (rc < 0)
		return rc;
	text = ats_buf_steal(&out, &n);
	if (text == NULL)
		return -ATS_E_NOMEM;
	free(s->buf);
	s->buf = text;
	s->cap = s->have = n;
	s->decoded = true;
	return 0;
}

static bool
out_of_time(const struct searcher *s)
{
	return s->o->deadline_us != 0 && ats_clock_us() > s->o->deadline_us;
}

/* Window by window, after what is in buf was not known to be all. */
static int
search_large(struct searcher *s, int fd, struct search_hit *hit)
{
	size_t head = s->have < BINARY_HEAD ? s->have : BINARY_HEAD;
	bool binary = memchr(s->buf, '\0', head) != NULL;
	int end = 0, rc = 0;

	while (rc == 0) {
		const char *nl = memrchr(s->buf + s->from, '\n', s->have - s->from);
		size_t limit = nl != NULL ? (size_t)(nl - s->buf) + 1 : s->from;

		if (end > 0)
			limit = s->have;
		if (limit == s->from && end == 0) {
			/* The line is longer than what is free: make room, or cut it. */
			shift(s);
			rc = s->have < s->cap ? 0 : grow(s, LINE_MAX_BYTES);
			limit = rc == -ATS_E_TOOBIG ? s->have : s->from;
			rc = rc == -ATS_E_TOOBIG ? 0 : rc;
		}
		if (rc == 0 && limit > s->from)
			rc = search_window(s, limit, hit);
		if (rc != 0 || end > 0)
			break;
		if ((binary && s->taken > BINARY_MAX) || (s->taken >= WINDOW && out_of_time(s))) {
			hit->cut = true;
			break;
		}
		shift(s);
		end = fill(s, fd);
		rc = end < 0 ? end : 0;
	}
	return rc < 0 ? rc : 0;
}

static void
skip_mark(struct searcher *s)
{
	if (s->have >= 3 && memcmp(s->buf, "\xef\xbb\xbf", 3) == 0) {
		memmove(s->buf, s->buf + 3, s->have - 3);
		s->have -= 3;
	}
}

/* To a pattern that does not name them, returns before newlines are not there. */
static void
drop_returns(struct searcher *s)
{
	char *to = memmem(s->buf, s->have, "\r\n", 2);

	for (const char *p = to; p != NULL;) {
		const char *end = s->buf + s->have, *next;

		p++;		/* the return; what follows up to the next one stays */
		next = memmem(p, (size_t)(end - p), "\r\n", 2);
		memmove(to, p, (size_t)((next != NULL ? next : end) - p));
		to += (next != NULL ? next : end) - p;
		if (next == NULL)
			s->have = (size_t)(to - s->buf);
		p = next;
	}
}

/* A buffer that grew for one file is not kept for thousands. */
static int
shrink(struct searcher *s)
{
	char *buf;

	if (s->cap == WINDOW)
		return 0;
	buf = ats_malloc_read(WINDOW);
	if (buf == NULL)
		return -ATS_E_NOMEM;
	free(s->buf);
	s->buf = buf;
	s->cap = WINDOW;
	return 0;
}

int
searcher_run(struct searcher *s, int fd, struct search_hit *ret)
{
	int end, rc = 0;

	memset(ret, 0, sizeof(*ret));
	s->have = s->from = 0;
	s->taken = 0;
	s->in_line = s->decoded = false;
	search_show_reset(&s->show);
	end = s->o->mode == SEARCH_FILES && !s->o->multiline ?
	    fill_some(s, fd, MARK_MAX, LOOK) : fill(s, fd);
	if (end < 0)
		return end;
	if (s->have == 0)
		return 0;
	if (is_utf16(s)) {
		rc = end > 0 ? 0 : fill_whole(s, fd, ret);
		if (rc == 0)
			rc = decode(s);
		end = 1;
	} else if (s->o->multiline && end == 0) {
		rc = fill_whole(s, fd, ret);
		end = 1;
	}
	skip_mark(s);
	if (s->o->multiline && !regex_names_returns(s->o->re))
		drop_returns(s);
	if (rc == 0)
		rc = end > 0 ? search_window(s, s->have, ret) : search_large(s, fd, ret);
	if (rc >= 0) {
		ret->lines = s->show.lines;
		rc = shrink(s);
	}
	return rc < 0 ? rc : 0;
}
