/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper of one hook. Forked by the spawner, without exec; what it starts is the user's own
 * program, from the configuration. Whatever that starts becomes the keeper's child when its own
 * parent ends (PR_SET_CHILD_SUBREAPER), also after setsid(2) and a double fork, so that all of it
 * can be found and ended. It reads nothing that anybody writes. */
#include "brain/vault/keeper.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/tree.h"

#define GRACE_MS 500			/* from SIGTERM to SIGKILL */
#define CANNOT_RUN 127

/* ---- its hook --------------------------------------------------------------------------- */

static int
start(const struct ats_hook *h, const char *workspace, const int fds[3], pid_t *ret_pid,
    struct ats_err *err)
{
	const char *const shell[] = { "sh", "-c", h->command, NULL };
	const char *const *base = children_env(ENV_HOOK);
	const char *env[64], *dir;
	char text[ATS_PATH_MAX + 32];
	const struct ats_child_fd to[] = { { fds[0], 0 }, { fds[1], 1 }, { fds[2], 2 } };
	struct ats_child what = { .path = h->nargs > 0 ? h->command : "/bin/sh",
		.argv = h->nargs > 0 ? (const char *const *)(const void *)h->args : shell,
		.env = env, .fds = to, .nfds = ATS_ARRAY_LEN(to), .exec_fd = -1,
		.death_signal = SIGKILL, .new_session = true };
	size_t n = 0;

	(void)snprintf(text, sizeof(text), "CLAUDE_PROJECT_DIR=%s", workspace);
	dir = text;
	env[n++] = dir;
	for (; *base != NULL && n < ATS_ARRAY_LEN(env) - 1; base++)
		env[n++] = *base;
	env[n] = NULL;
	return ats_child_start(&what, ret_pid, NULL, err);
}

static int
exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Whether the hook has ended; its status in *ret. */
static bool
reap(pid_t hook, int *ret)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == hook) {
			*ret = status;
			return true;
		}
	return false;
}

/* Its own end, or ours: how long until then. */
static int
await(pid_t hook, int signals, uint64_t timeout_ms)
{
	uint64_t now = ats_clock_ms(), end = now + timeout_ms;
	struct pollfd p = { .fd = signals, .events = POLLIN };
	const struct tree tree = TREE_OF_SUBREAPER;
	struct signalfd_siginfo si;
	bool ending = false;
	int status = 0;

	for (; now < end; now = ats_clock_ms()) {
		(void)poll(&p, 1, (int)(end - now));
		while (ats_fd_read(signals, &si, sizeof(si)) > 0)
			if (si.ssi_signo == (uint32_t)SIGTERM && !ending) {
				ending = true;
				end = ats_clock_ms();
			}
		if (reap(hook, &status))
			return ending ? 128 + SIGTERM : exit_code(status);
	}
	tree_signal(&tree, SIGTERM);
	for (end = ats_clock_ms() + GRACE_MS; (now = ats_clock_ms()) < end;) {
		(void)poll(&p, 1, (int)(end - now));
		while (ats_fd_read(signals, &si, sizeof(si)) > 0)
			;
		if (reap(hook, &status))
			break;
	}
	return ending ? 128 + SIGTERM : KEEPER_TIMED_OUT;
}

static int
open_signals(void)
{
	sigset_t all, wanted;

	ats_child_default_signals();
	(void)sigfillset(&all);
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGCHLD);
	(void)sigaddset(&wanted, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* What the descriptor is the engine has chosen: it must not hold one that no signal ends. */
static void __attribute__((noreturn))
cannot_run(int to, const char *why)
{
	(void)!ats_fd_nonblock(to, true);
	(void)!ats_fd_write_all(to, why, strlen(why));
	_exit(CANNOT_RUN);
}

static void __attribute__((noreturn))
keeper_main(const struct ats_hook *h, const char *workspace, const int from[3], pid_t parent)
{
	int fds[3] = { from[0], from[1], from[2] };
	int keep[4] = { STDERR_FILENO, fds[0], fds[1], fds[2] };
	struct ats_err err = { 0 };
	int code, signals;
	pid_t hook;

	if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM) < 0 || getppid() != parent ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1ul) < 0)
		cannot_run(fds[2], "hook: its keeper lost its parent");
	(void)prctl(PR_SET_NAME, "ats-hook");
	qsort(keep, ATS_ARRAY_LEN(keep), sizeof(keep[0]), compare);
	ats_child_close_others(0, keep, ATS_ARRAY_LEN(keep));
	signals = open_signals();
	if (signals < 0)
		cannot_run(fds[2], "hook: signalfd");
	if (start(h, workspace, fds, &hook, &err) < 0)
		cannot_run(fds[2], err.text);
	/* Only the hook and what it starts have them now: their end is seen. */
	for (size_t i = 0; i < 3; i++)
		if (fds[i] != STDERR_FILENO)
			(void)close(fds[i]);
	code = await(hook, signals, h->timeout_ms);
	tree_end(&(struct tree)TREE_OF_SUBREAPER);
	_exit(code);
}

/* ---- in the spawner ------------------------------------------------------------------ */

int
keeper_start(struct children *k, const char *id, const struct ats_hook *hook,
    const char *workspace, const int fds[3], pid_t *ret_pid, struct ats_err *err)
{
	struct child *c;
	pid_t parent = getpid();
	int rc = children_new(k, id, &c, err);

	if (rc < 0)
		return rc;
	c->keeper = true;
	c->pid = fork();
	if (c->pid == 0)
		keeper_main(hook, workspace, fds, parent);
	if (c->pid > 0)
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0u);
	if (c->pidfd < 0) {
		rc = ats_err_sys(err, "hook: fork");
		if (c->pid > 0 && kill(c->pid, SIGTERM) == 0)
			(void)waitpid(c->pid, NULL, 0);
		free(c);
		return rc;
	}
	children_add(k, c);
	*ret_pid = c->pid;
	return 0;
}
