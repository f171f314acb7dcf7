/* SPDX-License-Identifier: Apache-2.0
 *
 * File bytes as text. Input: which allocation fails, flags, first line, number of lines,
 * how long the pieces are, then the bytes. UTF-16 is decoded to valid UTF-8 and comes
 * back to what it was when it was whole; cuts lie between characters; a page of numbered
 * lines does not depend on the pieces it came in and holds the lines that splitting the
 * text gives. */
#include "common/json.h"
#include "hands/fs/text.h"
#include "hands/tools/read_lines.h"
#include "tests/fuzz/fuzz.h"

enum { LONG = 1, NARROW = 2 }; /* LONG: each newline follows a long line */

static void
utf16(const char *p, size_t n, unsigned fault)
{
	struct ats_buf text, back, again, little;
	bool big = n % 3 == 0;
	int rc;

	ats_buf_init(&text, 1u << 20);
	ats_buf_init(&back, 1u << 20);
	ats_buf_init(&again, 1u << 20);
	ats_buf_init(&little, fault);
	FUZZ_CHECK(text_from_utf16(p, n, big, &text) == 0);
	FUZZ_CHECK(text_is_utf8(text.data, text.len));
	FUZZ_CHECK(text_to_utf16(text.data, text.len, big, &back) == 0);
	FUZZ_CHECK(
	    text_detect(back.data, back.len) ==
	    (back.len >= 4 && memcmp(back.data, "\xff\xfe\0\0", 4) == 0 ? TEXT_BINARY
		: big							? TEXT_UTF16BE
									: TEXT_UTF16LE));
	FUZZ_CHECK(text_from_utf16(back.data + 2, back.len - 2, big, &again) == 0);
	FUZZ_CHECK(fuzz_same(&text, &again));
	if (memmem(text.data, text.len, "\xef\xbf\xbd", 3) == NULL)
		FUZZ_CHECK(back.len == n + 2 && memcmp(back.data + 2, p, n) == 0);
	rc = text_to_utf16(p, n, big, &little);
	FUZZ_CHECK(rc == 0 || little.len == 0);
	FUZZ_CHECK(rc != -ATS_E_UTF8 || !text_is_utf8(p, n));
	ats_buf_done(&text);
	ats_buf_done(&back);
	ats_buf_done(&again);
	ats_buf_done(&little);
}

static void
kinds(const char *p, size_t n)
{
	enum text_kind kind = text_detect(p, n);
	const char *what = NULL;
	bool ascii = true, valid = true;
	size_t lines = 0, cut;

	for (size_t i = 0; i < n; i++) {
		ascii = ascii && (p[i] & 0x80) == 0;
		lines += p[i] == '\n';
	}
	for (size_t at = 0, k; valid && at < n; at += k)
		valid = (k = ats_utf8_seq(p + at, n - at)) > 0;
	FUZZ_CHECK(text_is_ascii(p, n) == ascii && text_is_utf8(p, n) == valid);
	FUZZ_CHECK(text_count_lines(p, n) == lines + (n > 0 && p[n - 1] != '\n'));
	FUZZ_CHECK(text_is_binary(p, n, &what) == (kind == TEXT_BINARY));
	FUZZ_CHECK(kind != TEXT_BINARY || what[0] != '\0');
	FUZZ_CHECK(text_bom_len(kind) <= n);
	FUZZ_CHECK(kind == TEXT_BYTES || kind >= TEXT_UTF16LE || valid);
	for (size_t max = 1; max < 16; max++) {
		cut = text_cut(p, n, max);
		FUZZ_CHECK(cut <= max && (cut == n || cut > 0 || max < 4));
		FUZZ_CHECK(!valid || cut == n || ((unsigned char)p[cut] & 0xc0) != 0x80 ||
			   max < 4);
	}
}

/* One page in pieces of the given length. */
static int
page(const char *p, size_t n, uint64_t from, uint64_t limit, size_t piece,
    struct ats_buf *out)
{
	static struct read_page g;
	int rc = 0;

	read_page_init(&g, out, n, from, limit);
	for (size_t at = 0; rc == 0 && (at < n || at == 0); at += piece) {
		size_t k = n - at < piece ? n - at : piece;

		rc = read_page_add(&g, p + at, k, at + k == n);
		if (n == 0)
			break;
	}
	return rc == 0 ? read_page_end(&g, "FILE") : rc;
}

