/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors. Every process runs this; the bytes that pass are the peer's, the paths and
 * numbers are our own. */
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fault.h"

void
ats_fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

int
ats_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

ssize_t
ats_fd_read(int fd, void *p, size_t n)
{
	ssize_t got;

	do
		got = ats_fault_eintr() ? -1 : read(fd, p, ats_fault_read(n));
	while (got < 0 && errno == EINTR);
	return got;
}

ssize_t
ats_fd_write(int fd, const void *p, size_t n)
{
	ssize_t put;

	do
		put = ats_fault_eintr() ? -1 : write(fd, p, ats_fault_write(n));
	while (put < 0 && errno == EINTR);
	return put;
}

int
ats_fd_read_all(int fd, void *p, size_t n)
{
	char *at = p;

	while (n > 0) {
		ssize_t got = ats_fd_read(fd, at, n);

		if (got == 0)
			return -ATS_E_EOF;
		if (got < 0)
			return -ATS_E_SYS;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

int
ats_fd_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n > 0) {
		ssize_t put = ats_fd_write(fd, at, n);

		if (put < 0 && (errno == ENOSPC || errno == EDQUOT))
			return -ATS_E_NOSPC;
		if (put < 0)
			return errno == EPIPE ? -ATS_E_EOF : -ATS_E_SYS;
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

/* Reads fd to its end, growing towards max_bytes. One byte more than the cap is asked for,
 * so that a file that is too big is seen. */
static int
slurp_fd(int fd, size_t max_bytes, char **ret_text, size_t *ret_len)
{
	size_t cap = 4096, len = 0;
	char *text = ats_malloc(cap + 1), *bigger;
	ssize_t got = 1;

	while (text != NULL && (got = ats_fd_read(fd, text + len, cap - len)) > 0) {
		len += (size_t)got;
		if (len > max_bytes) {
			free(text);
			return -ATS_E_TOOBIG;
		}
		if (len < cap)
			continue;
		bigger = ats_realloc(text, cap * 2 + 1);
		if (bigger == NULL)
			free(text);
		text = bigger;
		cap *= 2;
	}
	if (text == NULL)
		return -ATS_E_NOMEM;
	if (got < 0) {
		int saved = errno;

		free(text);
		errno = saved;
		return -ATS_E_SYS;
	}
	text[len] = '\0';
	*ret_text = text;
	*ret_len = len;
	return 0;
}

int
ats_fd_slurp(int dirfd, const char *path, size_t max_bytes, char **ret_text, size_t *ret_len,
    struct ats_err *err)
{
	int rc, fd ATS_CLEANUP_FD = -1;
	struct stat st;

	/* O_NONBLOCK: a FIFO in the place of a file must not hang its reader. */
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return ats_err_sys(err, "%s", path);
	if (fstat(fd, &st) < 0)
		return ats_err_sys(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return ats_err_set(err, ATS_E_NOTFILE, "%s: not a regular file", path);
	rc = slurp_fd(fd, max_bytes, ret_text, ret_len);
	if (rc == -ATS_E_TOOBIG)
		return ats_err_set(err, ATS_E_TOOBIG, "%s: over %zu bytes", path, max_bytes);
	if (rc == -ATS_E_SYS)
		return ats_err_sys(err, "%s", path);
	if (rc < 0)
		return ats_err_set(err, -rc, "%s: out of memory", path);
	return 0;
}

int
ats_fd_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -ATS_E_SYS;
	if (((flags & O_NONBLOCK) != 0) == on)
		return 0;
	return fcntl(fd, F_SETFL, flags ^ O_NONBLOCK) < 0 ? -ATS_E_SYS : 0;
}

int
ats_fd_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -ATS_E_SYS : 0;
}

void
ats_fd_widen(int fd)
{
	/* The system doubles a socket's, for what it needs itself. */
	static const int pipe_bytes = 512 << 10, socket_bytes = 160 << 10;
	int now = fcntl(fd, F_GETPIPE_SZ);

	if (now < 0)
		(void)setsockopt(
		    fd, SOL_SOCKET, SO_SNDBUF, &socket_bytes, sizeof(socket_bytes));
	else if (now < pipe_bytes)
		(void)fcntl(fd, F_SETPIPE_SZ, pipe_bytes);
}

int
ats_fd_memory(const char *name, const void *p, size_t n)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd >= 0 && (ats_fd_write_all(fd, p, n) < 0 || lseek(fd, 0, SEEK_SET) < 0))
		ats_fd_close(&fd);
	return fd;
}

int
ats_fd_raise(int *fd, int min)
{
	int high;

	if (*fd >= min)
		return 0;
	high = fcntl(*fd, F_DUPFD_CLOEXEC, min);
	ats_fd_close(fd);
	*fd = high;
	return high < 0 ? -ATS_E_SYS : 0;
}

