/* SPDX-License-Identifier: Apache-2.0
 *
 * The structure of a JPEG, and that it is of a sort that decoders take: baseline,
 * extended or progressive with Huffman codes, 8 bits, all tables there. Where image.c
 * runs; the bytes are anybody's. */
#include "hands/fs/image_kinds.h"

#include <string.h>

struct jpeg {
	struct image_in in;
	struct image *ret;
	bool has_quant, has_huffman, has_frame, has_scan;
};

static uint32_t
be16(const unsigned char *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* Entropy-coded data up to the next marker; returns its offset or in.n. */
static size_t
skip_data(struct image_in in, size_t at)
{
	while (at + 1 < in.n) {
		const unsigned char *ff = memchr(in.p + at, 0xff, in.n - 1 - at);

		if (ff == NULL)
			return in.n;
		at = (size_t)(ff - in.p);
		if (ff[1] == 0xff)
			at += 1;
		else if (ff[1] == 0 || (ff[1] >= 0xd0 && ff[1] <= 0xd7))
			at += 2;
		else
			return at;
	}
	return in.n;
}

/* s is the segment from its length on, which is len. */
static const char *
frame(struct jpeg *j, unsigned marker, const unsigned char *s, uint32_t len)
{
	if (marker > 0xc2)
		return "it is compressed in a way that is hardly ever understood";
	if (j->has_frame)
		return "it has two frame headers";
	if (len < 8 || len != 8 + 3u * s[7] || (s[7] != 1 && s[7] != 3 && s[7] != 4))
		return "its frame header is not valid";
	if (s[2] != 8)
		return "it has more than 8 bits a sample";
	j->ret->height = be16(s + 3);
	j->ret->width = be16(s + 5);
	j->has_frame = true;
	return NULL;
}

/* The header of a scan is at s, its data begin at data; *ret_at is what follows them. */
static const char *
scan(struct jpeg *j, const unsigned char *s, uint32_t len, size_t data, size_t *ret_at)
{
	if (!j->has_frame)
		return "its data come before its header";
	if (!j->has_quant || !j->has_huffman)
		return "its tables are missing";
	if (len < 6 || s[2] < 1 || s[2] > 4 || len != 6 + 2u * s[2])
		return "a scan's header is not valid";
	*ret_at = skip_data(j->in, data);
	if (*ret_at == data)
		return "a scan has no data";
	j->has_scan = true;
	return NULL;
}

const char *
image_jpeg(struct image_in in, struct image *ret)
{
	struct jpeg j = { .in = in, .ret = ret };
	size_t at = 2;

	while (in.n - at >= 2) {
		const char *wrong = NULL;
		unsigned m = in.p[at + 1];
		const unsigned char *s = in.p + at + 2;
		uint32_t len;

		if (in.p[at] != 0xff)
			return "a marker is missing";
		if (m == 0xff) { /* padding */
			at++;
			continue;
		}
		if (m == 0xd9) {
			ret->size = at + 2;
			return j.has_scan ? NULL : "it has no image data";
		}
		if (in.n - at < 4 || m < 0xc0 || (m >= 0xd0 && m <= 0xd8))
			return "a marker is not valid";
		len = be16(s);
		if (len < 2 || len > in.n - at - 2)
			return "a segment is cut off";
		at += 2 + (size_t)len;
		j.has_quant = j.has_quant || m == 0xdb;
		j.has_huffman = j.has_huffman || m == 0xc4;
		if (m == 0xda)
			wrong = scan(&j, s, len, at, &at);
		else if (m <= 0xcf && m != 0xc4 && m != 0xc8 && m != 0xcc)
			wrong = frame(&j, m, s, len);
		if (wrong != NULL)
			return wrong;
	}
	return "it ends too early";
}
