/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tests/lib/unit.h"

static int
scan(const char *s)
{
	return ats_json_scan(s, strlen(s), NULL);
}

START_TEST(scan_accepts_strict_json)
{
	static const char *const good[] = { "0", "-0", " 1 ", "1.5", "1e9", "1E+9", "-1.0e-1",
		"true", "false", "null", "\"\"", "[]", "{}", "[ ]", "{ }", "[1,2,[3]]",
		"{\"a\":1,\"b\":{\"a\":1}}", "[{\"a\":1},{\"a\":1}]", "\"\\u0000\"",
		"\"\\ud83d\\ude00\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\x7f\"",
		"\"\xf0\x9f\x98\x80\"", "\t\r\n[1]\n", "{\"\":0}", "{\"a\":1,\"A\":2}",
		"123456789012345678901234567890", "\"01234567\\\"01234567\"" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(good); i++)
		ck_assert_msg(scan(good[i]) == 0, "%s", good[i]);
	ck_assert_int_eq(ats_json_scan("[1]x", 3, NULL), 0);
}
END_TEST

START_TEST(scan_refuses_anything_else)
{
	static const char *const wrong[] = { "", " ", "nul", "nulll", "True", "NaN", "Infinity",
		"-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x1", "1 2", "'a'", "\"", "\"a",
		"\"\\", "\"\\\"", "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"",
		"\"\\ud800x\"", "\"\\ud800\\n\"", "\"\\ud800\\ud800\"", "\"\\udc00\"",
		"\"\\ud83d\\u0041\"", "\"\n\"", "\"\x01\"", "\"\x1f\"", "[", "]", "[1", "[1,",
		"[1,]", "[,1]", "[1 2]", "[1}", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
		"{a:1}", "{1:1}", "{\"a\":1 \"b\":2}", "{\"a\":1]", "{,}", "[]]", "{}{}",
		"/**/1", "1//", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}",
		"{\"\\u0061\":1,\"a\":2}", "{\"\":1,\"\":2}", "{\"\\/\":1,\"/\":2}",
		"{\"a\":{\"b\":1,\"c\":2,\"b\":3}}", "[{\"x\":[{\"y\":1}],\"x\":1}]",
		"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", "\xef\xbb\xbf{}", "{\"a\" 1}" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(wrong); i++)
		ck_assert_msg(scan(wrong[i]) == -ATS_E_JSON, "%s", wrong[i]);
	ck_assert_int_eq(ats_json_scan("1\0", 2, NULL), -ATS_E_JSON);
	ck_assert_int_eq(ats_json_scan("\"\0\"", 3, NULL), -ATS_E_JSON);
}
END_TEST

START_TEST(scan_refuses_bad_utf8_and_says_where)
{
	static const char *const wrong[] = { "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
		"\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\"0123456789\xe2\x82\"",
		"{\"\xff\":1}" };
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(wrong); i++)
		ck_assert_msg(scan(wrong[i]) == -ATS_E_UTF8, "row %zu", i);
	ck_assert_int_eq(ats_json_scan("[\"abc\xff\"]", 8, &err), -ATS_E_UTF8);
	ck_assert_ptr_nonnull(strstr(err.text, "byte 5"));
	ck_assert_int_eq(ats_json_scan("[1,]", 4, &err), -ATS_E_JSON);
	ck_assert_ptr_nonnull(strstr(err.text, "byte 3"));
}
END_TEST

START_TEST(scan_caps_the_depth)
{
	char text[200];

	for (size_t d = ATS_JSON_DEPTH - 1; d <= ATS_JSON_DEPTH + 1; d++) {
		memset(text, '[', d);
		memset(text + d, ']', d);
		text[2 * d] = '\0';
		ck_assert_int_eq(scan(text), d <= ATS_JSON_DEPTH ? 0 : -ATS_E_JSON);
	}
	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(scan(text), -ATS_E_JSON);
}
END_TEST

