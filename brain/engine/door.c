/* SPDX-License-Identifier: Apache-2.0
 *
 * The door: the listening socket and the list of clients. Runs in the engine; clients are
 * hostile, each can lose only its own connection. */
#include "brain/engine/door.h"

#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "brain/engine/client.h"
#include "brain/engine/engine.h"
#include "brain/engine/observe.h"
#include "common/acceptor.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/share.h"

#define SPARES 16		/* of 64 KiB at most each */

TAILQ_HEAD(client_list, client);

struct door {
	struct engine *e;
	int fd;
	struct ats_acceptor *acceptor;
	struct event *turn_end;
	struct client_list clients, dirty, dead;
	size_t count;
	struct ats_buf spare[SPARES];	/* empty, with memory: the warmest last */
	size_t nspare;
};

/* Users of the machine share what there is. */
static bool
has_room(const struct door *d, uint64_t uid)
{
	const struct client *c;
	size_t mine = 0;

	if (ats_share_counts(uid, d->e->brain_uid))
		TAILQ_FOREACH (c, &d->clients, link)
			mine += c->uid == uid;
	return ats_share_has_room(d->e->set.clients_max, d->count, mine);
}

static void
admit(void *ctx, int fd)
{
	struct door *d = ctx;
	struct client *c;
	uid_t uid;
	gid_t gid;
	pid_t pid;

	if (ats_fd_peer(fd, &uid, &gid, &pid) < 0) {
		(void)close(fd);
		return;
	}
	if (!has_room(d, uid)) {
		observe_count(d->e, ATS_METRIC_CLIENTS_REFUSED);
		ats_log(ATS_LOG_WARN, "client refused", "clients=%zu uid=%llu", d->count,
		    (unsigned long long)uid);
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

void
door_flush(struct door *d)
{
	struct client *c;

	while ((c = TAILQ_FIRST(&d->dirty)) != NULL) {
		TAILQ_REMOVE(&d->dirty, c, dirty_link);
		c->dirty = false;
		client_write(c);
	}
}

/* Once at the end of a turn: all answers of one client leave in one write. */
static void
on_turn_end(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;
	struct client *c;

	(void)fd;
	(void)what;
	door_flush(d);
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
	d->acceptor = ats_acceptor_new(e->base, listen_fd, admit, d);
	d->turn_end = event_new(e->base, -1, 0, on_turn_end, d);
	if (d->acceptor == NULL || d->turn_end == NULL) {
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
	while (d->nspare > 0)
		ats_buf_done(&d->spare[--d->nspare]);
	ats_acceptor_free(d->acceptor);
	ats_fd_close(&d->fd);
	free(d);
}

void
door_lend(struct door *d, struct ats_buf *b)
{
	if (b->base == NULL && d->nspare > 0)
		ats_buf_take(b, &d->spare[--d->nspare]);
}

void
door_keep(struct door *d, struct ats_buf *b)
{
	ats_buf_reset(b);
	if (b->base == NULL)
		return;
	if (d->nspare < SPARES)
		ats_buf_take(&d->spare[d->nspare++], b);
	else
		ats_buf_done(b);
}

int
door_open(struct door *d)
{
	return ats_acceptor_start(d->acceptor);
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
