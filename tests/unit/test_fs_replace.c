/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/fs/replace.c, meta.c and inplace.c: what stays and what is left behind. */
#include "hands/fs/replace.h"
#include "tests/lib/tool_env.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

/* In the place of libc's: what a replacement asks for, in order. */
static char asked[16];

static void
ask(char what)
{
	size_t n = strlen(asked);

	if (n + 1 < sizeof(asked))
		asked[n] = what;
}

int
fsync(int fd)
{
	ask('s');
	return (int)syscall(SYS_fsync, fd);
}

int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	ask('r');
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

static int pwrites_fail;	/* so many more of them */

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	if (pwrites_fail > 0) {
		pwrites_fail--;
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, p, n, at);
}

static int
replace(struct fake_env *f, const char *name, const char *content, size_t n,
    struct stat *st, bool *in_place, struct ats_err *err)
{
	int dirfd = open(f->ws, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int old = openat(dirfd, name, O_RDWR | O_CLOEXEC);
	int rc;

	if (old < 0 && errno == EACCES)	/* 0444, and we are not root */
		old = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	rc = fs_replace(dirfd, name, old, content, n, st, in_place, err);

	close(dirfd);
	if (old >= 0)
		close(old);
	return rc;
}

START_TEST(replace_new_file_has_the_umask)
{
	struct fake_env f;
	struct ats_err err;
	struct stat st, now;
	bool in_place;

	fake_start(&f);
	umask(027);
	ck_assert_int_eq(replace(&f, "f", "new", 3, &st, &in_place, &err), 0);
	ck_assert_int_eq(stat(fake_path(&f, "ws/f"), &now), 0);
	ck_assert_uint_eq(now.st_mode & 07777, 0640);
	ck_assert_uint_eq(now.st_ino, st.st_ino);
	ck_assert_uint_eq(st.st_size, 3);
	ck_assert(!in_place);
	fake_expect_str(&f, "ws/f", "new");
	fake_expect_entries(&f, "ws", 1);
	fake_stop(&f);
}
END_TEST

/* A crash leaves the old file or the new one: what is not on the disk gets no name. */
START_TEST(replace_syncs_before_it_renames)
{
	struct fake_env f;
	struct ats_err err;
	struct stat st;
	bool in_place;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "old");
	memset(asked, 0, sizeof(asked));
	ck_assert_int_eq(replace(&f, "f", "new", 3, &st, &in_place, &err), 0);
	ck_assert_str_eq(asked, "sr");
	fake_stop(&f);
}
END_TEST

START_TEST(replace_new_file_that_appeared_fails)
{
	struct fake_env f;
	struct ats_err err;
	struct stat st;
	bool in_place;
	int dirfd;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "theirs");
	dirfd = open(f.ws, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(fs_replace(dirfd, "f", -1, "new", 3, &st, &in_place, &err),
	    -ATS_E_EXISTS);
	close(dirfd);
	fake_expect_str(&f, "ws/f", "theirs");
	fake_expect_entries(&f, "ws", 1);
	fake_stop(&f);
}
END_TEST

START_TEST(replace_keeps_mode_owner_and_xattrs)
{
	static const mode_t modes[] = { 0644, 0600, 0755, 02750, 04755, 0664, 0444, 01777 };
	struct fake_env f;
	struct ats_err err;
	struct stat before, st;
	bool in_place, have_xattr;
	char value[16];

	fake_start(&f);
	umask(022);
	for (size_t i = 0; i < ATS_ARRAY_LEN(modes); i++) {
		const char *path = fake_path(&f, "ws/f");

		fake_put_str(&f, "ws/f", "old");
		if (geteuid() == 0)
			ck_assert_int_eq(chown(path, 1234, 2345), 0);
		ck_assert_int_eq(chmod(path, modes[i]), 0);
		have_xattr = setxattr(path, "user.ats", "value", 5, 0) == 0;
		ck_assert_int_eq(stat(path, &before), 0);
		ck_assert_int_eq(replace(&f, "f", "new text", 8, &st, &in_place, &err), 0);
		ck_assert_uint_eq(st.st_mode, before.st_mode);
		ck_assert_uint_eq(st.st_uid, before.st_uid);
		ck_assert_uint_eq(st.st_gid, before.st_gid);
		ck_assert(!in_place && st.st_ino != before.st_ino);
		if (have_xattr)
			ck_assert_int_eq(getxattr(path, "user.ats", value, sizeof(value)), 5);
		fake_expect_str(&f, "ws/f", "new text");
		ck_assert_int_eq(unlink(path), 0);
	}
	fake_expect_entries(&f, "ws", 0);
	fake_stop(&f);
}
END_TEST

