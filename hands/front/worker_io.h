/* SPDX-License-Identifier: Apache-2.0
 *
 * Front's end of one worker or shell monitor: the job goes out, replies come in, whole
 * and bounded. A worker does one job. What it says is hostile: heads and sizes are
 * checked here, contents by whoever gets the reply. */
#ifndef ATS_HANDS_FRONT_WORKER_IO_H
#define ATS_HANDS_FRONT_WORKER_IO_H

#include <sys/queue.h>

#include "common/buf.h"
#include "hands/job.h"
#include "proto/tools.h"

#include <event2/event.h>
#include <event2/event_struct.h>

struct front;

struct worker_ops {
	/* A whole reply; json and payload are borrowed. May release the worker. REPLY_TEXT
	 * does not get here: what came so is the payload of the RESULT. */
	void (*reply)(
	    void *ctx, const struct reply_head *h, const char *json, const char *payload);
	/* It ended, or broke the rules and was killed, before it was released. status is
	 * its wait status or -1. The worker is released already. */
	void (*lost)(void *ctx, int status);
};
enum worker_state { WORKER_READY, WORKER_BUSY, WORKER_ENDED, WORKER_RELEASED };
struct worker {
	TAILQ_ENTRY(worker) entry; /* in the pool's list of its state */
	struct front *f;
	enum ats_profile profile;
	enum worker_state state;
	uint64_t serial;   /* unique in its profile */
	uint64_t since_us; /* of ENDED and RELEASED */
	bool killed;
	bool gone; /* the zygote has reaped it; status is how it ended */
	int status;
	int sock;
	int out, err, in; /* shell profile: pipe ends, owned, or -1 */
	int passed;	  /* that came with a reply (REPLY_DATA, REPLY_RENDER), owned, or -1 */
	struct event read_ev, write_ev;
	struct ats_buf rx, tx; /* an unfinished reply, an unsent job */
	size_t text_n;	       /* bytes of rx that are content, ahead of its result */
	const struct worker_ops *ops;
	void *ctx;
};
TAILQ_HEAD(worker_list, worker);

#define WORKER_JSON_MAX (1u << 20)
#define WORKER_PAYLOAD_MAX (3u << 20)

/* Takes the descriptors (nfds of them, order of job.h). Returns owned or NULL, then the
 * descriptors are closed. */
struct worker *worker_new(struct front *f, enum ats_profile profile, uint64_t serial,
    const int *fds, size_t nfds);
/* One that is at work, of its socket alone, which it takes; as above. */
struct worker *worker_adopt(struct front *f, enum ats_profile profile, uint64_t serial, int sock);
/* Hands it the job; json and extra are borrowed, what the socket does not take is copied.
 * -ATS_E_EOF: it was dead already, nothing was delivered. -ATS_E_NOMEM. */
ATS_NODISCARD int worker_run(struct worker *w, const struct worker_ops *ops, void *ctx,
    const struct job_head *head, const char *json, const char *extra);
/* The same with a descriptor (borrowed) that goes along. */
ATS_NODISCARD int worker_run_fd(struct worker *w, const struct worker_ops *ops, void *ctx,
    const struct job_head *head, const char *json, const char *extra, int fd);
/* MONITOR_* to a shell monitor that has its job. */
void worker_tell(struct worker *w, uint32_t what, uint32_t arg);
/* Bytes of jobs that wait in memory, of all workers. */
size_t worker_unsent(const struct front *f);
/* Closes and frees what front holds; the pool keeps the rest until the zygote says GONE.
 * ops are not called any more. */
void worker_release(struct worker *w);
/* The same for a worker that has answered: it ends when its socket closes, which waits until
 * the link is idle, so that its end does not delay the answer on its way. */
void worker_done(struct worker *w);
/* For the pool only. */
void worker_close(struct worker *w);
void worker_lost(struct worker *w, int status);
void worker_free(struct worker *w);

#endif
