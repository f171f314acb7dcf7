/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that may be an image. Input: flags, then the bytes; with MENDED the checksums of
 * a PNG's chunks are made right first, so that what lies behind them is reached. Only
 * what its first bytes claim is accepted, with sides that a model takes, and never a part
 * that ends before its end mark. */
#include "hands/fs/image.h"
#include "tests/fuzz/fuzz.h"

enum { MENDED = 1 };

static uint32_t
crc(const unsigned char *p, size_t n)
{
	uint32_t c = 0xffffffffu;

	for (size_t i = 0; i < n; i++) {
		c ^= p[i];
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ ((c & 1) != 0 ? 0xedb88320u : 0);
	}
	return ~c;
}

static void
mend(unsigned char *p, size_t n)
{
	for (size_t at = 8; at < n && n - at >= 12;) {
		size_t len = (size_t)p[at] << 24 | (size_t)p[at + 1] << 16 |
			     (size_t)p[at + 2] << 8 | p[at + 3];
		uint32_t c;

		if (len > n - at - 12)
			return;
		c = crc(p + at + 4, len + 4);
		for (int i = 0; i < 4; i++)
			p[at + 8 + len + (size_t)i] = (unsigned char)(c >> (24 - 8 * i));
		at += 12 + len;
	}
}

/* How an accepted image ends, somewhere: cut before that it is none. */
static const char *
end_of(const char *mime, size_t *ret_n)
{
	*ret_n = strcmp(mime, "image/gif") == 0	   ? 1
		 : strcmp(mime, "image/jpeg") == 0 ? 2
						   : 4;
	return *ret_n == 1			? "\x3b"
	       : *ret_n == 2			? "\xff\xd9"
	       : strcmp(mime, "image/png") == 0 ? "IEND"
						: "WEBP";
}

static void
check(const char *p, size_t n)
{
	struct image im = { 0 }, again;
	struct ats_err err = { 0 };
	const char *claim = image_claims(p, n < 12 ? n : 12), *end;
	size_t k;
	int rc = image_check(p, n, &im, &err);

	FUZZ_CHECK(rc == 0 || ((rc == -ATS_E_INVAL || rc == -ATS_E_TOOBIG) &&
				  err.code == -rc && err.text[0] != '\0'));
	FUZZ_CHECK(rc != 0 || claim != NULL);
	if (rc != 0)
		return;
	FUZZ_CHECK(strcmp(claim, im.mime) == 0);
	FUZZ_CHECK(im.width > 0 && im.width <= IMAGE_SIDE_MAX);
	FUZZ_CHECK(im.height > 0 && im.height <= IMAGE_SIDE_MAX);
	/* its size is where it ends: what follows is not needed, and nothing of it can go */
	FUZZ_CHECK(im.size > 0 && im.size <= n);
	FUZZ_CHECK(image_check(p, im.size, &again, NULL) == 0 && again.size == im.size);
	FUZZ_CHECK(image_check(p, im.size - 1, &again, NULL) < 0);
	end = end_of(im.mime, &k);
	FUZZ_CHECK(memmem(p, n, end, k) != NULL);
	/* each part of it: refused, or a whole image of the same kind itself */
	for (size_t part = 0; part < n; part += 1 + n / 16)
		if (image_check(p, part, &again, NULL) == 0)
			FUZZ_CHECK(strcmp(again.mime, im.mime) == 0 &&
				   memmem(p, part, end, k) != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned flags = fuzz_byte(&in);
	struct ats_slice s = fuzz_bytes(&in, in.n);
	char *copy = fuzz_copy(s);

	if ((flags & MENDED) != 0)
		mend((unsigned char *)copy, s.n);
	check(copy, s.n);
	free(copy);
	return 0;
}
