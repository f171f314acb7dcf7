/* SPDX-License-Identifier: Apache-2.0
 *
 * The dialer. A process of its own in the network of whoever started us; what it hears is a byte
 * of front's, answers of name servers, which are anybody's, and a proxy's. */
#include "hands/init/dialer.h"

#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/dial.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/apply.h"
#include "hands/init/roles.h"

#define LOG_MS 60000u		/* the same failure is logged so often */

struct dialer {
	const struct ats_addr *addr;
	const struct ats_proxy *via;
	int front;
	unsigned pause_ms;
	uint64_t passed_ms;	/* when the last connection was passed on; 0: none was */
	uint64_t logged_ms;
	char logged[512];	/* the last failure that was logged */
};

/* False: front is gone. */
static bool
rest(const struct dialer *d, unsigned ms)
{
	struct pollfd p = { .fd = d->front, .events = 0 };

	return ms == 0 || poll(&p, 1, (int)ms) <= 0;
}

static unsigned
longer(unsigned ms)
{
	if (ms == 0)
		return DIALER_FIRST_MS;
	return ms * 2 > DIALER_LAST_MS ? DIALER_LAST_MS : ms * 2;
}

static void
log_failure(struct dialer *d, const struct ats_err *err)
{
	uint64_t now = ats_clock_ms();

	if (strcmp(d->logged, err->text) == 0 && now - d->logged_ms < LOG_MS)
		return;
	ats_log(ATS_LOG_WARN, "cannot connect to brain", "addr=%s why=\"%s\"", d->addr->text,
	    err->text);
	(void)snprintf(d->logged, sizeof(d->logged), "%s", err->text);
	d->logged_ms = now;
}

/* Until there is one. False: front is gone. A network that comes and goes takes links from a brain
 * that is there and waits: it is not made to wait as long as one that turns us away. */
static bool
connect_once(struct dialer *d, char order)
{
	const char kind =
	    d->addr->kind == ATS_ADDR_UNIX ? LINK_KIND_LOCAL : LINK_KIND_NETWORK;
	struct ats_err err;
	int fd = -1, rc;

	if (d->passed_ms != 0 && ats_clock_ms() - d->passed_ms >= DIALER_UP_MS)
		d->pause_ms = 0;
	if (order == LINK_DIAL_KNOWN && d->pause_ms > DIALER_KNOWN_MS)
		d->pause_ms = DIALER_KNOWN_MS;
	for (;;) {
		if (!rest(d, d->pause_ms))
			return false;
		d->pause_ms = longer(d->pause_ms);
		err = (struct ats_err){ 0 };
		if (ats_dial_via(d->addr, d->via, DIALER_TIMEOUT_MS, &fd, &err) == 0)
			break;
		log_failure(d, &err);
	}
	rc = ats_fd_send(d->front, &kind, 1, &fd, 1) < 0;
	ats_fd_close(&fd);
	d->passed_ms = ats_clock_ms();
	d->logged[0] = '\0';
	return rc == 0;
}

static void __attribute__((noreturn))
run(const struct ats_addr *a, const struct ats_proxy *via, int front)
{
	struct dialer d = { .addr = a, .via = via, .front = front };
	struct ats_err err = { 0 };
	char order;

	ats_log_init("dialer", ATS_LOG_INFO, STDERR_FILENO);
	(void)prctl(PR_SET_NAME, "ats-dialer", 0, 0, 0);
	(void)setsid();
	if (confine_dialer(ats_proxy_serves(via, a) ? &via->at : a, &err) < 0) {
		ats_log(ATS_LOG_ERROR, "the dialer cannot be confined", "step=\"%s\"", err.text);
		_exit(CONFINE_EXIT);
	}
	while (recv(front, &order, 1, 0) == 1 && connect_once(&d, order))
		;
	_exit(0);
}

/* stdin and stdout may be a link, and the rest is the launcher's. */
static int
keep_only(int *front)
{
	if (ats_fd_raise(front, 3) < 0 || dup2(*front, 3) < 0)
		return -ATS_E_SYS;
	*front = 3;
	(void)close(STDIN_FILENO);
	(void)close(STDOUT_FILENO);
	return close_range(4, ~0u, 0) < 0 ? -ATS_E_SYS : 0;
}

int
dialer_start(const struct ats_addr *a, const struct ats_proxy *via, pid_t *ret_pid,
    int *ret_front, struct ats_err *err)
{
	int pair[2];
	pid_t pid;

	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return ats_err_sys(err, "socketpair");
	pid = fork();
	if (pid == 0) {
		ats_child_reset_signals();
		if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || keep_only(&pair[0]) < 0)
			_exit(CONFINE_EXIT);
		run(a, via, pair[0]);
	}
	ats_fd_close(&pair[0]);
	if (pid < 0) {
		ats_fd_close(&pair[1]);
		return ats_err_sys(err, "fork");
	}
	*ret_pid = pid;
	*ret_front = pair[1];
	return 0;
}
