/* SPDX-License-Identifier: Apache-2.0
 *
 * Input: which allocation fails, flags, pattern, NUL, text. Whatever way a pattern is
 * searched, the matching lines and spans are those that plain PCRE2 finds line by line.
 * The pattern's pieces between bars are also words for the literal search, which must
 * find what comparing at each byte finds. */
#include "tests/fuzz/fuzz.h"
#include "tests/lib/regex_reference.h"

#include "hands/match/literal.h"
#include "hands/match/regex.h"
#include "hands/match/regex_syntax.h"

#define LINES 64

enum { REPEATED = 4 }; /* the text again and again, longer than the widest steps */

/* Where bytes and characters differ, or a return is text, the reference says another
 * thing. */
static bool
comparable(const char *pattern, size_t n, const char *text, size_t tn)
{
	struct regex_syntax s;
	bool ok;

	FUZZ_CHECK(regex_syntax_read(&s, pattern, n, false) == 0);
	ok = !s.utf && !s.keep_cr && !s.newline;
	for (size_t i = 0; i < tn; i++)
		ok = ok && (unsigned char)text[i] < 0x80;
	regex_syntax_done(&s);
	/* Options in the pattern that change what a line is, and what 10.42's JIT gets
	 * wrong. */
	return ok && strstr(pattern, "(*") == NULL && strstr(pattern, "\\K") == NULL &&
	       strstr(pattern, "\\G") == NULL && strstr(pattern, "(?") == NULL &&
	       strstr(pattern, "\\r") == NULL && strstr(pattern, "\\c") == NULL;
}

static bool
is_word(struct ats_slice w, const char *p, const char *end, bool fold)
{
	if ((size_t)(end - p) < w.n)
		return false;
	for (size_t i = 0; i < w.n; i++) {
		unsigned char a = (unsigned char)w.p[i], b = (unsigned char)p[i];
		bool letter = (a | 0x20) >= 'a' && (a | 0x20) <= 'z';

		if (a != b && !(fold && letter && (a ^ b) == 0x20))
			return false;
	}
	return true;
}

static const char *
find_word(const struct ats_slice *w, size_t n, const char *p, const char *end, bool fold,
    size_t *ret_len)
{
	for (; p < end; p++) {
		for (size_t i = 0; i < n; i++) {
			if (is_word(w[i], p, end, fold)) {
				*ret_len = w[i].n;
				return p;
			}
		}
	}
	return NULL;
}

static void
literals(const char *pattern, struct ats_slice text, bool fold, unsigned fault)
{
	struct ats_slice words[LITERAL_WORDS_MAX];
	const char *end = text.p + text.n, *got, *want;
	size_t n = 0, got_n = 0, want_n = 0, lines = 0;
	bool empty = false, high = false;
	struct literal *l;

	for (const char *p = pattern; n < LITERAL_WORDS_MAX; p++) {
		words[n] = (struct ats_slice){ p, strcspn(p, "|") };
		empty = empty || words[n].n == 0;
		(void)literal_rarity(p, words[n].n, fold);
		p += words[n++].n;
		if (*p == '\0')
			break;
	}
	for (size_t i = 0; i < text.n; i++) {
		lines += text.p[i] == '\n';
		high = high || (unsigned char)text.p[i] > 0x7f;
	}
	FUZZ_CHECK(literal_count_lines(text.p, text.n) == lines);
	FUZZ_CHECK(literal_has_high(text.p, text.n) == high);
	ats_fault_alloc(fault);
	l = literal_new(words, n, fold);
	ats_fault_alloc(0);
	FUZZ_CHECK(l != NULL || empty || fault > 0);
	FUZZ_CHECK(l == NULL || !empty);
	for (const char *p = text.p; l != NULL; p = got + 1) {
		got = literal_find(l, p, end, &got_n);
		want = find_word(words, n, p, end, fold, &want_n);
		FUZZ_CHECK(got == want && (got == NULL || got_n == want_n));
		if (got == NULL)
			break;
	}
	literal_free(l);
}

static void
expressions(const char *pattern, struct ats_slice t, unsigned flags, unsigned fault)
{
	struct regex_span want[LINES], got[LINES];
	uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_DUPNAMES |
			   ((flags & REGEX_IGNORE_CASE) != 0 ? PCRE2_CASELESS : 0);
	int a, b;

	(void)regex_lines(pattern, flags & 3u, t.p, t.n, got, LINES);
	b = regex_lines(pattern, flags & REGEX_IGNORE_CASE, t.p, t.n, got, LINES);
	if (comparable(pattern, strlen(pattern), t.p, t.n)) {
		a = reference_lines(pattern, options, t.p, t.n, want, LINES);
		FUZZ_CHECK(a < 0 || b < 0 ||
			   (a == b && memcmp(want, got,
					  (size_t)(a < LINES ? a : LINES) *
					      sizeof(want[0])) == 0));
		FUZZ_CHECK(a < 0 || b != -2); /* refused what is a pattern */
	}
	if (fault == 0)
		return;
	ats_fault_alloc(fault);
	a = regex_lines(pattern, flags & REGEX_IGNORE_CASE, t.p, t.n, want, LINES);
	ats_fault_alloc(0);
	FUZZ_CHECK(
	    a < 0 || b < 0 ||
	    (a == b && memcmp(want, got,
			   (size_t)(a < LINES ? a : LINES) * sizeof(want[0])) == 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	const uint8_t *nul = in.n > 0 ? memchr(in.p, 0, in.n) : NULL;
	const char *pattern = (const char *)in.p;
	struct ats_slice text;
	struct ats_buf more;
	char *copy;

	if (nul == NULL || size > 2048)
		return 0;
	(void)fuzz_bytes(&in, (size_t)(nul - in.p) + 1);
	text = fuzz_bytes(&in, in.n);
	ats_buf_init(&more, 1u << 20);
	for (int i = 0; (flags & REPEATED) != 0 && text.n > 0 && i < 12; i++)
		FUZZ_CHECK(ats_buf_add(&more, text.p, text.n) == 0);
	if (more.len > 0)
		text = (struct ats_slice){ more.data, more.len };
	text.p = copy = fuzz_copy(text);
	expressions(pattern, text, flags, fault);
	literals(pattern, text, (flags & REGEX_IGNORE_CASE) != 0, fault);
	free(copy);
	ats_buf_done(&more);
	return 0;
}
