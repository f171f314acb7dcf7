/* SPDX-License-Identifier: Apache-2.0
 *
 * Confinement primitives. Each test runs in a process of its own (libcheck forks), so what
 * cannot be undone is done here directly; deaths by a filter happen in a further child. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/caps.h"
#include "common/confine/landlock.h"
#include "common/confine/limits.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "tests/lib/int80.h"
#include "tests/lib/unit.h"

static struct ats_err err;

/* The sanitizers' runtime makes calls of its own and does not survive these filters. */
#ifdef __SANITIZE_ADDRESS__
#define SKIP_UNDER_SANITIZER return
#else
#define SKIP_UNDER_SANITIZER (void)0
#endif

#define OK(call) ck_assert_msg((call) == 0, "%s", err.text)

/* How a child that runs fn ends: exit status, or minus the signal. */
static int
ending_of(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		fn();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void
load(const struct ats_seccomp_table *t)
{
	struct ats_seccomp_prog p = { 0 };

	OK(ats_seccomp_build(&t, 1, &p, &err));
	OK(ats_caps_no_new_privs(&err));
	OK(ats_seccomp_load(&p, &err));
	ats_seccomp_done(&p);
}

/* ---- caps -------------------------------------------------------------------------- */

START_TEST(caps_drop_all_leaves_nothing)
{
	char line[256];
	FILE *f;

	OK(ats_caps_no_new_privs(&err));
	OK(ats_caps_drop_all(&err));
	OK(ats_caps_verify_empty(geteuid() == 0, &err));
	ck_assert_uint_eq(ats_caps_effective(), 0);
	f = fopen("/proc/self/status", "re");
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "Cap", 3) == 0 && (geteuid() == 0 || line[3] != 'B'))
			ck_assert_msg(strstr(line, "0000000000000000") != NULL, "%s", line);
	fclose(f);
	ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}
END_TEST

START_TEST(caps_keep_keeps_only_that)
{
	const uint64_t chown_only = 1;

	if (geteuid() != 0)
		return;
	OK(ats_caps_bound(chown_only, &err));
	OK(ats_caps_keep(chown_only, &err));
	ck_assert_uint_eq(ats_caps_effective(), chown_only);
	ck_assert_int_eq(ats_caps_verify_empty(false, &err), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(err.text, "caps.verify"));
	/* What is gone cannot come back, and the error names the step. */
	ck_assert_int_eq(ats_caps_keep(chown_only | 2, &err), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(err.text, "caps.capset"));
}
END_TEST

START_TEST(caps_drop_all_without_rights_needs_no_new_privs)
{
	if (geteuid() == 0)
		OK(ats_caps_keep(0, &err));
	ck_assert_int_eq(ats_caps_drop_all(&err), -ATS_E_CONFINE);
	OK(ats_caps_no_new_privs(&err));
	OK(ats_caps_drop_all(&err));
}
END_TEST

START_TEST(caps_undumpable_reads_back)
{
	SKIP_UNDER_SANITIZER;
	OK(ats_caps_undumpable(&err));
	ck_assert_int_eq(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
}
END_TEST

/* ---- limits ------------------------------------------------------------------------ */

START_TEST(limits_are_set_and_never_raised)
{
	const struct ats_limit low[] = { { RLIMIT_NOFILE, "nofile", 100 },
		{ RLIMIT_FSIZE, "fsize", UINT64_MAX } };
	const struct ats_limit high[] = { { RLIMIT_NOFILE, "nofile", 200 } };
	struct rlimit r;

	OK(ats_limits_set(ats_limits_daemon, ats_limits_ndaemon, &err));
	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &r), 0);
	ck_assert_uint_eq(r.rlim_max, 0);
	OK(ats_limits_set(low, 2, &err));
	OK(ats_limits_set(high, 1, &err));
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
	ck_assert_uint_eq(r.rlim_cur, 100);
	ck_assert_uint_eq(r.rlim_max, 100);
	const struct ats_limit bad[] = { { 9999, "nonsense", 1 } };

	ck_assert_int_eq(ats_limits_set(bad, 1, &err), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(err.text, "limits.nonsense"));
}
END_TEST

START_TEST(limit_of_files_is_raised_as_far_as_it_goes)
{
	struct rlimit r = { 100, 300 };

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &r), 0);
	ats_limits_raise_files();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &r), 0);
	ck_assert_uint_eq(r.rlim_cur, 300);
	ck_assert_uint_eq(r.rlim_max, 300);
}
END_TEST

