/* SPDX-License-Identifier: Apache-2.0
 *
 * The monitor of one shell call. Its peer is front (fixed structs, strings it checked);
 * the processes it watches are hostile: it is outside their Landlock domain, not
 * dumpable, and what it learns of them comes from the kernel. */
#include "hands/worker/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/tree.h"
#include "hands/confine/budget_disk.h"
#include "hands/confine/selftest.h"
#include "hands/worker/command.h"
#include "hands/worker/job.h"
#include "hands/worker/shell.h"
#include "hands/worker/tty.h"
#include "hands/worker/warm.h"

#define SMALL_JOB (16u << 10)
#define PIPE_BYTES (1 << 20)

/* ---- preparation ----------------------------------------------------------------- */
/* Above the numbers that a shell's child fills. */
static int
high(int *fd)
{
	return ats_fd_raise(fd, CONFINE_FD_MIN);
}

static int
high_pipe(int p[2], struct ats_err *err)
{
	int rc = ats_fd_pipe(p, 0);

	if (rc < 0 || high(&p[0]) < 0 || high(&p[1]) < 0)
		return ats_err_sys(err, "pipe");
	return 0;
}

static int
make_fds(struct monitor *m, int *ret_front, struct ats_err *err)
{
	int pair[2], rc;

	if (ats_fd_socketpair(SOCK_STREAM, pair) < 0)
		return ats_err_sys(err, "socketpair");
	m->sock = pair[0];
	*ret_front = pair[1];
	if (high(&m->sock) < 0 || high(ret_front) < 0)
		return ats_err_sys(err, "dup");
	rc = high_pipe(m->out, err);
	if (rc == 0)
		rc = high_pipe(m->err, err);
	if (rc == 0)
		rc = high_pipe(m->in, err);
	if (rc < 0)
		return rc;
	/* Over the user's share of pipe memory the kernel refuses: the default will do.
	 */
	(void)fcntl(m->out[1], F_SETPIPE_SZ, PIPE_BYTES);
	(void)fcntl(m->err[1], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

static int
start_waiting_bash(struct monitor *m, struct ats_err *err)
{
	int command[2], rc = high_pipe(command, err);

	if (rc < 0)
		return rc;
	m->command = command[1];
	m->fields = memfd_create("command", MFD_CLOEXEC);
	if (m->fields < 0 || high(&m->fields) < 0)
		rc = ats_err_sys(err, "memfd_create");
	m->in_workspace = chdir(m->z->box->workspace) == 0;
	if (rc == 0)
		rc = shell_start_ready(m->z, &(const struct shell_plan){ .out = m->out[1],
			.apart = m->err[1], .command = command[0], .fields = m->fields },
		    &m->tree, &m->sockets, &m->shell, err);
	(void)close(command[0]);
	return rc;
}

static int
watch_signals(struct monitor *m, struct ats_err *err)
{
	sigset_t ends;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGCHLD);
	(void)sigaddset(&ends, SHELL_EXIT_SIGNAL);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	m->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	return m->signals < 0 || high(&m->signals) < 0 ? ats_err_sys(err, "signalfd") : 0;
}

/* What an ordinary call touches: a page that has no entry yet, or is still the zygote's, costs as
 * much as several system calls. */
static void
warm_up(struct monitor *m, char *small)
{
	warm_stack();
	warm_bytes(m, sizeof *m);
	warm_bytes(small, 1);
	command_warm(m);
	if (m->z->guard != NULL)
		guard_warm(m->z->guard);
}

static void
prepare(struct monitor *m, char *small)
{
	int front = -1, fds[4], rc;
	struct ats_err err = { 0 };

	rc = confine_apply(m->z->confine, CONFINE_MONITOR, &err);
	if (rc == 0 && !m->tree.namespaced && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		rc = ats_err_sys(&err, "subreaper");
	if (rc == 0)
		rc = make_fds(m, &front, &err);
	if (rc == 0)
		rc = watch_signals(m, &err);
	if (rc == 0 && m->z->has_bash && (m->z->flags & (JOB_COLD | JOB_EXEC)) == 0)
		rc = start_waiting_bash(m, &err);
	if (rc < 0)
		zygote_fail(&err);
	warm_up(m, small);
	fds[0] = front;
	fds[1] = m->out[0];
	fds[2] = m->err[0];
	fds[3] = m->in[1];
	if (zygote_announce(m->z, fds, 4) < 0)
		_exit(0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(fds); i++)
		(void)close(fds[i]);
}

/* ---- the end --------------------------------------------------------------------- */
static void
note_written(struct monitor *m, const struct rusage *ru)
{
	m->written += (uint64_t)ru->ru_oublock * 512;
}

static void
note_end(struct monitor *m, int status, const struct rusage *ru)
{
	const struct timeval *u = &ru->ru_utime, *s = &ru->ru_stime;

	note_written(m, ru);
	m->ended = true;
	m->exit.status = status;
	m->exit.utime_us = (uint64_t)u->tv_sec * 1000000 + (uint64_t)u->tv_usec;
	m->exit.stime_us = (uint64_t)s->tv_sec * 1000000 + (uint64_t)s->tv_usec;
	m->exit.maxrss_kb = (uint64_t)ru->ru_maxrss;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		m->exit.flags |= EXIT_SECCOMP;
	if (!m->killed && limits_cpu_used(m->z->box->budget.cpu_s, status,
		m->exit.utime_us + m->exit.stime_us))
		m->exit.flags |= EXIT_CPU;
}

/* Reaps what ended. True: some process is left. */
static bool
reap(struct monitor *m)
{
	struct rusage ru;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &ru)) > 0) {
		if (pid == m->shell)
			note_end(m, status, &ru);
		else
			note_written(m, &ru);
	}
	if (!m->ended && m->shell > 0 &&
	    wait4(m->shell, &status, WNOHANG | __WALL, &ru) == m->shell)
		note_end(m, status, &ru);
	return pid == 0;
}

