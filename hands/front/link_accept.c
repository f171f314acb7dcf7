/* SPDX-License-Identifier: Apache-2.0
 *
 * Where connections come from: a listening socket of ours, or the launcher, which accepts, or
 * connects, outside of the box. Runs in hands' front. */
#include "hands/front/link_private.h"

#include "common/acceptor.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/init/roles.h"

#include <event2/event.h>
#include <sys/socket.h>

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

/* The link's from here on. */
static void
take(struct link *l, int fd, bool network)
{
	struct ats_err err = { 0 };

	if (link_take(l, fd, network, &err) < 0)
		ats_log(ATS_LOG_ERROR, "a connection could not be taken", "why=\"%s\"", err.text);
}

static void
on_accepted(void *ctx, int fd)
{
	take(ctx, fd, false);
}

/* Launcher and dialer are trusted; their end is ours. */
static void
on_passed(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	char kind = LINK_KIND_LOCAL;
	int conn = -1;
	size_t n = 0;
	ssize_t got = ats_fd_recv(fd, &kind, sizeof(kind), &conn, 1, &n);

	(void)what;
	l->asked = false;
	if (got == 0) {
		(void)event_del(l->passed);
		front_stop(l->f, "the other end of --listen or --connect is gone");
	}
	if (n == 1)
		take(l, conn, kind != LINK_KIND_LOCAL);
}

int
link_listen(struct link *l, int listen_fd)
{
	socklen_t size = sizeof(int);
	int listens = 0;

	l->listen_fd = listen_fd;
	if (listen_fd < 0)
		return 0;
	if (getsockopt(listen_fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || listens != 0) {
		l->acceptor = ats_acceptor_new(l->f->base, listen_fd, on_accepted, l);
		return l->acceptor == NULL ? -ATS_E_NOMEM : ats_acceptor_start(l->acceptor);
	}
	if (ats_fd_nonblock(listen_fd, true) == 0)
		l->passed = event_new(l->f->base, listen_fd, EV_READ | EV_PERSIST, on_passed, l);
	return l->passed == NULL || event_add(l->passed, NULL) < 0 ? -ATS_E_NOMEM : 0;
}