/* An object of n members m0..; dup >= 0: the last one repeats that one, escaped. */
static void
many(struct ats_buf *b, int n, int dup)
{
	ck_assert_int_eq(ats_buf_add_char(b, '{'), 0);
	for (int i = 0; i < n; i++)
		ck_assert_int_eq(ats_buf_addf(b, "%s\"m%d\":%d", i > 0 ? "," : "", i, i), 0);
	if (dup >= 0)
		ck_assert_int_eq(ats_buf_addf(b, ",\"\\u006d%d\":0", dup), 0);
	ck_assert_int_eq(ats_buf_add_char(b, '}'), 0);
}

START_TEST(scan_finds_duplicates_among_any_number_of_members)
{
	struct ats_buf b;

	ats_buf_init(&b, 1 << 20);
	for (int n = 1; n <= ATS_JSON_MAX_KEYS + 1; n++) {
		ats_buf_reset(&b);
		many(&b, n, -1);
		ck_assert_int_eq(ats_json_scan(b.data, b.len, NULL),
		    n <= ATS_JSON_MAX_KEYS ? 0 : -ATS_E_JSON);
		for (int dup = 0; dup < n; dup += 1 + n / 3) {
			ats_buf_reset(&b);
			many(&b, n, dup);
			ck_assert_int_eq(ats_json_scan(b.data, b.len, NULL), -ATS_E_JSON);
		}
	}
	ats_buf_done(&b);
}
END_TEST

START_TEST(scan_keeps_names_of_nested_objects_apart)
{
	struct ats_buf b;

	ats_buf_init(&b, 1 << 20);
	/* 300 members, inside them an object with the same 300, then a duplicate outside */
	for (int dup = 0; dup < 2; dup++) {
		ats_buf_reset(&b);
		many(&b, 300, -1);
		ats_buf_truncate(&b, b.len - 1);
		ck_assert_int_eq(ats_buf_add_str(&b, ",\"in\":"), 0);
		many(&b, 300, -1);
		ck_assert_int_eq(ats_buf_addf(&b, ",\"%s\":1}", dup ? "m7" : "n7"), 0);
		ck_assert_int_eq(ats_json_scan(b.data, b.len, NULL), dup ? -ATS_E_JSON : 0);
	}
	ats_buf_done(&b);
}
END_TEST

/* So many open names, none of them in a large object. */
START_TEST(scan_finds_duplicates_in_deep_small_objects)
{
	struct ats_buf b;

	ats_buf_init(&b, 1 << 20);
	for (int dup = 0; dup < 2; dup++) {
		ats_buf_reset(&b);
		for (int d = 0; d < ATS_JSON_DEPTH; d++)
			ck_assert_int_eq(
			    ats_buf_add_str(&b, "{\"a\":1,\"b\":2,\"c\":3,\"in\":"), 0);
		ck_assert_int_eq(ats_buf_add_char(&b, '0'), 0);
		for (int d = 0; d < ATS_JSON_DEPTH; d++)
			ck_assert_int_eq(ats_buf_addf(&b, ",\"%s\":4}",
			    dup && d == ATS_JSON_DEPTH / 2 ? "b" : "d"), 0);
		ck_assert_int_eq(ats_json_scan(b.data, b.len, NULL), dup ? -ATS_E_JSON : 0);
	}
	ats_buf_done(&b);
}
END_TEST

START_TEST(scan_of_many_large_objects_is_quick)
{
	struct ats_buf b;
	uint64_t t0;

	ats_buf_init(&b, 16 << 20);
	ck_assert_int_eq(ats_buf_add_char(&b, '['), 0);
	for (int i = 0; i < 1000; i++) {
		many(&b, ATS_JSON_MAX_KEYS, -1);
		ck_assert_int_eq(ats_buf_add_char(&b, i < 999 ? ',' : ']'), 0);
	}
	t0 = ats_clock_ms();
	ck_assert_int_eq(ats_json_scan(b.data, b.len, NULL), 0);
	ck_assert_uint_lt(ats_clock_ms() - t0, 2000);
	ats_buf_done(&b);
}
END_TEST

