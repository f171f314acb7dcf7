/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of front that workers answer: what they may say, how they die, which ids are
 * known, what is kept. */
#include "hands/front/front.h"

#include "tests/lib/front_rig.h"

START_TEST(call_read_gets_the_workers_result_with_times)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct frame fr;

	call_tool(r, 7, "Read", "{\"file_path\":\"a\"}", "");
	w = read_job(r, 7, ATS_PROFILE_READ);
	reply(w, REPLY_RESULT, "{\"outcome\":\"done\",\"run_us\":5}", "1\thi", 4);
	expect(r, ATS_FRAME_RESULT, 7, &fr);
	ck_assert_str_eq(fr.payload, "1\thi");
	ck_assert(strstr(fr.json, "\"queue_us\":") != NULL);
	ck_assert(strstr(fr.json, "\"run_us\":5") != NULL);
	rig_free(r);
}
END_TEST

/* Content that came ahead is the result's, unless that brings its own. */
START_TEST(text_ahead_of_a_result_is_its_content)
{
	static char part[12000];
	struct rig *r = rig_new(true);
	struct frame fr;

	for (uint64_t id = 20; id < 24; id++) {
		bool own = id % 2 != 0;
		struct fake_worker *w;

		call_tool(r, id, "Read", "{\"file_path\":\"a\"}", "");
		w = read_job(r, id, ATS_PROFILE_READ);
		for (int i = 0; i < 5; i++) {
			memset(part, 'a' + i, sizeof(part));
			reply(w, REPLY_TEXT, "", part, sizeof(part));
			turn(r);
		}
		reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "own", own ? 3 : 0);
		expect(r, ATS_FRAME_RESULT, id, &fr);
		ck_assert_uint_eq(fr.h.payload_len, own ? 3 : 5 * sizeof(part));
		for (size_t i = 0; !own && i < fr.h.payload_len; i++)
			ck_assert_int_eq(fr.payload[i], (int)('a' + i / sizeof(part)));
	}
	rig_free(r);
}
END_TEST

START_TEST(text_ahead_is_bounded)
{
	static char part[64u << 10];
	static const struct reply_head odd = { .what = REPLY_TEXT, .json_len = 2 };
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct frame fr;

	call_tool(r, 30, "Read", "{\"file_path\":\"a\"}", "");
	w = read_job(r, 30, ATS_PROFILE_READ);
	for (size_t n = 0; n <= WORKER_PAYLOAD_MAX; n += sizeof(part)) {
		reply(w, REPLY_TEXT, "", part, sizeof(part));
		turn(r);
	}
	expect(r, ATS_FRAME_RESULT, 30, &fr);
	ck_assert(strstr(fr.json, "\"is_error\":true") != NULL);
	gone(r, w, SIGKILL);
	call_tool(r, 31, "Read", "{\"file_path\":\"a\"}", "");
	w = read_job(r, 31, ATS_PROFILE_READ);
	ck_assert_int_eq(ats_fd_write_all(w->sock, &odd, sizeof(odd)), 0);
	expect(r, ATS_FRAME_RESULT, 31, &fr);
	ck_assert(strstr(fr.json, "\"is_error\":true") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(worker_that_answers_nonsense_is_killed_and_reported)
{
	static const struct {
		const char *json;
		size_t payload;
	} rows[] = {
		{ "not json", 0 },
		{ "{}", 0 },
		{ "{\"outcome\":\"unknown\"}", 0 },
		{ "{\"outcome\":\"done\",\"surprise\":1}", 0 },
		{ "{\"outcome\":\"done\",\"blocks\":[{\"type\":\"text\",\"len\":9}]}",
		    3 },
		{ "{\"outcome\":\"done\",\"blocks\":[{\"type\":\"text\",\"len\":1}]}",
		    3 },
		{ "{\"outcome\":\"done\",\"blocks\":[{\"len\":18446744073709551615},"
		  "{\"len\":4}]}",
		    3 },
		{ "{\"outcome\":\"done\",\"ctx_delta\":{\"cwd\":\"/etc\"}}", 0 },
		{ "{\"outcome\":\"done\",\"ctx_delta\":{\"shell_started\":\"bash_1\"}}",
		    0 },
		{ "{\"outcome\":\"done\",\"ctx_delta\":{\"x\":1}}", 0 },
	};
	struct rig *r = rig_new(true);

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_worker *w;
		struct frame fr;

		call_tool(r, 100 + i, "Read", "{\"file_path\":\"a\"}", "");
		w = read_job(r, 100 + i, ATS_PROFILE_READ);
		reply(w, REPLY_RESULT, rows[i].json, "abc", rows[i].payload);
		expect(r, ATS_FRAME_RESULT, 100 + i, &fr);
		ck_assert_msg(strstr(fr.json, "\"code\":\"protocol\"") != NULL,
		    "row %zu: %s", i, fr.json);
		turn(r);
		ck_assert_uint_eq(r->last_killed, w->serial);
		gone(r, w, SIGKILL);
	}
	rig_free(r);
}
END_TEST

/* What it passes must not stay open in front: a descriptor that does fails the test. */
START_TEST(worker_that_passes_several_descriptors_is_lost)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct frame fr;
	int fds[2] = { STDOUT_FILENO, STDERR_FILENO };

	call_tool(r, 150, "Read", "{\"file_path\":\"a\"}", "");
	w = read_job(r, 150, ATS_PROFILE_READ);
	ck_assert_int_eq(ats_fd_send(w->sock, "x", 1, fds, 2), 1);
	expect(r, ATS_FRAME_RESULT, 150, &fr);
	ck_assert(strstr(fr.json, "\"is_error\":true") != NULL);
	turn(r);
	ck_assert_uint_eq(r->last_killed, w->serial);
	gone(r, w, SIGKILL);
	rig_free(r);
}
END_TEST

