/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks that take more than a share: run with limits=check. Each stops by itself a little
 * past the line that it must not reach. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "attack.h"

#define MIB (1ul << 20)
#define TASKS_LINE 600
#define MEMORY_LINE 64		/* steps of 16 MiB: 1 GiB */

static void *
wait_forever(void *arg)
{
	(void)arg;
	(void)pause();
	return NULL;
}

void
attack_threads(void)
{
	pthread_attr_t a;
	pthread_t t;
	int n = 0;

	(void)pthread_attr_init(&a);
	(void)pthread_attr_setstacksize(&a, 65536);
	while (n < TASKS_LINE && pthread_create(&t, &a, wait_forever, NULL) == 0)
		n++;
	if (n == TASKS_LINE)
		ESCAPED("%d threads", n);
	else
		REFUSED("%d threads", n);
	_exit(0);
}

/* Children that stay; they end with this one. */
void
attack_processes(void)
{
	pid_t pids[TASKS_LINE];
	int n = 0;

	while (n < TASKS_LINE && (pids[n] = fork()) >= 0) {
		if (pids[n] == 0) {
			(void)alarm(20);
			(void)pause();
			_exit(0);
		}
		n++;
	}
	if (n == TASKS_LINE)
		ESCAPED("%d processes", n);
	else
		REFUSED("%d processes", n);
	while (n > 0)
		(void)kill(pids[--n], SIGKILL);
}

static int
touch_steps(int flags, int fd)
{
	int n = 0;

	for (; n < MEMORY_LINE; n++) {
		char *p = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, flags, fd,
		    fd < 0 ? 0 : (off_t)(n * 16 * MIB));

		if (p == MAP_FAILED)
			break;
		memset(p, 1, 16 * MIB);
	}
	return n;
}

void
attack_memory(void)
{
	int n = touch_steps(MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (n == MEMORY_LINE)
		ESCAPED("1 GiB");
	else
		REFUSED("%d MiB", n * 16);
}

/* Shared mappings are nobody's data. */
void
attack_memory_shared(void)
{
	int n = touch_steps(MAP_SHARED | MAP_ANONYMOUS, -1);

	if (n == MEMORY_LINE)
		ESCAPED("1 GiB");
	else
		REFUSED("%d MiB", n * 16);
}

/* A file without a place. */
void
attack_memory_files(void)
{
	int fd = memfd_create("attack", 0), n = 0;

	if (fd >= 0 && ftruncate(fd, (off_t)(1024 * MIB)) == 0)
		n = touch_steps(MAP_SHARED, fd);
	if (n == MEMORY_LINE)
		ESCAPED("1 GiB");
	else
		REFUSED("%d MiB", n * 16);
}

/* Four of them, each below the line of one. */
void
attack_memory_many(void)
{
	int done = 0, status;

	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			char *p = mmap(NULL, 400 * MIB, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

			if (p == MAP_FAILED)
				_exit(1);
			memset(p, 1, 400 * MIB);
			(void)usleep(500000);
			_exit(0);
		}
	while (wait(&status) > 0)
		done += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (done == 4)
		ESCAPED("1600 MiB in four processes");
	else
		REFUSED("%d of four", done);
}

void
attack_descriptors(void)
{
	struct rlimit r = { 1 << 20, 1 << 20 };
	int n = 0;

	(void)must_fail(setrlimit(RLIMIT_NOFILE, &r), "a higher limit of open files");
	while (n <= 70000 && dup(1) >= 0)
		n++;
	if (n > 70000)
		ESCAPED("%d descriptors", n);
	else
		REFUSED("%d descriptors", n);
}

void
attack_locked(void)
{
	char *p = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)must_fail(mlock(p, 64 * MIB), "64 MiB locked");
	(void)must_fail(mlockall(MCL_CURRENT | MCL_FUTURE) < 0 ? -1 : mlock(p, 64 * MIB),
	    "all locked");
}

/* ---- what must work ------------------------------------------------------------------- */
void
attack_debug_own(void)
{
	pid_t p = fork();
	int status;

	if (p == 0) {
		(void)pause();
		_exit(0);
	}
	if (kill(p, 0) < 0 || kill(p, SIGKILL) < 0 || waitpid(p, &status, 0) != p)
		return;
	p = fork();
	if (p == 0) {
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? 1 : 0);
	}
	(void)waitpid(p, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		(void)puts("usable");
}
