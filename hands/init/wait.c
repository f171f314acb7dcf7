/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting in the launcher. Its input is signals and the ends of its children. */
#include "hands/init/wait.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/tree.h"
#include "hands/init/accept.h"
#include "hands/init/newest.h"
#include "hands/init/relay.h"

struct child {
	pid_t pid;
	bool ended;
	int code;
};
struct loop {
	const struct wait *w;
	struct child box, command, dialer;
	uint64_t kill_at_ms;	/* 0: nobody was asked to end */
	int code;		/* of what ended first and counts; -1 nothing did */
};

int
wait_signals(int *ret_fd, struct ats_err *err)
{
	/* Our own faults, and those by which a terminal stops a job. */
	static const int others[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT,
		SIGSYS, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT };
	struct sigaction was;
	sigset_t set;

	(void)sigfillset(&set);
	for (size_t i = 0; i < ATS_ARRAY_LEN(others); i++)
		(void)sigdelset(&set, others[i]);
	/* nohup means it. */
	if (sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler == SIG_IGN)
		(void)sigdelset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);	/* RLIMIT_FSIZE: an error of that write */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return ats_err_sys(err, "subreaper");
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? ats_err_sys(err, "signalfd") : 0;
}

static void
send_to(const struct child *c, int sig)
{
	if (c->pid > 0 && !c->ended)
		(void)kill(c->pid, sig);
}

/* The first time it starts the clock, the second time the time is over. */
static void
stop(struct loop *l)
{
	uint64_t now = ats_clock_ms();

	l->kill_at_ms = l->kill_at_ms == 0 ? now + WAIT_STOP_MS : now;
	send_to(&l->box, SIGTERM);
}

static void
on_signal(struct loop *l, int sig)
{
	if (l->command.pid > 0 && !l->command.ended) {
		send_to(&l->command, sig);
		if (sig == SIGTERM)
			stop(l);
	} else if (sig == SIGTERM || sig == SIGINT || sig == SIGQUIT || sig == SIGHUP) {
		stop(l);
	}
}

static int
exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void
on_end(struct loop *l, struct child *c, int status)
{
	c->ended = true;
	c->code = exit_code(status);
	if (c == &l->box && l->command.pid > 0 && c->code == 0)
		return;
	if (l->code < 0)
		l->code = c->code;
	if (c == &l->box)
		send_to(&l->command, SIGTERM);
	if (l->kill_at_ms == 0)
		stop(l);
}

/* Front ends by it, in good order: that this is a failure we alone know. Who ends a whole group
 * of processes by SIGTERM means us, too. */
static void
on_dialer_end(struct loop *l, int status)
{
	l->dialer.ended = true;
	if (exit_code(status) == 0 || exit_code(status) == 128 + SIGTERM)
		return;
	ats_log(ATS_LOG_ERROR, "the dialer ended before hands", "code=%d", exit_code(status));
	if (l->code < 0)
		l->code = 1;
}

static void
reap(struct loop *l)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == l->box.pid)
			on_end(l, &l->box, status);
		else if (pid == l->command.pid)
			on_end(l, &l->command, status);
		else if (pid == l->dialer.pid)
			on_dialer_end(l, status);
	}
}

static void
read_signals(struct loop *l)
{
	struct signalfd_siginfo si;

	while (read(l->w->signals, &si, sizeof si) == (ssize_t)sizeof si)
		if (si.ssi_signo != SIGCHLD)
			on_signal(l, (int)si.ssi_signo);
	reap(l);
}

/* Milliseconds until the time of those who were asked to end is over. */
static int
time_left(const struct loop *l)
{
	uint64_t now = ats_clock_ms();

	if (l->kill_at_ms == 0 || l->kill_at_ms == UINT64_MAX)
		return -1;
	return l->kill_at_ms > now ? (int)(l->kill_at_ms - now) : 0;
}

int
wait_for_end(const struct wait *w)
{
	struct loop l = { .w = w, .box = { .pid = w->box }, .command = { .pid = w->command },
		.dialer = { .pid = w->dialer }, .code = -1 };
	struct pollfd p[3 + RELAY_POLLS] = { { .fd = w->signals, .events = POLLIN } };

	reap(&l);	/* what ended before its signal was taken */
	while (!l.box.ended || (l.command.pid > 0 && !l.command.ended)) {
		int left = time_left(&l), pause;

		if (left == 0) {
			ats_log(ATS_LOG_WARN, "what does not end is killed", NULL);
			send_to(&l.box, SIGKILL);
			send_to(&l.command, SIGKILL);
			l.kill_at_ms = UINT64_MAX;
			continue;
		}
		pause = accept_poll(w->acceptor, &p[1]);
		if (pause >= 0 && (left < 0 || pause < left))
			left = pause;
		newest_poll(w->newest, &p[2]);
		relay_poll(w->relay, p + 3);
		if (poll(p, ATS_ARRAY_LEN(p), left) < 0) {
			if (errno != EINTR)
				break;
			continue;	/* what poll left in p is of no turn */
		}
		relay_turn(w->relay, p + 3);
		newest_turn(w->newest, &p[2]);
		accept_turn(w->acceptor, &p[1]);
		if (p[0].revents != 0)
			read_signals(&l);
	}
	send_to(&l.dialer, SIGKILL);
	/* As pid 1 the kernel does it, and for a box with namespaces it has. */
	if (getpid() != 1 && (!w->namespaced || w->command > 0))
		tree_end(&(struct tree)TREE_OF_SUBREAPER);
	return l.code >= 0 ? l.code : 1;
}