/* Here two of them may be 0 already, whatever is done. */
START_TEST(limits_of_all_are_in_their_table)
{
	static const int wanted[] = { RLIMIT_CORE, RLIMIT_RTPRIO, RLIMIT_NICE, RLIMIT_MSGQUEUE };

	for (size_t i = 0; i < ATS_ARRAY_LEN(wanted); i++) {
		size_t at = 0;

		while (at < ats_limits_ndaemon && ats_limits_daemon[at].resource != wanted[i])
			at++;
		ck_assert_msg(at < ats_limits_ndaemon, "limit %d", wanted[i]);
		ck_assert_uint_eq(ats_limits_daemon[at].value, 0);
	}
}
END_TEST

/* ---- seccomp ----------------------------------------------------------------------- */

static const struct ats_seccomp_rule small_rules[] = {
	ATS_SECCOMP_CALL(ATS_SECCOMP_ERRNO(EXDEV), "getppid"),
	ATS_SECCOMP_CALL(ATS_SECCOMP_KILL, "getpgrp"),
	ATS_SECCOMP_IF(ATS_SECCOMP_ERRNO(EPERM), "ioctl", ATS_SECCOMP_ARG_EQ(1, 0x5412)),
	ATS_SECCOMP_NR(ATS_SECCOMP_ERRNO(EBADMSG), 460),
};
static const struct ats_seccomp_table small = { "small", ATS_SECCOMP_ALLOW, small_rules,
	ATS_ARRAY_LEN(small_rules) };

static void
call_getpgrp(void)
{
	syscall(SYS_getpgrp);
}

static void
call_int80(void)
{
	(void)int80_call(20 /* getpid */);
}

static void
call_x32(void)
{
	syscall(0x40000000 + 39);
#ifndef __x86_64__
	raise(SIGSYS);
#endif
}

START_TEST(seccomp_check_misses_a_rule_that_was_lost)
{
	const struct ats_seccomp_table *all[] = { &ats_seccomp_base, &ats_seccomp_noexec };
	struct ats_seccomp_table less = ats_seccomp_noexec;
	const struct ats_seccomp_table *without[] = { &ats_seccomp_base, &less };
	struct ats_seccomp_prog p = { 0 };

	OK(ats_seccomp_build(all, 2, &p, &err));
	OK(ats_seccomp_check(all, 2, &p, &err));
	p.n--;
	ck_assert_int_eq(ats_seccomp_check(all, 2, &p, &err), -ATS_E_CONFINE);
	ats_seccomp_done(&p);
	less.n--;
	OK(ats_seccomp_build(without, 2, &p, &err));
	ck_assert_int_eq(ats_seccomp_check(all, 2, &p, &err), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(err.text, "name_to_handle_at"));
	ats_seccomp_done(&p);
}
END_TEST

