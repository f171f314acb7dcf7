/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and texts of the relay directory, and specs of tools. */
#include "tests/lib/unit.h"

#include "proto/relaydir.h"
#include "proto/specs.h"

/* ---- names ------------------------------------------------------------------------- */
START_TEST(an_id_has_only_plain_characters)
{
	static const char *const t[][2] = { { "call_1-A", "call_1-A" }, { "", "tool" },
		{ "../../etc/passwd", "______etc_passwd" }, { "a.b c", "a_b_c" },
		{ "\xc3\xa9", "_" }, { "\xe2\x82\xac", "_" }, { "x\xf0\x9f\x98\x80y", "x__y" },
		{ "\xff\xfe", "__" }, { "\n", "_" } };
	char id[ATS_RELAYDIR_ID_MAX + 1], longer[300];

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ats_relaydir_id(t[i][0], id);
		ck_assert_str_eq(id, t[i][1]);
	}
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	ats_relaydir_id(longer, id);
	ck_assert_uint_eq(strlen(id), ATS_RELAYDIR_ID_MAX);
	memcpy(longer + ATS_RELAYDIR_ID_MAX - 1, "\xf0\x9f\x98\x80", 4);
	ats_relaydir_id(longer, id);
	ck_assert_uint_eq(strlen(id), ATS_RELAYDIR_ID_MAX);
}
END_TEST

START_TEST(kind_tells_what_a_name_is)
{
	static const struct {
		const char *name;
		enum ats_relaydir_kind kind;
		const char *id;
	} t[] = {
		{ "c1.req.json", ATS_RELAYDIR_REQUEST, "c1" },
		{ "c1.res.json", ATS_RELAYDIR_RESPONSE, "c1" },
		{ ".req.json", ATS_RELAYDIR_REQUEST, "" },
		{ "a.b.req.json", ATS_RELAYDIR_REQUEST, "" },
		{ "\xc3\xa9.req.json", ATS_RELAYDIR_REQUEST, "" },
		{ "c1.req.json.tmp.0a1b", ATS_RELAYDIR_REQUEST_TEMP, "" },
		{ "c1.res.json.tmp.x", ATS_RELAYDIR_RESPONSE_TEMP, "" },
		{ "c1.req.json.tmp.x.res.json", ATS_RELAYDIR_RESPONSE, "" },
		{ "c1.req.json.tmp.", ATS_RELAYDIR_OTHER, "" },
		{ ".tmp.x", ATS_RELAYDIR_OTHER, "" },
		{ "notes.json", ATS_RELAYDIR_OTHER, "" },
		{ "c1.req.json.bak", ATS_RELAYDIR_OTHER, "" },
		{ "req.json", ATS_RELAYDIR_OTHER, "" },
		{ "", ATS_RELAYDIR_OTHER, "" },
	};
	char id[ATS_RELAYDIR_ID_MAX + 1], name[300];

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ck_assert_msg(ats_relaydir_kind(t[i].name, id) == t[i].kind, "%s", t[i].name);
		ck_assert_str_eq(id, t[i].id);
	}
	for (size_t n = ATS_RELAYDIR_ID_MAX; n <= ATS_RELAYDIR_ID_MAX + 1; n++) {
		memset(name, 'a', n);
		(void)strcpy(name + n, ".req.json");
		ck_assert_int_eq(ats_relaydir_kind(name, id), ATS_RELAYDIR_REQUEST);
		ck_assert_uint_eq(strlen(id), n > ATS_RELAYDIR_ID_MAX ? 0 : n);
	}
}
END_TEST

START_TEST(names_are_read_back)
{
	char name[ATS_RELAYDIR_NAME], other[ATS_RELAYDIR_NAME], id[ATS_RELAYDIR_ID_MAX + 1];
	char full[ATS_RELAYDIR_ID_MAX + 1];

	memset(full, 'z', ATS_RELAYDIR_ID_MAX);
	full[ATS_RELAYDIR_ID_MAX] = '\0';
	ats_relaydir_name(ATS_RELAYDIR_RESPONSE, full, name);
	ck_assert_int_eq(ats_relaydir_kind(name, id), ATS_RELAYDIR_RESPONSE);
	ck_assert_str_eq(id, full);
	ck_assert_int_eq(ats_relaydir_temp(ATS_RELAYDIR_REQUEST, full, name), 0);
	ck_assert_int_eq(ats_relaydir_temp(ATS_RELAYDIR_REQUEST, full, other), 0);
	ck_assert_str_ne(name, other);
	ck_assert_int_eq(ats_relaydir_kind(name, id), ATS_RELAYDIR_REQUEST_TEMP);
	ck_assert_uint_lt(strlen(name), sizeof(name) - 1);
}
END_TEST

