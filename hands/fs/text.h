/* SPDX-License-Identifier: Apache-2.0
 *
 * What kind of text a file's bytes are, and UTF-16 to UTF-8 and back. */
#ifndef ATS_HANDS_FS_TEXT_H
#define ATS_HANDS_FS_TEXT_H

#include "common/buf.h"

enum text_kind {
	TEXT_UTF8,		/* valid, without a BOM; ASCII too */
	TEXT_UTF8_BOM,
	TEXT_UTF16LE, TEXT_UTF16BE,	/* with a BOM */
	TEXT_BYTES,		/* some other 8-bit encoding */
	TEXT_BINARY		/* a NUL byte near the start, or UTF-32 */
};
#define TEXT_LOOK_AT (64u << 10) /* the start of a file: no text has a NUL there */
/* Looks at the whole of p for UTF-8, at its start for NUL. */
enum text_kind text_detect(const char *p, size_t n);
/* Whether the start of a file says that it is no text; *ret_what names what it is. */
bool text_is_binary(const char *p, size_t n, const char **ret_what);
size_t text_bom_len(enum text_kind kind);	/* 0, 2 or 3 */
bool text_is_utf8(const char *p, size_t n);
bool text_is_ascii(const char *p, size_t n);
/* Decodes UTF-16 (after its BOM); lone surrogates and an odd last byte become U+FFFD. */
ATS_NODISCARD int text_from_utf16(const char *p, size_t n, bool big_endian,
    struct ats_buf *out);
/* The BOM and the encoded form of valid UTF-8. */
ATS_NODISCARD int text_to_utf16(const char *p, size_t n, bool big_endian, struct ats_buf *out);
size_t text_count_lines(const char *p, size_t n);	/* a last line without newline counts */
/* The largest length <= max at which s can be cut between two characters. */
size_t text_cut(const char *s, size_t n, size_t max);

#endif
