/* SPDX-License-Identifier: Apache-2.0
 *
 * Connecting and listening by an address. Runs in processes of their own, which hold nothing
 * else: a dialer of the host's spawner, and ats-hands' on the other side. Addresses are ours;
 * what a name server says is anybody's, and libevent reads it. */
#include "common/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"

#define BACKLOG 16
#define ADDRESSES_MAX 16u	/* of one name that are tried */
#define KEEP_IDLE_S 15
#define KEEP_EVERY_S 5
#define KEEP_TRIES 3
#define USER_TIMEOUT_MS 30000u

struct place {
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} at;
	socklen_t len;
};
struct places {
	struct place p[ADDRESSES_MAX];
	size_t n;
};

void
ats_dial_tune(int fd)
{
	static const struct {
		int level, name, value;
	} rows[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EVERY_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEP_TRIES },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS },
	};
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		return;			/* not TCP */
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		(void)setsockopt(
		    fd, rows[i].level, rows[i].name, &rows[i].value, sizeof(rows[i].value));
}

/* ---- addresses ------------------------------------------------------------------------ */

static void
add_place(struct places *l, const struct sockaddr *at, unsigned port)
{
	struct place *p = &l->p[l->n];

	if (l->n == ADDRESSES_MAX)
		return;
	if (at->sa_family == AF_INET) {
		memcpy(&p->at.four, at, sizeof(p->at.four));
		p->at.four.sin_port = htons((uint16_t)port);
		p->len = sizeof(p->at.four);
	} else if (at->sa_family == AF_INET6) {
		memcpy(&p->at.six, at, sizeof(p->at.six));
		p->at.six.sin6_port = htons((uint16_t)port);
		p->len = sizeof(p->at.six);
	} else {
		return;
	}
	l->n++;
}

static bool
add_literal(struct places *l, const char *host, unsigned port)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, host, &four.sin_addr) == 1)
		add_place(l, (const struct sockaddr *)&four, port);
	else if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1)
		add_place(l, (const struct sockaddr *)&six, port);
	else
		return false;
	return true;
}

/* Literals, and localhost, which no name server is asked for (RFC 6761, 6.3). */
static bool
places_here(const struct ats_addr *a, struct places *l)
{
	if (strcasecmp(a->host, "localhost") != 0)
		return add_literal(l, a->host, a->port);
	(void)add_literal(l, "127.0.0.1", a->port);
	(void)add_literal(l, "::1", a->port);
	return true;
}

struct lookup {
	struct event_base *base;
	struct places *places;
	unsigned port;
	int result;			/* EVUTIL_EAI_* or 0 */
	bool done;
};

static void
on_looked_up(int result, struct evutil_addrinfo *list, void *arg)
{
	struct lookup *k = arg;

	k->done = true;
	k->result = result;
	for (struct evutil_addrinfo *i = list; i != NULL; i = i->ai_next)
		add_place(k->places, i->ai_addr, k->port);
	if (list != NULL)
		evutil_freeaddrinfo(list);
	(void)event_base_loopbreak(k->base);
}

/* Both families at once; what comes first stands first. */
static void
ask(struct lookup *k, struct evdns_base *dns, const char *host, unsigned timeout_ms)
{
	struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
		.ai_protocol = IPPROTO_TCP };
	struct timeval limit = { timeout_ms / 1000, (suseconds_t)(timeout_ms % 1000) * 1000 };
	struct evdns_getaddrinfo_request *request;

	(void)event_base_loopexit(k->base, &limit);
	request = evdns_getaddrinfo(dns, host, NULL, &hints, on_looked_up, k);
	if (!k->done)
		(void)event_base_dispatch(k->base);
	if (!k->done && request != NULL) {
		evdns_getaddrinfo_cancel(request);
		(void)event_base_loop(k->base, EVLOOP_NONBLOCK);
	}
}

static int
look_up(const struct ats_addr *a, unsigned timeout_ms, struct places *ret, struct ats_err *err)
{
	struct lookup k = { .base = event_base_new(), .places = ret, .port = a->port,
		.result = EVUTIL_EAI_AGAIN };
	/* evdns reads resolv.conf and hosts; without a name server hosts is still of use. */
	struct evdns_base *dns = k.base != NULL ?
	    evdns_base_new(k.base, EVDNS_BASE_INITIALIZE_NAMESERVERS) : NULL;

	if (dns == NULL && k.base != NULL) {
		dns = evdns_base_new(k.base, 0);
		if (dns != NULL)
			(void)evdns_base_load_hosts(dns, "/etc/hosts");
	}
	if (dns != NULL)
		ask(&k, dns, a->host, timeout_ms);
	if (dns != NULL)
		evdns_base_free(dns, 0);
	if (k.base != NULL)
		event_base_free(k.base);
	if (ret->n > 0)
		return 0;
	if (dns == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	if (!k.done || k.result == EVUTIL_EAI_CANCEL)
		return ats_err_set(err, ATS_E_TIMEOUT, "%s: the name could not be looked up in "
		    "time", a->host);
	if (k.result == EVUTIL_EAI_NONAME || k.result == EVUTIL_EAI_NODATA)
		return ats_err_set(err, ATS_E_NOENT, "%s: no such name", a->host);
	return ats_err_set(err, ATS_E_SYS, "%s: the name could not be looked up: %s", a->host,
	    evutil_gai_strerror(k.result));
}

/* ---- connecting ------------------------------------------------------------------------ */

static unsigned
left_ms(uint64_t until_us)
{
	uint64_t now = ats_clock_us();

	return now >= until_us ? 0 : (unsigned)((until_us - now + 999) / 1000);
}

/* Until the connection stands or did not come about; errno says why. */
static bool
wait_connected(int fd, uint64_t until_us)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int rc, why = 0;
	socklen_t len = sizeof(why);

	do
		rc = poll(&p, 1, (int)left_ms(until_us));
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		errno = ETIMEDOUT;
	if (rc <= 0)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0)
		return false;
	errno = why;
	return why == 0;
}

