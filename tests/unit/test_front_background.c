/* SPDX-License-Identifier: Apache-2.0
 *
 * Background commands of front, with scripted monitors. */
#include "hands/front/front.h"

#include "tests/lib/front_rig.h"

START_TEST(background_output_is_told_once_with_status)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = 7 << 8, .cwd = "/ws" };
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 50, "Bash", "{\"command\":\"x\",\"run_in_background\":true}", "");
	expect(r, ATS_FRAME_RESULT, 50, &fr);
	ck_assert(strstr(fr.payload, "bash_1") != NULL);
	ck_assert(strstr(fr.json, "\"shell_started\":\"bash_1\"") != NULL);
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_int_eq(write(w->out, "one\n\xe4", 5), 5); /* half a character */
	turn(r);
	call_tool(r, 51, "BashOutput", "{\"bash_id\":\"bash_1\"}", "");
	expect(r, ATS_FRAME_RESULT, 51, &fr);
	ck_assert_str_eq(
	    fr.payload, "<status>running</status>\n<output>\none\n</output>");
	ck_assert_int_eq(write(w->out, "\xbd\xa0\n", 3), 3);
	shell_exit(r, w, &e);
	turn(r);
	call_tool(r, 52, "BashOutput", "{\"bash_id\":\"bash_1\"}", "");
	expect(r, ATS_FRAME_RESULT, 52, &fr);
	ck_assert_str_eq(fr.payload, "<status>failed</status>\n<exit_code>7</exit_code>\n"
				     "<output>\n\xe4\xbd\xa0\n</output>");
	ck_assert(strstr(fr.json, "\"shell_ended\":\"bash_1\"") != NULL);
	call_tool(r, 53, "BashOutput", "{\"bash_id\":\"bash_1\"}", "");
	expect(r, ATS_FRAME_RESULT, 53, &fr);
	ck_assert(strstr(fr.payload, "(no new output)") != NULL);
	send_frame(r, ATS_FRAME_CALL_TOOL, 54,
	    "{\"name\":\"BashOutput\",\"input\":{\"bash_id\":"
	    "\"bash_1\"},\"ctx\":" CTX ",\"deadline_ms\":1000,\"session\":\"s-other\"}",
	    NULL, 0);
	expect(r, ATS_FRAME_RESULT, 54, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"unknown_id\"") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(task_output_waits_for_the_end_and_blocks_nothing)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .cwd = "/ws" };
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 70, "Bash", "{\"command\":\"x\",\"run_in_background\":true}", "");
	w = shell_job(r, &h, json, sizeof(json));
	expect(r, ATS_FRAME_RESULT, 70, &fr);
	ck_assert_int_eq(write(w->out, "one\n", 4), 4);
	turn(r);
	/* looks only */
	call_tool(r, 71, "TaskOutput", "{\"task_id\":\"bash_1\",\"block\":false}", "");
	expect(r, ATS_FRAME_RESULT, 71, &fr);
	ck_assert_str_eq(
	    fr.payload, "<status>running</status>\n<output>\none\n</output>");
	/* waits, and ends by its own time */
	call_tool(r, 72, "TaskOutput", "{\"task_id\":\"bash_1\",\"timeout\":20}", "");
	expect(r, ATS_FRAME_RESULT, 72, &fr);
	ck_assert_str_eq(fr.payload, "<status>running</status>\n(no new output)");
	ck_assert(strstr(fr.json, "is_error") == NULL);
	/* two wait, one is cancelled, others are served meanwhile */
	call_tool(r, 73, "TaskOutput", "{\"task_id\":\"bash_1\"}", "");
	call_tool(r, 74, "TaskOutput", "{\"task_id\":\"bash_1\",\"block\":true}", "");
	call_tool(r, 75, "BashOutput", "{\"bash_id\":\"bash_1\"}", "");
	expect(r, ATS_FRAME_RESULT, 75, &fr);
	send_frame(r, ATS_FRAME_CANCEL, 73, "{}", NULL, 0);
	expect(r, ATS_FRAME_RESULT, 73, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"cancelled\"") != NULL);
	ck_assert_int_eq(write(w->out, "two\n", 4), 4);
	shell_exit(r, w, &e);
	expect(r, ATS_FRAME_RESULT, 74, &fr);
	ck_assert_str_eq(fr.payload, "<status>completed</status>\n<exit_code>0</exit_code>\n"
				     "<output>\ntwo\n</output>");
	ck_assert(strstr(fr.json, "\"shell_ended\":\"bash_1\"") != NULL);
	/* an ended one is not waited for, an unknown one neither */
	call_tool(r, 76, "TaskOutput", "{\"task_id\":\"bash_1\"}", "");
	expect(r, ATS_FRAME_RESULT, 76, &fr);
	call_tool(r, 77, "TaskOutput", "{\"task_id\":\"bash_9\"}", "");
	expect(r, ATS_FRAME_RESULT, 77, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"unknown_id\"") != NULL);
	rig_free(r);
}
END_TEST

