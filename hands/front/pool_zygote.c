/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said between the pool and its zygotes: workers are asked for, come, could not be made,
 * and have ended. Runs in hands' front; only the form of zygotes' messages is trusted, not their
 * number. */
#include "hands/front/pool_private.h"

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/front.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGES_PER_TURN 32

static const unsigned targets[POOL_PROFILES] = {
	[ATS_PROFILE_READ] = 4,
	[ATS_PROFILE_WRITE] = 2,
	[ATS_PROFILE_SHELL] = 1,
};

void
pool_watch(struct zygote *z)
{
	bool want =
	    z->sock >= 0 && (z->asked > 0 || z->nwaiters > 0 || !TAILQ_EMPTY(&z->ended));

	if (want == z->watched)
		return;
	z->watched = want;
	if (want)
		(void)event_add(&z->ev, NULL);
	else
		(void)event_del(&z->ev);
}

/* ---- asking ------------------------------------------------------------------------ */
static void
ask(struct zygote *z, unsigned n)
{
	/* Who waits before the start is the self-test, which needs no waiting bash. */
	struct zygote_msg m = { .what = ZYGOTE_WANT,
		.count = n,
		.flags = z->p->started ? 0 : JOB_COLD };
	unsigned room = POOL_LIVE_MAX > z->p->live ? POOL_LIVE_MAX - z->p->live : 0;

	for (unsigned i = 0; i < POOL_PROFILES; i++)
		room -= room < z->p->z[i].asked ? room : z->p->z[i].asked;
	m.count = n < room ? n : room;
	if (m.count == 0 || z->sock < 0)
		return;
	if (ats_fd_send(z->sock, &m, sizeof(m), NULL, 0) < 0)
		return; /* full or dead: the next idle turn or EOF sees to it */
	z->asked += m.count;
	pool_watch(z);
}

void
pool_refill(struct zygote *z)
{
	bool fill = z->p->started && !z->failed;
	unsigned want = z->nwaiters + (fill ? targets[z->profile] : 0);
	unsigned have = z->nready + z->asked;

	if (want > have)
		ask(z, want - have);
	pool_watch(z);
}

/* ---- what it says ------------------------------------------------------------------ */
static struct worker *
find(struct worker_list *list, uint64_t serial)
{
	struct worker *w;

	TAILQ_FOREACH (w, list, entry) {
		if (w->serial == serial)
			return w;
	}
	return NULL;
}

static struct pool_waiter *
pop_waiter(struct zygote *z)
{
	struct pool_waiter *w = TAILQ_FIRST(&z->waiters);

	if (w == NULL)
		return NULL;
	TAILQ_REMOVE(&z->waiters, w, entry);
	z->nwaiters--;
	w->waiting = false;
	w->waited_us = ats_clock_us() - w->since_us;
	return w;
}

static void
on_worker(struct zygote *z, const struct zygote_msg *m, int *fds, size_t nfds)
{
	struct pool_waiter *waiter;
	struct worker *w;

	z->asked -= z->asked > 0;
	z->failed = false;
	if (z->p->live >= POOL_LIVE_MAX) { /* not what was asked for: closing ends it */
		for (size_t i = 0; i < nfds; i++)
			(void)close(fds[i]);
		return;
	}
	w = worker_new(z->p->f, z->profile, m->serial, fds, nfds);
	if (w == NULL) {
		ats_log(ATS_LOG_WARN, "a worker could not be taken over", NULL);
		return;
	}
	z->p->live++;
	waiter = pop_waiter(z);
	if (waiter == NULL) {
		w->state = WORKER_READY;
		TAILQ_INSERT_TAIL(&z->ready, w, entry);
		z->nready++;
		return;
	}
	w->state = WORKER_BUSY;
	TAILQ_INSERT_TAIL(&z->busy, w, entry);
	waiter->got(waiter->ctx, w, NULL);
}

