/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be seen of the engine from outside: its counters (proto/metrics.def), where the time
 * of each call went, and the calls that ended last. Nothing here allocates on a call's way. */
#ifndef ATS_ENGINE_OBSERVE_H
#define ATS_ENGINE_OBSERVE_H

#include "brain/engine/call.h"
#include "brain/engine/sessions.h"
#include "proto/brain.h"
#include "proto/metrics.h"

#define OBSERVE_RECENT 512u	/* calls that have ended and are still shown */

struct ats_json_w;

struct ended_call {			/* one that was answered */
	uint64_t id, uid;		/* id 0: none */
	char session[SESSION_ID_MAX + 1], sandbox[33];	/* or "" */
	char tool[ATS_GATEWAY_TOOL_MAX];
	int64_t ended_ms;		/* wall clock */
	enum outcome_kind kind;
	bool is_error;
	int code;
	unsigned attempt;
	size_t bytes;			/* of its answer */
	struct ats_timings t;
};
struct observed {
	struct ats_metrics metrics;
	size_t next;			/* place of the next one that ends */
	struct ended_call recent[OBSERVE_RECENT];
};

/* It goes out now: sets sent_us, and how long it was queued. */
void observe_sent(struct call *c);
/* Fills o->t with what is known of c but the total: what hands or a gateway said of itself stays
 * only as far as this engine's clock bears it out. */
void observe_hops(const struct call *c, struct outcome *o);
/* A commit of the journal for it, since began. */
void observe_commit(struct call *c, uint64_t began, int rc);
/* It was answered with o. */
void observe_ended(struct engine *e, const struct call *c, const struct outcome *o);
/* The one of this id, if it ended not long ago; NULL otherwise. */
const struct ended_call *observe_find(const struct engine *e, uint64_t id);
/* The next older one after this place, the newest first; *pos begins at 0. NULL: that was all. */
const struct ended_call *observe_each(const struct engine *e, size_t *pos);
/* Its members, but id and kind. */
void observe_write_call(struct ats_json_w *w, const struct ended_call *c);
void observe_write_timings(struct ats_json_w *w, const struct ats_timings *t);
/* All metrics of the engine as text of Prometheus. */
ATS_NODISCARD int observe_text(struct engine *e, struct ats_buf *out);
/* One more of a metric without labels. */
void observe_count(struct engine *e, enum ats_metric id);

#endif
