/* SPDX-License-Identifier: Apache-2.0 */
#include "brain/ctl/exit_code.h"
#include "brain/ctl/mcp_lines.h"

#include <stdlib.h>
#include <string.h>

#include "proto/unsure.h"
#include "tests/lib/unit.h"

#define V "\"jsonrpc\":\"2.0\""
#define INIT "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}"
#define READY "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

static void
client(struct mcp_lines *m, const char *line)
{
	ck_assert_int_eq(mcp_from_client(m, line, strlen(line)), 0);
}

static bool
passes(struct mcp_lines *m, const char *line)
{
	return mcp_from_engine(m, (struct ats_slice){ line, strlen(line) }) == MCP_PASS;
}

static void
check_replay(struct mcp_lines *m, const char *want)
{
	struct ats_buf b;

	ats_buf_init(&b, 4096);
	ck_assert_int_eq(mcp_replay(m, &b), 0);
	ck_assert_str_eq(b.data, want);
	ats_buf_done(&b);
}

START_TEST(answers_pass_once_and_only_for_open_requests)
{
	struct mcp_lines m;

	mcp_lines_init(&m);
	client(&m, INIT);
	client(&m, "{\"id\":\"a\",\"method\":\"ping\"}");
	ck_assert_uint_eq(m.n, 2);
	ck_assert(!passes(&m, "{\"id\":\"b\",\"result\":{}}"));
	ck_assert(!passes(&m, "{\"id\":1,\"result\":{}}"));
	ck_assert(passes(&m, "{\"result\":{},\"id\":\"a\"}"));
	ck_assert(!passes(&m, "{\"result\":{},\"id\":\"a\"}"));
	ck_assert(passes(&m, "{\"id\":0,\"error\":{}}"));
	ck_assert(passes(&m, "{\"id\":null,\"error\":{}}"));
	ck_assert(passes(&m, "{\"method\":\"notifications/progress\"}"));
	ck_assert(passes(&m, "{\"id\":\"a\",\"method\":\"elicitation/create\"}"));
	ck_assert_uint_eq(m.n, 0);
	ck_assert_uint_eq(m.bytes, 0);
	mcp_lines_done(&m);
}
END_TEST

/* The engine's own form of an answer is known by its head. */
START_TEST(answers_of_any_form_are_told_by_their_id)
{
	static const char odd[] = "{" V ",\"id\":\"q\\\",\\\"result\\\":{\",\"result\":{\"a\":[]}}";
	struct mcp_lines m;

	mcp_lines_init(&m);
	client(&m, "{" V ",\"id\":7,\"method\":\"ping\"}");
	client(&m, "{" V ",\"id\":\"q\\\",\\\"result\\\":{\",\"method\":\"ping\"}");
	ck_assert(!passes(&m, "{" V ",\"id\":70,\"result\":{}}"));
	ck_assert(!passes(&m, "{" V ",\"id\":\"q\",\"result\":{}}"));
	ck_assert(passes(&m, odd));
	ck_assert(!passes(&m, odd));
	ck_assert(passes(&m, "{" V ", \"id\":7,\"result\":{}}"));
	ck_assert(!passes(&m, "{" V ",\"id\":7,\"result\":{}}"));
	ck_assert_uint_eq(m.n, 0);
	mcp_lines_done(&m);
}
END_TEST

START_TEST(lines_that_are_no_json_lose_the_connection)
{
	static const char *const lines[] = { "", "{", "{" V, "{" V ",\"id\":", "{" V ",\"id\":1",
		"{" V ",\"id\":1,\"result\"", "{" V ",\"id\":\"1,\"result\":{}}", "{\"id\":1}}",
		"{" V ",\"id\":,\"result\":{}}" };
	struct mcp_lines m;

	mcp_lines_init(&m);
	for (size_t i = 0; i < ATS_ARRAY_LEN(lines); i++)
		ck_assert_int_eq(mcp_from_engine(&m,
		    (struct ats_slice){ lines[i], strlen(lines[i]) }), MCP_LOST);
	mcp_lines_done(&m);
}
END_TEST

