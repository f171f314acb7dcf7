/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/fs/match_edit.c, alone and through Edit: which place an old text finds, and that
 * every other byte stays. */
#include "hands/fs/match_edit.h"
#include "tests/lib/tool_env.h"

#define BOM "\xef\xbb\xbf"
#define LQ "\xe2\x80\x9c"
#define RQ "\xe2\x80\x9d"
#define AP "\xe2\x80\x99"

START_TEST(edit_changes_only_what_it_should)
{
	static const struct {
		const char *file, *old, *new_text, *want;
		int code;
		bool all;
	} rows[] = {
		/* exact */
		{ "one two", "two", "2", "one 2", 0, false },
		{ "one\ntwo", "two", "2", "one\n2", 0, false },
		{ "a a a", "a", "b", "b b b", 0, true },
		{ "a a", "a", "b", NULL, ATS_E_AMBIGUOUS, false },
		{ "aaa", "aa", "b", NULL, ATS_E_AMBIGUOUS, false },
		{ "aaa", "aa", "b", "ba", 0, true },
		{ "abc", "x", "y", NULL, ATS_E_NO_MATCH, false },
		{ "abc", "b", "b", NULL, ATS_E_INVAL, false },
		{ "abc", "x", "x", NULL, ATS_E_INVAL, false },
		{ "abc", "b", "", "ac", 0, false },
		{ "abc", "", "x", NULL, ATS_E_EXISTS, false },
		/* new text is literal */
		{ "P", "P", "'^[a-z]$'", "'^[a-z]$'", 0, false },
		{ "aPb", "P", "$$ $& $1 \\1 $' $`", "a$$ $& $1 \\1 $' $`b", 0, false },
		{ "aP\n", "P", "$&\r\n\\0$1", "a$&\r\n\\0$1\n", 0, false },
		/* CRLF */
		{ "one\r\ntwo\r\n", "one\ntwo", "1\n2", "1\r\n2\r\n", 0, false },
		{ "one\r\ntwo", "one\r\ntwo", "1\r\n2", "1\r\n2", 0, false },
		{ "one\r\ntwo\r\n", "one\r\ntwo", "1\n2", "1\r\n2\r\n", 0, false },
		{ "one\r\ntwo\r\n", "two", "2\n3", "one\r\n2\r\n3\r\n", 0, false },
		{ "one\r\ntwo", "two", "2\n3", "one\r\n2\r\n3", 0, false },
		{ "a\r\nb\nc\r\nd\n", "b", "B", "a\r\nB\nc\r\nd\n", 0, false },
		{ "a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\nd\n", 0,
		    false },
		{ "a\r\nb\nc\r\nd\n", "b\nc\nd", "b\nX\nc\nd", "a\r\nb\nX\nc\r\nd\n", 0,
		    false },
		{ "one\ntwo\n", "one\r\ntwo", "1\r\n2", "1\n2\n", 0, false },
		{ "b\r\nc\n", "b\r\n", "b\n", "b\nc\n", 0, false },
		{ "b\nc\n", "b\n", "b\r\n", "b\r\nc\n", 0, false },
		{ "a\nb\n", "b", "x\r\ny", "a\nx\r\ny\n", 0, false },
		{ "a\rb\r", "a\rb", "c", "c\r", 0, false },
		/* BOM */
		{ BOM "first\nx\n", "first", "FIRST", BOM "FIRST\nx\n", 0, false },
		{ BOM "first\nx\n", BOM "first", BOM "FIRST", BOM "FIRST\nx\n", 0,
		    false },
		{ BOM "first\nx\n", BOM "first", "FIRST", BOM "FIRST\nx\n", 0, false },
		/* typographic quotes */
		{ "say " LQ "hi" RQ " now", "say \"hi\" now", "say \"bye\" now",
		    "say " LQ "bye" RQ " now", 0, false },
		{ "it" AP "s", "it's", "it was", "it was", 0, false },
		{ "say \"hi\"", "say " LQ "hi" RQ, "say nothing", "say nothing", 0,
		    false },
		{ "say " LQ "hi" RQ, "\"hi\"", LQ "hi" RQ, NULL, ATS_E_INVAL, false },
		{ LQ "a" RQ "\r\nb", "\"a\"\nb", "\"a\"\nB", LQ "a" RQ "\r\nB", 0,
		    false },
		/* not UTF-8 */
		{ "x\x99y\nabc\n", "abc", "ABC", "x\x99y\nABC\n", 0, false },
		{ "x\x99y\nabc\n", "abc", "\xe6\x97\xa5", NULL, ATS_E_UTF8, false },
		{ "\x83"
		  "A\x83"
		  "B\n",
		    "A", "x", NULL, ATS_E_UTF8, false },
		{ "a\0b", "a", "x", "x", 0, false }, /* a C string: "a" */
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_env f;

		fake_start(&f);
		fake_put_str(&f, "ws/f", rows[i].file);
		fake_read(&f, "f", 0, 0);
		fake_edit(&f, "f", rows[i].old, rows[i].new_text, rows[i].all);
		ck_assert_msg(f.res.code == rows[i].code, "row %zu: %s", i, f.res.text.data);
		fake_expect_str(&f, "ws/f", rows[i].want != NULL ? rows[i].want : rows[i].file);
		fake_expect_entries(&f, "ws", 1);
		fake_stop(&f);
	}
}
END_TEST

