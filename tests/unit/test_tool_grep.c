/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/grep.c and what reports for it. */
#include "hands/match/walk.h"
#include "tests/lib/tool_env.h"

extern const struct tool tool_grep;

static void
make_dirs(struct fake_env *f, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(mkdir(fake_path(f, names[i]), 0755), 0);
}
#define DIRS(f, ...)                                                                     \
	do {                                                                             \
		static const char *const names_[] = { __VA_ARGS__ };                     \
		make_dirs(f, names_, ATS_ARRAY_LEN(names_));                             \
	} while (0)

/* Arguments as a model would send them. */
static const char *
grep(struct fake_env *f, const char *json)
{
	static union ats_tool_input_any in;
	static struct ats_buf arena;
	struct ats_err err = { 0 };

	ats_buf_init(&arena, 1u << 20);
	ck_assert_msg(ats_tool_input(ats_tool_find("Grep"), json, strlen(json), &in, &arena,
	    &err) == 0, "%s", err.text);
	fake_run(f, &tool_grep, &in);
	ats_buf_done(&arena);
	return f->res.text.data;
}

static void
expect(struct fake_env *f, const char *json, const char *want)
{
	const char *got = grep(f, json);

	ck_assert_msg(strcmp(got, want) == 0, "%s gave:\n%s\nnot:\n%s", json, got, want);
}

static void
expect_part(struct fake_env *f, const char *json, const char *part)
{
	const char *got = grep(f, json);

	ck_assert_msg(strstr(got, part) != NULL, "%s gave:\n%s\nwithout:\n%s", json, got, part);
}

START_TEST(grep_shows_lines_as_asked)
{
	struct fake_env f;

	fake_start(&f);
	DIRS(&f, "ws/sub");
	fake_put_str(&f, "ws/a.txt", "one\ntwo\nthree\nfour\nfive\nsix two\n");
	fake_put_str(&f, "ws/sub/b.c", "two\r\nx\r\n");
	expect(&f, "{\"pattern\":\"two\",\"output_mode\":\"content\"}",
	    "a.txt:2:two\na.txt:6:six two\nsub/b.c:1:two\n\n(3 matches in 2 files)");
	expect(&f, "{\"pattern\":\"two$\",\"output_mode\":\"content\",\"-n\":false}",
	    "a.txt:two\na.txt:six two\nsub/b.c:two\n\n(3 matches in 2 files)");
	expect(&f, "{\"pattern\":\"three\",\"output_mode\":\"content\",\"-C\":1}",
	    "a.txt-2-two\na.txt:3:three\na.txt-4-four\n\n(1 match in 1 file)");
	expect(&f, "{\"pattern\":\"one|five|^x\",\"output_mode\":\"content\",\"-A\":1}",
	    "a.txt:1:one\na.txt-2-two\n--\na.txt:5:five\na.txt-6-six two\n--\nsub/b.c:2:x\n\n"
	    "(3 matches in 2 files)");
	expect(&f,
	    "{\"pattern\":\"t.\",\"output_mode\":\"content\",\"-o\":true,\"path\":\"a."
	    "txt\"}",
	    "a.txt:2:tw\na.txt:3:th\na.txt:6:tw\n\n(3 matches in 1 file)");
	expect(&f, "{\"pattern\":\"two\",\"output_mode\":\"count\"}",
	    "a.txt:2\nsub/b.c:1\n\n(3 matches in 2 files)");
	expect(&f, "{\"pattern\":\"TWO\",\"-i\":true,\"glob\":\"*.c\"}", "Found 1 file\nsub/b.c");
	expect(&f, "{\"pattern\":\"two\",\"type\":\"c\"}", "Found 1 file\nsub/b.c");
	expect(&f, "{\"pattern\":\"two\",\"glob\":\"!*.c\"}", "Found 1 file\na.txt");
	expect(&f, "{\"pattern\":\"two\",\"path\":\"sub\",\"glob\":\"sub/*.c\"}",
	    "Found 1 file\nsub/b.c");
	expect(&f, "{\"pattern\":\"two\\nthree\",\"multiline\":true,\"output_mode\":\"content\"}",
	    "a.txt:2:two\na.txt:3:three\n\n(1 match in 1 file)");
	expect(&f, "{\"pattern\":\"nothing here\"}", "No matches found (2 files searched)");
	fake_stop(&f);
}
END_TEST

