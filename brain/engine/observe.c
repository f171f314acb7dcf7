/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters, hops and the calls that ended last. Runs in the engine; durations of the far side are
 * a sandbox's word, and bounded by what this side has measured. */
#include "brain/engine/observe.h"

#include <string.h>

#include "brain/engine/calls.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway.h"
#include "brain/engine/rpc.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "common/clock.h"
#include "common/map.h"

/* Of a call that an engine before this one sent: how long it took is hands' word alone. */
#define UNSEEN_MAX_US (UINT64_C(7) * 86400 * 1000000)

static uint64_t
at_most(uint64_t v, uint64_t max)
{
	return v < max ? v : max;
}

/* Hands' part lies within the time from sending to result. */
static void
bound_far_side(const struct call *c, struct outcome *o)
{
	bool seen = c->sent_us != 0 && c->result_us >= c->sent_us && c->resumed_boot[0] == '\0';
	uint64_t span = seen ? c->result_us - c->sent_us : UNSEEN_MAX_US;
	uint64_t *us = o->t.us, here;

	us[ATS_TIMING_QUEUE] = at_most(us[ATS_TIMING_QUEUE], span);
	us[ATS_TIMING_RUN] = at_most(us[ATS_TIMING_RUN], span - us[ATS_TIMING_QUEUE]);
	us[ATS_TIMING_SETUP] = at_most(us[ATS_TIMING_SETUP], us[ATS_TIMING_QUEUE]);
	here = at_most(o->here_us, span);
	if (here < us[ATS_TIMING_QUEUE] + us[ATS_TIMING_RUN])
		here = us[ATS_TIMING_QUEUE] + us[ATS_TIMING_RUN];
	us[ATS_TIMING_WORKER] = here - us[ATS_TIMING_QUEUE] - us[ATS_TIMING_RUN];
	us[ATS_TIMING_WIRE] = seen ? span - here : 0;
}

static uint64_t
hooks(const struct call *c, uint64_t now)
{
	return c->hooks_us + (c->hooked_us != 0 ? now - c->hooked_us : 0);
}

/* What is left of the time until now. */
static uint64_t
queued(const struct call *c, uint64_t now, uint64_t approval_us)
{
	uint64_t all = now - c->created_us;
	uint64_t others = c->policy_us + approval_us + c->journal_us + hooks(c, now);

	return all > others ? all - others : 0;
}

void
observe_sent(struct call *c)
{
	c->sent_us = ats_clock_us();
	c->queued_us = queued(c, c->sent_us, c->approval_us);
}

void
observe_hops(const struct call *c, struct outcome *o)
{
	uint64_t *us = o->t.us, now = ats_clock_us();

	if (c->result_us != 0)
		bound_far_side(c, o);
	us[ATS_TIMING_POLICY] = c->policy_us;
	us[ATS_TIMING_APPROVAL] = c->approval_us + (c->asked_us != 0 ? now - c->asked_us : 0);
	us[ATS_TIMING_JOURNAL] = c->journal_us;
	us[ATS_TIMING_HOOKS] = hooks(c, now);
	us[ATS_TIMING_ENGINE_QUEUE] = c->sent_us != 0 ? c->queued_us :
	    queued(c, now, us[ATS_TIMING_APPROVAL]);
	us[ATS_TIMING_TOTAL] = now - c->created_us;
}

void
observe_commit(struct call *c, uint64_t began, int rc)
{
	c->journal_us += ats_clock_us() - began;
	ats_metric_add(&c->e->observed->metrics, ATS_METRIC_JOURNAL_COMMITS,
	    rc == 0 ? ATS_LABEL_RESULT_OK : ATS_LABEL_RESULT_FAILED, 0, 1);
}

static unsigned
tool_label(const struct call *c)
{
	return c->tool != NULL ? (unsigned)ats_tool_id(c->tool) :
	    c->gateway != NULL ? ATS_LABEL_TOOL_GATEWAY : ATS_LABEL_TOOL_EXEC;
}

static unsigned
outcome_label(const struct outcome *o)
{
	if (o->kind == OUTCOME_DONE)
		return o->is_error ? ATS_LABEL_OUTCOME_ERROR : ATS_LABEL_OUTCOME_OK;
	/* What policy refuses will not start later either. */
	if (o->kind == OUTCOME_NOT_STARTED && o->code == ATS_E_DENIED)
		return ATS_LABEL_OUTCOME_ERROR;
	return o->kind == OUTCOME_NOT_STARTED ? ATS_LABEL_OUTCOME_NOT_STARTED :
						ATS_LABEL_OUTCOME_UNKNOWN;
}

static void
count(struct ats_metrics *m, const struct call *c, const struct outcome *o)
{
	unsigned tool = tool_label(c);

	ats_metric_add(m, ATS_METRIC_CALLS, tool, outcome_label(o), 1);
	ats_metric_time(m, ATS_METRIC_CALL_TIME, tool, o->t.us[ATS_TIMING_TOTAL]);
	for (unsigned i = 0; i < ATS_TIMINGS; i++)
		if (o->t.us[i] != 0)
			ats_metric_time(m, ATS_METRIC_HOP_TIME, i, o->t.us[i]);
	ats_metric_add(m, ATS_METRIC_CALL_IN, tool, 0, c->input_len);
	ats_metric_add(m, ATS_METRIC_CALL_OUT, tool, 0, o->payload.n);
}

