/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipe is reopened through /proc/self/fd with O_NONBLOCK, a new open file description
 * that nobody else shares, and given to the engine: then no byte passes through atsctl.
 * Files, terminals and sockets get a pipe of 1 MiB and a relay. Process: atsctl. */
#include "brain/ctl/streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"

#define PIPE_BYTES (1 << 20)

static int
open_relay(struct streams *s, int fd, struct ats_err *err)
{
	bool out = fd != STDIN_FILENO;
	struct io ours, theirs, mine;
	int ends[2];

	if (ats_fd_pipe(ends, O_NONBLOCK) < 0)
		return ats_err_sys(err, "pipe");
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);	/* smaller is only slower */
	io_open(&mine, fd, out);
	io_pipe(&ours, ends[out ? 0 : 1]);
	theirs.fd = ends[out ? 1 : 0];
	s->pass[fd] = theirs.fd;
	s->relayed[fd] = true;
	if (relay_init(&s->relay[fd], out ? ours : mine, out ? mine : ours) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	return 0;
}

int
streams_open(struct streams *s, bool with_stdin, bool with_stderr, struct ats_err *err)
{
	int rc = 0;

	*s = (struct streams){ .want = { with_stdin, true, with_stderr },
		.pass = { -1, -1, -1 } };
	for (int fd = 0; fd < 3 && rc == 0; fd++) {
		if (!s->want[fd])
			continue;
		s->pass[fd] = io_reopen_fifo(fd, fd != STDIN_FILENO);
		if (s->pass[fd] < 0)
			rc = open_relay(s, fd, err);
	}
	return rc;
}

void
streams_sent(struct streams *s)
{
	for (int fd = 0; fd < 3; fd++)
		ats_fd_close(&s->pass[fd]);
}

void
streams_close(struct streams *s)
{
	streams_sent(s);
	for (int fd = 0; fd < 3; fd++) {
		if (s->relayed[fd])
			relay_done(&s->relay[fd]);
		s->relayed[fd] = false;
	}
}

size_t
streams_poll(const struct streams *s, struct pollfd *p)
{
	size_t n = 0;

	for (int fd = 0; fd < 3; fd++) {
		if (s->relayed[fd] && relay_poll(&s->relay[fd], &p[n]))
			n++;
	}
	/* Without a relay only POLLERR tells that the reader has gone. */
	if (!s->relayed[STDOUT_FILENO] && !s->broken)
		p[n++] = (struct pollfd){ .fd = STDOUT_FILENO };
	return n;
}

bool
streams_step(struct streams *s, const struct pollfd *p, size_t n)
{
	bool moved = false;

	for (size_t i = 0; i < n; i++) {
		if (p[i].revents == 0)
			continue;
		moved = true;
		if (p[i].events == 0 && p[i].fd == STDOUT_FILENO)
			s->broken = true;
	}
	for (int fd = 0; moved && fd < 3; fd++) {
		if (s->relayed[fd])
			relay_step(&s->relay[fd]);
	}
	if (s->relayed[STDOUT_FILENO] && s->relay[STDOUT_FILENO].state == RELAY_BROKEN)
		s->broken = true;
	return moved;
}

bool
streams_output_ended(const struct streams *s)
{
	for (int fd = 1; fd < 3; fd++) {
		if (s->relayed[fd] && s->relay[fd].state < RELAY_EOF)
			return false;
	}
	return true;
}

bool
streams_output_blocked(const struct streams *s)
{
	for (int fd = 1; fd < 3; fd++) {
		if (s->relayed[fd] && s->relay[fd].state == RELAY_DST)
			return true;
	}
	return false;
}

void
streams_stop_input(struct streams *s)
{
	if (!s->relayed[STDIN_FILENO])
		return;
	relay_done(&s->relay[STDIN_FILENO]);
	s->relayed[STDIN_FILENO] = false;
}