START_TEST(grep_limits_say_that_there_is_more)
{
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/a", "x\nx\nx\n");
	fake_put_str(&f, "ws/b", "x\nx\n");
	fake_put_str(&f, "ws/c", "x\n");
	expect(&f, "{\"pattern\":\"x\",\"output_mode\":\"content\",\"head_limit\":2}",
	    "a:1:x\na:2:x\n\n(at least 3 matches in 1 file; lines 1-2 shown, there is more: "
	    "use offset 2 to go on)");
	expect(&f, "{\"pattern\":\"x\",\"output_mode\":\"content\",\"head_limit\":2,\"offset\":2}",
	    "a:3:x\nb:1:x\n\n(at least 5 matches in 2 files; lines 3-4 shown, there is more: "
	    "use offset 4 to go on)");
	expect(&f, "{\"pattern\":\"x\",\"output_mode\":\"content\",\"head_limit\":6}",
	    "a:1:x\na:2:x\na:3:x\nb:1:x\nb:2:x\nc:1:x\n\n(6 matches in 3 files)");
	expect(&f, "{\"pattern\":\"x\",\"output_mode\":\"count\",\"head_limit\":1,\"offset\":1}",
	    "b:2\n\n(6 matches in 3 files; file 2-2 shown, there is more: use offset 2 to go "
	    "on)");
	expect_part(&f, "{\"pattern\":\"x\",\"head_limit\":1}",
	    "(Newest first; file 1-1 shown, there is more: use offset 1 to go on)");
	expect_part(&f, "{\"pattern\":\"x\",\"offset\":7}", "Nothing at offset 7");
	fake_stop(&f);
}
END_TEST

START_TEST(grep_lists_newest_first)
{
	struct timespec t[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct fake_env f;

	fake_start(&f);
	for (int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "ws/%c", 'a' + i);
		fake_put_str(&f, name, "x\n");
		t[1].tv_sec = 1000 + i % 2;
		ck_assert_int_eq(utimensat(AT_FDCWD, fake_path(&f, name), t, 0), 0);
	}
	expect(&f, "{\"pattern\":\"x\"}", "Found 3 files\nb\na\nc");
	fake_stop(&f);
}
END_TEST

START_TEST(grep_honours_ignore_files_but_searches_what_is_named)
{
	struct fake_env f;

	fake_start(&f);
	DIRS(&f, "ws/.git", "ws/.git/info", "ws/build", "ws/src");
	fake_put_str(&f, "ws/.gitignore", "build/\n*.log\n!keep.log\n");
	fake_put_str(&f, "ws/.git/info/exclude", "secret\n");
	fake_put_str(&f, "ws/.git/config", "hit\n");
	fake_put_str(&f, "ws/.ignore", "other\n");
	fake_put_str(&f, "ws/build/x.c", "hit\n");
	fake_put_str(&f, "ws/build/x.log", "hit\n");
	fake_put_str(&f, "ws/src/a.log", "hit\n");
	fake_put_str(&f, "ws/src/keep.log", "hit\n");
	fake_put_str(&f, "ws/src/.hidden", "hit\n");
	fake_put_str(&f, "ws/src/secret", "hit\n");
	fake_put_str(&f, "ws/src/other", "hit\n");
	expect(&f, "{\"pattern\":\"hit\",\"output_mode\":\"count\"}",
	    "src/.hidden:1\nsrc/keep.log:1\n\n(2 matches in 2 files)");
	expect(&f, "{\"pattern\":\"hit\",\"output_mode\":\"count\",\"path\":\"src\"}",
	    "src/.hidden:1\nsrc/keep.log:1\n\n(2 matches in 2 files)");
	expect(&f, "{\"pattern\":\"hit\",\"output_mode\":\"count\",\"path\":\"src/a.log\"}",
	    "src/a.log:1\n\n(1 match in 1 file)");
	expect(&f, "{\"pattern\":\"hit\",\"output_mode\":\"count\",\"path\":\"build\"}",
	    "build/x.c:1\nbuild/x.log:1\n\n(2 matches in 2 files)");
	expect(&f, "{\"pattern\":\"hit\",\"output_mode\":\"count\",\"path\":\".git\"}",
	    ".git/config:1\n\n(1 match in 1 file)");
	fake_stop(&f);
}
END_TEST