START_TEST(replay_holds_the_handshake_and_open_requests_in_order)
{
	struct mcp_lines m;

	mcp_lines_init(&m);
	check_replay(&m, "");
	client(&m, INIT);
	check_replay(&m, INIT "\n");
	ck_assert(passes(&m, "{\"id\":0,\"result\":{}}"));
	client(&m, READY);
	client(&m, "{\"id\":1,\"method\":\"x\"}");
	client(&m, "{\"id\":2,\"method\":\"y\"}");
	client(&m, "{\"id\":3,\"method\":\"z\"}");
	client(&m, "{" V ",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}");
	client(&m, "{" V ",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":77}}");
	check_replay(&m, INIT "\n" READY "\n{\"id\":1,\"method\":\"x\"}\n"
	    "{\"id\":3,\"method\":\"z\"}\n");
	ck_assert(!passes(&m, "{\"id\":2,\"result\":{}}"));
	mcp_lines_done(&m);
}
END_TEST

START_TEST(lines_that_are_no_requests_are_not_kept)
{
	static const struct {
		const char *line;
		unsigned nulls;		/* errors with id null that the engine owes then */
	} t[] = {
		{ "x", 1 }, { "[", 1 }, { "{}", 1 }, { "[]", 1 }, { "[1]", 1 }, { "7", 1 },
		{ "null", 1 }, { "\xff", 1 }, { "\"\xff\"", 1 }, { "\xef\xbb\xbf" READY, 1 },
		{ "[{" V ",\"id\":1,\"method\":\"a\"}]", 1 },	/* refused as a whole */
		{ "{" V ",\"id\":1,\"result\":{}}", 0 }, { "{" V ",\"result\":{}}", 0 },
		{ "{" V ",\"id\":1,\"method\":\"a\",\"error\":{}}", 0 },
		{ "{\"result\":{}}", 1 }, { "{" V ",\"id\":null,\"error\":{}}", 1 },
		{ "{" V ",\"id\":null,\"method\":\"a\"}", 1 },
		{ "{" V ",\"id\":true,\"method\":\"a\"}", 1 },
		{ "{" V ",\"id\":[1],\"method\":\"a\"}", 1 },
		{ "{" V ",\"method\":\"a\"}", 0 }, { "{\"method\":\"a\"}", 1 },
		{ "{\"jsonrpc\":2.0,\"method\":\"a\"}", 1 },
		{ "{" V ",\"method\":7}", 1 }, { "{" V ",\"method\":\"a\",\"params\":7}", 1 },
		{ "{" V ",\"id\":1,\"method\":\"a\"}}", 1 },
		{ "{\"id\":1,\"id\":1,\"method\":\"a\"}", 1 },
		{ "{" V ",\"method\":\"notifications/cancelled\",\"params\":[]}", 1 },
		{ "{" V ",\"method\":\"notifications/cancelled\",\"params\":{}}", 0 },
	};
	struct mcp_lines m;

	mcp_lines_init(&m);
	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		m.nulls = 0;
		client(&m, t[i].line);
		ck_assert_msg(m.n == 0, "%s", t[i].line);
		ck_assert_msg(m.nulls == t[i].nulls, "%s", t[i].line);
	}
	check_replay(&m, "");
	mcp_lines_done(&m);
}
END_TEST

/* The engine answers these with their id: what it says must pass. */
START_TEST(malformed_requests_with_an_id_wait_for_their_answer)
{
	static const char *const t[] = { "{\"id\":1}", "{" V ",\"id\":1}",
		"{" V ",\"id\":1,\"method\":7}", "{\"id\":1,\"method\":\"a\"}",
		"{" V ",\"id\":1,\"method\":\"a\",\"params\":[]}",
		"\t {" V ",\"id\":1,\"method\":\"a\"}\t\r" };
	struct mcp_lines m;

	mcp_lines_init(&m);
	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		client(&m, t[i]);
		ck_assert_msg(m.n == 1 && m.nulls == 0, "%s", t[i]);
		ck_assert(mcp_awaits(&m));
		ck_assert(passes(&m, "{" V ",\"id\":1,\"error\":{}}"));
		ck_assert(!mcp_awaits(&m));
	}
	mcp_lines_done(&m);
}
END_TEST

