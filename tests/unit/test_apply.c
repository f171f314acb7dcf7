/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rulesets of the workers and of front leave, one right after the other: each is
 * tried inside what was granted, where it must hold, and outside. In a child each time: what is
 * left of one in a domain could not clean up. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/caps.h"
#include "common/confine/landlock.h"
#include "common/confine/sanitize.h"
#include "hands/confine/apply.h"
#include "tests/lib/unit.h"

static struct ats_err err;
static char top[] = "/var/tmp/ats-apply-XXXXXX";
static struct box box;
static char *said;	/* shared: what a child missed */

#define SAID 1024
/* In a child: it ends with the reason. */
#define WANT(holds, ...)                                                                 \
	do {                                                                             \
		if (!(holds)) {                                                          \
			(void)snprintf(said, SAID, __VA_ARGS__);                          \
			_exit(1);                                                        \
		}                                                                        \
	} while (0)

static const char *
in(const char *dir, const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static void
put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "#!/bin/sh\nexit 7\n", 17), 17);
	close(fd);
}

/* Two directories alike, one of them the workspace, and the others of a box without a view. */
static void
make_box(void)
{
	static const char *const dirs[] = { "ws", "out", "home", "tmp", "spill" };

	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chdir(top), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(dirs); i++) {
		ck_assert_int_eq(mkdir(dirs[i], 0700), 0);
		ck_assert_int_eq(mkdir(in(dirs[i], "dir"), 0700), 0);
		put(in(dirs[i], "file"));
		put(in(dirs[i], "gone"));
	}
	box = (struct box){ .situation = BOX_LANDLOCK, .landlock_abi = ats_landlock_abi() };
	(void)snprintf(box.workspace, sizeof box.workspace, "%s/ws", top);
	(void)snprintf(box.home, sizeof box.home, "%s/home", top);
	(void)snprintf(box.tmp, sizeof box.tmp, "%s/tmp", top);
	(void)snprintf(box.spill, sizeof box.spill, "%s/spill", top);
}

/* In a child, before it tries. */
static void
enter(enum ats_profile profile)
{
	static struct confine c;

	WANT(confine_prepare(&c, &box, profile, &err) == 0 &&
	    ats_caps_no_new_privs(&err) == 0 && ats_landlock_restrict(c.ruleset, &err) == 0,
	    "%s", err.text);
}

/* Runs fn in a child with a box of its own; says what it missed. */
static void
hold(void (*fn)(void))
{
	int status;
	pid_t pid;

	if (ats_landlock_abi() < 6)	/* hands does without namespaces only there */
		return;
	said = mmap(NULL, SAID, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(said, MAP_FAILED);
	make_box();
	pid = fork();
	if (pid == 0) {
		fn();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (fork() == 0)
		_exit(execlp("rm", "rm", "-rf", top, (char *)NULL));
	(void)wait(NULL);
	ck_assert_msg(status == 0, "%d: %s", status, said);
}

/* ---- one right each: 0, or errno --------------------------------------------------------- */
static int
opened(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int
made(const char *path, mode_t type)
{
	return mknod(path, type | 0600, 0) < 0 ? errno : 0;
}

static int read_file(const char *d) { return opened(in(d, "file"), O_RDONLY); }
static int read_dir(const char *d) { return opened(d, O_RDONLY | O_DIRECTORY); }
static int write_file(const char *d) { return opened(in(d, "file"), O_WRONLY); }
static int cut(const char *d) { return truncate(in(d, "file"), 1) < 0 ? errno : 0; }
static int remove_dir(const char *d) { return rmdir(in(d, "dir")) < 0 ? errno : 0; }
static int remove_file(const char *d) { return unlink(in(d, "gone")) < 0 ? errno : 0; }
static int make_dir(const char *d) { return mkdir(in(d, "new"), 0700) < 0 ? errno : 0; }
static int make_reg(const char *d) { return made(in(d, "reg"), S_IFREG); }
static int make_sock(const char *d) { return made(in(d, "sock"), S_IFSOCK); }
static int make_fifo(const char *d) { return made(in(d, "fifo"), S_IFIFO); }
static int make_sym(const char *d) { return symlink("x", in(d, "sym")) < 0 ? errno : 0; }
static int make_char(const char *d) { return made(in(d, "char"), S_IFCHR); }
static int make_block(const char *d) { return made(in(d, "block"), S_IFBLK); }

static const struct right {
	const char *name;
	int (*use)(const char *dir);
	bool writes, never;
} rights[] = {
	{ "read_file", read_file, false, false }, { "read_dir", read_dir, false, false },
	{ "write_file", write_file, true, false }, { "truncate", cut, true, false },
	{ "remove_dir", remove_dir, true, false }, { "remove_file", remove_file, true, false },
	{ "make_dir", make_dir, true, false }, { "make_reg", make_reg, true, false },
	{ "make_sock", make_sock, true, false }, { "make_fifo", make_fifo, true, false },
	{ "make_sym", make_sym, true, false }, { "make_char", make_char, true, true },
	{ "make_block", make_block, true, true },
};

static void
try_rights(bool may_write)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(rights); i++) {
		const struct right *r = &rights[i];
		bool may = !r->never && (may_write || !r->writes);

		WANT(r->use("ws") == (may ? 0 : EACCES), "%s in ws", r->name);
		WANT(r->use("out") == EACCES, "%s outside", r->name);
	}
}

static void
shell(void)
{
	enter(ATS_PROFILE_SHELL);
	try_rights(true);
}

START_TEST(shells_have_each_right_in_the_workspace_and_none_outside)
{
	hold(shell);
}
END_TEST

static void
reader(void)
{
	enter(ATS_PROFILE_READ);
	try_rights(false);
	WANT(read_file("spill") == 0, "spill is not read");
	WANT(write_file("spill") == EACCES, "spill is written");
}

START_TEST(read_workers_write_nowhere)
{
	hold(reader);
}
END_TEST

/* Their mounts, all read-only, are not in this test: what is Landlock's, and what it leaves. */
static void
reader_in_view(void)
{
	box.situation = BOX_ROOT;
	enter(ATS_PROFILE_READ);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rights); i++) {
		const struct right *r = &rights[i];
		int want = r->writes && r->use != cut ? EACCES : 0;

		WANT(r->use("ws") == want, "%s in ws", r->name);
		WANT(r->use("out") == want, "%s outside", r->name);
	}
}

