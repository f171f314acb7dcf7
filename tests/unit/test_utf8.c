/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json.h"

#include <string.h>

#include "tests/lib/unit.h"

#define FFFD "\xef\xbf\xbd"

START_TEST(seq_follows_rfc_3629)
{
	static const struct {
		const char *s;
		unsigned want;
	} t[] = {
		{ "a", 1 }, { "\x7f", 1 }, { "\x80", 0 }, { "\xbf", 0 }, { "\xc0\x80", 0 },
		{ "\xc1\xbf", 0 }, { "\xc2\x80", 2 }, { "\xc2", 0 }, { "\xc2\x41", 0 },
		{ "\xdf\xbf", 2 }, { "\xe0\x9f\xbf", 0 }, { "\xe0\xa0\x80", 3 },
		{ "\xed\x9f\xbf", 3 }, { "\xed\xa0\x80", 0 }, { "\xed\xbf\xbf", 0 },
		{ "\xee\x80\x80", 3 }, { "\xef\xbf\xbf", 3 }, { "\xe2\x82", 0 },
		{ "\xf0\x8f\xbf\xbf", 0 }, { "\xf0\x90\x80\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 }, { "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 }, { "\xff", 0 }, { "\xf0\x9f\x98", 0 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++)
		ck_assert_msg(ats_utf8_seq(t[i].s, strlen(t[i].s)) == t[i].want, "row %zu", i);
	ck_assert_uint_eq(ats_utf8_seq("a", 0), 0);
	ck_assert_uint_eq(ats_utf8_seq("\0", 1), 1);
}
END_TEST

START_TEST(cut_tail_counts_only_what_may_become_valid)
{
	static const struct {
		const char *s;
		size_t want;
	} t[] = {
		{ "", 0 }, { "abc", 0 }, { "a\xc3", 1 }, { "a\xe2\x82", 2 },
		{ "a\xf0\x9f\x98", 3 }, { "\xf0\x9f\x98\x80", 0 }, { "\x80\x80\x80", 0 },
		{ "a\xff", 0 }, { "\xe0\x80", 0 }, { "\xed\xa0", 0 }, { "\xf4\x90", 0 },
		{ "\xc3\xa9", 0 }, { "\xe2\x82\xac\xe2", 1 }, { "\xc0", 0 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++)
		ck_assert_msg(ats_utf8_cut_tail(t[i].s, strlen(t[i].s)) == t[i].want,
		    "row %zu", i);
}
END_TEST

START_TEST(repair_replaces_maximal_subparts)
{
	static const struct {
		const char *in, *want;
	} t[] = {
		{ "", "" }, { "plain ascii text of many bytes", "plain ascii text of many bytes" },
		{ "\xff", FFFD }, { "\xff\xfe", FFFD FFFD }, { "a\x80z", "a" FFFD "z" },
		{ "\xe2\x82", FFFD }, { "\xe2\x82z", FFFD "z" },
		{ "\xf0\x9f\x98\xe2\x82\xac", FFFD "\xe2\x82\xac" },
		{ "\xed\xa0\x80", FFFD FFFD FFFD }, { "\xc0\xaf", FFFD FFFD },
		{ "\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD }, { "\xc3\xa9\xc3", "\xc3\xa9" FFFD },
		{ "\xf0\x80\x80\x41", FFFD FFFD FFFD "A" },
		{ "0123456\xc3\xa9""89abcdef\xc3", "0123456\xc3\xa9""89abcdef" FFFD },
	};
	struct ats_buf b;

	ats_buf_init(&b, 1000);
	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ats_buf_reset(&b);
		ck_assert_int_eq(ats_utf8_repair(&b, t[i].in, strlen(t[i].in)), 0);
		ck_assert_msg(strcmp(b.data, t[i].want) == 0, "row %zu: %s", i, b.data);
		ck_assert_msg(ats_utf8_valid(t[i].in, strlen(t[i].in)) ==
		    (strcmp(t[i].in, t[i].want) == 0), "row %zu", i);
	}
	ats_buf_done(&b);
}
END_TEST

START_TEST(repair_over_the_cap_adds_nothing)
{
	struct ats_buf b;

	ats_buf_init(&b, 8);
	ck_assert_int_eq(ats_buf_add_str(&b, "abc"), 0);
	ck_assert_int_eq(ats_utf8_repair(&b, "de\xff\xff", 4), -ATS_E_TOOBIG);
	ck_assert_str_eq(b.data, "abc");
	ats_buf_done(&b);
}
END_TEST

START_TEST(show_leaves_no_control_character)
{
	const char s[] = "sl\033[31m\n\x7f\xc2\x9b\xc3\xa4\xff.";
	struct ats_buf b;

	ats_buf_init(&b, 64);
	ck_assert_int_eq(ats_utf8_show(&b, s, sizeof(s) - 1), 0);
	ck_assert_str_eq(b.data, "sl\\x1b[31m\\x0a\\x7f\\x9b\xc3\xa4\xef\xbf\xbd.");
	ats_buf_truncate(&b, 0);
	ck_assert_int_eq(ats_buf_add(&b, "0123456789012345678901234567890123456789", 40), 0);
	ck_assert_int_eq(ats_buf_add(&b, "01234567890123456789", 20), 0);
	ck_assert_int_eq(ats_utf8_show(&b, "ab\n", 3), -ATS_E_TOOBIG);
	ck_assert_uint_eq(b.len, 60);
	ats_buf_done(&b);
}
END_TEST

ATS_UNIT_MAIN("utf8", seq_follows_rfc_3629, cut_tail_counts_only_what_may_become_valid,
    repair_replaces_maximal_subparts, repair_over_the_cap_adds_nothing,
    show_leaves_no_control_character)
