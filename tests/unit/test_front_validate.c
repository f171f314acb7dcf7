/* SPDX-License-Identifier: Apache-2.0
 *
 * Front's part in a validate: a read worker for any tool, its own checks of background
 * commands, nothing kept, and no verdict without an answer. */
#include "hands/front/front.h"

#include "tests/lib/front_rig.h"

static const char *const inputs[][2] = {
	{ "Read", "{\"file_path\":\"a\"}" },
	{ "Write", "{\"file_path\":\"a\",\"content\":\"b\"}" },
	{ "Edit", "{\"file_path\":\"a\",\"old_string\":\"b\",\"new_string\":\"c\"}" },
	{ "MultiEdit", "{\"file_path\":\"a\",\"edits\":[{\"old_string\":\"b\","
		       "\"new_string\":\"c\"}]}" },
	{ "NotebookEdit", "{\"notebook_path\":\"a\",\"new_source\":\"b\"}" },
	{ "Glob", "{\"pattern\":\"a\"}" },
	{ "Grep", "{\"pattern\":\"a\"}" },
	{ "LS", "{\"path\":\"a\"}" },
	{ "Bash", "{\"command\":\"touch a\"}" },
};

START_TEST(validate_of_any_tool_goes_to_a_read_worker)
{
	struct rig *r = rig_new(true);
	struct job_head h;
	struct frame fr;
	char json[8192];

	for (size_t i = 0; i < ATS_ARRAY_LEN(inputs); i++) {
		struct fake_worker *w;

		call_validate(r, 10 + i, inputs[i][0], inputs[i][1]);
		w = job_of(r, ATS_PROFILE_READ, &h, json, sizeof(json));
		ck_assert_msg(w != NULL, "%s", inputs[i][0]);
		ck_assert_uint_eq(h.call, 10 + i);
		ck_assert_uint_eq(h.flags, JOB_VALIDATE);
		reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "fine", 4);
		expect(r, ATS_FRAME_RESULT, 10 + i, &fr);
		ck_assert_str_eq(fr.payload, "fine");
		ck_assert(strstr(fr.json, "\"outcome\":\"done\"") != NULL);
		ck_assert_ptr_null(job_of(r, ATS_PROFILE_WRITE, &h, json, sizeof(json)));
		ck_assert_ptr_null(job_of(r, ATS_PROFILE_SHELL, &h, json, sizeof(json)));
		gone(r, w, 0);
	}
	/* an ordinary call is none */
	call_tool(r, 50, "Read", "{\"file_path\":\"a\"}", "");
	ck_assert_ptr_nonnull(job_of(r, ATS_PROFILE_READ, &h, json, sizeof(json)));
	ck_assert_uint_eq(h.flags, 0);
	ck_assert_uint_eq(calls_active(r->f.calls), 1);	/* of the others nothing is kept */
	rig_free(r);
}
END_TEST

START_TEST(validate_with_read_state_is_nonsense)
{
	static const char *const deltas[] = {
		"{\"outcome\":\"done\",\"ctx_delta\":{\"reads\":[]}}",
		"{\"outcome\":\"done\",\"ctx_delta\":{}}",
	};
	struct rig *r = rig_new(true);

	for (size_t i = 0; i < ATS_ARRAY_LEN(deltas); i++) {
		struct fake_worker *w;
		struct frame fr;

		call_validate(r, 10 + i, "Read", "{\"file_path\":\"a\"}");
		w = read_job(r, 10 + i, ATS_PROFILE_READ);
		reply(w, REPLY_RESULT, deltas[i], "x", 1);
		expect(r, ATS_FRAME_RESULT, 10 + i, &fr);
		ck_assert(strstr(fr.json, "\"code\":\"protocol\"") != NULL);
		ck_assert(strstr(fr.json, "not_started") != NULL);
		gone(r, w, SIGKILL);
	}
	rig_free(r);
}
END_TEST

