/* SPDX-License-Identifier: Apache-2.0 */
#include "hands/init/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static struct ats_err err;
static char name[32];

/* A name of this test's own: others run beside it. */
static const char *
own(void)
{
	(void)snprintf(name, sizeof(name), "ats-test-%d", (int)getpid());
	return name;
}

static bool
is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* One that was killed: its directory, with something in it, stays. */
static void
killed(char *out, size_t size)
{
	int fds[2], lock, status;
	char inside[96];
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (scratch_make(name, out, size, &lock, NULL) < 0)
			_exit(1);
		(void)snprintf(inside, sizeof(inside), "%s/d", out);
		(void)mkdir(inside, 0700);
		(void)!write(fds[1], out, size);
		(void)raise(SIGKILL);
	}
	ck_assert_int_eq(read(fds[0], out, size), (ssize_t)size);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	(void)close(fds[0]);
	(void)close(fds[1]);
}

START_TEST(what_a_killed_one_left_goes_at_the_next_start)
{
	char dead[64], mine[64];
	int lock;

	(void)own();
	killed(dead, sizeof(dead));
	ck_assert(is_there(dead));
	ck_assert_int_eq(scratch_make(name, mine, sizeof(mine), &lock, &err), 0);
	ck_assert(!is_there(dead));
	scratch_remove(mine);
	ck_assert(!is_there(mine));
	(void)close(lock);
}
END_TEST

START_TEST(what_lives_or_is_being_made_or_looks_otherwise_stays)
{
	char first[64], second[64], young[80], other[96];
	int locks[2];

	ck_assert_int_eq(scratch_make(own(), first, sizeof(first), &locks[0], &err), 0);
	(void)snprintf(young, sizeof(young), "%.*s-ABCDEF", (int)strlen(first) - 7, first);
	(void)snprintf(other, sizeof(other), "%s-longer", young);
	ck_assert_int_eq(mkdir(young, 0700), 0);
	ck_assert_int_eq(mkdir(other, 0700), 0);
	ck_assert_int_eq(scratch_make(name, second, sizeof(second), &locks[1], &err), 0);
	ck_assert(is_there(first) && is_there(young) && is_there(other));
	scratch_remove(first);
	scratch_remove(second);
	scratch_remove(young);
	scratch_remove(other);
	(void)close(locks[0]);
	(void)close(locks[1]);
}
END_TEST

ATS_UNIT_MAIN("scratch", what_a_killed_one_left_goes_at_the_next_start,
    what_lives_or_is_being_made_or_looks_otherwise_stays)
