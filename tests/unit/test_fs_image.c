/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/fs/image*.c, pdf.c and common/base64.c. The images are the fuzzer's corpus, made by
 * common encoders. */
#include "common/base64.h"
#include "common/fd.h"
#include "hands/fs/image.h"
#include "hands/fs/pdf.h"
#include "hands/fs/text.h"
#include "tests/lib/unit.h"

#include <fcntl.h>

#define CORPUS "tests/fuzz/corpus/image/"

static char *
load(const char *name, size_t *ret_n)
{
	char path[128], *p = NULL;

	snprintf(path, sizeof(path), CORPUS "%s", name);
	ck_assert_msg(
	    ats_fd_slurp(AT_FDCWD, path, 1u << 20, &p, ret_n, NULL) == 0, "%s", path);
	memmove(p, p + 1, --*ret_n); /* the first byte is the fuzzer's */
	return p;
}

static const struct {
	const char *name, *mime;
} whole[] = {
	{ "rgb.png", "image/png" },
	{ "pal.png", "image/png" },
	{ "la.png", "image/png" },
	{ "one.png", "image/png" },
	{ "anim.png", "image/png" },
	{ "base.jpg", "image/jpeg" },
	{ "prog.jpg", "image/jpeg" },
	{ "cmyk.jpg", "image/jpeg" },
	{ "grey.jpg", "image/jpeg" },
	{ "exif.jpg", "image/jpeg" },
	{ "still.gif", "image/gif" },
	{ "anim.gif", "image/gif" },
	{ "lossy.webp", "image/webp" },
	{ "lossless.webp", "image/webp" },
	{ "alpha.webp", "image/webp" },
	{ "anim.webp", "image/webp" },
};

START_TEST(image_check_whole_images_pass_and_cut_ones_do_not)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(whole); i++) {
		size_t n;
		char *p = load(whole[i].name, &n), *more = malloc(n + 100);
		struct ats_err err;
		struct image im;

		ck_assert_msg(
		    image_check(p, n, &im, &err) == 0, "%s: %s", whole[i].name, err.text);
		ck_assert_str_eq(im.mime, whole[i].mime);
		ck_assert_msg(im.width == 3 && im.height == 2 && im.size == n,
		    "%s: %ux%u, %zu", whole[i].name, im.width, im.height, im.size);
		memcpy(more, p, n);
		memset(more + n, 'x', 100); /* behind it anything may stand */
		ck_assert_int_eq(image_check(more, n + 100, &im, &err), 0);
		ck_assert_uint_eq(im.size, n);
		for (size_t cut = 0; cut < n; cut++) {
			char *copy = malloc(cut + 1); /* for the sanitizer's red zone */

			memcpy(copy, p, cut);
			ck_assert_msg(image_check(copy, cut, &im, &err) < 0,
			    "%s cut at %zu", whole[i].name, cut);
			free(copy);
		}
		free(more);
		free(p);
	}
}
END_TEST

static uint32_t
crc_of(const char *p, size_t n)
{
	uint32_t c = 0xffffffffu;

	for (size_t i = 0; i < n; i++) {
		c ^= (unsigned char)p[i];
		for (int k = 0; k < 8; k++)
			c = (c & 1) != 0 ? 0xedb88320u ^ c >> 1 : c >> 1;
	}
	return ~c;
}

/* rgb.png has IHDR at 8 and IDAT at 33. The checksum of the chunk at is made right again.
 */
static void
seal(char *p, size_t chunk)
{
	size_t len = (size_t)(unsigned char)p[chunk + 3];
	uint32_t c = crc_of(p + chunk + 4, len + 4);

	for (int i = 0; i < 4; i++)
		p[chunk + 8 + len + (size_t)i] = (char)(c >> (24 - 8 * i));
}

