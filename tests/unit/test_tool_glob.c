/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/glob.c. */
#include "hands/match/walk.h"
#include "tests/lib/tool_env.h"

extern const struct tool tool_glob;

static const char *
glob(struct fake_env *f, const char *pattern, const char *path)
{
	struct ats_in_glob in = { .pattern = pattern, .path = path };

	return fake_run(f, &tool_glob, &in);
}

/* A file with an age: larger is newer. */
static void
put_aged(struct fake_env *f, const char *name, time_t age)
{
	struct timespec t[2] = { { .tv_sec = age }, { .tv_sec = age } };

	fake_put_str(f, name, "x");
	ck_assert_int_eq(utimensat(AT_FDCWD, fake_path(f, name), t, 0), 0);
}

START_TEST(glob_finds_newest_first)
{
	static const struct {
		const char *pattern, *path, *want;
	} rows[] = {
		{ "*.c", NULL, "src/x/new.c\ntop.c\nsrc/old.c\nsrc/.hid.c\nbuild/gen.c" },
		{ "**/*.c", "src", "src/x/new.c\nsrc/old.c\nsrc/.hid.c" },
		{ "src/*.c", NULL, "src/old.c\nsrc/.hid.c" },
		{ "src/*", NULL, "src/link\nsrc/old.c\nsrc/.hid.c" },
		{ "src/x/new.c", NULL, "src/x/new.c" },
		{ "{top,new}.c", NULL, "src/x/new.c\ntop.c" },
		{ "src/**", NULL, "src/x/new.c\nsrc/link\nsrc/old.c\nsrc/.hid.c" },
		{ "./src/x/*", NULL, "src/x/new.c" },
		{ "../ws/src/x/*", NULL, "src/x/new.c" },
		{ "[id].tsx", NULL, "[id].tsx" },
		{ "*.none", NULL, "No files found" },
		{ ".git/*", NULL, ".git/config" },
		{ "**/.git/*", NULL, ".git/config" },
		{ "config", NULL, "No files found" },
	};
	struct fake_env f;

	fake_start(&f);
	for (size_t i = 0; i < 5; i++) {
		static const char *const dirs[] = { "ws/src", "ws/src/x", "ws/build", "ws/.git",
			"ws/empty" };

		ck_assert_int_eq(mkdir(fake_path(&f, dirs[i]), 0755), 0);
	}
	fake_put_str(&f, "ws/.gitignore", "build/\n");
	put_aged(&f, "ws/src/x/new.c", 5000);
	put_aged(&f, "ws/top.c", 4000);
	put_aged(&f, "ws/src/old.c", 3000);
	put_aged(&f, "ws/src/.hid.c", 2000);
	put_aged(&f, "ws/build/gen.c", 1000);
	put_aged(&f, "ws/[id].tsx", 1000);
	put_aged(&f, "ws/.git/config", 1000);
	ck_assert_int_eq(symlink("../top.c", fake_path(&f, "ws/src/link")), 0);
	ck_assert_int_eq(symlink("/etc/passwd", fake_path(&f, "ws/src/out")), 0);
	ck_assert_int_eq(symlink("x", fake_path(&f, "ws/src/dirlink")), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		const char *got;

		got = glob(&f, rows[i].pattern, rows[i].path);
		ck_assert_msg(strcmp(got, rows[i].want) == 0, "%s gave:\n%s\nnot:\n%s",
		    rows[i].pattern, got, rows[i].want);
	}
	ck_assert_str_eq(glob(&f, fake_path(&f, "ws/src/x/*.c"), NULL), "src/x/new.c");
	ck_assert_ptr_nonnull(strstr(glob(&f, "nodir/**/*.c", NULL), "No files found: "));
	ck_assert(!f.res.is_error);
	(void)glob(&f, "*.c", "nodir");
	ck_assert(f.res.is_error);
	(void)glob(&f, "/etc/*", NULL);
	ck_assert(f.res.is_error);
	(void)glob(&f, "a[", NULL);
	ck_assert(f.res.is_error);
	fake_stop(&f);
}
END_TEST

START_TEST(glob_tells_how_many_more)
{
	struct fake_env f;
	char name[32];

	fake_start(&f);
	for (int i = 0; i < 250; i++) {
		snprintf(name, sizeof(name), "ws/f%03d", i);
		put_aged(&f, name, 1000 + i);
	}
	ck_assert_int_eq(strncmp(glob(&f, "f*", NULL), "f249\nf248\n", 10), 0);
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "f150\n(100 of 250 files shown, newest "
	    "first; 150 more"));
	fake_stop(&f);
}
END_TEST

/* So many that most are only counted: those of one age are told apart by their names. */
START_TEST(glob_of_very_many_shows_the_newest)
{
	const char *p, *got;
	struct fake_env f;
	char name[32];

	fake_start(&f);
	for (unsigned i = 0; i < 4000; i++) {
		snprintf(name, sizeof(name), "ws/f%04u", i);
		put_aged(&f, name, 1000 + (time_t)(i * 1237 % 4000 / 50));
	}
	p = got = glob(&f, "f*", NULL);
	for (unsigned age = 80; age-- > 78;)
		for (unsigned i = 0; i < 4000; i++) {
			if (i * 1237 % 4000 / 50 != age)
				continue;
			snprintf(name, sizeof(name), "f%04u\n", i);
			ck_assert_msg(strncmp(p, name, 6) == 0, "%s is not where it should "
			    "be:\n%s", name, got);
			p += 6;
		}
	ck_assert_str_eq(p, "(100 of 4000 files shown, newest first; 3900 more: use a narrower "
	    "pattern or path)");
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_glob", glob_finds_newest_first, glob_tells_how_many_more,
    glob_of_very_many_shows_the_newest)
