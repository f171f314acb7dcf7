/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/match/regex.c and what it stands on: spans by table, words that are cut out of
 * patterns, and random patterns over random texts against plain PCRE2 on each line. */
#include "tests/lib/regex_reference.h"

#include "hands/match/literal.h"
#include "hands/match/regex_syntax.h"
#include "tests/lib/unit.h"

START_TEST(regex_find_gives_the_span)
{
	static const struct {
		const char *pattern, *text;
		unsigned flags;
		int start, end;		/* -1: no match */
	} rows[] = {
		{ "foo", "a foo b", 0, 2, 5 },
		{ "FOO", "a foo b", REGEX_IGNORE_CASE, 2, 5 },
		{ "(?i)FOO", "a foo b", 0, 2, 5 },
		{ "foo|bar", "x bar foo", 0, 2, 5 },
		{ "foobar|foo", "xfoobar", 0, 1, 7 },
		{ "foo|foobar", "xfoobar", 0, 1, 4 },
		{ "a.c", "ab\nabc", 0, 3, 6 },
		{ "a\\sc", "a\nc a c", 0, 4, 7 },
		{ "a[^x]c", "a\nc", 0, -1, -1 },
		{ "x$", "ax\r\nb", 0, 1, 2 },
		{ "x\\b", "ax\r\nb", 0, 1, 2 },
		{ ";$", "a;\r\nb", 0, 1, 2 },
		{ "[^;]$", "a;\r\n", 0, -1, -1 },
		{ "a.$", "ab\r\n", 0, 0, 2 },
		{ "a\\r$", "xa\r\n", 0, 1, 3 },
		{ "^b", "ab\nb", 0, 3, 4 },
		{ "\\Ab", "ab\nb", 0, 3, 4 },
		{ "b\\z", "bc\nb\nc", 0, 3, 4 },
		{ "^$", "a\n\nb", 0, 2, 2 },
		{ "^$", "a\n", 0, -1, -1 },
		{ "", "a", 0, 0, 0 },
		{ "(?<!\\s)b", "\nb", 0, 1, 2 },
		{ "a(?!\\s)", "a\nb", 0, 0, 1 },
		{ "\\bw\\b", "ww w", 0, 3, 4 },
		{ "\xc3\xa9.", "a\xc3\xa9\xc3\xa8", 0, 1, 5 },
		{ "a.b", "a\xc3\xa9" "b", 0, 0, 4 },
		{ "a.b", "\xff a\xc3\xa9" "b", 0, 2, 6 },
		{ "\\p{Lu}", "a\xc3\x89", 0, 1, 3 },
		{ "\xc3\x89", "a\xc3\xa9", REGEX_IGNORE_CASE, 1, 3 },
		{ "a.*b", "a\nb", REGEX_MULTILINE, 0, 3 },
		{ "a\\nb", "xa\nb", REGEX_MULTILINE, 1, 4 },
		{ "x$", "x\ny", REGEX_MULTILINE, 0, 1 },
		{ "^\\n", "x\r\ny", REGEX_MULTILINE, -1, -1 },
		{ "\\w+", "-\xc3\xa9t\xc3\xa9-", 0, 1, 6 },
		{ "\\bt", "\xc3\xa9t t", 0, 4, 5 },
		{ "\\d", "\xd9\xa3", 0, 0, 2 },
		{ "[\\w]+foo", "\xc3\xa9" "foo", 0, 0, 5 },
		{ "[[:alpha:]]{3}", "\xc3\xa9" "ab", 0, 0, 4 },
		{ "\\w+", "\xe9t\xe9", 0, 1, 2 },
		{ "\\w{2}\\s+\\w{3}$", "a bc\nab  cde\r\nx", 0, 5, 12 },
		{ "\\s$", "a\nb \nc", 0, 3, 4 },
		{ "[^;]\\d$", "a;\n1;\nx1", 0, 6, 8 },
		{ "\\d\\w$", "1a \n1\xc3\xa9", 0, 4, 7 },
		{ "\\w\\d{0,2}\\s$", "a12x\na12 ", 0, 5, 9 },
		{ "\\w$|;", "a;b ", 0, 1, 2 },
		{ "(?i)[a-c]{2}$", "xAB;\nxAB", 0, 6, 8 },
		{ "^y", "x\ny", REGEX_MULTILINE, 2, 3 },
		{ "]", "a]", 0, 1, 2 },
		{ "a{2}b", "ab aab", 0, 3, 6 },
		{ "a{,2}", "a{,2}", 0, 0, 5 },
		{ "\\Qa.b\\E", "axb a.b", 0, 4, 7 },
		{ "(a)\\1", "ab aa", 0, 3, 5 },
		{ "(?s)a.c", "a\nc abc", 0, 4, 7 },
		{ "(?x) a b # c", "a b ab", 0, 4, 6 },
		{ "[[:space:]]x", "\nx x", 0, 2, 4 },
		{ "[]a]", "b]", 0, 1, 2 },
		{ "[^]a]", "]b", 0, 1, 2 },
		{ "[\\n]", "a\nb", 0, -1, -1 },
		{ "func\\(", "func (x) func(x)", 0, 9, 14 },
		{ "\\$\\{", "a ${x}", 0, 2, 4 },
		{ "colou?r", "a color", 0, 2, 7 },
		{ "[Ff]oo", "Foo", 0, 0, 3 },
		{ "\\x41", "A", 0, 0, 1 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].text);
		struct regex_span m = { 0, 0 };
		struct regex_run *run;
		struct regex *re = NULL;
		int rc;

		ck_assert_msg(regex_new(rows[i].pattern, rows[i].flags, &re, NULL) == 0, "%s",
		    rows[i].pattern);
		run = regex_run_new(re);
		ck_assert_ptr_nonnull(run);
		ck_assert_int_eq(regex_begin(run, rows[i].text, n), 0);
		rc = regex_find(run, rows[i].text, n, 0, &m);
		ck_assert_msg(rc == (rows[i].start >= 0), "%s on \"%s\": %d", rows[i].pattern,
		    rows[i].text, rc);
		if (rc > 0)
			ck_assert_msg((int)m.start == rows[i].start && (int)m.end == rows[i].end,
			    "%s on \"%s\": %zu-%zu", rows[i].pattern, rows[i].text, m.start, m.end);
		regex_run_free(run);
		regex_free(re);
	}
}
END_TEST

