/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/gateway_config.h"

#include <string.h>

#include "common/json.h"
#include "proto/brain.h"
#include "tests/lib/unit.h"

static int
parse(const char *text, struct ats_gw_config *c, struct ats_err *err)
{
	int rc = ats_json_scan(text, strlen(text), err);

	return rc < 0 ? rc :
	    ats_gw_config_read(c, "g", (struct ats_slice){ text, strlen(text) }, err);
}

#define TEXTS "\"description\":\"d\",\"input\":{\"type\":\"object\",\"properties\":{" \
	"\"owner\":{\"type\":\"string\"},\"q\":{\"type\":\"string\"},\"n\":true}," \
	"\"required\":[\"owner\"]}"
#define GET "\"method\":\"GET\",\"path\":\"/r/{owner}.json\"," \
	"\"query\":{\"q\":\"x {q}\",\"n\":\"{n}\"}"
#define POST "\"method\":\"POST\",\"path\":\"/r/{owner}\""
#define HTTP(keys, tool) "{\"kind\":\"http\",\"url\":\"https://a.example\"" keys \
	",\"tools\":{\"t\":{" TEXTS "," tool "}}}"
#define COMMAND(keys, tool) "{\"kind\":\"command\"" keys ",\"tools\":{\"t\":{" tool "}}}"
#define MCP(keys) "{\"kind\":\"mcp\"" keys "}"

START_TEST(a_gateway_over_http_is_read)
{
	struct ats_gw_config c;
	struct ats_err err;
	const struct ats_gw_tool *t;

	ck_assert_int_eq(parse("{\"tools\":{\"t\":{" TEXTS "," GET ",\"read_only\":true,"
	    "\"permission\":\"ask\",\"timeout_ms\":500},\"w\":{" TEXTS "," POST
	    ",\"body\":\"json\",\"destructive\":false}},\"credential\":\"tok\",\"kind\":\"http\","
	    "\"url\":\"HTTPS\"}", &c, &err), -ATS_E_CONFIG);
	ck_assert_str_eq(err.text, "gateways.g.url: must begin with https:// or http://");
	ck_assert_int_eq(parse("{\"tools\":{\"t\":{" TEXTS "," GET ",\"read_only\":true,"
	    "\"permission\":\"ask\",\"timeout_ms\":500},\"w\":{" TEXTS "," POST
	    ",\"body\":\"json\",\"destructive\":false}},\"credential\":\"tok\",\"kind\":\"http\","
	    "\"url\":\"https://API.Example:8443/v1/\",\"headers\":{\"Accept\":\"a/b\"}"
	    "}", &c, &err), 0);
	ck_assert_int_eq(c.kind, ATS_GW_HTTP);
	ck_assert_str_eq(c.credential, "tok");
	ck_assert_int_eq(c.auth, ATS_GW_AUTH_BEARER);
	ck_assert(c.url.tls);
	ck_assert_str_eq(c.url.host, "api.example");
	ck_assert_uint_eq(c.url.port, 8443);
	ck_assert_str_eq(c.url.path, "/v1");
	ck_assert_uint_eq(c.headers.n, 1);
	ck_assert_uint_eq(c.ntools, 2);
	ck_assert_uint_eq(c.timeout_ms, ATS_GW_TIMEOUT_MS);
	ck_assert_int_eq(c.credential_fd, -1);
	t = ats_gw_find_tool(&c, "t");
	ck_assert_int_eq(t->permission, ATS_GW_ASK);
	ck_assert_uint_eq(t->timeout_ms, 500);
	ck_assert_uint_eq(t->flags, GATEWAY_READ_ONLY | GATEWAY_IDEMPOTENT);
	ck_assert_uint_eq(t->path.n, 3);
	ck_assert_str_eq(t->path.v[0].text, "/r/");
	ck_assert(t->path.v[1].is_arg);
	ck_assert_str_eq(t->path.v[1].text, "owner");
	ck_assert_str_eq(t->path.v[2].text, ".json");
	ck_assert_uint_eq(t->nquery, 2);
	ck_assert_str_eq(t->query[0].value.v[0].text, "x ");
	ck_assert_uint_eq(t->required.n, 1);
	t = ats_gw_find_tool(&c, "w");
	ck_assert_int_eq(t->body, ATS_GW_BODY_JSON);
	ck_assert_uint_eq(t->flags, 0);
	ck_assert_ptr_null(ats_gw_find_tool(&c, "x"));
	ats_gw_config_done(&c);
	ats_gw_config_done(&c);
}
END_TEST

