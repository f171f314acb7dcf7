/* SPDX-License-Identifier: Apache-2.0
 *
 * The other end of front's private sockets (hands/job.h). Sizes are checked all the same. */
#ifndef ATS_HANDS_WORKER_JOB_H
#define ATS_HANDS_WORKER_JOB_H

#include <stddef.h>

#include "common/err.h"
#include "hands/job.h"

#define JOB_JSON_MAX (18u << 20)
#define JOB_EXTRA_MAX (8u << 20)

struct job {
	struct job_head head;
	char *json;		/* json_len bytes and a NUL, then extra and a NUL */
	char *extra;
	char *big;		/* private: allocation, or NULL */
	int fd;			/* that came along (JOB_INPUT), owned, or -1 */
};
/* Waits for the job. small is used for jobs that fit (borrowed). 1, or a negative code:
 * -ATS_E_EOF when front closed before it sent a whole one. */
ATS_NODISCARD int job_read(int sock, char *small, size_t small_size, struct job *ret);
/* Of a shell's job: its cwd and up to max of its K=V strings, borrowed from it. 0 or
 * -ATS_E_PROTO. */
ATS_NODISCARD int job_strings(const struct job *j, const char **ret_cwd, const char **ret,
    size_t max, size_t *ret_n);
/* Of an exec's: its words, borrowed, and a NULL, max in all (at least 1). Returns how many;
 * the last NUL of the job may be missing. */
size_t job_argv(const struct job *j, const char **argv, size_t max);
/* What front wants now. 1: *ret is an order (a zygote's WANT or KILL); 0: nothing that is one;
 * -ATS_E_EOF: front is gone or sends what it never would. A monitor's blocks for the rest of
 * one that has begun. */
ATS_NODISCARD int order_zygote(int sock, struct zygote_msg *ret);
ATS_NODISCARD int order_monitor(int sock, struct monitor_msg *ret);
/* Sends one reply; blocks. */
ATS_NODISCARD int job_reply(int sock, uint32_t what, const void *json, size_t json_len,
    const void *payload, size_t payload_len);
/* The same, and a descriptor (borrowed) goes along with its first byte. */
ATS_NODISCARD int job_reply_fd(int sock, uint32_t what, const void *json, size_t json_len,
    const void *payload, size_t payload_len, int fd);
/* Waits until front has closed its end. A process that has sent its last reply does so before
 * it exits: taking it down costs more than a small job, and front can do its part first. */
void job_wait_release(int sock);

#endif