START_TEST(regex_new_of_a_bad_pattern_shows_where)
{
	static const struct {
		const char *pattern, *want;
	} rows[] = {
		{ "foo(", "missing closing parenthesis" },
		{ "a)", "unmatched closing parenthesis" },
		{ "[a", "missing terminating ]" },
		{ "*a", "quantifier does not follow" },
		{ "a\\", "\\ at end of pattern" },
		{ "foo\\nbar", "set multiline to true" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		struct regex *re = NULL;

		ck_assert_msg(regex_new(rows[i].pattern, 0, &re, &err) == -ATS_E_INVAL, "%s",
		    rows[i].pattern);
		ck_assert_msg(strstr(err.text, rows[i].want) != NULL, "%s: %s", rows[i].pattern,
		    err.text);
	}
}
END_TEST

START_TEST(regex_find_gives_up_on_an_exploding_pattern)
{
	static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n";
	struct regex_span m;
	struct regex *re = NULL;
	struct regex_run *run;

	ck_assert_int_eq(regex_new("^(a|aa|a.)+$", 0, &re, NULL), 0);
	run = regex_run_new(re);
	ck_assert_int_eq(regex_begin(run, text, strlen(text)), 0);
	ck_assert_int_ge(regex_find(run, text, strlen(text), 0, &m), 0);
	regex_run_free(run);
	regex_free(re);
	ck_assert_int_eq(regex_new("^((a+)+)+c$", 0, &re, NULL), 0);
	run = regex_run_new(re);
	ck_assert_int_eq(regex_begin(run, text, strlen(text)), 0);
	ck_assert_int_le(regex_find(run, text, strlen(text), 0, &m), 0);
	regex_run_free(run);
	regex_free(re);
	ck_assert_int_eq(regex_new("^(a+)+[^a]x?$|(.+)+;", 0, &re, NULL), 0);
	run = regex_run_new(re);
	ck_assert_int_eq(regex_begin(run, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabb", 39), 0);
	ck_assert_int_eq(regex_find(run, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabb", 39, 0, &m),
	    -ATS_E_TOOBIG);
	regex_run_free(run);
	regex_free(re);
}
END_TEST

START_TEST(regex_syntax_finds_the_words)
{
	static const struct {
		const char *pattern, *words;	/* with | between */
		bool exact;
	} rows[] = {
		{ "foo", "foo", true },
		{ "foo\\.bar", "foo.bar", true },
		{ "foo|bar", "foo|bar", true },
		{ "(foo|bar)baz", "foobaz|barbaz", true },
		{ "\\bfoo\\b", "foo", false },
		{ "^foo$", "foo", false },
		{ "\\w+_lock\\(", "_lock(", false },
		{ "ab+cd", "bcd", false },
		{ "[Ff]unction", "Function|function", true },
		{ "colou?rs", "colours|colors", true },
		{ "\\d+", "", false },
		{ "a*", "", false },
		{ "foo.*barbaz", "barbaz", false },
		{ "(a|.)foo", "foo", false },
		{ "(?>a|ab)c", "ac|abc", false },
		{ "foo(?=bar)", "foo", false },
		{ "x(?#c)foo", "", false },
		{ "struct\\s+file", "struct", false },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct regex_syntax s;
		char got[256] = "";
		size_t n = 0;

		ck_assert_int_eq(regex_syntax_read(&s, rows[i].pattern,
		    strlen(rows[i].pattern), false), 0);
		for (size_t k = 0; k < s.nwords; k++)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%.*s", k > 0 ? "|" : "",
			    (int)s.words[k].n, s.words[k].p);
		ck_assert_msg(strcmp(got, rows[i].words) == 0 && s.exact == rows[i].exact,
		    "%s: %s %d", rows[i].pattern, got, s.exact);
		regex_syntax_done(&s);
	}
}
END_TEST

/* ---- random ------------------------------------------------------------------------------ */
static unsigned seed;

static unsigned
pick(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static size_t
random_pattern(char *out, int depth)
{
	static const char *const atoms[] = { "a", "b", "ab", "c", ".", "\\s", "\\w", "\\W", "\\d",
		"\\D", "\\S", "[ab]", "[^a]", "[^ab]", "[a-c]", "[\\s;]", "[\\W_]", "\\b", "^", "$",
		"foo", "bar", ";", "\\.", "(?<!a)", "(?<=b)", "(?!a)", "(?=b)", " ", "_", "[^\\w]",
		"\\A", "\\z", "(?i)", "[[:punct:]]", "\\Bo", "1" };
	static const char *const quantifiers[] = { "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}",
		"{2,}", "?+", "*+" };
	unsigned parts = 1 + pick(4);
	size_t n = 0;

	for (unsigned i = 0; i < parts; i++) {
		const char *atom = atoms[pick(ATS_ARRAY_LEN(atoms))];

		if (depth < 2 && pick(4) == 0) {
			n += (size_t)sprintf(out + n, "%s", pick(2) == 0 ? "(" : pick(4) == 0 ?
			    "(?>" : "(?:");
			n += random_pattern(out + n, depth + 1);
			if (pick(2) == 0) {
				out[n++] = '|';
				n += random_pattern(out + n, depth + 1);
			}
			out[n++] = ')';
			out[n] = '\0';
			atom = "";
		}
		n += (size_t)sprintf(out + n, "%s", atom);
		if (pick(3) == 0 && strchr("^$", atom[0]) == NULL && strncmp(atom, "(?", 2) != 0)
			n += (size_t)sprintf(out + n, "%s",
			    quantifiers[pick(ATS_ARRAY_LEN(quantifiers))]);
	}
	return n;
}

static void
compare_one(unsigned number)
{
	static const char *const pieces[] = { "a", "b", "ab", "c", "foo", "bar", "\n", "\r\n", " ",
		";", "_", "1", "A", "B", ".", "\t", "\n", "\r", "fo", "oo" };
	struct regex_span want[64], got[64];
	char pattern[2048], text[400] = "";
	int a, b;
	bool fold;

	seed = number * 2654435761u + 7;
	random_pattern(pattern, 0);
	for (unsigned i = 0; i < 60; i++)
		strcat(text, pieces[pick(ATS_ARRAY_LEN(pieces))]);
	fold = pick(4) == 0;
	a = reference_lines(pattern, fold ? PCRE2_CASELESS : 0, text, strlen(text), want, 64);
	b = regex_lines(pattern, fold ? REGEX_IGNORE_CASE : 0, text, strlen(text), got, 64);
	if (a < 0 || b == -1)
		return;
	ck_assert_msg(a == b, "%u: \"%s\" on \"%s\": %d lines, not %d", number, pattern, text, b,
	    a);
	for (int i = 0; i < a; i++)
		ck_assert_msg(want[i].start == got[i].start && want[i].end == got[i].end,
		    "%u: \"%s\" on \"%s\": match %d is %zu-%zu, not %zu-%zu", number, pattern, text,
		    i, got[i].start, got[i].end, want[i].start, want[i].end);
}

START_TEST(regex_of_random_patterns_agrees_with_pcre2)
{
	const char *rounds = getenv("ATS_TEST_ROUNDS");
	unsigned n = rounds != NULL ? (unsigned)atoi(rounds) : 3000;

	for (unsigned i = 0; i < n; i++)
		compare_one(i);
}
END_TEST

START_TEST(literal_find_agrees_with_a_plain_scan)
{
	static char text[600];

	for (unsigned round = 0; round < 3000; round++) {
		struct ats_slice words[8];
		char store[8][12];
		size_t nwords, len = 0, from, n;
		const char *want = NULL, *got;
		struct literal *l;
		bool fold;

		seed = round + 99;
		nwords = pick(3) == 0 ? 1 : 1 + pick(8);
		fold = pick(2) == 0;
		for (size_t i = 0; i < nwords; i++) {
			words[i].n = 1 + pick(5);
			words[i].p = store[i];
			for (size_t k = 0; k < words[i].n; k++)
				store[i][k] = (char)("abAB"[pick(4)]);
		}
		n = pick(sizeof(text));
		for (size_t i = 0; i < n; i++)
			text[i] = "abcABC\n;dddddddddddd"[pick(20)];
		from = n > 0 ? pick((unsigned)n) : 0;
		for (size_t at = from; at < n && want == NULL; at++)
			for (size_t i = 0; i < nwords && want == NULL; i++)
				if (words[i].n <= n - at &&
				    (fold ? strncasecmp(text + at, words[i].p, words[i].n)
					  : strncmp(text + at, words[i].p, words[i].n)) ==
					0)
					want = text + at;
		l = literal_new(words, nwords, fold);
		ck_assert_ptr_nonnull(l);
		got = literal_find(l, text + from, text + n, &len);
		ck_assert_msg(got == want, "round %u: at %td, not %td", round,
		    got != NULL ? got - text : -1, want != NULL ? want - text : -1);
		literal_free(l);
	}
}
END_TEST

ATS_UNIT_MAIN("regex", regex_find_gives_the_span, regex_new_of_a_bad_pattern_shows_where,
    regex_find_gives_up_on_an_exploding_pattern, regex_syntax_finds_the_words,
    regex_of_random_patterns_agrees_with_pcre2, literal_find_agrees_with_a_plain_scan)
