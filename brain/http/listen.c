/* SPDX-License-Identifier: Apache-2.0
 *
 * The port, or the Unix socket. Runs in ats-http. */
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
open_port(struct http *h, struct ats_err *err)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
		.sin6_port = htons(h->opt->port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(h->opt->port) };
	bool is_six = inet_pton(AF_INET6, h->opt->host, &six.sin6_addr) == 1;
	int fd ATS_CLEANUP_FD = -1, on = 1, rc;

	if (!is_six && inet_pton(AF_INET, h->opt->host, &four.sin_addr) != 1)
		return ats_err_set(err, ATS_E_INVAL, "--listen: %s is no address", h->opt->host);
	fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return ats_err_sys(err, "--listen: socket");
	/* Accepted ones inherit it. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	rc = is_six ? bind(fd, (const struct sockaddr *)&six, sizeof(six)) :
	    bind(fd, (const struct sockaddr *)&four, sizeof(four));
	if (rc < 0 || listen(fd, SOMAXCONN) < 0)
		return ats_err_sys(err, "--listen: %s port %u", h->opt->host, h->opt->port);
	h->listener = ats_steal_fd(&fd);
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

int
listen_open(struct http *h, char *ret_where, size_t size, struct ats_err *err)
{
	int rc;

	if (h->opt->path != NULL) {
		(void)snprintf(ret_where, size, "unix:%s", h->opt->path);
		return ats_fd_unix_listen(h->opt->path, SOCK_STREAM, 0600, &h->listener, err);
	}
	rc = open_port(h, err);
	if (rc == 0)
		(void)snprintf(ret_where, size, strchr(h->opt->host, ':') != NULL ?
		    "http://[%s]:%u/mcp" : "http://%s:%u/mcp", h->opt->host, port_of(h->listener));
	return rc;
}

static void
on_acceptable(evutil_socket_t lfd, short what, void *arg)
{
	struct timeval pause = { 0, PAUSE_US };
	struct http *h = arg;

	(void)what;
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			conn_new(h, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN) {	/* out of descriptors: the backlog waits */
			ats_log(ATS_LOG_ERROR, "cannot accept", "errno=%d", errno);
			(void)event_del(h->acceptable);
			(void)event_add(h->resume, &pause);
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
	(void)event_add(h->acceptable, NULL);
}

int
listen_start(struct http *h, struct ats_err *err)
{
	h->acceptable = event_new(h->base, h->listener, EV_READ | EV_PERSIST, on_acceptable, h);
	h->resume = event_new(h->base, -1, 0, on_resume, h);
	if (h->acceptable == NULL || h->resume == NULL || event_add(h->acceptable, NULL) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	return 0;
}

void
listen_close(struct http *h)
{
	if (h->acceptable != NULL)
		event_free(h->acceptable);
	if (h->resume != NULL)
		event_free(h->resume);
	ats_fd_close(&h->listener);
	if (h->opt->path != NULL)
		(void)unlink(h->opt->path);
}
