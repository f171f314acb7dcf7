/* SPDX-License-Identifier: Apache-2.0
 *
 * The spawner's loop: orders from the vault, deaths of children. Runs in the spawner, which
 * has neither no_new_privs nor a filter, since what it starts may need to gain rights
 * (newuidmap). Its input is the vault's: ids and registered workspaces, never a program. */
#include "brain/vault/spawner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brain/vault/children.h"
#include "brain/vault/credentials.h"
#include "brain/vault/dialer.h"
#include "brain/vault/http.h"
#include "brain/vault/keeper.h"
#include "brain/vault/remote.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/confine/caps.h"
#include "common/fd.h"
#include "common/log.h"
#include "proto/brain.h"

#define STOP_MS 3000			/* from SIGTERM to SIGKILL */

struct spawner {
	const struct config *conf;
	struct children kids;
	int vault, signals;
	bool stopping, killed;
	uint64_t stop_at_ms;
};

static void
signal_all(struct spawner *s, int sig)
{
	for (struct child *c = s->kids.first; c != NULL; c = c->next)
		children_signal(c, sig);
}

/* The vault is gone or we are: nothing may stay behind. */
static void __attribute__((noreturn))
end_all(struct spawner *s, int status)
{
	for (struct child *c = s->kids.first; c != NULL; c = c->next)
		children_signal(c, c->keeper ? SIGTERM : SIGKILL);
	for (struct child *c = s->kids.first; c != NULL; c = c->next) {
		(void)waitpid(c->pid, NULL, 0);
		children_unlink_socket(&s->kids, c->id);
	}
	_exit(status);
}

static void
answer(struct spawner *s, uint32_t seq, const char *id, pid_t pid, const struct ats_err *err,
    int fd)
{
	int rc = ats_brain_send(s->vault, ATS_MSG_STARTED, seq, &fd, fd >= 0 ? 1 : 0, id,
	    (uint64_t)pid, (uint64_t)err->code, err->text);

	if (rc < 0)
		end_all(s, 1);
}

static void
start_engine(struct spawner *s, struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };	/* code 0: it runs */
	pid_t pid = 0;

	if (m->nfds != 3)
		(void)ats_err_set(&err, ATS_E_PROTO, "START_ENGINE without its descriptors");
	else
		(void)!children_start_engine(&s->kids, m->fds[0], m->fds[1], m->fds[2], &pid,
		    &err);
	answer(s, m->seq, CHILD_ENGINE, pid, &err, -1);
}

/* Only a sandbox elsewhere can be another user's: what is started here runs as ours. */
static int
check_uid(const struct spawner *s, bool elsewhere, uint64_t uid, struct ats_err *err)
{
	if (elsewhere && s->kids.places->system)
		return 0;
	return uid == (uint64_t)getuid() ? 0 : ats_err_set(err, ATS_E_PERM,
	    "a sandbox of uid %llu from a brain of %llu", (unsigned long long)uid,
	    (unsigned long long)getuid());
}

/* A sandbox: a hands of ours, or a link to one elsewhere. */
static void
start_box(struct spawner *s, struct ats_ipc_msg *m)
{
	bool elsewhere = m->type == ATS_MSG_START_REMOTE;
	struct ats_err err = { 0 };
	int link ATS_CLEANUP_FD = -1, rc = check_uid(s, elsewhere, m->u[elsewhere ? 1 : 2], &err);
	pid_t pid = 0;

	if (rc == 0 && elsewhere)
		rc = remote_start(s->conf, &s->kids, m->s[0], m->s[3], &pid, &link, &err);
	else if (rc == 0)
		rc = children_start_hands(&s->kids, m->s[0], m->s[1], m->s[4], &pid, &link, &err);
	if (rc < 0 || link >= 0)	/* else it is answered by on_dialed */
		answer(s, m->seq, m->s[0], pid, &err, link);
}

static void
start_script(struct spawner *s, struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };
	int link ATS_CLEANUP_FD = -1, rc = check_uid(s, true, m->u[1], &err);
	char name[CHILD_ID_MAX];
	struct child_command what = { .id = name };
	pid_t pid = 0;

	(void)snprintf(name, sizeof(name), CHILD_SCRIPT "%llu", (unsigned long long)m->u[2]);
	if (rc == 0)
		rc = remote_script(s->conf, m->s[0], m->u[3], &what, &err);
	if (rc == 0)
		rc = children_start_command(&s->kids, &what, &pid, &link, &err);
	answer(s, m->seq, name, rc < 0 ? 0 : pid, &err, link);
}

