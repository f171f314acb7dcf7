/* SPDX-License-Identifier: Apache-2.0
 *
 * fork + exec with named descriptors and a named environment. Runs in the spawner, in
 * hands' init, in the shell zygote, in atsctl and in programs that use libats, threads or not;
 * nothing a peer says reaches it unchecked.
 * Between fork and exec only system calls are made: no allocation, no logging. */
#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child_tree.h"
#include "common/fd.h"

#define CHILD_FDS_MAX 32

struct failure {
	int error;
	char step[28];
};
struct plan {				/* made before the fork */
	const struct ats_child *c;
	int report;			/* CLOEXEC pipe */
	pid_t parent;
	int high;			/* above every target number */
	int moved[CHILD_FDS_MAX];
	int keep[CHILD_FDS_MAX + 5];
	size_t nkeep;
};

void
ats_child_close_others(int first, const int *keep, size_t nkeep)
{
	for (size_t i = 0; i < nkeep; i++) {
		if (keep[i] < first)
			continue;
		if (keep[i] > first)
			(void)close_range((unsigned)first, (unsigned)keep[i] - 1, 0);
		first = keep[i] + 1;
	}
	(void)close_range((unsigned)first, UINT_MAX, 0);
}

static void __attribute__((noreturn))
give_up(const struct plan *p, const char *step)
{
	struct failure f = { .error = errno };

	strncpy(f.step, step, sizeof(f.step) - 1);
	(void)!write(p->report, &f, sizeof(f));
	_exit(127);
}

static void
unblock_signals(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void
ats_child_default_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
}

void
ats_child_reset_signals(void)
{
	ats_child_default_signals();
	unblock_signals();
}

void
ats_child_restore_signals(void)
{
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	unblock_signals();
}

static bool
is_target(const struct ats_child *c, int fd)
{
	for (size_t i = 0; i < c->nfds; i++)
		if (c->fds[i].to == fd)
			return true;
	return false;
}

/* First everything moves above the highest target, then down to its place, so that no
 * target overwrites a source that is still needed. */
static int
place_fds(struct plan *p, int *ret_exec_fd)
{
	const struct ats_child *c = p->c;
	int null;

	p->report = fcntl(p->report, F_DUPFD_CLOEXEC, p->high);
	if (c->exec_fd > 0)
		*ret_exec_fd = fcntl(c->exec_fd, F_DUPFD_CLOEXEC, p->high);
	if (p->report < 0 || (c->exec_fd > 0 && *ret_exec_fd < 0))
		return -1;
	for (size_t i = 0; i < c->nfds; i++) {
		p->moved[i] = fcntl(c->fds[i].from, F_DUPFD_CLOEXEC, p->high);
		if (p->moved[i] < 0)
			return -1;
	}
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || (null = fcntl(null, F_DUPFD_CLOEXEC, p->high)) < 0)
		return -1;
	for (int fd = 0; fd <= 2; fd++)
		if (!is_target(c, fd) && dup2(null, fd) < 0)
			return -1;
	for (size_t i = 0; i < c->nfds; i++)
		if (dup2(p->moved[i], c->fds[i].to) < 0)
			return -1;
	return 0;
}

static void
close_rest(struct plan *p, int exec_fd)
{
	int low = p->report < exec_fd || exec_fd < 0 ? p->report : exec_fd;
	int top = p->report < exec_fd ? exec_fd : p->report;

	p->keep[p->nkeep++] = low;
	if (top != low)
		p->keep[p->nkeep++] = top;
	ats_child_close_others(0, p->keep, p->nkeep);
}

static void __attribute__((noreturn))
run_child(struct plan *p)
{
	const struct ats_child *c = p->c;
	int exec_fd = -1;

	ats_child_reset_signals();
	if (c->death_signal != 0) {
		if (prctl(PR_SET_PDEATHSIG, (unsigned long)c->death_signal) < 0)
			give_up(p, "death signal");
		if (getppid() != p->parent)	/* it died before we asked */
			_exit(127);
	}
	if (c->new_session && setsid() < 0)
		give_up(p, "setsid");
	if (place_fds(p, &exec_fd) < 0)
		give_up(p, "descriptors");
	close_rest(p, exec_fd);
	if (c->whole_tree && !ats_child_split())
		give_up(p, "a process for its children");
	for (size_t i = 0; i < c->nlimits; i++) {
		const struct rlimit most = { c->limits[i].soft, c->limits[i].hard };

		/* No reason to refuse it: they are for a program that runs away. */
		(void)setrlimit((__rlimit_resource_t)c->limits[i].what, &most);
	}
	if (chdir(c->cwd != NULL ? c->cwd : "/") < 0)
		give_up(p, "chdir");
	if (exec_fd >= 0)
		(void)execveat(exec_fd, "", (char *const *)(uintptr_t)c->argv,
		    (char *const *)(uintptr_t)c->env, AT_EMPTY_PATH);
	else
		(void)execve(c->path, (char *const *)(uintptr_t)c->argv,
		    (char *const *)(uintptr_t)c->env);
	give_up(p, "exec");
}

