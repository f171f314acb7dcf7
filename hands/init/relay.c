/* SPDX-License-Identifier: Apache-2.0
 *
 * The byte relay of --stdio and attach. Runs in the launcher, or as attach; the bytes are
 * brain's and front's. */
#include "hands/init/relay.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"

int
relay_start(struct relay *r, int sock, struct ats_err *err)
{
	if (ats_fd_nonblock(0, true) < 0 || ats_fd_nonblock(1, true) < 0 ||
	    ats_fd_nonblock(sock, true) < 0)
		return ats_err_sys(err, "stdio");
	r->sock = sock;
	r->in.from = 0;
	r->in.to = sock;
	r->out.from = sock;
	r->out.to = 1;
	return 0;
}

static void
way_poll(const struct relay_way *w, bool on, struct pollfd *from, struct pollfd *to)
{
	*from = (struct pollfd){ .fd = on && !w->eof && w->n == 0 ? w->from : -1,
		.events = POLLIN };
	*to = (struct pollfd){ .fd = on && w->n > 0 ? w->to : -1, .events = POLLOUT };
}

void
relay_poll(const struct relay *r, struct pollfd p[RELAY_POLLS])
{
	way_poll(&r->in, r->sock >= 0, &p[0], &p[1]);
	way_poll(&r->out, r->sock >= 0, &p[2], &p[3]);
}

/* False: nobody reads there any more. */
static bool
way_turn(struct relay_way *w, bool readable)
{
	ssize_t n;

	if (readable && w->n == 0) {
		n = read(w->from, w->buf, sizeof w->buf);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			w->eof = true;
		if (n > 0) {
			w->n = (size_t)n;
			w->pos = 0;
		}
	}
	if (w->n == 0)
		return true;
	n = write(w->to, w->buf + w->pos, w->n);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	w->pos += (size_t)n;
	w->n -= (size_t)n;
	return true;
}

void
relay_turn(struct relay *r, const struct pollfd p[RELAY_POLLS])
{
	bool was = r->in.eof;

	if (r->sock < 0)
		return;
	if (!way_turn(&r->in, p[0].revents != 0)) {
		/* It has closed its end, and said why before: that must still be carried. */
		r->in.eof = true;
		r->in.n = 0;
	}
	if (!way_turn(&r->out, p[2].revents != 0) || (r->out.eof && r->out.n == 0)) {
		ats_fd_close(&r->sock);
		return;
	}
	if (r->in.eof && !was)
		(void)shutdown(r->sock, SHUT_WR);
}
