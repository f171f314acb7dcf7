/* SPDX-License-Identifier: Apache-2.0
 *
 * A program and all that it starts, also what has left its group and session: they are below a
 * process of ours, which is a subreaper. Forked by ats-gateway; programs are the user's own. */
#include "common/child_tree.h"

#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/tree.h"

static void __attribute__((noreturn))
end_as(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t all;

	if (WIFSIGNALED(status)) {
		(void)setrlimit(RLIMIT_CORE, &none);
		(void)sigemptyset(&all);
		(void)raise(WTERMSIG(status));
		(void)sigprocmask(SIG_SETMASK, &all, NULL);
		_exit(128 + WTERMSIG(status));
	}
	_exit(WEXITSTATUS(status));
}

/* Every signal is blocked; those that count are waited for. */
static void __attribute__((noreturn))
watch(pid_t program)
{
	int status = 0, got = 0, sig = 0;
	bool ended = false;
	sigset_t set;
	pid_t pid;

	(void)close_range(0, UINT_MAX, 0);
	(void)prctl(PR_SET_NAME, "ats-tree");	/* for people who look at processes */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	while (!ended && sig != SIGTERM) {
		sig = sigwaitinfo(&set, NULL);
		while ((pid = waitpid(-1, &got, WNOHANG)) > 0) {
			if (pid != program)
				continue;
			status = got;
			ended = true;
		}
	}
	tree_end(&(struct tree)TREE_OF_SUBREAPER);
	end_as(ended ? status : SIGKILL);
}

bool
ats_child_split(void)
{
	sigset_t all;
	pid_t pid, us = getpid();

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return false;
	pid = fork();
	if (pid > 0)
		watch(pid);
	if (pid < 0 || prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL) < 0)
		return false;
	if (getppid() != us)		/* it died before we asked */
		_exit(127);
	(void)sigemptyset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	return setsid() >= 0;
}
