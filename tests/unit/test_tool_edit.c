/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/edit.c and edit_retry.c: what is refused, written, said and done once. */
#include "hands/tools/tool.h"
#include "tests/lib/tool_env.h"

#include "common/clock.h"
#include "common/digest.h"

#include <signal.h>
#include <sys/wait.h>

START_TEST(edit_binary_file_is_refused)
{
	char *sha = calloc(1, ATS_SHA256_HEX);
	struct fake_env f;

	fake_start(&f);
	fake_put(&f, "ws/f", "a\0b\0", 4);
	ats_sha256_hex("a\0b\0", 4, sha);
	f.reads[0] = (struct tool_read){ strdup(fake_path(&f, "ws/f")), 4, 1, sha };
	f.env.nreads = 1;
	fake_edit(&f, "f", "a", "x", false);
	fake_expect_code(&f, ATS_E_UTF8);
	fake_expect(&f, "ws/f", "a\0b\0", 4);
	fake_stop(&f);
}
END_TEST

START_TEST(edit_utf16_keeps_the_encoding)
{
	static const char le[] = "\xff\xfe" "a\0\r\0\n\0\xe5\x65\n\0", be[] = "\xfe\xff" "\0a\0b";
	struct fake_env f;

	fake_start(&f);
	fake_put(&f, "ws/le", le, sizeof(le) - 1);
	fake_put(&f, "ws/be", be, sizeof(be) - 1);
	ck_assert_ptr_nonnull(strstr(fake_read(&f, "le", 0, 0), "2\t\xe6\x97\xa5"));
	fake_edit(&f, "le", "a\n\xe6\x97\xa5", "a\n\xe6\x9c\xac!", false);
	fake_expect_code(&f, 0);
	fake_expect(&f, "ws/le", "\xff\xfe" "a\0\r\0\n\0\x2c\x67!\0\n\0", 14);
	fake_read(&f, "be", 0, 0);
	fake_edit(&f, "be", "b", "\xf0\x9f\x98\x80", false);
	fake_expect(&f, "ws/be", "\xfe\xff" "\0a\xd8\x3d\xde\x00", 8);
	/* half a pair: writing it again would change it */
	fake_put(&f, "ws/bad", "\xfe\xff" "\0a\xd8\x3d\0b", 8);
	fake_read(&f, "bad", 0, 0);
	fake_edit(&f, "bad", "b", "c", false);
	fake_expect_code(&f, ATS_E_UTF8);
	fake_stop(&f);
}
END_TEST

START_TEST(edit_needs_the_read_state)
{
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "abc");
	fake_edit(&f, "f", "b", "x", false);
	fake_expect_code(&f, ATS_E_NOT_READ);
	fake_read(&f, "f", 0, 0);
	fake_edit(&f, "f", "b", "x", false);
	fake_expect_code(&f, 0);
	fake_edit(&f, "f", "x", "y", false);	/* a chain needs no read */
	fake_expect_code(&f, 0);
	fake_put_str(&f, "ws/f", "ayC");	/* same size, maybe the same mtime */
	fake_edit(&f, "f", "y", "z", false);
	fake_expect_code(&f, ATS_E_CHANGED);
	fake_expect_str(&f, "ws/f", "ayC");
	fake_edit(&f, "none", "y", "z", false);
	fake_expect_code(&f, ATS_E_NOENT);
	fake_stop(&f);
}
END_TEST

/* The hash decides: a new time alone is no change. */
START_TEST(edit_of_a_touched_file_needs_no_second_read)
{
	struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "abc");
	fake_read(&f, "f", 0, 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, fake_path(&f, "ws/f"), t, 0), 0);
	fake_edit(&f, "f", "b", "x", false);
	fake_expect_code(&f, 0);
	fake_stop(&f);
}
END_TEST

/* Without a hash, as after Read of a part of a very large file, size and time decide. */
START_TEST(edit_of_a_file_too_large_to_hash_goes_by_size_and_time)
{
	struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct fake_env f;

	fake_start(&f);
	for (int touched = 0; touched < 2; touched++) {
		fake_put_str(&f, "ws/f", "abc");
		fake_read(&f, "f", 0, 0);
		*(char *)(uintptr_t)f.reads[0].sha256 = '\0';
		if (touched)
			ck_assert_int_eq(utimensat(AT_FDCWD, fake_path(&f, "ws/f"), t, 0), 0);
		fake_edit(&f, "f", "b", "x", false);
		fake_expect_code(&f, touched ? ATS_E_CHANGED : 0);
	}
	fake_stop(&f);
}
END_TEST

