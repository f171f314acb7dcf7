/* SPDX-License-Identifier: Apache-2.0
 *
 * The door: the listening socket and the list of clients. Runs in the engine; clients are
 * hostile, each can lose only its own connection. */
#include "brain/engine/door.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/engine/client.h"
#include "brain/engine/engine.h"
#include "brain/engine/observe.h"
#include "common/fd.h"
#include "common/log.h"

#define ACCEPTS_A_TURN 16
#define PAUSE_US 100000

TAILQ_HEAD(client_list, client);

struct door {
	struct engine *e;
	int fd;
	struct event *acceptable, *resume, *turn_end;
	struct client_list clients, dirty, dead;
	size_t count;
};

static void
admit(struct door *d, int fd)
{
	struct client *c;
	uid_t uid;
	gid_t gid;
	pid_t pid;

	if (d->count >= d->e->set.clients_max || ats_fd_peer(fd, &uid, &gid, &pid) < 0) {
		observe_count(d->e, ATS_METRIC_CLIENTS_REFUSED);
		ats_log(ATS_LOG_WARN, "client refused", "clients=%zu", d->count);
		(void)close(fd);
		return;
	}
	c = client_new(d->e, fd, uid, pid);
	if (c == NULL)
		return;
	TAILQ_INSERT_TAIL(&d->clients, c, link);
	d->count++;
	observe_count(d->e, ATS_METRIC_CLIENTS_TOTAL);
	engine_idle_check(d->e);
}

static void
on_acceptable(evutil_socket_t lfd, short what, void *arg)
{
	struct timeval pause = { 0, PAUSE_US };
	struct door *d = arg;
	int i, fd;

	(void)what;
	for (i = 0; i < ACCEPTS_A_TURN; i++) {
		fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			admit(d, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN) {	/* out of descriptors: the backlog waits */
			ats_log(ATS_LOG_ERROR, "cannot accept", "errno=%d", errno);
			(void)event_del(d->acceptable);
			(void)event_add(d->resume, &pause);
		}
		return;
	}
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;

	(void)fd;
	(void)what;
	(void)event_add(d->acceptable, NULL);
}

/* Once at the end of a turn: all answers of one client leave in one write. */
static void
on_turn_end(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;
	struct client *c;

	(void)fd;
	(void)what;
	while ((c = TAILQ_FIRST(&d->dirty)) != NULL) {
		TAILQ_REMOVE(&d->dirty, c, dirty_link);
		c->dirty = false;
		client_write(c);
	}
	while ((c = TAILQ_FIRST(&d->dead)) != NULL) {
		TAILQ_REMOVE(&d->dead, c, link);
		client_free(c);
	}
}

struct door *
door_new(struct engine *e, int listen_fd)
{
	struct door *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->e = e;
	d->fd = listen_fd;
	TAILQ_INIT(&d->clients);
	TAILQ_INIT(&d->dirty);
	TAILQ_INIT(&d->dead);
	d->acceptable = event_new(e->base, listen_fd, EV_READ | EV_PERSIST, on_acceptable, d);
	d->resume = event_new(e->base, -1, 0, on_resume, d);
	d->turn_end = event_new(e->base, -1, 0, on_turn_end, d);
	if (d->acceptable == NULL || d->resume == NULL || d->turn_end == NULL ||
	    ats_fd_nonblock(listen_fd, true) < 0) {
		door_free(d);
		return NULL;
	}
	return d;
}

void
door_free(struct door *d)
{
	struct client *c;

	if (d == NULL)
		return;
	while ((c = TAILQ_FIRST(&d->clients)) != NULL)
		client_drop(c, "the engine ends");
	if (d->turn_end != NULL) {
		on_turn_end(-1, 0, d);
		event_free(d->turn_end);
	}
	if (d->acceptable != NULL)
		event_free(d->acceptable);
	if (d->resume != NULL)
		event_free(d->resume);
	ats_fd_close(&d->fd);
	free(d);
}

int
door_open(struct door *d)
{
	return event_add(d->acceptable, NULL) < 0 ? -ATS_E_NOMEM : 0;
}

size_t
door_count(const struct door *d)
{
	return d->count;
}

struct client *
door_each(const struct door *d, struct client *after)
{
	return after == NULL ? TAILQ_FIRST(&d->clients) : TAILQ_NEXT(after, link);
}

void
door_dirty(struct door *d, struct client *c)
{
	if (c->dirty)
		return;
	c->dirty = true;
	TAILQ_INSERT_TAIL(&d->dirty, c, dirty_link);
	event_active(d->turn_end, EV_TIMEOUT, 0);
}

void
door_bury(struct door *d, struct client *c)
{
	if (c->dirty)
		TAILQ_REMOVE(&d->dirty, c, dirty_link);
	c->dirty = false;
	TAILQ_REMOVE(&d->clients, c, link);
	TAILQ_INSERT_TAIL(&d->dead, c, link);
	d->count--;
	event_active(d->turn_end, EV_TIMEOUT, 0);
}

void
door_session_closed(struct door *d, const struct session *s)
{
	struct client *c;

	TAILQ_FOREACH(c, &d->clients, link)
		if (c->session == s)
			c->session = NULL;
}
