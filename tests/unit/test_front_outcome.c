/* SPDX-License-Identifier: Apache-2.0
 *
 * How commands end and what is said of it; images in outputs. */
#include "hands/front/outcome.h"

#include "hands/front/bash_image.h"
#include "hands/front/bash_text.h"
#include "hands/front/capture.h"
#include "hands/front/front.h"
#include "hands/job.h"
#include "tests/lib/unit.h"

#include <signal.h>

#define EXITED(n) ((n) << 8)

START_TEST(outcome_benign_knows_the_last_command)
{
	static const struct {
		const char *command;
		bool printed, benign;
	} rows[] = {
		{ "grep x f", false, true },
		{ "  grep x f  ", false, true },
		{ "cat f | grep x", false, true },
		{ "cat f | grep x | head", false, false },
		{ "grep x f; false", false, false },
		{ "false; grep x f", false, true },
		{ "cd d && grep x f", false, true },
		{ "cd d && grep x f", true, false },
		{ "grep -q x f && echo yes", false, true },
		{ "grep -q x f && make", true, false },
		{ "make || grep x f", true, true },
		{ "diff a b", true, true },
		{ "diff a b 2>&1", true, true },
		{ "diff a b &> out", false, true },
		{ "git diff --exit-code", true, true },
		{ "git grep foo", false, true },
		{ "git commit", true, false },
		{ "find . -name x", true, true },
		{ "find . -name x | xargs rm", true, false },
		{ "/usr/bin/rg x", false, true },
		{ "LC_ALL=C grep x f", false, true },
		{ "time grep x f", false, true },
		{ "test -f nope", false, true },
		{ "[ -f nope ]", false, true },
		{ "[[ a == b ]]", false, true },
		{ "echo 'a; grep x'; false", true, false },
		{ "python3 -c \"import sys; sys.exit(1)\"", false, false },
		{ "grep x f # a comment | false", false, true },
		{ "grep \"$(cat <<E\nx\nE\n)\" f", false, true },
		{ "cat <<E\ngrep x\nE", true, false },
		{ "grep x <<E\ny\nE", false, false },
		{ "grepper x", false, false },
		{ "false", false, false },
		{ "", false, false },
		{ "`grep x f`", false, false },
		{ "pytest\ngrep FAILED log", true, true },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_msg((outcome_benign(rows[i].command, rows[i].printed) !=
				  NULL) == rows[i].benign,
		    "row %zu: %s", i, rows[i].command);
}
END_TEST

START_TEST(outcome_decide_names_each_end)
{
	static const struct {
		int status;
		unsigned flags;
		enum outcome_ended ended;
		enum outcome_kind kind;
		unsigned code;
		bool is_error;
		const char *line;
	} rows[] = {
		{ EXITED(0), 0, ENDED_ITSELF, OUTCOME_EXIT, 0, false, "" },
		{ EXITED(2), 0, ENDED_ITSELF, OUTCOME_EXIT, 2, true, "Exit code 2" },
		{ EXITED(127), 0, ENDED_ITSELF, OUTCOME_EXIT, 127, true,
		    "Exit code 127 (a command was not found)" },
		{ EXITED(139), 0, ENDED_ITSELF, OUTCOME_EXIT, 139, true,
		    "Exit code 139 (killed by signal 11, SIGSEGV)" },
		{ SIGKILL, 0, ENDED_ITSELF, OUTCOME_SIGNAL, 9, true,
		    "The shell was killed by signal 9 (SIGKILL)" },
		{ SIGKILL, EXIT_OOM, ENDED_ITSELF, OUTCOME_OOM, 9, true, NULL },
		{ EXITED(137), EXIT_OOM, ENDED_ITSELF, OUTCOME_OOM, 137, true, NULL },
		{ SIGSYS, 0, ENDED_ITSELF, OUTCOME_SECCOMP, SIGSYS, true, NULL },
		{ EXITED(159), EXIT_SECCOMP, ENDED_ITSELF, OUTCOME_SECCOMP, 159, true,
		    NULL },
		{ EXITED(254), EXIT_PIDS, ENDED_ITSELF, OUTCOME_PIDS, 254, true, NULL },
		{ SIGXCPU, 0, ENDED_ITSELF, OUTCOME_CPU, SIGXCPU, true, NULL },
		{ EXITED(152), 0, ENDED_ITSELF, OUTCOME_CPU, 152, true, NULL },
		{ SIGKILL, EXIT_CPU, ENDED_ITSELF, OUTCOME_CPU, 9, true, NULL },
		{ SIGXFSZ, 0, ENDED_ITSELF, OUTCOME_FILE_SIZE, SIGXFSZ, true, NULL },
		{ EXITED(153), EXIT_PIDS, ENDED_ITSELF, OUTCOME_FILE_SIZE, 153, true, NULL },
		{ EXITED(24), 0, ENDED_ITSELF, OUTCOME_EXIT, 24, true, "Exit code 24" },
		{ SIGTERM, 0, ENDED_TIMEOUT, OUTCOME_TIMEOUT, SIGTERM, true,
		    "Timed out after 2.5 s (its timeout); the command and everything it "
		    "started were ended" },
		{ EXITED(0), 0, ENDED_CANCEL, OUTCOME_CANCELLED, 0, true, NULL },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct outcome o;
		struct ats_buf out;

		outcome_decide(
		    rows[i].status, rows[i].flags, rows[i].ended, "make", false, &o);
		ck_assert_msg(o.kind == rows[i].kind, "row %zu kind %d", i, (int)o.kind);
		ck_assert_uint_eq(o.code, rows[i].code);
		ck_assert_int_eq(o.is_error, rows[i].is_error);
		ats_buf_init(&out, 4096);
		ck_assert_int_eq(outcome_line(&o, 2500, &out), 0);
		if (rows[i].line != NULL)
			ck_assert_str_eq(out.data, rows[i].line);
		else
			ck_assert_uint_gt(out.len, 0);
		ats_buf_done(&out);
	}
}
END_TEST

/* 2 of grep or diff is trouble, and so is 1 of a command whose text is not known. */
START_TEST(outcome_only_1_is_an_answer)
{
	struct outcome o;

	outcome_decide(EXITED(1), 0, ENDED_ITSELF, "grep x f", false, &o);
	ck_assert(!o.is_error && o.benign != NULL);
	outcome_decide(EXITED(2), 0, ENDED_ITSELF, "grep x f", false, &o);
	ck_assert(o.is_error && o.benign == NULL);
	outcome_decide(EXITED(1), 0, ENDED_ITSELF, NULL, false, &o);
	ck_assert(o.is_error && o.benign == NULL);
	outcome_decide(EXITED(0), 0, ENDED_ITSELF, "grep x f", true, &o);
	ck_assert(!o.is_error && o.benign == NULL);
}
END_TEST

static char *
make_text(const char *output, const char *command, const struct job_exit *e,
    const char **ret_cwd)
{
	static struct front f = { .opt = { .workspace = "/ws", .home = "/home/agent" } };
	struct capture c;
	struct shell_end end = { .exit = e };
	struct bash_text t = {
		.f = &f,
		.text = &c,
		.end = &end,
		.command = command,
		.cwd = "/ws",
	};
	struct outcome o;
	struct ats_buf out;

	capture_init(&c);
	ck_assert_int_eq(capture_add(&c, output, strlen(output)), 0);
	ats_buf_init(&out, 1u << 20);
	outcome_decide(e->status, e->flags, ENDED_ITSELF, command, output[0] != '\0', &o);
	ck_assert_int_eq(bash_text_make(&t, &o, &out, ret_cwd), 0);
	capture_done(&c);
	return ats_buf_steal(&out, NULL);
}

START_TEST(bash_text_make_says_what_happened)
{
	static const struct {
		const char *output, *command;
		struct job_exit e;
		const char *text, *cwd;
	} rows[] = {
		{ "hi\n", "echo hi", { .cwd = "/ws" }, "hi", NULL },
		{ "", "true", { .cwd = "/ws" },
		    "(The command succeeded and printed nothing.)", NULL },
		{ "boom\n", "make", { .status = EXITED(2), .cwd = "/ws" },
		    "Exit code 2\nboom", NULL },
		{ "", "false", { .status = EXITED(1), .cwd = "/ws" },
		    "Exit code 1\n(no output)", NULL },
		{ "", "grep x f", { .status = EXITED(1), .cwd = "/ws" },
		    "(exit code 1: no line matched)", NULL },
		{ "", "cd src", { .cwd = "/ws/src" },
		    "(The command succeeded and printed nothing.)", "/ws/src" },
		{ "x\n", "cd /tmp", { .cwd = "/tmp" }, "x", "/tmp" },
		{ "x\n", "cd /etc", { .cwd = "/etc" },
		    "x\n[The working directory was reset to "
		    "/ws: /etc is outside of the workspace.]",
		    NULL },
		{ "x\n", "cd /ws-evil", { .cwd = "/ws-evil" },
		    "x\n[The working directory was "
		    "reset to /ws: /ws-evil is outside of the workspace.]",
		    NULL },
		{ "ok\n", "echo ok", { .cwd = "/ws", .flags = EXIT_CWD_GONE },
		    "ok\n[The working directory /ws does not exist any more; the command "
		    "ran in "
		    "/ws.]",
		    "/ws" },
		{ "x\n", "cd d; rmdir ../d; echo x", { .flags = EXIT_CWD_REMOVED },
		    "x\n[The working directory was removed; the next command runs in /ws.]",
		    "/ws" },
		{ "x\n", "echo x", { .cwd = "/ws", .flags = EXIT_QUARANTINE },
		    "x\n[Names that programs on the host execute or trust, as .mcp.json "
		    "or .claude, cannot be made in the workspace: what was made was "
		    "renamed to NAME.quarantine.]",
		    NULL },
		{ "x\n", "sleep 9 & echo x",
		    { .cwd = "/ws", .survivors = 1, .names = "sleep" },
		    "x\n[1 process was still running when the shell ended, and ended "
		    "with it: "
		    "sleep. Use run_in_background to keep a command running.]",
		    NULL },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		const char *cwd = NULL;
		char *text = make_text(rows[i].output, rows[i].command, &rows[i].e, &cwd);

		ck_assert_str_eq(text, rows[i].text);
		if (rows[i].cwd == NULL)
			ck_assert_ptr_null(cwd);
		else
			ck_assert_str_eq(cwd, rows[i].cwd);
		free(text);
	}
}
END_TEST

START_TEST(bash_text_make_says_that_the_sandbox_stays)
{
	static struct front f = { .opt = { .workspace = "/ws", .home = "/home/agent" } };
	struct job_exit e = { .cwd = "/ws" };
	struct shell_end end = { .exit = &e };
	struct capture c;
	struct bash_text t = { .f = &f, .text = &c, .end = &end, .command = "true", .cwd = "/ws",
		.ignored_flag = true };
	const char *cwd;
	struct outcome o;
	struct ats_buf out;

	capture_init(&c);
	ats_buf_init(&out, 4096);
	outcome_decide(0, 0, ENDED_ITSELF, "true", false, &o);
	ck_assert_int_eq(bash_text_make(&t, &o, &out, &cwd), 0);
	ck_assert_ptr_nonnull(strstr(out.data, "dangerouslyDisableSandbox was ignored"));
	ats_buf_done(&out);
	capture_done(&c);
}
END_TEST

/* A GIF of one pixel. */
#define GIF "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="

START_TEST(bash_image_decode_wants_a_whole_image)
{
	static const struct {
		const char *url;
		int rc; /* -1: any error */
	} rows[] = {
		{ "data:image/gif;base64," GIF "\n", 0 },
		{ "data:image/gif;base64," GIF "\r\n\n", 0 },
		{ "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP//\n/ywAAAAAAQABAAACAUwAOw==", 0 },
		{ "data:image/png;base64," GIF, 0 },	/* the bytes say what it is */
		{ "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwA", -1 },
		{ "data:image/png;base64,iVBORw0KGgoAAAA=\n", -1 }, /* a PNG's first bytes */
		{ "data:image/png;base64,aGVsbG8=", -1 }, /* text */
		{ "data:image/gif;base64," GIF " and more", -1 },
		{ "data:image/gif;base64," GIF "\ndata:image/gif;base64," GIF, -1 },
		{ "data:image/png;base64,", -1 },
		{ "data:image/svg+xml;base64,PHN2Zz4=", 1 },
		{ "data:image/gif," GIF, 1 }, { "data:image/", 1 },
		{ "x data:image/gif;base64," GIF, 1 }, { "data:", 1 }, { "", 1 },
		{ "DATA:image/gif;base64," GIF, 1 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		struct ats_buf out;
		struct image im;
		int rc;

		ats_buf_init(&out, 4096);
		rc = bash_image_decode(rows[i].url, strlen(rows[i].url), &out, &im, &err);
		ck_assert_msg(rows[i].rc < 0 ? rc < 0 && err.text[0] != '\0' : rc == rows[i].rc,
		    "row %zu: %d", i, rc);
		if (rc == 0) {
			ck_assert_str_eq(im.mime, "image/gif");
			ck_assert_uint_eq(im.size, out.len);
		}
		ats_buf_done(&out);
	}
}
END_TEST

ATS_UNIT_MAIN("front_outcome", outcome_benign_knows_the_last_command,
    outcome_decide_names_each_end, outcome_only_1_is_an_answer,
    bash_text_make_says_what_happened, bash_text_make_says_that_the_sandbox_stays,
    bash_image_decode_wants_a_whole_image)
