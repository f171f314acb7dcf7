/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/write.c and change.c. */
#include "hands/tools/change.h"
#include "tests/lib/tool_env.h"

#include "common/clock.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

START_TEST(write_keeps_the_style_of_the_old_file)
{
	static const struct { const char *before, *content, *want; } rows[] = {
		{ "a\nb\n", "x\ny\n", "x\ny\n" }, { "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n" },
		{ "a\r\nb\r\n", "x\r\ny\n", "x\r\ny\n" }, { "a\r\nb\n", "x\ny\n", "x\ny\n" },
		{ "\xef\xbb\xbf" "a\n", "x\n", "\xef\xbb\xbf" "x\n" },
		{ "\xef\xbb\xbf" "a\n", "\xef\xbb\xbf" "x\n", "\xef\xbb\xbf" "x\n" },
		{ "a", "", "" }, { "", "x", "x" }, { "x\x99", "\xc3\xa9", "\xc3\xa9" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_env f;

		fake_start(&f);
		fake_put_str(&f, "ws/f", rows[i].before);
		fake_read(&f, "f", 0, 0);
		fake_write(&f, "f", rows[i].content);
		fake_expect_code(&f, 0);
		fake_expect_str(&f, "ws/f", rows[i].want);
		/* the retry of a lost call knows its work, with the state of before */
		f.env.attempt = 1;
		fake_forget(&f);
		fake_write(&f, "f", rows[i].content);
		ck_assert_msg(
		    !f.res.is_error && strstr(f.res.text.data, "already") != NULL, "%zu",
		    i);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(write_utf16_stays_utf16)
{
	static const struct { const char *before, *content, *want, *diff; size_t n, want_n; }
	rows[] = {
		{ "\xff\xfe" "a\0", "b\n", "\xff\xfe" "b\0\n\0", "-a\n", 4, 6 },
		{ "\xff\xfe" "a\0\r\0\n\0", "b\nc\n",
		    "\xff\xfe" "b\0\r\0\n\0c\0\r\0\n\0", "-a\n+b\n+c", 8, 14 },
		{ "\xfe\xff" "\0a\0\r\0\n", "b\n", "\xfe\xff" "\0b\0\r\0\n", "-a\n+b", 8, 8 },
		/* U+0D0A is no line end */
		{ "\xff\xfe" "\x0a\x0d\n\0", "b\n", "\xff\xfe" "b\0\n\0", "+b", 6, 6 },
		{ "\xff\xfe", "b\n", "\xff\xfe" "b\0\n\0", "@@ -0,0 +1,1 @@\n+b", 2, 6 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_env f;

		fake_start(&f);
		fake_put(&f, "ws/f", rows[i].before, rows[i].n);
		fake_read(&f, "f", 0, 0);
		fake_write(&f, "f", rows[i].content);
		fake_expect_code(&f, 0);
		fake_expect(&f, "ws/f", rows[i].want, rows[i].want_n);
		ck_assert_msg(strstr(f.res.text.data, rows[i].diff) != NULL, "%zu: %s", i,
		    f.res.text.data);
		fake_stop(&f);
	}
}
END_TEST

/* What the model sees of its change is text: no BOM, each line without its CR. */
START_TEST(write_diff_is_of_the_text)
{
	static const struct { const char *before, *content, *diff; } rows[] = {
		{ "\xef\xbb\xbf" "a\nb\n", "x\nb\n", "@@ -1,2 +1,2 @@\n-a\n+x\n b" },
		{ "\xef\xbb\xbf" "a\r\nb\r\n", "a\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c" },
		{ "caf\xe9\na\n", "caf\xc3\xa9\na\n",
		    "@@ -1,2 +1,2 @@\n-caf\xe9\n+caf\xc3\xa9\n a" },
		{ "a\nb", "a\nb\n", "-b\n\\ No newline at end of file\n+b" },
		{ "a\r\nb", "a\nc", "-b\n\\ No newline at end of file\n+c\n\\ No newline" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_env f;

		fake_start(&f);
		fake_put_str(&f, "ws/f", rows[i].before);
		fake_read(&f, "f", 0, 0);
		fake_write(&f, "f", rows[i].content);
		fake_expect_code(&f, 0);
		ck_assert_msg(strstr(f.res.text.data, rows[i].diff) != NULL, "%zu: %s", i,
		    f.res.text.data);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(write_needs_the_read_state)
{
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "abc");
	fake_write(&f, "f", "x");
	fake_expect_code(&f, ATS_E_NOT_READ);
	fake_read(&f, "f", 0, 0);
	fake_put_str(&f, "ws/f", "abd");
	fake_write(&f, "f", "x");
	fake_expect_code(&f, ATS_E_CHANGED);
	fake_expect_str(&f, "ws/f", "abd");
	fake_read(&f, "f", 0, 0);
	fake_write(&f, "f", "x");
	fake_expect_code(&f, 0);
	fake_write(&f, "f", "y");		/* a chain needs no read */
	fake_expect_code(&f, 0);
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "-x"));
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "+y"));
	fake_expect_str(&f, "ws/f", "y");
	fake_expect_entries(&f, "ws", 1);
	fake_stop(&f);
}
END_TEST

/* The first try's answer was lost: only the engine's state is old. */
START_TEST(write_retry_knows_its_own_work)
{
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "old");
	fake_read(&f, "f", 0, 0);
	fake_put_str(&f, "ws/f", "new");
	fake_write(&f, "f", "new");
	fake_expect_code(&f, ATS_E_CHANGED);
	f.env.attempt = 1;
	fake_write(&f, "f", "new");
	fake_expect_code(&f, 0);
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "already"));
	fake_write(&f, "f", "new2");		/* its state counts as seen */
	fake_expect_code(&f, 0);
	fake_put_str(&f, "ws/f", "newX");	/* of the same length, and not ours */
	fake_write(&f, "f", "new2");
	fake_expect_code(&f, ATS_E_CHANGED);
	fake_expect_str(&f, "ws/f", "newX");
	fake_stop(&f);
}
END_TEST

