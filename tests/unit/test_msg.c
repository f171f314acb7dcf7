/* SPDX-License-Identifier: Apache-2.0
 *
 * The decoder and encoder of proto/msg.c. */
#include "tests/lib/unit.h"

#include "proto/msg.h"
#include "proto/tools.h"

static int
decode(const struct ats_shape *shape, const char *json, unsigned flags, void *ret,
    struct ats_buf *arena, struct ats_err *err)
{
	err->code = 0;
	err->text[0] = '\0';
	return ats_msg_decode(shape, json, strlen(json), flags, ret, arena, err);
}

#define EXEC (&ats_frame_rows[ATS_FRAME_CALL_EXEC].shape)
#define WINDOW (&ats_frame_rows[ATS_FRAME_WINDOW].shape)

START_TEST(decode_whole_exec_fills_every_member)
{
	static const char json[] =
	    "{\"argv\":[\"sh\",\"-c\",\"echo \\u00e9\"],\"ctx\":{\"cwd\":\"/\"},"
	    "\"session\":\"s-1\",\"window\":65536,\"tty\":true,\"rows\":24}";
	struct ats_msg_CALL_EXEC m;
	struct ats_buf arena;
	struct ats_err err;

	ats_buf_init(&arena, 1u << 20);
	ck_assert_int_eq(decode(EXEC, json, 0, &m, &arena, &err), 0);
	ck_assert_uint_eq(m.n_argv, 3);
	ck_assert_str_eq(m.argv[0], "sh");
	ck_assert_str_eq(m.argv[2], "echo \xc3\xa9");
	ck_assert_ptr_null(m.argv[3]);
	ck_assert_str_eq(m.session, "s-1");
	ck_assert_uint_eq(m.window, 65536);
	ck_assert(m.has_tty && m.tty && !m.has_want_stdin && m.has_rows && !m.has_cols);
	ck_assert_uint_eq(m.ctx.n, strlen("{\"cwd\":\"/\"}"));
	ck_assert_ptr_eq(m.ctx.p, strstr(json, "{\"cwd\""));
	ats_buf_done(&arena);
}
END_TEST

START_TEST(decode_long_argv_survives_a_moving_arena)
{
	struct ats_msg_CALL_EXEC m;
	struct ats_buf arena, json;
	struct ats_err err;
	char want[32];
	size_t i;

	ats_buf_init(&arena, 8u << 20);
	ats_buf_init(&json, 8u << 20);
	ck_assert_int_eq(ats_buf_add_str(&json, "{\"session\":\"first\",\"argv\":["), 0);
	for (i = 0; i < 20000; i++)
		ck_assert_int_eq(ats_buf_addf(&json, "%s\"a%zu\"", i ? "," : "", i), 0);
	ck_assert_int_eq(ats_buf_add_str(&json, "],\"ctx\":{},\"window\":1}"), 0);
	ck_assert_int_eq(decode(EXEC, json.data, 0, &m, &arena, &err), 0);
	ck_assert_uint_eq(m.n_argv, 20000);
	ck_assert_str_eq(m.session, "first");
	for (i = 0; i < 20000; i++) {
		(void)snprintf(want, sizeof(want), "a%zu", i);
		ck_assert_str_eq(m.argv[i], want);
	}
	ck_assert_ptr_null(m.argv[20000]);
	ats_buf_done(&arena);
	ats_buf_done(&json);
}
END_TEST

static const struct {
	const char *json;
	int code;
	const char *text;
} bad_windows[] = {
	{ "{\"stream\":\"stdin\"}", ATS_E_FIELD, "bytes: is required" },
	{ "{\"bytes\":1}", ATS_E_FIELD, "stream: is required" },
	{ "{\"stream\":\"stdin\",\"bytes\":\"1\"}", ATS_E_FIELD,
	    "bytes: expected an integer from 0 to 8388608, got \"1\"" },
	{ "{\"stream\":\"stdin\",\"bytes\":-1}", ATS_E_FIELD, NULL },
	{ "{\"stream\":\"stdin\",\"bytes\":1.5}", ATS_E_FIELD, NULL },
	{ "{\"stream\":\"stdin\",\"bytes\":8388609}", ATS_E_FIELD, NULL },
	{ "{\"stream\":\"stdin\",\"bytes\":18446744073709551616}", ATS_E_FIELD, NULL },
	{ "{\"stream\":\"stdin\",\"bytes\":null}", ATS_E_FIELD, NULL },
	{ "{\"stream\":1,\"bytes\":1}", ATS_E_FIELD, "stream: expected a string, got 1" },
	{ "{\"stream\":[],\"bytes\":1}", ATS_E_FIELD,
	    "stream: expected a string, got an array" },
	{ "{\"stream\":\"123456789\",\"bytes\":1}", ATS_E_FIELD,
	    "stream: too long, at most 8 bytes" },
	{ "{\"stream\":\"a\\u0000b\",\"bytes\":1}", ATS_E_FIELD,
	    "stream: holds a NUL character" },
	{ "{\"stream\":\"a\",\"bytes\":1,\"x\":1}", ATS_E_FIELD,
	    "x: unknown; there are: stream, bytes" },
	{ "{\"stream\":\"a\",\"bytes\":1,\"bytes\":1}", ATS_E_JSON, NULL },
	{ "{\"stream\":\"a\",\"bytes\":1,\"byte\\u0073\":1}", ATS_E_JSON, NULL },
	{ "[]", ATS_E_FIELD, "control.window: expected an object" },
	{ "1", ATS_E_FIELD, NULL },
	{ "", ATS_E_JSON, NULL },
	{ "{}x", ATS_E_JSON, NULL },
	{ "{\"stream\":\"\xff\",\"bytes\":1}", ATS_E_UTF8, NULL },
	{ "{\"stream\":\"\\ud800\",\"bytes\":1}", ATS_E_JSON, NULL },
};

