/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of 2026-07-28: what head and body must say alike, and what the engine gets. */
#include "tests/lib/unit.h"

#include "brain/http/modern.h"

#define V "\"io.modelcontextprotocol/protocolVersion\":"
#define C "\"io.modelcontextprotocol/clientCapabilities\":"
#define META "\"_meta\":{" V "\"2026-07-28\"," C "{}}"
#define BODY(method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params "}}"
#define VERSION "MCP-Protocol-Version: 2026-07-28\r\n"
#define HEAD(fields) "POST /mcp HTTP/1.1\r\n" fields "\r\n"
#define CALL(fields) HEAD(VERSION "Mcp-Method: tools/call\r\n" fields)
#define NAMED(fields) CALL("Mcp-Name: t\r\n" fields)
#define CALLS BODY("tools/call", "\"name\":\"t\"," META)

static struct modern q;

static void
check(const char *head, const char *body)
{
	struct ats_http_head h;
	struct message m;
	const char *why;

	ck_assert_msg(ats_http_request_read(head, strlen(head), &h, NULL) == 0, "%s", head);
	ck_assert_msg(message_read(body, strlen(body), &m, &why) == 0, "%s: %s", body, why);
	modern_check(&h, &m, &q);
}

START_TEST(head_and_body_say_the_same_or_are_refused)
{
	static const struct {
		const char *head, *body;
		int code;
	} rows[] = {
		{ NAMED(""), CALLS, 0 },
		{ HEAD("mcp-protocol-version:2026-07-28\r\nMCP-METHOD: ping\r\n"),
		    BODY("ping", META), 0 },
		{ CALL("Mcp-Name:  \t t  \r\n"), CALLS, 0 },
		{ CALL("Mcp-Name: =?base64?dA==?=\r\n"), CALLS, 0 },
		{ CALL("Mcp-Name: =?base64?4pyT?=\r\n"),
		    BODY("tools/call", "\"name\":\"\\u2713\"," META), 0 },
		{ CALL("Mcp-Name: u\r\n"), BODY("tools\\/call", "\"name\":\"\\u0075\"," META),
		    0 },
		{ HEAD(VERSION "Mcp-Method: resources/read\r\nMcp-Name: f:x\r\n"),
		    BODY("resources/read", "\"uri\":\"f:x\"," META), 0 },
		{ CALL(""), BODY("tools/call", META), 0 },	/* the engine's to refuse */
		/* params._meta */
		{ NAMED(""), BODY("tools/call", "\"name\":\"t\""), -32602 },
		{ NAMED(""), BODY("tools/call", "\"name\":\"t\",\"_meta\":1"), -32602 },
		{ NAMED(""), BODY("tools/call", "\"name\":\"t\",\"_meta\":{" C "{}}"), -32602 },
		{ NAMED(""), BODY("tools/call", "\"_meta\":{" V "1," C "{}}"), -32602 },
		{ NAMED(""), BODY("tools/call", "\"_meta\":{" V "\"2026-07-28\"}"), -32602 },
		{ NAMED(""), BODY("tools/call", "\"_meta\":{" V "\"2026-07-28\"," C "[]}"),
		    -32602 },
		{ NAMED(""), BODY("tools/call", "\"_meta\":{" V "\"2026-07-28\"," C "{},"
		    "\"io.modelcontextprotocol/clientInfo\":\"x\"}"), -32602 },
		{ NAMED(""), BODY("tools/call", "\"_meta\":{" V "\"2026-07-28\"," C "{},"
		    "\"ats/headers\":{}}"), -32602 },
		{ NAMED(""), "{\"id\":1,\"method\":\"tools/call\"}", -32602 },
		{ NAMED(""), "{\"id\":1,\"method\":\"tools/call\",\"params\":[]}", -32602 },
		/* MCP-Protocol-Version */
		{ HEAD("Mcp-Method: tools/call\r\nMcp-Name: t\r\n"), CALLS, -32020 },
		{ HEAD(VERSION VERSION "Mcp-Method: tools/call\r\nMcp-Name: t\r\n"), CALLS,
		    -32020 },
		{ HEAD("MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/call\r\n"), CALLS,
		    -32020 },
		{ NAMED(""), BODY("tools/call", "\"_meta\":{" V "\"v9\"," C "{}}"), -32020 },
		{ HEAD("MCP-Protocol-Version: v9\r\n"),
		    BODY("ping", "\"_meta\":{" V "\"v9\"," C "{}}"), -32022 },
		/* Mcp-Method, Mcp-Name */
		{ HEAD(VERSION), CALLS, -32020 },
		{ HEAD(VERSION "Mcp-Method: TOOLS/CALL\r\nMcp-Name: t\r\n"), CALLS, -32020 },
		{ HEAD(VERSION "Mcp-Method: tools/list\r\nMcp-Name: t\r\n"), CALLS, -32020 },
		{ HEAD(VERSION "Mcp-Method: =?base64?dG9vbHMvY2FsbA==?=\r\nMcp-Name: t\r\n"),
		    CALLS, -32020 },
		{ CALL(""), CALLS, -32020 },
		{ CALL("Mcp-Name: T\r\n"), CALLS, -32020 },
		{ CALL("Mcp-Name:\r\n"), CALLS, -32020 },
		{ CALL("Mcp-Name: t\r\nMcp-Name: t\r\n"), CALLS, -32020 },
		{ CALL("Mcp-Name: =?base64?dA=?=\r\n"), CALLS, -32020 },
		{ CALL("Mcp-Name: =?base64?!!==?=\r\n"), CALLS, -32020 },
		{ CALL("Mcp-Name: \xe2\x9c\x93\r\n"), CALLS, -32020 },
		/* Mcp-Param-* */
		{ NAMED("Mcp-Param-A: x\r\nmcp-param-a: x\r\n"), CALLS, -32020 },
		{ NAMED("Mcp-Param-A: =?base64?SGVsbG8?=\r\n"), CALLS, -32020 },
		{ NAMED("Mcp-Param-A: =?base64?/w==?=\r\n"), CALLS, -32020 },
		{ NAMED("Mcp-Param-A: \xe2\r\n"), CALLS, -32020 },
		{ NAMED("Mcp-Param-: x\r\n"), CALLS, 0 },
		{ NAMED("Mcp-Param-abcdefghijklmnopqrstuvwxyzabcdefghijklm"
		    "nopqrstuvwxyzabcdef: x\r\n"),
		    CALLS, -32020 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		check(rows[i].head, rows[i].body);
		ck_assert_msg(q.code == rows[i].code && (q.status == 400) == (q.code != 0),
		    "row %zu: %d %d %s", i, q.status, q.code, q.why);
		ck_assert_int_eq(q.version.p != NULL, q.code == -32022);
		ats_buf_done(&q.headers);
	}
}
END_TEST

START_TEST(params_of_the_head_are_decoded)
{
	check(NAMED("Mcp-Param-Region: us-west1\r\nmcp-param-B: =?base64?IHgg?=\r\n"
	    "Mcp-Param-C: =?base64?SGVsbG8=\r\nMcp-Param-D:\r\nMcp-Param-E: =?base64?" "?=\r\n"),
	    CALLS);
	ck_assert_int_eq(q.status, 0);
	ck_assert_str_eq(q.headers.data, "{\"region\":\"us-west1\",\"b\":\" x \","
	    "\"c\":\"=?base64?SGVsbG8=\",\"d\":\"\",\"e\":\"\"}");
	ats_buf_done(&q.headers);
	check(HEAD(VERSION "Mcp-Method: ping\r\nMcp-Param-A: x\r\n"), BODY("ping", META));
	ck_assert_uint_eq(q.headers.len, 0);
	ats_buf_done(&q.headers);
}
END_TEST

START_TEST(only_what_says_so_is_of_this_revision)
{
	static const struct {
		const char *version, *body;
		bool is;
	} rows[] = {
		{ "2026-07-28", BODY("ping", ""), true },
		{ "", BODY("ping", META), true },
		{ "2025-11-25", BODY("ping", "\"_meta\":{" C "1}"), true },
		{ "", BODY("server/discover", ""), true },
		{ "", BODY("subscriptions/listen", ""), true },
		{ "2026-07-28", "{\"id\":1,\"result\":{}}", true },
		{ "2025-11-25", BODY("ping", "\"_meta\":{\"progressToken\":1}"), false },
		{ "", BODY("initialize", META), true },
		{ "", BODY("initialize", "\"_meta\":{" V "\"2025-11-25\"," C "{}}"), false },
		{ "2027-01-01", BODY("ping", ""), false },
		{ "", "{\"id\":1,\"result\":{" META "}}", false },
		{ "", "{\"id\":1,\"method\":\"ping\",\"params\":[{" META "}]}", false },
	};
	struct message m;
	const char *why;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(message_read(rows[i].body, strlen(rows[i].body), &m, &why), 0);
		ck_assert_msg(modern_is(rows[i].version, &m) == rows[i].is, "row %zu", i);
	}
}
END_TEST