/* Writing takes setuid and setgid away from who has no capability: they are given back. */
START_TEST(replace_keeps_special_bits_without_capabilities)
{
	static const mode_t modes[] = { 04755, 02755, 06750 };
	struct fake_env f;
	struct ats_err err;
	struct stat st;
	bool in_place, root = geteuid() == 0;

	fake_start(&f);
	if (root) {
		ck_assert_int_eq(chmod(f.base, 0755), 0);
		ck_assert_int_eq(chown(f.ws, 1234, 1234), 0);
		ck_assert_int_eq(setegid(1234), 0);
		ck_assert_int_eq(seteuid(1234), 0);
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(modes); i++) {
		fake_put_str(&f, "ws/f", "old");
		ck_assert_int_eq(chmod(fake_path(&f, "ws/f"), modes[i]), 0);
		ck_assert_int_eq(replace(&f, "f", "new text", 8, &st, &in_place, &err), 0);
		ck_assert(!in_place);
		ck_assert_uint_eq(st.st_mode & 07777, modes[i]);
		ck_assert_int_eq(unlink(fake_path(&f, "ws/f")), 0);
	}
	if (root) {
		ck_assert_int_eq(seteuid(0), 0);
		ck_assert_int_eq(setegid(0), 0);
	}
	fake_stop(&f);
}
END_TEST

/* An ACL is an xattr; this one gives user 7 read and write. */
START_TEST(replace_keeps_the_acl_and_takes_none_from_the_directory)
{
	static const unsigned char acl[] = { 2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255,
		2, 0, 6, 0, 7, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 6, 0, 255,
		255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255 };
	struct fake_env f;
	struct ats_err err;
	struct stat st;
	bool in_place;
	unsigned char got[64];

	fake_start(&f);
	fake_put_str(&f, "ws/plain", "old");
	fake_put_str(&f, "ws/acl", "old");
	if (setxattr(fake_path(&f, "ws/acl"), "system.posix_acl_access", acl, sizeof(acl), 0) < 0 ||
	    setxattr(f.ws, "system.posix_acl_default", acl, sizeof(acl), 0) < 0) {
		printf("# SKIP no ACLs on this file system\n");
		fake_stop(&f);
		return;
	}
	ck_assert_int_eq(replace(&f, "acl", "new", 3, &st, &in_place, &err), 0);
	ck_assert_int_eq(getxattr(fake_path(&f, "ws/acl"), "system.posix_acl_access", got,
	    sizeof(got)), sizeof(acl));
	ck_assert_mem_eq(got, acl, sizeof(acl));
	ck_assert_int_eq(replace(&f, "plain", "new", 3, &st, &in_place, &err), 0);
	ck_assert_int_lt(getxattr(fake_path(&f, "ws/plain"), "system.posix_acl_access", got,
	    sizeof(got)), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0644);
	fake_stop(&f);
}
END_TEST

START_TEST(replace_hard_link_stays_one_file)
{
	static const char *const contents[] = { "longer than the old content", "s", "", "same" };
	struct fake_env f;
	struct ats_err err;
	struct stat before, st;
	bool in_place;

	fake_start(&f);
	fake_put_str(&f, "ws/a", "once");
	ck_assert_int_eq(link(fake_path(&f, "ws/a"), fake_path(&f, "ws/b")), 0);
	ck_assert_int_eq(chmod(fake_path(&f, "ws/a"), 02755), 0);
	ck_assert_int_eq(stat(fake_path(&f, "ws/a"), &before), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(contents); i++) {
		ck_assert_int_eq(replace(&f, "a", contents[i], strlen(contents[i]), &st, &in_place,
		    &err), 0);
		ck_assert(in_place);
		ck_assert_uint_eq(st.st_ino, before.st_ino);
		ck_assert_uint_eq(st.st_mode, before.st_mode);
		fake_expect_str(&f, "ws/b", contents[i]);
	}
	fake_expect_entries(&f, "ws", 2);
	fake_stop(&f);
}
END_TEST

