/* SPDX-License-Identifier: Apache-2.0
 *
 * The structures of GIF and WebP, animated ones too. Where image.c runs; the bytes are
 * anybody's. */
#include "hands/fs/image_kinds.h"

#include <string.h>

static uint32_t
le32(const unsigned char *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static uint32_t
le24(const unsigned char *p)
{
	return (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static uint32_t
le16(const unsigned char *p)
{
	return (uint32_t)p[1] << 8 | p[0];
}

/* ---- GIF --------------------------------------------------------------------------- */
/* Data sub-blocks; returns the offset after them, 0 when cut. */
static size_t
gif_skip_blocks(struct image_in in, size_t at)
{
	while (at < in.n) {
		unsigned len = in.p[at];

		if (len == 0)
			return at + 1;
		at += 1 + (size_t)len;
	}
	return 0;
}

static size_t
gif_colours(unsigned flags)
{
	return (flags & 0x80) != 0 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

/* A frame is at *at, which becomes what follows it. */
static const char *
gif_frame(struct image_in in, size_t *at, struct image *ret)
{
	const unsigned char *f = in.p + *at;
	uint32_t right, bottom;
	size_t data;

	if (in.n - *at < 10)
		return "it ends too early";
	right = le16(f + 1) + le16(f + 5);
	bottom = le16(f + 3) + le16(f + 7);
	if (le16(f + 5) == 0 || le16(f + 7) == 0)
		return "a frame has no width or height";
	data = *at + 10 + gif_colours(f[9]);
	if (in.n <= data || in.n - data < 2)
		return "it ends too early";
	if (in.p[data] < 1 || in.p[data] > 8 || in.p[data + 1] == 0)
		return "a frame has no image data";
	if (right > ret->width)
		ret->width = right;
	if (bottom > ret->height)
		ret->height = bottom;
	*at = gif_skip_blocks(in, data + 1);
	return NULL;
}

const char *
image_gif(struct image_in in, struct image *ret)
{
	const char *wrong;
	size_t at;
	bool has_image = false;

	if (in.n < 13)
		return "it ends too early";
	ret->width = le16(in.p + 6);
	ret->height = le16(in.p + 8);
	if (ret->width == 0 || ret->height == 0)
		return "it has no width or height";
	at = 13 + gif_colours(in.p[10]);
	while (at < in.n) {
		switch (in.p[at]) {
		case 0x3b:
			ret->size = at + 1;
			return has_image ? NULL : "it has no image data";
		case 0x21:
			at = gif_skip_blocks(in, at + 2);
			break;
		case 0x2c:
			wrong = gif_frame(in, &at, ret);
			if (wrong != NULL)
				return wrong;
			has_image = true;
			break;
		default:
			return "a block is not valid";
		}
		if (at == 0)
			break;
	}
	return "it ends too early";
}

/* ---- WebP -------------------------------------------------------------------------- */
/* The pixels of a chunk that holds them; false when c is no such chunk, or a broken one.
 */
static bool
webp_bitmap(
    const unsigned char *c, uint32_t len, uint32_t *ret_width, uint32_t *ret_height)
{
	if (memcmp(c, "VP8L", 4) == 0 && len > 5 && c[8] == 0x2f && c[12] >> 5 == 0) {
		*ret_width = (le32(c + 9) & 0x3fff) + 1;
		*ret_height = (le32(c + 9) >> 14 & 0x3fff) + 1;
		return true;
	}
	if (memcmp(c, "VP8 ", 4) == 0 && len > 10 && (c[8] & 1) == 0 &&
	    memcmp(c + 11, "\x9d\x01\x2a", 3) == 0 && le24(c + 8) >> 5 <= len - 10) {
		*ret_width = le16(c + 14) & 0x3fff;
		*ret_height = le16(c + 16) & 0x3fff;
		return true;
	}
	return false;
}

/* A frame of an animation: 16 bytes of where and how long, then chunks. */
static bool
webp_frame_is_fine(const unsigned char *c, uint32_t len)
{
	uint32_t width = 0, height = 0;
	size_t at = 8 + 16, end = 8 + (size_t)len;

	while (at < end && end - at >= 8) {
		uint32_t sub = le32(c + at + 4);

		if (sub > end - at - 8)
			return false;
		if (webp_bitmap(c + at, sub, &width, &height))
			return width == le24(c + 14) + 1 && height == le24(c + 17) + 1;
		at += 8 + (size_t)sub + (sub & 1);
	}
	return false;
}

/* The first chunk: what size the canvas has, and whether there is more to come. */
static const char *
webp_first(const unsigned char *c, uint32_t len, struct image *ret, bool *ret_extended)
{
	*ret_extended = memcmp(c, "VP8X", 4) == 0;
	if (*ret_extended && len >= 10) {
		ret->width = le24(c + 12) + 1;
		ret->height = le24(c + 15) + 1;
		return NULL;
	}
	return webp_bitmap(c, len, &ret->width, &ret->height)
		   ? NULL
		   : "its first chunk is not valid";
}

/* Any chunk of an extended file; *has_image when it is one. */
static const char *
webp_chunk(
    const unsigned char *c, uint32_t len, const struct image *canvas, bool *has_image)
{
	uint32_t width, height;

	if (memcmp(c, "ANMF", 4) == 0) {
		if (len < 24 || !webp_frame_is_fine(c, len))
			return "a frame is not valid";
		*has_image = true;
	} else if (memcmp(c, "VP8", 3) == 0 && (c[3] == ' ' || c[3] == 'L')) {
		if (!webp_bitmap(c, len, &width, &height) || width != canvas->width ||
		    height != canvas->height)
			return "its image is not of the size that its header says";
		*has_image = true;
	}
	return NULL;
}

const char *
image_webp(struct image_in in, struct image *ret)
{
	size_t at = 12, end;
	bool has_image = false, extended = false;

	if (in.n < 20)
		return "it ends too early";
	end = (size_t)le32(in.p + 4) + 8;
	if (end > in.n || end < 20)
		return "it ends too early";
	while (at < end && end - at >= 8) {
		uint32_t len = le32(in.p + at + 4);
		const char *wrong = NULL;

		if (len > end - at - 8)
			return "a chunk is cut off";
		if (at == 12)
			wrong = webp_first(in.p + at, len, ret, &extended);
		if (wrong == NULL && extended)
			wrong = webp_chunk(in.p + at, len, ret, &has_image);
		if (wrong != NULL)
			return wrong;
		at += 8 + (size_t)len + (len & 1);
	}
	ret->size = end;
	return has_image || !extended ? NULL : "it has no image data";
}