static void
line_of(const char *body, const char *headers, const char *expected)
{
	struct ats_buf out, hb;
	struct message m;
	const char *why;

	ats_buf_init(&out, 4096);
	ats_buf_init(&hb, 4096);
	ck_assert_int_eq(ats_buf_add_str(&hb, headers), 0);
	ck_assert_int_eq(message_read(body, strlen(body), &m, &why), 0);
	ck_assert_int_eq(modern_line(&m, "\"h-1\"", &hb, &out), 0);
	ck_assert_str_eq(out.data, expected);
	ats_buf_done(&out);
	ats_buf_done(&hb);
}

START_TEST(the_line_has_an_id_of_ours_wherever_the_clients_stood)
{
	line_of(" {\"id\":\"a b\",\n\"method\":\"x\",\"params\":{" META "}}\r\n", "",
	    "{\"id\":\"h-1\", \"method\":\"x\",\"params\":{" META "}}");
	line_of("{\"params\":{\"_meta\":{\"progressToken\":\"id\"," V "\"v\"}},\"method\":\"x\","
	    "\"id\":-1.5e3}", "{\"a\":\"b\"}",
	    "{\"params\":{\"_meta\":{\"ats/headers\":{\"a\":\"b\"},\"progressToken\":\"h-1\"," V
	    "\"v\"}},\"method\":\"x\",\"id\":\"h-1\"}");
}
END_TEST

