/* SPDX-License-Identifier: Apache-2.0
 *
 * Canonical JSON: the examples of RFC 8785, what it leaves to us, and what is refused. */
#include "brain/policy/canon.h"
#include "tests/lib/unit.h"

static struct ats_err err;

/* The canonical form, valid until the next call, or NULL. */
static const char *
canon(const char *text)
{
	static struct ats_buf out;

	ats_buf_done(&out);
	ats_buf_init(&out, 2 * POLICY_CANON_MAX);
	err = (struct ats_err){ 0 };
	if (policy_canon((struct ats_slice){ text, strlen(text) }, &out, &err) < 0) {
		ck_assert_uint_eq(out.len, 0);
		ck_assert_str_ne(err.text, "");
		return NULL;
	}
	return out.data;
}

static void
becomes(const char *text, const char *want)
{
	const char *got = canon(text);
	char *first;

	ck_assert_msg(got != NULL, "%s: %s", text, err.text);
	ck_assert_msg(strcmp(got, want) == 0, "%s: %s", text, got);
	first = strdup(got);
	got = canon(first);
	ck_assert_msg(got != NULL && strcmp(got, first) == 0, "%s: not the same again", first);
	free(first);
}

START_TEST(canon_of_the_rfcs_examples_is_theirs)
{
	becomes("{\n  \"numbers\": [333333333.33333329, 1E30, 4.50,\n"
		"              2e-3, 0.000000000000000000000000001],\n"
		"  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
		"  \"literals\": [null, true, false]\n}",
	    "{\"literals\":[null,true,false],"
	    "\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
	    "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
	becomes("{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,"
		"\"\\u0080\":6,\"\\u00f6\":7}",
	    "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,"
	    "\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}");
}
END_TEST

START_TEST(canon_numbers_are_as_ecmascript_writes_them)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "0", "0" }, { "-0", "0" }, { "-0.0", "0" }, { "0e999", "0" },
		{ "-0.000e-99999999999999999999", "0" }, { "1", "1" }, { "-1", "-1" },
		{ "10", "10" }, { "1.0", "1" }, { "1e2", "100" }, { "1.20e1", "12" },
		{ "0.1", "0.1" }, { "100.001", "100.001" }, { "120e-1", "12" },
		{ "5e-324", "5e-324" }, { "-4.9406564584124654e-324", "-5e-324" },
		{ "1.7976931348623157e308", "1.7976931348623157e+308" },
		{ "-1.7976931348623157e308", "-1.7976931348623157e+308" },
		{ "9007199254740992", "9007199254740992" },
		{ "-9007199254740992", "-9007199254740992" },
		{ "9007199254740991.0", "9007199254740991" },
		{ "9.999999999999997e22", "9.999999999999997e+22" },
		{ "1e23", "1e+23" }, { "1.0000000000000001e23", "1.0000000000000001e+23" },
		{ "1e21", "1e+21" }, { "9.999999999999997e-7", "9.999999999999997e-7" },
		{ "1e-6", "0.000001" }, { "0.000001", "0.000001" }, { "1e-7", "1e-7" },
		{ "333333333.3333332", "333333333.3333332" },
		{ "333333333.33333325", "333333333.33333325" },
		{ "333333333.33333334", "333333333.3333333" },
		{ "333333333.3333334", "333333333.3333334" },
		{ "333333333.33333343", "333333333.33333343" },
		{ "-0.0000033333333333333333", "-0.0000033333333333333333" },
		{ "1424953923781206.2", "1424953923781206.2" },
		{ "0.30000000000000004", "0.30000000000000004" },
		{ "0.10000000000000001", "0.1" },
		/* 2^-44: the nearest 16 digits are another double's */
		{ "5.6843418860808015e-14", "5.684341886080802e-14" },
		{ "2.2250738585072014e-308", "2.2250738585072014e-308" },
		{ "2.2250738585072011e-308", "2.225073858507201e-308" },
		{ "123456.789e3", "123456789" }, { "1e-400000000000000000000000", NULL },
		{ "1e-324", NULL }, { "1e309", NULL }, { "1e400", NULL }, { "-1e400", NULL },
		{ "1.7976931348623159e308", NULL }, { "9007199254740993", NULL },
		{ "-9007199254740993", NULL }, { "18446744073709551615", NULL },
		{ "295147905179352830000", NULL }, { "999999999999999900000", NULL },
		{ "1e20", NULL }, { "100000000000000000000000", NULL },
		{ "9007199254740993.1", NULL }, { "0.1000000000000000055", NULL },
		{ "3.14159265358979323846", NULL },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		if (rows[i].want != NULL)
			becomes(rows[i].text, rows[i].want);
		else
			ck_assert_msg(canon(rows[i].text) == NULL && err.code == ATS_E_JSON,
			    "%s is taken", rows[i].text);
	}
}
END_TEST

