/* SPDX-License-Identifier: Apache-2.0
 *
 * The dialer. Forked by the spawner, which lives on without waiting: its end, a child's like
 * any other, says that there is a result. It reads /etc/hosts and /etc/resolv.conf, what name
 * servers answer, and what a proxy answers; of the peer it reads nothing. */
#include "brain/vault/dialer.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/confine/daemon.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/dial.h"
#include "common/fd.h"

#define LATE_S 2			/* after DIALER_MS, whatever it does then */
#define DNS_PORT 53

struct result {
	int32_t code;			/* 0: with a socket */
	char text[500];
};

/* ---- in the dialer ------------------------------------------------------------------- */

static int
restrict_reach(const struct ats_addr *a, struct ats_err *err)
{
	const struct ats_landlock_path paths[] = {
		{ .path = "/etc/resolv.conf", .rights = ATS_LL_READ_FILE, .optional = true },
		{ .path = "/etc/hosts", .rights = ATS_LL_READ_FILE, .optional = true },
	};
	const struct ats_landlock_port ports[] = { { a->port, ATS_LL_CONNECT_TCP },
		{ DNS_PORT, ATS_LL_CONNECT_TCP } };
	const struct ats_landlock_rules rules = { .fs = ATS_LL_FS_ALL, .net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ALL, .paths = paths, .npaths = ATS_ARRAY_LEN(paths),
		.ports = ports, .nports = ATS_ARRAY_LEN(ports) };

	return ats_confine_reach(&rules, err);
}

#define NO ATS_SECCOMP_ERRNO(EPERM)

static int
load_filters(struct ats_err *err)
{
	static const struct ats_seccomp_rule rules[] = {
		ATS_SECCOMP_IF(NO, "socket", ATS_SECCOMP_ARG_EQ(0, AF_UNIX)),
		ATS_SECCOMP_IF(NO, "socket", ATS_SECCOMP_ARG_EQ(0, AF_NETLINK)),
		ATS_SECCOMP_CALL(NO, "listen"),
		ATS_SECCOMP_CALL(NO, "accept"),
		ATS_SECCOMP_CALL(NO, "accept4"),
		ATS_SECCOMP_CALL(NO, "pidfd_send_signal"),
	};
	static const struct ats_seccomp_table own = { "dialer", ATS_SECCOMP_ALLOW, rules,
		ATS_ARRAY_LEN(rules) };
	const struct ats_seccomp_table *const tables[] = { &ats_seccomp_base,
		&ats_seccomp_noexec, &own };

	return ats_seccomp_install(tables, ATS_ARRAY_LEN(tables), err);
}

static int
confine(const struct ats_addr *a, struct ats_err *err)
{
	int rc = ats_confine_daemon(0, err);

	if (rc == 0)
		rc = restrict_reach(a, err);
	return rc < 0 ? rc : load_filters(err);
}

static void __attribute__((noreturn))
child_main(int sock, pid_t parent, const struct ats_addr *a, const struct ats_proxy *via)
{
	struct result r = { 0 };
	struct ats_err err = { 0 };
	int fd = -1, rc, keep[] = { STDERR_FILENO, sock };

	if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	(void)prctl(PR_SET_NAME, "ats-dialer");
	ats_child_close_others(0, keep, ATS_ARRAY_LEN(keep));
	ats_child_reset_signals();
	(void)alarm(DIALER_MS / 1000 + LATE_S);
	rc = confine(ats_proxy_serves(via, a) ? &via->at : a, &err);
	if (rc == 0)
		rc = ats_dial_via(a, via, DIALER_MS, &fd, &err);
	if (rc < 0) {
		r.code = err.code;
		(void)snprintf(r.text, sizeof(r.text), "%.*s", (int)sizeof(r.text) - 1, err.text);
	}
	if (ats_fd_send(sock, &r, sizeof(r), &fd, fd >= 0 ? 1 : 0) != (ssize_t)sizeof(r))
		_exit(1);
	_exit(0);
}

/* ---- in the spawner ------------------------------------------------------------------ */

int
dialer_start(struct children *k, const char *id, const struct ats_addr *a,
    const struct ats_proxy *via, struct ats_err *err)
{
	struct child *c;
	pid_t parent = getpid();
	int pair[2], rc;

	rc = children_new(k, id, &c, err);
	if (rc < 0)
		return rc;
	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0) {
		rc = ats_err_sys(err, "dialer: socketpair");
		free(c);
		return rc;
	}
	c->pid = fork();
	if (c->pid == 0)
		child_main(pair[1], parent, a, via);
	(void)close(pair[1]);
	c->dial = pair[0];
	if (c->pid > 0)
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0u);
	if (c->pidfd < 0) {
		rc = ats_err_sys(err, "dialer: fork");
		if (c->pid > 0 && kill(c->pid, SIGKILL) == 0)
			(void)waitpid(c->pid, NULL, 0);
		(void)close(pair[0]);
		free(c);
		return rc;
	}
	children_add(k, c);
	return 0;
}

static bool
is_network_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t n = sizeof(domain), m = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &m) == 0 &&
	    (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM;
}

static int
said_nothing(int status, struct ats_err *err)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return ats_err_set(err, ATS_E_TIMEOUT, "no connection within %d s",
		    DIALER_MS / 1000);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return ats_err_set(err, ATS_E_CANCELLED, "ended while it was connecting");
	return ats_err_set(err, ATS_E_SYS, "the process that connects ended (status %d)", status);
}

int
dialer_result(struct child *c, int status, int *ret_fd, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = -1;
	struct result r;
	size_t nfds = 0;
	ssize_t n;

	n = ats_fd_nonblock(c->dial, true) < 0 ? -1 :
	    ats_fd_recv(c->dial, &r, sizeof(r), &fd, 1, &nfds);
	if (n != (ssize_t)sizeof(r))
		return said_nothing(status, err);
	if (r.code == 0 && nfds == 1 && is_network_socket(fd)) {
		*ret_fd = ats_steal_fd(&fd);
		return 0;
	}
	r.text[sizeof(r.text) - 1] = '\0';
	for (char *p = r.text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	return ats_err_set(err, r.code == ATS_E_NOENT || r.code == ATS_E_TIMEOUT ? r.code :
	    ATS_E_SYS, "%s", r.text);
}
