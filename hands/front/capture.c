/* SPDX-License-Identifier: Apache-2.0
 *
 * Head and tail of a command's output. Runs in hands' front; the bytes are whatever the
 * tool's processes print. */
#include "hands/front/capture.h"

#include "common/fault.h"
#include "common/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 4096u /* looked at for the newest line */

void
capture_init(struct capture *c)
{
	ats_buf_init(&c->head, CAPTURE_SIDE);
	c->ring = NULL;
	c->total = 0;
}

void
capture_done(struct capture *c)
{
	ats_buf_done(&c->head);
	free(c->ring);
	c->ring = NULL;
}

static size_t
ring_used(const struct capture *c)
{
	uint64_t n = c->total > CAPTURE_SIDE ? c->total - CAPTURE_SIDE : 0;

	return n > CAPTURE_SIDE ? CAPTURE_SIDE : (size_t)n;
}

static void
ring_add(struct capture *c, uint64_t at, const char *p, size_t n)
{
	size_t pos, part;

	if (n > CAPTURE_SIDE) {
		at += n - CAPTURE_SIDE;
		p += n - CAPTURE_SIDE;
		n = CAPTURE_SIDE;
	}
	pos = (size_t)(at % CAPTURE_SIDE);
	part = CAPTURE_SIDE - pos < n ? CAPTURE_SIDE - pos : n;
	memcpy(c->ring + pos, p, part);
	memcpy(c->ring, p + part, n - part);
}

int
capture_add(struct capture *c, const char *p, size_t n)
{
	uint64_t at = c->total;
	int rc = 0;

	c->total += n;
	if (at < CAPTURE_SIDE) {
		size_t room = CAPTURE_SIDE - (size_t)at;
		size_t part = n < room ? n : room;

		rc = ats_buf_add(&c->head, p, part);
		p += part;
		n -= part;
		at += part;
	}
	if (n == 0 || rc < 0)
		return rc;
	if (c->ring == NULL && (c->ring = ats_calloc(1, CAPTURE_SIDE)) == NULL)
		return -ATS_E_NOMEM;
	ring_add(c, at - CAPTURE_SIDE, p, n);
	return 0;
}

bool
capture_whole(const struct capture *c)
{
	return c->total <= c->head.len + ring_used(c) &&
	       (ring_used(c) == 0 || c->ring != NULL);
}

/* The tail in order, as two runs. */
static void
ring_runs(const struct capture *c, struct ats_slice run[2])
{
	size_t used = c->ring == NULL ? 0 : ring_used(c), pos = 0;

	run[0] = run[1] = (struct ats_slice){ NULL, 0 };
	if (used == 0)
		return;
	if (used == CAPTURE_SIDE)
		pos = (size_t)((c->total - CAPTURE_SIDE) % CAPTURE_SIDE);
	run[0] = (struct ats_slice){ c->ring + pos, used - pos };
	run[1] = (struct ats_slice){ c->ring, used == CAPTURE_SIDE ? pos : 0 };
	if (used < CAPTURE_SIDE)
		run[0].n = used;
}

static int
add_runs(const struct ats_slice *run, struct ats_buf *out)
{
	int rc = run[0].n > 0 ? ats_buf_add(out, run[0].p, run[0].n) : 0;

	if (rc == 0 && run[1].n > 0)
		rc = ats_buf_add(out, run[1].p, run[1].n);
	return rc;
}

int
capture_raw(const struct capture *c, struct ats_buf *out)
{
	struct ats_slice run[2];
	int rc;

	if (!capture_whole(c))
		return -ATS_E_TOOBIG;
	rc = c->head.len > 0 ? ats_buf_add(out, c->head.data, c->head.len) : 0;
	if (rc < 0)
		return rc;
	ring_runs(c, run);
	return add_runs(run, out);
}

static bool
is_lead(char b)
{
	return ((unsigned char)b & 0xc0) != 0x80;
}

/* Bytes of the first max characters of valid UTF-8; *ret_chars how many there were. */
static size_t
first_chars(const char *s, size_t n, size_t max, size_t *ret_chars)
{
	size_t i, chars = 0;

	for (i = 0; i < n; i++) {
		if (!is_lead(s[i]))
			continue;
		if (chars == max)
			break;
		chars++;
	}
	*ret_chars = chars;
	return i;
}

/* Where the last max characters begin. */
static size_t
last_chars(const char *s, size_t n, size_t max)
{
	size_t i = n, chars = 0;

	while (i > 0 && chars < max) {
		i--;
		if (is_lead(s[i]))
			chars++;
	}
	return i;
}

static int
add_marker(struct ats_buf *out, uint64_t total, const char *more)
{
	if (more == NULL)
		return ats_buf_addf(out,
		    "\n\n[... cut: %" PRIu64
		    " bytes in all, the middle is left out ...]\n\n",
		    total);
	return ats_buf_addf(out,
	    "\n\n[... cut: %" PRIu64 " bytes in all, the middle is left out here; "
	    "Read %s with offset and limit for more ...]\n\n",
	    total, more);
}