/* ---- texts ------------------------------------------------------------------------- */
START_TEST(request_is_written_in_its_order)
{
	struct ats_relaydir_request r;
	struct ats_buf b;

	ats_buf_init(&b, 4096);
	ck_assert_int_eq(ats_relaydir_request_write(&b, "gh__issue", "c \"1\"",
	    (struct ats_slice){ "{\"b\":1,\"a\":[]}", 14 }), 0);
	ck_assert_str_eq(b.data, "{\"toolName\":\"gh__issue\",\"toolCallId\":\"c \\\"1\\\"\","
	    "\"args\":{\"b\":1,\"a\":[]}}");
	ck_assert_int_eq(ats_relaydir_request_read(b.data, b.len, &r, NULL), 0);
	ck_assert_str_eq(r.tool, "gh__issue");
	ck_assert_uint_eq(r.args.n, 14);
	ats_buf_reset(&b);
	ck_assert_int_eq(
	    ats_relaydir_request_write(&b, "t", "c", (struct ats_slice){ NULL, 0 }), 0);
	ck_assert_str_eq(b.data, "{\"toolName\":\"t\",\"toolCallId\":\"c\",\"args\":{}}");
	ats_buf_done(&b);
}
END_TEST

START_TEST(a_request_may_have_no_arguments)
{
	static const char *const t[] = { "{\"toolName\":\"t\",\"toolCallId\":\"c\"}",
		"{\"toolName\":\"t\",\"toolCallId\":\"\",\"args\":null}",
		" {\"args\":null , \"toolCallId\":\"c\", \"tool\\u004eame\":\"t\"}\n" };
	struct ats_relaydir_request r;

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ck_assert_int_eq(ats_relaydir_request_read(t[i], strlen(t[i]), &r, NULL), 0);
		ck_assert_str_eq(r.tool, "t");
		ck_assert_ptr_null(r.args.p);
	}
}
END_TEST

START_TEST(a_wrong_request_is_refused_without_its_bytes)
{
	static const struct {
		const char *text;
		int code;
	} t[] = {
		{ "", ATS_E_JSON },
		{ "root:x:0:0:SECRET:/root:/bin/bash\n", ATS_E_JSON },
		{ "\"SECRET\"", ATS_E_FIELD },
		{ "[\"SECRET\"]", ATS_E_FIELD },
		{ "{}", ATS_E_FIELD },
		{ "{\"toolName\":\"SECRET\"}", ATS_E_FIELD },
		{ "{\"toolName\":\"\",\"toolCallId\":\"c\"}", ATS_E_FIELD },
		{ "{\"toolName\":7,\"toolCallId\":\"c\"}", ATS_E_FIELD },
		{ "{\"toolName\":\"a\\u0000b\",\"toolCallId\":\"c\"}", ATS_E_FIELD },
		{ "{\"toolName\":\"t\",\"toolCallId\":7}", ATS_E_FIELD },
		{ "{\"toolName\":\"t\",\"toolCallId\":\"c\",\"args\":[]}", ATS_E_FIELD },
		{ "{\"toolName\":\"t\",\"toolCallId\":\"c\",\"args\":\"SECRET\"}", ATS_E_FIELD },
		{ "{\"toolName\":\"t\",\"toolCallId\":\"c\",\"SECRET\":1}", ATS_E_FIELD },
		{ "{\"toolName\":\"t\",\"toolName\":\"u\",\"toolCallId\":\"c\"}", ATS_E_JSON },
		{ "{\"toolName\":\"t\",\"toolCallId\":\"c\"} SECRET", ATS_E_JSON },
		{ "{\"toolName\":\"\xff\",\"toolCallId\":\"c\"}", ATS_E_UTF8 },
	};
	struct ats_relaydir_request r = { .tool = "before" };
	char *big = malloc(ATS_RELAYDIR_REQUEST_MAX + 1);
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		err = (struct ats_err){ 0 };
		ck_assert_msg(ats_relaydir_request_read(t[i].text, strlen(t[i].text), &r, &err) ==
		    -t[i].code, "%s: %d", t[i].text, err.code);
		ck_assert_int_eq(err.code, t[i].code);
		ck_assert_msg(strstr(err.text, "SECRET") == NULL && err.text[0] != '\0', "%s",
		    err.text);
	}
	ck_assert_str_eq(r.tool, "before");
	memset(big, ' ', ATS_RELAYDIR_REQUEST_MAX + 1);
	ck_assert_int_eq(ats_relaydir_request_read(big, ATS_RELAYDIR_REQUEST_MAX + 1, &r, NULL),
	    -ATS_E_TOOBIG);
	free(big);
}
END_TEST