START_TEST(iter_walks_members_and_elements)
{
	static const char text[] = " { \"a\" : [ 1 , \"]\" , {\"x\":\"}\"} ] , \"b\\n\":\"\\\\\","
				   "\"c\":true,\"d\":null,\"e\":-1.5e3 } ";
	static const struct {
		const char *key, *raw;
		enum ats_json_type type;
	} want[] = {
		{ "a", "[ 1 , \"]\" , {\"x\":\"}\"} ]", ATS_JSON_ARRAY },
		{ "b\\n", "\"\\\\\"", ATS_JSON_STRING }, { "c", "true", ATS_JSON_BOOL },
		{ "d", "null", ATS_JSON_NULL }, { "e", "-1.5e3", ATS_JSON_NUMBER },
	};
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v, e;
	size_t i = 0;

	ck_assert_int_eq(scan(text), 0);
	ats_json_iter_init(&it, (struct ats_slice){ text, sizeof(text) - 1 });
	for (; ats_json_next(&it, &key, &v); i++) {
		ck_assert_uint_lt(i, ATS_ARRAY_LEN(want));
		ck_assert(key.n == strlen(want[i].key) &&
		    memcmp(key.p, want[i].key, key.n) == 0);
		ck_assert(v.raw.n == strlen(want[i].raw) &&
		    memcmp(v.raw.p, want[i].raw, v.raw.n) == 0);
		ck_assert_int_eq(v.type, want[i].type);
	}
	ck_assert_uint_eq(i, ATS_ARRAY_LEN(want));
	ck_assert(!ats_json_next(&it, &key, &v));
	ck_assert(ats_json_get((struct ats_slice){ text, sizeof(text) - 1 }, "b\n", &v));
	ck_assert(!ats_json_get((struct ats_slice){ text, sizeof(text) - 1 }, "b", &v));
	ck_assert(ats_json_get((struct ats_slice){ text, sizeof(text) - 1 }, "a", &v));
	e.raw = (struct ats_slice){ "{\"a\":\"on\",\"b\":[\"on\"]}", 21 };
	ck_assert(ats_json_member_is(e.raw, "a", "on"));
	ck_assert(!ats_json_member_is(e.raw, "a", "one"));
	ck_assert(!ats_json_member_is(e.raw, "a", "o"));
	ck_assert(!ats_json_member_is(e.raw, "b", "on"));
	ck_assert(!ats_json_member_is(e.raw, "c", "on"));
	i = 0;
	for (ats_json_iter_init(&it, v.raw); ats_json_next(&it, &key, &e); i++)
		ck_assert_uint_eq(key.n, 0);
	ck_assert_uint_eq(i, 3);
	ats_json_iter_init(&it, (struct ats_slice){ "7", 1 });
	ck_assert(!ats_json_next(&it, &key, &v));
	ck_assert_int_eq(ats_json_value((struct ats_slice){ " ", 1 }).type, ATS_JSON_END);
}
END_TEST

START_TEST(key_is_compares_unescaped)
{
	static const struct {
		const char *key, *name;
		bool want;
	} t[] = {
		{ "abc", "abc", true }, { "abc", "ab", false }, { "ab", "abc", false },
		{ "\\u0061bc", "abc", true }, { "a\\u0000", "a", false },
		{ "\\u0000abc", "", false }, { "\\ud83d\\ude00", "\xf0\x9f\x98\x80", true },
		{ "\\ud83d\\ude00", "\xf0\x9f", false }, { "\\u00e9", "\xc3\xa9", true },
		{ "", "", true }, { "\\n", "\n", true },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++)
		ck_assert_msg(ats_json_key_is((struct ats_slice){ t[i].key, strlen(t[i].key) },
				  t[i].name) == t[i].want, "row %zu", i);
}
END_TEST