void
observe_ended(struct engine *e, const struct call *c, const struct outcome *o)
{
	struct observed *v = e->observed;
	struct ended_call *r = &v->recent[v->next];

	if (!c->validate)
		count(&v->metrics, c, o);
	if (c->session == NULL)
		return;
	v->next = (v->next + 1) % OBSERVE_RECENT;
	r->id = c->id;
	r->uid = c->session->uid;
	memcpy(r->session, c->session->id, sizeof(r->session));
	if (c->box != NULL)
		memcpy(r->sandbox, c->box->id, sizeof(r->sandbox));
	else
		r->sandbox[0] = '\0';
	(void)memccpy(r->tool, call_tool_name(c), '\0', sizeof(r->tool) - 1);
	r->ended_ms = ats_clock_wall_ms();
	r->kind = o->kind;
	r->is_error = o->is_error;
	r->code = o->code;
	r->attempt = c->attempt;
	r->bytes = o->payload.n;
	r->t = o->t;
}

const struct ended_call *
observe_each(const struct engine *e, size_t *pos)
{
	const struct observed *v = e->observed;
	const struct ended_call *c;

	if (*pos >= OBSERVE_RECENT)
		return NULL;
	++*pos;
	c = &v->recent[(v->next + OBSERVE_RECENT - *pos) % OBSERVE_RECENT];
	return c->id == 0 ? NULL : c;
}

const struct ended_call *
observe_find(const struct engine *e, uint64_t id)
{
	const struct ended_call *c;
	size_t pos = 0;

	while ((c = observe_each(e, &pos)) != NULL)
		if (c->id == id)
			return c;
	return NULL;
}

void
observe_write_timings(struct ats_json_w *w, const struct ats_timings *t)
{
	ats_json_w_object(w, "timings");
	for (unsigned i = 0; i < ATS_TIMINGS; i++)
		ats_json_w_u64(w, ats_timing_names[i], t->us[i]);
	ats_json_w_end(w);
}

void
observe_write_call(struct ats_json_w *w, const struct ended_call *c)
{
	ats_json_w_str(w, "tool", c->tool);
	ats_json_w_str(w, "session", c->session);
	if (c->sandbox[0] != '\0')
		ats_json_w_str(w, "sandbox", c->sandbox);
	ats_json_w_u64(w, "attempt", c->attempt);
	ats_json_w_i64(w, "ended", c->ended_ms);
	ats_json_w_str(w, "state", "answered");
	ats_json_w_str(w, "outcome", outcome_name(c->kind));
	ats_json_w_bool(w, "is_error", c->is_error);
	if (c->code != 0)
		ats_json_w_str(w, "code", ats_err_name(c->code));
	ats_json_w_u64(w, "bytes", c->bytes);
	observe_write_timings(w, &c->t);
}

/* ---- text -------------------------------------------------------------------------- */

static unsigned
level_of(const struct sandbox *box)
{
	static const char *const names[] = { [ATS_LABEL_LEVEL_NAMESPACES] = "namespaces",
		[ATS_LABEL_LEVEL_UID_LANDLOCK] = "uid+landlock",
		[ATS_LABEL_LEVEL_LANDLOCK] = "landlock", [ATS_LABEL_LEVEL_NO] = "none" };
	struct ats_slice all = { box->confinement, 0 };

	if (all.p == NULL)
		return ATS_LABEL_LEVEL_OTHER;
	all.n = strlen(all.p);
	for (unsigned i = 0; i < ATS_ARRAY_LEN(names); i++)
		if (ats_json_member_is(all, "level", names[i]))
			return i;
	return ATS_LABEL_LEVEL_OTHER;
}

static void
gauge(struct engine *e, enum ats_metric id, uint64_t v)
{
	ats_metric_set(&e->observed->metrics, id, 0, 0, v);
}

static void
look_at_boxes(struct engine *e)
{
	struct ats_metrics *m = &e->observed->metrics;
	const struct sandbox *box;
	uint64_t queued = 0;
	size_t pos = 0;

	for (unsigned i = 0; i < ATS_LABEL_STATE_N; i++)
		ats_metric_set(m, ATS_METRIC_SANDBOXES, i, 0, 0);
	for (unsigned i = 0; i < ATS_LABEL_LEVEL_N; i++)
		ats_metric_set(m, ATS_METRIC_SANDBOXES_READY, i, 0, 0);
	while ((box = sandboxes_each(e->boxes, &pos)) != NULL) {
		queued += box->nqueue;
		ats_metric_add(m, ATS_METRIC_SANDBOXES, (unsigned)box->state, 0, 1);
		if (box->state == SANDBOX_READY)
			ats_metric_add(m, ATS_METRIC_SANDBOXES_READY, level_of(box), 0, 1);
	}
	gauge(e, ATS_METRIC_CALLS_QUEUED, queued);
}

int
observe_text(struct engine *e, struct ats_buf *out)
{
	gauge(e, ATS_METRIC_UP_SECONDS, (ats_clock_us() - e->started_us) / 1000000);
	gauge(e, ATS_METRIC_CLIENTS, door_count(e->door));
	gauge(e, ATS_METRIC_SESSIONS, sessions_count(e->sessions));
	gauge(e, ATS_METRIC_CALLS_ALIVE, calls_count(e->calls));
	gauge(e, ATS_METRIC_APPROVALS_WAITING, gateway_waiting_all(e));
	gauge(e, ATS_METRIC_SUBSCRIBERS, events_subscribers(e->events));
	gauge(e, ATS_METRIC_JOURNAL_ROWS, store_rows(e->store));
	look_at_boxes(e);
	observe_count(e, ATS_METRIC_SCRAPES);
	return ats_metrics_write(&e->observed->metrics, ATS_METRIC_ENGINE, out);
}

void
observe_count(struct engine *e, enum ats_metric id)
{
	ats_metric_add(&e->observed->metrics, id, 0, 0, 1);
}
