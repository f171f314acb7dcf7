/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of a control group, and being born in one where cgroup v2 lets us make it: with no
 * controllers at all that much can be tried on most machines. */
#include "hands/confine/cgroup.h"

#include "common/fd.h"
#include "hands/confine/cgroup_find.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int
file_with(const char *text)
{
	char path[] = "/tmp/ats-cgroup-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
	return fd;
}

START_TEST(cgroups_count_reads_what_stands_at_a_lines_beginning)
{
	static const struct {
		const char *text, *key;
		bool found;
		uint64_t value;
	} rows[] = {
		/* v1, v2 and pids as the kernel prints them */
		{ "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill ", true, 3 },
		{ "low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 7\n", "oom_kill ", true,
		    1 },
		{ "max 5\n", "max ", true, 5 },
		{ "max 18446744073709551615", "max ", true, UINT64_MAX },
		{ "noom_kill 4\n", "oom_kill ", false, 0 },
		{ "", "oom_kill ", false, 0 },
		{ "\n\n", "oom_kill ", false, 0 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		int fd = file_with(rows[i].text);
		uint64_t n = 0;

		/* Twice: the place in the file is nobody's. */
		for (int k = 0; k < 2; k++) {
			ck_assert_msg(cgroups_count(fd, rows[i].key, &n) == rows[i].found,
			    "row %zu", i);
			ck_assert_uint_eq(n, rows[i].value);
		}
		(void)close(fd);
	}
	ck_assert(!cgroups_count(-1, "max ", &(uint64_t){ 0 }));
}
END_TEST

static size_t
slurp(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, out, size - 1);

	(void)close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void
exit_if_in(const char *name)
{
	char text[4096];

	(void)slurp("/proc/self/cgroup", text, sizeof(text));
	_exit(strstr(text, name) != NULL ? 7 : 8);
}

START_TEST(cgroups_fork_is_born_in_the_group)
{
	static char mounts[65536];
	char own[4096], dir[4096 + 64], name[32];
	struct cgroups g = { .memory = { -1, -1, -1 }, .pids = { -1, -1, -1 }, .oom = -1,
		.forks = -1, .has_memory = true };
	int status = 0;
	pid_t pid;

	(void)slurp("/proc/self/cgroup", own, sizeof(own));
	(void)slurp("/proc/self/mountinfo", mounts, sizeof(mounts));
	(void)snprintf(name, sizeof(name), "ats-unit-%d", (int)getpid());
	if (!cgroup_find(own, mounts, NULL, dir, 4096))
		return;	/* no cgroup v2 */
	(void)snprintf(dir + strlen(dir), 64, "/%s", name);
	if (mkdir(dir, 0755) < 0)
		return;	/* not ours to make */
	g.into = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid = cgroups_fork(&g, 0);
	if (pid == 0)
		exit_if_in(name);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	(void)close(g.into);
	ck_assert_int_eq(rmdir(dir), 0);
	if (g.has_memory)	/* clone3 is refused where a filter has never heard of it */
		ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

/* A directory that is no group: the child is there all the same, and says that it is not in. */
START_TEST(cgroups_fork_into_nothing_is_a_fork_and_told)
{
	struct cgroups g = { .memory = { -1, -1, -1 }, .pids = { -1, -1, -1 }, .oom = -1,
		.forks = -1, .has_memory = true, .has_pids = true };
	int status = 0;
	pid_t pid;

	g.into = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid = cgroups_fork(&g, 0);
	if (pid == 0)
		_exit(g.has_memory || g.has_pids ? 1 : 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert(!g.has_memory && !g.has_pids);
	ck_assert_uint_gt(strlen(g.why), 0);
	(void)close(g.into);
}
END_TEST

START_TEST(cgroups_make_and_end_leave_nothing)
{
	struct budget b = { 0 };
	struct cgroups g;

	budget_complete(&b, true);
	cgroups_make(&g, &b);
	ck_assert(g.has_memory || g.why[0] != '\0');
	ck_assert(!g.has_memory || g.oom >= 0);
	cgroups_end(&g);
	cgroups_make(&g, &b);	/* the name is free again */
	ck_assert(g.has_memory || g.why[0] != '\0');
	cgroups_end(&g);
}
END_TEST

ATS_UNIT_MAIN("cgroup", cgroups_count_reads_what_stands_at_a_lines_beginning,
    cgroups_fork_is_born_in_the_group, cgroups_fork_into_nothing_is_a_fork_and_told,
    cgroups_make_and_end_leave_nothing)