static void
start_gateway(struct spawner *s, struct ats_ipc_msg *m)
{
	const struct gateway_source *g = sources_gateway(&s->conf->sources, m->s[0]);
	struct ats_err err = { 0 };
	char name[CHILD_ID_MAX];
	pid_t pid = 0;

	if (g == NULL || m->nfds != 1)
		(void)ats_err_set(&err, ATS_E_INVAL, "no such gateway");
	else
		(void)!children_start_gateway(&s->kids, g, m->fds[0], &pid, &err);
	(void)snprintf(name, sizeof(name), CHILD_GATEWAY "%.32s", m->s[0]);
	answer(s, m->seq, name, pid, &err, -1);
}

static void
start_hook(struct spawner *s, struct ats_ipc_msg *m)
{
	const struct ats_hooks *h = &s->conf->hooks;
	struct ats_err err = { 0 };
	char name[CHILD_ID_MAX];
	pid_t pid = 0;

	(void)snprintf(name, sizeof(name), CHILD_HOOK "%llu", (unsigned long long)m->u[0]);
	if (m->u[1] >= h->n || m->nfds != 3 || m->s[2][0] != '/')
		(void)ats_err_set(&err, ATS_E_INVAL, "no such hook");
	else
		(void)!keeper_start(&s->kids, name, &h->v[m->u[1]], m->s[2], m->fds, &pid, &err);
	answer(s, m->seq, name, pid, &err, -1);
}

/* A file is opened here, since the vault opens none after its start; it is read there. */
static void
start_helper(struct spawner *s, struct ats_ipc_msg *m)
{
	const struct credential_source *c = sources_credential(&s->conf->sources, m->s[0]);
	int file ATS_CLEANUP_FD = -1;
	struct ats_err err = { 0 };
	char name[CHILD_ID_MAX];
	pid_t pid = 0;

	if (c == NULL || (c->kind == CREDENTIAL_COMMAND) != (m->nfds == 2))
		(void)ats_err_set(&err, ATS_E_INVAL, "no such credential");
	else if (c->kind == CREDENTIAL_COMMAND)
		(void)!children_start_credential(&s->kids, c, m->fds[0], m->fds[1], &pid,
		    &err);
	else
		(void)!credential_open(c, &file, &err);
	(void)snprintf(name, sizeof(name), CHILD_CREDENTIAL "%.32s", m->s[0]);
	answer(s, m->seq, name, pid, &err, file);
}

static void
start_http(struct spawner *s, struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };
	pid_t pid = 0;

	if (!config_has_http(s->conf) || m->nfds != 1)
		(void)ats_err_set(&err, ATS_E_INVAL, "no HTTP is configured");
	else
		(void)!children_start_http(&s->kids, s->conf, m->fds[0], &pid, &err);
	answer(s, m->seq, CHILD_HTTP, pid, &err, -1);
}

static void
on_order(struct spawner *s, struct ats_ipc_msg *m)
{
	struct child *c;

	switch ((enum ats_brain_msg)m->type) {
	case ATS_MSG_START_ENGINE:
		if (!s->stopping)
			start_engine(s, m);
		break;
	case ATS_MSG_START_HANDS:
	case ATS_MSG_START_REMOTE:
		if (!s->stopping)
			start_box(s, m);
		break;
	case ATS_MSG_START_SCRIPT:
		if (!s->stopping)
			start_script(s, m);
		break;
	case ATS_MSG_START_GATEWAY:
		if (!s->stopping)
			start_gateway(s, m);
		break;
	case ATS_MSG_START_HTTP:
		if (!s->stopping)
			start_http(s, m);
		break;
	case ATS_MSG_START_HELPER:
		if (!s->stopping)
			start_helper(s, m);
		break;
	case ATS_MSG_START_HOOK:
		if (!s->stopping)
			start_hook(s, m);
		break;
	case ATS_MSG_KILL:
		c = children_find(&s->kids, m->s[0]);
		if (c != NULL)
			children_signal(c, c->keeper ? SIGTERM : SIGKILL);
		break;
	case ATS_MSG_STOP:
		s->stopping = true;
		s->stop_at_ms = ats_clock_ms() + STOP_MS;
		signal_all(s, SIGTERM);
		break;
	default:			/* the vault's messages to others */
		end_all(s, 1);
	}
}

static void
read_orders(struct spawner *s)
{
	static struct ats_ipc_msg m;	/* 64 KiB: not on the stack of a process that forks */
	int rc;

	while ((rc = ats_ipc_recv(s->vault, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT,
		    &m)) == 1) {
		on_order(s, &m);
		ats_ipc_done(&m);
	}
	if (rc != -ATS_E_AGAIN)
		end_all(s, rc == 0 ? 0 : 1);
}

static void
on_dialed(struct spawner *s, struct child *c, int status)
{
	struct ats_err err = { 0 };
	int link ATS_CLEANUP_FD = -1;

	(void)!dialer_result(c, status, &link, &err);
	answer(s, 0, c->id, 0, &err, link);
}

