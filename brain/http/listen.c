/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports and Unix sockets. Runs in ats-http. */
#include "brain/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/http/conn.h"
#include "common/fd.h"
#include "common/log.h"

#define ACCEPTS_A_TURN 16
#define PAUSE_US 100000

static int
open_port(struct listener *l, struct ats_err *err)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(l->at->port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(l->at->port) };
	bool is_six = inet_pton(AF_INET6, l->at->host, &six.sin6_addr) == 1;
	int fd ATS_CLEANUP_FD = -1, on = 1, rc;

	if (!is_six && inet_pton(AF_INET, l->at->host, &four.sin_addr) != 1)
		return ats_err_set(err, ATS_E_INVAL, "--listen: %s is no address", l->at->host);
	fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return ats_err_sys(err, "--listen: socket");
	/* Accepted ones inherit it. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	rc = is_six ? bind(fd, (const struct sockaddr *)&six, sizeof(six)) :
	    bind(fd, (const struct sockaddr *)&four, sizeof(four));
	if (rc < 0 || listen(fd, SOMAXCONN) < 0)
		return ats_err_sys(err, "--listen: %s port %u", l->at->host, l->at->port);
	l->fd = ats_steal_fd(&fd);
	return 0;
}

static unsigned
port_of(int fd)
{
	union {
		struct sockaddr_in6 six;
		struct sockaddr_in four;
		struct sockaddr any;
	} sa = { .any = { 0 } };
	socklen_t n = sizeof(sa);

	if (getsockname(fd, &sa.any, &n) < 0)
		return 0;
	return ntohs(sa.any.sa_family == AF_INET6 ? sa.six.sin6_port : sa.four.sin_port);
}

static int
open_one(struct listener *l, struct ats_buf *where, struct ats_err *err)
{
	int rc;

	if (where->len > 0 && ats_buf_add_char(where, ' ') < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	if (l->at->kind == ATS_ADDR_UNIX) {
		rc = ats_fd_unix_listen(l->at->path, SOCK_STREAM, 0600, &l->fd, err);
		return rc < 0 ? rc : ats_buf_addf(where, "unix:%s", l->at->path);
	}
	rc = open_port(l, err);
	return rc < 0 ? rc : ats_buf_addf(where, strchr(l->at->host, ':') != NULL ?
	    "http://[%s]:%u/mcp" : "http://%s:%u/mcp", l->at->host, port_of(l->fd));
}

int
listen_open(struct http *h, struct ats_buf *where, struct ats_err *err)
{
	for (unsigned i = 0; i < h->opt->nlisten; i++) {
		struct listener *l = &h->listeners[h->nlisteners++];
		int rc;

		*l = (struct listener){ .h = h, .fd = -1, .at = &h->opt->listen[i] };
		rc = open_one(l, where, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Out of descriptors: the backlogs wait. */
static void
pause_all(struct http *h)
{
	struct timeval pause = { 0, PAUSE_US };

	for (unsigned i = 0; i < h->nlisteners; i++)
		(void)event_del(h->listeners[i].acceptable);
	(void)event_add(h->resume, &pause);
}

static void
on_acceptable(evutil_socket_t lfd, short what, void *arg)
{
	struct listener *l = arg;

	(void)what;
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			conn_new(l->h, fd, l->at->kind == ATS_ADDR_UNIX);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN) {
			ats_log(ATS_LOG_ERROR, "cannot accept", "errno=%d", errno);
			pause_all(l->h);
		}
		return;
	}
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < h->nlisteners; i++)
		(void)event_add(h->listeners[i].acceptable, NULL);
}

int
listen_start(struct http *h, struct ats_err *err)
{
	h->resume = event_new(h->base, -1, 0, on_resume, h);
	if (h->resume == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	for (unsigned i = 0; i < h->nlisteners; i++) {
		struct listener *l = &h->listeners[i];

		l->acceptable = event_new(h->base, l->fd, EV_READ | EV_PERSIST, on_acceptable, l);
		if (l->acceptable == NULL || event_add(l->acceptable, NULL) < 0)
			return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	}
	return 0;
}

void
listen_close(struct http *h)
{
	for (unsigned i = 0; i < h->nlisteners; i++) {
		struct listener *l = &h->listeners[i];

		if (l->acceptable != NULL)
			event_free(l->acceptable);
		ats_fd_close(&l->fd);
		if (l->at->kind == ATS_ADDR_UNIX)
			(void)unlink(l->at->path);
	}
	if (h->resume != NULL)
		event_free(h->resume);
}
