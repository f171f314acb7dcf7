/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 as commands, notebooks and MCP servers write it, in one line or wrapped. Runs in read
 * workers, in front and in gateways; the text is anybody's. */
#include "common/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 0-63 a digit, 64 none, 65 a line break. */
static void
make_table(unsigned char table[256])
{
	memset(table, 64, 256);
	for (unsigned i = 0; i < 64; i++)
		table[(unsigned char)digits64[i]] = (unsigned char)i;
	table['\n'] = table['\r'] = 65;
}

int
ats_base64_decode(const char *s, size_t n, struct ats_buf *out)
{
	unsigned char table[256];
	uint32_t bits = 0;
	size_t i = 0, digits = 0, padding = 0, len = 0;
	char *to;
	int rc = ats_buf_reserve(out, n / 4 * 3 + 3, &to);

	if (rc < 0)
		return rc;
	make_table(table);
	for (; i < n && table[(unsigned char)s[i]] != 64; i++) {
		unsigned v = table[(unsigned char)s[i]];

		if (v == 65)
			continue;
		bits = bits << 6 | v;
		if (++digits % 4 == 0) {
			to[len++] = (char)(bits >> 16 & 0xff);
			to[len++] = (char)(bits >> 8 & 0xff);
			to[len++] = (char)(bits & 0xff);
		}
	}
	for (; i < n && (s[i] == '=' || table[(unsigned char)s[i]] == 65); i++)
		padding += s[i] == '=';
	if (i < n || digits == 0 || digits % 4 == 1 || padding > 2 ||
	    (padding > 0 && (digits + padding) % 4 != 0))
		return -ATS_E_INVAL;
	if (digits % 4 == 3) {
		to[len++] = (char)(bits >> 10 & 0xff);
		to[len++] = (char)(bits >> 2 & 0xff);
	} else if (digits % 4 == 2) {
		to[len++] = (char)(bits >> 4 & 0xff);
	}
	ats_buf_commit(out, len);
	return 0;
}

void
ats_base64_digits(const void *p, size_t n, char *out)
{
	const unsigned char *u = p;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = (uint32_t)u[i] << 16;

		if (i + 1 < n)
			bits |= (uint32_t)u[i + 1] << 8;
		if (i + 2 < n)
			bits |= u[i + 2];
		*out++ = digits64[bits >> 18];
		*out++ = digits64[bits >> 12 & 63];
		*out++ = i + 1 < n ? digits64[bits >> 6 & 63] : '=';
		*out++ = i + 2 < n ? digits64[bits & 63] : '=';
	}
}

int
ats_base64_encode(const void *p, size_t n, struct ats_buf *out)
{
	size_t len = (n + 2) / 3 * 4;
	char *to;
	int rc = ats_buf_reserve(out, len, &to);

	if (rc < 0)
		return rc;
	ats_base64_digits(p, n, to);
	ats_buf_commit(out, len);
	return 0;
}