START_TEST(answers_are_written_and_read)
{
	static const struct {
		enum ats_relaydir_answer answer;
		const char *text, *file, *json;
	} t[] = {
		{ ATS_RELAYDIR_OK, "a\n\"b\"", "{\"ok\":true,\"text\":\"a\\n\\\"b\\\"\"}",
		    "\"a\\n\\\"b\\\"\"" },
		{ ATS_RELAYDIR_OK, "", "{\"ok\":true,\"text\":\"\"}", "\"\"" },
		{ ATS_RELAYDIR_ERROR, "no", "{\"ok\":false,\"error\":\"no\"}", "\"no\"" },
		{ ATS_RELAYDIR_PAUSED, "", "{\"ok\":true,\"paused\":true}", NULL },
	};
	enum ats_relaydir_answer got;
	struct ats_slice text;
	struct ats_buf b;

	ats_buf_init(&b, 4096);
	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ats_buf_reset(&b);
		ck_assert_int_eq(ats_relaydir_response_write(&b, t[i].answer, t[i].text,
		    strlen(t[i].text)), 0);
		ck_assert_str_eq(b.data, t[i].file);
		ck_assert_int_eq(ats_relaydir_response_read(b.data, b.len, &got, &text, NULL), 0);
		ck_assert_int_eq(got, t[i].answer);
		if (t[i].json == NULL)
			ck_assert_ptr_null(text.p);
		else
			ck_assert(text.n == strlen(t[i].json) &&
			    memcmp(text.p, t[i].json, text.n) == 0);
	}
	ats_buf_done(&b);
}
END_TEST

START_TEST(of_an_answer_paused_counts_first_and_more_is_left_alone)
{
	static const struct {
		const char *text;
		int rc;
		enum ats_relaydir_answer answer;
	} t[] = {
		{ "{\"ok\":true,\"paused\":true,\"text\":\"x\"}", 0, ATS_RELAYDIR_PAUSED },
		{ "{\"ok\":false,\"paused\":true,\"error\":\"x\"}", 0, ATS_RELAYDIR_PAUSED },
		{ "{\"ok\":true,\"paused\":false,\"text\":\"x\",\"ms\":3}", 0, ATS_RELAYDIR_OK },
		{ "{\"text\":\"x\",\"ok\":false,\"error\":\"y\"}", 0, ATS_RELAYDIR_ERROR },
		{ "{\"ok\":true}", -ATS_E_FIELD, 0 },
		{ "{\"ok\":false,\"text\":\"x\"}", -ATS_E_FIELD, 0 },
		{ "{\"ok\":1,\"text\":\"x\"}", -ATS_E_FIELD, 0 },
		{ "{\"text\":\"x\"}", -ATS_E_FIELD, 0 },
		{ "{\"ok\":true,\"text\":null}", -ATS_E_FIELD, 0 },
		{ "{\"ok\":true,\"text\":\"x\"", -ATS_E_JSON, 0 },
		{ "[]", -ATS_E_FIELD, 0 },
	};
	enum ats_relaydir_answer got;
	struct ats_slice text;

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ck_assert_msg(ats_relaydir_response_read(t[i].text, strlen(t[i].text), &got, &text,
		    NULL) == t[i].rc, "%s", t[i].text);
		if (t[i].rc == 0)
			ck_assert_int_eq(got, t[i].answer);
	}
}
END_TEST

