/* SPDX-License-Identifier: Apache-2.0
 *
 * Structure checks of images: a broken image block makes every later request of a session
 * fail, so a cut or forged file must never become one. Nothing is decoded. Runs in
 * workers of the read profile, and in front for what commands and renderers print; the
 * bytes are anybody's. PNG is here, the others are in image_jpeg.c and image_web.c. */
#include "hands/fs/image.h"

#include "hands/fs/image_kinds.h"

#include <string.h>

#define CHUNK_MAX 0x7fffffffu

/* ---- PNG --------------------------------------------------------------------------- */
enum png_data { PNG_NO_DATA, PNG_IN_DATA, PNG_AFTER_DATA };
struct png {
	struct image *ret;
	unsigned colour; /* type, of IHDR */
	bool has_palette;
	enum png_data data;
};

static uint32_t
be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void
crc_table(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = (c & 1) != 0 ? 0xedb88320u ^ c >> 1 : c >> 1;
		table[i] = c;
	}
}

static uint32_t
crc32_of(const uint32_t table[256], const unsigned char *p, size_t n)
{
	uint32_t c = 0xffffffffu;

	for (size_t i = 0; i < n; i++)
		c = table[(c ^ p[i]) & 0xff] ^ c >> 8;
	return ~c;
}

/* c is the content of IHDR. */
static const char *
png_header(struct png *png, const unsigned char *c)
{
	/* bit n: n bits a sample may be */
	static const uint32_t depths[7] = { 0x10116, 0, 0x10100, 0x116, 0x10100, 0,
		0x10100 };

	png->ret->width = be32(c);
	png->ret->height = be32(c + 4);
	png->colour = c[9];
	if (c[9] >= ATS_ARRAY_LEN(depths) || c[8] > 16 || (depths[c[9]] >> c[8] & 1) == 0)
		return "its header names no colour format";
	return c[10] != 0 || c[11] != 0 || c[12] > 1 ? "its header is not valid" : NULL;
}

/* A chunk whose checksum is right. */
static const char *
png_chunk(struct png *png, const unsigned char *kind, uint32_t len)
{
	const unsigned char *body = kind + 4;

	if (memcmp(kind, "IDAT", 4) == 0) {
		if (png->data == PNG_AFTER_DATA)
			return "its image data are not in one piece";
		if (png->colour == 3 && !png->has_palette)
			return "it has no palette";
		/* what zlib data begin with */
		if (png->data == PNG_NO_DATA && len >= 2 &&
		    ((body[0] & 0x0f) != 8 || (body[1] & 0x20) != 0 ||
			(body[0] * 256u + body[1]) % 31 != 0))
			return "its image data are not compressed as they must be";
		if (len > 0)
			png->data = PNG_IN_DATA;
		return NULL;
	}
	if (png->data == PNG_IN_DATA)
		png->data = PNG_AFTER_DATA;
	if (memcmp(kind, "PLTE", 4) == 0) {
		if (png->has_palette || png->data != PNG_NO_DATA || len == 0 ||
		    len > 768 || len % 3 != 0)
			return "its palette is not valid";
		png->has_palette = true;
		return NULL;
	}
	if (memcmp(kind, "IEND", 4) == 0)
		return png->data == PNG_NO_DATA ? "it has no image data" : NULL;
	/* lower case: whoever does not know it may pass over it */
	return (kind[0] & 0x20) == 0 ? "it needs an unknown extension" : NULL;
}

const char *
image_png(struct image_in in, struct image *ret)
{
	struct png png = { .ret = ret };
	uint32_t table[256];

	crc_table(table);
	for (size_t at = 8;;) {
		const unsigned char *c = in.p + at;
		const char *wrong;
		uint32_t len;

		if (in.n - at < 12)
			return "it ends before its last chunk";
		len = be32(c);
		if (len > CHUNK_MAX || len > in.n - at - 12)
			return "a chunk is cut off";
		if (crc32_of(table, c + 4, (size_t)len + 4) != be32(c + 8 + len))
			return "a chunk's checksum is wrong";
		if (at == 8 && (memcmp(c + 4, "IHDR", 4) != 0 || len != 13))
			return "it has no header chunk";
		wrong = at == 8 ? png_header(&png, c + 8) : png_chunk(&png, c + 4, len);
		if (wrong != NULL)
			return wrong;
		at += (size_t)len + 12;
		ret->size = at;
		if (memcmp(c + 4, "IEND", 4) == 0)
			return NULL;
	}
}

/* ---- all kinds --------------------------------------------------------------------- */
static const struct {
	const char *magic;
	size_t n;
	const char *mime;
	const char *(*check)(struct image_in in, struct image *ret);
} kinds[] = {
	{ "\x89PNG\r\n\x1a\n", 8, "image/png", image_png },
	{ "\xff\xd8\xff", 3, "image/jpeg", image_jpeg },
	{ "GIF87a", 6, "image/gif", image_gif },
	{ "GIF89a", 6, "image/gif", image_gif },
	{ "RIFF", 4, "image/webp", image_webp },
};

static size_t
kind_of(const char *p, size_t n)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(kinds); i++)
		if (n >= kinds[i].n && memcmp(p, kinds[i].magic, kinds[i].n) == 0 &&
		    (kinds[i].check != image_webp ||
			(n >= 12 && memcmp(p + 8, "WEBP", 4) == 0)))
			return i;
	return ATS_ARRAY_LEN(kinds);
}

const char *
image_claims(const char *p, size_t n)
{
	size_t k = kind_of(p, n);

	return k < ATS_ARRAY_LEN(kinds) ? kinds[k].mime : NULL;
}

int
image_check(const char *p, size_t n, struct image *ret, struct ats_err *err)
{
	size_t k = kind_of(p, n);
	struct image im = { 0 };
	const char *wrong;

	if (k == ATS_ARRAY_LEN(kinds))
		return ats_err_set(err, ATS_E_INVAL, "it is no image");
	im.mime = kinds[k].mime;
	wrong = kinds[k].check((struct image_in){ (const unsigned char *)p, n }, &im);
	if (wrong == NULL && (im.width == 0 || im.height == 0))
		wrong = "it has no width or height";
	if (wrong != NULL)
		return ats_err_set(err, ATS_E_INVAL, "%s", wrong);
	if (im.width > IMAGE_SIDE_MAX || im.height > IMAGE_SIDE_MAX)
		return ats_err_set(err, ATS_E_TOOBIG,
		    "it has %ux%u pixels, and models take %u at most on a side", im.width,
		    im.height, IMAGE_SIDE_MAX);
	if (im.size > IMAGE_MAX)
		return ats_err_set(err, ATS_E_TOOBIG,
		    "it has %zu bytes, and %u at most can be shown", im.size, IMAGE_MAX);
	*ret = im;
	return 0;
}