/* The rig goes with a waiting call in it: nothing may be left or used after. */
START_TEST(task_output_waits_when_front_ends)
{
	struct rig *r = rig_new(true);
	struct job_head h;
	char json[8192];

	call_tool(r, 78, "Bash", "{\"command\":\"x\",\"run_in_background\":true}", "");
	(void)shell_job(r, &h, json, sizeof(json));
	call_tool(r, 79, "TaskOutput", "{\"task_id\":\"bash_1\"}", "");
	turn(r);
	rig_free(r);
}
END_TEST

START_TEST(task_stop_ends_as_kill_shell_does)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = SIGTERM, .cwd = "/ws" };
	struct monitor_msg m;
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 80, "Bash", "{\"command\":\"x\",\"run_in_background\":true}", "");
	w = shell_job(r, &h, json, sizeof(json));
	expect(r, ATS_FRAME_RESULT, 80, &fr);
	call_tool(r, 81, "TaskOutput", "{\"task_id\":\"bash_1\"}", "");
	call_tool(r, 82, "TaskStop", "{\"task_id\":\"bash_1\"}", "");
	ck_assert_int_eq(recv(w->sock, &m, sizeof(m), MSG_DONTWAIT), sizeof(m));
	ck_assert_uint_eq(m.what, MONITOR_TERM);
	shell_exit(r, w, &e);
	expect(r, ATS_FRAME_RESULT, 82, &fr);
	ck_assert(strstr(fr.payload, "killed, exit code 137") != NULL);
	expect(r, ATS_FRAME_RESULT, 81, &fr);
	ck_assert(strstr(fr.payload, "<status>killed</status>") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(background_kill_sends_term_first_and_answers_at_the_end)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = SIGTERM, .cwd = "/ws" };
	struct monitor_msg m;
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 55, "Bash", "{\"command\":\"x\",\"run_in_background\":true}", "");
	w = shell_job(r, &h, json, sizeof(json));
	call_tool(r, 56, "KillBash", "{\"shell_id\":\"bash_1\"}", "");
	ck_assert_int_eq(recv(w->sock, &m, sizeof(m), MSG_DONTWAIT), sizeof(m));
	ck_assert_uint_eq(m.what, MONITOR_TERM);
	shell_exit(r, w, &e);
	expect(r, ATS_FRAME_RESULT, 56, &fr);
	ck_assert_msg(
	    strstr(fr.payload, "killed, exit code 137") != NULL, "%s", fr.payload);
	rig_free(r);
}
END_TEST

START_TEST(background_filter_waits_for_the_end_of_a_line)
{
	static const struct {
		const char *printed, *given;
	} rows[] = { { "a\nan er", "a\n" }, { "ror\n", "an error\n" }, { "x", "" },
		{ "y", "xy" } };
	struct rig *r = rig_new(true);
	struct job_exit e = { .cwd = "/ws" };
	struct job_head h;
	struct fake_worker *w, *reader;
	struct frame fr;
	char json[8192];

	call_tool(r, 90, "Bash", "{\"command\":\"x\",\"run_in_background\":true}", "");
	w = shell_job(r, &h, json, sizeof(json));
	for (unsigned i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].printed);

		ck_assert_int_eq(write(w->out, rows[i].printed, n), (ssize_t)n);
		turn(r);
		if (i == ATS_ARRAY_LEN(rows) - 1) { /* a line without an end, at the end */
			shell_exit(r, w, &e);
			turn(r);
		}
		call_tool(r, 91 + i, "BashOutput",
		    "{\"bash_id\":\"bash_1\",\"filter\":\"error\"}", "");
		reader = job_of(r, ATS_PROFILE_READ, &h, json, sizeof(json));
		ck_assert_ptr_nonnull(reader);
		ck_assert_str_eq(json + h.json_len, rows[i].given);
		reply(reader, REPLY_RESULT, "{\"outcome\":\"done\"}", "", 0);
		expect(r, ATS_FRAME_RESULT, 91 + i, &fr);
	}
	rig_free(r);
}
END_TEST

START_TEST(background_filter_is_done_by_a_read_worker)
{
	struct rig *r = rig_new(true);
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 57, "Bash", "{\"command\":\"x\",\"run_in_background\":true}", "");
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_int_eq(write(w->out, "a\nb\n", 4), 4);
	turn(r);
	call_tool(r, 58, "BashOutput", "{\"bash_id\":\"bash_1\",\"filter\":\"b\"}", "");
	w = job_of(r, ATS_PROFILE_READ, &h, json, sizeof(json));
	ck_assert_ptr_nonnull(w);
	ck_assert_uint_eq(h.extra_len, 4);
	ck_assert_str_eq(json + h.json_len, "a\nb\n");
	reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "b\n", 2);
	expect(r, ATS_FRAME_RESULT, 58, &fr);
	ck_assert_str_eq(fr.payload, "<status>running</status>\n<output>\nb\n</output>");
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_background", background_output_is_told_once_with_status,
    background_kill_sends_term_first_and_answers_at_the_end,
    task_output_waits_for_the_end_and_blocks_nothing, task_output_waits_when_front_ends,
    task_stop_ends_as_kill_shell_does, background_filter_waits_for_the_end_of_a_line,
    background_filter_is_done_by_a_read_worker)
