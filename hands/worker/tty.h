/* SPDX-License-Identifier: Apache-2.0
 *
 * A terminal for a call (JOB_TTY): the monitor holds the master and carries bytes between
 * it and front's pipes, both ways, never blocking. */
#ifndef ATS_HANDS_WORKER_TTY_H
#define ATS_HANDS_WORKER_TTY_H

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct tty {
	int master;		/* -1: no terminal */
	int in, out;		/* pipes to front, non-blocking, borrowed */
	bool in_eof, out_eof;
	size_t in_n, out_n, out_pos;
	char in_buf[2048], out_buf[16384];
};
#define TTY_POLLS 3

/* Makes master and slave (owned by the caller). */
ATS_NODISCARD int tty_open(struct tty *t, int in, int out, uint16_t rows, uint16_t cols,
    int *ret_slave, struct ats_err *err);
void tty_resize(const struct tty *t, uint16_t rows, uint16_t cols);
/* Signals the foreground group. */
void tty_signal(const struct tty *t, pid_t shell, int sig);
void tty_poll(const struct tty *t, struct pollfd p[TTY_POLLS]);
void tty_turn(struct tty *t, const struct pollfd p[TTY_POLLS]);
/* After the shell ended: what the terminal still holds, within about 100 ms. */
void tty_drain(struct tty *t);

#endif
