/* SPDX-License-Identifier: Apache-2.0
 *
 * Our standard descriptors without blocking and without touching their flags, which other
 * processes share; and byte relays between two of them. Process: atsctl. */
#ifndef ATS_CTL_IO_H
#define ATS_CTL_IO_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

enum io_kind {
	IO_NONE,
	IO_NONBLOCK,	/* an open file description of our own, O_NONBLOCK */
	IO_SOCKET,	/* MSG_DONTWAIT */
	IO_FILE,	/* never blocks for long */
	IO_BLOCKING,	/* could not be reopened: polled first, small writes */
};
struct io {
	int fd;			/* -1: closed */
	enum io_kind kind;
	bool own;		/* fd is ours to close */
};
/* For one of 0, 1, 2 (borrowed). Never fails: at worst IO_BLOCKING. */
void io_open(struct io *io, int fd, bool writing);
void io_pipe(struct io *io, int fd);	/* takes a non-blocking pipe end */
void io_close(struct io *io);
/* Bytes, 0 at EOF, -ATS_E_AGAIN, -ATS_E_SYS. */
ssize_t io_read(const struct io *io, void *p, size_t n);
/* Bytes, -ATS_E_AGAIN, -ATS_E_EOF (nobody reads), -ATS_E_SYS. */
ssize_t io_write(const struct io *io, const void *p, size_t n);
/* A new open file description of the FIFO fd with O_NONBLOCK (owned), or -1. */
int io_reopen_fifo(int fd, bool writing);

#define RELAY_BYTES (64u << 10)
enum relay_state { RELAY_SRC, RELAY_DST, RELAY_EOF, RELAY_BROKEN, RELAY_FAILED };
struct relay {
	struct io src, dst;
	bool splice;
	char *buf;		/* owned, RELAY_BYTES */
	size_t off, len;
	enum relay_state state;	/* whom it waits for, or how it ended */
};
/* Takes src and dst. -ATS_E_NOMEM. */
ATS_NODISCARD int relay_init(struct relay *r, struct io src, struct io dst);
void relay_done(struct relay *r);
/* Moves bytes until one side is not ready; closes both at an end. */
void relay_step(struct relay *r);
/* Fills p for the side it waits for; false when it has ended. */
bool relay_poll(const struct relay *r, struct pollfd *p);

#endif
