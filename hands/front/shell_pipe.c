/* SPDX-License-Identifier: Apache-2.0
 *
 * The pipes of a command: what it prints is given to the owner in bounded turns. Runs in hands'
 * front; the bytes, and who else holds the other ends, are the command's choice. */
#include "hands/front/shell_private.h"

#include "common/fd.h"
#include "hands/front/front.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

void
shell_unwatch(struct shell *s, unsigned which)
{
	if (s->watched[which])
		(void)event_del(&s->ev[which]);
	s->watched[which] = false;
}

void
shell_close_pipe(struct shell *s, unsigned which)
{
	if (which < 2)
		shell_unwatch(s, which);
	ats_fd_close(&s->pipe[which]);
}

/* Nobody writes to it any more. To give its memory back takes longer than all that is left to do
 * for an answer. */
static void
retire_pipe(struct shell *s, unsigned which)
{
	shell_unwatch(s, which);
	s->spent[which] = ats_steal_fd(&s->pipe[which]);
}

int
shell_take_pipe(struct shell *s, unsigned which)
{
	return ats_steal_fd(&s->pipe[which]);
}

int
shell_pipe(const struct shell *s, unsigned which)
{
	return s->pipe[which];
}

int
shell_drain(struct shell *s, unsigned which)
{
	size_t done = 0;
	bool freed = false, *outer = s->freed;

	while (done < SHELL_TURN_BYTES) {
		ssize_t n = read(s->pipe[which], s->f->block, FRONT_BLOCK_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0) {
			retire_pipe(s, which);
			return -1;
		}
		done += (size_t)n;
		s->freed = &freed;
		s->ops->output(s->ctx, which, s->f->block, (size_t)n);
		if (freed) {
			if (outer != NULL)
				*outer = true;
			return -2;
		}
		s->freed = outer;
		if (n < FRONT_BLOCK_BYTES) /* a pipe gives all it has: it is empty now */
			return 0;
	}
	return 1;
}

static void
on_stdout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)shell_drain(arg, 0);
}

static void
on_stderr(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)shell_drain(arg, 1);
}

void
shell_watch(struct shell *s)
{
	for (unsigned i = 0; i < 2; i++) {
		if (s->pipe[i] < 0 || s->watched[i] || s->ops->output == NULL)
			continue;
		if (event_assign(&s->ev[i], s->f->base, s->pipe[i], EV_READ | EV_PERSIST,
			i == 0 ? on_stdout : on_stderr, s) == 0 &&
		    event_add(&s->ev[i], NULL) == 0)
			s->watched[i] = true;
	}
}

bool
shell_is_held(const struct shell *s)
{
	for (unsigned i = 0; i < 2; i++) {
		struct pollfd p = { .fd = s->pipe[i], .events = POLLIN };

		if (s->pipe[i] >= 0 && poll(&p, 1, 0) >= 0 && (p.revents & POLLHUP) == 0)
			return true;
	}
	return false;
}
