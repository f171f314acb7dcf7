/* SPDX-License-Identifier: Apache-2.0
 *
 * The terminal relay. Runs in monitors; the bytes are a person's and a program's and are
 * carried, never looked at. */
#include "hands/worker/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/fd.h"

#define END_OF_FILE 4		/* VEOF of a fresh terminal */
#define DRAIN_ROUNDS 10		/* of 10 ms */

int
tty_open(struct tty *t, int in, int out, uint16_t rows, uint16_t cols, int *ret_slave,
    struct ats_err *err)
{
	int zero = 0, slave;
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	if (master < 0)
		return ats_err_sys(err, "open /dev/ptmx");
	if (ioctl(master, TIOCSPTLCK, &zero) < 0 ||
	    (slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) {
		(void)close(master);
		return ats_err_sys(err, "ioctl(TIOCGPTPEER)");
	}
	memset(t, 0, sizeof *t);
	t->master = master;
	t->in = in;
	t->out = out;
	if (ats_fd_nonblock(in, true) < 0 || ats_fd_nonblock(out, true) < 0)
		t->in_eof = true;
	tty_resize(t, rows, cols);
	*ret_slave = slave;
	return 0;
}

void
tty_resize(const struct tty *t, uint16_t rows, uint16_t cols)
{
	struct winsize ws = { .ws_row = rows, .ws_col = cols };

	if (t->master >= 0 && rows > 0 && cols > 0)
		(void)ioctl(t->master, TIOCSWINSZ, &ws);
}

void
tty_signal(const struct tty *t, pid_t shell, int sig)
{
	pid_t group = t->master >= 0 ? tcgetpgrp(t->master) : -1;

	(void)kill(-(group > 1 ? group : shell), sig);
}

void
tty_poll(const struct tty *t, struct pollfd p[TTY_POLLS])
{
	bool on = t->master >= 0;
	short events = 0;

	if (on && t->out_n == 0 && !t->out_eof)
		events |= POLLIN;
	if (on && t->in_n > 0)
		events |= POLLOUT;
	p[0] = (struct pollfd){ .fd = events != 0 ? t->master : -1, .events = events };
	p[1] = (struct pollfd){ .fd = on && !t->in_eof && t->in_n == 0 ? t->in : -1,
		.events = POLLIN };
	p[2] =
	    (struct pollfd){ .fd = on && t->out_n > 0 ? t->out : -1, .events = POLLOUT };
}

static void
pull_in(struct tty *t)
{
	ssize_t n = read(t->in, t->in_buf, sizeof t->in_buf);

	if (n > 0) {
		t->in_n = (size_t)n;
	} else if (n == 0) {
		t->in_eof = true;
		t->in_buf[0] = END_OF_FILE;
		t->in_n = 1;
	}
}

static void
push_in(struct tty *t)
{
	ssize_t n = write(t->master, t->in_buf, t->in_n);

	if (n > 0) {
		t->in_n -= (size_t)n;
		memmove(t->in_buf, t->in_buf + n, t->in_n);
	} else if (n < 0 && errno != EAGAIN) {
		t->in_n = 0;
	}
}

static void
pull_out(struct tty *t)
{
	ssize_t n = read(t->master, t->out_buf, sizeof t->out_buf);

	if (n > 0) {
		t->out_n = (size_t)n;
		t->out_pos = 0;
	} else if (n == 0 || errno == EIO) {
		t->out_eof = true;	/* nobody has the slave open */
	}
}

static void
push_out(struct tty *t)
{
	ssize_t n = write(t->out, t->out_buf + t->out_pos, t->out_n);

	if (n > 0) {
		t->out_pos += (size_t)n;
		t->out_n -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN) {
		t->out_n = 0;
	}
}

void
tty_turn(struct tty *t, const struct pollfd p[TTY_POLLS])
{
	if (t->master < 0)
		return;
	if (p[1].revents != 0)
		pull_in(t);
	if (t->in_n > 0)
		push_in(t);
	if ((p[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && t->out_n == 0)
		pull_out(t);
	if (t->out_n > 0)
		push_out(t);
}

void
tty_drain(struct tty *t)
{
	struct pollfd p[TTY_POLLS];
	int rounds = 0;

	while (
	    t->master >= 0 && rounds < DRAIN_ROUNDS && !(t->out_eof && t->out_n == 0)) {
		t->in_eof = true;
		t->in_n = 0;
		tty_poll(t, p);
		if (poll(p, TTY_POLLS, 10) <= 0)
			rounds++;
		tty_turn(t, p);
	}
}
