/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits that a call reached. Runs in monitors; everything here comes from the kernel.
 *
 * A box that has a cgroup has counters there: how many of its processes the kernel has killed
 * for lack of memory, and how many forks the group refused. Calls of one box run side by side,
 * so the first counts only for a command that failed. Without a cgroup the kernel's count is of
 * the whole machine. Whether a process can be made now in this pid namespace (its pid_max), or
 * for this uid (RLIMIT_NPROC), is of the moment, so it is looked at once a second, and before
 * anything of the call is ended. A shell whose forks fail tries again for several seconds: that
 * is seen. */
#include "hands/worker/monitor_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/confine/limits.h"
#include "hands/confine/cgroup.h"
#include "hands/job.h"

#define VMSTAT_MAX 16384

static bool
machine_oom_kills(uint64_t *ret)
{
	static char text[VMSTAT_MAX];
	static const char key[] = "\noom_kill ";
	int fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = 1;
	char *p;

	if (fd < 0)
		return false;
	while (n > 0 && have < sizeof text - 1) {
		n = read(fd, text + have, sizeof text - 1 - have);
		if (n > 0)
			have += (size_t)n;
		else if (n < 0 && errno == EINTR)
			n = 1;
	}
	(void)close(fd);
	text[have] = '\0';
	p = strstr(text, key);
	if (p == NULL)
		return false;
	*ret = strtoull(p + sizeof key - 1, NULL, 10);
	return true;
}

static bool
oom_kills(const struct limits *l, uint64_t *ret)
{
	return l->oom >= 0 ? cgroups_count(l->oom, "oom_kill ", ret) : machine_oom_kills(ret);
}

/* vfork: the monitor's memory is not copied, and the child does nothing. */
static bool
fork_fails(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno == EAGAIN;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return false;
}

void
limits_begin(struct limits *l, int oom, int forks)
{
	l->watching = true;
	l->oom = oom;
	l->forks = forks;
	l->oom_known = oom_kills(l, &l->oom_kills);
	l->forks_known = forks >= 0 && cgroups_count(forks, "max ", &l->forks_refused);
	l->next_ms = ats_clock_ms() + LIMITS_EVERY_MS;
}

int
limits_wait(const struct limits *l)
{
	uint64_t now = ats_clock_ms();

	if (l->next_ms == 0)
		return -1;
	return l->next_ms > now ? (int)(l->next_ms - now) : 0;
}

void
limits_look(struct limits *l)
{
	if (!l->watching || l->pids_reached)
		return;
	l->pids_reached = fork_fails();
	l->next_ms = l->pids_reached ? 0 : ats_clock_ms() + LIMITS_EVERY_MS;
}

void
limits_turn(struct limits *l)
{
	if (l->next_ms != 0 && ats_clock_ms() >= l->next_ms)
		limits_look(l);
}

uint32_t
limits_flags(const struct limits *l, int status)
{
	uint32_t flags = l->pids_reached ? EXIT_PIDS : 0;
	uint64_t now;

	if (status == 0)
		return flags;
	if (l->oom_known && oom_kills(l, &now) && now > l->oom_kills)
		flags |= l->oom >= 0 ? EXIT_OOM | EXIT_OOM_BOX : EXIT_OOM;
	if (l->forks_known && cgroups_count(l->forks, "max ", &now) && now > l->forks_refused)
		flags |= EXIT_PIDS;
	return flags;
}

bool
limits_cpu_used(uint64_t limit_s, int status, uint64_t used_us)
{
	bool was_killed = WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL :
	    WEXITSTATUS(status) == 128 + SIGKILL;

	/* The limit counts ticks, which on a busy machine are more than what is told here. */
	return limit_s != 0 && was_killed &&
	    used_us >= (limit_s + ATS_LIMIT_CPU_GRACE_S) * 750000;
}

uint32_t
limits_data_mb(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_DATA, &r) < 0 || r.rlim_cur == RLIM_INFINITY)
		return 0;
	return r.rlim_cur >> 20 < UINT32_MAX ? (uint32_t)(r.rlim_cur >> 20) : UINT32_MAX;
}