START_TEST(image_check_says_what_is_wrong)
{
	static const struct {
		const char *name;
		size_t at, chunk; /* chunk: sealed again, 0: no PNG */
		const char *with;
		size_t n;
		const char *want;
	} rows[] = {
		{ "rgb.png", 19, 0, "\1", 1, "checksum" },
		{ "rgb.png", 16, 8, "\0\0\0\0", 4, "no width or height" },
		{ "rgb.png", 20, 8, "\0\0\0\0", 4, "no width or height" },
		{ "rgb.png", 16, 8, "\0\0\x1f\x41", 4,
		    "8001x2 pixels, and models take 8000" },
		{ "rgb.png", 16, 8, "\xff\xff\xff\xff", 4, "4294967295x2 pixels" },
		{ "rgb.png", 24, 8, "\3", 1, "names no colour format" },
		{ "rgb.png", 25, 8, "\5", 1, "names no colour format" },
		{ "rgb.png", 25, 8, "\3", 1, "no palette" },
		{ "rgb.png", 28, 8, "\2", 1, "header is not valid" },
		{ "rgb.png", 37, 33, "CgBI", 4, "unknown extension" },
		{ "rgb.png", 37, 33, "tEXt", 4, "no image data" },
		{ "rgb.png", 41, 33, "random", 6, "not compressed" },
		{ "rgb.png", 33, 0, "\xff", 1, "cut off" },
		{ "still.gif", 6, 0, "\0\0", 2, "no width or height" },
		{ "still.gif", 13, 0, "\x3b", 1, "colour" },
		{ "lossless.webp", 16, 0, "\xff\xff", 2, "cut off" },
		{ "lossless.webp", 12, 0, "ABCD", 4, "first chunk" },
		{ "alpha.webp", 24, 0, "\7", 1, "not of the size" },
		{ "anim.webp", 24, 0, "\xff\xff", 2, "65536x2 pixels" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		struct image im;
		size_t n;
		char *p = load(rows[i].name, &n);

		if (strcmp(rows[i].want, "colour") ==
		    0) { /* no colours, and nothing else */
			p[10] = 0;
			memcpy(p + rows[i].at, rows[i].with, rows[i].n);
			ck_assert_int_lt(image_check(p, n, &im, &err), 0);
			ck_assert_str_eq(err.text, "it has no image data");
		} else {
			memcpy(p + rows[i].at, rows[i].with, rows[i].n);
			if (rows[i].chunk > 0)
				seal(p, rows[i].chunk);
			ck_assert_msg(image_check(p, n, &im, &err) < 0, "row %zu", i);
			ck_assert_msg(strstr(err.text, rows[i].want) != NULL,
			    "row %zu: %s", i, err.text);
		}
		free(p);
	}
}
END_TEST

/* PNG has checksums: no byte of it may be another. */
START_TEST(image_check_of_a_changed_byte_fails)
{
	size_t n;
	char *p = load("rgb.png", &n);
	struct image im;

	for (size_t i = 8; i < n; i++) {
		p[i] ^= 1;
		ck_assert_msg(image_check(p, n, &im, NULL) < 0, "byte %zu", i);
		p[i] ^= 1;
	}
	free(p);
}
END_TEST

/* What stands at a marker of base.jpg is changed. */
START_TEST(image_check_jpeg_of_odd_sorts_is_refused)
{
	static const struct {
		unsigned marker;
		int at, with;
		const char *want;
	} rows[] = {
		{ 0xc0, 1, 0xc3, "hardly ever" },
		{ 0xc0, 1, 0xc9, "hardly ever" },
		{ 0xc0, 4, 12, "more than 8 bits" },
		{ 0xc0, 6, 0, "no width or height" },
		{ 0xc0, 9, 2, "frame header" },
		{ 0xc0, 1, 0xe1, "data come before" },
		{ 0xda, 4, 9, "scan's header" },
		{ 0xdb, 1, 0xe2, NULL },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		struct image im;
		size_t n, at = 2;
		char *p = load("base.jpg", &n);
		bool all = rows[i].want == NULL; /* every one of that marker */

		while (at + 4 < n) {
			if ((unsigned char)p[at + 1] == rows[i].marker) {
				p[(size_t)((int)at + rows[i].at)] = (char)rows[i].with;
				if (!all)
					break;
			}
			at += 2 + (size_t)(unsigned char)p[at + 2] * 256 +
			      (unsigned char)p[at + 3];
		}
		ck_assert_msg(image_check(p, n, &im, &err) < 0, "row %zu", i);
		ck_assert_msg(
		    strstr(err.text, all ? "tables are missing" : rows[i].want) != NULL,
		    "row %zu: %s", i, err.text);
		free(p);
	}
}
END_TEST

START_TEST(image_check_over_the_size_is_refused)
{
	size_t n, big = IMAGE_MAX + 100;
	char *p = load("base.jpg", &n), *q = calloc(1, big + n);
	struct ats_err err = { 0 };
	struct image im;

	/* comments, the last of which ends at big, and then the rest of it */
	memcpy(q, p, 2);
	for (size_t at = 2, len; at < big; at += len + 2) {
		len = big - at - 2 < 60000 ? big - at - 2 : 50000;
		q[at] = (char)0xff;
		q[at + 1] = (char)0xfe;
		q[at + 2] = (char)(len >> 8);
		q[at + 3] = (char)len;
	}
	memcpy(q + big, p + 2, n - 2);
	ck_assert_int_eq(image_check(q, big + n - 2, &im, &err), -ATS_E_TOOBIG);
	ck_assert_ptr_nonnull(strstr(err.text, "3080192 at most"));
	free(q);
	free(p);
}
END_TEST

START_TEST(image_check_random_bytes_are_safe)
{
	unsigned seed = 7;

	for (int round = 0; round < 20000; round++) {
		const char *name = whole[(size_t)round % ATS_ARRAY_LEN(whole)].name;
		static char *kept[ATS_ARRAY_LEN(whole)];
		static size_t sizes[ATS_ARRAY_LEN(whole)];
		size_t k = (size_t)round % ATS_ARRAY_LEN(whole), n;
		struct image im;
		char *copy;

		if (kept[k] == NULL)
			kept[k] = load(name, &sizes[k]);
		n = sizes[k];
		copy = malloc(n);
		memcpy(copy, kept[k], n);
		for (int j = 0; j < 4; j++) {
			seed = seed * 1103515245u + 12345u;
			copy[(seed >> 8) % n] = (char)(seed >> 24);
		}
		if (image_check(copy, n, &im, NULL) == 0)
			ck_assert(
			    im.width > 0 && im.width <= IMAGE_SIDE_MAX && im.size <= n);
		free(copy);
	}
}
END_TEST

START_TEST(text_is_binary_names_images_that_are_not_shown)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "x.bmp", "a BMP image" },
		{ "x.ico", "an ICO image" },
		{ "x.tiff", "a TIFF image" },
	};
	static const struct {
		const char *p;
		size_t n;
		const char *want;
	} brands[] = {
		{ "\0\0\0\x18"
		  "ftypheic\0\0\0\0",
		    16, "a HEIC image" },
		{ "\0\0\0\x18"
		  "ftyphevc\0\0\0\0",
		    16, "a HEIC image" },
		{ "\0\0\0\x1c"
		  "ftypavif\0\0\0\0",
		    16, "an AVIF image" },
		{ "\0\0\0\x1c"
		  "ftypavis\0\0\0\0",
		    16, "an AVIF image" },
		{ "\0\0\0\x0cJXL \r\n\x87\n", 12, "a JPEG XL image" },
	};
	const char *what;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		size_t n;
		char *p = load(rows[i].name, &n);

		ck_assert_ptr_null(image_claims(p, n));
		ck_assert(text_is_binary(p, n, &what));
		ck_assert_str_eq(what, rows[i].want);
		free(p);
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(brands); i++) {
		ck_assert(text_is_binary(brands[i].p, brands[i].n, &what));
		ck_assert_str_eq(what, brands[i].want);
	}
}
END_TEST

