/* SPDX-License-Identifier: Apache-2.0
 *
 * The listening socket of --listen. Runs in the launcher; who connects is anybody whom the
 * socket's mode, or the network, lets, and gets no further than a look at the uid. */
#include "hands/init/accept.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/dial.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/init/goodbye.h"
#include "hands/init/roles.h"

#define PAUSE_MS 100	/* out of descriptors: the backlog waits */
#define LOG_MS 1000	/* refusals are logged so often; the line counts them */

static int
listen_at(struct acceptor *a, const struct ats_addr *addr, struct ats_err *err)
{
	unsigned port;
	int rc;

	a->kind = addr->kind == ATS_ADDR_UNIX ? LINK_KIND_LOCAL : LINK_KIND_NETWORK;
	if (addr->kind == ATS_ADDR_UNIX)
		return ats_fd_unix_listen(
		    addr->path, SOCK_STREAM, a->nuids > 0 ? 0666 : 0600, &a->listen, err);
	rc = ats_dial_listen(addr, &a->listen, &port, err);
	if (rc == 0)
		ats_log(ATS_LOG_INFO, "listening", "addr=%s port=%u", addr->text, port);
	return rc;
}

int
accept_start(struct acceptor *a, const struct ats_addr *addr, const uid_t *uids,
    size_t nuids, int *ret_front, struct ats_err *err)
{
	int pair[2], rc;

	a->uids = uids;
	a->nuids = nuids;
	rc = listen_at(a, addr, err);
	if (rc < 0)
		return rc;
	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return ats_err_sys(err, "socketpair");
	a->to = pair[0];
	*ret_front = pair[1];
	return ats_fd_nonblock(a->to, true) < 0 ? ats_err_sys(err, "socketpair") : 0;
}

int
accept_poll(const struct acceptor *a, struct pollfd *p)
{
	uint64_t now = a->again_ms == 0 ? 0 : ats_clock_ms();
	bool waits = a->again_ms > now;

	*p = (struct pollfd){ .fd = waits ? -1 : a->listen, .events = POLLIN };
	return waits ? (int)(a->again_ms - now) : -1;
}

static bool
may_attach(const struct acceptor *a, uid_t uid)
{
	if (uid == 0 || uid == geteuid())
		return true;
	for (size_t i = 0; i < a->nuids; i++)
		if (a->uids[i] == uid)
			return true;
	return false;
}

static void
refuse(struct acceptor *a, int conn, uid_t uid)
{
	uint64_t now = ats_clock_ms();
	struct ats_err why = { 0 };

	(void)ats_err_set(&why, ATS_E_PERM, "uid %u may not attach; ats-hands --allow-uid %u "
	    "lets it", (unsigned)uid, (unsigned)uid);
	goodbye_say(conn, &why);
	a->refused++;
	if (a->logged_ms != 0 && now - a->logged_ms < LOG_MS)
		return;
	ats_log(ATS_LOG_WARN, "a peer was refused", "uid=%u refused=%llu", (unsigned)uid,
	    (unsigned long long)a->refused);
	a->logged_ms = now;
	a->refused = 0;
}

/* Whoever connects without end costs no more than this, and the backlog. */
static void
count(struct acceptor *a)
{
	uint64_t now = ats_clock_ms();

	if (now - a->second_ms >= 1000) {
		a->second_ms = now;
		a->passed = 0;
	}
	if (++a->passed >= ACCEPT_A_SECOND)
		a->again_ms = a->second_ms + 1000;
}

/* From the network nobody is known yet. */
static bool
is_welcome(struct acceptor *a, int conn)
{
	uid_t uid;

	if (a->kind == LINK_KIND_NETWORK) {
		ats_dial_tune(conn);
		count(a);
		return true;
	}
	if (ats_fd_peer(conn, &uid, NULL, NULL) < 0)
		return false;
	if (!may_attach(a, uid))
		refuse(a, conn, uid);
	return may_attach(a, uid);
}

void
accept_turn(struct acceptor *a, const struct pollfd *p)
{
	int conn ATS_CLEANUP_FD = -1;

	if (p->revents == 0)
		return;
	a->again_ms = 0;
	conn = accept4(a->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (conn < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			a->again_ms = ats_clock_ms() + PAUSE_MS;
		return;
	}
	if (is_welcome(a, conn) && ats_fd_send(a->to, &a->kind, 1, &conn, 1) < 0)
		ats_log(ATS_LOG_WARN, "front does not take a connection", NULL);
}

void
accept_end(struct acceptor *a)
{
	ats_fd_close(&a->listen);
	ats_fd_close(&a->to);
}
