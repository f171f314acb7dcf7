/* SPDX-License-Identifier: Apache-2.0
 *
 * The Bash tool of front, with scripted monitors. */
#include "hands/front/front.h"

#include "tests/lib/front_rig.h"

START_TEST(bash_gives_command_and_directory_and_gets_output_and_status)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = 3 << 8, .cwd = "/ws/sub" };
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 40, "Bash", "{\"command\":\"make it\"}", ",\"keep\":true");
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_uint_eq(h.flags, JOB_MERGE);
	ck_assert_uint_eq(h.json_len, 5);
	ck_assert_int_eq(memcmp(json, "/ws\0\0make it", 12), 0);
	ck_assert_int_eq(write(w->out, "out\n", 4), 4);
	shell_exit(r, w, &e);
	expect(r, ATS_FRAME_RESULT, 40, &fr);
	ck_assert_str_eq(fr.payload, "Exit code 3\nout");
	ck_assert(strstr(fr.json, "\"is_error\":true") != NULL);
	ck_assert(strstr(fr.json, "\"exit_kind\":\"exit\"") != NULL);
	ck_assert(strstr(fr.json, "\"ctx_delta\":{\"cwd\":\"/ws/sub\"}") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(bash_whose_monitor_dies_says_so)
{
	struct rig *r = rig_new(true);
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 41, "Bash", "{\"command\":\"x\"}", "");
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_int_eq(write(w->out, "part", 4), 4);
	gone(r, w, SIGKILL);
	expect(r, ATS_FRAME_RESULT, 41, &fr);
	ck_assert(strstr(fr.payload, "SIGKILL") != NULL);
	ck_assert(strstr(fr.payload, "part") != NULL);
	ck_assert(strstr(fr.payload, "monitor was killed") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(bash_whose_monitor_sends_a_wrong_exit_is_lost)
{
	struct rig *r = rig_new(true);
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 42, "Bash", "{\"command\":\"x\"}", "");
	w = shell_job(r, &h, json, sizeof(json));
	reply(w, REPLY_EXIT, "", "short", 5);
	expect(r, ATS_FRAME_RESULT, 42, &fr);
	ck_assert(strstr(fr.payload, "monitor was killed") != NULL);
	turn(r);
	ck_assert_uint_eq(r->last_killed, w->serial);
	rig_free(r);
}
END_TEST

START_TEST(bash_that_cannot_start_is_not_started)
{
	struct rig *r = rig_new(true);
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 43, "Bash", "{\"command\":\"x\"}", "");
	w = shell_job(r, &h, json, sizeof(json));
	reply(w, REPLY_RESULT, "{\"outcome\":\"not_started\"}", "mount: no", 9);
	expect(r, ATS_FRAME_RESULT, 43, &fr);
	ck_assert(strstr(fr.json, "\"outcome\":\"not_started\"") != NULL);
	ck_assert(strstr(fr.payload, "mount: no") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(bash_that_times_out_says_by_whose_limit)
{
	static const struct {
		const char *input, *deadline, *by;
	} rows[] = {
		{ "{\"command\":\"x\",\"timeout\":20}", "60000", "\"exit_by\":\"timeout\"" },
		{ "{\"command\":\"x\",\"timeout\":60000}", "20", "\"exit_by\":\"deadline\"" },
		{ "{\"command\":\"x\"}", "20", "\"exit_by\":\"deadline\"" },
		/* a caller that names none has the tool's own as its deadline */
		{ "{\"command\":\"x\",\"timeout\":20}", "20", "\"exit_by\":\"timeout\"" },
	};
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = SIGTERM, .cwd = "/ws" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct monitor_msg m;
		struct job_head h;
		struct fake_worker *w;
		struct frame fr;
		char json[8192];

		(void)snprintf(json, sizeof(json),
		    "{\"name\":\"Bash\",\"input\":%s,\"ctx\":" CTX ",\"deadline_ms\":%s,"
		    "\"session\":\"" SESSION "\"}",
		    rows[i].input, rows[i].deadline);
		send_frame(r, ATS_FRAME_CALL_TOOL, 60 + i, json, NULL, 0);
		w = shell_job(r, &h, json, sizeof(json));
		while (recv(w->sock, &m, sizeof(m), MSG_DONTWAIT) != sizeof(m))
			turn(r);
		ck_assert_uint_eq(m.what, MONITOR_TERM);
		shell_exit(r, w, &e);
		expect(r, ATS_FRAME_RESULT, 60 + i, &fr);
		ck_assert_msg(strstr(fr.json, rows[i].by) != NULL, "row %zu: %s", i, fr.json);
		ck_assert(strstr(fr.json, "\"exit_kind\":\"timeout\"") != NULL);
	}
	rig_free(r);
}
END_TEST

START_TEST(bash_whose_pipe_others_hold_says_so)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .cwd = "/ws" };
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 45, "Bash", "{\"command\":\"x\"}", "");
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_int_eq(write(w->out, "x\n", 2), 2);
	reply(w, REPLY_EXIT, "", &e, sizeof(e)); /* and w->out stays open */
	expect(r, ATS_FRAME_RESULT, 45, &fr);
	ck_assert(strstr(fr.json, "\"pipe_held\":true") != NULL);
	ck_assert_msg(strstr(fr.payload, "holds its output open") != NULL, "%s", fr.payload);
	rig_free(r);
}
END_TEST

START_TEST(bash_bad_input_is_a_tool_error_that_names_it)
{
	struct rig *r = rig_new(true);
	struct frame fr;

	call_tool(r, 44, "Bash", "{\"comand\":\"x\"}", "");
	expect(r, ATS_FRAME_RESULT, 44, &fr);
	ck_assert(strstr(fr.payload, "comand") != NULL);
	ck_assert(strstr(fr.json, "\"is_error\":true") != NULL);
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_bash", bash_gives_command_and_directory_and_gets_output_and_status,
    bash_whose_monitor_dies_says_so, bash_whose_monitor_sends_a_wrong_exit_is_lost,
    bash_that_cannot_start_is_not_started, bash_that_times_out_says_by_whose_limit,
    bash_whose_pipe_others_hold_says_so, bash_bad_input_is_a_tool_error_that_names_it)
