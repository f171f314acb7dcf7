/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON writer. Linked into every process. Strings may be any bytes: what comes out is
 * always strict JSON in valid UTF-8. */
#include "common/json.h"

#include <string.h>

#include "common/json_in.h"

#define DEPTH_MAX 63u

void
ats_json_w_init(struct ats_json_w *w, struct ats_buf *out)
{
	*w = (struct ats_json_w){ .out = out, .mark = out->len, .first = 1 };
}

/* Writes the escape of c, which is below 0x80, to out; returns its length. */
static size_t
escape_char(unsigned char c, char out[6])
{
	static const char hex[] = "0123456789abcdef";
	static const char letters[128] = { ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b',
		['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't' };

	out[0] = '\\';
	if (letters[c] != '\0') {
		out[1] = letters[c];
		return 2;
	}
	memcpy(out + 1, "u00", 3);
	out[4] = hex[c >> 4];
	out[5] = hex[c & 15];
	return 6;
}

#define SHORT 256u
#define BLOCK 256u		/* bytes that are escaped before they are appended */
/* The last character may stand across the end of a block, the last copy end behind it. */
#define ESCAPED(n) (6 * (n) + ATS_JSON_STEP)

/* Copies up to the first byte that needs an escape or is not ASCII, a step at a time: what is
 * behind the end of the copy is written, too. Returns its length. */
static size_t
copy_plain(char *to, const char *s, size_t n)
{
	size_t i = 0;

	for (; n - i >= ATS_JSON_STEP; i += ATS_JSON_STEP) {
		uint64_t m = ats_json_marks(s + i);

		memcpy(to + i, s + i, ATS_JSON_STEP);
		if (m != 0)
			return i + ats_json_first(m);
	}
	for (; i < n && !ats_json_is_special((unsigned char)s[i]); i++)
		to[i] = s[i];
	return i;
}

/* Escapes a part of s, about end bytes, up to the first byte that is not UTF-8. Returns how
 * much of s that was. */
static size_t
escape_block(const char *s, size_t n, size_t end, char *to, size_t *ret_len)
{
	size_t i = 0;
	char *p = to;

	while (i < end) {
		size_t run = copy_plain(p, s + i, end - i);
		unsigned char c;

		p += run;
		i += run;
		if (i == end)
			break;
		c = (unsigned char)s[i];
		if (c >= 0x80) {
			unsigned len = ats_utf8_seq(s + i, n - i);

			if (len == 0)
				break;
			memcpy(p, s + i, len);
			p += len;
			i += len;
		} else {
			p += escape_char(c, p);
			i++;
		}
	}
	*ret_len = (size_t)(p - to);
	return i;
}

/* Appends one block, up to what is not UTF-8. */
static int
add_block(struct ats_buf *out, const char *s, size_t n, size_t *ret_used)
{
	char aside[ESCAPED(BLOCK)] ATS_UNINITIALIZED, *to;
	size_t end = n < BLOCK ? n : BLOCK, len;

	if (ats_buf_reserve(out, ESCAPED(end), &to) == 0) {
		*ret_used = escape_block(s, n, end, to, &len);
		ats_buf_commit(out, len);
		return 0;
	}
	/* Near the cap of out: there may be room for what it comes to. */
	*ret_used = escape_block(s, n, end, aside, &len);
	return ats_buf_add(out, aside, len);
}

int
ats_json_escape(struct ats_buf *out, const char *s, size_t n)
{
	size_t i = 0, was = out->len;
	int rc = 0;

	while (rc == 0 && i < n) {
		size_t used, end;

		rc = add_block(out, s + i, n - i, &used);
		i += used;
		if (rc < 0 || used > 0)
			continue;
		/* all up to the next good byte; repair decides how many replacements
		 * that makes */
		for (end = i + 1; end < n && (unsigned char)s[end] >= 0x80; end++)
			if (ats_utf8_seq(s + end, n - end) != 0)
				break;
		rc = ats_utf8_repair(out, s + i, end - i);
		i = end;
	}
	if (rc < 0)
		ats_buf_truncate(out, was);
	return rc;
}

static void
add(struct ats_json_w *w, const char *p, size_t n)
{
	if (w->rc == 0)
		w->rc = ats_buf_add(w->out, p, n);
}

static void
add_string(struct ats_json_w *w, bool comma, const char *s, size_t n, bool colon)
{
	char *p;

	/* Most are names and paths: one look, one copy. */
	if (w->rc == 0 && n <= SHORT && ats_json_plain_run(s, 0, n) == n &&
	    ats_buf_reserve(w->out, n + comma + colon + 2, &p) == 0) {
		if (comma)
			*p++ = ',';
		*p++ = '"';
		p = (char *)mempcpy(p, s, n);
		*p++ = '"';
		if (colon)
			*p = ':';
		ats_buf_commit(w->out, n + comma + colon + 2);
		return;
	}
	add(w, comma ? ",\"" : "\"", comma ? 2 : 1);
	if (w->rc == 0)
		w->rc = ats_json_escape(w->out, s, n);
	add(w, "\":", colon ? 2 : 1);
}

/* The comma and the key before any value. */
static void
before(struct ats_json_w *w, const char *key)
{
	uint64_t bit = 1ull << w->depth;
	bool comma = (w->first & bit) == 0;

	w->first &= ~bit;
	if (key != NULL)
		add_string(w, comma, key, strlen(key), true);
	else if (comma)
		add(w, ",", 1);
}

static void
open_container(struct ats_json_w *w, const char *key, bool array)
{
	before(w, key);
	if (w->depth >= DEPTH_MAX) {
		if (w->rc == 0)
			w->rc = -ATS_E_TOOBIG;
		return;
	}
	add(w, array ? "[" : "{", 1);
	w->depth++;
	w->first |= 1ull << w->depth;
	if (array)
		w->array |= 1ull << w->depth;
	else
		w->array &= ~(1ull << w->depth);
}

void
ats_json_w_object(struct ats_json_w *w, const char *key)
{
	open_container(w, key, false);
}

void
ats_json_w_array(struct ats_json_w *w, const char *key)
{
	open_container(w, key, true);
}

void
ats_json_w_end(struct ats_json_w *w)
{
	if (w->depth == 0)
		return;
	add(w, (w->array >> w->depth & 1) != 0 ? "]" : "}", 1);
	w->depth--;
}

void
ats_json_w_strn(struct ats_json_w *w, const char *key, const char *s, size_t n)
{
	before(w, key);
	add_string(w, false, s, n, false);
}

void
ats_json_w_str(struct ats_json_w *w, const char *key, const char *s)
{
	ats_json_w_strn(w, key, s, strlen(s));
}

void
ats_json_w_u64(struct ats_json_w *w, const char *key, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	before(w, key);
	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v != 0);
	add(w, digits + at, sizeof(digits) - at);
}

void
ats_json_w_i64(struct ats_json_w *w, const char *key, int64_t v)
{
	if (v >= 0) {
		ats_json_w_u64(w, key, (uint64_t)v);
		return;
	}
	before(w, key);
	add(w, "-", 1);
	w->first |= 1ull << w->depth; /* the digits take neither comma nor key */
	ats_json_w_u64(w, NULL, 0 - (uint64_t)v);
}

void
ats_json_w_bool(struct ats_json_w *w, const char *key, bool v)
{
	before(w, key);
	add(w, v ? "true" : "false", v ? 4 : 5);
}

void
ats_json_w_null(struct ats_json_w *w, const char *key)
{
	before(w, key);
	add(w, "null", 4);
}

void
ats_json_w_raw(struct ats_json_w *w, const char *key, const char *s, size_t n)
{
	static const char breaks[] = { '\n', '\r' };
	size_t at;
	char *p, *end;

	before(w, key);
	at = w->out->len;
	add(w, s, n);
	/* What is written is one line: outside of strings a line break is a blank, and inside there
	 * is none. */
	for (size_t i = 0; w->rc == 0 && i < sizeof(breaks); i++) {
		p = w->out->data + at;
		end = p + n;
		for (; (p = memchr(p, breaks[i], (size_t)(end - p))) != NULL; p++)
			*p = ' ';
	}
}

int
ats_json_w_line(struct ats_json_w *w)
{
	if (w->rc == 0)
		w->rc = ats_buf_add_char(w->out, '\n');
	if (w->rc < 0)
		ats_buf_truncate(w->out, w->mark);
	return w->rc;
}
