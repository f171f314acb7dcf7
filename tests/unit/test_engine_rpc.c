/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON-RPC envelope and the writing of answers. */
#include "brain/engine/rpc.h"

#include "brain/engine/answer.h"
#include "tests/lib/unit.h"

START_TEST(rpc_envelope_read_of_each_shape)
{
	static const struct {
		const char *line;
		int rc;
		const char *id, *method;
		bool response;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", 0, "1", "a", false },
		{ "{\"method\":\"a\",\"id\":\"x\",\"jsonrpc\":\"2.0\"}", 0, "\"x\"", "a",
		    false },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", 0, NULL, "a", false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, "1", NULL, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", 0, "1", NULL, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"future\":1}", 0, "1",
		    "a", false },
		{ "{\"jsonrpc\":\"2.1\",\"id\":1,\"method\":\"a\"}", RPC_INVALID, "1",
		    NULL, false },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}", RPC_INVALID, "1", NULL,
		    false },
		{ "{\"id\":1,\"method\":\"a\"}", RPC_INVALID, "1", NULL, false },
		{ "{\"jsonrpc\":\"2.0\",\"method\":1,\"id\":1}", RPC_INVALID, "1", NULL,
		    false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", RPC_INVALID, NULL,
		    NULL, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}", RPC_INVALID, NULL,
		    NULL, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}",
		    RPC_INVALID, "1", NULL, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID, "1", NULL, false },
		{ "{}", RPC_INVALID, NULL, NULL, false },
	};
	struct rpc_envelope en;
	struct ats_slice line;
	const char *why;
	size_t i;

	for (i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		line.p = rows[i].line;
		line.n = strlen(line.p);
		ck_assert_int_eq(ats_json_scan(line.p, line.n, NULL), 0);
		ck_assert_msg(rpc_envelope_read(line, &en, &why) == rows[i].rc, "%s", line.p);
		ck_assert_int_eq(en.id.p != NULL, rows[i].id != NULL);
		if (rows[i].id != NULL)
			ck_assert_mem_eq(en.id.p, rows[i].id, en.id.n);
		if (rows[i].rc != 0)
			continue;
		if (rows[i].method != NULL)
			ck_assert_mem_eq(en.method.p, rows[i].method, en.method.n);
		ck_assert_int_eq(en.response, rows[i].response);
		ck_assert_mem_eq(en.params.p, "{}", 2);
	}
}
END_TEST

static char *
written(enum call_form form, const struct outcome *o, const char *notice)
{
	struct ats_buf out;
	char *text;

	ats_buf_init(&out, 1 << 20);
	ck_assert_int_eq(answer_write(&out, form, "\"i\"", 7, o, notice), 0);
	ck_assert_int_eq(out.data[out.len - 1], '\n');
	ats_buf_truncate(&out, out.len - 1);
	ck_assert_int_eq(ats_json_scan(out.data, out.len, NULL), 0);
	text = ats_buf_steal(&out, NULL);
	ats_buf_done(&out);
	return text;
}