static void
on_failed(struct zygote *z, const struct zygote_msg *m)
{
	struct pool_waiter *waiter;
	struct ats_err err;
	char step[sizeof(m->step) + 1];

	memcpy(step, m->step, sizeof(m->step));
	step[sizeof(m->step)] = '\0';
	z->asked -= z->asked > 0;
	z->failed = true;
	ats_log(ATS_LOG_ERROR, "the zygote could not make a worker", "profile=%d code=%s",
	    (int)z->profile, ats_err_name(m->status));
	(void)ats_err_set(&err, ATS_E_CONFINE, "no worker could be made: %s", step);
	if ((waiter = pop_waiter(z)) != NULL)
		waiter->got(waiter->ctx, NULL, &err);
}

static void
on_gone(struct zygote *z, const struct zygote_msg *m)
{
	struct worker *w;

	if ((w = find(&z->released, m->serial)) != NULL) {
		pool_forget(z, &z->released, w);
	} else if ((w = find(&z->ended, m->serial)) != NULL) {
		worker_lost(w, m->status);
		pool_forget(z, &z->released, w);
	} else if ((w = find(&z->ready, m->serial)) != NULL) {
		pool_forget(z, &z->ready, w);
	} else if ((w = find(&z->busy, m->serial)) != NULL) {
		/* Its reply may still be in the socket: the end of file decides. */
		w->gone = true;
		w->status = m->status;
	} else if (WIFSIGNALED(m->status)) {
		/* Killed before it announced itself: what was asked for will not come. */
		z->asked -= z->asked > 0;
	}
}

void
pool_zygote_lost(struct zygote *z)
{
	struct worker *w;

	ats_log(ATS_LOG_WARN, "zygote lost", "profile=%d", (int)z->profile);
	if (z->watched)
		(void)event_del(&z->ev);
	z->watched = false;
	ats_fd_close(&z->sock);
	z->asked = 0;
	/* Nobody will say GONE any more. */
	while ((w = TAILQ_FIRST(&z->ready)) != NULL)
		pool_forget(z, &z->ready, w);
	while ((w = TAILQ_FIRST(&z->released)) != NULL)
		pool_forget(z, &z->released, w);
	while ((w = TAILQ_FIRST(&z->ended)) != NULL) {
		worker_lost(w, -1);
		pool_forget(z, &z->released, w);
	}
	TAILQ_FOREACH (w, &z->busy, entry) {
		w->gone = true;
		w->status = -1;
	}
}

/* False: nothing more is there. */
static bool
receive(struct zygote *z)
{
	int fds[ATS_FD_PASS_MAX];
	struct zygote_msg m;
	size_t nfds = 0;
	ssize_t n = ats_fd_recv(z->sock, &m, sizeof(m), fds, ATS_ARRAY_LEN(fds), &nfds);

	if (n == -ATS_E_AGAIN)
		return false;
	if (n <= 0) {
		pool_zygote_lost(z);
		return false;
	}
	if (n == sizeof(m) && m.what == ZYGOTE_WORKER && nfds > 0) {
		on_worker(z, &m, fds, nfds);
		return true;
	}
	for (size_t i = 0; i < nfds; i++)
		(void)close(fds[i]);
	if (n == sizeof(m) && m.what == ZYGOTE_FAILED)
		on_failed(z, &m);
	else if (n == sizeof(m) && m.what == ZYGOTE_GONE)
		on_gone(z, &m);
	return true;
}

void
pool_drain(struct zygote *z)
{
	for (int i = 0; i < MESSAGES_PER_TURN && z->sock >= 0; i++) {
		if (!receive(z))
			break;
	}
}

static void
on_zygote(evutil_socket_t fd, short what, void *arg)
{
	struct zygote *z = arg;

	(void)fd;
	(void)what;
	pool_drain(z);
	if (z->nwaiters > z->asked)
		pool_refill(z);
	pool_watch(z);
}

void
pool_zygote_set(struct zygote *z, int fd)
{
	z->sock = fd;
	z->watched = false;
	z->asked = 0;
	z->failed = false;
	if (fd < 0)
		return;
	if (ats_fd_nonblock(fd, true) < 0 || event_assign(&z->ev, z->p->f->base, fd,
						 EV_READ | EV_PERSIST, on_zygote, z) < 0)
		ats_fd_close(&z->sock);
}
