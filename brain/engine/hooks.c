/* SPDX-License-Identifier: Apache-2.0
 *
 * What hooks there are, and their runs. Runs in the engine; the configuration's come from the
 * vault, matchers look at a client's names. */
#include "brain/engine/hooks.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/observe.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "common/log.h"
#include "common/map.h"

#define RUNS_MAX 4096u			/* under way in all */

struct hooks *
hooks_new(struct engine *e)
{
	struct hooks *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->e = e;
	TAILQ_INIT(&h->waiting);
	TAILQ_INIT(&h->runs);
	TAILQ_INIT(&h->asked);
	h->hosts = ats_map_new(ATS_HOOKS_AT_ONCE + 1);
	h->boxes = ats_map_new(RUNS_MAX + 1);
	if (h->hosts == NULL || h->boxes == NULL) {
		hooks_free(h);
		return NULL;
	}
	return h;
}

void
hooks_free(struct hooks *h)
{
	if (h == NULL)
		return;
	while (!TAILQ_EMPTY(&h->runs))
		hooks_cancel(TAILQ_FIRST(&h->runs));
	for (size_t i = 0; i < h->n; i++)
		free(h->conf[i].matcher);
	ats_map_free(h->hosts);
	ats_map_free(h->boxes);
	free(h);
}

int
hooks_on_conf(struct engine *e, uint64_t index, uint64_t event, uint64_t timeout_ms,
    const char *matcher, uint64_t blocks)
{
	struct hooks *h = e->hooks;
	struct hook_conf *k;

	if (index != h->n || index >= ATS_HOOKS_MAX || event >= ATS_HOOK_EVENTS ||
	    sessions_count(e->sessions) > 0)
		return -ATS_E_PROTO;
	k = &h->conf[h->n];
	*k = (struct hook_conf){ .event = (enum ats_hook_event)event, .timeout_ms = timeout_ms,
		.blocks = blocks != 0 };
	k->matcher = matcher[0] != '\0' ? strdup(matcher) : NULL;
	if (matcher[0] != '\0' && k->matcher == NULL)
		return -ATS_E_NOMEM;
	h->n++;
	h->events |= ATS_HOOK_BIT(event);
	e->hooks_on = true;
	return 0;
}

bool
hooks_wanted(const struct engine *e, enum hook_side side, const struct sandbox *box,
    enum ats_hook_event event, const char *name)
{
	const struct hooks *h = e->hooks;

	if (side == HOOK_BOX)
		return box != NULL && (box->hook_events & ATS_HOOK_BIT(event)) != 0;
	if ((h->events & ATS_HOOK_BIT(event)) == 0)
		return false;
	for (size_t i = 0; i < h->n; i++)
		if (h->conf[i].event == event &&
		    (name[0] == '\0' || ats_hook_matches(h->conf[i].matcher, name)))
			return true;
	return false;
}

static void
run_free(struct hook_run *r)
{
	TAILQ_REMOVE(&r->h->runs, r, link);
	r->h->nruns--;
	if (r->timer != NULL)
		event_free(r->timer);
	ats_buf_done(&r->input);
	free(r->name);
	free(r->hosts);
	free(r);
}

struct hook_run *
hooks_run(struct engine *e, enum hook_side side, const struct hook_ask *ask, hook_done *done,
    void *ctx, struct ats_err *err)
{
	struct hook_run *r;
	int rc;

	if (e->hooks->nruns >= RUNS_MAX) {
		(void)ats_err_set(err, ATS_E_FULL, "hooks of %u events run already", RUNS_MAX);
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		(void)ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
		return NULL;
	}
	r->h = e->hooks;
	r->side = side;
	r->event = ask->event;
	r->box = ask->session->box;
	r->done = done;
	r->ctx = ctx;
	(void)memccpy(r->session, ask->session->id, '\0', sizeof(r->session) - 1);
	ats_buf_init(&r->input, ATS_HOOK_INPUT_MAX);
	TAILQ_INSERT_TAIL(&e->hooks->runs, r, link);
	e->hooks->nruns++;
	r->name = strdup(ask->name);
	rc = r->name == NULL ? -ATS_E_NOMEM : hook_input_write(ask, &r->input);
	if (rc == -ATS_E_TOOBIG)
		rc = ats_err_set(err, ATS_E_TOOBIG, "hooks read at most %u bytes, this has more",
		    ATS_HOOK_INPUT_MAX);
	else if (rc < 0)
		rc = ats_err_set(err, -rc, "%s", ats_err_text(rc));
	else
		rc = side == HOOK_HOST ? hook_host_start(r, err) : hook_box_start(r, err);
	if (rc == 0) {
		e->hooks->ran++;
		return r;
	}
	hooks_cancel(r);
	return NULL;
}

