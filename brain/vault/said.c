/* SPDX-License-Identifier: Apache-2.0
 *
 * The stderr of a command of a credential. Runs in the vault; what the command says is its own. */
#include "brain/vault/said.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "common/fd.h"
#include "common/secret.h"

#define TAIL_MAX 2048u
#define READS_A_TURN 16

/* 1: something came. 0: nothing is there now. An error: its end. */
static int
read_some(struct said *s)
{
	char buf[TAIL_MAX];
	ssize_t n = ats_fd_read(s->fd, buf, sizeof(buf));

	if (n > 0) {
		size_t more = s->tail.len + (size_t)n;

		if (more > TAIL_MAX) {
			ats_buf_consume(&s->tail, more - TAIL_MAX);
			s->cut = true;
		}
		(void)!ats_buf_add(&s->tail, buf, (size_t)n);
		ats_secret_wipe(buf, sizeof(buf));
		return 1;
	}
	return n < 0 && errno == EAGAIN ? 0 : -ATS_E_EOF;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct said *s = arg;

	(void)fd;
	(void)what;
	if (read_some(s) < 0)
		(void)event_del(s->rd);
}

int
said_open(struct said *s, struct event_base *base, int *ret_write, struct ats_err *err)
{
	int fds[2];

	ats_buf_init(&s->tail, TAIL_MAX);
	if (ats_fd_pipe(fds, 0) < 0)
		return ats_err_sys(err, "pipe");
	s->fd = fds[0];
	*ret_write = fds[1];
	s->rd = event_new(base, s->fd, EV_READ | EV_PERSIST, on_readable, s);
	if (ats_fd_nonblock(s->fd, true) < 0 || s->rd == NULL || event_add(s->rd, NULL) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	return 0;
}

void
said_close(struct said *s)
{
	if (s->rd != NULL)
		event_free(s->rd);
	ats_fd_close(&s->fd);
	if (s->tail.data != NULL)
		ats_secret_wipe(s->tail.data, s->tail.len);
	ats_buf_done(&s->tail);
	*s = (struct said)SAID_NOTHING;
}

int
said_lines(struct said *s, struct ats_buf *out)
{
	const char *p, *nl;

	for (unsigned i = 0; s->fd >= 0 && i < READS_A_TURN && read_some(s) > 0; i++)
		continue;
	p = s->tail.data;
	if (s->cut) {
		nl = memchr(p, '\n', s->tail.len);
		if (nl == NULL)
			return ats_buf_add_str(out, "(one line that is too long to be shown)");
		p = nl + 1;
	}
	return ats_buf_add(out, p, s->tail.len - (size_t)(p - s->tail.data));
}