START_TEST(seccomp_answers_as_the_table_says)
{
	SKIP_UNDER_SANITIZER;
	load(&small);
	ck_assert_int_eq(syscall(SYS_getppid), -1);
	ck_assert_int_eq(errno, EXDEV);
	ck_assert_int_eq(syscall(460, 0, 0, 0, 0, 0), -1);
	ck_assert_int_eq(errno, EBADMSG);
	ck_assert_int_gt(syscall(SYS_getpid), 0);
	/* bits above the 32 that the kernel looks at must not hide the command */
	ck_assert_int_eq(syscall(SYS_ioctl, 0, 0x100005412ull, 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(syscall(SYS_ioctl, -1, 0x5413, 0), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(ending_of(call_getpgrp), -SIGSYS);
	ck_assert_int_eq(ending_of(call_int80), int80_is_there() ? -SIGSYS : -SIGSEGV);
	ck_assert_int_eq(ending_of(call_x32), -SIGSYS);
}
END_TEST

START_TEST(seccomp_allow_list_kills_the_rest)
{
	static const struct ats_seccomp_rule rules[] = {
		ATS_SECCOMP_CALL(ATS_SECCOMP_ALLOW, "exit_group"),
		ATS_SECCOMP_CALL(ATS_SECCOMP_ALLOW, "getpid"),
		ATS_SECCOMP_IF(ATS_SECCOMP_ALLOW, "mmap", ATS_SECCOMP_ARG_MASK(2, 4, 0)),
	};
	static const struct ats_seccomp_table t = { "list", ATS_SECCOMP_KILL, rules,
		ATS_ARRAY_LEN(rules) };
	const struct ats_seccomp_table *tables[] = { &t };
	struct ats_seccomp_prog p = { 0 };
	long nrs[] = { SYS_getpid, SYS_getuid };

	SKIP_UNDER_SANITIZER;
	OK(ats_seccomp_build(tables, 1, &p, &err));
	for (size_t i = 0; i < 4; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			(void)!ats_caps_no_new_privs(NULL);
			(void)!ats_seccomp_load(&p, NULL);
			if (i < 2)
				syscall(nrs[i]);
			else
				syscall(SYS_mmap, 0, 4096, i == 2 ? 3 : 7, 0x22, -1, 0);
			_exit(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(WIFSIGNALED(status), i % 2 == 1);
	}
	ats_seccomp_done(&p);
}
END_TEST

START_TEST(seccomp_build_refuses_unknown_names)
{
	static const struct ats_seccomp_rule rules[] = {
		ATS_SECCOMP_CALL(ATS_SECCOMP_KILL, "no_such_call"),
	};
	static const struct ats_seccomp_table t = { "bad", ATS_SECCOMP_ALLOW, rules, 1 };
	const struct ats_seccomp_table *tables[] = { &t };
	struct ats_seccomp_prog p = { 0 };

	ck_assert_int_eq(ats_seccomp_build(tables, 1, &p, &err), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(err.text, "no_such_call"));
	ck_assert_int_eq(ats_seccomp_load(&p, &err), -ATS_E_CONFINE);
}
END_TEST

START_TEST(seccomp_load_without_no_new_privs_fails_with_its_step)
{
	const struct ats_seccomp_table *tables[] = { &small };
	struct ats_seccomp_prog p = { 0 };

	OK(ats_seccomp_build(tables, 1, &p, &err));
	if (geteuid() == 0)
		OK(ats_caps_keep(0, &err));
	ck_assert_int_eq(ats_seccomp_load(&p, &err), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(err.text, "seccomp.load"));
	ats_seccomp_done(&p);
}
END_TEST

START_TEST(seccomp_unknown_numbers_do_not_exist)
{
	OK(ats_caps_no_new_privs(&err));
	OK(ats_seccomp_load_unknown(ATS_SECCOMP_FIRST_UNKNOWN, &err));
	ck_assert_int_eq(syscall(467, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(syscall(100000, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_gt(syscall(SYS_getpid), 0);
}
END_TEST

START_TEST(seccomp_text_is_readable)
{
	const struct ats_seccomp_table *tables[] = { &ats_seccomp_base };
	char *text = NULL;

	OK(ats_seccomp_text(tables, 1, &text, &err));
	ck_assert_ptr_nonnull(strstr(text, "io_uring_setup"));
	free(text);
}
END_TEST

START_TEST(seccomp_base_refuses_families_and_surfaces)
{
	static const struct {
		long nr;
		unsigned long a, b, c;
	} refused[] = {
		{ SYS_bpf, 0, 0, 0 }, { SYS_keyctl, 0, 0, 0 }, { SYS_io_uring_setup, 1, 0, 0 },
		{ SYS_userfaultfd, 0, 0, 0 }, { SYS_perf_event_open, 0, 0, 0 },
		{ 438, 0, 0, 0 }, { SYS_open_by_handle_at, 0, 0, 0 },
		{ SYS_socket, 40 /* VSOCK */, SOCK_STREAM, 0 },
		{ SYS_socket, 17 /* PACKET */, SOCK_RAW, 0 },
		{ SYS_socket, 38 /* ALG */, SOCK_SEQPACKET, 0 },
		{ SYS_socket, 15 /* KEY */, SOCK_RAW, 2 },
		{ SYS_socket, 0x100000028ul, SOCK_STREAM, 0 },
		{ SYS_socket, AF_NETLINK, SOCK_RAW, 9 },
		{ SYS_socketpair, AF_INET, SOCK_STREAM, 0 },
		{ SYS_ioctl, 0, 0x5412, 0 }, { SYS_ioctl, 0, 0xf00005412ul, 0 },
		{ SYS_ioctl, 0, 0x541c, 0 },
	};
	int fd, pair[2];

	load(&ats_seccomp_base);
	for (size_t i = 0; i < ATS_ARRAY_LEN(refused); i++) {
		errno = 0;
		ck_assert_int_eq(syscall(refused[i].nr, refused[i].a, refused[i].b,
			refused[i].c, 0, 0), -1);
		ck_assert_msg(errno == EPERM, "row %zu: %d", i, errno);
	}
	for (int family = 1; family <= AF_NETLINK; family++) {
		bool allowed = family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
		    family == AF_NETLINK;

		fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		ck_assert_int_eq(fd < 0 && errno == EPERM, !allowed);
		if (fd >= 0)
			close(fd);
	}
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, pair), 0);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

static void
call_exec(void)
{
	char *argv[] = { NULL };

	execve("/bin/true", argv, argv);
}

START_TEST(seccomp_noexec_refuses_processes_and_mounts)
{
	int status;
	pid_t pid;

	SKIP_UNDER_SANITIZER;
	/* After the filter nothing forks: the one that execs is forked before it. */
	pid = fork();
	if (pid == 0) {
		load(&ats_seccomp_noexec);
		call_exec();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	load(&ats_seccomp_noexec);
	ck_assert_int_eq(fork(), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(syscall(SYS_clone3, NULL, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(syscall(SYS_mount, "", "", "", 0, ""), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(syscall(SYS_unshare, 0), -1);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_eq(kill(getpid(), 0), -1);
	ck_assert_int_eq(errno, EPERM);
}
END_TEST

/* ---- landlock ---------------------------------------------------------------------- */

static char dir[] = "/tmp/ats-test-ll-XXXXXX";

START_TEST(landlock_grants_what_was_listed)
{
	struct ats_landlock_path paths[] = {
		{ .path = "/usr", .rights = ATS_LL_READ | ATS_LL_EXECUTE },
		{ .path = "/dev/null", .rights = ATS_LL_READ | ATS_LL_WRITE },
		{ .path = "/tmp", .rights = ATS_LL_READ | ATS_LL_WRITE },
		{ .path = "/proc", .rights = ATS_LL_READ },	/* our own descriptor check */
		{ .path = "/nonexistent", .rights = ATS_LL_READ, .optional = true },
	};
	struct ats_landlock_rules r = { .fs = ATS_LL_FS_ALL, .net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ALL, .paths = paths, .npaths = ATS_ARRAY_LEN(paths) };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct ats_landlock_got got;
	char file[64];
	int set, fd;

	if (ats_landlock_abi() == 0)
		return;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/f", dir);
	OK(ats_landlock_build(&r, &set, &got, &err));
	ck_assert_int_eq(got.abi, ats_landlock_abi());
	OK(ats_caps_no_new_privs(&err));
	OK(ats_landlock_restrict(set, &err));
	close(set);
	ck_assert_int_eq(open("/etc/passwd", O_RDONLY), -1);
	ck_assert_int_eq(errno, EACCES);
	fd = open("/usr/bin/env", O_RDONLY);
	ck_assert_int_ge(fd, 0);
	close(fd);
	fd = open("/dev/null", O_RDWR);
	ck_assert_int_ge(fd, 0);
	close(fd);
	fd = open(file, O_CREAT | O_RDWR, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(open("/var/tmp/ats-test-outside", O_CREAT | O_RDWR, 0600), -1);
	if (got.scope != 0) {
		ck_assert_int_eq(kill(getppid(), 0), -1);
		ck_assert_int_eq(errno, EPERM);
		memcpy(sa.sun_path, "\0ats-none", 9);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, 12), -1);
		close(fd);
	}
	unlink(file);
	rmdir(dir);
}
END_TEST

START_TEST(landlock_fails_closed)
{
	struct ats_landlock_path paths[] = { { .path = "/nonexistent", .rights = 4 } };
	struct ats_landlock_rules r = { .fs = ATS_LL_READ, .paths = paths, .npaths = 1 };
	int set = -1;

	if (ats_landlock_abi() == 0)
		return;
	ck_assert_int_eq(ats_landlock_build(&r, &set, NULL, &err), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent"));
	r.npaths = 0;
	r.min_abi = 1000;
	ck_assert_int_eq(ats_landlock_build(&r, &set, NULL, &err), -ATS_E_UNAVAILABLE);
	ck_assert_int_eq(set, -1);
	ck_assert_int_eq(ats_landlock_restrict(-1, &err), -ATS_E_CONFINE);
	ck_assert_ptr_nonnull(strstr(err.text, "landlock.restrict"));
}
END_TEST

ATS_UNIT_MAIN("confine", caps_drop_all_leaves_nothing, caps_keep_keeps_only_that,
    caps_drop_all_without_rights_needs_no_new_privs, caps_undumpable_reads_back,
    limits_are_set_and_never_raised, limit_of_files_is_raised_as_far_as_it_goes,
    limits_of_all_are_in_their_table,
    seccomp_check_misses_a_rule_that_was_lost, seccomp_answers_as_the_table_says,
    seccomp_allow_list_kills_the_rest, seccomp_build_refuses_unknown_names,
    seccomp_load_without_no_new_privs_fails_with_its_step,
    seccomp_unknown_numbers_do_not_exist, seccomp_text_is_readable,
    seccomp_base_refuses_families_and_surfaces, seccomp_noexec_refuses_processes_and_mounts,
    landlock_grants_what_was_listed, landlock_fails_closed)