START_TEST(errors_with_id_null_are_awaited_and_made_up_for_after_a_loss)
{
	struct mcp_lines m;
	struct ats_buf b;

	mcp_lines_init(&m);
	ats_buf_init(&b, 1u << 20);
	client(&m, "x");
	client(&m, "y");
	ck_assert(mcp_awaits(&m));
	ck_assert(passes(&m, "{" V ",\"id\":null,\"error\":{}}"));
	ck_assert(mcp_awaits(&m));
	ck_assert_int_eq(mcp_lose_nulls(&m, &b), 0);
	ck_assert(!mcp_awaits(&m));
	ck_assert_ptr_nonnull(strstr(b.data, "{" V ",\"id\":null,\"error\":{\"code\":-32000,"));
	ck_assert_ptr_eq(memchr(b.data, '\n', b.len), b.data + b.len - 1);
	ck_assert(passes(&m, "{" V ",\"id\":null,\"error\":{}}"));
	ck_assert_uint_eq(m.nulls, 0);
	ats_buf_reset(&b);
	m.nulls = MCP_PENDING_MAX + 5;
	ck_assert_int_eq(mcp_lose_nulls(&m, &b), 0);
	ck_assert_uint_eq(m.nulls, 0);
	m.n = 0;
	for (const char *p = b.data; (p = strchr(p, '\n')) != NULL; p++)
		m.n++;
	ck_assert_uint_eq(m.n, MCP_PENDING_MAX);
	m.n = 0;
	ats_buf_done(&b);
	mcp_lines_done(&m);
}
END_TEST

START_TEST(batches_are_kept_by_their_members)
{
	struct mcp_lines m;

	mcp_lines_init(&m);
	client(&m, "{" V ",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
	    "\"2025-03-26\"}}");
	ck_assert(passes(&m, "{\"id\":0,\"result\":{}}"));
	free(m.initialize);
	m.initialize = NULL;
	client(&m, "[{\"id\":1,\"method\":\"a\"}, {" V ",\"method\":\"n\"}, "
		   "{\"id\":2,\"method\":\"b\"}]");
	ck_assert_uint_eq(m.n, 2);
	check_replay(&m, "{\"id\":1,\"method\":\"a\"}\n{\"id\":2,\"method\":\"b\"}\n");
	ck_assert(passes(&m, "[{\"id\":1,\"result\":1},{\"id\":2,\"result\":2}]"));
	ck_assert(!passes(&m, "[{\"id\":1,\"result\":1},{\"id\":2,\"result\":2}]"));
	ck_assert_uint_eq(m.n, 0);
	ck_assert_uint_eq(m.nulls, 0);
	client(&m, "[7, {}, {" V ",\"id\":3,\"method\":\"a\"}]");
	ck_assert_uint_eq(m.nulls, 2);
	ck_assert_uint_eq(m.n, 1);
	client(&m, "[]");
	ck_assert_uint_eq(m.nulls, 3);
	ck_assert(passes(&m, "[{\"id\":null,\"error\":1},{\"id\":null,\"error\":1},"
	    "{\"id\":3,\"result\":2}]"));
	ck_assert_uint_eq(m.nulls, 1);
	mcp_lines_done(&m);
}
END_TEST

START_TEST(cancel_and_fail_speak_of_every_open_request)
{
	struct mcp_lines m;
	struct ats_buf b;

	mcp_lines_init(&m);
	ats_buf_init(&b, 4096);
	client(&m, "{\"id\":1,\"method\":\"x\"}");
	client(&m, "{\"id\":\"\\\"\",\"method\":\"y\"}");
	ck_assert_int_eq(mcp_cancel_all(&m, &b), 0);
	ck_assert_ptr_nonnull(strstr(b.data, "\"requestId\":1,"));
	ck_assert_ptr_nonnull(strstr(b.data, "\"requestId\":\"\\\"\","));
	ats_buf_reset(&b);
	ck_assert_int_eq(mcp_fail_all(&m, &b, "gone\n"), 0);
	ck_assert_str_eq(b.data,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"gone\\n\","
	    "\"data\":{\"code\":\"closed\"}}}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":\"\\\"\",\"error\":{\"code\":-32000,\"message\":"
	    "\"gone\\n\",\"data\":{\"code\":\"closed\"}}}\n");
	ck_assert_uint_eq(m.n, 0);
	ats_buf_done(&b);
	mcp_lines_done(&m);
}
END_TEST