START_TEST(hosts_and_ports_are_read)
{
	static const struct {
		const char *url, *host;
		unsigned port;
		const char *path;
	} all[] = {
		{ "https://h", "h", 443, "" },
		{ "http://127.0.0.1:80/", "127.0.0.1", 80, "" },
		{ "https://[::1]", "::1", 443, "" },
		{ "https://[2001:DB8::1]:1/a/b//", "2001:db8::1", 1, "/a/b" },
		{ "http://h:65535/a%20b", "h", 65535, "/a%20b" },
	};
	static const char *const bad[] = { "https://", "https:///x", "https://h:", "https://h:0",
		"https://h:65536", "https://h:1x", "https://h: 1", "https://h:+1", "https://[::1",
		"https://[x]", "https://[::1]x", "https://[]", "https://u@h", "https://u:p@h",
		"https://h?q", "https://h#f", "https://h/{x}", "https://h/../x", "https://h/"
		    "%2E%2e/x",
		"https://h/a b", "https://h/%4", "ftp://h", "//h", "https:/h", "https://h\\\\x",
		"https://h\xc3\xa9", "https://h,x", "https://[fe80::1%25eth0]" };
	char text[300];
	struct ats_gw_config c;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(all); i++) {
		(void)snprintf(text, sizeof(text), "{\"kind\":\"mcp\",\"url\":\"%s\"}", all[i].url);
		ck_assert_msg(parse(text, &c, &err) == 0, "%s: %s", all[i].url, err.text);
		ck_assert_str_eq(c.url.host, all[i].host);
		ck_assert_uint_eq(c.url.port, all[i].port);
		ck_assert_str_eq(c.url.path, all[i].path);
		ats_gw_config_done(&c);
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++) {
		(void)snprintf(text, sizeof(text), "{\"kind\":\"mcp\",\"url\":\"%s\"}", bad[i]);
		ck_assert_msg(parse(text, &c, &err) == -ATS_E_CONFIG, "%s", bad[i]);
		ck_assert_msg(strncmp(err.text, "gateways.g.url: ", 16) == 0, "%s", err.text);
	}
}
END_TEST

START_TEST(what_is_right_is_read)
{
	static const char *const good[] = {
		HTTP("", GET),
		HTTP(",\"auth\":\"none\"", POST ",\"body\":\"form\""),
		HTTP(",\"credential\":\"c\",\"auth\":\"basic:me\"", GET),
		HTTP(",\"credential\":\"c\",\"auth\":\"header:X-Key\",\"headers\":{\"Authorizatio"
		    "n\":"
		    "\"fixed\"}", GET),
		HTTP(",\"credential\":\"c\",\"auth\":\"query:key\",\"ca\":\"/ca.pem\"", GET),
		COMMAND("", "\"description\":\"d\",\"argv\":[\"/bin/x\",\"\"]"),
		COMMAND(",\"credential\":\"c\",\"credential_env\":\"T\",\"env\":{\"A\":\"\"}"
		    ",\"cwd\":\"/\"",
		    "\"description\":\"d\",\"argv\":[\"/bin/x\"],\"idempotent\":true"),
		COMMAND(",\"credential\":\"c\",\"credential_fd\":3",
		    "\"description\":\"d\",\"argv\":[\"/bin/x\"]"),
		MCP(",\"argv\":[\"/bin/x\"]"),
		MCP(",\"argv\":[\"/bin/x\"],\"allow\":[],\"tools\":{\"a.b/c\":{\"read_only\":true}"
		    "}"),
		MCP(",\"url\":\"https://h/mcp\",\"credential\":\"c\",\"timeout_ms\":100"),
		MCP(",\"url\":\"http://localhost/mcp\",\"credential\":\"c\",\"allow_private\":tru"
		    "e"),
	};
	struct ats_gw_config c;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(good); i++) {
		ck_assert_msg(parse(good[i], &c, &err) == 0, "%s: %s", good[i], err.text);
		ats_gw_config_done(&c);
	}
}
END_TEST

