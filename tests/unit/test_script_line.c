/* SPDX-License-Identifier: Apache-2.0
 *
 * What scripts read, and what of theirs is taken. */
#include "brain/engine/script_line.h"
#include "common/json.h"
#include "tests/lib/unit.h"

static struct ats_err err;

static struct ats_slice
slice(const char *s)
{
	ck_assert_msg(ats_json_scan(s, strlen(s), &err) == 0, "%s: %s", s, err.text);
	return (struct ats_slice){ s, strlen(s) };
}

START_TEST(what_scripts_read)
{
	const struct made keep[] = { { "a", "unix:/a" }, { "b/2", "unix:/b" } };
	struct ats_buf b = { 0 };

	ck_assert_int_eq(script_line_build("box", "/w \"x\"\n", 7, keep, 2, NULL, &b), 0);
	ck_assert_str_eq(b.data, "{\"version\":1,\"sandbox\":\"box\",\"workspace\":"
	    "\"/w \\\"x\\\"\\n\",\"generation\":7,\"keep\":[\"a\",\"b/2\"]}");
	ck_assert_int_eq(script_line_build("box", "/w", 7, keep, 0, "ats1:x", &b), 0);
	ck_assert_str_eq(b.data, "{\"version\":1,\"sandbox\":\"box\",\"workspace\":\"/w\","
	    "\"generation\":7,\"keep\":[],\"key\":\"ats1:x\"}");
	ck_assert_int_eq(script_line_id("b/2", &b), 0);
	ck_assert_str_eq(b.data, "{\"version\":1,\"id\":\"b/2\"}");
	ats_buf_done(&b);
}
END_TEST

START_TEST(what_scripts_print)
{
	struct made m;
	bool alive = false;

	ck_assert_msg(script_line_made(slice(" {\"url\": \"tls://h.example:7\", \"version\":1,"
	    "\"id\":\"docker:A_b-1.c/d\"} "), &m, &err) == 0, "%s", err.text);
	ck_assert_str_eq(m.id, "docker:A_b-1.c/d");
	ck_assert_str_eq(m.url, "tls://h.example:7");
	ck_assert_int_eq(script_line_alive(slice("{\"version\":1,\"alive\":true}"), &alive, &err),
	    0);
	ck_assert(alive);
	ck_assert_int_eq(script_line_alive(slice("{\"version\":1,\"alive\":false}"), &alive, &err),
	    0);
	ck_assert(!alive);
}
END_TEST

#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789"
START_TEST(what_is_not_taken)
{
	static const char *const made[] = {
		"{}", "{\"version\":1}", "{\"version\":1,\"id\":\"a\"}",
		"{\"version\":\"1\",\"id\":\"a\",\"url\":\"unix:/a\"}",
		"{\"version\":1.0,\"id\":\"a\",\"url\":\"unix:/a\"}",
		"{\"version\":2,\"id\":\"a\",\"url\":\"unix:/a\"}",
		"{\"version\":1,\"id\":\"\",\"url\":\"unix:/a\"}",
		"{\"version\":1,\"id\":7,\"url\":\"unix:/a\"}",
		"{\"version\":1,\"id\":\"a\\n\",\"url\":\"unix:/a\"}",
		"{\"version\":1,\"id\":\"a\\u0000\",\"url\":\"unix:/a\"}",
		"{\"version\":1,\"id\":\"" LONG LONG "\",\"url\":\"unix:/a\"}",
		"{\"version\":1,\"id\":\"a\",\"url\":\"exec:a\"}",
		"{\"version\":1,\"id\":\"a\",\"url\":\"stdio\"}",
		"{\"version\":1,\"id\":\"a\",\"url\":\"script:a\"}",
		"{\"version\":1,\"id\":\"a\",\"url\":\"listen:tls://[::1]:1\"}",
		"{\"version\":1,\"id\":\"a\",\"url\":\"unix:a\"}",
		"{\"version\":1,\"id\":\"a\",\"url\":null}",
		"{\"version\":1,\"id\":\"a\",\"url\":\"unix:/a\",\"key\":1}",
		"{\"version\":1,\"\\u0069d\":\"a\",\"url\":\"unix:/a\",\"ID\":1}",
	};
	static const char *const alive[] = {
		"{}", "{\"version\":1}", "{\"alive\":true}", "{\"version\":1,\"alive\":1}",
		"{\"version\":1,\"alive\":\"true\"}", "{\"version\":0,\"alive\":true}",
		"{\"version\":1,\"alive\":true,\"id\":\"a\"}",
	};
	struct made m = { .id = "kept" };
	bool b = false;

	for (size_t i = 0; i < ATS_ARRAY_LEN(made); i++)
		ck_assert_msg(script_line_made(slice(made[i]), &m, &err) == -ATS_E_PROTO,
		    "%s is taken", made[i]);
	ck_assert_str_eq(m.id, "kept");
	for (size_t i = 0; i < ATS_ARRAY_LEN(alive); i++)
		ck_assert_msg(script_line_alive(slice(alive[i]), &b, &err) == -ATS_E_PROTO,
		    "%s is taken", alive[i]);
	ck_assert(!b);
}
END_TEST

ATS_UNIT_MAIN("script_line", what_scripts_read, what_scripts_print, what_is_not_taken)