START_TEST(grep_in_a_nested_repository_follows_its_own_rules)
{
	struct fake_env f;

	fake_start(&f);
	DIRS(&f, "ws/.git", "ws/sub", "ws/sub/.git", "ws/sub/.git/objects", "ws/sub/.git/refs");
	fake_put_str(&f, "ws/sub/.git/HEAD", "ref: refs/heads/main\n");
	fake_put_str(&f, "ws/.gitignore", "*.log\n");
	fake_put_str(&f, "ws/a.log", "hit\n");
	fake_put_str(&f, "ws/sub/b.log", "hit\n");
	expect(&f, "{\"pattern\":\"hit\",\"output_mode\":\"count\"}",
	    "sub/b.log:1\n\n(1 match in 1 file)");
	fake_stop(&f);
}
END_TEST

START_TEST(grep_understands_encodings_and_names_binary_files)
{
	static const char utf16[] = "\xff\xfeh\0i\0\n\0x\0\n\0", bin[] = "a\0b\nhi there\n";
	struct fake_env f;

	fake_start(&f);
	fake_put(&f, "ws/u16", utf16, sizeof(utf16) - 1);
	fake_put_str(&f, "ws/bom", "\xef\xbb\xbfhi\n");
	fake_put(&f, "ws/bin", bin, sizeof(bin) - 1);
	fake_put_str(&f, "ws/latin", "caf\xe9 hi\n");
	expect(&f, "{\"pattern\":\"^hi|\\\\shi\",\"output_mode\":\"content\"}",
	    "Binary file bin matches\nbom:1:hi\nlatin:1:caf\xe9 hi\nu16:1:hi\n\n"
	    "(4 matches in 4 files)");
	expect(&f, "{\"pattern\":\"hi\",\"output_mode\":\"count\"}",
	    "bom:1\nlatin:1\nu16:1\n\n(3 matches in 3 files)\n"
	    "(Binary files match, not counted: bin)");
	fake_stop(&f);
}
END_TEST

START_TEST(grep_of_long_lines_and_large_files_stays_small)
{
	size_t n = 9u << 20;
	char *big = malloc(n + 1);
	struct fake_env f;
	const char *got;

	fake_start(&f);
	memset(big, 'a', n);
	big[n] = '\0';
	memcpy(big + 3000, "needle", 6);
	memcpy(big + (6u << 20), "needle", 6);
	big[n - 10] = '\n';
	memcpy(big + n - 8, "needle", 6);
	fake_put(&f, "ws/big", big, n);
	got = grep(&f, "{\"pattern\":\"needle\",\"output_mode\":\"content\"}");
	ck_assert_uint_lt(strlen(got), 4000);
	ck_assert_msg(strstr(got, "big:1:[2750 bytes cut] aaa") != NULL, "%s", got);
	ck_assert_msg(strstr(got, "big:2:aneedleaa") != NULL, "%s", got);
	ck_assert_msg(strstr(got, "(2 matches in 1 file)") != NULL, "%s", got);
	/* many lines, over many windows, with numbers and context right */
	for (size_t i = 0; i < n; i++)
		big[i] = i % 10 == 9 ? '\n' : 'b';
	memcpy(big + 500000, "needle", 6);
	fake_put(&f, "ws/big", big, n);
	expect(&f, "{\"pattern\":\"needle\",\"output_mode\":\"content\",\"-C\":1}",
	    "big-50000-bbbbbbbbb\nbig:50001:needlebbb\nbig-50002-bbbbbbbbb\n\n"
	    "(1 match in 1 file)");
	expect(&f, "{\"pattern\":\"bbb$\",\"output_mode\":\"count\"}",
	    "big:943719\n\n(943719 matches in 1 file)");
	expect_part(&f, "{\"pattern\":\"b\",\"output_mode\":\"content\"}",
	    "lines 1-250 shown, there is more");
	expect_part(&f, "{\"pattern\":\"b\",\"output_mode\":\"content\",\"head_limit\":0}",
	    "(the result is full)");
	free(big);
	fake_stop(&f);
}
END_TEST

