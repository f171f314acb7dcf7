/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports and Unix sockets. Runs in ats-http. */
#include "brain/http/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/http/conn.h"
#include "common/acceptor.h"
#include "common/fd.h"

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

static void
admit(void *ctx, int fd)
{
	struct listener *l = ctx;

	conn_new(l->h, fd, l->at->kind == ATS_ADDR_UNIX);
}

int
listen_start(struct http *h, struct ats_err *err)
{
	for (unsigned i = 0; i < h->nlisteners; i++) {
		struct listener *l = &h->listeners[i];

		l->acceptor = ats_acceptor_new(h->base, l->fd, admit, l);
		if (l->acceptor == NULL || ats_acceptor_start(l->acceptor) < 0)
			return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	}
	return 0;
}

void
listen_close(struct http *h)
{
	for (unsigned i = 0; i < h->nlisteners; i++) {
		struct listener *l = &h->listeners[i];

		ats_acceptor_free(l->acceptor);
		ats_fd_close(&l->fd);
		if (l->at->kind == ATS_ADDR_UNIX)
			(void)unlink(l->at->path);
	}
}
