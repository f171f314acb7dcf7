/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/fs/open.c, nearest.c and target.c. */
#include "hands/fs/file.h"
#include "tests/lib/tool_env.h"

#include "common/clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static int
try_open(struct fake_env *f, const char *name, struct ats_err *err)
{
	struct fs_place pl;
	struct stat st;
	int fd = -1, rc = fs_place(&f->env, name, &pl, err);

	if (rc == 0)
		rc = fs_open_file(&f->env, &pl, &fd, &st, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

START_TEST(open_file_takes_regular_files_only)
{
	static const struct { const char *name; int code; } rows[] = {
		{ "file", 0 }, { "fifo", ATS_E_NOTFILE }, { "sock", ATS_E_NOTFILE },
		{ "dir", ATS_E_NOTFILE }, { "to-fifo", ATS_E_NOTFILE }, { "zero", ATS_E_NOTFILE },
		{ "to-zero", ATS_E_ESCAPES }, { "/dev/stdin", ATS_E_ESCAPES },
		{ "/proc/kmsg", ATS_E_ESCAPES }, { "none", ATS_E_NOENT },
		{ "file/x", ATS_E_NOENT }, { "to-abs", 0 }, { "abs-dangling", ATS_E_NOENT },
		{ "evil/f", ATS_E_ESCAPES }, { "self", ATS_E_INVAL },
	};
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct fake_env f;
	uint64_t start;
	int s;

	fake_start(&f);
	fake_put_str(&f, "ws/file", "x");
	mkfifo(fake_path(&f, "ws/fifo"), 0644);
	mkdir(fake_path(&f, "ws/dir"), 0755);
	ck_assert_int_eq(symlink("fifo", fake_path(&f, "ws/to-fifo")), 0);
	ck_assert_int_eq(symlink("/dev/zero", fake_path(&f, "ws/to-zero")), 0);
	ck_assert_int_eq(symlink(fake_path(&f, "ws/file"), fake_path(&f, "ws/to-abs")), 0);
	ck_assert_int_eq(symlink(fake_path(&f, "ws/no"), fake_path(&f, "ws/abs-dangling")), 0);
	ck_assert_int_eq(symlink("../ws-evil", fake_path(&f, "ws/evil")), 0);
	ck_assert_int_eq(symlink("self", fake_path(&f, "ws/self")), 0);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", fake_path(&f, "ws/sock"));
	s = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(s, (struct sockaddr *)&sa, sizeof(sa)), 0);
	if (mknod(fake_path(&f, "ws/zero"), S_IFCHR | 0666, 1 << 8 | 5) < 0)
		mkfifo(fake_path(&f, "ws/zero"), 0666);
	start = ats_clock_ms();
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		int rc = try_open(&f, rows[i].name, &err);

		ck_assert_msg(rc == -rows[i].code, "%s: %d %s", rows[i].name, rc, err.text);
	}
	ck_assert_uint_lt(ats_clock_ms() - start, 1000);
	close(s);
	fake_stop(&f);
}
END_TEST