/* Wherever the cut falls, it falls between characters. */
START_TEST(grep_cuts_long_lines_between_characters)
{
	struct fake_env f;
	char line[12100];

	fake_start(&f);
	for (size_t shift = 0; shift < 4; shift++) {
		size_t n = shift;

		memset(line, 'a', shift);
		for (; n < 12000; n += 3)
			memcpy(line + n, n >= 6000 && n < 6003 ? "hit" : "\xe4\xbd\xa0", 3);
		line[n++] = '\n';
		fake_put(&f, "ws/f", line, n);
		grep(&f, "{\"pattern\":\"hit\",\"output_mode\":\"content\"}");
		ck_assert_ptr_nonnull(strstr(f.res.text.data, "bytes cut]"));
		for (size_t at = 0, k; at < f.res.text.len; at += k) {
			k = ats_utf8_seq(f.res.text.data + at, f.res.text.len - at);
			ck_assert_msg(k > 0, "shift %zu, byte %zu", shift, at);
		}
	}
	fake_stop(&f);
}
END_TEST

/* A tree that several threads share: the same text each time. */
START_TEST(grep_of_many_files_is_the_same_each_time)
{
	struct fake_env f;
	char name[64], *first = NULL;

	fake_start(&f);
	for (int d = 0; d < 12; d++) {
		snprintf(name, sizeof(name), "ws/d%d", d);
		ck_assert_int_eq(mkdir(fake_path(&f, name), 0755), 0);
		for (int i = 0; i < 40; i++) {
			snprintf(name, sizeof(name), "ws/d%d/f%d", d, i);
			fake_put_str(&f, name, "hit\n");
		}
	}
	for (int i = 0; i < 8; i++) {
		const char *got = grep(&f, "{\"pattern\":\"hit\",\"output_mode\":\"content\","
		    "\"head_limit\":300}");

		if (first == NULL)
			first = strdup(got);
		ck_assert_str_eq(got, first);
	}
	ck_assert_mem_eq(first, "d0/f0:1:hit\nd0/f1:1:hit\nd0/f10:1:hit\n", 37);
	free(first);
	fake_stop(&f);
}
END_TEST

START_TEST(grep_sparse_file_of_ten_gigabytes_ends)
{
	struct fake_env f;
	int fd;

	fake_start(&f);
	fd = open(fake_path(&f, "ws/sparse"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)10 << 30), 0);
	close(fd);
	expect(&f, "{\"pattern\":\"x\"}", "No matches found (1 file searched)\n"
	    "(Warning: too large, searched in part only: sparse)");
	fake_stop(&f);
}
END_TEST

