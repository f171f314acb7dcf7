/* SPDX-License-Identifier: Apache-2.0
 *
 * The raw data of a call: a pipe whose write end the engine gets, emptied into a file as it
 * fills. Process: atsctl; the bytes are a sandbox's, and are not looked at. */
#include "brain/ctl/data.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define PIPE_BYTES (1 << 20)

int
data_open(struct data *d, const char *name, struct ats_err *err)
{
	int fds[2];

	d->file = d->pipe = d->pass = -1;
	if (strcmp(name, "-") == 0)
		d->file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		d->file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (d->file < 0)
		return ats_err_sys(err, "%s", name);
	if (ats_fd_pipe(fds, O_NONBLOCK) < 0) {
		data_close(d);
		return ats_err_sys(err, "pipe");
	}
	d->pipe = fds[0];
	d->pass = fds[1];
	(void)fcntl(d->pipe, F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

void
data_passed(struct data *d)
{
	ats_fd_close(&d->pass);
}

int
data_move(struct data *d, struct ats_err *err)
{
	static char buf[1 << 16];
	ssize_t n;

	while (d->pipe >= 0 && (n = read(d->pipe, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 || ats_fd_write_all(d->file, buf, (size_t)n) < 0) {
			int rc = ats_err_sys(err, "data");

			ats_fd_close(&d->pipe);
			return rc;
		}
	}
	ats_fd_close(&d->pipe);
	return 0;
}

int
data_rest(struct data *d, struct ats_err *err)
{
	struct pollfd p = { .events = POLLIN };
	int rc = 0;

	while (rc == 0 && d->pipe >= 0) {
		p.fd = d->pipe;
		(void)poll(&p, 1, -1);
		rc = data_move(d, err);
	}
	return rc;
}

void
data_close(struct data *d)
{
	ats_fd_close(&d->file);
	ats_fd_close(&d->pipe);
	ats_fd_close(&d->pass);
}
