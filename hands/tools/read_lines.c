/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbered lines for Read. Only LF ends a line; a CR before it is not shown. Memory is
 * bounded by the page, whatever the file's lines are like. Runs in workers of the read
 * profile. */
#include "hands/tools/read_lines.h"

#include "hands/fs/text.h"

#include <string.h>

#define TEXT_MAX (255u << 10)	/* below tools.def's max_chars of Read */
#define NOTE_ROOM 512u

void
read_page_init(struct read_page *p, struct ats_buf *out, uint64_t file_size,
    uint64_t from, uint64_t limit)
{
	memset(p, 0, offsetof(struct read_page, held));
	p->out = out;
	p->file_size = file_size;
	p->from = from;
	p->limit = limit;
	p->line = 1;
	p->max_bytes = file_size > READ_WHOLE_MAX ? READ_PAGE_BYTES : TEXT_MAX;
	if (p->max_bytes + NOTE_ROOM > out->max)
		p->max_bytes = out->max > NOTE_ROOM ? out->max - NOTE_ROOM : 0;
}

static size_t
put_number(char *to, uint64_t v)
{
	char digits[24];
	size_t n = 0, len = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	while (n > 0)
		to[len++] = digits[--n];
	return len;
}

/* Bytes of the first READ_LINE_MAX characters. */
static size_t
cut_line(const char *s, size_t n)
{
	size_t chars = 0, at = 0;

	if (n <= READ_LINE_MAX)
		return n;
	for (; at < n; at++)
		if (((unsigned char)s[at] & 0xc0) != 0x80 && chars++ == READ_LINE_MAX)
			break;
	return at < n ? at : text_cut(s, n, 4 * READ_LINE_MAX);
}

static int
give(struct read_page *p)
{
	if (p->give == NULL || p->out->len < READ_GIVE_BYTES)
		return 0;
	p->given += p->out->len;
	return p->give(p->give_ctx);
}

/* One whole line; total is its length in the file, s[0..n) what is kept of it. */
static int
put_line(struct read_page *p, const char *s, size_t n, uint64_t total)
{
	/* As much as would be kept of it, had it come in pieces: so both are cut alike. */
	size_t shown = cut_line(s, n < sizeof(p->held) ? n : sizeof(p->held)), len;
	char *to;
	int rc = give(p);

	if (rc < 0)
		return rc;
	rc = ats_buf_reserve(p->out, shown + 96, &to);
	if (rc < 0 && rc != -ATS_E_TOOBIG)
		return rc;
	if (rc < 0 || (p->shown > 0 &&
	    p->given + p->out->len + shown + 96 > p->max_bytes)) {
		p->is_full = p->has_more = true;
		return 0;
	}
	len = 0;
	if (p->shown > 0)
		to[len++] = '\n';
	len += put_number(to + len, p->line);
	to[len++] = '\t';
	memcpy(to + len, s, shown);
	if (p->has_nul)			/* a NUL far into a text file */
		for (char *nul = to + len;
		     (nul = memchr(nul, '\0', (size_t)(to + len + shown - nul)));)
			*nul = '?';
	ats_buf_commit(p->out, len + shown);
	p->shown++;
	if (total > shown)
		return ats_buf_addf(p->out, " [... line cut: %llu more bytes]",
		    (unsigned long long)(total - shown));
	return 0;
}

/* The current line is whole: what is held and s, without the CR of its end. */
static int
end_line(struct read_page *p, const char *s, size_t n, bool ends_in_cr)
{
	uint64_t total = p->line_bytes + n - ends_in_cr;
	int rc = 0;

	if (p->line >= p->from) {
		if (p->line_bytes > 0) {
			size_t room = sizeof(p->held) - p->held_n,
			       k = n < room ? n : room;

			memcpy(p->held + p->held_n, s, k);
			p->held_n += k;
			s = p->held;
			n = p->held_n;
		}
		rc = put_line(p, s, n < total ? n : (size_t)total, total);
	}
	if (!p->is_full) {
		p->line++;
		p->line_bytes = 0;
		p->held_n = 0;
	}
	return rc;
}

static void
hold(struct read_page *p, const char *s, size_t n)
{
	size_t room = sizeof(p->held) - p->held_n, k = n < room ? n : room;

	if (p->line >= p->from) {
		memcpy(p->held + p->held_n, s, k);
		p->held_n += k;
	}
	p->line_bytes += n;
	p->last_is_cr = s[n - 1] == '\r';
}

int
read_page_add(struct read_page *p, const char *s, size_t n, bool last)
{
	const char *end = s + n;
	int rc = 0;

	p->has_nul = p->has_nul || memchr(s, '\0', n) != NULL;
	while (rc == 0 && !p->is_full && s < end) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));

		/* when the page has its lines, the first byte of another says that there
		 * is more */
		if (p->shown >= p->limit) {
			p->is_full = p->has_more = true;
			break;
		}
		if (nl == NULL) {
			hold(p, s, (size_t)(end - s));
			break;
		}
		rc = end_line(p, s, (size_t)(nl - s), nl > s ? nl[-1] == '\r' :
		    p->line_bytes > 0 && p->last_is_cr);
		if (!p->is_full)
			s = nl + 1;
	}
	p->rest = (size_t)(end - s);
	if (rc == 0 && last && !p->is_full && p->line_bytes > 0) {
		/* the last line has no newline; a CR at its end belongs to it */
		uint64_t total = p->line_bytes;

		if (p->line >= p->from)
			rc = put_line(p, p->held, p->held_n, total);
		if (!p->is_full)
			p->line++;
		p->line_bytes = 0;
	}
	return rc;
}

int
read_page_end(struct read_page *p, const char *path)
{
	unsigned long long next = p->line, lines = p->line - 1;

	if (p->file_size == 0)
		return ats_buf_addf(p->out, "[%s is empty.]", path);
	if (p->shown == 0 && !p->has_more && p->line_bytes == 0)
		return ats_buf_addf(p->out,
		    "[%s has %llu line%s; offset %llu is past its end.]", path, lines,
		    lines == 1 ? "" : "s", (unsigned long long)p->from);
	if (p->shown == 0)
		return ats_buf_addf(p->out,
		    "[The time for this call was over before line %llu of "
		    "%s was reached (at line %llu).]",
		    (unsigned long long)p->from, path, next);
	if (!p->has_more)
		return 0;
	if (p->all_lines > 0)
		return ats_buf_addf(p->out,
		    "\n\n[Lines %llu to %llu of %llu are shown. Go on with offset %llu.]",
		    (unsigned long long)p->from, lines, (unsigned long long)p->all_lines,
		    next);
	return ats_buf_addf(p->out,
	    "\n\n[Lines %llu to %llu are shown; the file has %llu bytes. Go on with "
	    "offset %llu.]",
	    (unsigned long long)p->from, lines, (unsigned long long)p->file_size, next);
}