START_TEST(base64_decode_takes_what_commands_write)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "YQ==", "a" },
		{ "YWI=", "ab" },
		{ "YWJj", "abc" },
		{ "YWJjZA==", "abcd" },
		{ "YQ", "a" },
		{ "YWI", "ab" },
		{ "YW\nJj\r\nZA==\n", "abcd" },
		{ "+/+/", "\xfb\xff\xbf" },
		{ "", NULL },
		{ "=", NULL },
		{ "Y", NULL },
		{ "YQ=", NULL },
		{ "YQ===", NULL },
		{ "YWJjZ", NULL },
		{ "YQ==YQ==", NULL },
		{ "Y Q==", NULL },
		{ "YW-_", NULL },
		{ "\n", NULL },
		{ "YWJj=", NULL },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_buf out;
		int rc;

		ats_buf_init(&out, 64);
		rc = ats_base64_decode(rows[i].text, strlen(rows[i].text), &out);
		ck_assert_msg((rc == 0) == (rows[i].want != NULL), "row %zu: %d", i, rc);
		if (rc == 0)
			ck_assert_str_eq(out.data, rows[i].want);
		ats_buf_done(&out);
	}
}
END_TEST

START_TEST(base64_encode_is_what_decode_reads)
{
	static const char *const rows[][2] = {
		{ "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
		{ "\xff\xfe\xfb", "//77" },
	};
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&out, 100);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ats_buf_reset(&out);
		ck_assert_int_eq(ats_base64_encode(rows[i][0], strlen(rows[i][0]), &out), 0);
		ck_assert_str_eq(out.data, rows[i][1]);
	}
}
END_TEST