/* The exact place counts, though a lenient match would find two. */
START_TEST(edit_exact_match_goes_first)
{
	static const struct { const char *file, *old, *new_text, *want; } rows_of[] = {
		{ "a\r\nb\na\nb\n", "a\nb", "X", "a\r\nb\nX\n" },
		{ LQ "q" RQ " \"q\"", "\"q\"", "X", LQ "q" RQ " X" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows_of); i++) {
		struct fake_env f;

		fake_start(&f);
		fake_put_str(&f, "ws/f", rows_of[i].file);
		fake_read(&f, "f", 0, 0);
		fake_edit(&f, "f", rows_of[i].old, rows_of[i].new_text, false);
		fake_expect_code(&f, 0);
		fake_expect_str(&f, "ws/f", rows_of[i].want);
		ck_assert_ptr_null(strstr(f.res.text.data, "leniently"));
		fake_stop(&f);
	}
}
END_TEST

/* LF files get LF, but CR CR LF made CR LF would say something else: it stays. */
START_TEST(edit_keeps_a_return_before_a_line_end)
{
	static const struct { const char *new_text, *want; } rows_of[] = {
		{ "Y\r\nZ\r\n", "a\nY\nZ\nb" },
		{ "Y\r\r\nZ\r\n", "a\nY\r\r\nZ\nb" },
		{ "Y\r\r\n", "a\nY\r\r\nb" },
		{ "\r\r\n", "a\n\r\r\nb" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows_of); i++) {
		struct fake_env f;

		fake_start(&f);
		fake_put_str(&f, "ws/f", "a\nX\nb");
		fake_read(&f, "f", 0, 0);
		fake_edit(&f, "f", "X\r\n", rows_of[i].new_text, false);
		fake_expect_code(&f, 0);
		fake_expect_str(&f, "ws/f", rows_of[i].want);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(edit_no_match_names_the_nearest_place)
{
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "int main(void)\n{\n\treturn compute(1, 2);\n}\n");
	fake_read(&f, "f", 0, 0);
	ck_assert_ptr_nonnull(strstr(fake_edit(&f, "f", "    return compute(1,2);", "x", false),
	    "line 3"));
	/* of two that are as near, the first */
	fake_put_str(&f, "ws/f", "\tcall(one);\n\tother\n\tcall(one);\n");
	fake_read(&f, "f", 0, 0);
	ck_assert_ptr_nonnull(strstr(fake_edit(&f, "f", "\tcall(two);", "x", false), "line 1:"));
	fake_stop(&f);
}
END_TEST

static unsigned seed = 1;

static unsigned
rnd(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static void
without_cr(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++)
		if (s[0] != '\r' || s[1] != '\n')
			*to++ = *s;
	*to = '\0';
}

/* Random files of mixed line ends; a unique line is edited: all other bytes stay. */
START_TEST(edit_random_mixed_line_ends_keep_every_other_byte)
{
	struct fake_env f;

	fake_start(&f);
	printf("# seed %u\n", seed);
	for (int round = 0; round < 300; round++) {
		char file[4096] = "", want[4096] = "", old[256] = "", with[256] = "";
		unsigned lines = 1 + rnd(12), from = rnd(lines), to = from + rnd(lines - from);
		size_t head = 0, tail, edit_end = 0, n;
		bool crlf_old = rnd(2);
		char *got;

		if (rnd(4) == 0) {
			strcat(file, BOM);
			strcat(want, BOM);
		}
		for (unsigned i = 0; i < lines; i++) {
			const char *end = i + 1 < lines || rnd(2) ? (rnd(2) ? "\r\n" : "\n") : "";
			bool inside = i >= from && i <= to;
			char line[32];

			if (i == from)
				head = strlen(file);

			sprintf(line, "line%u %u\xc3\xa9", i, rnd(1000));
			strcat(file, line);
			if (i == to)
				edit_end = strlen(file);
			strcat(file, end);
			strcat(want, inside ? "new " : "");
			strcat(want, line);
			strcat(want, end);
			if (inside) {
				strcat(old, line);
				strcat(with, "new ");
				strcat(with, line);
				if (i < to) {
					strcat(old, crlf_old ? "\r\n" : "\n");
					strcat(with, crlf_old ? "\r\n" : "\n");
				}
			}
		}
		tail = strlen(file) - edit_end;
		fake_put_str(&f, "ws/f", file);
		fake_read(&f, "f", 0, 0);
		fake_edit(&f, "f", old, with, false);
		fake_expect_code(&f, 0);
		ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, fake_path(&f, "ws/f"), 1u << 16, &got, &n,
		    NULL), 0);
		ck_assert_uint_ge(n, head + tail);
		ck_assert_msg(memcmp(got, file, head) == 0 && memcmp(got + n - tail,
		    file + strlen(file) - tail, tail) == 0, "round %d", round);
		if (from == to)
			ck_assert_str_eq(got, want);
		without_cr(got);
		without_cr(want);
		ck_assert_str_eq(got, want);
		free(got);
	}
	fake_stop(&f);
}
END_TEST