/* The key is the error's beginning. */
START_TEST(what_is_wrong_is_named)
{
	static const struct {
		const char *text, *key;
	} bad[] = {
		{ "[]", ":" },
		{ "{}", ".kind:" },
		{ "{\"kind\":\"HTTP\"}", ".kind:" },
		{ "{\"kind\":\"client\",\"tools\":{}}", ".kind: client: what an agent's own" },
		{ "{\"kind\":1}", ".kind:" },
		{ HTTP(",\"colour\":1", GET), ".colour:" },
		{ HTTP(",\"argv\":[\"/x\"]", GET), ".argv:" },
		{ HTTP(",\"url\":1", GET), "" },
		{ HTTP(",\"credential\":\"\"", GET), ".credential:" },
		{ HTTP(",\"credential\":\"c\",\"auth\":\"none\"", GET), ".credential:" },
		{ HTTP(",\"auth\":\"bearer\"", GET), ".auth:" },
		{ HTTP(",\"credential\":\"c\",\"auth\":\"basic:\"", GET), ".auth:" },
		{ HTTP(",\"credential\":\"c\",\"auth\":\"basic:a:b\"", GET), ".auth:" },
		{ HTTP(",\"credential\":\"c\",\"auth\":\"header:a b\"", GET), ".auth:" },
		{ HTTP(",\"credential\":\"c\",\"auth\":\"query:q\"", GET), ".tools:" },
		{ HTTP(",\"credential\":\"c\",\"headers\":{\"authorization\":\"x\"}", GET), ".head"
		    "ers:" },
		{ HTTP(",\"headers\":{\"Host\":\"x\"}", GET), ".headers:" },
		{ HTTP(",\"headers\":{\"a\":\"x\\r\\ny: z\"}", GET), ".headers:" },
		{ HTTP(",\"headers\":{\"a:b\":\"x\"}", GET), ".headers:" },
		{ HTTP(",\"headers\":{\"a\":1}", GET), ".headers:" },
		{ HTTP(",\"headers\":[]", GET), ".headers:" },
		{ HTTP(",\"ca\":\"ca.pem\"", GET), ".ca:" },
		{ HTTP(",\"allow_private\":1", GET), ".allow_private:" },
		{ HTTP(",\"timeout_ms\":99", GET), ".timeout_ms:" },
		{ HTTP(",\"timeout_ms\":1e3", GET), ".timeout_ms:" },
		{ "{\"kind\":\"http\",\"url\":\"https://h\"}", ".tools:" },
		{ "{\"kind\":\"http\",\"tools\":{\"t\":{" TEXTS "," GET "}}}", ".url:" },
		{ "{\"kind\":\"http\",\"url\":\"http://h\",\"credential\":\"c\",\"tools\":{\"t\":{"
		    TEXTS "," GET "}}}", ".url:" },
		{ "{\"kind\":\"http\",\"url\":\"https://h\",\"tools\":{\"a.b\":{" TEXTS "," GET "}"
		    "}}",
		    ".tools.a.b:" },
		{ "{\"kind\":\"http\",\"url\":\"https://h\",\"tools\":{\"\":{" TEXTS "," GET "}}}",
		    ".tools.:" },
		{ "{\"kind\":\"http\",\"url\":\"https://h\",\"tools\":{\"t\":1}}", ".tools.t:" },
		{ "{\"kind\":\"http\",\"url\":\"https://h\",\"tools\":[]}", ".tools:" },
		{ HTTP("", "\"method\":\"GET\""), ".tools.t.path:" },
		{ HTTP("", "\"path\":\"/x\""), ".tools.t.method:" },
		{ HTTP("", "\"method\":\"get\",\"path\":\"/x\""), ".tools.t.method:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"x\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"{owner}\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/{who}\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/{q}\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/{}\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/{owner\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/owner}\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/{{owner}}\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/a?b\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/a b\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/../b\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/a/.%2e\""), ".tools.t.path:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/a\",\"query\":{\"x\":\"{y}\"}"),
		    ".tools.t.query:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/a\",\"query\":{\"\":\"y\"}"),
		    ".tools.t.query:" },
		{ HTTP("", "\"method\":\"GET\",\"path\":\"/{owner}\""), ".tools.t.input:" },
		{ HTTP("", GET ",\"body\":\"json\""), ".tools.t.body:" },
		{ HTTP("", POST ",\"body\":\"xml\""), ".tools.t.body:" },
		{ HTTP("", POST ",\"body\":\"text:{}\""), ".tools.t.body:" },
		{ HTTP("", POST ",\"body\":\"text:{q}\""), ".tools.t.body:" },
		{ HTTP("", POST ",\"body\":\"text:{owner}\""), ".tools.t.input:" },
		{ HTTP("", GET ",\"permission\":\"never\""), ".tools.t.permission:" },
		{ HTTP("", GET ",\"read_only\":true,\"destructive\":true"), ".tools.t.destructive"
		    ":" },
		{ HTTP("", GET ",\"argv\":[\"/x\"]"), ".tools.t.argv:" },
		{ COMMAND("", "\"argv\":[\"/x\"]"), ".tools.t.description:" },
		{ COMMAND("", "\"description\":\"d\""), ".tools.t.argv:" },
		{ COMMAND("", "\"description\":\"d\",\"argv\":[]"), ".tools.t.argv:" },
		{ COMMAND("", "\"description\":\"d\",\"argv\":[\"x\"]"), ".tools.t.argv:" },
		{ COMMAND("", "\"description\":\"d\",\"argv\":[\"/x\",1]"), ".tools.t.argv:" },
		{ COMMAND("", "\"description\":\"d\",\"argv\":[\"/x\"],\"input\":{\"type\":\"arra"
		    "y\"}"),
		    ".tools.t.input:" },
		{ COMMAND("", "\"description\":\"d\",\"argv\":[\"/x\"],\"input\":{\"type\":\"objec"
		    "t\","
		    "\"properties\":[]}"), ".tools.t.input:" },
		{ COMMAND("", "\"description\":\"d\",\"argv\":[\"/x\"],\"input\":{\"type\":\"objec"
		    "t\","
		    "\"properties\":{\"a\":1}}"), ".tools.t.input:" },
		{ COMMAND("", "\"description\":\"d\",\"argv\":[\"/x\"],\"input\":{\"type\":\"objec"
		    "t\","
		    "\"required\":[\"a\"]}"), ".tools.t.input:" },
		{ COMMAND(",\"credential\":\"c\"", "\"description\":\"d\",\"argv\":[\"/x\"]"),
		    ".credential:" },
		{ COMMAND(",\"credential_fd\":3", "\"description\":\"d\",\"argv\":[\"/x\"]"),
		    ".credential_fd:" },
		{ COMMAND(",\"credential_fd\":2", "\"description\":\"d\",\"argv\":[\"/x\"]"),
		    ".credential_fd:" },
		{ COMMAND(",\"credential\":\"c\",\"credential_fd\":3,\"credential_env\":\"X\"",
		    "\"description\":\"d\",\"argv\":[\"/x\"]"), ".credential_fd:" },
		{ COMMAND(",\"credential\":\"c\",\"credential_env\":\"X=\"",
		    "\"description\":\"d\",\"argv\":[\"/x\"]"), ".credential_env:" },
		{ COMMAND(",\"credential\":\"c\",\"credential_env\":\"X\",\"env\":{\"X\":\"\"}",
		    "\"description\":\"d\",\"argv\":[\"/x\"]"), ".env:" },
		{ COMMAND(",\"env\":{\"1\":\"\"}", "\"description\":\"d\",\"argv\":[\"/x\"]"), ".e"
		    "nv:" },
		{ COMMAND(",\"cwd\":\"x\"", "\"description\":\"d\",\"argv\":[\"/x\"]"), ".cwd:" },
		{ MCP(""), ":" },
		{ MCP(",\"argv\":[\"/x\"],\"url\":\"https://h\""), ":" },
		{ MCP(",\"argv\":[\"/x\"],\"ca\":\"/x\""), ".argv:" },
		{ MCP(",\"url\":\"https://h\",\"cwd\":\"/x\""), ".url:" },
		{ MCP(",\"argv\":[\"/x\"],\"allow\":\"a\""), ".allow:" },
		{ MCP(",\"argv\":[\"/x\"],\"tools\":{\"a\":{\"input\":{}}}"), ".tools.a.input:" },
	};
	struct ats_gw_config c;
	struct ats_err err;
	char want[100];

	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++) {
		int rc = parse(bad[i].text, &c, &err);

		if (bad[i].key[0] == '\0') {		/* a key twice is no JSON of ours */
			ck_assert_int_eq(rc, -ATS_E_JSON);
			continue;
		}
		ck_assert_msg(rc == -ATS_E_CONFIG, "%s: %d", bad[i].text, rc);
		(void)snprintf(want, sizeof(want), "gateways.g%s", bad[i].key);
		ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s: %s", bad[i].text,
		    err.text);
	}
}
END_TEST

