/* SPDX-License-Identifier: Apache-2.0
 *
 * main() of a unit test program over libcheck: TAP on stdout, each test in its own process,
 * and a test that leaves a descriptor open (or closes one of ours) fails.
 *   START_TEST(buf_add_over_the_cap_fails) { ... } END_TEST
 *   ATS_UNIT_MAIN("buf", buf_add_over_the_cap_fails, ...)
 * Macros that end a test early (ck_assert...) skip the descriptor check: one fault a test.
 * With ATS_ONLY=NAME,NAME in the environment only those tests run. */
#ifndef ATS_TESTS_LIB_UNIT_H
#define ATS_TESTS_LIB_UNIT_H

#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNIT_TMPS 8
#define UNIT_TIMEOUT_S 60.0

static int unit_fds_before;

static int
unit_count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (dir == NULL)
		return -1;
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n;
}

static char unit_tmps[UNIT_TMPS][80];
static unsigned unit_ntmps;

/* mkdtemp(3), and a test that passes leaves nothing of it. */
static inline char *
unit_tmp(char *path)
{
	ck_assert_uint_lt(unit_ntmps, UNIT_TMPS);
	ck_assert_ptr_nonnull(mkdtemp(path));
	(void)snprintf(unit_tmps[unit_ntmps++], sizeof(unit_tmps[0]), "%s", path);
	return path;
}

static inline int
unit_remove(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)where;
	return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static inline void
unit_remove_tmps(void)
{
	while (unit_ntmps > 0)
		(void)nftw(unit_tmps[--unit_ntmps], unit_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void
unit_setup(void)
{
	unit_fds_before = unit_count_fds();
}

static void
unit_teardown(void)
{
	int now = unit_count_fds();

	ck_assert_msg(now == unit_fds_before, "open descriptors: %d before, %d after",
	    unit_fds_before, now);
	unit_remove_tmps();
}

static inline int
unit_is_wanted(const char *name)
{
	const char *only = getenv("ATS_ONLY");
	size_t n = strlen(name);

	for (; only != NULL && *only != '\0'; only += *only == ',') {
		if (strncmp(only, name, n) == 0 && (only[n] == ',' || only[n] == '\0'))
			return 1;
		only += strcspn(only, ",");
	}
	return only == NULL;
}

static inline int
unit_run(const char *name, const TTest *const *tests, size_t n)
{
	Suite *suite = suite_create(name);
	TCase *tc = tcase_create(name);
	SRunner *runner;
	size_t i;
	int failed;

	tcase_set_timeout(tc, UNIT_TIMEOUT_S);
	tcase_add_checked_fixture(tc, unit_setup, unit_teardown);
	for (i = 0; i < n; i++)
		if (unit_is_wanted(tests[i]->name))
			tcase_add_test(tc, tests[i]);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define ATS_UNIT_MAIN(name, ...)                                                         \
	int main(void)                                                                   \
	{                                                                                \
		const TTest *const tests_[] = { __VA_ARGS__ };                           \
                                                                                         \
		return unit_run(name, tests_, sizeof(tests_) / sizeof(tests_[0]));       \
	}

#endif