void
hooks_cancel(struct hook_run *r)
{
	if (r == NULL)
		return;
	if (r->side == HOOK_HOST)
		hook_host_stop(r);
	else
		hook_box_stop(r);
	run_free(r);
}

static void
tell(const struct hook_run *r, const struct hook_one *one)
{
	struct engine *e = r->h->e;
	const struct session *s = sessions_find(e->sessions, r->session);
	char text[EVENTS_TEXT];

	ats_metric_add(&e->observed->metrics, ATS_METRIC_HOOKS, one->end, 0, 1);
	if (s == NULL)
		return;
	(void)snprintf(text, sizeof(text), "%s %s %u: %s",
	    ats_hook_event_rows[r->event].name, r->side == HOOK_HOST ? "host" : "workspace",
	    one->index, hook_end_name(one->end));
	events_emit(e, s->uid, "hook.end", s->id, s->box->id, 0, text);
}

/* The first line that it wrote to its standard error: often all that says what is wrong. */
static struct ats_slice
first_line(struct ats_slice s)
{
	const char *end = s.n > 0 ? memchr(s.p, '\n', s.n) : NULL;

	return (struct ats_slice){ s.p, end != NULL ? (size_t)(end - s.p) : s.n };
}

/* For people: the log, and of the configuration's what status says of it. */
static void
note(const struct hook_run *r, const struct hook_one *one)
{
	bool failed = one->end != HOOK_RAN && one->end != HOOK_BLOCKED;
	bool host = r->side == HOOK_HOST && one->index < r->h->n;
	struct ats_slice line = first_line(one->err);
	char why[2 * HOOK_WHY_MAX], said[2 * HOOK_WHY_MAX], matcher[HOOK_WHY_MAX];
	struct hook_conf *k = host ? &r->h->conf[one->index] : NULL;
	const char *m = k == NULL ? "" : k->matcher != NULL ? k->matcher : "*";

	if (k != NULL)
		(void)snprintf(k->failure, sizeof(k->failure), "%s", failed ? one->why : "");
	if (!failed)
		return;
	ats_log(ATS_LOG_WARN, "a hook failed",
	    "session=%s event=%s hooks=%s index=%u matcher=%s code=%u ms=%llu why=%s stderr=%s",
	    r->session, ats_hook_event_rows[r->event].name, host ? "host" : "workspace", one->index,
	    ats_log_quote(matcher, sizeof(matcher), m, strlen(m)), one->code,
	    (unsigned long long)one->ms,
	    ats_log_quote(why, sizeof(why), one->why, strlen(one->why)),
	    ats_log_quote(said, sizeof(said), line.p, line.n));
}

void
hook_run_end(struct hook_run *r, struct hook_one *ones, size_t n)
{
	hook_done *done = r->done;
	void *ctx = r->ctx;
	enum hook_side side = r->side;
	struct hook_verdict v;

	hook_verdict_init(&v);
	for (size_t i = 0; i < n; i++) {
		hook_verdict_add(&v, side, r->event, &ones[i]);
		tell(r, &ones[i]);
		note(r, &ones[i]);
	}
	run_free(r);
	done(ctx, side, &v);
	hook_verdict_done(&v);
}

void
hook_run_fail(struct hook_run *r, const char *why)
{
	struct hook_one one = { .end = HOOK_FAILED };

	(void)snprintf(one.why, sizeof(one.why), "%s", why);
	hook_run_end(r, &one, 1);
}

void
hooks_write(struct ats_json_w *w, const struct hooks *h)
{
	ats_json_w_array(w, "hooks");
	for (size_t i = 0; i < h->n; i++) {
		const struct hook_conf *k = &h->conf[i];

		ats_json_w_object(w, NULL);
		ats_json_w_str(w, "event", ats_hook_event_rows[k->event].name);
		ats_json_w_str(w, "matcher", k->matcher == NULL ? "*" : k->matcher);
		ats_json_w_u64(w, "timeout_ms", k->timeout_ms);
		ats_json_w_bool(w, "blocks", k->blocks);
		if (k->failure[0] != '\0')
			ats_json_w_str(w, "failure", k->failure);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}