START_TEST(decode_bad_member_is_refused_by_name)
{
	struct ats_msg_WINDOW m;
	struct ats_buf arena;
	struct ats_err err;
	size_t i;
	int rc;

	ats_buf_init(&arena, 65536);
	for (i = 0; i < ATS_ARRAY_LEN(bad_windows); i++) {
		rc = decode(WINDOW, bad_windows[i].json, 0, &m, &arena, &err);
		ck_assert_msg(rc == -bad_windows[i].code && err.code == -rc, "row %zu: %d %s", i,
		    rc, err.text);
		if (bad_windows[i].text != NULL)
			ck_assert_str_eq(err.text, bad_windows[i].text);
		/* The text is a service: without it the answer is the same. */
		ck_assert_int_eq(ats_msg_decode(WINDOW, bad_windows[i].json,
		    strlen(bad_windows[i].json), 0, &m, &arena, NULL), rc);
	}
	ats_buf_done(&arena);
}
END_TEST

START_TEST(decode_unknown_member_is_skipped_only_when_asked)
{
	struct ats_msg_WINDOW m;
	struct ats_buf arena;
	struct ats_err err;
	const char *json = "{\"new\":{\"deep\":[1,2]},\"stream\":\"a\",\"bytes\":1}";

	ats_buf_init(&arena, 65536);
	ck_assert_int_eq(decode(WINDOW, json, 0, &m, &arena, &err), -ATS_E_FIELD);
	ck_assert_int_eq(decode(WINDOW, json, ATS_DECODE_SKIP_UNKNOWN, &m, &arena, &err), 0);
	ck_assert_uint_eq(m.bytes, 1);
	ats_buf_done(&arena);
}
END_TEST

START_TEST(decode_escaped_key_is_the_same_key)
{
	struct ats_msg_WINDOW m;
	struct ats_buf arena;
	struct ats_err err;

	ats_buf_init(&arena, 65536);
	ck_assert_int_eq(decode(WINDOW, "{\"\\u0073tream\":\"a\",\"bytes\":7}", 0, &m, &arena,
	    &err), 0);
	ck_assert_str_eq(m.stream, "a");
	ats_buf_done(&arena);
}
END_TEST

START_TEST(decode_arena_over_its_cap_is_too_big)
{
	struct ats_msg_WINDOW m;
	struct ats_buf arena;
	struct ats_err err;

	ats_buf_init(&arena, 4);
	ck_assert_int_eq(decode(WINDOW, "{\"stream\":\"stdout\",\"bytes\":7}", 0, &m, &arena,
	    &err), -ATS_E_TOOBIG);
	ats_buf_done(&arena);
}
END_TEST

START_TEST(encode_then_decode_gives_the_same)
{
	static const char *const argv[] = { "printf", "a\"b\\c\n", "", NULL };
	struct ats_msg_CALL_EXEC m = {
		.argv = argv, .n_argv = 3, .ctx = { .p = "{}", .n = 2 }, .session = "s-1",
		.window = 5, .has_want_stdin = true, .want_stdin = false,
	}, back;
	struct ats_buf out, arena;
	struct ats_err err;

	ats_buf_init(&out, 65536);
	ats_buf_init(&arena, 65536);
	ck_assert_int_eq(ats_msg_encode(EXEC, &m, &out, &err), 0);
	ck_assert_int_eq(decode(EXEC, out.data, 0, &back, &arena, &err), 0);
	ck_assert_uint_eq(back.n_argv, 3);
	ck_assert_str_eq(back.argv[1], argv[1]);
	ck_assert_str_eq(back.argv[2], "");
	ck_assert(back.has_want_stdin && !back.want_stdin && !back.has_tty);
	ck_assert(!back.has_deadline_ms);
	ats_buf_done(&out);
	ats_buf_done(&arena);
}
END_TEST

START_TEST(encode_unfit_message_leaves_out_as_it_was)
{
	struct ats_msg_WINDOW none = { .bytes = 1 }, large = { .stream = "a", .bytes = 1u << 30 },
		longer = { .stream = "123456789", .bytes = 1 };
	struct ats_buf out;
	struct ats_err err;

	ats_buf_init(&out, 65536);
	ck_assert_int_eq(ats_buf_add_str(&out, "kept"), 0);
	ck_assert_int_eq(ats_msg_encode(WINDOW, &none, &out, &err), -ATS_E_FIELD);
	ck_assert_int_eq(ats_msg_encode(WINDOW, &large, &out, &err), -ATS_E_FIELD);
	ck_assert_int_eq(ats_msg_encode(WINDOW, &longer, &out, &err), -ATS_E_FIELD);
	ck_assert_str_eq(out.data, "kept");
	ats_buf_done(&out);
}
END_TEST

START_TEST(encode_frame_without_fields_is_an_empty_object)
{
	struct ats_msg_ACK m = { 0 };
	struct ats_buf out;

	ats_buf_init(&out, 64);
	ck_assert_int_eq(ats_msg_encode(&ats_frame_rows[ATS_FRAME_ACK].shape, &m, &out, NULL), 0);
	ck_assert_str_eq(out.data, "{}");
	ats_buf_done(&out);
}
END_TEST

ATS_UNIT_MAIN("msg", decode_whole_exec_fills_every_member,
    decode_long_argv_survives_a_moving_arena, decode_bad_member_is_refused_by_name,
    decode_unknown_member_is_skipped_only_when_asked, decode_escaped_key_is_the_same_key,
    decode_arena_over_its_cap_is_too_big, encode_then_decode_gives_the_same,
    encode_unfit_message_leaves_out_as_it_was, encode_frame_without_fields_is_an_empty_object)