START_TEST(edit_creates_with_an_empty_old_string)
{
	struct fake_env f;

	fake_start(&f);
	fake_edit(&f, "a/b/new", "", "text\n", false);
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "ws/a/b/new", "text\n");
	fake_put_str(&f, "ws/empty", "");
	fake_edit(&f, "empty", "", "x", false);
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "ws/empty", "x");
	fake_edit(&f, "nothing", "", "", false);
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "ws/nothing", "");
	fake_edit(&f, "nothing", "", "", false);
	fake_expect_code(&f, ATS_E_INVAL);
	f.env.attempt = 1;
	fake_edit(&f, "nothing", "", "", false);
	fake_expect_code(&f, 0);
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "already"));
	fake_stop(&f);
}
END_TEST

START_TEST(edit_result_is_a_diff_with_line_numbers)
{
	static const char want[] = "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+5.5\n 6\n 7\n 8\n"
	    "@@ -17,4 +18,4 @@\n 17\n 18\n 19\n-20\n\\ No newline at end of file\n+twenty\n"
	    "\\ No newline at end of file";
	struct fake_env f;
	char text[128] = "";
	const char *got;

	fake_start(&f);
	for (int i = 1; i <= 20; i++)
		sprintf(text + strlen(text), "%d%s", i, i < 20 ? "\n" : "");
	fake_put_str(&f, "ws/f", text);
	fake_read(&f, "f", 0, 0);
	fake_edit(&f, "f", "5", "five", false);
	fake_expect_code(&f, ATS_E_AMBIGUOUS);
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "(lines 5, 15)"));
	got = fake_edit(&f, "f", "4\n5\n6", "4\nfive\n5.5\n6", false);
	fake_expect_code(&f, 0);
	ck_assert_msg(strncmp(strstr(got, "@@"), want, 47) == 0, "%s", got);
	got = fake_edit(&f, "f", "20", "twenty", false);
	ck_assert_msg(strstr(got, strstr(want + 3, "\n 17")) != NULL, "%s", got);
	/* what comes after a longer hunk is further down */
	fake_put_str(&f, "ws/f", "k\n2\n3\n4\n5\n6\n7\n8\n9\n10\nk\n");
	fake_read(&f, "f", 0, 0);
	got = fake_edit(&f, "f", "k\n", "k\nk\n", true);
	ck_assert_ptr_nonnull(strstr(got, "@@ -9,3 +10,4 @@\n"));
	fake_stop(&f);
}
END_TEST

START_TEST(edit_ten_megabyte_file_is_byte_exact)
{
	struct fake_env f;
	size_t n = 10000000;
	char *p = malloc(n + 1), *got;
	uint64_t start;
	size_t len;

	for (size_t i = 0; i < n; i++)
		p[i] = i % 80 == 79 ? '\n' : (char)('a' + i % 23);
	memcpy(p + 5000000, "@needle@", 8);
	fake_start(&f);
	fake_put(&f, "ws/f", p, n);
	fake_read(&f, "f", 62000, 10);
	start = ats_clock_us();
	fake_edit(&f, "f", "@needle@", "@NEEDLE@", false);
	printf("# edit of 10 MB: %llu us\n", (unsigned long long)(ats_clock_us() - start));
	fake_expect_code(&f, 0);
	memcpy(p + 5000000, "@NEEDLE@", 8);
	ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, fake_path(&f, "ws/f"), 2 * n, &got, &len, NULL), 0);
	ck_assert_uint_eq(len, n);
	ck_assert(memcmp(got, p, n) == 0);
	free(got);
	free(p);
	fake_stop(&f);
}
END_TEST

START_TEST(edit_retry_knows_its_own_work)
{
	static const struct { const char *before, *old, *new_text; bool all; } rows[] = {
		{ "one two three", "two", "2", false }, { "a\nb\nc\n", "b\n", "", false },
		{ "x x x", "x", "yy", true }, { "a\r\nb\r\n", "a\nb", "a\nB\nc", false },
		{ "same same2", "same2", "same", false },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct fake_env f, *e = &f;
		struct tool_read seen;

		fake_start(e);
		fake_put_str(e, "ws/f", rows[i].before);
		fake_read(e, "f", 0, 0);
		seen = f.reads[0];
		seen.sha256 = strdup(seen.sha256);
		seen.path = strdup(seen.path);
		fake_edit(e, "f", rows[i].old, rows[i].new_text, rows[i].all);
		fake_expect_code(e, 0);
		/* the result is lost: the engine knows only the old state */
		free((char *)(uintptr_t)f.reads[0].sha256);
		free((char *)(uintptr_t)f.reads[0].path);
		f.reads[0] = seen;
		f.env.attempt = 1;
		fake_edit(e, "f", rows[i].old, rows[i].new_text, rows[i].all);
		ck_assert_msg(!f.res.is_error && strstr(f.res.text.data, "already") != NULL,
		    "row %zu: %s", i, f.res.text.data);
		/* and when nothing had been done it is done now */
		f.env.attempt = 0;
		fake_put_str(e, "ws/f", rows[i].before);
		fake_read(e, "f", 0, 0);
		f.env.attempt = 2;
		fake_edit(e, "f", rows[i].old, rows[i].new_text, rows[i].all);
		fake_expect_code(e, 0);
		ck_assert_ptr_null(strstr(f.res.text.data, "already"));
		/* somebody else's change is neither */
		fake_put_str(e, "ws/f", "something else");
		fake_edit(e, "f", rows[i].old, rows[i].new_text, rows[i].all);
		fake_expect_code(e, ATS_E_CHANGED);
		fake_stop(e);
	}
}
END_TEST