static void __attribute__((noreturn))
finish(struct monitor *m)
{
	tty_drain(&m->tty);
	m->exit.flags |= limits_flags(&m->limits, m->exit.status);
	m->exit.disk_max_mib = m->z->box->budget.disk_mib;
	if (budget_disk_is_exceeded(m->z->disk, m->z->box, m->written, &m->exit.disk_mib))
		m->exit.flags |= EXIT_DISK;
	if (getcwd(m->exit.cwd, sizeof m->exit.cwd) == NULL) {
		if (errno == ENOENT)
			m->exit.flags |= EXIT_CWD_REMOVED;
		m->exit.cwd[0] = '\0';
	} else if (m->exit.cwd[0] != '/') {
		m->exit.cwd[0] = '\0';
	}
	if (m->z->guard != NULL)
		switch (guard_end(m->z->guard, &m->mark)) {
		case GUARD_SAME: break;
		case GUARD_MOVED: m->exit.flags |= EXIT_QUARANTINE; break;
		case GUARD_STAYS: m->exit.flags |= EXIT_STAYS; break;
		}
	if (m->exit.status != 0)
		m->exit.data_mb = limits_data_mb();
	(void)!job_reply(m->sock, REPLY_EXIT, NULL, 0, &m->exit, sizeof m->exit);
	job_wait_release(m->sock);
	tree_end(&m->tree);
	_exit(0);
}

/* The shell ended and others did not: they get a moment. */
static void
wait_grace(struct monitor *m)
{
	uint64_t until = ats_clock_ms() + MONITOR_GRACE_MS;
	struct signalfd_siginfo si[8];

	for (;;) {
		uint64_t now = ats_clock_ms();
		struct pollfd p[2 + TTY_POLLS] = { { .fd = m->signals, .events = POLLIN },
			own_sockets_poll(&m->sockets) };

		if (now >= until)
			break;
		tty_poll(&m->tty, p + 2);
		(void)poll(p, ATS_ARRAY_LEN(p),
		    own_sockets_wait(&m->sockets, (int)(until - now)));
		tty_turn(&m->tty, p + 2);
		own_sockets_turn(&m->sockets, p[1].revents);
		while (read(m->signals, si, sizeof si) > 0)
			;
		if (!reap(m))
			return;
	}
	m->exit.survivors =
	    tree_names(&m->tree, m->exit.names, sizeof m->exit.names);
	tree_end(&m->tree);
}