START_TEST(integers_out_of_range_or_form_are_refused)
{
	static const struct {
		const char *s;
		int rc_u, rc_i;
		uint64_t u;
		int64_t i;
	} t[] = {
		{ "0", 0, 0, 0, 0 }, { "18446744073709551615", 0, -1, UINT64_MAX, 0 },
		{ "18446744073709551616", -1, -1, 0, 0 }, { "99999999999999999999", -1, -1, 0, 0 },
		{ "9223372036854775807", 0, 0, INT64_MAX, INT64_MAX },
		{ "9223372036854775808", 0, -1, 9223372036854775808u, 0 },
		{ "-9223372036854775808", -1, 0, 0, INT64_MIN },
		{ "-9223372036854775809", -1, -1, 0, 0 }, { "-1", -1, 0, 0, -1 },
		{ "1.0", -1, -1, 0, 0 }, { "1e3", -1, -1, 0, 0 }, { "\"1\"", -1, -1, 0, 0 },
		{ "true", -1, -1, 0, 0 }, { "-0", -1, 0, 0, 0 },
	};

	for (size_t k = 0; k < ATS_ARRAY_LEN(t); k++) {
		struct ats_json_val v = ats_json_value((struct ats_slice){ t[k].s,
		    strlen(t[k].s) });
		uint64_t u = 77;
		int64_t i = 77;

		ck_assert_int_eq(ats_json_to_u64(&v, &u), t[k].rc_u < 0 ? -ATS_E_FIELD : 0);
		ck_assert_int_eq(ats_json_to_i64(&v, &i), t[k].rc_i < 0 ? -ATS_E_FIELD : 0);
		ck_assert_uint_eq(u, t[k].rc_u < 0 ? 77 : t[k].u);
		ck_assert_int_eq(i, t[k].rc_i < 0 ? 77 : t[k].i);
	}
}
END_TEST

START_TEST(strings_are_unescaped_and_nul_is_refused)
{
	static const struct {
		const char *s, *want;
	} t[] = {
		{ "\"\"", "" }, { "\"abc\"", "abc" }, { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
		    "\"\\/\b\f\n\r\t" }, { "\"\\u00e9\\u20ac\\ud83d\\ude00\"",
		    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" }, { "\"a\\u0000b\"", NULL },
		{ "17", NULL }, { "\"x\\u000ay\"", "x\ny" }, { "\"\\uD83D\\uDE00\"",
		    "\xf0\x9f\x98\x80" },
	};
	struct ats_buf b;

	ats_buf_init(&b, 16);
	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		struct ats_json_val v = ats_json_value((struct ats_slice){ t[i].s,
		    strlen(t[i].s) });
		char *s = ats_json_dup_str(&v);

		ats_buf_reset(&b);
		ck_assert_int_eq(ats_buf_add_char(&b, '>'), 0);
		ck_assert_int_eq(ats_json_to_str(&v, &b), t[i].want != NULL ? 0 : -ATS_E_FIELD);
		if (t[i].want != NULL) {
			ck_assert_str_eq(b.data + 1, t[i].want);
			ck_assert_str_eq(s, t[i].want);
		} else {
			ck_assert_str_eq(b.data, ">");
			ck_assert_ptr_null(s);
		}
		free(s);
	}
	ats_buf_done(&b);
}
END_TEST

START_TEST(writer_puts_commas_keys_and_escapes)
{
	struct ats_buf b;
	struct ats_json_w w;

	ats_buf_init(&b, 1000);
	ats_json_w_init(&w, &b);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "s", "a\"b\\c\n\x01\x7f\xc3\xa9");
	ats_json_w_strn(&w, "bad", "x\xff\xe2\x82y\0z", 7);
	ats_json_w_array(&w, "a");
	ats_json_w_u64(&w, NULL, UINT64_MAX);
	ats_json_w_i64(&w, NULL, INT64_MIN);
	ats_json_w_i64(&w, NULL, 5);
	ats_json_w_array(&w, NULL);
	ats_json_w_end(&w);
	ats_json_w_object(&w, NULL);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	ats_json_w_i64(&w, "neg", -1);
	ats_json_w_bool(&w, "t", true);
	ats_json_w_bool(&w, "f", false);
	ats_json_w_null(&w, "k\n");
	ats_json_w_raw(&w, "r", "[\n1\r]\n", 6);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	ck_assert_int_eq(w.rc, 0);
	ck_assert_str_eq(b.data,
	    "{\"s\":\"a\\\"b\\\\c\\n\\u0001\x7f\xc3\xa9\",\"bad\":\"x\xef\xbf\xbd\xef\xbf\xbdy"
	    "\\u0000z\",\"a\":[18446744073709551615,-9223372036854775808,5,[],{}],\"neg\":-1,"
	    "\"t\":true,\"f\":false,\"k\\n\":null,\"r\":[ 1 ] }");
	ck_assert_int_eq(ats_json_scan(b.data, b.len, NULL), 0);
	ats_buf_done(&b);
}
END_TEST

