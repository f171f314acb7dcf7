/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows what an edit changed. Nothing is searched for: the changes are known, they are
 * only widened to whole lines. Runs in workers of the write profile; the texts are
 * anybody's. */
#include "hands/fs/diff.h"

#include "hands/fs/text.h"

#include <string.h>

#define CONTEXT 3u
#define HUNK_MAX 256u	/* changes in one hunk */

/* A change in whole lines: bytes of both texts. */
struct chunk {
	size_t os, oe, ns, ne;
};
struct diff {
	const struct diff_texts *t;
	size_t line_old, at_old;	/* line number (from 1) of byte at_old */
	long delta;			/* new line numbers minus old ones */
	size_t floor;			/* end of the hunk before */
	struct ats_buf *out;
	size_t limit;
	int rc;
};

static size_t
line_start(const char *p, size_t at)
{
	const char *nl = at > 0 ? memrchr(p, '\n', at) : NULL;

	return nl != NULL ? (size_t)(nl - p) + 1 : 0;
}

static size_t
line_end(const char *p, size_t n, size_t at)
{
	const char *nl = at < n ? memchr(p + at, '\n', n - at) : NULL;

	return nl != NULL ? (size_t)(nl - p) + 1 : n;
}

static bool
is_line_start(const char *p, size_t at)
{
	return at == 0 || p[at - 1] == '\n';
}

/* Takes the edits from *at on that share lines. */
static struct chunk
take_chunk(
    const struct diff_texts *t, const struct match_edit *edits, size_t n, size_t *at)
{
	const struct match_edit *e = &edits[(*at)++];
	struct chunk c;

	c.os = line_start(t->old, e->old_start);
	c.ns = e->new_start - (e->old_start - c.os);
	for (;;) {
		c.oe = e->old_end;
		c.ne = e->new_end;
		if (!is_line_start(t->old, c.oe) || !is_line_start(t->new_text, c.ne)) {
			c.oe = line_end(t->old, t->old_n, c.oe);
			c.ne += c.oe - e->old_end;
		}
		/* at the end of a text that ends in a line, all that is left is in that line */
		if (*at == n ||
		    (edits[*at].old_start >= c.oe && is_line_start(t->old, c.oe)))
			break;
		e = &edits[(*at)++];
	}
	return c;
}

static void
put(struct diff *d, const char *p, size_t n)
{
	if (d->rc == 0)
		d->rc = ats_buf_add(d->out, p, n);
}

static void
put_lines(struct diff *d, char mark, const char *p, size_t from, size_t to)
{
	while (from < to && d->rc == 0 && d->out->len < d->limit) {
		const char *nl = memchr(p + from, '\n', to - from);
		size_t n = nl != NULL ? (size_t)(nl - p) - from : to - from;
		size_t body = n > 0 && nl != NULL && p[from + n - 1] == '\r' ? n - 1 : n;
		size_t shown = text_cut(p + from, body, DIFF_LINE_MAX);

		put(d, &mark, 1);
		put(d, p + from, shown);
		if (shown < body && d->rc == 0)
			d->rc =
			    ats_buf_addf(d->out, " [... %zu bytes more]", body - shown);
		put(d, "\n", 1);
		if (nl == NULL)
			put(d, "\\ No newline at end of file\n", 28);
		from += n + (nl != NULL);
	}
}

static size_t
lines_before(const char *p, size_t at, unsigned k)
{
	while (k-- > 0 && at > 0)
		at = line_start(p, at - 1);
	return at;
}

static size_t
lines_after(const char *p, size_t n, size_t at, unsigned k)
{
	while (k-- > 0 && at < n)
		at = line_end(p, n, at);
	return at;
}

/* The chunks from the i-th on with no line between them, as diff(1) shows them: what was
 * there, then what is there now. Returns the next one. */
static size_t
put_run(struct diff *d, const struct chunk *c, size_t n, size_t i, size_t *at)
{
	size_t next = i + 1;

	put_lines(d, ' ', d->t->old, *at, c[i].os);
	while (next < n && c[next].os == c[next - 1].oe)
		next++;
	put_lines(d, '-', d->t->old, c[i].os, c[next - 1].oe);
	for (; i < next; i++)
		put_lines(d, '+', d->t->new_text, c[i].ns, c[i].ne);
	*at = c[next - 1].oe;
	return next;
}

/* One hunk of chunks that are near each other; its context ends at stop. */
static void
put_hunk(struct diff *d, const struct chunk *c, size_t n, size_t stop)
{
	const struct diff_texts *t = d->t;
	size_t from = lines_before(t->old, c[0].os, CONTEXT);
	size_t end = lines_after(t->old, t->old_n, c[n - 1].oe, CONTEXT);
	size_t lines, new_lines, at;

	from = at = from < d->floor ? d->floor : from;
	end = d->floor = end > stop ? stop : end;
	lines = new_lines = text_count_lines(t->old + from, end - from);
	for (size_t i = 0; i < n; i++)
		new_lines += text_count_lines(t->new_text + c[i].ns, c[i].ne - c[i].ns) -
		    text_count_lines(t->old + c[i].os, c[i].oe - c[i].os);
	d->line_old += text_count_lines(t->old + d->at_old, from - d->at_old);
	d->at_old = from;
	if (d->rc == 0)
		d->rc = ats_buf_addf(d->out, "@@ -%zu,%zu +%ld,%zu @@\n",
		    d->line_old - (lines == 0), lines,
		    (long)d->line_old + d->delta - (new_lines == 0), new_lines);
	d->delta += (long)new_lines - (long)lines;
	for (size_t i = 0; i < n;)
		i = put_run(d, c, n, i, &at);
	put_lines(d, ' ', t->old, at, end);
}

int
diff_unified(const struct diff_texts *t, const struct match_edit *edits, size_t n,
    size_t max_bytes, struct ats_buf *out)
{
	struct diff d = {
		.t = t, .line_old = 1, .out = out, .limit = out->len + max_bytes
	};
	struct chunk c[HUNK_MAX];
	size_t at = 0, have = 0;

	while ((at < n || have > 0) && d.rc == 0 && d.out->len < d.limit) {
		size_t used = have;

		while (at < n && (have == 0 || used == have) && have < HUNK_MAX) {
			c[have++] = take_chunk(t, edits, n, &at);
			if (have == 1 || c[have - 1].os <= lines_after(t->old, t->old_n,
			    c[have - 2].oe, 2 * CONTEXT))
				used = have;
		}
		put_hunk(&d, c, used, used < have ? c[used].os : at < n ?
		    line_start(t->old, edits[at].old_start) : t->old_n);
		if (used < have)
			c[0] = c[used];
		have -= used;
	}
	if (d.rc == 0 && (d.out->len >= d.limit || have > 0))
		d.rc = ats_buf_addf(out, "[The diff was cut here: it is longer.]\n");
	return d.rc;
}

bool
diff_middle(const struct diff_texts *t, struct match_edit *ret)
{
	size_t less = t->old_n < t->new_n ? t->old_n : t->new_n, head = 0, tail = 0;

	while (head < less && t->old[head] == t->new_text[head])
		head++;
	while (tail < less - head &&
	    t->old[t->old_n - 1 - tail] == t->new_text[t->new_n - 1 - tail])
		tail++;
	*ret = (struct match_edit){ head, t->old_n - tail, head, t->new_n - tail };
	return head < t->old_n || head < t->new_n;
}