START_TEST(grep_reports_errors_as_such)
{
	static const struct {
		const char *json, *want;
	} rows[] = {
		{ "{\"pattern\":\"a(\"}", "missing closing parenthesis, at byte 3, "
					  "marked by <HERE>: a(<HERE>" },
		{ "{\"pattern\":\"a\",\"glob\":\"[\"}", "[ without ]" },
		{ "{\"pattern\":\"a\",\"type\":\"cobol\"}", "unknown type \"cobol\"" },
		{ "{\"pattern\":\"a\",\"path\":\"missing\"}", "missing" },
		{ "{\"pattern\":\"a\",\"path\":\"../out\"}", "out" },
		{ "{\"pattern\":\"a\\\\nb\"}", "set multiline" },
		{ "{\"pattern\":\"^(.+)+[0-9]\"}", "too many steps" },
	};
	struct fake_env f;

	fake_start(&f);
	fake_put_str(&f, "ws/a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbb\n");
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		expect_part(&f, rows[i].json, rows[i].want);
		ck_assert_msg(f.res.is_error, "%s", rows[i].json);
	}
	fake_stop(&f);
}
END_TEST

START_TEST(grep_goes_on_past_an_unreadable_directory)
{
	struct fake_env f;

	fake_start(&f);
	DIRS(&f, "ws/no", "ws/yes");
	fake_put_str(&f, "ws/yes/a", "x\n");
	ck_assert_int_eq(mkfifo(fake_path(&f, "ws/fifo"), 0644), 0);
	ck_assert_int_eq(symlink("yes", fake_path(&f, "ws/link")), 0);
	ck_assert_int_eq(chmod(fake_path(&f, "ws/no"), 0), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	if (geteuid() != 0)
		expect_part(&f, "{\"pattern\":\"x\"}", "Found 1 file\nyes/a\n");
	ck_assert_ptr_nonnull(strstr(f.res.text.data,
	    "(Warning: could not be read: no (Permission denied))"));
	ck_assert_int_eq(seteuid(getuid()), 0);
	chmod(fake_path(&f, "ws/no"), 0755);
	fake_stop(&f);
}
END_TEST

/* Of a file only its beginning is read first: wherever the match lies, it is found, and what
 * the beginning cuts in two is none. */
START_TEST(grep_lists_a_file_wherever_its_match_is)
{
	enum { LOOK = 16 << 10, WINDOW = 128 << 10 };
	static const size_t around[] = { 0, LOOK, WINDOW, WINDOW + LOOK, 2 * WINDOW };
	char *text = malloc(3 * WINDOW + 1);
	struct fake_env f;

	ck_assert_ptr_nonnull(text);
	fake_start(&f);
	for (size_t i = 0; i < ATS_ARRAY_LEN(around); i++)
		for (size_t at = around[i] < 8 ? 0 : around[i] - 8; at < around[i] + 8; at++) {
			memset(text, '.', 3 * WINDOW);
			for (size_t nl = 99; nl < 3 * WINDOW; nl += 100)
				text[nl] = '\n';
			memcpy(text + at, "needle", 6);
			text[at + 6 + (at % 2) * WINDOW / 2] = '\0';	/* its end, or later */
			fake_put_str(&f, "ws/a.txt", text);
			expect(&f, "{\"pattern\":\"needle\"}", "Found 1 file\na.txt");
			expect(&f, "{\"pattern\":\"^needle.*$|[^e]edle|need.e\"}",
			    "Found 1 file\na.txt");
			expect(&f, "{\"pattern\":\"need$\"}",
			    "No matches found (1 file searched)");
			expect(&f, "{\"pattern\":\"^dle\"}",
			    "No matches found (1 file searched)");
		}
	free(text);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_grep", grep_shows_lines_as_asked, grep_limits_say_that_there_is_more,
    grep_lists_newest_first, grep_honours_ignore_files_but_searches_what_is_named,
    grep_in_a_nested_repository_follows_its_own_rules,
    grep_understands_encodings_and_names_binary_files,
    grep_of_long_lines_and_large_files_stays_small, grep_cuts_long_lines_between_characters,
    grep_of_many_files_is_the_same_each_time, grep_sparse_file_of_ten_gigabytes_ends,
    grep_lists_a_file_wherever_its_match_is, grep_reports_errors_as_such,
    grep_goes_on_past_an_unreadable_directory)