/* The matcher against a slow model: exact, all places, random small alphabets. */
START_TEST(match_find_random_agrees_with_a_model)
{
	for (int round = 0; round < 5000; round++) {
		char text[40], old[4];
		unsigned n = rnd(39), m = 1 + rnd(3), count = 0;
		struct match_set set;

		for (unsigned i = 0; i < n; i++)
			text[i] = (char)('a' + rnd(2));
		for (unsigned i = 0; i < m; i++)
			old[i] = (char)('a' + rnd(2));
		ck_assert_int_eq(match_find(text, n, old, m, true, &set), 0);
		for (unsigned i = 0; i + m <= n; )
			if (memcmp(text + i, old, m) == 0) {
				ck_assert_uint_lt(count, set.n);
				ck_assert_uint_eq(set.v[count].start, i);
				ck_assert_uint_eq(set.v[count++].end, i + m);
				i += m;
			} else
				i++;
		ck_assert_uint_eq(count, set.n);
		match_set_done(&set);
	}
}
END_TEST

/* Lenient matching: bytes outside the places are the same, whatever the ends are like. */
START_TEST(match_apply_random_keeps_bytes_outside)
{
	static const char *const bits[] = { "a", "b", "\n", "\r\n", "\r", "'", AP, LQ,
		"\"", "\xc3\xa9" };

	for (int round = 0; round < 5000; round++) {
		char text[256] = "", old[32] = "";
		struct match_set set;
		struct match_edit *edits;
		struct ats_buf out;
		size_t at = 0, oat = 0;

		for (unsigned i = rnd(30); i > 0; i--)
			strcat(text, bits[rnd(ATS_ARRAY_LEN(bits))]);
		for (unsigned i = 1 + rnd(3); i > 0; i--)
			strcat(old, bits[rnd(ATS_ARRAY_LEN(bits))]);
		ats_buf_init(&out, 65536);
		ck_assert_int_eq(match_find(text, strlen(text), old, strlen(old), true, &set), 0);
		ck_assert_int_eq(match_apply(text, strlen(text), &set, "<N>", 3, &out, &edits), 0);
		for (size_t i = 0; i < set.n; i++) {
			size_t gap = set.v[i].start - at;

			ck_assert_uint_ge(set.v[i].start, at);
			ck_assert_mem_eq(out.data + oat, text + at, gap);
			oat += gap;
			ck_assert_mem_eq(out.data + oat, "<N>", 3);
			oat += 3;
			at = set.v[i].end;
		}
		ck_assert_str_eq(out.data + oat, text + at);
		free(edits);
		match_set_done(&set);
		ats_buf_done(&out);
	}
}
END_TEST

ATS_UNIT_MAIN("match_edit", edit_changes_only_what_it_should, edit_exact_match_goes_first,
    edit_keeps_a_return_before_a_line_end, edit_no_match_names_the_nearest_place,
    edit_random_mixed_line_ends_keep_every_other_byte, match_find_random_agrees_with_a_model,
    match_apply_random_keeps_bytes_outside)
