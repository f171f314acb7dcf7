/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting the roles. Runs in init; everything it uses is ours. */
#include "hands/init/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/child.h"
#include "common/confine/caps.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/apply.h"
#include "hands/confine/mnt.h"

#define HIGH 64			/* above every number that a role has fixed */

/* Capabilities that survive the exec where the uid is not 0. */
static int
keep_over_exec(uint64_t caps, struct ats_err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	for (unsigned i = 0; i < 2; i++)
		data[i].permitted = data[i].effective = data[i].inheritable =
		    (uint32_t)(caps >> (32 * i));
	if (syscall(SYS_capset, &head, data) < 0)
		return ats_err_sys(err, "capset");
	for (unsigned c = 0; c < 64; c++)
		if ((caps >> c & 1) != 0 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0) < 0)
			return ats_err_sys(err, "ambient");
	return 0;
}

/* Where shells have the host's network, nothing else of the box has any. */
static int
leave_network(const struct start_plan *p, struct ats_err *err)
{
	if ((p->box->facts & BOX_NET_HOST) == 0 || !box_has_namespaces(p->box) ||
	    p->profile == ATS_PROFILE_SHELL)
		return 0;
	return unshare(CLONE_NEWNET) < 0 ? ats_err_sys(err, "unshare(CLONE_NEWNET)") : 0;
}

/* What a read worker sees is read-only for it, whatever its filter and Landlock say. */
static int
view_readonly(const struct start_plan *p, struct ats_err *err)
{
	if (p->profile != ATS_PROFILE_READ || !box_has_namespaces(p->box))
		return 0;
	if (unshare(CLONE_NEWNS) < 0)
		return ats_err_sys(err, "unshare(CLONE_NEWNS)");
	return mnt_readonly(AT_FDCWD, "/", AT_RECURSIVE, err);
}

/* Tools are the first to go when memory ends. Best effort: there may be no /proc. Before it is
 * read-only. */
static void
first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "500", 3);
	ats_fd_close(&fd);
}

static int
become(const struct start_plan *p, struct ats_err *err)
{
	const struct confine c = { .box = p->box, .profile = p->profile, .ruleset = -1 };
	int rc = leave_network(p, err);

	if (p->profile != ATS_PROFILE_FRONT)
		first_to_go();
	if (rc == 0)
		rc = view_readonly(p, err);
	if (rc < 0)
		return rc;
	if (p->profile == ATS_PROFILE_FRONT)
		return confine_apply(&c, CONFINE_FRONT, err);
	if (p->box->situation != BOX_USER)
		return 0;	/* uid 0 keeps them; the zygote drops them */
	return keep_over_exec(1ull << CAP_SETPCAP |
	    (p->profile == ATS_PROFILE_SHELL ? 1ull << CAP_SYS_ADMIN : 0), err);
}

static int
place(const struct start_plan *p, int *ret_exe)
{
	int moved[START_FDS_MAX], last = STDERR_FILENO;

	for (size_t i = 0; i < p->nfds; i++) {
		/* An absent one keeps its number occupied, with what needs no /dev: the role
		 * would get it for another file otherwise. */
		int from = p->fds[i].from >= 0 ? p->fds[i].from : p->exe;

		moved[i] = fcntl(from, F_DUPFD_CLOEXEC, HIGH);
		if (moved[i] < 0)
			return -ATS_E_SYS;
	}
	*ret_exe = fcntl(p->exe, F_DUPFD_CLOEXEC, HIGH);
	for (size_t i = 0; i < p->nfds; i++) {
		int to = p->fds[i].to;

		if (dup2(moved[i], to) < 0)
			return -ATS_E_SYS;
		last = to > last ? to : last;
	}
	if (*ret_exe < 0 || close_range((unsigned)last + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return -ATS_E_SYS;
	return 0;
}

static void __attribute__((noreturn))
run_child(const struct start_plan *p)
{
	struct ats_err err = { 0 };
	int exe = -1;

	if (become(p, &err) < 0) {
		ats_log(ATS_LOG_ERROR, "a role could not be confined",
		    "role=%s step=\"%s\"", p->argv[1], err.text);
		_exit(CONFINE_EXIT);
	}
	if (place(p, &exe) == 0) {
		ats_child_restore_signals();
		(void)syscall(
		    SYS_execveat, exe, "", p->argv, ats_log_env(), AT_EMPTY_PATH);
	}
	ats_log(ATS_LOG_ERROR, "a role could not be started", "role=%s errno=%d",
	    p->argv[1], errno);
	_exit(CONFINE_EXIT);
}

pid_t
start_role(const struct start_plan *p)
{
	int runs[2] = { -1, -1 };
	pid_t pid;
	char c;

	if (p->await_exec && ats_fd_pipe(runs, 0) < 0)
		return -ATS_E_SYS;
	pid = fork();
	if (pid == 0)
		run_child(p);
	ats_fd_close(&runs[1]);
	/* Nobody writes: the exec, or the end, closes it. */
	if (pid > 0 && p->await_exec)
		(void)!ats_fd_read_all(runs[0], &c, 1);
	ats_fd_close(&runs[0]);
	return pid < 0 ? -ATS_E_SYS : pid;
}
