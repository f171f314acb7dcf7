/* SPDX-License-Identifier: Apache-2.0
 *
 * Non-blocking ends and relays. Process: atsctl; the bytes are the user's and the
 * sandbox's, and are only moved. */
#include "brain/ctl/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/fd.h"

#define SPLICE_BYTES (1u << 20)
#define PART_BYTES (64u << 10)	/* its reader is at work while the next is written */
#define BLOCKING_BYTES 4096u	/* POLLOUT of a pipe promises PIPE_BUF */

static int
reopen(int fd, bool writing)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(
	    path, (writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

int
io_reopen_fifo(int fd, bool writing)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL), mode = flags & O_ACCMODE;

	if (flags < 0 || fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return -1;
	/* Opening it another way than it is open would keep an end alive for ever. */
	if (mode != (writing ? O_WRONLY : O_RDONLY))
		return -1;
	return reopen(fd, writing);
}

void
io_open(struct io *io, int fd, bool writing)
{
	struct stat st;
	int own = -1;

	*io = (struct io){ .fd = fd, .kind = IO_BLOCKING };
	if (fstat(fd, &st) < 0)
		return;
	if (S_ISSOCK(st.st_mode))
		io->kind = IO_SOCKET;
	else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISDIR(st.st_mode))
		io->kind = IO_FILE;
	else if (S_ISFIFO(st.st_mode))
		own = io_reopen_fifo(fd, writing);
	else if (isatty(fd))
		own = reopen(fd, writing);
	if (own >= 0)
		*io = (struct io){ .fd = own, .kind = IO_NONBLOCK, .own = true };
}

void
io_pipe(struct io *io, int fd)
{
	*io = (struct io){ .fd = fd, .kind = IO_NONBLOCK, .own = true };
}

void
io_close(struct io *io)
{
	if (io->own)
		ats_fd_close(&io->fd);
	io->fd = -1;
	io->own = false;
}

static bool
is_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0;
}

ssize_t
io_read(const struct io *io, void *p, size_t n)
{
	ssize_t got;

	if (io->kind == IO_BLOCKING && !is_ready(io->fd, POLLIN))
		return -ATS_E_AGAIN;
	do
		got = io->kind == IO_SOCKET ? recv(io->fd, p, n, MSG_DONTWAIT) :
					      read(io->fd, p, n);
	while (got < 0 && errno == EINTR);
	if (got >= 0)
		return got;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return -ATS_E_AGAIN;
	/* EIO: the terminal is gone */
	return errno == EIO || errno == ECONNRESET ? 0 : -ATS_E_SYS;
}

ssize_t
io_write(const struct io *io, const void *p, size_t n)
{
	ssize_t put;

	if (io->kind == IO_BLOCKING) {
		if (!is_ready(io->fd, POLLOUT))
			return -ATS_E_AGAIN;
		n = n < BLOCKING_BYTES ? n : BLOCKING_BYTES;
	}
	n = n < PART_BYTES ? n : PART_BYTES;
	do
		put = io->kind == IO_SOCKET ?
		    send(io->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL) :
		    write(io->fd, p, n);
	while (put < 0 && errno == EINTR);
	if (put >= 0)
		return put;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return -ATS_E_AGAIN;
	return errno == EPIPE || errno == ECONNRESET ? -ATS_E_EOF : -ATS_E_SYS;
}

int
relay_init(struct relay *r, struct io src, struct io dst)
{
	bool append = dst.kind == IO_FILE && (fcntl(dst.fd, F_GETFL) & O_APPEND) != 0;

	*r = (struct relay){ .src = src, .dst = dst, .state = RELAY_SRC };
	r->splice = (src.kind == IO_FILE || dst.kind == IO_FILE) && !append;
	r->buf = ats_malloc_read(RELAY_BYTES);
	return r->buf != NULL ? 0 : -ATS_E_NOMEM;
}

static void
end(struct relay *r, enum relay_state state)
{
	io_close(&r->src);
	io_close(&r->dst);
	r->state = state;
}

void
relay_done(struct relay *r)
{
	end(r, RELAY_EOF);
	free(r->buf);
	r->buf = NULL;
}

/* Between a pipe and a file. False when splice cannot be used here. */
static bool
step_splice(struct relay *r)
{
	ssize_t n;

	for (;;) {
		n = splice(
		    r->src.fd, NULL, r->dst.fd, NULL, SPLICE_BYTES, SPLICE_F_NONBLOCK);
		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		if (n == 0)
			end(r, RELAY_EOF);
		else if (errno == EAGAIN)	/* the pipe is what is not ready */
			r->state = r->dst.kind == IO_FILE ? RELAY_SRC : RELAY_DST;
		else if (errno == EPIPE)
			end(r, RELAY_BROKEN);
		else
			return false;
		return true;
	}
}

void
relay_step(struct relay *r)
{
	ssize_t n;

	if (r->state >= RELAY_EOF)
		return;
	if (r->splice && step_splice(r))
		return;
	r->splice = false;
	for (;;) {
		if (r->len == 0) {
			n = io_read(&r->src, r->buf, RELAY_BYTES);
			if (n == -ATS_E_AGAIN) {
				r->state = RELAY_SRC;
				return;
			}
			if (n <= 0) {
				end(r, n == 0 ? RELAY_EOF : RELAY_FAILED);
				return;
			}
			r->off = 0;
			r->len = (size_t)n;
		}
		n = io_write(&r->dst, r->buf + r->off, r->len);
		if (n == -ATS_E_AGAIN) {
			r->state = RELAY_DST;
			return;
		}
		if (n < 0) {
			end(r, n == -ATS_E_EOF ? RELAY_BROKEN : RELAY_FAILED);
			return;
		}
		r->off += (size_t)n;
		r->len -= (size_t)n;
	}
}

bool
relay_poll(const struct relay *r, struct pollfd *p)
{
	if (r->state >= RELAY_EOF)
		return false;
	if (r->state == RELAY_SRC)
		*p = (struct pollfd){ .fd = r->src.fd, .events = POLLIN };
	else
		*p = (struct pollfd){ .fd = r->dst.fd, .events = POLLOUT };
	return true;
}