#define REFUSED(code)                                                                    \
	"{\"id\":7,\"error\":{\"data\":{\"code\":\"" code "\"},\"message\":\"no\\u0021\"}}"

START_TEST(errors_of_calls_that_were_sent_before_say_that_they_may_have_run)
{
	static const struct {
		const char *method, *line;
		bool again;
		enum mcp_fate fate;
	} rows[] = {
		{ "tools/call", REFUSED("no_memory"), true, MCP_UNSURE },
		{ "tools/call", REFUSED("table_full"), true, MCP_PASS },
		{ "tools/call", REFUSED("no_memory"), false, MCP_PASS },
		{ "tools/list", REFUSED("no_memory"), true, MCP_PASS },
		{ "tools/call", "{\"id\":7,\"result\":{\"error\":{\"message\":\"x\"}}}", true,
		    MCP_PASS },
		{ "tools/call", "{\"id\":7,\"error\":{\"message\":1}}", true, MCP_PASS },
		{ "tools/call", "{\"id\":7,\"error\":\"message\"}", true, MCP_PASS },
	};
	struct mcp_lines m;
	struct ats_buf b;
	char line[100];

	mcp_lines_init(&m);
	ats_buf_init(&b, 4096);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_slice s = { rows[i].line, strlen(rows[i].line) };

		(void)snprintf(line, sizeof(line),
		    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\"}", rows[i].method);
		client(&m, line);
		if (rows[i].again)
			ck_assert_int_eq(mcp_replay(&m, &b), 0);
		ats_buf_reset(&b);
		ck_assert_msg(mcp_from_engine(&m, s) == rows[i].fate, "row %zu", i);
		ck_assert_uint_eq(m.n, 0);
		if (rows[i].fate != MCP_UNSURE)
			continue;
		ck_assert_int_eq(mcp_unsure(s, &b), 0);
		ck_assert_str_eq(b.data, "{\"id\":7,\"error\":{\"data\":{\"code\":\"no_memory\"},"
		    "\"message\":\"" ATS_UNSURE ": no\\u0021\"}}\n");
	}
	client(&m, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}");
	ck_assert_int_eq(mcp_replay(&m, &b), 0);
	client(&m, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\"}");
	ats_buf_reset(&b);
	ck_assert_int_eq(mcp_fail_all(&m, &b, "gone"), 0);
	ck_assert_ptr_nonnull(strstr(b.data, "\"message\":\"" ATS_UNSURE ": gone\""));
	ck_assert_ptr_nonnull(strstr(b.data,
	    "\"id\":2,\"error\":{\"code\":-32000,\"message\":\"gone\""));
	ats_buf_done(&b);
	mcp_lines_done(&m);
}
END_TEST

START_TEST(room_ends_at_the_bound_and_returns)
{
	struct mcp_lines m;
	char line[64];

	mcp_lines_init(&m);
	for (unsigned i = 0; i < MCP_PENDING_MAX; i++) {
		ck_assert(mcp_lines_room(&m));
		(void)snprintf(line, sizeof(line), "{\"id\":%u,\"method\":\"x\"}", i);
		client(&m, line);
	}
	ck_assert(!mcp_lines_room(&m));
	ck_assert(passes(&m, "{\"id\":500,\"result\":{}}"));
	ck_assert(mcp_lines_room(&m));
	mcp_lines_done(&m);
}
END_TEST

#define ACK "{" V ",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{" \
	"\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"l\"},\"notifications\":%s}}"

START_TEST(a_subscription_is_not_awaited_and_is_acknowledged_once)
{
	char ack[512], none[512];
	struct mcp_lines m;
	struct ats_buf b;

	mcp_lines_init(&m);
	ats_buf_init(&b, 4096);
	(void)snprintf(ack, sizeof(ack), ACK, "{\"toolsListChanged\":true}");
	(void)snprintf(none, sizeof(none), ACK, "{}");
	client(&m, "{" V ",\"id\":\"l\",\"method\":\"subscriptions/listen\",\"params\":{"
	    "\"_meta\":{"
	    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
	    "\"io.modelcontextprotocol/clientCapabilities\":{}},\"notifications\":{}}}");
	ck_assert_uint_eq(m.n, 1);
	ck_assert(!mcp_awaits(&m));
	ck_assert(passes(&m, ack));
	ck_assert_int_eq(mcp_from_engine(&m, (struct ats_slice){ ack, strlen(ack) }),
	    MCP_RELISTEN);
	ck_assert_int_eq(mcp_relistened((struct ats_slice){ ack, strlen(ack) }, &b), 0);
	ck_assert_str_eq(b.data, "{" V ",\"method\":\"notifications/tools/list_changed\","
	    "\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"l\"}}}\n");
	ats_buf_reset(&b);
	ck_assert_int_eq(mcp_relistened((struct ats_slice){ none, strlen(none) }, &b), 0);
	ck_assert_uint_eq(b.len, 0);
	client(&m, "{" V ",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
	    "\"l\"}}");
	ck_assert_uint_eq(m.n, 0);
	ck_assert(passes(&m, ack));
	ats_buf_done(&b);
	mcp_lines_done(&m);
}
END_TEST