START_TEST(write_that_fails_leaves_no_new_directories)
{
	struct rlimit none = { 0, RLIM_INFINITY };
	struct fake_env f;

	fake_start(&f);
	ck_assert_int_eq(mkdir(fake_path(&f, "ws/have"), 0755), 0);
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	fake_write(&f, "have/a/b/f", "x");
	none.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	ck_assert(f.res.is_error);
	fake_expect_entries(&f, "ws/have", 0);
	fake_stop(&f);
}
END_TEST

START_TEST(write_makes_parents_and_goes_through_links)
{
	struct fake_env f;

	fake_start(&f);
	fake_write(&f, "a/b/c", "x");
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "ws/a/b/c", "x");
	ck_assert_int_eq(symlink("a/b/c", fake_path(&f, "ws/l")), 0);
	ck_assert_int_eq(symlink(fake_path(&f, "home"), fake_path(&f, "ws/h")), 0);
	fake_read(&f, "l", 0, 0);
	fake_write(&f, "l", "y");
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "ws/a/b/c", "y");
	fake_write(&f, "h/new/f", "z");
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "home/new/f", "z");
	ck_assert_int_eq(symlink("a/b/new", fake_path(&f, "ws/dangling")), 0);
	fake_write(&f, "dangling", "d");
	fake_expect_str(&f, "ws/a/b/new", "d");
	fake_stop(&f);
}
END_TEST

START_TEST(write_refuses_what_it_must)
{
	static const struct {
		const char *name; int code;
	} rows[] = {
		{ "../ro/f", ATS_E_DENIED },
		{ "../out/f", ATS_E_ESCAPES },
		{ "etc/f", ATS_E_ESCAPES },
		{ "dirlink/new", ATS_E_ESCAPES },
		{ "/etc/ats-new", ATS_E_ESCAPES },
		{ ".git/hooks/x", ATS_E_DENIED },
		{ ".mcp.json", ATS_E_DENIED },
		{ "new/.vscode/tasks.json", ATS_E_DENIED },
		{ "~/.bashrc", ATS_E_DENIED },
		{ "dir", ATS_E_NOTFILE },
		{ ".", ATS_E_NOTFILE },
		{ "fifo", ATS_E_NOTFILE },
		{ "../ws-evil/f", ATS_E_ESCAPES },
		{ "file/below", ATS_E_NOENT },
		{ "loop", ATS_E_INVAL },
	};
	struct fake_env f;

	fake_start(&f);
	mkdir(fake_path(&f, "ws/dir"), 0755);
	mkfifo(fake_path(&f, "ws/fifo"), 0644);
	fake_put_str(&f, "ws/file", "x");
	ck_assert_int_eq(symlink("/etc", fake_path(&f, "ws/etc")), 0);
	ck_assert_int_eq(symlink(fake_path(&f, "out"), fake_path(&f, "ws/dirlink")), 0);
	ck_assert_int_eq(symlink("loop", fake_path(&f, "ws/loop")), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		fake_write(&f, rows[i].name, "x");
		ck_assert_msg(f.res.code == rows[i].code, "%s: %s", rows[i].name, f.res.text.data);
	}
	fake_expect_entries(&f, "ws", 6);
	fake_expect_entries(&f, "out", 0);
	fake_expect_entries(&f, "ro", 0);
	fake_expect_entries(&f, "home", 0);
	fake_stop(&f);
}
END_TEST