START_TEST(canon_keeps_types_and_odd_names)
{
	becomes(" { } ", "{}");
	becomes("[ ]", "[]");
	becomes("{\"a\":{},\"A\":[[],{}]}", "{\"A\":[[],{}],\"a\":{}}");
	becomes("{\"b\":\"1\",\"a\":1,\"\":null}", "{\"\":null,\"a\":1,\"b\":\"1\"}");
	becomes("{\"__proto__\":1,\"constructor\":true}", "{\"__proto__\":1,\"constructor\":true}");
	becomes("{\"aa\":1,\"a\":2,\"\\u0061b\":3}", "{\"a\":2,\"aa\":1,\"ab\":3}");
	becomes("\"\\u007f\\u0000\\u001F\\b\\f\\n\\r\\t\\/\"",
	    "\"\x7f\\u0000\\u001f\\b\\f\\n\\r\\t/\"");
	becomes("[3,1,2]", "[3,1,2]");		/* an array's order is its meaning */
	becomes("\"\\ud83d\\ude00\\u00e9\"", "\"\xf0\x9f\x98\x80\xc3\xa9\"");
	/* no normalisation: these are two names */
	becomes("{\"e\\u0301\":1,\"\\u00e9\":2}", "{\"e\xcc\x81\":1,\"\xc3\xa9\":2}");
}
END_TEST

START_TEST(canon_refuses_what_two_readers_take_differently)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{ "{\"a\":1,\"a\":2}", ATS_E_JSON }, { "{\"a\":1,\"\\u0061\":2}", ATS_E_JSON },
		{ "{\"x\":{\"\\u005f_proto__\":1,\"__proto__\":2}}", ATS_E_JSON },
		{ "NaN", ATS_E_JSON }, { "[Infinity]", ATS_E_JSON }, { "+1", ATS_E_JSON },
		{ "01", ATS_E_JSON }, { ".5", ATS_E_JSON }, { "1.", ATS_E_JSON },
		{ "\"\\ud800\"", ATS_E_JSON }, { "\"\\udc00\\ud800\"", ATS_E_JSON },
		{ "\"\xed\xa0\x80\"", ATS_E_UTF8 }, { "\"\xc0\x80\"", ATS_E_UTF8 },
		{ "{\"a\":1}{}", ATS_E_JSON }, { "", ATS_E_JSON }, { "{'a':1}", ATS_E_JSON },
		{ "[1,]", ATS_E_JSON }, { "{\"a\":1 /* */}", ATS_E_JSON }, { "\"\t\"", ATS_E_JSON },
		{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
		    ATS_E_JSON },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg(canon(rows[i].text) == NULL && err.code == rows[i].code,
		    "%s: %d", rows[i].text, err.code);
}
END_TEST

START_TEST(canon_over_its_size_fails_before_and_after)
{
	size_t n = POLICY_CANON_MAX + 1;
	char *text = malloc(n + 1);

	memset(text, 'x', n);
	text[0] = text[n - 1] = '"';
	text[n] = '\0';
	ck_assert(canon(text) == NULL && err.code == ATS_E_TOOBIG);
	text[n - 2] = '"';
	text[n - 1] = '\0';
	ck_assert(canon(text) != NULL);
	/* four bytes that become eight */
	for (size_t i = 1; i + 5 < n; i += 5)
		memcpy(text + i, "1e-6,", 5);
	text[0] = '[';
	text[n - 2 - (n - 3) % 5] = ']';
	text[n - 1 - (n - 3) % 5] = '\0';
	for (char *p = text + strlen(text) - 1; p[-1] == ',' || p[-1] == 'x'; p--) {
		p[-1] = ']';
		*p = '\0';
	}
	ck_assert_msg(canon(text) == NULL && err.code == ATS_E_TOOBIG, "%s", err.text);
	free(text);
}
END_TEST

START_TEST(canon_appends_and_leaves_what_was_there)
{
	struct ats_buf out;

	ats_buf_init(&out, 64);
	ck_assert_int_eq(ats_buf_add_str(&out, "args="), 0);
	ck_assert_int_eq(policy_canon((struct ats_slice){ "{ }", 3 }, &out, NULL), 0);
	ck_assert_str_eq(out.data, "args={}");
	ck_assert_int_eq(policy_canon((struct ats_slice){ "[1e999]", 7 }, &out, NULL),
	    -ATS_E_JSON);
	ck_assert_str_eq(out.data, "args={}");
	ats_buf_done(&out);
}
END_TEST

START_TEST(sha256_is_the_canonical_forms)
{
	char hex[ATS_SHA256_HEX];

	policy_sha256((struct ats_slice){ "{}", 2 }, hex);
	ck_assert_str_eq(hex, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}
END_TEST

/* Whatever the bits, the shortest form gives the same double, and is canonical. */
START_TEST(canon_of_any_double_gives_it_again)
{
	uint64_t x = 88172645463325252u;

	for (unsigned i = 0; i < 200000; i++) {
		char text[40], got[CANON_NUMBER_MAX + 1];
		double v;
		int n;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* every fourth is a power of two: doubles are spaced unevenly around it */
		memcpy(&v, &(uint64_t){ i % 4 == 0 ? x & 0x7ff0000000000000u : x }, sizeof(v));
		if (v != v || v - v != 0)
			continue;
		n = snprintf(text, sizeof(text), "%.16e", v);
		n = canon_number((struct ats_slice){ text, (size_t)n }, got, &err);
		if (n < 0)		/* whole and large */
			continue;
		got[n] = '\0';
		ck_assert_msg(strtod(got, NULL) == v, "%s: %s", text, got);
	}
}
END_TEST

ATS_UNIT_MAIN("canon", canon_of_the_rfcs_examples_is_theirs,
    canon_numbers_are_as_ecmascript_writes_them, canon_keeps_types_and_odd_names,
    canon_refuses_what_two_readers_take_differently,
    canon_over_its_size_fails_before_and_after, canon_appends_and_leaves_what_was_there,
    sha256_is_the_canonical_forms, canon_of_any_double_gives_it_again)
