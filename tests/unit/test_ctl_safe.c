/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile texts for a person (brain/ctl/safe.c), and a whole approval as it is shown. */
#include "brain/ctl/approval.h"
#include "brain/ctl/safe.h"

#include "tests/lib/unit.h"

static void
check_text(const char *in, size_t n, const char *want)
{
	struct ats_buf b;

	ats_buf_init(&b, 4096);
	ck_assert_int_eq(safe_text(&b, in, n), 0);
	ck_assert_str_eq(b.data, want);
	ats_buf_done(&b);
}

static void
check_json(const char *in, const char *want)
{
	struct ats_buf b;

	ats_buf_init(&b, 4096);
	ck_assert_int_eq(ats_json_scan(in, strlen(in), NULL), 0);
	ck_assert_int_eq(safe_json(&b, (struct ats_slice){ in, strlen(in) }), 0);
	ck_assert_str_eq(b.data, want);
	ck_assert_int_eq(ats_json_scan(b.data, b.len, NULL), 0);
	ats_buf_done(&b);
}

START_TEST(plain_text_stays)
{
	check_text("ls -l /tmp", 10, "ls -l /tmp");
	check_text("gr\xc3\xbcn \xe6\x9d\xb1 \xf0\x9f\x98\x80", 14,
	    "gr\xc3\xbcn \xe6\x9d\xb1 \xf0\x9f\x98\x80");
	check_text("", 0, "");
}
END_TEST

START_TEST(what_is_not_seen_becomes_an_escape)
{
	check_text("\x1b[2J\r\n\t\x7f", 8, "\\u001b[2J\\u000d\\n\\t\\u007f");
	check_text("\0x", 2, "\\u0000x");
	check_text("\xc2\x9b" "1m\xc2\xa0\xc2\xad", 8, "\\u009b1m\\u00a0\\u00ad");
	check_text("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf", 12,
	    "\\u202e\\u2066\\u200b\\ufeff");
	check_text("e\xcc\x81\xe3\x85\xa4\xe3\x80\x80", 9, "e\\u0301\\u3164\\u3000");
	check_text("\xf3\xa0\x81\x81\xef\xb8\x8f", 7, "\\udb40\\udc41\\ufe0f");
}
END_TEST

START_TEST(an_escape_cannot_be_forged)
{
	check_text("\\u202e", 6, "\\\\u202e");
	check_text("\xff\xc0\xaf\xed\xa0\x80", 6, "\\xff\\xc0\\xaf\\xed\\xa0\\x80");
	check_text("\xe2\x80", 2, "\\xe2\\x80");
}
END_TEST

START_TEST(each_range_has_both_its_ends)
{
	static const uint32_t in[] = { 0, 0x1f, 0x7f, 0xa0, 0x200b, 0x200f, 0x202a, 0x202e, 0x2060,
		0x2066, 0x2069, 0xfeff, 0xe0001, 0xe0100, 0x10ffff };
	static const uint32_t not_in[] = { 0x20, 0x7e, 0xa1, 0xe4, 0x2010, 0x2030, 0x2070, 0x3001,
		0x4e00, 0xfdff, 0x1f600 };

	for (size_t i = 0; i < ATS_ARRAY_LEN(in); i++)
		ck_assert_msg(safe_is_hidden(in[i]), "%x is shown", in[i]);
	for (size_t i = 0; i < ATS_ARRAY_LEN(not_in); i++)
		ck_assert_msg(!safe_is_hidden(not_in[i]), "%x is hidden", not_in[i]);
}
END_TEST

START_TEST(json_is_the_same_value_on_lines_of_its_own)
{
	check_json("{}", "{}");
	check_json("[ ]", "[]");
	check_json("{\"a\":[1,-0.5e3,true,null,{}],\"b\":{\"c\":\"d\"}}",
	    "{\n  \"a\": [\n    1,\n    -0.5e3,\n    true,\n    null,\n    {}\n  ],\n"
	    "  \"b\": {\n    \"c\": \"d\"\n  }\n}");
	check_json("{\"\\u202e\\\"\":\"a\\nb\\\\n\\u001b\\ud83d\\ude00\\u0000\\/\"}",
	    "{\n  \"\\u202e\\\"\": \"a\\nb\\\\n\\u001b\xf0\x9f\x98\x80\\u0000/\"\n}");
	check_json("\"\\udb40\\udc41\xe2\x80\xae\"", "\"\\udb40\\udc41\\u202e\"");
}
END_TEST

START_TEST(what_does_not_fit_is_an_error_not_a_cut)
{
	static const char json[] = "{\"a\":\"0123456789\"}";
	struct ats_buf b;

	ats_buf_init(&b, 16);
	ck_assert_int_eq(safe_json(&b, (struct ats_slice){ json, sizeof(json) - 1 }),
	    -ATS_E_TOOBIG);
	ats_buf_done(&b);
}
END_TEST

START_TEST(an_approval_names_all_that_is_decided_on)
{
	struct approval a;
	struct ats_buf b;

	approval_init(&a);
	(void)strcpy(a.id, "a-0123456789ab");
	(void)strcpy(a.tool, "create\x1b[2J");
	(void)strcpy(a.session, "s-0123456789ab");
	(void)strcpy(a.workspace, "/ws\n/x");
	ck_assert_int_eq(ats_buf_add_str(&a.args, "{\"q\":\"\xe2\x80\xae\"}"), 0);
	ats_buf_init(&b, 4096);
	ck_assert_int_eq(approval_show(&b, &a), 0);
	ck_assert_ptr_nonnull(strstr(b.data, "gateway    none: it runs in the sandbox\n"));
	ck_assert_ptr_nonnull(strstr(b.data, "tool       create\\u001b[2J\n"));
	ck_assert_ptr_nonnull(strstr(b.data, "workspace  /ws\\n/x\n"));
	ck_assert_ptr_nonnull(strstr(b.data, "arguments  11 bytes\n{\n  \"q\": \"\\u202e\"\n}\n"));
	ats_buf_reset(&b);
	(void)strcpy(a.gateway, "github");
	ck_assert_int_eq(approval_show(&b, &a), 0);
	ck_assert_ptr_nonnull(strstr(b.data, "gateway    github\n"));
	ats_buf_done(&b);
	approval_done(&a);
}
END_TEST

ATS_UNIT_MAIN("ctl_safe", plain_text_stays, what_is_not_seen_becomes_an_escape,
    an_escape_cannot_be_forged, each_range_has_both_its_ends,
    json_is_the_same_value_on_lines_of_its_own, what_does_not_fit_is_an_error_not_a_cut,
    an_approval_names_all_that_is_decided_on)