/* ---- specs ------------------------------------------------------------------------- */
START_TEST(specs_lose_their_line_breaks_and_what_is_not_known)
{
	static const char text[] = "[ {\"name\": \"gh__issue\", \"permission\": \"ask\",\n"
	    "  \"description\":\"a \\\" b\\n\", \"input_schema\": {\n \"type\" : \"object\" }},\r\n"
	    "{\"name\":\"b\",\"timeoutMs\":30000,\"kind\":\"client\",\"description\":null,"
	    "\"inputSchema\":{},\"input_schema\":{\"x\":1}}]\n";
	struct ats_specs s = { 0 }, again = { 0 };
	struct ats_buf b;

	ats_buf_init(&b, 4096);
	ck_assert_int_eq(ats_specs_read(text, strlen(text), &s, NULL), 0);
	ck_assert_uint_eq(s.n, 2);
	ck_assert_ptr_eq(ats_specs_find(&s, "b"), &s.v[1]);
	ck_assert_ptr_null(ats_specs_find(&s, "c"));
	ck_assert(s.v[1].client && !s.v[0].client && s.v[1].timeout_ms == 30000);
	ck_assert_int_eq(ats_specs_write(&b, &s), 0);
	ck_assert_str_eq(b.data, "[{\"name\":\"gh__issue\",\"description\":\"a \\\" b\\n\","
	    "\"inputSchema\":{\"type\":\"object\"},\"kind\":\"callback\"},"
	    "{\"name\":\"b\",\"inputSchema\":{},\"kind\":\"client\",\"timeoutMs\":30000}]");
	ck_assert_int_eq(ats_specs_read(b.data, b.len, &again, NULL), 0);
	ck_assert(ats_specs_equal(&s, &again));
	again.v[0].timeout_ms = 1;
	ck_assert(!ats_specs_equal(&s, &again));
	ats_specs_done(&again);
	ats_specs_done(&s);
	ats_specs_done(&s);
	ck_assert_int_eq(ats_specs_read("[]", 2, &s, NULL), 0);
	ck_assert_uint_eq(s.n, 0);
	ats_specs_done(&s);
	ats_buf_done(&b);
}
END_TEST

START_TEST(wrong_specs_are_refused_as_a_whole)
{
	static const struct {
		const char *text;
		int code;
	} t[] = {
		{ "", ATS_E_JSON },
		{ "{}", ATS_E_FIELD },
		{ "[1]", ATS_E_FIELD },
		{ "[{}]", ATS_E_FIELD },
		{ "[{\"name\":\"\"}]", ATS_E_FIELD },
		{ "[{\"name\":null}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\"},{\"name\":\"a\"}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\",\"description\":1}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\",\"inputSchema\":[]}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\",\"inputSchema\":\"x\"}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\",\"timeoutMs\":-1}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\",\"timeoutMs\":86400001}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\",\"timeoutMs\":\"5\"}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\",\"kind\":1}]", ATS_E_FIELD },
		{ "[{\"name\":\"a\"}] x", ATS_E_JSON },
		{ "[{\"name\":\"\xc3\"}]", ATS_E_UTF8 },
	};
	struct ats_specs s = { .n = 77 };
	struct ats_buf many;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++)
		ck_assert_msg(ats_specs_read(t[i].text, strlen(t[i].text), &s, &err) ==
		    -t[i].code, "%s: %s", t[i].text, err.text);
	ck_assert_uint_eq(s.n, 77);
	ats_buf_init(&many, 1u << 20);
	for (int n = 0; n <= ATS_SPECS_MAX; n++)
		ck_assert_int_eq(ats_buf_addf(&many, "%c{\"name\":\"t%d\"}", n == 0 ? '[' : ',',
		    n), 0);
	ck_assert_int_eq(ats_buf_add_char(&many, ']'), 0);
	ck_assert_int_eq(ats_specs_read(many.data, many.len, &s, NULL), -ATS_E_TOOBIG);
	ats_buf_done(&many);
}
END_TEST

ATS_UNIT_MAIN("relaydir", an_id_has_only_plain_characters, kind_tells_what_a_name_is,
    names_are_read_back, request_is_written_in_its_order, a_request_may_have_no_arguments,
    a_wrong_request_is_refused_without_its_bytes, answers_are_written_and_read,
    of_an_answer_paused_counts_first_and_more_is_left_alone,
    specs_lose_their_line_breaks_and_what_is_not_known, wrong_specs_are_refused_as_a_whole)
