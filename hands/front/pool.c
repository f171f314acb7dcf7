/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of ready workers: who gets one, and what is done when the link is idle. Runs in hands'
 * front; how a worker answers and ends is its own choice. */
#include "hands/front/pool_private.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "hands/front/front.h"

#include <stdlib.h>

static struct zygote *
zygote_of(struct pool *p, enum ats_profile profile)
{
	ATS_BUG((unsigned)profile >= POOL_PROFILES);
	return &p->z[profile];
}

static void
arm_idle(struct pool *p, uint64_t us)
{
	struct timeval tv = ats_timeval_us(us);

	(void)evtimer_add(&p->idle, &tv);
}

static struct worker_list *
list_of(struct zygote *z, enum worker_state state)
{
	switch (state) {
	case WORKER_READY:
		return &z->ready;
	case WORKER_BUSY:
		return &z->busy;
	case WORKER_ENDED:
		return &z->ended;
	case WORKER_RELEASED:
		break;
	}
	return &z->released;
}

static void
move(
    struct zygote *z, struct worker_list *from, struct worker *w, enum worker_state state)
{
	TAILQ_REMOVE(from, w, entry);
	if (from == &z->ready)
		z->nready--;
	w->state = state;
	w->since_us = ats_clock_us();
	TAILQ_INSERT_TAIL(list_of(z, state), w, entry);
	if (state == WORKER_READY)
		z->nready++;
}

void
pool_forget(struct zygote *z, struct worker_list *from, struct worker *w)
{
	TAILQ_REMOVE(from, w, entry);
	if (from == &z->ready)
		z->nready--;
	z->p->live--;
	worker_free(w);
}

/* ---- idle work --------------------------------------------------------------------- */
static void
sweep(struct zygote *z, uint64_t now)
{
	struct worker *w, *next;

	for (w = TAILQ_FIRST(&z->released); w != NULL; w = next) {
		next = TAILQ_NEXT(w, entry);
		worker_close(w);
		if (w->gone)
			pool_forget(z, &z->released, w);
		else if (now - w->since_us > POOL_LINGER_US && !w->killed)
			pool_kill(z->p, w);
	}
	for (w = TAILQ_FIRST(&z->ended); w != NULL; w = next) {
		next = TAILQ_NEXT(w, entry);
		if (now - w->since_us > POOL_GONE_US) {
			pool_kill(z->p, w);
			worker_lost(w, -1);
		}
	}
}

static void
on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct pool *p = arg;
	uint64_t now = ats_clock_us();
	bool again = false;

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < POOL_PROFILES; i++) {
		struct zygote *z = &p->z[i];

		if (z->sock >= 0)
			pool_drain(z);
		sweep(z, now);
		pool_refill(z);
		again = again || !TAILQ_EMPTY(&z->released) || !TAILQ_EMPTY(&z->ended);
	}
	if (now - p->touched_us >= POOL_GONE_US)
		ats_buf_done(&p->f->rx);
	if (again || p->f->rx.base != NULL)
		arm_idle(p, POOL_GONE_US);
}

