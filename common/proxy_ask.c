/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking an HTTP proxy for a way to a peer. Runs in the dialers, which hold nothing else. The
 * proxy is one that was configured, and what it answers is still a stranger's: it is bounded in
 * size and time, and nothing of it is repeated. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/http_head.h"
#include "common/proxy.h"
#include "common/secret.h"

/* Two names of a host, the credentials, and what stands around them. */
#define ASK_MAX 1200u

static int
wait_for(int fd, short events, uint64_t until_us, struct ats_err *err)
{
	struct pollfd p = { .fd = fd, .events = events };
	uint64_t now = ats_clock_us();
	int rc;

	do
		rc = now >= until_us ? 0 : poll(&p, 1, (int)((until_us - now + 999) / 1000));
	while (rc < 0 && errno == EINTR && (now = ats_clock_us()) > 0);
	if (rc == 0)
		return ats_err_set(err, ATS_E_TIMEOUT, "no answer in time");
	return rc < 0 ? ats_err_sys(err, "poll") : 0;
}

static int
send_all(int fd, const char *p, size_t n, uint64_t until_us, struct ats_err *err)
{
	while (n > 0) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
		int rc = 0;

		if (sent > 0) {
			p += sent;
			n -= (size_t)sent;
		} else if (errno == EAGAIN) {
			rc = wait_for(fd, POLLOUT, until_us, err);
		} else if (errno != EINTR) {
			rc = ats_err_sys(err, "send");
		}
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Bytes up to the end of the head and not one more. */
static int
recv_head(int fd, char *p, size_t size, uint64_t until_us, size_t *ret_n, struct ats_err *err)
{
	size_t n = 0, end = 0;

	while (end == 0) {
		ssize_t got = recv(fd, p + n, size - n, MSG_PEEK);
		int rc = 0;

		if (got == 0)
			return ats_err_set(err, ATS_E_EOF, "it closed the connection");
		if (got > 0) {
			end = ats_http_head_end(p, n + (size_t)got, n);
			got = recv(fd, p + n, end != 0 ? end - n : (size_t)got, 0);
		}
		if (got > 0)
			n += (size_t)got;
		else if (got < 0 && errno == EAGAIN)
			rc = wait_for(fd, POLLIN, until_us, err);
		else if (got < 0 && errno != EINTR)
			rc = ats_err_sys(err, "receive");
		if (rc == 0 && end == 0 && n == size)
			rc = ats_err_set(err, ATS_E_TOOBIG, "an answer whose head has more than %u "
			    "bytes", ATS_PROXY_HEAD_MAX);
		/* One byte at a time it would still be in time, each by itself. */
		if (rc == 0 && end == 0 && ats_clock_us() >= until_us)
			rc = ats_err_set(err, ATS_E_TIMEOUT, "no answer in time");
		if (rc < 0)
			return rc;
	}
	*ret_n = n;
	return 0;
}

/* A 2xx has no body, whatever its fields say (RFC 9110, 9.3.6). */
static int
judge(const char *head, size_t n, struct ats_err *err)
{
	struct ats_http_head h;
	int rc = ats_http_tunnel_read(head, n, &h, err);

	if (rc < 0)
		return rc;
	if (h.status / 100 == 2)
		return 0;
	if (h.status == 407)
		return ats_err_set(err, ATS_E_PERM, "it wants another user name and password, as "
		    "in http://USER:PASSWORD@HOST:PORT (407)");
	if (h.status == 403)
		return ats_err_set(err, ATS_E_SYS, "it does not let us there (403)");
	return ats_err_set(err, ATS_E_SYS, "it answers %u", h.status);
}

static int
ask(int fd, const struct ats_proxy *p, const struct ats_addr *to, uint64_t until_us,
    struct ats_err *err)
{
	bool six = strchr(to->host, ':') != NULL;
	char text[ASK_MAX], head[ATS_PROXY_HEAD_MAX], place[300];
	size_t got = 0;
	int n, rc;

	(void)snprintf(place, sizeof(place), "%s%s%s:%u", six ? "[" : "", to->host, six ? "]" : "",
	    (unsigned)to->port);
	n = snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", place,
	    place, p->auth[0] != '\0' ? "Proxy-Authorization: Basic " : "", p->auth,
	    p->auth[0] != '\0' ? "\r\n" : "");
	ATS_BUG(n < 0 || (size_t)n >= sizeof(text));
	rc = send_all(fd, text, (size_t)n, until_us, err);
	ats_secret_wipe(text, sizeof(text));
	if (rc == 0)
		rc = recv_head(fd, head, sizeof(head), until_us, &got, err);
	return rc < 0 ? rc : judge(head, got, err);
}

int
ats_proxy_ask(int fd, const struct ats_proxy *p, const struct ats_addr *to, uint64_t until_us,
    struct ats_err *err)
{
	int rc = ask(fd, p, to, until_us, err);

	return rc < 0 ? ats_err_wrap(err, "the proxy %s:%u, asked for %s:%u", p->at.host,
	    (unsigned)p->at.port, to->host, (unsigned)to->port) : 0;
}