START_TEST(landlock_leaves_readers_in_a_view_no_write_but_a_cut)
{
	hold(reader_in_view);
}
END_TEST

static void
writer_in_view(void)
{
	box.situation = BOX_ROOT;
	enter(ATS_PROFILE_WRITE);
	WANT(cut("ws") == 0, "a cut in ws");
	WANT(cut("out") == EACCES, "a cut outside");
}

START_TEST(landlock_refuses_writers_in_a_view_cuts_outside)
{
	hold(writer_in_view);
}
END_TEST

/* What may be read there is not to be run. */
static void
runner(void)
{
	enter(ATS_PROFILE_WRITE);
	WANT(read_file("spill") == 0, "spill is not read");
	(void)execl("spill/file", "file", (char *)NULL);
	WANT(errno == EACCES, "exec: errno %d", errno);
}

START_TEST(output_that_was_kept_is_not_run)
{
	hold(runner);
}
END_TEST

static void
signaller(void)
{
	enter(ATS_PROFILE_SHELL);
	WANT(kill(getppid(), 0) < 0 && errno == EPERM, "a signal went up");
}

START_TEST(workers_signal_nobody_above)
{
	hold(signaller);
}
END_TEST

static void
connector(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int there = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int here = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof sa;

	WANT(bind(there, (struct sockaddr *)&sa, sizeof sa.sun_family) == 0 &&
	    listen(there, 1) == 0 && getsockname(there, (struct sockaddr *)&sa, &len) == 0,
	    "no listener");
	enter(ATS_PROFILE_SHELL);
	WANT(connect(here, (struct sockaddr *)&sa, len) < 0 && errno == EPERM, "connected");
}

START_TEST(workers_reach_no_abstract_socket)
{
	hold(connector);
}
END_TEST

/* ---- front ------------------------------------------------------------------------------- */
static void
front(void)
{
	int spill = open("spill", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	WANT(confine_front(spill, -1, &err) == 0, "%s", err.text);
	WANT(openat(spill, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0, "spill");
	WANT(opened("/etc/passwd", O_RDONLY) == EACCES, "it reads");
	WANT(opened("out/file", O_WRONLY) == EACCES, "it writes");
	WANT(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM, "it has sockets");
	WANT(fork() < 0, "it forks");
}

START_TEST(front_has_its_spill_and_nothing_else)
{
	if (!ATS_SANITIZED)
		hold(front);
}
END_TEST

ATS_UNIT_MAIN("apply", shells_have_each_right_in_the_workspace_and_none_outside,
    read_workers_write_nowhere, landlock_leaves_readers_in_a_view_no_write_but_a_cut,
    landlock_refuses_writers_in_a_view_cuts_outside, output_that_was_kept_is_not_run,
    workers_signal_nobody_above, workers_reach_no_abstract_socket,
    front_has_its_spill_and_nothing_else)
