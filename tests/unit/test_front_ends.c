/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said about ends that a limit had a part in, and by whom a command was ended. */
#include "hands/front/outcome.h"

#include "hands/front/bash_text.h"
#include "hands/front/capture.h"
#include "hands/front/front.h"
#include "hands/job.h"
#include "tests/lib/unit.h"

#include <signal.h>

#define EXITED(n) ((n) << 8)

static char *
text_of(const char *output, const struct shell_end *end)
{
	static struct front f = { .opt = { .workspace = "/ws", .home = "/home/agent" } };
	struct capture c;
	struct bash_text t = { .f = &f, .text = &c, .end = end, .command = "make",
		.cwd = "/ws" };
	struct outcome o;
	struct ats_buf out;
	const char *cwd;

	capture_init(&c);
	ck_assert_int_eq(capture_add(&c, output, strlen(output)), 0);
	ats_buf_init(&out, 1u << 20);
	outcome_decide(end->exit->status, end->exit->flags, ENDED_ITSELF, "make",
	    output[0] != '\0', &o);
	ck_assert_int_eq(bash_text_make(&t, &o, &out, &cwd), 0);
	capture_done(&c);
	return ats_buf_steal(&out, NULL);
}

START_TEST(bash_text_make_names_limits_and_guesses_only_aloud)
{
	static const struct {
		const char *output;
		struct job_exit e;
		const char *text;
	} rows[] = {
		{ "\n", { .cwd = "/ws" }, "(an empty line)" },
		{ "x\n", { .status = EXITED(2), .cwd = "/ws", .flags = EXIT_PIDS },
		    "Exit code 2; the sandbox's process limit was reached (fork failed)\nx" },
		{ "x\n", { .cwd = "/ws", .flags = EXIT_PIDS },
		    "x\n[The sandbox's process limit was reached while it ran: processes "
		    "could not be started.]" },
		{ "sh: 1: Cannot fork\n", { .status = EXITED(2), .cwd = "/ws" },
		    "Exit code 2\nsh: 1: Cannot fork\n[Probably the sandbox's process limit "
		    "was reached: it printed that a process could not be started.]" },
		{ "Cannot fork\n", { .cwd = "/ws" }, "Cannot fork" },
		{ "x\n", { .status = EXITED(2), .cwd = "/ws", .flags = EXIT_OOM },
		    "Exit code 2\nx\n[The kernel killed a process for lack of memory while "
		    "it ran, probably one of the command's.]" },
		{ "x\n", { .status = EXITED(137), .cwd = "/ws", .flags = EXIT_OOM },
		    "Out of memory: the kernel killed a process of the command (exit code "
		    "137, SIGKILL)\nx" },
		{ "x\n", { .status = EXITED(1), .cwd = "/ws", .data_mb = 800,
			     .maxrss_kb = 700 << 10 },
		    "Exit code 1\nx\n[A process of it held 700 MiB, and the limit for one "
		    "process is 800 MiB: probably it ran out of memory.]" },
		{ "x\n", { .status = EXITED(1), .cwd = "/ws", .data_mb = 800,
			     .maxrss_kb = 699 << 10 },
		    "Exit code 1\nx" },
		{ "x\n", { .cwd = "/ws", .data_mb = 800, .maxrss_kb = 800 << 10 }, "x" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct shell_end end = { .exit = &rows[i].e };
		char *text = text_of(rows[i].output, &end);

		ck_assert_str_eq(text, rows[i].text);
		free(text);
	}
}
END_TEST

START_TEST(bash_text_make_tells_of_a_pipe_that_others_hold)
{
	struct job_exit e = { .cwd = "/ws" };
	struct shell_end end = { .exit = &e, .pipe_held = true };
	char *text = text_of("x\n", &end);

	ck_assert_str_eq(text, "x\n[A process outside of this call holds its output open; what "
			       "that one prints is not shown.]");
	free(text);
}
END_TEST

START_TEST(outcome_line_says_by_whom_it_timed_out)
{
	static const struct {
		enum outcome_by by;
		const char *name, *said;
	} rows[] = {
		{ BY_TIMEOUT, "timeout", "(its timeout)" },
		{ BY_DEFAULT, "default_timeout", "(the default; timeout sets another)" },
		{ BY_MAXIMUM, "maximum_timeout", "(the longest there is" },
		{ BY_DEADLINE, "deadline", "(the caller's deadline)" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct outcome o = { .kind = OUTCOME_TIMEOUT, .by = rows[i].by };
		struct ats_buf out;

		ats_buf_init(&out, 4096);
		ck_assert_int_eq(outcome_line(&o, 1000, &out), 0);
		ck_assert_msg(strstr(out.data, rows[i].said) != NULL, "%s", out.data);
		ck_assert_str_eq(outcome_by_name(o.by), rows[i].name);
		ats_buf_done(&out);
	}
}
END_TEST

START_TEST(outcome_decide_says_by_whom)
{
	static const struct {
		int status;
		unsigned flags;
		enum outcome_ended ended;
		enum outcome_by by;
	} rows[] = {
		{ EXITED(0), 0, ENDED_ITSELF, BY_COMMAND },
		{ SIGSEGV, 0, ENDED_ITSELF, BY_COMMAND },
		{ SIGKILL, 0, ENDED_ITSELF, BY_COMMAND },
		{ SIGKILL, EXIT_OOM, ENDED_ITSELF, BY_KERNEL },
		{ SIGSYS, 0, ENDED_ITSELF, BY_KERNEL },
		{ SIGTERM, 0, ENDED_TIMEOUT, BY_TIMEOUT },
		{ SIGKILL, EXIT_OOM, ENDED_CANCEL, BY_CALLER },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct outcome o;

		outcome_decide(
		    rows[i].status, rows[i].flags, rows[i].ended, "make", true, &o);
		ck_assert_msg(o.by == rows[i].by, "row %zu: %s", i, outcome_by_name(o.by));
	}
}
END_TEST

ATS_UNIT_MAIN("front_ends", bash_text_make_names_limits_and_guesses_only_aloud,
    bash_text_make_tells_of_a_pipe_that_others_hold, outcome_line_says_by_whom_it_timed_out,
    outcome_decide_says_by_whom)