START_TEST(open_file_missing_names_the_nearest)
{
	static const struct {
		const char *have, *ask; bool want;
	} rows[] = {
		{ "main.c", "Main.c", true },
		{ "README.md", "readme.md", true },
		{ "main_window.h", "main_window.c++", true },
		{ "config.yaml", "config.yml", true },
		{ "app.ts", "app.js", true },
		{ "shot 10\xe2\x80\xaf"
		  "AM.png",
		    "shot 10 AM.png", true },
		{ "cafe\xcc\x81.txt", "cafe.txt", true },
		{ "abcdef.c", "zzzzzz.h", false },
		{ "utils.py", "util.py", true },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		struct fake_env f;
		char name[64];

		fake_start(&f);
		snprintf(name, sizeof(name), "ws/%s", rows[i].have);
		fake_put_str(&f, name, "x");
		ck_assert_int_eq(try_open(&f, rows[i].ask, &err), -ATS_E_NOENT);
		ck_assert_msg((strstr(err.text, rows[i].have) != NULL) == rows[i].want, "%s",
		    err.text);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(open_file_odd_names_round_trip)
{
	static const struct {
		const char *have, *shown;
	} rows[] = {
		{ "a\xe2\x80\xaf"
		  "b.png",
		    "a\xe2\x80\xaf"
		    "b.png" },
		{ "cafe\xcc\x81", "cafe\xcc\x81" },
		{ "bad\xff.txt", "bad\xef\xbf\xbd.txt" },
		{ "l\xe9/\xe9t", "l\xef\xbf\xbd/\xef\xbf\xbdt" },
		{ "new\nline", "new\nline" },
		{ "\"quo\\te", "\"quo\\te" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct ats_err err = { 0 };
		struct fake_env f;
		char name[64], *slash;

		fake_start(&f);
		snprintf(name, sizeof(name), "ws/%s", rows[i].have);
		slash = strchr(name + 3, '/');
		if (slash != NULL) {
			*slash = '\0';
			mkdir(fake_path(&f, name), 0755);
			*slash = '/';
		}
		fake_put_str(&f, name, "x");
		ck_assert_msg(try_open(&f, rows[i].shown, &err) == 0, "%s", err.text);
		fake_stop(&f);
	}
}
END_TEST

/* A child swaps a directory for a link that leads out, without end. */
START_TEST(open_file_swap_race_never_leaves_the_root)
{
	struct fake_env f;
	pid_t child;
	int opened = 0;

	fake_start(&f);
	mkdir(fake_path(&f, "ws/d"), 0755);
	fake_put_str(&f, "ws/d/secret", "inside");
	fake_put_str(&f, "out/secret", "outside");
	ck_assert_int_eq(symlink(fake_path(&f, "out"), fake_path(&f, "ws/l")), 0);
	child = fork();
	if (child == 0) {
		char a[256], b[256];

		snprintf(a, sizeof(a), "%s/ws/d", f.base);
		snprintf(b, sizeof(b), "%s/ws/l", f.base);
		for (;;)
			renameat2(AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */);
	}
	/* On a busy machine the swapper may win each turn of a short run. */
	for (int i = 0; i < 20000 || (opened == 0 && i < 1000000); i++) {
		struct fs_place pl;
		struct stat st;
		int fd = -1;
		char buf[16];

		ck_assert_int_eq(fs_place(&f.env, "d/secret", &pl, NULL), 0);
		if (fs_open_file(&f.env, &pl, &fd, &st, NULL) < 0)
			continue;
		ck_assert_int_eq(read(fd, buf, sizeof(buf)), 6);
		ck_assert_mem_eq(buf, "inside", 6);
		close(fd);
		opened++;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ck_assert_int_gt(opened, 0);
	fake_stop(&f);
}
END_TEST

START_TEST(target_swap_race_never_writes_outside)
{
	struct fake_env f;
	pid_t child;
	int wrote = 0;

	fake_start(&f);
	mkdir(fake_path(&f, "ws/d"), 0755);
	ck_assert_int_eq(symlink(fake_path(&f, "out"), fake_path(&f, "ws/l")), 0);
	child = fork();
	if (child == 0) {
		char a[256], b[256];

		snprintf(a, sizeof(a), "%s/ws/d", f.base);
		snprintf(b, sizeof(b), "%s/ws/l", f.base);
		for (;;)
			renameat2(AT_FDCWD, a, AT_FDCWD, b, 2 /* RENAME_EXCHANGE */);
	}
	for (int i = 0; i < 2000 || (wrote == 0 && i < 100000); i++) {
		char name[32];

		snprintf(name, sizeof(name), "d/sub%d/new", i % 50);
		fake_write(&f, name, "x");
		wrote += !f.res.is_error;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	fake_expect_entries(&f, "out", 0);
	ck_assert_int_gt(wrote, 0);
	fake_stop(&f);
}
END_TEST

START_TEST(target_locked_by_another_waits_for_the_deadline)
{
	struct fake_env f;
	struct fs_place pl;
	struct fs_target t;
	struct ats_err err;
	int fd;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "x");
	fd = open(fake_path(&f, "ws/f"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	f.env.deadline_us = ats_clock_us() + 30000;
	ck_assert_int_eq(fs_place(&f.env, "f", &pl, &err), 0);
	ck_assert_int_eq(fs_target_open(&f.env, &pl, &t, &err), -ATS_E_BUSY);
	ck_assert_uint_ge(ats_clock_us(), f.env.deadline_us);	/* not before */
	close(fd);
	ck_assert_int_eq(fs_target_open(&f.env, &pl, &t, &err), 0);
	fs_target_done(&t);
	fake_stop(&f);
}
END_TEST

START_TEST(make_parent_makes_what_is_missing)
{
	struct fake_env f;
	struct fs_place pl;
	struct ats_err err;
	struct fs_target t;
	int fd = -1;

	fake_start(&f);
	ck_assert_int_eq(fs_place(&f.env, "a/b/c/file", &pl, &err), 0);
	ck_assert_int_eq(fs_target_open(&f.env, &pl, &t, &err), 0);
	ck_assert_int_eq(t.dirfd, -1);
	ck_assert_int_eq(fs_target_make_parent(&f.env, &t, &err), 0);
	ck_assert_str_eq(t.name, "file");
	ck_assert_uint_eq(t.made, 3);
	ck_assert_int_eq(faccessat(t.dirfd, "../../../a/b/c", F_OK, 0), 0);
	fs_target_unmake_parent(&t);
	fs_target_done(&t);
	fake_expect_entries(&f, "ws", 0);
	ck_assert_int_eq(fs_place(&f.env, ".", &pl, &err), 0);
	ck_assert_int_eq(fs_target_open(&f.env, &pl, &t, &err), -ATS_E_NOTFILE);
	ck_assert_int_eq(fs_open_dir(&f.env, &pl, &fd, &err), 0);
	close(fd);
	fake_put_str(&f, "ws/file", "x");
	ck_assert_int_eq(fs_place(&f.env, "file", &pl, &err), 0);
	ck_assert_int_eq(fs_open_dir(&f.env, &pl, &fd, &err), -ATS_E_INVAL);
	fake_stop(&f);
}
END_TEST

START_TEST(read_all_over_the_cap_fails)
{
	struct fake_env f;
	struct ats_err err;
	char *p;
	size_t n;
	int fd;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "0123456789");
	fd = open(fake_path(&f, "ws/f"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fs_read_all(fd, 9, &p, &n, &err), -ATS_E_TOOBIG);
	ck_assert_int_eq(fs_read_all(fd, 10, &p, &n, &err), 0);
	ck_assert_uint_eq(n, 10);
	free(p);
	lseek(fd, 0, SEEK_SET);
	ck_assert_int_eq(fs_read_sized(fd, 3, 10, &p, &n, &err), 0);	/* it grew */
	ck_assert_uint_ge(n, 3);
	free(p);
	lseek(fd, 0, SEEK_SET);
	/* A read that was cut at just the size is the end: so it is with regular files. */
	if (getenv("ATS_FAULT") == NULL)
		ck_assert_int_eq(fs_read_sized(fd, 3, 9, &p, &n, &err), -ATS_E_TOOBIG);
	close(fd);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("fs_open", open_file_takes_regular_files_only,
    open_file_missing_names_the_nearest, open_file_odd_names_round_trip,
    open_file_swap_race_never_leaves_the_root, target_swap_race_never_writes_outside,
    target_locked_by_another_waits_for_the_deadline, make_parent_makes_what_is_missing,
    read_all_over_the_cap_fails)