START_TEST(names_are_judged)
{
	static const char *const good[] = { "a", "git-hub_2", "abcdefghijklmnopqrstuvwxyz012345" };
	static const char *const bad[] = { "", "A", "1a", "-a", "a__b", "a_", "ats", "ats-tool"
	    "s", "a.b",
		"abcdefghijklmnopqrstuvwxyz0123456" };
	char out[ATS_GATEWAY_TOOL_MAX], tool[64];
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(good); i++)
		ck_assert_int_eq(ats_gw_check_name(good[i], &err), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++)
		ck_assert_int_eq(ats_gw_check_name(bad[i], &err), -ATS_E_CONFIG);
	ck_assert_int_eq(ats_gw_whole_name("g", "a.b \xc3\xa9-C_", out), 0);
	ck_assert_str_eq(out, "g__a_b___-C_");
	memset(tool, 'x', 62);
	tool[61] = '\0';
	ck_assert_int_eq(ats_gw_whole_name("g", tool, out), 0);
	ck_assert_uint_eq(strlen(out), ATS_GATEWAY_TOOL_MAX - 1);
	tool[61] = 'x';
	tool[62] = '\0';
	ck_assert_int_eq(ats_gw_whole_name("g", tool, out), -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_gw_whole_name("g", "", out), -ATS_E_TOOBIG);
}
END_TEST