START_TEST(notifications_are_told_from_requests)
{
	ck_assert(mcp_is_notification("{" V ",\"method\":\"a\"}", 30));
	ck_assert(!mcp_is_notification("{\"method\":\"a\"}", 14));	/* an error is due */
	ck_assert(!mcp_is_notification("{" V ",\"method\":\"a\",\"id\":1}", 37));
	ck_assert(!mcp_is_notification("{\"method\":\"a\"", 13));
	ck_assert(!mcp_is_notification("[{\"method\":\"a\"}]", 16));
	ck_assert(!mcp_is_notification(READY, strlen(READY)));	/* replay has it */
}
END_TEST

static int
code_of(const char *json, const char **note)
{
	*note = NULL;
	ck_assert_int_eq(ats_json_scan(json, strlen(json), NULL), 0);
	return exec_exit_code((struct ats_slice){ json, strlen(json) }, note);
}

START_TEST(exit_code_never_trusts_odd_objects)
{
	static const struct {
		const char *json;
		int code;
		bool note;
	} t[] = {
		{ "{\"outcome\":\"done\",\"exit\":{\"kind\":\"exit\",\"code\":0}}", 0, false },
		{ "{\"exit\":{\"code\":3,\"kind\":\"exit\"},\"outcome\":\"done\"}", 3, false },
		{ "{\"outcome\":\"done\",\"exit\":{\"kind\":\"signal\",\"code\":2}}", 130, false },
		{ "{\"outcome\":\"done\",\"exit\":{\"kind\":\"signal\",\"code\":128}}", 125, true },
		{ "{\"outcome\":\"done\",\"exit\":{\"kind\":\"exit\"}}", 125, true },
		{ "{\"outcome\":\"done\",\"exit\":{\"kind\":\"exit\",\"code\":-1}}", 125, true },
		{ "{\"outcome\":\"done\",\"exit\":{\"kind\":\"timeout\"}}", 124, false },
		{ "{\"outcome\":\"done\",\"exit\":7}", 125, true },
		{ "{\"outcome\":\"done\"}", 125, true }, { "{}", 125, true }, { "[]", 125, true },
		{ "7", 125, true }, { "{\"outcome\":\"unknown\"}", 125, true },
		{ "{\"outcome\":1,\"exit\":{\"kind\":\"exit\",\"code\":0}}", 125, true },
	};
	const char *note;

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ck_assert_msg(code_of(t[i].json, &note) == t[i].code, "row %zu", i);
		ck_assert_msg((note != NULL) == t[i].note, "row %zu", i);
	}
}
END_TEST

ATS_UNIT_MAIN("ctl_mcp", answers_pass_once_and_only_for_open_requests,
    answers_of_any_form_are_told_by_their_id,
    lines_that_are_no_json_lose_the_connection,
    replay_holds_the_handshake_and_open_requests_in_order,
    lines_that_are_no_requests_are_not_kept, malformed_requests_with_an_id_wait_for_their_answer,
    errors_with_id_null_are_awaited_and_made_up_for_after_a_loss,
    batches_are_kept_by_their_members,
    cancel_and_fail_speak_of_every_open_request,
    errors_of_calls_that_were_sent_before_say_that_they_may_have_run,
    room_ends_at_the_bound_and_returns,
    a_subscription_is_not_awaited_and_is_acknowledged_once,
    notifications_are_told_from_requests, exit_code_never_trusts_odd_objects)