static void
on_signals(struct monitor *m)
{
	struct signalfd_siginfo si[8];
	bool left;

	while (read(m->signals, si, sizeof si) == (ssize_t)sizeof si)
		;
	left = reap(m);
	if (!m->ended)
		return;
	if (left)
		limits_look(&m->limits);
	if (left && m->killed)
		tree_end(&m->tree);
	else if (left)
		wait_grace(m);
	finish(m);
}

static void
on_front(struct monitor *m)
{
	struct monitor_msg msg;

	if (order_monitor(m->sock, &msg) > 0) {
		switch (msg.what) {
		case MONITOR_TERM:
			limits_look(&m->limits);
			tree_signal(&m->tree, SIGTERM);
			return;
		case MONITOR_KILL:
			m->killed = true;
			tree_signal(&m->tree, SIGKILL);
			return;
		case MONITOR_SIGNAL:
			tty_signal(&m->tty, m->shell, (int)(msg.arg & 0x7f));
			return;
		case MONITOR_RESIZE:
			tty_resize(&m->tty, (uint16_t)(msg.arg >> 16), (uint16_t)msg.arg);
			return;
		default:
			return;
		}
	}
	/* Front gave the call up. */
	tree_end(&m->tree);
	_exit(0);
}

static void __attribute__((noreturn))
loop(struct monitor *m)
{
	struct pollfd p[3 + TTY_POLLS] = { { .fd = m->sock, .events = POLLIN },
		{ .fd = m->signals, .events = POLLIN } };

	for (;;) {
		p[2] = own_sockets_poll(&m->sockets);
		tty_poll(&m->tty, p + 3);
		if (poll(p, ATS_ARRAY_LEN(p),
			own_sockets_wait(&m->sockets, limits_wait(&m->limits))) < 0 &&
		    errno != EINTR)
			break;
		limits_turn(&m->limits);
		if (p[1].revents != 0)
			on_signals(m);
		if (p[0].revents != 0)
			on_front(m);
		tty_turn(&m->tty, p + 3);
		own_sockets_turn(&m->sockets, p[2].revents);
	}
	tree_end(&m->tree);
	_exit(CONFINE_EXIT);
}

/* Nothing ran: front gets a result in place of an exit. */
static void __attribute__((noreturn))
refuse(struct monitor *m, const struct ats_err *err)
{
	static const char json[] = "{\"outcome\":\"not_started\",\"is_error\":true,"
	    "\"code\":\"confinement_failed\"}";

	ats_log(ATS_LOG_ERROR, "a shell could not be started", "step=\"%s\"", err->text);
	(void)!job_reply(m->sock, REPLY_RESULT, json, sizeof json - 1, err->text,
	    strlen(err->text));
	tree_end(&m->tree);
	_exit(CONFINE_EXIT);
}

/* What the look through the workspace at the start did not reach is not protected: no shell then.
 * What a later one did not, guard_begin knows, which looks itself first. */
static void
may_begin(struct monitor *m)
{
	const struct zygote_child *z = m->z;
	struct ats_err err = { 0 };

	if (z->guard == NULL || (z->box->facts & BOX_SCAN_PART) == 0)
		return;
	(void)guard_refuse(&err);
	command_drop_waiting(m);
	refuse(m, &err);
}

void
monitor_main(const struct zygote_child *z)
{
	static struct monitor m;
	static char small[SMALL_JOB] WARM_PAGES;
	struct ats_err err = { 0 };

	m.z = z;
	m.tree = (struct tree)TREE_OF_SUBREAPER;
	m.tree.namespaced = box_has_namespaces(z->box);
	m.command = m.fields = m.input = m.tty.master = -1;
	own_sockets_init(&m.sockets, &z->sockets);
	prepare(&m, small);
	if (job_read(m.sock, small, sizeof small, &m.job) <= 0) {
		tree_end(&m.tree);
		_exit(0);
	}
	if (m.job.fd >= 0 && high(&m.job.fd) >= 0)
		m.input = m.job.fd;
	if ((m.job.head.flags & JOB_SELFTEST) != 0) {
		command_drop_waiting(&m);
		selftest_shell(z, m.sock);
	}
	may_begin(&m);
	if ((z->guard != NULL && guard_begin(z->guard, z->slot, &m.mark, &err) < 0) ||
	    command_begin(&m, &err) < 0)
		refuse(&m, &err);
	limits_begin(&m.limits, z->oom, z->forks);
	loop(&m);
}