/* ---- life -------------------------------------------------------------------------- */
struct pool *
pool_new(struct front *f, int read_fd, int write_fd, int shell_fd)
{
	const int fds[POOL_PROFILES] = {
		[ATS_PROFILE_READ] = read_fd,
		[ATS_PROFILE_WRITE] = write_fd,
		[ATS_PROFILE_SHELL] = shell_fd,
	};
	struct pool *p = ats_calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->f = f;
	for (unsigned i = 0; i < POOL_PROFILES; i++) {
		struct zygote *z = &p->z[i];

		z->p = p;
		z->profile = (enum ats_profile)i;
		TAILQ_INIT(&z->ready);
		TAILQ_INIT(&z->busy);
		TAILQ_INIT(&z->ended);
		TAILQ_INIT(&z->released);
		TAILQ_INIT(&z->waiters);
		pool_zygote_set(z, fds[i]);
	}
	if (evtimer_assign(&p->idle, f->base, on_idle, p) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

static void
free_list(struct zygote *z, struct worker_list *list)
{
	struct worker *w;

	while ((w = TAILQ_FIRST(list)) != NULL)
		pool_forget(z, list, w);
}

void
pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	(void)evtimer_del(&p->idle);
	for (unsigned i = 0; i < POOL_PROFILES; i++) {
		struct zygote *z = &p->z[i];

		free_list(z, &z->ready);
		free_list(z, &z->busy);
		free_list(z, &z->ended);
		free_list(z, &z->released);
		if (z->watched)
			(void)event_del(&z->ev);
		ats_fd_close(&z->sock);
	}
	free(p);
}

void
pool_replace(struct pool *p, enum ats_profile profile, int fd)
{
	struct zygote *z = zygote_of(p, profile);

	if (z->sock >= 0)
		pool_zygote_lost(z);
	pool_zygote_set(z, fd);
	pool_refill(z);
}

void
pool_start(struct pool *p)
{
	p->started = true;
	for (unsigned i = 0; i < POOL_PROFILES; i++)
		pool_refill(&p->z[i]);
}

/* ---- who gets one ------------------------------------------------------------------ */
struct worker *
pool_take(struct pool *p, enum ats_profile profile)
{
	struct zygote *z = zygote_of(p, profile);
	struct worker *w = TAILQ_FIRST(&z->ready);

	if (w != NULL)
		move(z, &z->ready, w, WORKER_BUSY);
	return w;
}

void
pool_wait(struct pool *p, enum ats_profile profile, struct pool_waiter *w)
{
	struct zygote *z = zygote_of(p, profile);

	w->waiting = true;
	w->since_us = ats_clock_us();
	TAILQ_INSERT_TAIL(&z->waiters, w, entry);
	z->nwaiters++;
	/* No idle turn is in sight: those that are done make room. */
	sweep(z, w->since_us);
	pool_refill(z);
}

void
pool_wait_cancel(struct pool *p, enum ats_profile profile, struct pool_waiter *w)
{
	struct zygote *z = zygote_of(p, profile);

	if (!w->waiting)
		return;
	w->waiting = false;
	TAILQ_REMOVE(&z->waiters, w, entry);
	z->nwaiters--;
	pool_watch(z);
}

void
pool_touch(struct pool *p)
{
	p->touched_us = ats_clock_us();
	arm_idle(p, POOL_IDLE_US);
}

/* ---- one that is at work ----------------------------------------------------------- */
void
pool_kill(struct pool *p, struct worker *w)
{
	struct zygote *z = zygote_of(p, w->profile);
	struct zygote_msg m = { .what = ZYGOTE_KILL, .serial = w->serial };

	w->killed = z->sock >= 0 && ats_fd_send(z->sock, &m, sizeof(m), NULL, 0) > 0;
}

void
pool_sockets(const struct pool *p, int ret[3])
{
	for (unsigned i = 0; i < POOL_PROFILES; i++)
		ret[i] = p->z[i].sock;
}

void
pool_adopt(struct pool *p, struct worker *w)
{
	struct zygote *z = zygote_of(p, w->profile);

	w->state = WORKER_BUSY;
	TAILQ_INSERT_TAIL(&z->busy, w, entry);
	p->live++;
}

void
pool_leave(struct pool *p)
{
	struct worker *w;

	/* A shell's monitor has ended its tree by then, and ends by itself. */
	for (unsigned i = 0; i < POOL_PROFILES; i++)
		TAILQ_FOREACH (w, &p->z[i].released, entry)
			if (i != ATS_PROFILE_SHELL && !w->gone)
				pool_kill(p, w);
}

void
pool_on_eof(struct pool *p, struct worker *w)
{
	struct zygote *z = zygote_of(p, w->profile);

	if (w->state == WORKER_BUSY && w->ops != NULL && z->sock >= 0 && !w->gone) {
		(void)event_del(&w->read_ev); /* how it died is for the zygote to say */
		move(z, &z->busy, w, WORKER_ENDED);
		pool_watch(z);
		arm_idle(p, POOL_GONE_US);
		return;
	}
	worker_lost(w, w->gone ? w->status : -1);
	arm_idle(p, POOL_IDLE_US);
}

void
pool_on_release(struct pool *p, struct worker *w)
{
	struct zygote *z = zygote_of(p, w->profile);

	w->gone = w->gone || z->sock < 0;
	if (w->state != WORKER_RELEASED)
		move(z, list_of(z, w->state), w, WORKER_RELEASED);
}
