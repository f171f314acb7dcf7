/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in engine, vault, ats-http and front; how many come, and when they go, is anybody's. */
#include "common/acceptor.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"

#define A_TURN 16
#define PAUSE_MS 100

struct ats_acceptor {
	struct event *readable, *resume;
	ats_acceptor_fn admit;
	void *ctx;
	bool on;			/* else stopped or pausing */
	bool told;			/* in the log, that none can be taken */
};

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct ats_acceptor *a = arg;

	(void)what;
	for (int i = 0; i < A_TURN && a->on; i++) {
		int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (got >= 0) {
			a->told = false;
			a->admit(a->ctx, got);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN) {
			if (!a->told)
				ats_log(ATS_LOG_ERROR, "cannot accept", "errno=%d", errno);
			a->told = true;
			ats_acceptor_pause(a, PAUSE_MS);
		}
		return;
	}
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	if (ats_acceptor_start(arg) < 0)
		ats_acceptor_pause(arg, PAUSE_MS);
}

struct ats_acceptor *
ats_acceptor_new(struct event_base *base, int fd, ats_acceptor_fn admit, void *ctx)
{
	struct ats_acceptor *a = ats_calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->admit = admit;
	a->ctx = ctx;
	a->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, a);
	a->resume = event_new(base, -1, 0, on_resume, a);
	if (a->readable != NULL && a->resume != NULL && ats_fd_nonblock(fd, true) == 0)
		return a;
	ats_acceptor_free(a);
	return NULL;
}

int
ats_acceptor_start(struct ats_acceptor *a)
{
	a->on = event_add(a->readable, NULL) == 0;
	return a->on ? 0 : -ATS_E_NOMEM;
}

void
ats_acceptor_stop(struct ats_acceptor *a)
{
	if (a == NULL)
		return;
	a->on = false;
	(void)event_del(a->readable);
	(void)event_del(a->resume);
}

void
ats_acceptor_pause(struct ats_acceptor *a, unsigned ms)
{
	struct timeval tv = ats_timeval_ms(ms);

	/* Without memory for the timer it is no pause rather than an end. */
	if (event_add(a->resume, &tv) < 0)
		return;
	a->on = false;
	(void)event_del(a->readable);
}

void
ats_acceptor_free(struct ats_acceptor *a)
{
	if (a == NULL)
		return;
	if (a->readable != NULL)
		event_free(a->readable);
	if (a->resume != NULL)
		event_free(a->resume);
	free(a);
}