START_TEST(writer_keeps_its_first_error)
{
	struct ats_buf b;
	struct ats_json_w w;

	ats_buf_init(&b, 10);
	ats_json_w_init(&w, &b);
	ats_json_w_array(&w, NULL);
	ats_json_w_str(&w, NULL, "0123456789");
	ats_json_w_u64(&w, NULL, 1);
	ats_json_w_end(&w);
	ck_assert_int_eq(w.rc, -ATS_E_TOOBIG);
	ats_buf_reset(&b);
	ats_json_w_init(&w, &b);
	b.max = 1000;
	for (int i = 0; i < 100; i++)
		ats_json_w_array(&w, NULL);
	ck_assert_int_eq(w.rc, -ATS_E_TOOBIG);
	ats_buf_done(&b);
}
END_TEST

START_TEST(any_bytes_written_scan_and_read_back_as_their_repair)
{
	struct ats_buf b, fixed, back;
	struct ats_json_w w;
	unsigned r = 99;
	char s[64];

	ats_buf_init(&b, 4096);
	ats_buf_init(&fixed, 4096);
	ats_buf_init(&back, 4096);
	for (int round = 0; round < 20000; round++) {
		size_t n = (size_t)round % sizeof(s);

		for (size_t i = 0; i < n; i++) {
			r = r * 1103515245u + 12345u;
			/* mostly lead and continuation bytes, never NUL */
			s[i] = (char)((r >> 16 & 3) == 0 ? 1 + (r >> 20) % 127 :
							   0x80 + (r >> 20) % 128);
		}
		ats_buf_reset(&b);
		ats_buf_reset(&fixed);
		ats_buf_reset(&back);
		ats_json_w_init(&w, &b);
		ats_json_w_strn(&w, NULL, s, n);
		ck_assert_int_eq(w.rc, 0);
		ck_assert_int_eq(ats_json_scan(b.data, b.len, NULL), 0);
		ck_assert_int_eq(ats_utf8_repair(&fixed, s, n), 0);
		struct ats_json_val v = ats_json_value((struct ats_slice){ b.data, b.len });
		ck_assert_int_eq(ats_json_to_str(&v, &back), 0);
		ck_assert_str_eq(back.data, fixed.data);
	}
	ats_buf_done(&b);
	ats_buf_done(&fixed);
	ats_buf_done(&back);
}
END_TEST

/* Within a step of the fast loops, at its ends, and behind the last of them. */
START_TEST(a_special_character_is_seen_at_any_place)
{
	static const struct {
		char c;
		bool scans;
		const char *escaped;
	} all[] = { { '"', false, "\\\"" }, { '\\', false, "\\\\" }, { '\n', false, "\\n" },
		{ '\x1f', false, "\\u001f" }, { '\0', false, "\\u0000" }, { ' ', true, " " },
		{ '\x7f', true, "\x7f" }, { '\x80', false, "\xef\xbf\xbd" },
		{ '\xff', false, "\xef\xbf\xbd" } };
	struct ats_buf b;
	char plain[48], s[sizeof(plain)], want[80];

	ats_buf_init(&b, 4096);
	memset(plain, 'a', sizeof(plain));
	for (size_t k = 0; k < ATS_ARRAY_LEN(all); k++) {
		for (size_t n = 1; n <= 40; n++) {
			for (size_t at = 0; at < n; at++) {
				memcpy(s, plain, sizeof(s));
				s[0] = s[n + 1] = '"';
				s[1 + at] = all[k].c;
				ck_assert_int_eq(ats_json_scan(s, n + 2, NULL) == 0, all[k].scans);
				(void)snprintf(want, sizeof(want), "%.*s%s%.*s", (int)at, plain,
				    all[k].escaped, (int)(n - at - 1), plain);
				ats_buf_reset(&b);
				ck_assert_int_eq(ats_json_escape(&b, s + 1, n), 0);
				ck_assert_str_eq(b.data, want);
			}
		}
	}
	ats_buf_done(&b);
}
END_TEST