START_TEST(replace_takes_a_dead_writers_temporary_away)
{
	struct fake_env f;
	struct ats_err err;
	struct stat st;
	bool in_place;
	char temp[64], path[128];
	int fd;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "old");
	replace_temp_name("f", "tmp", temp);
	snprintf(path, sizeof(path), "ws/%s", temp);
	fake_put_str(&f, path, "half a fi");
	ck_assert_int_eq(replace(&f, "f", "new", 3, &st, &in_place, &err), 0);
	fake_expect_entries(&f, "ws", 1);
	/* a link planted under that name is not followed */
	ck_assert_int_eq(symlink(fake_path(&f, "out/x"), fake_path(&f, path)), 0);
	ck_assert_int_eq(replace(&f, "f", "newer", 5, &st, &in_place, &err), 0);
	fake_expect_str(&f, "ws/f", "newer");
	fake_expect_entries(&f, "out", 0);
	/* a living one's is left alone */
	fake_put_str(&f, path, "half");
	fd = open(fake_path(&f, path), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(replace(&f, "f", "x", 1, &st, &in_place, &err), -ATS_E_BUSY);
	close(fd);
	fake_expect_str(&f, "ws/f", "newer");
	fake_stop(&f);
}
END_TEST

START_TEST(replace_waits_for_a_writer_that_is_dying)
{
	struct fake_env f;
	struct ats_err err;
	struct stat st;
	bool in_place;
	char temp[64], path[128];
	int ready[2];
	pid_t child;
	char c;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "old");
	replace_temp_name("f", "tmp", temp);
	snprintf(path, sizeof(path), "ws/%s", temp);
	fake_put_str(&f, path, "half");
	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		int fd = open(fake_path(&f, path), O_RDONLY | O_CLOEXEC);

		if (flock(fd, LOCK_EX) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)poll(NULL, 0, 60);	/* what a killed process has yet to do */
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(replace(&f, "f", "new", 3, &st, &in_place, &err), 0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	close(ready[0]);
	close(ready[1]);
	fake_expect_str(&f, "ws/f", "new");
	fake_expect_entries(&f, "ws", 1);
	fake_stop(&f);
}
END_TEST

START_TEST(replace_disk_full_leaves_the_old_file)
{
	struct fake_env f;
	struct ats_err err;
	struct stat st;
	bool in_place;
	size_t n = 600u << 10;
	char *big = malloc(n);

	memset(big, 'x', n);
	fake_start(&f);
	close(f.roots[0].fd);
	/* In a mount namespace of this process: it goes with it, however it ends. */
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", f.ws, "tmpfs", 0, "size=1m") < 0) {
		printf("# SKIP needs root to mount a small tmpfs\n");
	} else {
		fake_put(&f, "ws/f", big, n);
		fake_put(&f, "ws/g", "small", 5);
		ck_assert_int_eq(link(fake_path(&f, "ws/g"), fake_path(&f, "ws/h")), 0);
		memset(big, 'y', n);
		ck_assert_int_eq(replace(&f, "f", big, n, &st, &in_place, &err), -ATS_E_NOSPC);
		ck_assert_int_eq(replace(&f, "g", big, n, &st, &in_place, &err), -ATS_E_NOSPC);
		ck_assert_int_eq(replace(&f, "new", big, n, &st, &in_place, &err), -ATS_E_NOSPC);
		fake_expect_str(&f, "ws/h", "small");
		f.roots[0].fd = open(f.ws, O_PATH | O_CLOEXEC);
		big[n - 1] = '\0';
		fake_write(&f, "made/for/nothing", big);
		fake_expect_code(&f, ATS_E_NOSPC);
		fake_write(&f, "made2/f", "x");
		fake_expect_code(&f, 0);
		ck_assert_int_eq(unlink(fake_path(&f, "ws/made2/f")), 0);
		ck_assert_int_eq(rmdir(fake_path(&f, "ws/made2")), 0);
		close(f.roots[0].fd);
		memset(big, 'x', n);
		fake_expect(&f, "ws/f", big, n);
		fake_expect_entries(&f, "ws", 3);
		ck_assert_int_eq(umount(f.ws), 0);
	}
	f.roots[0].fd = open(f.ws, O_PATH | O_CLOEXEC);
	free(big);
	fake_stop(&f);
}
END_TEST

