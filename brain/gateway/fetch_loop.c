/* SPDX-License-Identifier: Apache-2.0
 *
 * libcurl's sockets and timer in the loop. Runs in ats-gateway. */
#include "brain/gateway/fetch_loop.h"

#include <event2/event.h>
#include <stdlib.h>

struct fetch_loop {
	struct event_base *base;
	CURLM *multi;
	fetch_done_fn done;
	void *arg;
	struct event *timer, *finish;
};

/* Outside of libcurl's callbacks: there no transfer may be ended. */
static void
on_finish(evutil_socket_t fd, short what, void *arg)
{
	struct fetch_loop *l = arg;
	CURLMsg *m;
	int left;

	(void)fd;
	(void)what;
	while ((m = curl_multi_info_read(l->multi, &left)) != NULL)
		if (m->msg == CURLMSG_DONE)
			l->done(l->arg, m->easy_handle, m->data.result);
}

static void
act(struct fetch_loop *l, curl_socket_t fd, int what)
{
	int running;

	(void)curl_multi_socket_action(l->multi, fd, what, &running);
	event_active(l->finish, EV_TIMEOUT, 0);
}

static void
on_socket_event(evutil_socket_t fd, short what, void *arg)
{
	act(arg, fd, ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
	    ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *mine)
{
	struct fetch_loop *l = arg;
	struct event *ev = mine;
	short wanted = (short)(((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
	    ((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0) | EV_PERSIST);

	(void)easy;
	if (ev != NULL)
		event_free(ev);
	ev = what == CURL_POLL_REMOVE ? NULL :
	    event_new(l->base, fd, wanted, on_socket_event, l);
	(void)curl_multi_assign(l->multi, fd, ev);
	return what == CURL_POLL_REMOVE || (ev != NULL && event_add(ev, NULL) == 0) ? 0 : -1;
}

static int
on_timeout(CURLM *multi, long ms, void *arg)
{
	struct fetch_loop *l = arg;
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	(void)multi;
	if (ms < 0)
		return event_del(l->timer);
	return event_add(l->timer, &tv);
}

struct fetch_loop *
fetch_loop_new(struct event_base *base, CURLM *multi, fetch_done_fn done, void *arg)
{
	struct fetch_loop *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->base = base;
	l->multi = multi;
	l->done = done;
	l->arg = arg;
	l->timer = evtimer_new(base, on_timer, l);
	l->finish = evtimer_new(base, on_finish, l);
	if (l->timer == NULL || l->finish == NULL) {
		fetch_loop_free(l);
		return NULL;
	}
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	(void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, l);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	(void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, l);
	return l;
}

void
fetch_loop_free(struct fetch_loop *l)
{
	if (l == NULL)
		return;
	if (l->timer != NULL)
		event_free(l->timer);
	if (l->finish != NULL)
		event_free(l->finish);
	free(l);
}