static int
add_cut(const struct ats_buf *head, const struct ats_buf *tail, size_t half,
    uint64_t total, const char *more, struct ats_buf *out)
{
	size_t chars, end = first_chars(head->data, head->len, half, &chars);
	size_t start = last_chars(tail->data, tail->len, half);
	int rc = ats_buf_add(out, head->data, end);

	if (rc == 0)
		rc = add_marker(out, total, more);
	if (rc == 0)
		rc = ats_buf_add(out, tail->data + start, tail->len - start);
	return rc;
}

/* The tail begins anywhere: skip what belongs to a character that began before it. */
static size_t
skip_partial(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && i < 3 && !is_lead(s[i]))
		i++;
	return i;
}

int
capture_text(const struct capture *c, size_t max_chars, const char *more,
    struct ats_buf *out, bool *ret_cut)
{
	ATS_CLEANUP_BUF struct ats_buf raw = { 0 }, text = { 0 }, head = { 0 };
	struct ats_slice run[2];
	size_t chars, skip;
	int rc;

	ats_buf_init(&raw, 2 * CAPTURE_SIDE);
	ats_buf_init(&text, 8 * CAPTURE_SIDE);
	ats_buf_init(&head, 4 * CAPTURE_SIDE);
	*ret_cut = false;
	if (capture_whole(c)) {
		if ((rc = capture_raw(c, &raw)) < 0 ||
		    (rc = ats_utf8_repair(&text, raw.data, raw.len)) < 0)
			return rc;
		if (first_chars(text.data, text.len, max_chars, &chars) == text.len)
			return text.len > 0 ? ats_buf_add(out, text.data, text.len) : 0;
		*ret_cut = true;
		return add_cut(&text, &text, max_chars / 2, c->total, more, out);
	}
	*ret_cut = true;
	ring_runs(c, run);
	if ((rc = ats_utf8_repair(&head, c->head.data, c->head.len)) < 0 ||
	    (rc = add_runs(run, &raw)) < 0)
		return rc;
	skip = skip_partial(raw.data, raw.len);
	if ((rc = ats_utf8_repair(&text, raw.data + skip, raw.len - skip)) < 0)
		return rc;
	return add_cut(&head, &text, max_chars / 2, c->total, more, out);
}

/* The last bytes, at most LINE_BYTES of them. */
static int
last_bytes(const struct capture *c, struct ats_buf *out)
{
	struct ats_slice run[2];
	int rc = 0;

	ring_runs(c, run);
	if (run[0].n + run[1].n < LINE_BYTES && c->head.len > 0) {
		size_t n = c->head.len < LINE_BYTES ? c->head.len : LINE_BYTES;

		rc = ats_buf_add(out, c->head.data + c->head.len - n, n);
	}
	for (int i = 0; i < 2 && rc == 0; i++) {
		size_t n = run[i].n < LINE_BYTES ? run[i].n : LINE_BYTES;

		if (n > 0)
			rc = ats_buf_add(out, run[i].p + run[i].n - n, n);
	}
	return rc;
}

int
capture_newest(const struct capture *c, size_t max, struct ats_buf *out)
{
	ATS_CLEANUP_BUF struct ats_buf raw = { 0 }, text = { 0 };
	size_t start = 0;
	int rc;

	ats_buf_init(&raw, 4 * LINE_BYTES);
	ats_buf_init(&text, 16 * LINE_BYTES);
	if ((rc = last_bytes(c, &raw)) < 0)
		return rc;
	if (c->total > raw.len)
		start = skip_partial(raw.data, raw.len);
	raw.len -= ats_utf8_cut_tail(raw.data + start, raw.len - start);
	if ((rc = ats_utf8_repair(&text, raw.data + start, raw.len - start)) < 0)
		return rc;
	start = text.len > max ? text.len - max : 0;
	start += skip_partial(text.data + start, text.len - start);
	return text.len > start ? ats_buf_add(out, text.data + start, text.len - start) : 0;
}

static bool
is_line_end(char b)
{
	return b == '\n' || b == '\r';
}

const char *
capture_last_line(const struct capture *c, char *out, size_t size)
{
	ATS_CLEANUP_BUF struct ats_buf raw = { 0 }, text = { 0 };
	size_t end, start;

	ats_buf_init(&raw, 4 * LINE_BYTES);
	ats_buf_init(&text, 16 * LINE_BYTES);
	out[0] = '\0';
	if (last_bytes(c, &raw) < 0)
		return out;
	for (end = raw.len; end > 0 && is_line_end(raw.data[end - 1]); end--)
		;
	for (start = end; start > 0 && !is_line_end(raw.data[start - 1]); start--)
		;
	start += skip_partial(raw.data + start, end - start);
	if (ats_utf8_repair(&text, raw.data + start, end - start) < 0)
		return out;
	end = text.len < size - 1 ? text.len : size - 1;
	while (end > 0 && end < text.len && !is_lead(text.data[end]))
		end--;
	for (start = 0; start < end; start++)
		out[start] = text.data[start] == '\0' ? ' ' : text.data[start];
	out[end] = '\0';
	return out;
}
