/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs and orders in, replies out. Runs in zygotes, workers and monitors; the peer is front,
 * which reads a sandbox's peer: it is believed no more than its sizes allow. */
#include "hands/worker/job.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/fd.h"

static int
room_for(struct job *j, size_t need, char *small, size_t small_size)
{
	j->big = NULL;
	j->json = small;
	if (need <= small_size)
		return 0;
	j->big = ats_malloc(need);
	if (j->big == NULL)
		return -ATS_E_NOMEM;
	j->json = j->big;
	return 0;
}

union one_fd {			/* aligned as a control message must be */
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* The descriptor that came with a message, -1 for none. More than one: the space for one has,
 * by its alignment, room for two. */
static int
take_fd(struct msghdr *m, int *ret)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fds[sizeof(union one_fd) / sizeof(int)];
	size_t n;

	*ret = -1;
	if (c == NULL)
		return 0;
	if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -ATS_E_PROTO;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	if (n == 1 && (m->msg_flags & MSG_CTRUNC) == 0) {
		*ret = fds[0];
		return 0;
	}
	while (n > 0)
		(void)close(fds[--n]);
	return -ATS_E_PROTO;
}

/* One recv takes head and body of an ordinary job, and returns how much of the body. */
static ssize_t
read_head(int sock, char *small, size_t small_size, struct job *j)
{
	union one_fd control;
	struct iovec iov[2] = { { &j->head, sizeof j->head }, { small, small_size } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2, .msg_control = control.bytes,
		.msg_controllen = sizeof control };
	ssize_t n;
	int rc;

	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n == 0 ? -ATS_E_EOF : -ATS_E_SYS;
	rc = take_fd(&m, &j->fd);
	if (rc == 0 && (size_t)n < sizeof j->head) {
		rc = ats_fd_read_all(
		    sock, (char *)&j->head + n, sizeof j->head - (size_t)n);
		n = (ssize_t)sizeof j->head;
	}
	return rc < 0 ? rc : n - (ssize_t)sizeof j->head;
}

static int
read_body(int sock, char *small, size_t small_size, size_t have, struct job *j)
{
	size_t need;
	int rc;

	if (j->head.json_len > JOB_JSON_MAX || j->head.extra_len > JOB_EXTRA_MAX)
		return -ATS_E_TOOBIG;
	need = (size_t)j->head.json_len + j->head.extra_len;
	if (have > need)
		return -ATS_E_PROTO;
	rc = room_for(j, need + 2, small, small_size);
	if (rc < 0)
		return rc;
	if (j->big != NULL)
		memcpy(j->big, small, have);
	rc = ats_fd_read_all(sock, j->json + have, need - have);
	if (rc < 0)
		return rc;
	/* A NUL after each part. */
	j->extra = j->json + j->head.json_len + 1;
	memmove(j->extra, j->extra - 1, j->head.extra_len);
	j->json[j->head.json_len] = '\0';
	j->extra[j->head.extra_len] = '\0';
	return 1;
}

int
job_read(int sock, char *small, size_t small_size, struct job *ret)
{
	struct job j = { .fd = -1 };
	ssize_t have = read_head(sock, small, small_size, &j);
	int rc = have < 0 ? (int)have : read_body(sock, small, small_size, (size_t)have, &j);

	if (rc == 1) {
		*ret = j;
		return 1;
	}
	ats_fd_close(&j.fd);
	free(j.big);
	return rc;
}

static const char *
next_string(const char **p, const char *end)
{
	const char *s = *p, *nul = memchr(s, '\0', (size_t)(end - s));

	if (nul != NULL)
		*p = nul + 1;
	return nul != NULL ? s : NULL;
}

int
job_strings(const struct job *j, const char **ret_cwd, const char **ret, size_t max,
    size_t *ret_n)
{
	const char *p = j->json, *end = p + j->head.json_len, *cwd = next_string(&p, end), *s;
	size_t n = 0;

	if (cwd == NULL)
		return -ATS_E_PROTO;
	while ((s = next_string(&p, end)) != NULL && *s != '\0')
		if (n < max)
			ret[n++] = s;
	if (s == NULL)
		return -ATS_E_PROTO;
	*ret_cwd = cwd;
	*ret_n = n;
	return 0;
}

size_t
job_argv(const struct job *j, const char **argv, size_t max)
{
	const char *p = j->extra, *end = p + j->head.extra_len;
	size_t n = 0;

	while (p < end && n < max - 1) {
		argv[n++] = p;
		p += strlen(p) + 1;
	}
	argv[n] = NULL;
	return n;
}

int
order_zygote(int sock, struct zygote_msg *ret)
{
	size_t nfds = 0;
	ssize_t n = ats_fd_recv(sock, ret, sizeof *ret, NULL, 0, &nfds);

	if (n == -ATS_E_AGAIN)
		return 0;
	if (n <= 0)
		return -ATS_E_EOF;
	return (size_t)n == sizeof *ret && (ret->what == ZYGOTE_WANT || ret->what == ZYGOTE_KILL);
}

int
order_monitor(int sock, struct monitor_msg *ret)
{
	ssize_t n = ats_fd_read(sock, ret, sizeof *ret);

	if (n <= 0 || ats_fd_read_all(sock, (char *)ret + n, sizeof *ret - (size_t)n) < 0)
		return -ATS_E_EOF;
	return 1;
}

int
job_reply(int sock, uint32_t what, const void *json, size_t json_len, const void *payload,
    size_t payload_len)
{
	return job_reply_fd(sock, what, json, json_len, payload, payload_len, -1);
}

int
job_reply_fd(int sock, uint32_t what, const void *json, size_t json_len,
    const void *payload, size_t payload_len, int fd)
{
	union one_fd control = { .align = { .cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct reply_head h = { .what = what, .json_len = (uint32_t)json_len,
		.payload_len = (uint32_t)payload_len };
	struct iovec iov[3] = {
		{ &h, sizeof h },
		/* sendmsg does not write through them. */
		{ (void *)(uintptr_t)json, json_len },
		{ (void *)(uintptr_t)payload, payload_len },
	};
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 3 };
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.align), &fd, sizeof fd);
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof control;
	}
	while (m.msg_iovlen > 0) {
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -ATS_E_EOF;
		m.msg_control = NULL;
		m.msg_controllen = 0;
		while (m.msg_iovlen > 0 && (size_t)n >= m.msg_iov->iov_len) {
			n -= (ssize_t)m.msg_iov->iov_len;
			m.msg_iov++;
			m.msg_iovlen--;
		}
		if (m.msg_iovlen > 0) {
			m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + n;
			m.msg_iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

void
job_wait_release(int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	char rest[64];

	/* poll, because a blocked read is woken whenever front has taken bytes as well. */
	do
		(void)poll(&p, 1, -1);
	while (ats_fd_read(sock, rest, sizeof rest) > 0);
}
