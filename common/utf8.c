/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing over U+10FFFF.
 * Linked into every process; anybody controls the bytes. */
#include "common/json.h"

#include <string.h>

/* Length that lead byte c announces (0: not a lead byte) and the range of the second. */
static unsigned
lead(unsigned char c, unsigned char *ret_lo, unsigned char *ret_hi)
{
	*ret_lo = 0x80;
	*ret_hi = 0xbf;
	if (c < 0x80)
		return 1;
	if (c < 0xc2)
		return 0;
	if (c < 0xe0)
		return 2;
	if (c < 0xf0) {
		if (c == 0xe0)
			*ret_lo = 0xa0;
		else if (c == 0xed)
			*ret_hi = 0x9f;
		return 3;
	}
	if (c < 0xf5) {
		if (c == 0xf0)
			*ret_lo = 0x90;
		else if (c == 0xf4)
			*ret_hi = 0x8f;
		return 4;
	}
	return 0;
}

/* How many of the first n bytes belong to one sequence that is valid so far. */
static unsigned
valid_prefix(const char *s, size_t n, unsigned *ret_len)
{
	unsigned char lo, hi, c;
	unsigned len, i;

	*ret_len = 0;
	if (n == 0)
		return 0;
	len = lead((unsigned char)s[0], &lo, &hi);
	*ret_len = len;
	if (len == 0)
		return 0;
	for (i = 1; i < len && i < n; i++) {
		c = (unsigned char)s[i];
		if (c < lo || c > hi)
			break;
		lo = 0x80;
		hi = 0xbf;
	}
	return i;
}

unsigned
ats_utf8_seq(const char *s, size_t n)
{
	unsigned len, have = valid_prefix(s, n, &len);

	return have == len ? len : 0;
}

size_t
ats_utf8_cut_tail(const char *s, size_t n)
{
	unsigned len, have;

	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)s[n - back];

		if ((c & 0xc0) == 0x80)
			continue;
		have = valid_prefix(s + n - back, back, &len);
		return have == back && have < len ? back : 0;
	}
	return 0;
}

/* Bytes of s that are ASCII, in steps of a word. */
static size_t
ascii_run(const char *s, size_t n)
{
	size_t i = 0;
	uint64_t w;

	for (; i + sizeof(w) <= n; i += sizeof(w)) {
		memcpy(&w, s + i, sizeof(w));
		if ((w & 0x8080808080808080u) != 0)
			break;
	}
	while (i < n && (unsigned char)s[i] < 0x80)
		i++;
	return i;
}

bool
ats_utf8_valid(const char *s, size_t n)
{
	size_t i = ascii_run(s, n);
	unsigned len;

	while (i < n) {
		len = ats_utf8_seq(s + i, n - i);
		if (len == 0)
			return false;
		i += len;
		i += ascii_run(s + i, n - i);
	}
	return true;
}

int
ats_utf8_repair(struct ats_buf *out, const char *s, size_t n)
{
	size_t start = 0, i = 0, was = out->len;
	unsigned len, have;
	int rc;

	for (;;) {
		i += ascii_run(s + i, n - i);
		have = valid_prefix(s + i, n - i, &len);
		if (i < n && have == len && len > 0) {
			i += len;
			continue;
		}
		rc = ats_buf_add(out, s + start, i - start);
		if (rc == 0 && i < n)
			rc = ats_buf_add(out, "\xef\xbf\xbd", 3);
		if (rc < 0) {
			ats_buf_truncate(out, was);
			return rc;
		}
		if (i >= n)
			return 0;
		/* One replacement for a cut sequence, one for each stray byte. */
		i += have > 0 ? have : 1;
		start = i;
	}
}

int
ats_utf8_show(struct ats_buf *out, const char *s, size_t n)
{
	size_t was = out->len;
	unsigned len;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i += len > 0 ? len : 1) {
		unsigned char c = (unsigned char)s[i];

		len = ats_utf8_seq(s + i, n - i);
		if (len == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0)
			rc = ats_buf_addf(out, "\\x%02x", (unsigned char)s[i + 1]);
		else if (len == 1 && (c < ' ' || c == 0x7f))
			rc = ats_buf_addf(out, "\\x%02x", c);
		else
			rc = len > 0 ? ats_buf_add(out, s + i, len) :
			    ats_buf_add(out, "\xef\xbf\xbd", 3);
	}
	if (rc < 0)
		ats_buf_truncate(out, was);
	return rc;
}