START_TEST(worker_with_an_impossible_reply_head_is_lost)
{
	static const struct reply_head heads[] = {
		{ .what = 0 },
		{ .what = 99 },
		{ .what = REPLY_RESULT, .json_len = UINT32_MAX },
		{ .what = REPLY_RESULT, .json_len = 2, .payload_len = 4u << 20 },
		{ .what = REPLY_RESULT, .zero = 1 },
	};
	struct rig *r = rig_new(true);

	for (size_t i = 0; i < ATS_ARRAY_LEN(heads); i++) {
		struct fake_worker *w;
		struct frame fr;

		call_tool(r, 200 + i, "Read", "{\"file_path\":\"a\"}", "");
		w = read_job(r, 200 + i, ATS_PROFILE_READ);
		ck_assert_int_eq(
		    ats_fd_write_all(w->sock, &heads[i], sizeof(heads[i])), 0);
		expect(r, ATS_FRAME_RESULT, 200 + i, &fr);
		ck_assert(strstr(fr.json, "\"is_error\":true") != NULL);
		gone(r, w, SIGKILL);
	}
	rig_free(r);
}
END_TEST

START_TEST(worker_that_dies_is_named_by_how)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{ SIGSYS, "forbidden system call" },
		{ SIGSEGV, "SIGSEGV" },
		{ SIGKILL, "SIGKILL" },
		{ 125 << 8, "status 125" },
	};
	struct rig *r = rig_new(true);

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_worker *w;
		struct frame fr;

		call_tool(
		    r, 300 + i, "Write", "{\"file_path\":\"a\",\"content\":\"\"}", "");
		w = read_job(r, 300 + i, ATS_PROFILE_WRITE);
		gone(r, w, rows[i].status);
		expect(r, ATS_FRAME_RESULT, 300 + i, &fr);
		ck_assert_msg(strstr(fr.payload, rows[i].text) != NULL, "%s", fr.payload);
		ck_assert(strstr(fr.payload, "read it again") != NULL);
	}
	rig_free(r);
}
END_TEST

START_TEST(call_with_a_known_id_runs_once)
{
	static const char in[] = "{\"file_path\":\"a\",\"content\":\"x\"}";
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct job_head h;
	struct frame fr;
	char json[8192];

	call_tool(r, 9, "Write", in, ",\"keep\":true");
	w = read_job(r, 9, ATS_PROFILE_WRITE);
	call_tool(r, 9, "Write", in, ",\"keep\":true"); /* while it runs */
	ck_assert_ptr_null(job_of(r, ATS_PROFILE_WRITE, &h, json, sizeof(json)));
	reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "ok", 2);
	expect(r, ATS_FRAME_RESULT, 9, &fr);
	call_tool(r, 9, "Write", in, ",\"keep\":true,\"attempt\":1"); /* kept */
	expect(r, ATS_FRAME_RESULT, 9, &fr);
	ck_assert_str_eq(fr.payload, "ok");
	call_tool(
	    r, 9, "Write", "{\"file_path\":\"b\",\"content\":\"x\"}", ",\"keep\":true");
	expect(r, ATS_FRAME_RESULT, 9, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"id_reused\"") != NULL);
	ck_assert_ptr_null(job_of(r, ATS_PROFILE_WRITE, &h, json, sizeof(json)));
	send_frame(r, ATS_FRAME_ACK, 9, "{}", NULL, 0);
	ck_assert_ptr_null(calls_find(r->f.calls, 9));
	rig_free(r);
}
END_TEST

