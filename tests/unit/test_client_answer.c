/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of brain's answers for a runtime: three ends, whatever is sent. */
#include "brain/client/client.h"

#include "tests/lib/unit.h"

static const struct {
	enum call_kind kind;
	const char *result, *error;
	enum ats_end end;
	int is_error, valid;
	const char *code, *text, *delta;
} rows[] = {
	{ CALL_TOOL, "{\"outcome\":\"done\",\"is_error\":false,\"content\":[{\"type\":\"text\","
	    "\"text\":\"a\"},"
	    "{\"type\":\"image\",\"data\":\"x\"},{\"type\":\"text\","
	    "\"text\":\"b\\u0000\\ud83d\\ude00\"}],"
	    "\"ctx_delta\":{\"cwd\":\"/\"}}", NULL, ATS_DONE, 0, 0, "",
	    "a\nb\xef\xbf\xbd\xf0\x9f\x98\x80", "{\"cwd\":\"/\"}" },
	{ CALL_TOOL, "{\"outcome\":\"done\",\"is_error\":true,\"code\":\"not_read\"}", NULL,
	    ATS_DONE, 1, 0,
	    "not_read", "", NULL },
	{ CALL_TOOL, "{\"outcome\":\"not_started\",\"is_error\":false}", NULL, ATS_NOT_STARTED, 1,
	    0, "",
	    "", NULL },
	{ CALL_TOOL, "{\"outcome\":\"unknown\",\"code\":\"sandbox_lost\"}", NULL, ATS_UNKNOWN, 1,
	    0,
	    "sandbox_lost", "", NULL },
	{ CALL_TOOL, "{\"outcome\":\"perhaps\"}", NULL, ATS_UNKNOWN, 1, 0, "", "", NULL },
	{ CALL_TOOL, "{\"outcome\":1,\"is_error\":\"x\",\"content\":{},\"ctx_delta\":[],"
	    "\"code\":[]}", NULL,
	    ATS_UNKNOWN, 1, 0, "", "", NULL },
	{ CALL_TOOL, "{}", NULL, ATS_UNKNOWN, 1, 0, "", "", NULL },
	{ CALL_TOOL,
	    "{\"outcome\":\"done\",\"content\":[1,\"x\",{},{\"text\":7},{\"text\":\"y\"}],"
	    "\"code\":\"not a word\"}", NULL, ATS_DONE, 0, 0, "", "y", NULL },
	{ CALL_TOOL,
	    "{\"outcome\":\"done\",\"code\":\"a234567890123456789012345678901234567890\"}", NULL,
	    ATS_DONE, 0, 0, "", "", NULL },
	{ CALL_TOOL, NULL, NULL, ATS_UNKNOWN, 1, 0, "protocol",
	    "brain's answer has no result; the call may have run", NULL },
	{ CALL_TOOL, NULL, "{\"code\":-32602,\"message\":\"name: missing\"}", ATS_NOT_STARTED, 1,
	    0,
	    "bad_field", "name: missing", NULL },
	{ CALL_TOOL, NULL, "{\"code\":-32601,\"message\":\"no\"}", ATS_NOT_STARTED, 1, 0,
	    "unknown_method", "no", NULL },
	{ CALL_TOOL, NULL,
	    "{\"code\":-32000,\"message\":\"full\",\"data\":{\"code\":\"table_full\"}}",
	    ATS_NOT_STARTED, 1, 0, "table_full", "full", NULL },
	{ CALL_TOOL, NULL, "{\"code\":\"x\",\"message\":7,\"data\":[]}", ATS_NOT_STARTED, 1, 0,
	    "", "",
	    NULL },
	{ CALL_HOOK, NULL, "{\"code\":-32000,\"data\":{\"code\":\"sandbox_lost\"}}", ATS_UNKNOWN,
	    1, 0,
	    "sandbox_lost", "", NULL },
	{ CALL_VALIDATE, NULL, "{\"code\":-32000,\"data\":{\"code\":\"timeout\"}}",
	    ATS_NOT_STARTED, 1, 0,
	    "timeout", "", NULL },
	{ CALL_VALIDATE, "{\"valid\":true,\"text\":\"would\",\"notice\":\"asks\"}", NULL,
	    ATS_DONE, 0, 1,
	    "", "would\nasks", NULL },
	{ CALL_VALIDATE, "{\"valid\":false,\"code\":\"no_match\",\"text\":\"no\"}", NULL,
	    ATS_DONE, 1, 0,
	    "no_match", "no", NULL },
	{ CALL_VALIDATE, "{\"valid\":1,\"text\":[]}", NULL, ATS_DONE, 1, 0, "", "", NULL },
	{ CALL_HOOK, "{\"decision\":\"deny\",\"reason\":\"no\"}", NULL, ATS_DONE, 0, 0, "", "no",
	    NULL },
	{ CALL_HOOK, NULL, "{\"code\":-32000,\"data\":{\"code\":\"cancelled\"}}", ATS_UNKNOWN, 1, 0,
	    "cancelled", "", NULL },
	{ CALL_HOOK, "{\"outcome\":\"unknown\"}", NULL, ATS_UNKNOWN, 1, 0, "", "", NULL },
};

static struct ats_slice
slice(const char *text)
{
	return (struct ats_slice){ text, text == NULL ? 0 : strlen(text) };
}

START_TEST(answer_read_has_three_ends)
{
	struct ats_answer a;
	struct ats_buf text;
	char code[40];

	ats_buf_init(&text, 4096);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert(answer_read(rows[i].kind, slice(rows[i].result), slice(rows[i].error),
		    &text, code, &a));
		ck_assert_msg(a.end == rows[i].end, "row %zu", i);
		ck_assert_msg(!!a.is_error == rows[i].is_error, "row %zu", i);
		ck_assert_msg(!!a.valid == rows[i].valid, "row %zu", i);
		ck_assert_str_eq(a.code, rows[i].code);
		ck_assert_str_eq(a.text, rows[i].text);
		ck_assert_uint_eq(a.text_len, strlen(rows[i].text));
		ck_assert_uint_eq(a.result_len,
		    rows[i].result == NULL ? 0 : strlen(rows[i].result));
		ck_assert((a.ctx_delta == NULL) == (rows[i].delta == NULL));
		if (a.ctx_delta != NULL)
			ck_assert(memcmp(a.ctx_delta, rows[i].delta, a.ctx_delta_len) == 0);
	}
	ats_buf_done(&text);
	ats_buf_init(&text, 1);
	ck_assert(!answer_read(CALL_TOOL, slice(rows[0].result), slice(NULL), &text, code, &a));
	ats_buf_done(&text);
}
END_TEST

ATS_UNIT_MAIN("client_answer", answer_read_has_three_ends)