static void
on_ended(struct spawner *s, const struct child *c, int status)
{
	if (ats_brain_send(s->vault, ATS_MSG_EXITED, 0, NULL, 0, c->id,
		(uint64_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 0),
		(uint64_t)(WIFSIGNALED(status) ? WTERMSIG(status) : 0)) < 0)
		end_all(s, 1);
}

static void
reap(struct spawner *s)
{
	struct signalfd_siginfo info;
	struct child *next;
	int status;

	while (ats_fd_read(s->signals, &info, sizeof(info)) > 0)
		;
	for (struct child *c = s->kids.first; c != NULL; c = next) {
		next = c->next;
		if (!children_wait(c, &status))
			continue;
		if (c->dial >= 0)
			on_dialed(s, c, status);
		else
			on_ended(s, c, status);
		children_forget(&s->kids, c);
	}
}

/* -1 to wait for ever. */
static int
stop_timeout(struct spawner *s)
{
	uint64_t now = ats_clock_ms();

	if (!s->stopping || s->killed)
		return -1;
	if (now < s->stop_at_ms)
		return (int)(s->stop_at_ms - now);
	s->killed = true;
	signal_all(s, SIGKILL);
	return -1;
}

static void __attribute__((noreturn))
run(struct spawner *s)
{
	struct pollfd p[2] = { { .fd = s->vault, .events = POLLIN },
		{ .fd = s->signals, .events = POLLIN } };

	for (;;) {
		if (s->stopping && s->kids.first == NULL)
			_exit(0);
		if (poll(p, 2, stop_timeout(s)) < 0 && errno != EINTR)
			end_all(s, 1);
		if ((p[1].revents & POLLIN) != 0)
			reap(s);
		if (p[0].revents != 0)
			read_orders(s);
	}
}

/* SIGINT and its kin reach the whole group of a foreground brain: the vault decides. */
static int
open_signals(void)
{
	sigset_t all, chld;

	(void)sigfillset(&all);
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return -1;
	return signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int
compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void __attribute__((noreturn))
child_main(const struct ats_places *places, const struct config *conf, int sock,
    const struct locks *locks)
{
	int keep[3] = { locks->state, locks->runtime, sock };
	struct spawner s = { .conf = conf, .vault = sock };

	qsort(keep, ATS_ARRAY_LEN(keep), sizeof(keep[0]), compare_fds);
	ats_child_close_others(3, keep, ATS_ARRAY_LEN(keep));
	ats_log_init("spawner", ATS_LOG_INFO, STDERR_FILENO);
	(void)prctl(PR_SET_NAME, "ats-spawner");
	s.signals = open_signals();
	children_init(&s.kids, places);
	if (s.signals < 0 || ats_caps_undumpable(NULL) < 0 || ats_fd_nonblock(sock, true) < 0)
		_exit(125);
	run(&s);
}

int
spawner_start(const struct ats_places *places, const struct config *conf,
    const struct locks *locks, pid_t *ret_pid, int *ret_pidfd, int *ret_fd,
    struct ats_err *err)
{
	int pair[2], pidfd = -1;
	pid_t pid;

	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return ats_err_sys(err, "spawner: socketpair");
	pid = fork();
	if (pid == 0)
		child_main(places, conf, pair[1], locks);
	(void)close(pair[1]);
	/* Nobody has reaped it: the pid is still its own. */
	if (pid > 0)
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0u);
	if (pidfd < 0 || ats_fd_nonblock(pair[0], true) < 0) {
		int rc = ats_err_sys(err, "spawner: fork");

		(void)close(pair[0]);	/* it ends by that */
		ats_fd_close(&pidfd);
		return rc;
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	*ret_fd = pair[0];
	return 0;
}

static bool
ends_within(int pidfd, int ms)
{
	uint64_t now = ats_clock_ms(), end = now + (uint64_t)ms;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int rc;

	do {
		rc = poll(&p, 1, (int)(end - now));
		now = ats_clock_ms();
	} while (rc < 0 && errno == EINTR && now < end);
	return rc > 0;
}

void
spawner_end(int pidfd)
{
	siginfo_t info;

	if (!ends_within(pidfd, SPAWNER_END_MS)) {
		ats_log(ATS_LOG_WARN, "the spawner does not end and is killed", NULL);
		/* What it started ends with it (PDEATHSIG). */
		if (syscall(SYS_pidfd_send_signal, (long)pidfd, (long)SIGKILL, NULL, 0u) < 0)
			ats_log(ATS_LOG_ERROR, "cannot kill the spawner", "errno=%d", errno);
		(void)ends_within(pidfd, SPAWNER_END_MS / 2);
	}
	(void)waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
}