/* Two processes make the same new file: one does, or both in turn are told. */
START_TEST(write_two_processes_make_one_file)
{
	struct fake_env f;
	int status[2], ok = 0;
	pid_t child[2];

	fake_start(&f);
	for (int i = 0; i < 40; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d%d/new", i);
		for (int k = 0; k < 2; k++) {
			child[k] = fork();
			if (child[k] == 0) {
				fake_write(&f, name, k ? "one" : "two");
				_exit(f.res.is_error ? 1 : 0);
			}
		}
		ok = 0;
		for (int k = 0; k < 2; k++) {
			waitpid(child[k], &status[k], 0);
			ck_assert(WIFEXITED(status[k]));
			ok += WEXITSTATUS(status[k]) == 0;
		}
		ck_assert_int_eq(ok, 1);
		snprintf(name, sizeof(name), "ws/d%d", i);
		fake_expect_entries(&f, name, 1);
	}
	fake_stop(&f);
}
END_TEST

/* What a Write has before it begins to change something. */
static void
open_one(struct fake_env *f, struct change *c, const char *name)
{
	struct ats_err err = { 0 };

	ck_assert_msg(change_open(c, &f->env, name, &err) == 0, "%s: %s", name, err.text);
}

/* The rest of it. */
static int
commit_one(struct fake_env *f, struct change *c)
{
	struct ats_err err = { 0 };
	int rc = change_commit(c, "x\n", 2, &f->res, &err);

	(void)change_end(c, rc, &err, &f->res);
	return rc;
}

START_TEST(write_is_checked_again_when_nobody_else_can_make_a_repository)
{
	/* The second of two that were both allowed; what is there of d before them. */
	static const struct { const char *have[3], *first, *second; bool refused; } rows[] = {
		{ { "d/HEAD", "d/refs/x", NULL }, "d/config", "d/objects/x", true },
		{ { "d/HEAD", "d/refs/x", NULL }, "d/objects/x", "d/config", true },
		{ { "d/HEAD", "d/refs/x", NULL }, "d/objects/y/x", "d/hooks/update", true },
		{ { "d/objects/x", "d/config", NULL }, "d/HEAD", "d/refs/heads/main", true },
		{ { "d/objects/x", "d/config", NULL }, "d/refs/heads/main", "d/HEAD", true },
		{ { NULL }, "d/commondir", "d/config", true },
		{ { NULL }, "d/commondir", "d/HEAD", true },
		{ { "HEAD", "refs/x", NULL }, "config", "objects/x", true },
		{ { NULL }, "d/config", "d/HEAD", false },
		{ { "d/HEAD", NULL }, "d/objects/x", "d/refs/x", false },
		{ { "d/HEAD", "d/refs/x", NULL }, "d/objects/x", "d/sub/x", false },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_env f;
		struct change c;
		char path[64];

		fake_start(&f);
		for (size_t k = 0; k < 3 && rows[i].have[k] != NULL; k++) {
			fake_write(&f, rows[i].have[k], "x\n");
			fake_expect_code(&f, 0);
		}
		open_one(&f, &c, rows[i].second);
		fake_write(&f, rows[i].first, "x\n");
		fake_expect_code(&f, 0);
		ck_assert_msg(commit_one(&f, &c) == (rows[i].refused ? -ATS_E_DENIED : 0),
		    "%s after %s", rows[i].second, rows[i].first);
		(void)snprintf(path, sizeof(path), "ws/%s", rows[i].second);
		ck_assert_int_eq(access(fake_path(&f, path), F_OK), rows[i].refused ? -1 : 0);
		fake_stop(&f);
	}
}
END_TEST

