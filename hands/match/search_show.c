/* SPDX-License-Identifier: Apache-2.0
 *
 * Formatting of search results. Runs in read workers; the lines are anybody's. */
#include "hands/match/search_show.h"

#include <inttypes.h>
#include <string.h>

#include "hands/match/literal.h"

void
search_show_init(struct search_show *s, const struct search_options *o)
{
	memset(s, 0, sizeof(*s));
	s->o = o;
	/* One line more than asked for may be added before the search stops. */
	ats_buf_init(&s->text, o->max_bytes + SEARCH_LINE_SHOWN + 256);
}

void
search_show_done(struct search_show *s)
{
	ats_buf_done(&s->text);
}

void
search_show_reset(struct search_show *s)
{
	ats_buf_reset(&s->text);
	s->lines = 0;
	s->number = 1;
	s->counted = s->shown = 0;
	s->hidden = 0;
	s->any = s->gap = false;
	s->after_left = 0;
}

void
search_show_drop(struct search_show *s)
{
	ats_buf_reset(&s->text);
	s->lines = 0;
	s->after_left = 0;
}

uint64_t
search_show_line(struct search_show *s, const char *buf, size_t at)
{
	if (at > s->counted) {
		s->number += literal_count_lines(buf + s->counted, at - s->counted);
		s->counted = at;
	}
	return s->number;
}

static bool
continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The part of a line to show: all, or a piece around at. Cuts fall between characters. */
static void
choose_piece(const char *p, size_t n, size_t at, size_t *ret_from, size_t *ret_to)
{
	size_t from = 0, to = n;

	if (n > SEARCH_LINE_SHOWN) {
		if (at > SEARCH_LINE_SHOWN / 4 * 3)
			from = at - SEARCH_LINE_SHOWN / 4;
		if (n - from > SEARCH_LINE_SHOWN)
			to = from + SEARCH_LINE_SHOWN;
		for (int i = 0; i < 3 && from > 0 && from < to && continues(p[from]); i++)
			from++;
		for (int i = 0; i < 3 && to < n && to > from && continues(p[to]); i++)
			to--;
	}
	*ret_from = from;
	*ret_to = to;
}

/* hidden: bytes of the line before p. */
static int
add_text(struct search_show *s, char sep, uint64_t number, uint64_t hidden, const char *p,
    size_t n, size_t at)
{
	size_t from, to;
	int rc = 0;

	if (s->text.len > s->o->max_bytes)
		return -ATS_E_TOOBIG;
	if (n > 0 && p[n - 1] == '\n')
		n--;
	if (n > 0 && p[n - 1] == '\r')
		n--;
	choose_piece(p, n, at, &from, &to);
	if (s->o->line_numbers)
		rc = ats_buf_addf(&s->text, "%c%" PRIu64 "%c", sep, number, sep);
	else
		rc = ats_buf_add_char(&s->text, sep);
	if (rc == 0 && from + hidden > 0)
		rc = ats_buf_addf(&s->text, "[%" PRIu64 " bytes cut] ", from + hidden);
	if (rc == 0)
		rc = ats_buf_add(&s->text, p + from, to - from);
	if (rc == 0 && to < n)
		rc = ats_buf_addf(&s->text, " [%zu bytes cut]", n - to);
	if (rc == 0)
		rc = ats_buf_add_char(&s->text, '\n');
	s->lines++;
	return rc;
}

/* Shows the line at start and remembers that. Returns where the next begins. */
static int
show_one(struct search_show *s, const char *buf, size_t start, size_t limit, char sep, size_t at,
    size_t *ret_next)
{
	const char *nl = memchr(buf + start, '\n', limit - start);
	size_t next = nl != NULL ? (size_t)(nl - buf) + 1 : limit;
	uint64_t number = s->o->line_numbers ? search_show_line(s, buf, start) : 0;

	s->shown = next;
	s->any = true;
	s->gap = false;
	*ret_next = next;
	return add_text(s, sep, number, start == 0 ? s->hidden : 0, buf + start, next - start,
	    at > start ? at - start : 0);
}

int
search_show_after(struct search_show *s, const char *buf, size_t limit)
{
	int rc = 0;

	while (rc == 0 && s->after_left > 0 && s->shown < limit &&
	    s->lines < s->o->max_lines) {
		size_t next;

		s->after_left--;
		rc = show_one(s, buf, s->shown, limit, '-', 0, &next);
	}
	return rc;
}

/* The beginning of the lines before start, at most n of them and none before floor. */
static size_t
go_back(const char *buf, size_t start, uint64_t n, size_t floor)
{
	while (n-- > 0 && start > floor) {
		const char *nl = memrchr(buf, '\n', start - 1);

		start = nl != NULL ? (size_t)(nl - buf) + 1 : 0;
	}
	return start > floor ? start : floor;
}

int
search_show_lines(struct search_show *s, const char *buf, size_t start, size_t next,
    const struct regex_span *m)
{
	bool context = s->o->before > 0 || s->o->after > 0;
	size_t at;
	int rc;

	/* Of a match that begins in the line where another ended, only the rest is new. */
	if (s->any && start < s->shown)
		start = s->shown;
	rc = start < next ? search_show_after(s, buf, start) : 0;

	at = go_back(buf, start, s->o->before, s->shown);
	if (rc == 0 && context && s->any && (s->gap || at > s->shown)) {
		rc = ats_buf_addf(&s->text, "%c\n", SEARCH_SEPARATOR);
		s->lines++;
	}
	while (rc == 0 && at < start && s->lines < s->o->max_lines)
		rc = show_one(s, buf, at, start, '-', 0, &at);
	while (rc == 0 && at < next && s->lines < s->o->max_lines)
		rc = show_one(s, buf, at, next, ':', m->start, &at);
	s->after_left = s->o->after;
	return rc;
}

int
search_show_match(struct search_show *s, const char *buf, const struct regex_span *m)
{
	size_t at = m->start;
	int rc = 0;

	while (rc == 0 && at < m->end && s->lines < s->o->max_lines) {
		const char *nl = memchr(buf + at, '\n', m->end - at);
		size_t end = nl != NULL ? (size_t)(nl - buf) + 1 : m->end;
		uint64_t number = s->o->line_numbers ? search_show_line(s, buf, at) : 0;

		rc = add_text(s, ':', number, 0, buf + at, end - at, 0);
		at = end;
	}
	return rc;
}

size_t
search_show_keep(const struct search_show *s, const char *buf, size_t from)
{
	/* A line cut into pieces has no start to go back to: from then is the floor. */
	return go_back(buf, from, s->o->before, 0);
}

void
search_show_shift(struct search_show *s, const char *buf, size_t bytes)
{
	const char *nl = memrchr(buf, '\n', bytes);

	s->hidden = nl != NULL ? bytes - (size_t)(nl + 1 - buf) : s->hidden + bytes;
	if (s->o->line_numbers)
		(void)search_show_line(s, buf, bytes);
	s->counted = s->counted > bytes ? s->counted - bytes : 0;
	if (s->shown < bytes) {
		s->gap = s->any;
		s->shown = 0;
	} else {
		s->shown -= bytes;
	}
}