static int
connect_one(const struct place *p, uint64_t until_us)
{
	int fd = socket(p->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, &p->at.any, p->len) == 0 ||
	    ((errno == EINPROGRESS || errno == EINTR) && wait_connected(fd, until_us)))
		return fd;
	ats_fd_close(&fd);
	return -1;
}

/* One address that does not answer leaves the others their part of the time. */
static int
connect_any(const struct ats_addr *a, const struct places *l, uint64_t until_us, int *ret_fd,
    struct ats_err *err)
{
	int fd = -1;

	for (size_t i = 0; i < l->n && fd < 0; i++) {
		uint64_t now = ats_clock_us(), rest = until_us > now ? until_us - now : 0;

		fd = connect_one(&l->p[i], now + rest / (l->n - i));
	}
	if (fd < 0 && errno == ETIMEDOUT)
		return ats_err_set(err, ATS_E_TIMEOUT, "%s port %u: no connection in time",
		    a->host, a->port);
	if (fd < 0)
		return ats_err_set(err, ATS_E_SYS, "%s port %u: %s", a->host, a->port,
		    strerror(errno));
	ats_dial_tune(fd);
	*ret_fd = fd;
	return 0;
}

static int
dial_until(const struct ats_addr *a, uint64_t until_us, int *ret_fd, struct ats_err *err)
{
	struct places l = { .n = 0 };
	int rc;

	if (a->kind == ATS_ADDR_UNIX)	/* never waits: a full backlog is an error */
		return ats_fd_unix_connect(a->path, SOCK_STREAM | SOCK_NONBLOCK, ret_fd, err);
	if (a->port == 0)
		return ats_err_set(err, ATS_E_INVAL, "port 0 is for listening only");
	if (!places_here(a, &l)) {
		rc = look_up(a, left_ms(until_us), &l, err);
		if (rc < 0)
			return rc;
	}
	return connect_any(a, &l, until_us, ret_fd, err);
}

int
ats_dial(const struct ats_addr *a, unsigned timeout_ms, int *ret_fd, struct ats_err *err)
{
	return ats_dial_via(a, NULL, timeout_ms, ret_fd, err);
}

int
ats_dial_via(const struct ats_addr *a, const struct ats_proxy *via, unsigned timeout_ms,
    int *ret_fd, struct ats_err *err)
{
	uint64_t until_us = ats_clock_us() + (uint64_t)timeout_ms * 1000;
	int fd ATS_CLEANUP_FD = -1, rc;

	if (!ats_proxy_serves(via, a))
		return dial_until(a, until_us, ret_fd, err);
	rc = dial_until(&via->at, until_us, &fd, err);
	if (rc < 0)
		return ats_err_wrap(err, "the proxy");
	rc = ats_proxy_ask(fd, via, a, until_us, err);
	if (rc == 0)
		*ret_fd = ats_steal_fd(&fd);
	return rc;
}

/* ---- listening ------------------------------------------------------------------------- */

static int
listen_at(const struct place *p, int *ret_fd, unsigned *ret_port)
{
	int fd ATS_CLEANUP_FD = -1, one = 1;
	struct place bound = { .len = sizeof(bound.at) };

	fd = socket(p->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, &p->at.any, p->len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &bound.at.any, &bound.len) < 0)
		return -ATS_E_SYS;
	/* Accepted sockets have it as well. */
	ats_dial_tune(fd);
	*ret_port = ntohs(p->at.any.sa_family == AF_INET ? bound.at.four.sin_port :
	    bound.at.six.sin6_port);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

int
ats_dial_listen(const struct ats_addr *a, int *ret_fd, unsigned *ret_port, struct ats_err *err)
{
	struct places l = { .n = 0 };

	if (a->kind == ATS_ADDR_UNIX) {
		*ret_port = 0;
		return ats_fd_unix_listen(a->path, SOCK_STREAM, 0600, ret_fd, err);
	}
	if (!places_here(a, &l))
		return ats_err_set(err, ATS_E_INVAL,
		    "listening needs an IP address or localhost, as in tcp://127.0.0.1:7000");
	for (size_t i = 0; i < l.n; i++)
		if (listen_at(&l.p[i], ret_fd, ret_port) == 0)
			return 0;
	return ats_err_sys(err, "%s port %u", a->host, a->port);
}