/* Two processes edit one file 50 times each: nothing is lost, each edit is in or was refused. */
START_TEST(edit_two_processes_take_turns)
{
	struct fake_env f;
	int status, done[2] = { 0, 0 };
	pid_t child[2];
	char *got, *p;
	size_t n, a = 0, b = 0;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "A:\nB:\n");
	for (int k = 0; k < 2; k++) {
		child[k] = fork();
		if (child[k] == 0) {
			int ok = 0;

			for (int i = 0; i < 50; i++) {
				fake_read(&f, "f", 0, 0);
				fake_edit(&f, "f", k ? "B:" : "A:", k ? "B:b" : "A:a", false);
				ok += !f.res.is_error;
			}
			_exit(ok);
		}
	}
	for (int k = 0; k < 2; k++) {
		waitpid(child[k], &status, 0);
		ck_assert(WIFEXITED(status));
		done[k] = WEXITSTATUS(status);
	}
	ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, fake_path(&f, "ws/f"), 4096, &got, &n, NULL), 0);
	for (p = got; *p != '\0'; p++) {
		a += *p == 'a';
		b += *p == 'b';
	}
	printf("# %d and %d of 50 edits went in\n", done[0], done[1]);
	ck_assert_uint_eq(a, (unsigned)done[0]);
	ck_assert_uint_eq(b, (unsigned)done[1]);
	ck_assert_int_gt(done[0] + done[1], 50);
	fake_expect_entries(&f, "ws", 1);
	free(got);
	fake_stop(&f);
}
END_TEST

START_TEST(edit_protected_names_are_refused_through_links_too)
{
	static const char *const names[] = { ".git/config", "link", "dir/pre-commit", "hard" };
	struct fake_env f;

	fake_start(&f);
	mkdir(fake_path(&f, "ws/.git"), 0755);
	mkdir(fake_path(&f, "ws/.git/hooks"), 0755);
	fake_put_str(&f, "ws/.git/config", "[core]\n");
	fake_put_str(&f, "ws/.git/hooks/pre-commit", "[core]\n");
	ck_assert_int_eq(symlink(".git/config", fake_path(&f, "ws/link")), 0);
	ck_assert_int_eq(symlink(fake_path(&f, "ws/.git/hooks"), fake_path(&f, "ws/dir")), 0);
	ck_assert_int_eq(link(fake_path(&f, "ws/.git/config"), fake_path(&f, "ws/hard")), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++) {
		fake_read(&f, names[i], 0, 0);
		fake_expect_code(&f, 0);
		fake_edit(&f, names[i], "core", "alias", false);
		fake_expect_code(&f, ATS_E_DENIED);
		fake_write(&f, names[i], "x");
		fake_expect_code(&f, ATS_E_DENIED);
	}
	fake_write(&f, "dir/new-hook", "x");
	fake_expect_code(&f, ATS_E_DENIED);
	fake_write(&f, "sub/.claude/settings.json", "x");
	fake_expect_code(&f, ATS_E_DENIED);
	fake_expect_str(&f, "ws/.git/config", "[core]\n");
	fake_expect_entries(&f, "ws/.git/hooks", 1);
	fake_expect_entries(&f, "ws", 4);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_edit", edit_binary_file_is_refused, edit_utf16_keeps_the_encoding,
    edit_needs_the_read_state, edit_of_a_touched_file_needs_no_second_read,
    edit_of_a_file_too_large_to_hash_goes_by_size_and_time,
    edit_creates_with_an_empty_old_string, edit_result_is_a_diff_with_line_numbers,
    edit_ten_megabyte_file_is_byte_exact, edit_retry_knows_its_own_work,
    edit_two_processes_take_turns, edit_protected_names_are_refused_through_links_too)
