/* SPDX-License-Identifier: Apache-2.0
 *
 * Children get exactly the named descriptors and environment. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fd.h"
#include "tests/lib/unit.h"

/* Runs a shell script with the given map; returns its output and status. */
static int
run(const char *script, const struct ats_child_fd *fds, size_t nfds, int read_fd,
    char *out, size_t size)
{
	const char *argv[] = { "sh", "-c", script, NULL }, *env[] = { "ONE=1", NULL };
	struct ats_child c = { .path = "/bin/sh", .exec_fd = -1, .argv = argv, .env = env,
		.fds = fds, .nfds = nfds, .death_signal = SIGKILL, .new_session = true };
	struct ats_err err = { 0 };
	int status, pidfd;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	ck_assert_msg(ats_child_start(&c, &pid, &pidfd, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i].from);
	while ((n = ats_fd_read(read_fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, 10000), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	close(pidfd);
	close(read_fd);
	return status;
}

START_TEST(start_gives_the_named_descriptors_and_no_other)
{
	char out[4096];
	int p[2], q[2], status;

	ck_assert_int_eq(ats_fd_pipe(p, 0), 0);
	ck_assert_int_eq(ats_fd_pipe(q, 0), 0);
	/* Targets that are sources of others: 1 and 7 crossing. */
	dup2(p[1], 7);
	close(p[1]);
	ck_assert_int_gt(fcntl(0, F_DUPFD, 50), 49);	/* not CLOEXEC: must be closed */
	struct ats_child_fd fds[] = { { 7, 1 }, { q[0], 7 }, { q[1], 5 } };

	status = run("cd /proc/self/fd; for f in *; do echo $f; done; env; pwd",
	    fds, 3, p[0], out, sizeof(out));
	close(50);
	ck_assert_int_eq(status, 0);
	ck_assert_msg(strstr(out, "0\n1\n") == out || strstr(out, "0\n1\n") != NULL, "%s", out);
	ck_assert_msg(strstr(out, "\n5\n") != NULL && strstr(out, "\n7\n") != NULL, "%s", out);
	ck_assert_msg(strstr(out, "50\n") == NULL, "%s", out);
	ck_assert_msg(strstr(out, "ONE=1\n") != NULL, "%s", out);
	ck_assert_msg(strstr(out, "HOME=") == NULL, "%s", out);
}
END_TEST

START_TEST(start_resets_signals_and_starts_a_session)
{
	char out[4096];
	int p[2];

	ck_assert_int_eq(ats_fd_pipe(p, 0), 0);
	signal(SIGPIPE, SIG_IGN);
	struct ats_child_fd fds[] = { { p[1], 1 } };

	run("grep -E 'SigIgn|SigBlk' /proc/self/status; "
	    "read pid comm state ppid pgrp sid rest </proc/$$/stat; [ $pid = $sid ] && echo own",
	    fds, 1, p[0], out, sizeof(out));
	/* 32 and 33 are the C library's own: it lets nobody set them, and some su ignores one. */
	const char *ignored = strstr(out, "SigIgn:\t");

	ck_assert_msg(ignored != NULL &&
	    (strtoull(ignored + 8, NULL, 16) & ~(3ull << 31)) == 0, "%s", out);
	ck_assert_msg(strstr(out, "SigBlk:\t0000000000000000") != NULL, "%s", out);
	ck_assert_msg(strstr(out, "own") != NULL, "%s", out);
}
END_TEST

START_TEST(start_reports_what_cannot_be_executed)
{
	const char *argv[] = { "x", NULL }, *env[] = { NULL };
	struct ats_child c = { .path = "/nonexistent/x", .exec_fd = -1, .argv = argv,
		.env = env };
	struct ats_err err = { 0 };
	int pidfd = -1;
	pid_t pid = 0;

	ck_assert_int_eq(ats_child_start(&c, &pid, &pidfd, &err), -ATS_E_NOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/x: exec"));
	ck_assert_int_eq(pid, 0);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	c.path = "/bin/sh";
	c.cwd = "/nonexistent";
	ck_assert_int_eq(ats_child_start(&c, &pid, NULL, &err), -ATS_E_NOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "chdir"));
	c.argv = NULL;
	ck_assert_int_eq(ats_child_start(&c, &pid, NULL, &err), -ATS_E_INVAL);
}
END_TEST

START_TEST(start_executes_a_descriptor)
{
	const char *argv[] = { "true", NULL }, *env[] = { NULL };
	int fd = open("/bin/true", O_PATH | O_CLOEXEC), status;
	struct ats_child c = { .exec_fd = fd, .argv = argv, .env = env };
	struct ats_err err = { 0 };
	pid_t pid;

	ck_assert_msg(ats_child_start(&c, &pid, NULL, &err) == 0, "%s", err.text);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(fd);
}
END_TEST

START_TEST(child_dies_with_its_parent)
{
	const char *argv[] = { "sleep", "1000", NULL }, *env[] = { NULL };
	struct ats_child c = { .path = "/bin/sleep", .exec_fd = -1, .argv = argv, .env = env,
		.death_signal = SIGKILL };
	int p[2];
	char byte;
	pid_t mid, pid;

	ck_assert_int_eq(ats_fd_pipe(p, 0), 0);
	mid = fork();
	if (mid == 0) {
		struct ats_child_fd fds[] = { { p[1], 5 } };	/* held as long as it lives */

		c.fds = fds;
		c.nfds = 1;
		_exit(ats_child_start(&c, &pid, NULL, NULL) < 0);
	}
	close(p[1]);
	waitpid(mid, NULL, 0);
	ck_assert_int_eq(ats_fd_read(p[0], &byte, 1), 0);
	close(p[0]);
}
END_TEST

START_TEST(whole_tree_ends_with_its_program)
{
	static const struct {
		const char *script;
		int status;		/* as of waitpid(2) */
	} rows[] = {
		{ "setsid sh -c 'setsid sleep 1000 & sleep 1000' & exit 7", 7 << 8 },
		{ "(setsid sleep 1000 &); kill -9 $$", SIGKILL },
		{ "exit 0", 0 },
	};
	const char *argv[] = { "sh", "-c", NULL, NULL }, *env[] = { "PATH=/usr/bin:/bin", NULL };
	struct ats_err err = { 0 };
	int p[2], status;
	char byte;
	pid_t pid;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_child_fd fds[] = { { 0, 5 } };
		struct ats_child c = { .path = "/bin/sh", .argv = argv, .env = env, .fds = fds,
			.nfds = 1, .whole_tree = true };

		argv[2] = rows[i].script;
		ck_assert_int_eq(ats_fd_pipe(p, 0), 0);
		fds[0].from = p[1];
		ck_assert_msg(ats_child_start(&c, &pid, NULL, &err) == 0, "%s", err.text);
		close(p[1]);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, rows[i].status);
		ck_assert_int_eq(ats_fd_read(p[0], &byte, 1), 0);	/* nobody holds it */
		close(p[0]);
	}
}
END_TEST

