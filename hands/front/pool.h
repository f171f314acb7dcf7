/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers that wait for a job, per profile. Replacements are asked for when the link has
 * been idle for a moment or nobody is left, never between a call and its answer. */
#ifndef ATS_HANDS_FRONT_POOL_H
#define ATS_HANDS_FRONT_POOL_H

#include "hands/front/worker_io.h"

#define POOL_LIVE_MAX 96u /* processes of all profiles, background shells included */
#define POOL_IDLE_US 200u
#define POOL_LINGER_US 5000000u /* a released worker is killed after this */
#define POOL_GONE_US 500000u	/* how long front waits to hear how a worker died */

struct pool;
struct pool_waiter {
	TAILQ_ENTRY(pool_waiter) entry;
	bool waiting;
	uint64_t since_us, waited_us;	/* when it began; how long, once got is called */
	/* w is owned by the callee, or NULL and err says why none can be had. */
	void (*got)(void *ctx, struct worker *w, const struct ats_err *err);
	void *ctx;
};

/* The sockets are taken; -1 where there is none. Returns owned or NULL. */
struct pool *pool_new(struct front *f, int read_fd, int write_fd, int shell_fd);
void pool_free(struct pool *p);
/* A new socket of a zygote that was started again (taken). */
void pool_replace(struct pool *p, enum ats_profile profile, int fd);
/* From now on workers are kept ready; before, only those who wait get one. */
void pool_start(struct pool *p);
/* A ready worker (owned) or NULL: then pool_wait. */
struct worker *pool_take(struct pool *p, enum ats_profile profile);
void pool_wait(struct pool *p, enum ats_profile profile, struct pool_waiter *w);
void pool_wait_cancel(struct pool *p, enum ats_profile profile, struct pool_waiter *w);
/* An answer has left: the idle timer starts anew. */
void pool_touch(struct pool *p);
/* The zygotes' sockets (borrowed), by profile; -1: there is none. */
void pool_sockets(const struct pool *p, int ret[3]);
/* Takes one that is at work, of another front's pool. */
void pool_adopt(struct pool *p, struct worker *w);
/* Another front goes on: of what has answered here and not yet ended nobody would hear. */
void pool_leave(struct pool *p);
/* From worker_io: SIGKILL by the zygote; the worker's end of file; its release. */
void pool_kill(struct pool *p, struct worker *w);
void pool_on_eof(struct pool *p, struct worker *w);
void pool_on_release(struct pool *p, struct worker *w);

#endif