/* Sorted list of what the child keeps: 0, 1, 2 and the targets. */
static int
plan_make(struct plan *p, const struct ats_child *c)
{
	if (c->nfds > CHILD_FDS_MAX || c->argv == NULL || c->env == NULL ||
	    (c->path == NULL && c->exec_fd <= 0) || (c->quiet && c->death_signal != 0))
		return -ATS_E_INVAL;
	*p = (struct plan){ .c = c, .parent = getpid(), .high = 3, .nkeep = 3,
		.keep = { 0, 1, 2 } };
	for (size_t i = 0; i < c->nfds; i++) {
		size_t at = p->nkeep;

		if (c->fds[i].to < 0 || c->fds[i].from < 0)
			return -ATS_E_INVAL;
		if (c->fds[i].to >= p->high)
			p->high = c->fds[i].to + 1;
		if (c->fds[i].to <= 2)
			continue;
		for (; p->keep[at - 1] > c->fds[i].to; at--)
			p->keep[at] = p->keep[at - 1];
		p->keep[at] = c->fds[i].to;
		p->nkeep++;
	}
	return 0;
}

/* Waits for the exec: EOF on the pipe is success. */
static int
await_exec(int report, pid_t pid, const char *name, struct ats_err *err)
{
	struct failure f;
	int rc = ats_fd_read_all(report, &f, sizeof(f));

	if (rc == -ATS_E_EOF)		/* a report is written whole or not at all */
		return 0;
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	if (rc < 0)
		return ats_err_set(err, ATS_E_SYS, "%s: the child did not report", name);
	f.step[sizeof(f.step) - 1] = '\0';
	errno = f.error;
	return ats_err_sys(err, "%s: %s", name, f.step);
}

/* Without the handlers that a program may have for its forks. Its end raises that signal; with 0
 * none, and only a wait with __WALL finds it, as long as it executes nothing. */
static pid_t
fork_without(unsigned long exit_signal)
{
	return (pid_t)syscall(SYS_clone, exit_signal, NULL, NULL, NULL, 0UL);
}

/* The process between us and a quiet child. */
static int
await_between(pid_t *pid, const char *name, struct ats_err *err)
{
	int status = 0;
	pid_t got;

	do
		got = waitpid(*pid, &status, __WALL);
	while (got < 0 && errno == EINTR);
	*pid = 0;
	if (got > 0 && status != 0)
		return ats_err_set(err, ATS_E_SYS, "%s: fork", name);
	return 0;
}

int
ats_child_start(const struct ats_child *c, pid_t *ret_pid, int *ret_pidfd,
    struct ats_err *err)
{
	const char *name = c->path != NULL ? c->path : "program";
	int pipe_fds[2], rc, pidfd = -1;
	struct plan p;
	sigset_t all, old;
	pid_t pid;

	if (plan_make(&p, c) < 0)
		return ats_err_set(err, ATS_E_INVAL, "%s: bad child description", name);
	if (ats_fd_pipe(pipe_fds, 0) < 0)
		return ats_err_sys(err, "%s: pipe", name);
	p.report = pipe_fds[1];
	/* No handler of ours may run in the child. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	pid = c->quiet ? fork_without(0) : fork();
	if (pid == 0 && c->quiet && (pid = fork_without(SIGCHLD)) != 0)
		_exit(pid < 0);
	if (pid == 0)
		run_child(&p);
	rc = pid < 0 ? ats_err_sys(err, "%s: fork", name) : 0;
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	if (rc == 0 && c->quiet)
		rc = await_between(&pid, name, err);
	(void)close(pipe_fds[1]);
	if (rc == 0)
		rc = await_exec(pipe_fds[0], pid, name, err);
	(void)close(pipe_fds[0]);
	if (rc == 0 && ret_pidfd != NULL) {
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0u);
		if (pidfd < 0) {
			rc = ats_err_sys(err, "%s: pidfd_open", name);
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
		}
	}
	if (rc < 0)
		return rc;
	*ret_pid = pid;
	if (ret_pidfd != NULL)
		*ret_pidfd = pidfd;
	return 0;
}
