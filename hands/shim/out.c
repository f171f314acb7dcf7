/* SPDX-License-Identifier: Apache-2.0
 *
 * stdout of the shim. Runs in the sandbox as a command's child; who reads it is the agent. */
#include "hands/shim/out.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "hands/shim/shim.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>

struct out {
	struct shim *s;
	int fd;
	bool gone;		/* nobody reads */
	struct event *ev;
	struct ats_buf queue;
};

/* False: some of it waits. */
static bool
drain(struct out *o)
{
	while (o->queue.len > 0 && !o->gone) {
		ssize_t n = ats_fd_write(o->fd, o->queue.data, o->queue.len);

		if (n > 0)
			ats_buf_consume(&o->queue, (size_t)n);
		else if (errno == EAGAIN)
			return false;
		else
			o->gone = true;
	}
	if (o->gone)
		shim_end(o->s, NULL);	/* as at the end of stdin: there is no client */
	ats_buf_reset(&o->queue);
	return true;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct out *o = arg;

	(void)fd;
	(void)what;
	if (drain(o))
		(void)event_del(o->ev);
	if (out_has_room(o))
		shim_read_on(o->s);
}

struct out *
out_new(struct shim *s, int fd)
{
	struct out *o = ats_calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->s = s;
	o->fd = fd;
	ats_buf_init(&o->queue, OUT_MAX);
	o->ev = event_new(s->base, fd, EV_WRITE | EV_PERSIST, on_writable, o);
	if (o->ev == NULL || ats_fd_nonblock(fd, true) < 0) {
		if (o->ev != NULL)
			event_free(o->ev);
		free(o);
		return NULL;
	}
	return o;
}

void
out_free(struct out *o)
{
	if (o == NULL)
		return;
	event_free(o->ev);
	ats_buf_done(&o->queue);
	free(o);
}

void
out_line(struct out *o, const char *line, size_t n)
{
	size_t was = o->queue.len;
	int rc = ats_buf_add(&o->queue, line, n);

	if (rc == 0)
		rc = ats_buf_add_char(&o->queue, '\n');
	if (rc < 0) {
		ats_buf_truncate(&o->queue, was);
		shim_end(o->s, rc == -ATS_E_NOMEM ? "out of memory" : "the client does not read");
	} else if (was == 0 && !drain(o)) {
		(void)event_add(o->ev, NULL);
	}
}

bool
out_has_room(const struct out *o)
{
	return o->queue.len < OUT_FULL;
}

void
out_flush(struct out *o, int ms)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };
	uint64_t end = ats_clock_ms() + (uint64_t)ms, now;

	while (!drain(o) && (now = ats_clock_ms()) < end)
		if (poll(&p, 1, (int)(end - now)) < 0 && errno != EINTR)
			return;
}
