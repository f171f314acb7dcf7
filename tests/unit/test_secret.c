/* SPDX-License-Identifier: Apache-2.0
 *
 * Secrets: locked, gone in children, never printed. */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/secret.h"
#include "tests/lib/unit.h"

/* AddressSanitizer makes mlock(2) do nothing. */
#ifdef __SANITIZE_ADDRESS__
#define LOCKS false
#else
#define LOCKS true
#endif

START_TEST(new_copies_and_wipes_the_source)
{
	char source[] = "hunter2";
	struct ats_secret *s = NULL;
	size_t n;

	ck_assert_int_eq(ats_secret_new(source, 7, &s, NULL), 0);
	ck_assert_int_eq(memcmp(source, "\0\0\0\0\0\0\0", 7), 0);
	ck_assert_str_eq(ats_secret_bytes(s, &n), "hunter2");
	ck_assert_uint_eq(n, 7);
	ck_assert(ats_secret_equal(s, "hunter2", 7));
	ck_assert(!ats_secret_equal(s, "hunter3", 7));
	ck_assert(!ats_secret_equal(s, "hunter", 6));
	ats_secret_free(s);
	ats_secret_free(NULL);
}
END_TEST

START_TEST(child_sees_zeroes)
{
	struct ats_secret *s = NULL;
	int status;
	pid_t pid;

	ck_assert_int_eq(ats_secret_random(32, &s, NULL), 0);
	pid = fork();
	if (pid == 0) {
		const char *p = ats_secret_bytes(s, NULL);

		for (int i = 0; i < 32; i++)
			if (p[i] != 0)
				_exit(1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ats_secret_free(s);
}
END_TEST

START_TEST(pages_are_locked_and_not_dumped)
{
	struct ats_secret *s = NULL;
	char line[512], flags[512] = "";
	unsigned long from, to, want;
	bool here = false;
	FILE *f;

	ck_assert_int_eq(ats_secret_random(100, &s, NULL), 0);
	want = (unsigned long)ats_secret_bytes(s, NULL);
	f = fopen("/proc/self/smaps", "re");
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from <= want && want < to;
		else if (here && strncmp(line, "VmFlags:", 8) == 0)
			memcpy(flags, line, sizeof(flags));
	}
	fclose(f);
	ck_assert_msg(!LOCKS || strstr(flags, " lo") != NULL, "%s", flags);
	ck_assert_msg(strstr(flags, " dd") != NULL, "%s", flags);
	ck_assert_msg(strstr(flags, " wf") != NULL, "%s", flags);
	ats_secret_free(s);
}
END_TEST

START_TEST(new_refuses_sizes_and_what_cannot_be_locked)
{
	static char big[ATS_SECRET_MAX + 1];
	struct rlimit none = { 0, 0 };
	struct ats_secret *s = NULL;
	struct ats_err err = { 0 };
	char one = 'x';

	ck_assert_int_eq(ats_secret_new(big, sizeof(big), &s, &err), -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_secret_new(&one, 0, &s, &err), -ATS_E_TOOBIG);
	if (!LOCKS)
		return;
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(12345), 0);	/* root may lock without limit */
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	ck_assert_int_lt(ats_secret_new(&one, 1, &s, &err), 0);
	ck_assert_int_eq(one, 0);
	ck_assert_ptr_null(s);
}
END_TEST

ATS_UNIT_MAIN("secret", new_copies_and_wipes_the_source, child_sees_zeroes,
    pages_are_locked_and_not_dumped, new_refuses_sizes_and_what_cannot_be_locked)
