/* SPDX-License-Identifier: Apache-2.0
 *
 * Text or not, and which. Runs in tool workers; the bytes are anybody's. */
#include "hands/fs/text.h"

#include "common/json.h"

#include <stdint.h>
#include <string.h>

/* texty: a text may begin so, too; then a NUL must be near */
static const struct {
	const char *magic;
	size_t n, at;
	const char *what;
	bool texty;
} magics[] = {
	{ "\x7f" "ELF", 4, 0, "an ELF executable or library", false },
	{ "%PDF-", 5, 0, "a PDF document", false },
	{ "PK\3\4", 4, 0, "a ZIP archive or a file built on one", false },
	{ "\x1f\x8b\x08", 3, 0, "gzip-compressed data", false },
	{ "BZh", 3, 0, "bzip2-compressed data", true },
	{ "\xfd" "7zXZ\0", 6, 0, "xz-compressed data", false },
	{ "\x28\xb5\x2f\xfd", 4, 0, "zstd-compressed data", false },
	{ "7z\xbc\xaf\x27\x1c", 6, 0, "a 7-zip archive", false },
	{ "SQLite format 3\0", 16, 0, "an SQLite database", false },
	{ "ftypheic", 8, 4, "a HEIC image", true }, { "ftypheix", 8, 4, "a HEIC image", true },
	{ "ftypmif1", 8, 4, "a HEIF image", true }, { "ftypavif", 8, 4, "an AVIF image", true },
	{ "ftyphevc", 8, 4, "a HEIC image", true }, { "ftypmsf1", 8, 4, "a HEIF image", true },
	{ "ftypavis", 8, 4, "an AVIF image", true }, { "ftyp", 4, 4, "an MPEG-4 file", true },
	{ "\0\0\0\x0cJXL \r\n\x87\n", 12, 0, "a JPEG XL image", false },
	{ "\0\0\0\x0cjP  \r\n\x87\n", 12, 0, "a JPEG 2000 image", false },
	{ "8BPS\0\1", 6, 0, "a Photoshop image", false },
	{ "\0\0\1\0", 4, 0, "an ICO image", false }, { "BM", 2, 0, "a BMP image", true },
	{ "II*\0", 4, 0, "a TIFF image", false }, { "MM\0*", 4, 0, "a TIFF image", false },
	{ "\xca\xfe\xba\xbe", 4, 0, "a Java class or Mach-O file", false },
	{ "\0asm", 4, 0, "a WebAssembly module", false },
	{ "OggS", 4, 0, "an Ogg file", true }, { "fLaC", 4, 0, "a FLAC file", true },
	{ "\xff\xfe\0\0", 4, 0, "UTF-32 text", false },
	{ "\0\0\xfe\xff", 4, 0, "UTF-32 text", false },
};

bool
text_is_binary(const char *p, size_t n, const char **ret_what)
{
	bool nul = memchr(p, '\0', n < TEXT_LOOK_AT ? n : TEXT_LOOK_AT) != NULL;
	bool utf16 = n >= 2 && (memcmp(p, "\xff\xfe", 2) == 0 || memcmp(p, "\xfe\xff", 2) == 0);

	for (size_t i = 0; i < ATS_ARRAY_LEN(magics); i++)
		if (n >= magics[i].at + magics[i].n && (nul || !magics[i].texty) &&
		    (!utf16 || magics[i].at == 0) &&
		    memcmp(p + magics[i].at, magics[i].magic, magics[i].n) == 0) {
			*ret_what = magics[i].what;
			return true;
		}
	*ret_what = "binary data";
	return nul && !utf16;
}

/* Bytes at p that are ASCII, eight at a time. */
static size_t
ascii_run(const char *p, size_t n)
{
	size_t i = 0;
	uint64_t word;

	for (; i + 8 <= n; i += 8) {
		memcpy(&word, p + i, 8);
		if ((word & 0x8080808080808080u) != 0)
			break;
	}
	while (i < n && (p[i] & 0x80) == 0)
		i++;
	return i;
}

