/* SPDX-License-Identifier: Apache-2.0 */
#include "common/conf.h"

#include <string.h>

#include "tests/lib/unit.h"

struct settings {
	uint64_t out_bytes;
	bool wanted;
	char *level;
	char *none;
	struct ats_conf_strv ro;
	struct ats_conf_strv env;
};

#define AT(member) offsetof(struct settings, member)
static const struct ats_conf_row rows[] = {
	{ "limits.out_bytes", ATS_CONF_U64, AT(out_bytes), 30000, 1, 1000000, NULL, "bytes kept" },
	{ "wanted", ATS_CONF_BOOL, AT(wanted), 1, 0, 1, NULL, "whether" },
	{ "log.level", ATS_CONF_STR, AT(level), 0, 0, 0, "info", "how much" },
	{ "view.ro", ATS_CONF_STRV, AT(ro), 0, 0, 0, NULL, "paths" },
	{ "log.none", ATS_CONF_STR, AT(none), 0, 0, 0, NULL, "nothing" },
	{ "env", ATS_CONF_ENV, AT(env), 0, 0, 0, NULL, "environment" },
};

static int
parse(struct settings *s, const char *text, struct ats_err *err)
{
	return ats_conf_parse(rows, ATS_ARRAY_LEN(rows), s, "f.json", text,
	    text != NULL ? strlen(text) : 0, err);
}

START_TEST(defaults_come_without_a_text)
{
	struct settings s;
	struct ats_err err;

	ck_assert_int_eq(parse(&s, NULL, &err), 0);
	ck_assert_uint_eq(s.out_bytes, 30000);
	ck_assert(s.wanted);
	ck_assert_str_eq(s.level, "info");
	ck_assert_ptr_null(s.none);
	ck_assert_uint_eq(s.ro.n, 0);
	ats_conf_done(rows, ATS_ARRAY_LEN(rows), &s);
	ck_assert_ptr_null(s.level);
	ats_conf_done(rows, ATS_ARRAY_LEN(rows), &s);
}
END_TEST

START_TEST(a_full_file_with_comments_is_read)
{
	struct settings s;
	struct ats_err err;

	ck_assert_int_eq(
	    parse(&s,
		"// head\n{ \"limits\": { /* in\nbytes */ \"out_bytes\": 7 },\n"
		"\"wanted\": false, // no \"quote\n \"log\": {\"level\": \"de//bug\", "
		"\"none\":\"/*x*/\"},"
		"\"view\":{\"ro\":[\"/opt\",\"/srv/\\u00e9\"]}, "
		"\"env\":{\"A\":\"b=c\",\"B\":\"\"}}",
		&err),
	    0);
	ck_assert_uint_eq(s.out_bytes, 7);
	ck_assert(!s.wanted);
	ck_assert_str_eq(s.level, "de//bug");
	ck_assert_str_eq(s.none, "/*x*/");
	ck_assert_uint_eq(s.ro.n, 2);
	ck_assert_str_eq(s.ro.v[1], "/srv/\xc3\xa9");
	ck_assert_ptr_null(s.ro.v[2]);
	ck_assert_uint_eq(s.env.n, 2);
	ck_assert_str_eq(s.env.v[0], "A=b=c");
	ck_assert_str_eq(s.env.v[1], "B=");
	ats_conf_done(rows, ATS_ARRAY_LEN(rows), &s);
}
END_TEST

START_TEST(wrong_files_name_file_and_key)
{
	static const struct {
		const char *text;
		int code;
		const char *says;
	} t[] = {
		{ "{\"limits\":{\"foo\":1}}", ATS_E_CONFIG, "limits.foo" },
		{ "{\"limits\":{\"foo\":1}}", ATS_E_CONFIG, "out_bytes" },
		{ "{\"limits.out_bytes\":1}", ATS_E_CONFIG, "unknown key" },
		{ "{\"x\":1}", ATS_E_CONFIG, "use one of: limits, wanted, log, view, env" },
		{ "{\"limits\":3}", ATS_E_CONFIG, "must be an object" },
		{ "{\"limits\":{\"out_bytes\":0}}", ATS_E_CONFIG, "from 1 to 1000000" },
		{ "{\"limits\":{\"out_bytes\":1000001}}", ATS_E_CONFIG, "limits.out_bytes" },
		{ "{\"limits\":{\"out_bytes\":-1}}", ATS_E_CONFIG, "limits.out_bytes" },
		{ "{\"limits\":{\"out_bytes\":\"5\"}}", ATS_E_CONFIG, "whole number" },
		{ "{\"wanted\":1}", ATS_E_CONFIG, "true or false" },
		{ "{\"log\":{\"level\":null}}", ATS_E_CONFIG, "log.level" },
		{ "{\"log\":{\"level\":\"a\\u0000\"}}", ATS_E_CONFIG, "NUL" },
		{ "{\"log\":{\"level\":{\"x\":1}}}", ATS_E_CONFIG, "log.level" },
		{ "{\"view\":{\"ro\":[1]}}", ATS_E_CONFIG, "array of strings" },
		{ "{\"view\":{\"ro\":{\"a\":\"b\"}}}", ATS_E_CONFIG, "array of strings" },
		{ "{\"env\":{\"A=B\":\"c\"}}", ATS_E_CONFIG, "env" },
		{ "{\"env\":{\"\":\"c\"}}", ATS_E_CONFIG, "env" },
		{ "{\"wanted\":true,\"wanted\":true}", ATS_E_JSON, "twice" },
		{ "{\"wanted\":true,}", ATS_E_JSON, "f.json: line 1, column 16: not strict" },
		{ "{ /* a\n b */ \"wanted\":\n  x}", ATS_E_JSON, "f.json: line 3, column 3: " },
		{ "{ /* never ends }", ATS_E_CONFIG, "comment" },
		{ "[]", ATS_E_CONFIG, "one JSON object" }, { "", ATS_E_JSON, "f.json" },
		{ "{} {}", ATS_E_JSON, "after" },
	};
	struct settings s;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		int rc = parse(&s, t[i].text, &err);

		ck_assert_msg(rc == -t[i].code, "row %zu: %d %s", i, rc, err.text);
		ck_assert_msg(strstr(err.text, t[i].says) != NULL, "row %zu: %s", i, err.text);
		ck_assert_msg(strncmp(err.text, "f.json: ", 8) == 0, "row %zu: %s", i, err.text);
		ck_assert_ptr_null(s.level);
	}
}
END_TEST

ATS_UNIT_MAIN("conf", defaults_come_without_a_text, a_full_file_with_comments_is_read,
    wrong_files_name_file_and_key)
