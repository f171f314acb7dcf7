/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of ready workers. Runs in hands' front; zygotes are ours, but only the form of
 * their messages is trusted, not their number. */
#include "hands/front/pool.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/front.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROFILES 3u /* READ, WRITE, SHELL: the first of enum ats_profile */
#define MESSAGES_PER_TURN 32

struct zygote {
	struct pool *p;
	enum ats_profile profile;
	int sock;
	struct event ev;
	bool watched;
	bool failed;	/* its last answer was FAILED: ask only when somebody waits */
	unsigned asked; /* workers asked for that have not come */
	unsigned nready;
	struct worker_list ready, busy, ended, released;
	TAILQ_HEAD(, pool_waiter) waiters;
	unsigned nwaiters;
};
struct pool {
	struct front *f;
	struct zygote z[PROFILES];
	unsigned live; /* processes that GONE has not named */
	bool started;
	struct event idle;
	uint64_t touched_us; /* when the last call ended */
};

static const unsigned targets[PROFILES] = {
	[ATS_PROFILE_READ] = 4,
	[ATS_PROFILE_WRITE] = 2,
	[ATS_PROFILE_SHELL] = 1,
};

static void refill(struct zygote *z);

static struct zygote *
zygote_of(struct pool *p, enum ats_profile profile)
{
	ATS_BUG((unsigned)profile >= PROFILES);
	return &p->z[profile];
}

/* Its socket is only looked at while something is expected from it: what it says about
 * workers that ended can wait. */
static void
watch(struct zygote *z)
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

static void
arm_idle(struct pool *p, uint64_t us)
{
	struct timeval tv = {
		.tv_sec = (time_t)(us / 1000000),
		.tv_usec = (suseconds_t)(us % 1000000),
	};

	(void)evtimer_add(&p->idle, &tv);
}

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

static void
forget(struct zygote *z, struct worker_list *from, struct worker *w)
{
	TAILQ_REMOVE(from, w, entry);
	if (from == &z->ready)
		z->nready--;
	z->p->live--;
	worker_free(w);
}

/* ---- messages ---------------------------------------------------------------------- */
static void
ask(struct zygote *z, unsigned n)
{
	/* Who waits before the start is the self-test, which needs no waiting bash. */
	struct zygote_msg m = { .what = ZYGOTE_WANT,
		.count = n,
		.flags = z->p->started ? 0 : JOB_COLD };
	unsigned room = POOL_LIVE_MAX > z->p->live ? POOL_LIVE_MAX - z->p->live : 0;

	for (unsigned i = 0; i < PROFILES; i++)
		room -= room < z->p->z[i].asked ? room : z->p->z[i].asked;
	m.count = n < room ? n : room;
	if (m.count == 0 || z->sock < 0)
		return;
	if (ats_fd_send(z->sock, &m, sizeof(m), NULL, 0) < 0)
		return; /* full or dead: the next idle turn or EOF sees to it */
	z->asked += m.count;
	watch(z);
}

/* Everybody that waits will be served by what was asked for, and the pool filled. */
static void
refill(struct zygote *z)
{
	bool fill = z->p->started && !z->failed;
	unsigned want = z->nwaiters + (fill ? targets[z->profile] : 0);
	unsigned have = z->nready + z->asked;

	if (want > have)
		ask(z, want - have);
	watch(z);
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
		forget(z, &z->released, w);
	} else if ((w = find(&z->ended, m->serial)) != NULL) {
		worker_lost(w, m->status);
		forget(z, &z->released, w);
	} else if ((w = find(&z->ready, m->serial)) != NULL) {
		forget(z, &z->ready, w);
	} else if ((w = find(&z->busy, m->serial)) != NULL) {
		/* Its reply may still be in the socket: the end of file decides. */
		w->gone = true;
		w->status = m->status;
	} else if (WIFSIGNALED(m->status)) {
		/* Killed before it announced itself: what was asked for will not come. */
		z->asked -= z->asked > 0;
	}
}

static void
zygote_lost(struct zygote *z)
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
		forget(z, &z->ready, w);
	while ((w = TAILQ_FIRST(&z->released)) != NULL)
		forget(z, &z->released, w);
	while ((w = TAILQ_FIRST(&z->ended)) != NULL) {
		worker_lost(w, -1);
		forget(z, &z->released, w);
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
		zygote_lost(z);
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

static void
drain(struct zygote *z)
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
	drain(z);
	if (z->nwaiters > z->asked)
		refill(z);
	watch(z);
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
			forget(z, &z->released, w);
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
	for (unsigned i = 0; i < PROFILES; i++) {
		struct zygote *z = &p->z[i];

		if (z->sock >= 0)
			drain(z);
		sweep(z, now);
		refill(z);
		again = again || !TAILQ_EMPTY(&z->released) || !TAILQ_EMPTY(&z->ended);
	}
	if (now - p->touched_us >= POOL_GONE_US)
		ats_buf_done(&p->f->rx);
	if (again || p->f->rx.base != NULL)
		arm_idle(p, POOL_GONE_US);
}

/* ---- public ------------------------------------------------------------------------ */
static void
zygote_set(struct zygote *z, int fd)
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

struct pool *
pool_new(struct front *f, int read_fd, int write_fd, int shell_fd)
{
	const int fds[PROFILES] = {
		[ATS_PROFILE_READ] = read_fd,
		[ATS_PROFILE_WRITE] = write_fd,
		[ATS_PROFILE_SHELL] = shell_fd,
	};
	struct pool *p = ats_calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->f = f;
	for (unsigned i = 0; i < PROFILES; i++) {
		struct zygote *z = &p->z[i];

		z->p = p;
		z->profile = (enum ats_profile)i;
		TAILQ_INIT(&z->ready);
		TAILQ_INIT(&z->busy);
		TAILQ_INIT(&z->ended);
		TAILQ_INIT(&z->released);
		TAILQ_INIT(&z->waiters);
		zygote_set(z, fds[i]);
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
		forget(z, list, w);
}

void
pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	(void)evtimer_del(&p->idle);
	for (unsigned i = 0; i < PROFILES; i++) {
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
		zygote_lost(z);
	zygote_set(z, fd);
	refill(z);
}

void
pool_start(struct pool *p)
{
	p->started = true;
	for (unsigned i = 0; i < PROFILES; i++)
		refill(&p->z[i]);
}

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
	refill(z);
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
	watch(z);
}

void
pool_touch(struct pool *p)
{
	p->touched_us = ats_clock_us();
	arm_idle(p, POOL_IDLE_US);
}

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
	for (unsigned i = 0; i < PROFILES; i++)
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
	for (unsigned i = 0; i < PROFILES; i++)
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
		watch(z);
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
