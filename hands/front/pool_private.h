/* SPDX-License-Identifier: Apache-2.0
 *
 * What pool.c (who gets a worker, what is done when idle) and pool_zygote.c (what is said to
 * zygotes, and by them) share; nobody else includes this. */
#ifndef ATS_HANDS_FRONT_POOL_PRIVATE_H
#define ATS_HANDS_FRONT_POOL_PRIVATE_H

#include "hands/front/pool.h"

#define POOL_PROFILES 3u /* READ, WRITE, SHELL: the first of enum ats_profile */

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
	struct zygote z[POOL_PROFILES];
	unsigned live; /* processes that GONE has not named */
	bool started;
	struct event idle;
	uint64_t touched_us; /* when the last call ended */
};

/* ---- pool.c */
/* Its process is gone: takes it out of the list that it is in, and frees it. */
void pool_forget(struct zygote *z, struct worker_list *from, struct worker *w);

/* ---- pool_zygote.c */
/* The socket of one that is not there yet, or any more (taken); -1: there is none. */
void pool_zygote_set(struct zygote *z, int fd);
/* It has ended: its workers are lost, but those whose answer may still be in their sockets. */
void pool_zygote_lost(struct zygote *z);
/* Everybody that waits will be served by what was asked for, and the pool filled. */
void pool_refill(struct zygote *z);
/* What it has said, in bounded turns. */
void pool_drain(struct zygote *z);
/* Its socket is only looked at while something is expected from it: what it says about
 * workers that ended can wait. */
void pool_watch(struct zygote *z);

#endif