START_TEST(answer_write_of_each_form_is_strict_json)
{
	struct outcome o = { .kind = OUTCOME_DONE, .payload = { "a\"\n\xff", 4 },
		.output = { "{\"x\":1}", 7 }, .exit_kind = "exit", .exit_code = 3,
		.has_exit_code = true, .t = { .us = {
		[ATS_TIMING_QUEUE] = 1, [ATS_TIMING_RUN] = 2, [ATS_TIMING_TOTAL] = 3 } } };
	char *text;

	text = written(CALL_FORM_MCP, &o, "note");
	ck_assert_str_eq(text, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"result\":{"
			       "\"content\":[{\"type\":\"text\",\"text\":"
			       "\"a\\\"\\n\xef\xbf\xbd\"},{\"type\":\"text\",\"text\":"
			       "\"note\"}],\"isError\":false}}");
	free(text);
	text = written(CALL_FORM_MODERN, &o, NULL);
	ck_assert_str_eq(text, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"result\":{"
			       "\"resultType\":\"complete\",\"content\":[{\"type\":\"text\","
			       "\"text\":\"a\\\"\\n\xef\xbf\xbd\"}],\"isError\":false,\"_meta\":{"
			       "\"io.modelcontextprotocol/serverInfo\":{\"name\":"
			       "\"agent-tool-server\",\"title\":\"Agent tool server\","
			       "\"version\":\"" ATS_VERSION "\"}}}}");
	free(text);
	text = written(CALL_FORM_ATS, &o, NULL);
	ck_assert_str_eq(text,
	    "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"result\":{\"call\":\"c-7\",\"outcome\":"
	    "\"done\","
	    "\"is_error\":false,\"content\":[{\"type\":\"text\",\"text\":"
	    "\"a\\\"\\n\xef\xbf\xbd\"}],"
	    "\"output\":{\"x\":1},\"exit\":{\"kind\":\"exit\",\"code\":3},"
	    "\"timings\":{\"policy_us\":0,\"approval_us\":0,\"hooks_us\":0,\"engine_queue_us\":0,"
	    "\"journal_us\":0,"
	    "\"wire_us\":0,\"queue_us\":1,\"setup_us\":0,\"worker_us\":0,"
	    "\"run_us\":2,\"total_us\":3}}}");
	free(text);
	text = written(CALL_FORM_EXEC, &o, NULL);
	ck_assert_ptr_null(strstr(text, "content"));
	ck_assert_ptr_nonnull(strstr(text, "\"exit\":{\"kind\":\"exit\",\"code\":3}"));
	free(text);
	memset(&o, 0, sizeof(o));
	text = written(CALL_FORM_MCP, &o, NULL);
	ck_assert_ptr_nonnull(strstr(text, "\"content\":[{\"type\":\"text\",\"text\":\"\"}]"));
	free(text);
}
END_TEST

START_TEST(answer_write_without_room_leaves_the_buffer_as_it_was)
{
	struct outcome o = { .payload = { "0123456789", 10 } };
	struct ats_buf out;
	size_t cap;

	for (cap = 3; cap < 100; cap++) {
		ats_buf_init(&out, cap);
		ck_assert_int_eq(ats_buf_add_str(&out, "abc"), 0);
		if (answer_write(&out, CALL_FORM_MCP, "1", 7, &o, NULL) < 0)
			ck_assert_str_eq(out.data, "abc");
		else
			ck_assert_uint_gt(out.len, 90);
		ats_buf_done(&out);
	}
}
END_TEST

START_TEST(answer_blocks_check_of_good_and_bad)
{
	static const struct {
		const char *blocks;
		size_t len;
		bool ok;
	} rows[] = {
		{ "[]", 0, true },
		{ "[]", 1, false },
		{ "[{\"type\":\"text\",\"len\":3}]", 3, true },
		{ "[{\"type\":\"text\",\"len\":1},{\"type\":\"image\",\"mime\":\"a/"
		  "b\",\"len\":2}]",
		    3, true },
		{ "[{\"type\":\"text\",\"len\":4}]", 3, false },
		{ "[{\"type\":\"text\",\"len\":-1}]", 3, false },
		{ "[{\"type\":\"text\",\"len\":\"3\"}]", 3, false },
		{ "[{\"type\":\"text\"}]", 0, false },
		{ "[{\"len\":0}]", 0, false },
		{ "[{\"type\":\"image\",\"len\":0}]", 0, false },
		{ "[{\"type\":\"audio\",\"len\":0}]", 0, false },
		{ "[{\"type\":\"text\",\"len\":0,\"x\":1}]", 0, false },
		{ "[{\"type\":\"text\",\"len\":18446744073709551615},{\"type\":\"text\","
		  "\"len\":4}]",
		    3, false },
		{ "{}", 0, false },
		{ "[7]", 0, false },
	};
	struct ats_slice v;
	size_t i;

	for (i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		v.p = rows[i].blocks;
		v.n = strlen(v.p);
		ck_assert_msg((answer_blocks_check(v, rows[i].len, NULL) == 0) == rows[i].ok, "%s",
		    v.p);
	}
}
END_TEST

ATS_UNIT_MAIN("engine_rpc", rpc_envelope_read_of_each_shape,
    answer_write_of_each_form_is_strict_json,
    answer_write_without_room_leaves_the_buffer_as_it_was, answer_blocks_check_of_good_and_bad)