/* The lines as splitting gives them, without the last words of the page. */
static void
check_page(
    const char *p, size_t n, uint64_t from, uint64_t limit, const struct ats_buf *got)
{
	struct ats_buf want;
	uint64_t line = 1, shown = 0;
	bool first = true;

	ats_buf_init(&want, 4u << 20);
	for (size_t at = 0; at < n && shown < limit; line++) {
		const char *nl = memchr(p + at, '\n', n - at);
		size_t end = nl != NULL ? (size_t)(nl - p) : n, k = end - at;

		if (nl != NULL && k > 0 && p[end - 1] == '\r')
			k--;
		if (line >= from) {
			FUZZ_CHECK(ats_buf_addf(&want, "%s%llu\t", first ? "" : "\n",
				       (unsigned long long)line) == 0);
			for (size_t i = 0; i < k; i++)
				FUZZ_CHECK(ats_buf_add_char(&want,
					       p[at + i] == '\0' ? '?' : p[at + i]) == 0);
			first = false;
			shown++;
		}
		at = end + 1;
	}
	FUZZ_CHECK(got->len >= want.len && memcmp(got->data, want.data, want.len) == 0);
	FUZZ_CHECK(got->len == want.len || shown == 0 ||
		   strncmp(got->data + want.len, "\n\n[Lines ", 9) == 0);
	ats_buf_done(&want);
}

static void
pages(const char *p, size_t n, uint64_t from, uint64_t limit, size_t piece,
    unsigned fault, bool narrow)
{
	struct ats_buf one, many, little;
	size_t longest = 0, line = 0;
	int rc;

	for (size_t i = 0; i < n; i++) {
		line = p[i] == '\n' ? 0 : line + 1;
		longest = line > longest ? line : longest;
	}
	ats_buf_init(&one, 4u << 20);
	ats_buf_init(&many, 4u << 20);
	ats_buf_init(&little, narrow ? 600 : 4u << 20);
	FUZZ_CHECK(page(p, n, from, limit, n + 1, &one) == 0);
	FUZZ_CHECK(page(p, n, from, limit, piece, &many) == 0);
	FUZZ_CHECK(fuzz_same(&one, &many));
	FUZZ_CHECK(!text_is_utf8(p, n) || text_is_utf8(one.data, one.len));
	if (longest <= READ_LINE_MAX && n > 0 && n <= READ_WHOLE_MAX && one.len < 200000)
		check_page(p, n, from, limit, &one);
	ats_fault_alloc(fault);
	rc = page(p, n, from, limit, piece, &little);
	ats_fault_alloc(0);
	FUZZ_CHECK(rc == 0 || (rc == -ATS_E_NOMEM && fault > 0) ||
		   (rc == -ATS_E_TOOBIG && narrow));
	FUZZ_CHECK(rc < 0 || narrow || fuzz_same(&little, &one));
	ats_buf_done(&one);
	ats_buf_done(&many);
	ats_buf_done(&little);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	uint64_t from = fuzz_byte(&in), limit = 1u + fuzz_byte(&in);
	size_t piece = 1u + fuzz_byte(&in);
	struct ats_slice text = fuzz_bytes(&in, in.n);
	struct ats_buf more;
	char *copy;

	if (size > 2048)
		return 0;
	ats_buf_init(&more, 8u << 20);
	for (size_t i = 0; (flags & LONG) != 0 && i < text.n; i++)
		for (int k = 0; k < (text.p[i] == '\n' ? 1 : 48); k++)
			FUZZ_CHECK(ats_buf_add_char(&more, text.p[i]) == 0);
	if (more.len > 0)
		text = (struct ats_slice){ more.data, more.len };
	text.p = copy = fuzz_copy(text);
	kinds(text.p, text.n);
	utf16(text.p, text.n, fault);
	pages(text.p, text.n, from, limit, piece * ((flags & LONG) != 0 ? 7 : 1), fault,
	    (flags & NARROW) != 0);
	free(copy);
	ats_buf_done(&more);
	return 0;
}
