/* SPDX-License-Identifier: Apache-2.0
 *
 * Where connections come from: a listening socket of ours, or the launcher, which accepts, or
 * connects, outside of the box. Runs in hands' front. */
#include "hands/front/link_private.h"

#include "common/fd.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/init/roles.h"

#include <errno.h>
#include <event2/event.h>
#include <sys/socket.h>

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	(void)event_add(l->accept_ev, NULL);
}

/* Out of descriptors: the backlog waits. The base ends with us, so l is there. */
static void
pause_accept(struct link *l)
{
	static const struct timeval pause = { 0, 100000 };

	if (event_base_once(l->f->base, -1, EV_TIMEOUT, on_resume, l, &pause) == 0)
		(void)event_del(l->accept_ev);
}

int
link_take(struct link *l, int fd, bool network, struct ats_err *err)
{
	const struct front_options *o = &l->f->opt;
	const struct ats_wire_plan plain = { .kind = ATS_ADDR_UNIX }, named = {
		.kind = o->addr.kind,
		.server = !o->connects,
		.host = o->addr.host,
		.path = o->addr.path,
		.tls = l->f->tls,
	};
	struct ats_wire *w;
	int rc = ats_wire_new(fd, network ? &named : &plain, &w, err);

	if (rc == 0 && peer_new(l, w, network) < 0)
		rc = ats_err_set(err, ATS_E_NOMEM, "out of memory");
	return rc;
}

void
link_want(struct link *l)
{
	const char order = l->known ? LINK_DIAL_KNOWN : LINK_DIAL;

	if (!l->f->opt.connects || l->asked || l->at != NULL || l->waiting != NULL)
		return;
	l->asked = ats_fd_send(l->listen_fd, &order, 1, NULL, 0) == 1;
	l->known = false;
}

/* As accept4. Launcher and dialer are trusted; their end is ours. */
static int
take_passed(struct link *l, int fd, char *ret_kind)
{
	int conn = -1;
	size_t n = 0;
	ssize_t got = ats_fd_recv(fd, ret_kind, sizeof(*ret_kind), &conn, 1, &n);

	errno = EAGAIN;
	l->asked = false;
	if (got == 0) {
		(void)event_del(l->accept_ev);
		front_stop(l->f, "the other end of --listen or --connect is gone");
	}
	return n == 1 ? conn : -1;
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	struct ats_err err = { 0 };
	char kind = LINK_KIND_LOCAL;
	int conn = l->passed ? take_passed(l, fd, &kind) :
	    accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (conn < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			pause_accept(l);
		return;
	}
	if (link_take(l, conn, kind != LINK_KIND_LOCAL, &err) < 0)
		ats_log(ATS_LOG_ERROR, "a connection could not be taken", "why=\"%s\"", err.text);
}

int
link_listen(struct link *l, int listen_fd)
{
	socklen_t size = sizeof(int);
	int listens = 0;

	l->listen_fd = listen_fd;
	if (listen_fd < 0)
		return 0;
	l->passed = getsockopt(listen_fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
	    listens == 0;
	if (ats_fd_nonblock(listen_fd, true) == 0)
		l->accept_ev =
		    event_new(l->f->base, listen_fd, EV_READ | EV_PERSIST, on_accept, l);
	return l->accept_ev == NULL || event_add(l->accept_ev, NULL) < 0 ? -ATS_E_NOMEM : 0;
}