int
ats_fd_pipe(int ret_fds[2], int flags)
{
	return pipe2(ret_fds, flags | O_CLOEXEC) < 0 ? -ATS_E_SYS : 0;
}

int
ats_fd_socketpair(int type, int ret_fds[2])
{
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ret_fds) < 0 ? -ATS_E_SYS : 0;
}

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(ATS_FD_PASS_MAX * sizeof(int))];
};

static ssize_t
map_io_error(void)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return -ATS_E_AGAIN;
	if (errno == EPIPE || errno == ECONNRESET)
		return -ATS_E_EOF;
	return -ATS_E_SYS;
}

ssize_t
ats_fd_send(int sock, const void *p, size_t n, const int *fds, size_t nfds)
{
	union control control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)p, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t put;

	if (nfds > ATS_FD_PASS_MAX)
		return -ATS_E_SYS;
	if (nfds > 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do
		put = ats_fault_eintr() ? -1 : sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR);
	return put < 0 ? map_io_error() : put;
}

/* Takes the descriptors out of msg. False, with all of them closed, if there are more than
 * max or anything else came along. */
static bool
take_fds(struct msghdr *msg, int *fds, size_t max, size_t *ret_n)
{
	bool ok = (msg->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			ok = false;
			continue;
		}
		for (size_t i = 0; i < here; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < max) {
				fds[n++] = fd;
				continue;
			}
			ok = false;
			(void)close(fd);
		}
	}
	while (!ok && n > 0)
		(void)close(fds[--n]);
	*ret_n = n;
	return ok;
}

ssize_t
ats_fd_recv(int sock, void *p, size_t n, int *ret_fds, size_t max_fds, size_t *ret_nfds)
{
	union control control;
	struct iovec iov = { .iov_base = p, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control) };
	ssize_t got = 0;
	bool reset = false;

	*ret_nfds = 0;
	/* Of a peer that closed with something of ours unread the kernel tells by an error, once,
	 * before it gives what that had said last. */
	do {
		reset = reset || (got < 0 && errno == ECONNRESET);
		got = ats_fault_eintr() ? -1 : recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !reset)));
	if (got < 0)
		return map_io_error();
	if (!take_fds(&msg, ret_fds, max_fds, ret_nfds))
		return -ATS_E_PROTO;
	return got;
}

static int
unix_address(const char *path, struct sockaddr_un *ret, struct ats_err *err)
{
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(ret->sun_path))
		return ats_err_set(err, ATS_E_TOOBIG, "%s: socket path of %zu bytes, at most %zu",
		    path, n, sizeof(ret->sun_path) - 1);
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	memcpy(ret->sun_path, path, n);
	return 0;
}

/* Removes what a dead owner left, but nothing that is not a socket. */
static int
remove_stale(const char *path, struct ats_err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : ats_err_sys(err, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return ats_err_set(err, ATS_E_EXISTS, "%s: exists and is not a socket", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return ats_err_sys(err, "%s: unlink", path);
	return 0;
}

int
ats_fd_unix_listen(const char *path, int type, unsigned mode, int *ret_fd,
    struct ats_err *err)
{
	int rc, fd ATS_CLEANUP_FD = -1;
	struct sockaddr_un sa;
	mode_t mask;

	rc = unix_address(path, &sa, err);
	if (rc == 0)
		rc = remove_stale(path, err);
	if (rc < 0)
		return rc;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return ats_err_sys(err, "%s: socket", path);
	/* The mode must hold from the first moment: a later chmod would leave a gap. */
	mask = umask((mode_t)(~mode & 0777));
	rc = bind(fd, (const struct sockaddr *)&sa, sizeof(sa));
	(void)umask(mask);
	if (rc < 0)
		return ats_err_sys(err, "%s: bind", path);
	if (listen(fd, 128) < 0)
		return ats_err_sys(err, "%s: listen", path);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

int
ats_fd_unix_connect(const char *path, int type, int *ret_fd, struct ats_err *err)
{
	int rc, fd ATS_CLEANUP_FD = -1;
	struct sockaddr_un sa;

	rc = unix_address(path, &sa, err);
	if (rc < 0)
		return rc;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return ats_err_sys(err, "%s: socket", path);
	do
		rc = connect(fd, (const struct sockaddr *)&sa, sizeof(sa));
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return ats_err_sys(err, "%s: connect", path);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

int
ats_fd_peer(int sock, uid_t *ret_uid, gid_t *ret_gid, pid_t *ret_pid)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 || n != sizeof(cred))
		return -ATS_E_SYS;
	if (ret_uid != NULL)
		*ret_uid = cred.uid;
	if (ret_gid != NULL)
		*ret_gid = cred.gid;
	if (ret_pid != NULL)
		*ret_pid = cred.pid;
	return 0;
}

bool
ats_fd_at_end(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) == 0 &&
	       (p.revents & (POLLHUP | POLLERR)) != 0;
}