START_TEST(pdf_range_parse_takes_pages_and_ranges)
{
	static const struct {
		const char *text;
		uint64_t first, last;
		const char *wrong;
	} rows[] = {
		{ NULL, 1, 10, NULL },
		{ "", 1, 10, NULL },
		{ " ", 1, 10, NULL },
		{ "3", 3, 3, NULL },
		{ "1-5", 1, 5, NULL },
		{ " 1 - 20 ", 1, 20, NULL },
		{ "10-", 10, 29, NULL },
		{ "7-7", 7, 7, NULL },
		{ "0", 0, 0, "expected" },
		{ "5-1", 0, 0, "expected" },
		{ "1-21", 0, 0, "21 pages were asked for, 20" },
		{ "a", 0, 0, "\"1-5\"" },
		{ "1,3", 0, 0, "expected" },
		{ "-3", 0, 0, "expected" },
		{ "1-2-3", 0, 0, "expected" },
		{ "99999999999999999999", 0, 0, "expected" },
		{ "1-0", 0, 0, "expected" },
		{ "1-99999999999999999999", 0, 0, "expected" },
		{ "1.5", 0, 0, "expected" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		struct pdf_range r;
		int rc = pdf_range_parse(rows[i].text, &r, &err);

		ck_assert_msg((rc == 0) == (rows[i].wrong == NULL), "row %zu", i);
		if (rc == 0)
			ck_assert_msg(r.first == rows[i].first && r.last == rows[i].last,
			    "row %zu", i);
		else
			ck_assert_msg(
			    strstr(err.text, rows[i].wrong) != NULL, "%s", err.text);
	}
}
END_TEST

START_TEST(pdf_claims_and_page_count_by_content)
{
	static const struct {
		const char *text;
		bool named;
		bool is;
		uint64_t pages;
	} rows[] = {
		{ "%PDF-1.4\n1 0 obj\n<< /Type /Pages /Count 3 /Kids [] >>\nendobj",
		    false, true, 3 },
		{ "junk\n%PDF-1.4\n", true, true, 0 },
		{ "junk\n%PDF-1.4\n", false, false, 0 },
		{ "%PDF", true, false, 0 },
		{ "", true, false, 0 },
		{ "%PDF-1.5\n1 0 obj<</Linearized 1/L 99/O 7/E 5/N 34/T 1>>endobj", false,
		    true, 34 },
		{ "%PDF-1.4\n1 0 obj<</Count 7/Type/Pages>>endobj 2 0 "
		  "obj<</Type/Outlines/Count 99>>"
		  "endobj 3 0 obj<</Type/Pages/Count 40>>endobj",
		    false, true, 40 },
		{ "%PDF-1.4 /Pages /Count 99999999999999", false, true, 0 },
		{ "%PDF-1.4 /Pages/Count", false, true, 0 },
		{ "%PDF-1.4 /Pages", false, true, 0 },
		{ "%PDF-1.4 /Linearized /N 3", false, true, 0 },
	};
	char far[1100];

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].text);

		ck_assert_msg(pdf_claims(rows[i].text, n, rows[i].named) == rows[i].is,
		    "row %zu", i);
		ck_assert_msg(
		    pdf_page_count(rows[i].text, n) == rows[i].pages, "row %zu", i);
	}
	memset(far, ' ', sizeof(far));
	memcpy(far + 1019, "%PDF-", 5);
	ck_assert(pdf_claims(far, sizeof(far), true));
	memcpy(far + 1018, " %PDF-", 6);
	memcpy(far + 1019, " %PDF-", 6);
	ck_assert(!pdf_claims(far, sizeof(far), true));
}
END_TEST

ATS_UNIT_MAIN("fs_image", image_check_whole_images_pass_and_cut_ones_do_not,
    image_check_says_what_is_wrong, image_check_of_a_changed_byte_fails,
    image_check_jpeg_of_odd_sorts_is_refused, image_check_over_the_size_is_refused,
    image_check_random_bytes_are_safe, text_is_binary_names_images_that_are_not_shown,
    base64_decode_takes_what_commands_write,
    base64_encode_is_what_decode_reads, pdf_range_parse_takes_pages_and_ranges,
    pdf_claims_and_page_count_by_content)
