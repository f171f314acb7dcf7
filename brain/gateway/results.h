/* SPDX-License-Identifier: Apache-2.0
 *
 * The link to the engine, and the results that it has not acknowledged. On the link we are as
 * hands is (frames.def): RESULT and EVENT_PROGRESS go, ACK comes, and nothing else. */
#ifndef ATS_GATEWAY_RESULTS_H
#define ATS_GATEWAY_RESULTS_H

#include <stdint.h>

#include "common/err.h"

struct event_base;
struct mask;
struct result;
struct results;

struct results *results_new(struct event_base *base);	/* returns owned, or NULL */
void results_free(struct results *rs);			/* NULL is fine */
/* Takes fd. What is kept is sent again over it. */
void results_link(struct results *rs, int fd);
/* Keeps the RESULT of a call, and sends it. When there are too many the oldest is forgotten: the
 * engine then ends that call as unknown. -ATS_E_NOMEM, -ATS_E_TOOBIG, -ATS_E_FIELD: not kept. */
ATS_NODISCARD int results_add(struct results *rs, uint64_t call, struct result *r,
    uint64_t run_us);
/* Sends an EVENT_PROGRESS, if there is a link with room. */
void results_progress(struct results *rs, uint64_t call, const struct mask *m,
    const char *message, bool has_done, uint64_t done);

#endif