bool
text_is_ascii(const char *p, size_t n)
{
	return ascii_run(p, n) == n;
}

bool
text_is_utf8(const char *p, size_t n)
{
	for (size_t i = ascii_run(p, n); i < n; i += ascii_run(p + i, n - i)) {
		unsigned k = ats_utf8_seq(p + i, n - i);

		if (k == 0)
			return false;
		i += k;
	}
	return true;
}

enum text_kind
text_detect(const char *p, size_t n)
{
	const char *what;

	if (text_is_binary(p, n, &what))
		return TEXT_BINARY;
	if (n >= 2 && memcmp(p, "\xff\xfe", 2) == 0)
		return TEXT_UTF16LE;
	if (n >= 2 && memcmp(p, "\xfe\xff", 2) == 0)
		return TEXT_UTF16BE;
	if (!text_is_utf8(p, n))
		return TEXT_BYTES;
	return n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? TEXT_UTF8_BOM : TEXT_UTF8;
}

size_t
text_bom_len(enum text_kind kind)
{
	if (kind == TEXT_UTF8_BOM)
		return 3;
	return kind == TEXT_UTF16LE || kind == TEXT_UTF16BE ? 2 : 0;
}

static uint32_t
unit_at(const char *p, bool big_endian)
{
	uint32_t a = (unsigned char)p[0], b = (unsigned char)p[1];

	return big_endian ? a << 8 | b : b << 8 | a;
}

static size_t
put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

int
text_from_utf16(const char *p, size_t n, bool big_endian, struct ats_buf *out)
{
	char *to;
	size_t len = 0;
	int rc = ats_buf_reserve(out, n / 2 * 3 + 3, &to);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i + 1 < n; i += 2) {
		uint32_t c = unit_at(p + i, big_endian), low;

		if (c >= 0xd800 && c < 0xdc00 && i + 3 < n) {
			low = unit_at(p + i + 2, big_endian);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i += 2;
			}
		}
		if (c >= 0xd800 && c < 0xe000)
			c = 0xfffd;
		len += put_utf8(c, to + len);
	}
	if (n % 2 != 0)
		len += put_utf8(0xfffd, to + len);
	ats_buf_commit(out, len);
	return 0;
}

static void
put_unit(uint32_t u, bool big_endian, char *out)
{
	out[big_endian ? 0 : 1] = (char)(u >> 8);
	out[big_endian ? 1 : 0] = (char)(u & 0xff);
}

int
text_to_utf16(const char *p, size_t n, bool big_endian, struct ats_buf *out)
{
	char *to;
	size_t len = 2;
	int rc = ats_buf_reserve(out, 2 * n + 2, &to);

	if (rc < 0)
		return rc;
	put_unit(0xfeff, big_endian, to);
	for (size_t i = 0; i < n; ) {
		unsigned k = ats_utf8_seq(p + i, n - i);
		uint32_t c = (unsigned char)p[i];

		if (k == 0)
			return -ATS_E_UTF8;
		if (k > 1)
			c &= 0x7fu >> k;
		for (unsigned j = 1; j < k; j++)
			c = c << 6 | ((unsigned char)p[i + j] & 0x3f);
		if (c >= 0x10000) {
			put_unit(0xd800 + ((c - 0x10000) >> 10), big_endian, to + len);
			len += 2;
			c = 0xdc00 + ((c - 0x10000) & 0x3ff);
		}
		put_unit(c, big_endian, to + len);
		len += 2;
		i += k;
	}
	ats_buf_commit(out, len);
	return 0;
}

size_t
text_count_lines(const char *p, size_t n)
{
	const char *end = p + n;
	size_t lines = 0;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		lines++;
		if (nl == NULL)
			break;
		p = nl + 1;
	}
	return lines;
}

size_t
text_cut(const char *s, size_t n, size_t max)
{
	if (n <= max)
		return n;
	for (size_t at = max; at > 0 && max - at < 4; at--)
		if (((unsigned char)s[at] & 0xc0) != 0x80)
			return at;
	return max;
}