START_TEST(escapes_fit_up_to_the_cap_and_not_beyond)
{
	struct ats_buf b, exact;
	char s[1000];

	ats_buf_init(&b, 8 * sizeof(s));
	for (size_t n = 1; n <= sizeof(s); n += 37) {
		for (size_t i = 0; i < n; i++)
			s[i] = "abcdefghijklm\t\xc3\xa9nopqrstuvwxyz\x01"[i % 30];
		ats_buf_reset(&b);
		ck_assert_int_eq(ats_json_escape(&b, s, n), 0);
		ats_buf_init(&exact, b.len);
		ck_assert_int_eq(ats_json_escape(&exact, s, n), 0);
		ck_assert_str_eq(exact.data, b.data);
		ats_buf_done(&exact);
		ats_buf_init(&exact, b.len - 1);
		ck_assert_int_eq(ats_json_escape(&exact, s, n), -ATS_E_TOOBIG);
		ck_assert_uint_eq(exact.len, 0);
		ats_buf_done(&exact);
	}
	ats_buf_done(&b);
}
END_TEST

START_TEST(a_line_is_whole_or_not_there)
{
	struct ats_buf b;
	struct ats_json_w w;

	ats_buf_init(&b, 32);
	for (int i = 0; i < 2; i++) {
		ats_json_w_init(&w, &b);
		ats_json_w_object(&w, NULL);
		ats_json_w_str(&w, "k", "value");
		ats_json_w_end(&w);
		ck_assert_int_eq(ats_json_w_line(&w), 0);
	}
	ck_assert_str_eq(b.data, "{\"k\":\"value\"}\n{\"k\":\"value\"}\n");
	ats_buf_consume(&b, 14);
	/* 18 bytes are free: without room for its newline, and for less than that. */
	for (size_t n = 10; n < 20; n++) {
		ats_json_w_init(&w, &b);
		ats_json_w_object(&w, NULL);
		ats_json_w_strn(&w, "k", "valuevaluevaluevalue", n);
		ats_json_w_end(&w);
		ck_assert_int_eq(ats_json_w_line(&w), -ATS_E_TOOBIG);
		ck_assert_str_eq(b.data, "{\"k\":\"value\"}\n");
	}
	ats_buf_done(&b);
}
END_TEST

START_TEST(a_key_is_copied_unescaped)
{
	const char *text = "{\"a\\u0062\":1,\"\\u0000\":2}";
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	char *name;

	ats_json_iter_init(&it, (struct ats_slice){ text, strlen(text) });
	ck_assert(ats_json_next(&it, &key, &v));
	name = ats_json_dup_key(key);
	ck_assert_str_eq(name, "ab");
	free(name);
	ck_assert(ats_json_next(&it, &key, &v));
	ck_assert_ptr_null(ats_json_dup_key(key));
}
END_TEST

ATS_UNIT_MAIN("json", scan_accepts_strict_json, scan_refuses_anything_else,
    scan_refuses_bad_utf8_and_says_where, scan_caps_the_depth,
    scan_finds_duplicates_among_any_number_of_members,
    scan_keeps_names_of_nested_objects_apart,
    scan_finds_duplicates_in_deep_small_objects, scan_of_many_large_objects_is_quick,
    iter_walks_members_and_elements, key_is_compares_unescaped,
    integers_out_of_range_or_form_are_refused, strings_are_unescaped_and_nul_is_refused,
    writer_puts_commas_keys_and_escapes, writer_keeps_its_first_error,
    any_bytes_written_scan_and_read_back_as_their_repair,
    a_special_character_is_seen_at_any_place, escapes_fit_up_to_the_cap_and_not_beyond,
    a_line_is_whole_or_not_there, a_key_is_copied_unescaped)
