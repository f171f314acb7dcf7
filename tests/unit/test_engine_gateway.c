/* SPDX-License-Identifier: Apache-2.0
 *
 * What an upstream says of its tools, and what their schemas require of arguments. */
#include "brain/engine/gateway_private.h"

#include "common/json.h"
#include "tests/lib/unit.h"

#define SCHEMA "\"inputSchema\":{\"type\":\"object\"}"

static struct gateway_tool *
make(const char *tool, const char *json, struct ats_err *err)
{
	return gateway_tool_new("git", tool, json, GATEWAY_DESTRUCTIVE, err);
}

START_TEST(tool_name_has_only_what_clients_take)
{
	static const struct {
		const char *tool, *name;
	} rows[] = {
		{ "push", "git__push" }, { "a.b/c d", "git__a_b_c_d" }, { "_x", "git___x" },
		{ "\xc3\xa4", "git____" }, { "\"", "git___" },
	};
	struct gateway_tool *t;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		t = make(rows[i].tool, "{" SCHEMA "}", NULL);
		ck_assert_ptr_nonnull(t);
		ck_assert_str_eq(t->name, rows[i].name);
		ck_assert_str_eq(t->gateway, "git");
		gateway_tool_let_go(t);
	}
	ck_assert(gateway_is_name("git__push"));
	ck_assert(!gateway_is_name("Bash"));
}
END_TEST

START_TEST(tool_name_of_64_characters_is_the_longest)
{
	char tool[80];
	struct gateway_tool *t;

	memset(tool, 'x', sizeof(tool));
	tool[64 - 5] = '\0';
	t = make(tool, "{" SCHEMA "}", NULL);
	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(strlen(t->name), 64);
	gateway_tool_let_go(t);
	tool[64 - 5] = 'x';
	tool[64 - 4] = '\0';
	ck_assert_ptr_null(make(tool, "{" SCHEMA "}", NULL));
	ck_assert_ptr_null(make("", "{" SCHEMA "}", NULL));
}
END_TEST

START_TEST(tool_json_that_is_not_usable_is_refused_with_a_reason)
{
	static const struct {
		const char *json, *why;
	} rows[] = {
		{ "", "strict JSON" }, { "[]", "not an object" },
		{ "{}", "inputSchema" }, { "{\"inputSchema\":{}}", "inputSchema" },
		{ "{\"inputSchema\":{\"type\":[\"object\"]}}", "inputSchema" },
		{ "{\"inputSchema\":{\"type\":\"object\",\"required\":1}}", "required" },
		{ "{" SCHEMA "," SCHEMA "}", "twice" },
		{ "{\"description\":[]," SCHEMA "}", "description" },
		{ "{\"annotations\":\"\"," SCHEMA "}", "annotations" },
		{ "{\"timeoutMs\":86400001," SCHEMA "}", "timeoutMs" },
		{ "{\"timeoutMs\":\"1\"," SCHEMA "}", "timeoutMs" },
		{ "{\"files\":{}," SCHEMA "}", "files: expected an array" },
		{ "{\"files\":[1]," SCHEMA "}", "files: expected 4 names" },
		{ "{\"files\":[\"a\",\"b\",\"c\",\"d\",\"e\"]," SCHEMA "}", "files: expected 4" },
		{ "1}]]]],[[[[{\"a\":1", "strict JSON" },
	};
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_msg(make("t", rows[i].json, &err) == NULL, "%s", rows[i].json);
		ck_assert_msg(strstr(err.text, rows[i].why) != NULL, "%s: %s", rows[i].json,
		    err.text);
	}
}
END_TEST

START_TEST(tool_is_written_as_one_line_without_what_is_private)
{
	struct gateway_tool *t = make("t",
	    "{\"annotations\":{\"title\":\"T\",\"idempotentHint\":true,"
	    "\"readOnlyHint\":true,\"x\":1},\n\"timeoutMs\":5,"
	    "\"files\":[\"f\"],\"secret\":1,\r\n" SCHEMA "}", NULL);
	struct ats_json_w w;
	struct ats_buf out;

	ck_assert_ptr_nonnull(t);
	ats_buf_init(&out, 4096);
	ats_json_w_init(&w, &out);
	gateway_tool_write(&w, t, false);
	ck_assert_int_eq(w.rc, 0);
	ck_assert_str_eq(out.data, "{\"name\":\"git__t\",\"description\":\"\"," SCHEMA ","
	    "\"annotations\":{\"title\":\"T\",\"readOnlyHint\":false,\"destructiveHint\":true,"
	    "\"idempotentHint\":true,\"openWorldHint\":true},"
	    "\"_meta\":{\"anthropic/maxResultSizeChars\":500000}}");
	ats_buf_reset(&out);
	ats_json_w_init(&w, &out);
	gateway_tool_write(&w, t, true);
	ck_assert_ptr_nonnull(strstr(out.data, ",\"timeoutMs\":5}"));
	ats_buf_done(&out);
	gateway_tool_let_go(t);
}
END_TEST

START_TEST(tool_check_names_what_is_missing)
{
	static const struct {
		const char *args, *missing;
	} rows[] = {
		{ "{\"a\":1,\"b\\u0022\":2}", NULL },
		{ "{\"\\u0061\":null,\"b\\\"\":2,\"c\":3}", NULL },
		{ "{}", "\"a\"" }, { "{\"a\":1}", "b" }, { "{\"b\\\"\":1}", "\"a\"" },
		{ "{\"x\":{\"a\":1,\"b\\\"\":1}}", "\"a\"" },
	};
	struct gateway_tool *t = make("t",
	    "{\"inputSchema\":{\"type\":\"object\",\"required\":[\"a\",7,\"b\\\"\",null]}}", NULL);
	struct ats_slice args;
	struct ats_err err;
	int rc;

	ck_assert_ptr_nonnull(t);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		args = (struct ats_slice){ rows[i].args, strlen(rows[i].args) };
		rc = gateway_tool_check(t, args, &err);
		ck_assert_msg(rc == (rows[i].missing == NULL ? 0 : -ATS_E_FIELD), "%s", args.p);
		if (rc < 0)
			ck_assert_msg(strstr(err.text, rows[i].missing) != NULL, "%s", err.text);
	}
	args.n = ATS_GATEWAY_ARGS_MAX + 1;
	ck_assert_int_eq(gateway_tool_check(t, args, NULL), -ATS_E_FIELD);
	gateway_tool_let_go(t);
}
END_TEST

START_TEST(gateway_names)
{
	static const char *const good[] = { "a", "git", "a_b-9", "a_" };
	static const char *const bad[] = { "", "A", "9a", "_a", "-a", "a__b", "a.b", "a b",
		"abcdefghijklmnopqrstuvwxyz0123456" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(good); i++)
		ck_assert_msg(gateway_is_gateway(good[i]), "%s", good[i]);
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++)
		ck_assert_msg(!gateway_is_gateway(bad[i]), "%s", bad[i]);
}
END_TEST

ATS_UNIT_MAIN("engine_gateway", tool_name_has_only_what_clients_take,
    tool_name_of_64_characters_is_the_longest,
    tool_json_that_is_not_usable_is_refused_with_a_reason,
    tool_is_written_as_one_line_without_what_is_private, tool_check_names_what_is_missing,
    gateway_names)
