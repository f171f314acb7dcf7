/* SPDX-License-Identifier: Apache-2.0 */
#include "common/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

START_TEST(join_normalises_lexically)
{
	static const struct {
		const char *cwd, *path, *want;
	} t[] = {
		{ "/a", "b", "/a/b" }, { "/a/", "b/", "/a/b" }, { "/a", "/b", "/b" },
		{ "/a", ".", "/a" }, { "/a", "..", "/" }, { "/a", "../..", "/" },
		{ "/a/b", "../c", "/a/c" }, { "/", "x", "/x" }, { "/", "/", "/" },
		{ "/a", "//x///y//", "/x/y" }, { "/a", "./b/./c/.", "/a/b/c" },
		{ "/a", "...", "/a/..." }, { "/a", ".b", "/a/.b" }, { "/a", "..b", "/a/..b" },
		{ "/a/b/c", "../../../../../etc", "/etc" }, { "/a/../b", "c", "/b/c" },
		{ "/a", "b\xff\n", "/a/b\xff\n" }, { "/a", "b/../../c", "/c" },
	};
	char out[64];

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		ck_assert_int_eq(ats_path_join(t[i].cwd, t[i].path, out, sizeof(out)), 0);
		ck_assert_str_eq(out, t[i].want);
	}
}
END_TEST

START_TEST(join_refuses_empty_relative_and_long)
{
	char out[8];

	ck_assert_int_eq(ats_path_join("/a", "", out, sizeof(out)), -ATS_E_INVAL);
	ck_assert_int_eq(ats_path_join("/a", NULL, out, sizeof(out)), -ATS_E_INVAL);
	ck_assert_int_eq(ats_path_join("a", "b", out, sizeof(out)), -ATS_E_INVAL);
	ck_assert_int_eq(ats_path_join(NULL, "b", out, sizeof(out)), -ATS_E_INVAL);
	ck_assert_int_eq(ats_path_join(NULL, "/345678", out, sizeof(out)), 0);
	ck_assert_int_eq(ats_path_join(NULL, "/3456789", out, sizeof(out)), -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_path_join("/1234", "56", out, sizeof(out)), -ATS_E_TOOBIG);
}
END_TEST

START_TEST(below_compares_whole_components)
{
	static const struct {
		const char *dir, *path, *want;
	} t[] = {
		{ "/a", "/a", "." }, { "/a", "/a/b", "b" }, { "/a", "/ab", NULL },
		{ "/a/b", "/a", NULL }, { "/", "/", "." }, { "/", "/x", "x" },
		{ "/a", "/b", NULL }, { "/a/", "/a/b/c", "b/c" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		const char *r = ats_path_below(t[i].dir, t[i].path);

		ck_assert_int_eq(ats_path_is_within(t[i].dir, t[i].path), t[i].want != NULL);
		if (t[i].want == NULL)
			ck_assert_ptr_null(r);
		else
			ck_assert_str_eq(r, t[i].want);
	}
}
END_TEST

START_TEST(open_beneath_refuses_what_leads_out)
{
	char dir[] = "/tmp/ats-test-path-XXXXXX";
	struct ats_err err;
	int dfd, fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	dfd = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(symlinkat("/etc/passwd", dfd, "abs"), 0);
	ck_assert_int_eq(symlinkat("../../etc/passwd", dfd, "rel"), 0);
	fd = ats_path_open_beneath(dfd, "new", O_CREAT | O_RDWR | O_EXCL, 0600, &err);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	ck_assert_int_eq(ats_path_open_beneath(dfd, "abs", O_RDONLY, 0, &err), -ATS_E_ESCAPES);
	ck_assert_int_eq(ats_path_open_beneath(dfd, "rel", O_RDONLY, 0, &err), -ATS_E_ESCAPES);
	ck_assert_int_eq(ats_path_open_beneath(dfd, "../x", O_RDONLY, 0, &err), -ATS_E_ESCAPES);
	ck_assert_int_eq(ats_path_open_beneath(dfd, "/etc", O_RDONLY, 0, &err), -ATS_E_ESCAPES);
	ck_assert_int_eq(ats_path_open_beneath(dfd, "gone", O_RDONLY, 0, &err), -ATS_E_NOENT);
	(void)unlinkat(dfd, "new", 0);
	(void)unlinkat(dfd, "abs", 0);
	(void)unlinkat(dfd, "rel", 0);
	(void)close(dfd);
	(void)rmdir(dir);
}
END_TEST

START_TEST(places_make_wants_a_private_directory)
{
	char dir[] = "/tmp/ats-test-path-XXXXXX", p[128], link[128];
	struct ats_err err;
	struct stat st;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(p, sizeof(p), "%s/a/b/c", dir);
	ck_assert_int_eq(ats_places_make(p, &err), 0);
	ck_assert_int_eq(ats_places_make(p, &err), 0);
	ck_assert_int_eq(stat(p, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	(void)chmod(p, 0755);
	ck_assert_int_eq(ats_places_make(p, &err), -ATS_E_PERM);
	(void)chmod(p, 0700);
	(void)snprintf(link, sizeof(link), "%s/link", dir);
	ck_assert_int_eq(symlink(p, link), 0);
	ck_assert_int_lt(ats_places_make(link, &err), 0);
	ck_assert_int_eq(ats_places_make("relative", &err), -ATS_E_INVAL);
	ck_assert_int_lt(ats_places_make("/dev/null/x", &err), 0);
	(void)unlink(link);
	(void)rmdir(p);
	(void)snprintf(p, sizeof(p), "%s/a/b", dir);
	(void)rmdir(p);
	(void)snprintf(p, sizeof(p), "%s/a", dir);
	(void)rmdir(p);
	(void)rmdir(dir);
}
END_TEST

START_TEST(places_find_prefers_xdg_when_it_is_usable)
{
	struct ats_places pl;
	struct ats_err err;
	char dir[] = "/tmp/ats-test-path-XXXXXX", want[64], own[64];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)setenv("HOME", "/home/x", 1);
	(void)setenv("XDG_RUNTIME_DIR", dir, 1);
	(void)setenv("XDG_CONFIG_HOME", "relative-is-ignored", 1);
	(void)setenv("XDG_STATE_HOME", "/st", 1);
	ck_assert_int_eq(ats_places_find(&pl, &err), 0);
	(void)snprintf(want, sizeof(want), "%s/ats", dir);
	ck_assert_str_eq(pl.runtime, want);
	ck_assert_str_eq(pl.config, "/home/x/.config/ats");
	ck_assert_str_eq(pl.state, "/st/ats");
	(void)rmdir(dir);
	ck_assert_int_eq(ats_places_find(&pl, &err), 0);
	ck_assert_str_ne(pl.runtime, want);
	(void)snprintf(own, sizeof(own), "/tmp/ats-%lu", (unsigned long)geteuid());
	if (access("/run/user", F_OK) != 0)
		ck_assert_str_eq(pl.runtime, own);
	(void)unsetenv("HOME");
	ck_assert_int_eq(ats_places_find(&pl, &err), -ATS_E_NOENT);
}
END_TEST

ATS_UNIT_MAIN("path", join_normalises_lexically, join_refuses_empty_relative_and_long,
    below_compares_whole_components, open_beneath_refuses_what_leads_out,
    places_make_wants_a_private_directory, places_find_prefers_xdg_when_it_is_usable)