START_TEST(whole_tree_ends_at_a_signal)
{
	const char *argv[] = { "sh", "-c", "setsid sh -c 'echo; sleep 1000' & sleep 1000", NULL },
		   *env[] = { "PATH=/usr/bin:/bin", NULL };
	struct ats_child_fd fds[] = { { 0, 1 } };
	struct ats_child c = { .path = "/bin/sh", .argv = argv, .env = env, .fds = fds, .nfds = 1,
		.whole_tree = true };
	struct ats_err err = { 0 };
	int p[2], status;
	char byte;
	pid_t pid;

	ck_assert_int_eq(ats_fd_pipe(p, 0), 0);
	fds[0].from = p[1];
	ck_assert_msg(ats_child_start(&c, &pid, NULL, &err) == 0, "%s", err.text);
	close(p[1]);
	ck_assert_int_eq(ats_fd_read(p[0], &byte, 1), 1);	/* it is there */
	ck_assert_int_eq(kill(pid, SIGTERM), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, SIGKILL);
	ck_assert_int_eq(ats_fd_read(p[0], &byte, 1), 0);
	close(p[0]);
	c.path = "/nonexistent/x";
	ck_assert_int_eq(ats_child_start(&c, &pid, NULL, &err), -ATS_E_NOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/x: exec"));
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

static volatile sig_atomic_t signalled;

static void
note_signal(int sig)
{
	(void)sig;
	signalled = 1;
}

START_TEST(quiet_child_is_none_of_the_programs_others)
{
	const char *argv[] = { "sh", "-c", "echo there", NULL }, *env[] = { NULL };
	struct ats_child c = { .path = "/bin/sh", .exec_fd = -1, .argv = argv, .env = env,
		.quiet = true };
	char out[16] = "";
	pid_t pid = -1;
	int p[2];

	ck_assert(signal(SIGCHLD, note_signal) != SIG_ERR);
	ck_assert_int_eq(ats_fd_pipe(p, 0), 0);
	struct ats_child_fd fds[] = { { p[1], 1 } };

	c.fds = fds;
	c.nfds = 1;
	ck_assert_int_eq(ats_child_start(&c, &pid, NULL, NULL), 0);
	ck_assert_int_eq(pid, 0);
	close(p[1]);
	ck_assert_int_eq(ats_fd_read_all(p[0], out, 6), 0);
	ck_assert_str_eq(out, "there\n");
	ck_assert_int_eq(ats_fd_read(p[0], out, 1), 0);
	ck_assert_int_eq(waitpid(-1, NULL, __WALL), -1);
	close(p[0]);
	c.nfds = 0;
	c.path = "/nonexistent";
	ck_assert_int_eq(ats_child_start(&c, &pid, NULL, NULL), -ATS_E_NOENT);
	ck_assert_int_eq(waitpid(-1, NULL, __WALL), -1);
	ck_assert_int_eq(signalled, 0);
}
END_TEST

ATS_UNIT_MAIN("child", start_gives_the_named_descriptors_and_no_other,
    start_resets_signals_and_starts_a_session, start_reports_what_cannot_be_executed,
    start_executes_a_descriptor, child_dies_with_its_parent, whole_tree_ends_with_its_program,
    whole_tree_ends_at_a_signal, quiet_child_is_none_of_the_programs_others)