START_TEST(what_comes_back_has_the_clients_own_id)
{
	static const char line[] = "{\"id\":\"h-1\",\"error\":{\"code\":-32601}}";
	struct ats_slice parts[3];
	struct said said;
	char text[128];

	ck_assert_int_eq(message_said((struct ats_slice){ line, sizeof(line) - 1 }, &said), 0);
	ck_assert_int_eq(said.code, -32601);
	modern_splice((struct ats_slice){ line, sizeof(line) - 1 }, said.id, "12345", parts);
	(void)snprintf(text, sizeof(text), "%.*s%.*s%.*s", (int)parts[0].n, parts[0].p,
	    (int)parts[1].n, parts[1].p, (int)parts[2].n, parts[2].p);
	ck_assert_str_eq(text, "{\"id\":12345,\"error\":{\"code\":-32601}}");
	ck_assert_int_eq(modern_status(0), 200);
	ck_assert_int_eq(modern_status(-32601), 404);
	ck_assert_int_eq(modern_status(-32602), 200);
	ck_assert_int_eq(modern_status(-32603), 200);
	for (int code = -32022; code <= -32020; code++)
		ck_assert_int_eq(modern_status(code), 400);
}
END_TEST

ATS_UNIT_MAIN("http_modern", head_and_body_say_the_same_or_are_refused,
    params_of_the_head_are_decoded, only_what_says_so_is_of_this_revision,
    the_line_has_an_id_of_ours_wherever_the_clients_stood,
    what_comes_back_has_the_clients_own_id)
