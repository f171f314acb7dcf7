/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/fs/text.c: which bytes are a text. tests/fuzz/fuzz_text.c has the conversions. */
#include "hands/fs/text.h"
#include "tests/lib/unit.h"

#define ROW(text, kind)                      \
	{                                    \
		text, sizeof(text) - 1, kind \
	}

START_TEST(text_detect_tells_texts_from_files_that_begin_like_them)
{
	static const struct {
		const char *p;
		size_t n;
		enum text_kind want;
	} rows[] = {
		ROW("", TEXT_UTF8),
		ROW("a\n", TEXT_UTF8),
		ROW("\xc3\xa9", TEXT_UTF8),
		ROW("\xe9", TEXT_BYTES),
		ROW("\xef\xbb\xbf"
		    "a",
		    TEXT_UTF8_BOM),
		ROW("\xff\xfe"
		    "a\0",
		    TEXT_UTF16LE),
		ROW("\xfe\xff\0a", TEXT_UTF16BE),
		ROW("\xff\xfe\0\0a\0\0\0", TEXT_BINARY),
		ROW("a\0b", TEXT_BINARY),
		/* words that formats begin with, in a text */
		ROW("The ftyp box comes first.\n", TEXT_UTF8),
		ROW("OggS is a magic\n", TEXT_UTF8),
		ROW("fLaC, too\n", TEXT_UTF8),
		ROW("BZh\n", TEXT_UTF8),
		ROW("\xff\xfe"
		    "a\0ftyp",
		    TEXT_UTF16LE),
		/* and in such files */
		ROW("\0\0\0\x20"
		    "ftypisom",
		    TEXT_BINARY),
		ROW("OggS\0\2", TEXT_BINARY),
		ROW("fLaC\0\0\0\x22", TEXT_BINARY),
		ROW("BZh91AY&SY\0", TEXT_BINARY),
		ROW("\x7f"
		    "ELF",
		    TEXT_BINARY),
		ROW("%PDF-1.4\n", TEXT_BINARY),
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg(text_detect(rows[i].p, rows[i].n) == rows[i].want,
		    "row %zu: %d", i, (int)text_detect(rows[i].p, rows[i].n));
}
END_TEST

ATS_UNIT_MAIN("text", text_detect_tells_texts_from_files_that_begin_like_them)