START_TEST(kept_results_come_again_after_a_reconnect_and_pure_calls_do_not)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w, *pure;
	struct frame fr;

	call_tool(
	    r, 20, "Write", "{\"file_path\":\"a\",\"content\":\"x\"}", ",\"keep\":true");
	w = read_job(r, 20, ATS_PROFILE_WRITE);
	call_tool(r, 21, "Read", "{\"file_path\":\"a\"}", "");
	pure = read_job(r, 21, ATS_PROFILE_READ);
	reconnect(r);
	turn(r);
	ck_assert_uint_eq(r->last_killed, pure->serial);
	expect(r, ATS_FRAME_HELLO, 0, &fr);
	say_hello(r);
	expect(r, ATS_FRAME_READY, 0, &fr);
	ck_assert_msg(strstr(fr.json, "\"running\":[20]") != NULL, "%s", fr.json);
	reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "ok", 2);
	expect(r, ATS_FRAME_RESULT, 20, &fr);
	reconnect(r);
	attach(r);
	expect(r, ATS_FRAME_RESULT, 20, &fr);
	ck_assert_str_eq(fr.payload, "ok");
	rig_free(r);
}
END_TEST

START_TEST(cancel_and_deadline_answer_once)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct frame fr;

	call_tool(r, 30, "Grep", "{\"pattern\":\"a\"}", "");
	w = read_job(r, 30, ATS_PROFILE_READ);
	send_frame(r, ATS_FRAME_CANCEL, 30, "{}", NULL, 0);
	expect(r, ATS_FRAME_RESULT, 30, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"cancelled\"") != NULL);
	turn(r);
	ck_assert_uint_eq(r->last_killed, w->serial);
	send_frame(r, ATS_FRAME_CALL_TOOL, 31,
	    "{\"name\":\"Grep\",\"input\":{\"pattern\":\"a\"},"
	    "\"ctx\":" CTX ",\"deadline_ms\":1,\"session\":\"" SESSION "\"}",
	    NULL, 0);
	expect(r, ATS_FRAME_RESULT, 31, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"timeout\"") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(calls_over_the_limit_are_not_started)
{
	struct rig *r = rig_new(true);
	struct frame fr;

	for (unsigned i = 0; i < CALLS_ACTIVE; i++)
		call_tool(r, 1000 + i, "KillShell", "{\"shell_id\":\"bash_9\"}", "");
	expect(r, ATS_FRAME_RESULT, 1000 + CALLS_ACTIVE - 1, &fr);
	/* Those are answered at once. Calls that wait for a worker are not. */
	for (unsigned p = 0; p < 3; p++) { /* zygotes that make nothing any more */
		(void)shutdown(r->zygote[p], SHUT_RD);
		(void)shutdown(r->zygote[p], SHUT_WR);
	}
	for (unsigned i = 0; i <= CALLS_ACTIVE; i++)
		call_tool(r, 5000 + i, "Read", "{\"file_path\":\"a\"}", "");
	expect(r, ATS_FRAME_RESULT, 5000 + CALLS_ACTIVE, &fr);
	ck_assert_msg(strstr(fr.json, "\"code\":\"table_full\"") != NULL, "%s", fr.json);
	ck_assert(strstr(fr.json, "\"outcome\":\"not_started\"") != NULL);
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_tools", call_read_gets_the_workers_result_with_times,
    text_ahead_of_a_result_is_its_content, text_ahead_is_bounded,
    worker_that_answers_nonsense_is_killed_and_reported,
    worker_that_passes_several_descriptors_is_lost,
    worker_with_an_impossible_reply_head_is_lost, worker_that_dies_is_named_by_how,
    call_with_a_known_id_runs_once,
    kept_results_come_again_after_a_reconnect_and_pure_calls_do_not,
    cancel_and_deadline_answer_once, calls_over_the_limit_are_not_started)