START_TEST(a_tool_is_told_as_json)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_gw_config c;
	struct ats_err err;

	ats_buf_init(&out, 4096);
	ck_assert_int_eq(parse(COMMAND("", "\"description\":\"say \\\"x\\\"\",\"argv\":[\"/"
	    "x\"]"), &c,
	    &err), 0);
	ck_assert_int_eq(ats_gw_tool_json(&c, &c.tools[0], &out), 0);
	ck_assert_str_eq(out.data, "{\"description\":\"say \\\"x\\\"\",\"inputSchema\":{\"type\":"
	    "\"object\",\"properties\":{},\"additionalProperties\":false},\"annotations\":{"
	    "\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,"
	    "\"openWorldHint\":true},\"timeoutMs\":60000}");
	ats_gw_config_done(&c);
}
END_TEST

#define FILES(keys) "\"description\":\"d\",\"input\":{\"type\":\"object\",\"properties\":{" keys \
	"},\"required\":[\"f\"]}"
#define F "\"f\":{\"type\":\"file\"}"

START_TEST(a_file_is_told_as_a_path)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_gw_config c;
	struct ats_err err;

	ats_buf_init(&out, 4096);
	ck_assert_int_eq(parse(COMMAND("", FILES("\"n\":{\"type\":\"number\"}," F
	    ",\"g\":{\"description\":\"G\",\"type\" : \"file\",\"maxLength\":9}")
	    ",\"argv\":[\"/x\"]"),
	    &c, &err), 0);
	ck_assert_uint_eq(c.tools[0].files.n, 2);
	ck_assert_str_eq(c.tools[0].files.v[0], "f");
	ck_assert_str_eq(c.tools[0].files.v[1], "g");
	ck_assert_ptr_null(c.tools[0].files.v[2]);
	ck_assert_str_eq(c.tools[0].input, "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
	    "\"number\"},\"f\":{\"type\":\"string\",\"description\":\"Path of a file of the "
	    "workspace. Its bytes go with the call, as they are now.\"},\"g\":{\"description\":"
	    "\"G\",\"type\" : \"string\",\"maxLength\":9}},\"required\":[\"f\"]}");
	ck_assert_int_eq(ats_gw_tool_json(&c, &c.tools[0], &out), 0);
	ck_assert_ptr_nonnull(strstr(out.data, ",\"files\":[\"f\",\"g\"]}"));
	ats_gw_config_done(&c);
	ck_assert_int_eq(parse("{\"kind\":\"http\",\"url\":\"https://a.example\",\"tools\":{\"t\":{"
	    FILES(F) ",\"method\":\"PUT\",\"path\":\"/x\",\"body\":\"file:{f}\"}}}", &c, &err), 0);
	ck_assert_int_eq(c.tools[0].body, ATS_GW_BODY_FILE);
	ck_assert_str_eq(c.tools[0].body_arg, "f");
	ck_assert(ats_gw_takes_arg(&c.tools[0], (struct ats_slice){ "f", 1 }));
	ck_assert(!ats_gw_takes_arg(&c.tools[0], (struct ats_slice){ "g", 1 }));
	ats_gw_config_done(&c);
}
END_TEST

