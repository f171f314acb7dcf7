/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of a call where there is no pid namespace: found from /proc, ended whole. */
#include "common/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "tests/lib/unit.h"

static const struct tree tree = TREE_OF_SUBREAPER;

/* A child that says that it is there, and stays. */
static pid_t
sleeper(int ready)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)!write(ready, "x", 1);
		for (;;)
			(void)pause();
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

static void
await(int ready, unsigned n)
{
	char c;

	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(read(ready, &c, 1), 1);
}

static void
begin(int ready[2])
{
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	ck_assert_int_eq(ats_fd_pipe(ready, 0), 0);
}

/* The write end lives in every process of the tree: its end is theirs. */
static void
all_gone(int ready[2])
{
	char c;

	(void)close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 0);
	(void)close(ready[0]);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

START_TEST(tree_end_orphans_and_their_children_are_gone)
{
	int ready[2];

	begin(ready);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)setsid();
			if (fork() != 0)
				_exit(0);
			(void)sleeper(ready[1]);
			(void)sleeper(ready[1]);
			_exit(0);
		}
	}
	await(ready[0], 40);
	tree_end(&tree);
	all_gone(ready);
}
END_TEST

static void *
stay(void *arg)
{
	(void)!write(*(int *)arg, "x", 1);
	for (;;)
		(void)pause();
	return NULL;
}

START_TEST(tree_end_a_process_whose_first_thread_ended_is_gone)
{
	int ready[2];

	begin(ready);
	if (fork() == 0) {
		pthread_t t;

		(void)pthread_create(&t, NULL, stay, &ready[1]);
		pthread_exit(NULL);
	}
	await(ready[0], 1);
	tree_end(&tree);
	all_gone(ready);
}
END_TEST

/* Each process forks as fast as it can, with a limit for all of them. */
static void __attribute__((noreturn))
bomb(int ready)
{
	const struct rlimit r = { 100, 100 };

	/* The limit does not hold for root. */
	if (setresgid(54321, 54321, 54321) < 0 || setresuid(54321, 54321, 54321) < 0 ||
	    setrlimit(RLIMIT_NPROC, &r) < 0)
		_exit(1);
	(void)signal(SIGTERM, SIG_IGN);
	(void)!write(ready, "x", 1);
	for (;;)
		if (fork() == 0)
			(void)setsid();
}

START_TEST(tree_end_a_fork_bomb_is_gone)
{
	int ready[2];

	if (geteuid() != 0)
		return;		/* tests/sandbox has one for everybody */
	begin(ready);
	if (fork() == 0)
		bomb(ready[1]);
	await(ready[0], 1);
	tree_end(&tree);
	all_gone(ready);
}
END_TEST

START_TEST(tree_end_orphans_others_stay)
{
	char names[64];
	int ready[2];
	pid_t keep;

	begin(ready);
	keep = fork();
	if (keep == 0) {
		(void)sleeper(ready[1]);
		(void)sleeper(ready[1]);
		for (;;)
			(void)pause();
	}
	(void)sleeper(ready[1]);
	await(ready[0], 3);
	ck_assert_uint_eq(tree_names(&tree, names, sizeof names), 4);
	tree_end_orphans(&keep, 1);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	ck_assert_uint_eq(tree_names(&tree, names, sizeof names), 3);
	tree_end(&tree);
	all_gone(ready);
}
END_TEST

ATS_UNIT_MAIN("tree", tree_end_orphans_and_their_children_are_gone,
    tree_end_a_process_whose_first_thread_ended_is_gone, tree_end_a_fork_bomb_is_gone,
    tree_end_orphans_others_stay)