/* Between that check and the file's name no other may have passed its own. */
START_TEST(write_of_a_name_that_counts_in_a_repository_takes_its_turn)
{
	static const char *const names[] = { "d/config", "d/objects/x", "d/HEAD", "d/info/a/b" };
	struct fake_env f;
	int fd;

	fake_start(&f);
	fake_write(&f, "d/other", "x\n");
	fd = open(fake_path(&f, "ws/d"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	f.env.deadline_us = ats_clock_us() + 20000;
	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++) {
		fake_write(&f, names[i], "x\n");
		ck_assert_msg(f.res.code == ATS_E_BUSY, "%s: %s", names[i], f.res.text.data);
	}
	fake_expect_entries(&f, "ws/d", 1);
	fake_write(&f, "d/plain", "x\n");
	fake_expect_code(&f, 0);
	ck_assert_int_eq(close(fd), 0);
	fake_write(&f, "d/config", "x\n");
	fake_expect_code(&f, 0);
	fake_stop(&f);
}
END_TEST

START_TEST(write_many_processes_complete_no_repository)
{
	static const char *const names[] = { "HEAD", "objects/x", "refs/x", "config",
		"hooks/update" };
	pid_t child[ATS_ARRAY_LEN(names)];
	struct fake_env f;
	int status, ok;

	fake_start(&f);
	for (int i = 0; i < 40; i++) {
		char name[32];

		for (size_t k = 0; k < ATS_ARRAY_LEN(names); k++) {
			snprintf(name, sizeof(name), "d%d/%s", i, names[k]);
			child[k] = fork();
			if (child[k] == 0) {
				fake_write(&f, name, "x\n");
				_exit(!f.res.is_error);
			}
		}
		ok = 0;
		for (size_t k = 0; k < ATS_ARRAY_LEN(names); k++) {
			ck_assert_int_eq(waitpid(child[k], &status, 0), child[k]);
			ok += WIFEXITED(status) && WEXITSTATUS(status) == 1;
		}
		/* All three that make one before both others, or all others before the last. */
		ck_assert_msg(ok == 3 || ok == 4, "%d were written", ok);
	}
	fake_stop(&f);
}
END_TEST

START_TEST(write_follows_no_link_that_is_made_meanwhile)
{
	struct fake_env f;
	struct change c;

	fake_start(&f);
	ck_assert_int_eq(mkdir(fake_path(&f, "ws/.git"), 0755), 0);
	ck_assert_int_eq(mkdir(fake_path(&f, "ws/.git/hooks"), 0755), 0);
	open_one(&f, &c, "d/hooks/pre-commit");
	ck_assert_int_eq(symlink(".git", fake_path(&f, "ws/d")), 0);
	ck_assert_int_eq(commit_one(&f, &c), -ATS_E_BUSY);
	open_one(&f, &c, "e/new");
	ck_assert_int_eq(symlink(".git", fake_path(&f, "ws/e")), 0);
	ck_assert_int_eq(commit_one(&f, &c), -ATS_E_BUSY);
	fake_expect_entries(&f, "ws/.git", 1);
	fake_expect_entries(&f, "ws/.git/hooks", 0);
	fake_stop(&f);
}
END_TEST

START_TEST(write_and_edit_of_4_kib_cost)
{
	struct fake_env f;
	uint64_t start;
	char p[4097];

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = i % 40 == 39 ? '\n' : 'x';
	p[4096] = '\0';
	p[1000] = '1';
	fake_start(&f);
	fake_write(&f, "f", p);
	start = ats_clock_us();
	for (int i = 0; i < 200; i++) {
		fake_edit(&f, "f", i % 2 ? "2" : "1", i % 2 ? "1" : "2", false);
		fake_expect_code(&f, 0);
	}
	printf("# Edit of 4 KiB: %.1f us\n", (double)(ats_clock_us() - start) / 200);
	start = ats_clock_us();
	for (int i = 0; i < 200; i++) {
		int fd = open(fake_path(&f, "ws/t"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		ck_assert_int_eq(write(fd, p, 4096), 4096);
		fsync(fd);
		close(fd);
		ck_assert_int_eq(rename(fake_path(&f, "ws/t"), fake_path(&f, "ws/f")), 0);
	}
	printf("# open, write, fsync, rename of 4 KiB: %.1f us\n",
	    (double)(ats_clock_us() - start) / 200);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_write", write_keeps_the_style_of_the_old_file, write_utf16_stays_utf16,
    write_diff_is_of_the_text, write_needs_the_read_state, write_retry_knows_its_own_work,
    write_that_fails_leaves_no_new_directories, write_makes_parents_and_goes_through_links,
    write_refuses_what_it_must, write_two_processes_make_one_file, write_and_edit_of_4_kib_cost,
    write_is_checked_again_when_nobody_else_can_make_a_repository,
    write_of_a_name_that_counts_in_a_repository_takes_its_turn,
    write_many_processes_complete_no_repository, write_follows_no_link_that_is_made_meanwhile)