START_TEST(what_a_file_cannot_be_is_named)
{
#define PUT(keys, rest) "{\"kind\":\"http\",\"url\":\"https://a.example\",\"tools\":{\"t\":{" \
	FILES(keys) ",\"method\":\"PUT\"," rest "}}}"
#define ONLY "gateways.g.tools.t.input: the file \"f\" can only be the body: \"file:{f}\""
#define WITHIN "gateways.g.tools.t.input: the type file is for properties of input alone, " \
	"not for what is within them"
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ PUT(F, "\"path\":\"/x\",\"body\":\"json\""), ONLY },
		{ PUT(F, "\"path\":\"/{f}\""), ONLY },
		{ PUT(F, "\"path\":\"/{f}\",\"body\":\"file:{f}\""), ONLY },
		{ PUT(F, "\"path\":\"/x\",\"query\":{\"q\":\"{f}\"},\"body\":\"file:{f}\""),
		    ONLY },
		{ PUT(F, "\"path\":\"/x\",\"body\":\"text:{f}\""), ONLY },
		{ PUT("\"f\":{\"type\":\"string\"}",
		    "\"path\":\"/x\",\"body\":\"file:{f}\""),
		    "gateways.g.tools.t.body: {f} must have the type file" },
		{ PUT(F, "\"path\":\"/x\",\"body\":\"file:{g}\""),
		    "gateways.g.tools.t.body: {g} must be a required property of input" },
		{ PUT(F, "\"path\":\"/x\",\"body\":\"file:f\""), "gateways.g.tools.t.body: must be "
		    "json, form, text:{ARGUMENT} or file:{ARGUMENT}" },
		{ COMMAND("", FILES("\"f\":{\"type\":\"array\",\"items\":{\"type\":\"file\"}}")
		    ",\"argv\":[\"/x\"]"), WITHIN },
		{ COMMAND("", FILES("\"f\":{\"anyOf\":[{\"type\" :\"file\"}]}")
		    ",\"argv\":[\"/x\"]"),
		    WITHIN },
		{ COMMAND("", FILES(F ",\"g\":{\"type\":\"file\"},\"h\":{\"type\":\"file\"},\"i\":{"
		    "\"type\":\"file\"},\"j\":{\"type\":\"file\"}") ",\"argv\":[\"/x\"]"),
		    "gateways.g.tools.t.input: has more than 4 properties of type file" },
		{ MCP(",\"argv\":[\"/x\"],\"tools\":{\"t\":{\"input\":{\"type\":\"object\"}}}"),
		    NULL },
	};
	struct ats_gw_config c;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(parse(rows[i].text, &c, &err), -ATS_E_CONFIG);
		if (rows[i].why != NULL)
			ck_assert_str_eq(err.text, rows[i].why);
	}
}
END_TEST

ATS_UNIT_MAIN("gateway_config", a_gateway_over_http_is_read, hosts_and_ports_are_read,
    what_is_right_is_read, what_is_wrong_is_named, names_are_judged, a_tool_is_told_as_json,
    a_file_is_told_as_a_path, what_a_file_cannot_be_is_named)