/* A worker that dies, a cancel, a deadline: no verdict, so it does not count as run. */
START_TEST(validate_without_an_answer_was_not_started)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct frame fr;

	call_validate(r, 1, inputs[2][0], inputs[2][1]);
	w = read_job(r, 1, ATS_PROFILE_READ);
	gone(r, w, SIGKILL);
	expect(r, ATS_FRAME_RESULT, 1, &fr);
	ck_assert(strstr(fr.json, "not_started") != NULL);
	ck_assert(strstr(fr.payload, "SIGKILL") != NULL);
	ck_assert(strstr(fr.payload, "changed the file") == NULL);

	call_validate(r, 2, inputs[2][0], inputs[2][1]);
	w = read_job(r, 2, ATS_PROFILE_READ);
	send_frame(r, ATS_FRAME_CANCEL, 2, "{}", NULL, 0);
	expect(r, ATS_FRAME_RESULT, 2, &fr);
	ck_assert(strstr(fr.json, "not_started") != NULL);
	ck_assert(strstr(fr.json, "\"code\":\"cancelled\"") != NULL);

	send_frame(r, ATS_FRAME_CALL_VALIDATE, 3,
	    "{\"name\":\"Read\",\"input\":{\"file_path\":\"a\"},\"ctx\":" CTX
	    ",\"deadline_ms\":1,\"session\":\"" SESSION "\"}", NULL, 0);
	expect(r, ATS_FRAME_RESULT, 3, &fr);
	ck_assert(strstr(fr.json, "not_started") != NULL);
	ck_assert(strstr(fr.json, "\"code\":\"timeout\"") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(validate_of_background_tools_looks_at_the_command)
{
	static const struct { const char *tool, *key, *more; } by_id[] = {
		{ "KillShell", "shell_id", "" },
		{ "TaskStop", "task_id", "" },
		{ "TaskStop", "shell_id", "" },
		{ "TaskOutput", "task_id", "" },
		{ "BashOutput", "bash_id", "" },
		{ "BashOutput", "bash_id", ",\"filter\":\"a\"" },
	};
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = 7 << 8, .cwd = "/ws" };
	struct fake_worker *w, *reader;
	struct job_head h;
	struct frame fr;
	char json[8192], input[256];
	uint64_t id = 100;

	call_tool(r, 50, "Bash", "{\"command\":\"x\",\"run_in_background\":true}", "");
	expect(r, ATS_FRAME_RESULT, 50, &fr);
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_int_eq(write(w->out, "one\n", 4), 4);
	for (size_t i = 0; i < ATS_ARRAY_LEN(by_id); i++) {
		(void)snprintf(input, sizeof(input), "{\"%s\":\"bash_9\"%s}",
		    by_id[i].key, by_id[i].more);
		call_validate(r, ++id, by_id[i].tool, input);
		expect(r, ATS_FRAME_RESULT, id, &fr);
		ck_assert_msg(strstr(fr.json, "\"code\":\"unknown_id\"") != NULL, "%s %s",
		    input, fr.json);
		(void)snprintf(input, sizeof(input), "{\"%s\":\"bash_1\"%s}",
		    by_id[i].key, by_id[i].more);
		call_validate(r, ++id, by_id[i].tool, input);
		if (i == ATS_ARRAY_LEN(by_id) - 1) {	/* the filter is a worker's */
			reader = job_of(r, ATS_PROFILE_READ, &h, json, sizeof(json));
			ck_assert_ptr_nonnull(reader);
			ck_assert_uint_eq(h.flags, JOB_VALIDATE);
			ck_assert_uint_eq(h.extra_len, 0);
			reply(reader, REPLY_RESULT, "{\"outcome\":\"done\"}", "ok", 2);
			gone(r, reader, 0);
		}
		expect(r, ATS_FRAME_RESULT, id, &fr);
		ck_assert_msg(strstr(fr.json, "is_error") == NULL, "%s %s", input, fr.json);
		ck_assert(strstr(fr.json, "ctx_delta") == NULL);
		if (i < ATS_ARRAY_LEN(by_id) - 1) {
			ck_assert_str_eq(fr.payload, "bash_1 is running.");
			ck_assert(strstr(fr.json, "\"status\":\"running\"") != NULL);
		}
	}
	call_validate(r, ++id, "TaskStop", "{}");
	expect(r, ATS_FRAME_RESULT, id, &fr);
	ck_assert_msg(strstr(fr.json, "\"code\":\"bad_field\"") != NULL, "%s", fr.json);
	/* Nothing of its output was taken, and it was not ended. */
	call_tool(r, 51, "BashOutput", "{\"bash_id\":\"bash_1\"}", "");
	expect(r, ATS_FRAME_RESULT, 51, &fr);
	ck_assert_str_eq(
	    fr.payload, "<status>running</status>\n<output>\none\n</output>");
	shell_exit(r, w, &e);
	turn(r);
	call_validate(r, ++id, "KillShell", "{\"shell_id\":\"bash_1\"}");
	expect(r, ATS_FRAME_RESULT, id, &fr);
	ck_assert_str_eq(fr.payload, "bash_1 has ended (failed, exit code 7).");
	rig_free(r);
}
END_TEST

START_TEST(validate_knows_that_no_more_may_run)
{
	static const char background[] = "{\"command\":\"x\",\"run_in_background\":true}";
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct frame fr;
	uint64_t id;

	for (id = 1; id <= r->f.opt.background_jobs; id++) {
		call_tool(r, id, "Bash", background, "");
		expect(r, ATS_FRAME_RESULT, id, &fr);
	}
	call_validate(r, 100, "Bash", background);
	expect(r, ATS_FRAME_RESULT, 100, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"table_full\"") != NULL);
	call_validate(r, 101, "Bash", "{\"command\":\"x\"}");
	w = read_job(r, 101, ATS_PROFILE_READ);
	reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "ok", 2);
	expect(r, ATS_FRAME_RESULT, 101, &fr);
	ck_assert(strstr(fr.json, "is_error") == NULL);
	rig_free(r);
}
END_TEST

START_TEST(validate_of_a_bad_call_is_refused)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w;
	struct frame fr;

	call_validate(r, 1, "Nonesuch", "{}");
	expect(r, ATS_FRAME_RESULT, 1, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"unknown_tool\"") != NULL);
	call_validate(r, 2, "KillShell", "{\"shell\":1}");
	expect(r, ATS_FRAME_RESULT, 2, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"bad_field\"") != NULL);
	/* the id of a call that runs: as a validate it is another call */
	call_tool(r, 3, "Read", "{\"file_path\":\"a\"}", "");
	w = read_job(r, 3, ATS_PROFILE_READ);
	call_validate(r, 3, "Read", "{\"file_path\":\"a\"}");
	expect(r, ATS_FRAME_RESULT, 3, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"id_reused\"") != NULL);
	reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "x", 1);
	expect(r, ATS_FRAME_RESULT, 3, &fr);
	ck_assert_str_eq(fr.payload, "x");
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_validate", validate_of_any_tool_goes_to_a_read_worker,
    validate_with_read_state_is_nonsense, validate_without_an_answer_was_not_started,
    validate_of_background_tools_looks_at_the_command,
    validate_knows_that_no_more_may_run, validate_of_a_bad_call_is_refused)
