/* SPDX-License-Identifier: Apache-2.0
 *
 * The ender of one call. It runs beside hostile processes, as their user and in their Landlock
 * domain, but not dumpable; it reads nothing but the end of its socket. */
#include "hands/worker/ender.h"

#include <errno.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/confine/ns.h"

bool
ender_possible(const struct zygote_child *z)
{
	return !box_has_namespaces(z->box) && z->confine->ruleset >= 0 &&
	       z->box->landlock_abi >= 6;
}

static void __attribute__((noreturn))
ender_main(int sock)
{
	pid_t self = getpid();
	sigset_t all;
	char c;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "ats-ender", 0, 0, 0);
	(void)setsid();
	/* The call's pipes must end without us, and its directories be free. */
	if (dup2(sock, STDIN_FILENO) < 0 || close_range(STDOUT_FILENO, ~0u, 0) < 0 ||
	    chdir("/") < 0 || ats_fd_write_all(STDIN_FILENO, &self, sizeof self) < 0)
		_exit(1);
	(void)ats_fd_read(STDIN_FILENO, &c, 1);
	(void)kill(-1, SIGKILL);
	_exit(0);
}

int
ender_start(int sock, struct ats_err *err)
{
	pid_t pid = ns_fork(CLONE_PARENT);

	if (pid == 0)
		ender_main(sock);
	return pid < 0 ? ats_err_sys(err, "clone(CLONE_PARENT)") : 0;
}