/* RLIMIT_FSIZE makes any write fail part way, as a quota does. */
START_TEST(replace_write_error_restores_the_hard_link)
{
	struct fake_env f;
	int status;
	pid_t child;

	fake_start(&f);
	fake_put_str(&f, "ws/a", "the old content");
	ck_assert_int_eq(link(fake_path(&f, "ws/a"), fake_path(&f, "ws/b")), 0);
	child = fork();
	if (child == 0) {
		struct rlimit limit = { 4096, 4096 };
		char big[8192] = "x";
		struct ats_err err;
		struct stat st;
		bool in_place;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(replace(&f, "a", big, sizeof(big), &st, &in_place, &err) < 0 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	fake_expect_str(&f, "ws/a", "the old content");
	fake_expect_entries(&f, "ws", 2);
	fake_stop(&f);
}
END_TEST

/* An owner that cannot be given away: a worker that is not root and has group access. */
/* The disk fails in the middle; once, and then again when the old content is put back. */
START_TEST(replace_hard_link_on_a_failing_disk_loses_nothing)
{
	for (int fails = 1; fails <= 2; fails++) {
		struct fake_env f;
		struct ats_err err;
		struct stat st;
		bool in_place;

		fake_start(&f);
		fake_put_str(&f, "ws/a", "the old content");
		ck_assert_int_eq(link(fake_path(&f, "ws/a"), fake_path(&f, "ws/b")), 0);
		pwrites_fail = fails;
		ck_assert_int_lt(replace(&f, "a", "new", 3, &st, &in_place, &err), 0);
		ck_assert_int_eq(pwrites_fail, 0);
		ck_assert_msg((strstr(err.text, "nor restore it") != NULL) == (fails == 2), "%s",
		    err.text);
		fake_expect_str(&f, "ws/a", "the old content");
		/* the copy stays when it may be the only one */
		fake_expect_entries(&f, "ws", fails == 1 ? 2 : 3);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(replace_foreign_owner_is_written_in_place)
{
	struct fake_env f;
	int status;
	pid_t child;

	if (geteuid() != 0) {
		printf("# SKIP needs root to make a file of another owner\n");
		return;
	}
	fake_start(&f);
	fake_put_str(&f, "ws/f", "old");
	ck_assert_int_eq(chown(fake_path(&f, "ws/f"), 1, 2000), 0);
	ck_assert_int_eq(chmod(fake_path(&f, "ws/f"), 0664), 0);
	ck_assert_int_eq(chmod(f.ws, 0777), 0);
	ck_assert_int_eq(chmod(f.base, 0755), 0);
	child = fork();
	if (child == 0) {
		struct ats_err err;
		struct stat st;
		bool in_place = false;
		int rc;

		if (setgroups(0, NULL) < 0 || setresgid(2000, 2000, 2000) < 0 ||
		    setresuid(3000, 3000, 3000) < 0)
			_exit(2);
		rc = replace(&f, "f", "new", 3, &st, &in_place, &err);
		_exit(rc == 0 && in_place && st.st_uid == 1 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	fake_expect_str(&f, "ws/f", "new");
	fake_expect_entries(&f, "ws", 1);
	fake_stop(&f);
}
END_TEST

/* Killed at any moment, the file is the old one or the new one, and the next write cleans up. */
START_TEST(replace_killed_leaves_old_or_new)
{
	struct fake_env f;
	size_t n = 256u << 10;
	char *a = malloc(n), *b = malloc(n), *got = NULL;
	size_t len;

	memset(a, 'a', n);
	memset(b, 'b', n);
	fake_start(&f);
	fake_put(&f, "ws/f", a, n);
	for (int i = 0; i < 60; i++) {
		struct ats_err err;
		struct stat st;
		bool in_place;
		pid_t child = fork();

		if (child == 0) {
			_exit(replace(&f, "f", i % 2 ? a : b, n, &st, &in_place, &err) < 0);
		}
		usleep((useconds_t)(i * 40));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, fake_path(&f, "ws/f"), 2 * n, &got, &len,
		    NULL), 0);
		ck_assert_uint_eq(len, n);
		ck_assert(memcmp(got, a, n) == 0 || memcmp(got, b, n) == 0);
		free(got);
	}
	{
		struct ats_err err;
		struct stat st;
		bool in_place;

		ck_assert_int_eq(replace(&f, "f", "end", 3, &st, &in_place, &err), 0);
	}
	fake_expect_entries(&f, "ws", 1);
	free(a);
	free(b);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("fs_replace", replace_new_file_has_the_umask,
    replace_syncs_before_it_renames, replace_keeps_special_bits_without_capabilities,
    replace_new_file_that_appeared_fails, replace_keeps_mode_owner_and_xattrs,
    replace_keeps_the_acl_and_takes_none_from_the_directory, replace_hard_link_stays_one_file,
    replace_takes_a_dead_writers_temporary_away,
    replace_waits_for_a_writer_that_is_dying, replace_disk_full_leaves_the_old_file,
    replace_write_error_restores_the_hard_link,
    replace_hard_link_on_a_failing_disk_loses_nothing, replace_foreign_owner_is_written_in_place,
    replace_killed_leaves_old_or_new)
