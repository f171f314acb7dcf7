/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks of a workspace's own settings: hands reads these, and runs what they name in the sandbox.
 * Runs in the engine; all that comes back is a sandbox's. */
#include "brain/engine/calls.h"
#include "brain/engine/hooks.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/link.h"
#include "brain/engine/sandbox.h"
#include "common/clock.h"
#include "common/frame.h"
#include "common/log.h"
#include "common/map.h"
#include "proto/msg.h"

#define LIMIT_MS (ATS_HOOK_TIMEOUT_MAX_S * 1000u + 10000u)

/* A run of this sandbox that was sent, or waits. Looked for anew after each: the end of one may end
 * others. */
static struct hook_run *
next_of(const struct sandbox *box, bool sent)
{
	struct hook_run *r;

	TAILQ_FOREACH(r, &box->e->hooks->runs, link)
		if (r->side == HOOK_BOX && r->box == box && (r->id != 0) == sent)
			return r;
	return NULL;
}

bool
hooks_box_is_awaited(const struct sandbox *box)
{
	return box->e->hooks != NULL && next_of(box, false) != NULL;
}

void
hooks_box_ready(struct sandbox *box, bool may)
{
	struct hook_run *r;
	struct ats_err err = { 0 };

	/* Which events have any shows with the first of them. */
	box->hook_events = may && box->e->set.workspace_hooks != 0 ?
	    ATS_HOOK_BIT(ATS_HOOK_EVENTS) - 1 : 0;
	box->e->hooks_on = box->e->hooks_on || box->hook_events != 0;
	if (box->e->hooks == NULL)
		return;
	while ((r = next_of(box, false)) != NULL) {
		if (box->hook_events == 0)
			hook_run_end(r, NULL, 0);
		else if (hook_box_start(r, &err) < 0)
			hook_run_fail(r, err.text);
	}
}

void
hooks_box_lost(struct sandbox *box)
{
	struct hook_run *r;

	if (box->e->hooks == NULL)
		return;
	while ((r = next_of(box, true)) != NULL) {
		(void)ats_map_del(r->h->boxes, r->id);
		r->id = 0;
		hook_run_fail(r, "the sandbox was lost while they ran");
	}
}

void
hooks_box_refused(struct sandbox *box, const char *why)
{
	struct hook_run *r;

	if (box->e->hooks == NULL)
		return;
	while ((r = next_of(box, false)) != NULL)
		hook_run_fail(r, why);
}

/* ---- the start ----------------------------------------------------------------------- */

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	struct hook_run *r = arg;
	bool sent = r->id != 0;

	(void)fd;
	(void)what;
	hook_box_stop(r);
	hook_run_fail(r, sent ? "the sandbox gave no answer in time" :
	    "no sandbox was ready in time");
}

static int
set_timer(struct hook_run *r, uint64_t ms)
{
	struct timeval tv = ats_timeval_ms(ms);

	if (r->timer == NULL)
		r->timer = event_new(r->h->e->base, -1, 0, on_time, r);
	return r->timer == NULL || event_add(r->timer, &tv) < 0 ? -ATS_E_NOMEM : 0;
}

int
hook_box_start(struct hook_run *r, struct ats_err *err)
{
	struct sandbox *box = r->box;
	struct engine *e = r->h->e;
	struct ats_msg_CALL_HOOK m = {
		.event = ats_hook_event_rows[r->event].name, .name = r->name,
		.input = { r->input.data, r->input.len }, .session = r->session,
		.deadline_ms = LIMIT_MS, .has_deadline_ms = true,
	};
	bool ready = box->state == SANDBOX_READY;
	int rc;

	if (set_timer(r, ready ? LIMIT_MS + HOOKS_LATE_MS : e->set.queue_ms) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	if (!ready) {
		sandbox_want(box);
		return 0;
	}
	if (!hooks_wanted(e, HOOK_BOX, box, r->event, r->name))
		return ats_err_set(err, ATS_E_NOENT, "the workspace has no hooks");
	rc = link_send(box, ATS_FRAME_CALL_HOOK, e->calls->next_pure, &m, err);
	if (rc == 0 && ats_map_put(r->h->boxes, e->calls->next_pure, r) < 0) {
		link_cancel(box, e->calls->next_pure++, "cancelled");
		return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
	}
	if (rc == 0)
		r->id = e->calls->next_pure++;
	return rc;
}

void
hook_box_stop(struct hook_run *r)
{
	if (r->id == 0)
		return;
	(void)ats_map_del(r->h->boxes, r->id);
	link_cancel(r->box, r->id, "cancelled");
	r->id = 0;
}

/* ---- the answer ---------------------------------------------------------------------- */

static enum hook_end
end_of(const char *exit, unsigned code)
{
	if (strcmp(exit, "timeout") == 0)
		return HOOK_TIMED_OUT;
	if (strcmp(exit, "exit") != 0)
		return HOOK_FAILED;
	return code == 0 ? HOOK_RAN : code == 2 ? HOOK_BLOCKED : HOOK_FAILED;
}

static bool
take_number(struct ats_slice object, const char *name, uint64_t max, uint64_t *ret)
{
	struct ats_json_val v;

	return ats_json_get(object, name, &v) && ats_json_to_u64(&v, ret) == 0 && *ret <= max;
}

static int
take_one(struct ats_slice object, struct ats_slice *payload, struct hook_one *one)
{
	uint64_t code, out, err, ms;
	struct ats_json_val exit, v;
	char *word;

	if (!ats_json_get(object, "exit", &exit) || exit.type != ATS_JSON_STRING ||
	    exit.raw.n > 20 || !take_number(object, "code", 255, &code) ||
	    !take_number(object, "out", ATS_HOOK_STDOUT_MAX, &out) ||
	    !take_number(object, "err", ATS_HOOK_STDERR_MAX, &err) ||
	    !take_number(object, "ms", UINT32_MAX, &ms) || out + err > payload->n)
		return -ATS_E_FIELD;
	word = ats_json_dup_str(&exit);
	if (word == NULL)
		return -ATS_E_FIELD;
	*one = (struct hook_one){ .code = (unsigned)code, .ms = ms,
		.out = { payload->p, (size_t)out }, .err = { payload->p + out, (size_t)err } };
	one->end = end_of(word, one->code);
	if (one->end == HOOK_FAILED)
		hook_say_code(one->why, strcmp(word, "exit") != 0, one->code);
	else if (one->end == HOOK_TIMED_OUT)
		(void)snprintf(one->why, sizeof(one->why), "its time was over");
	free(word);
	one->cut = ats_json_get(object, "cut", &v) && v.type == ATS_JSON_BOOL && v.b;
	one->blocks = ats_json_get(object, "blocks", &v) && v.type == ATS_JSON_BOOL && v.b;
	payload->p += out + err;
	payload->n -= (size_t)(out + err);
	return 0;
}

/* How many, or that it is not what hands would send. */
static int
take_all(struct sandbox *box, struct ats_slice output, struct ats_slice payload,
    struct hook_one ones[ATS_HOOKS_MATCHED_MAX], struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_json_val v, e;
	struct ats_slice none;
	uint64_t events;
	unsigned n = 0;

	if (ats_json_type(output) != ATS_JSON_OBJECT ||
	    !take_number(output, "events", ATS_HOOK_BIT(ATS_HOOK_EVENTS) - 1, &events) ||
	    !ats_json_get(output, "hooks", &v) || v.type != ATS_JSON_ARRAY)
		return ats_err_set(err, ATS_E_FIELD, "result.output: not one of hooks");
	ats_json_iter_init(&it, v.raw);
	while (ats_json_next(&it, &none, &e)) {
		if (n == ATS_HOOKS_MATCHED_MAX || e.type != ATS_JSON_OBJECT ||
		    take_one(e.raw, &payload, &ones[n]) < 0)
			return ats_err_set(err, ATS_E_FIELD, "result.output.hooks: a bad one");
		ones[n].index = n;
		n++;
	}
	box->hook_events = events;
	return (int)n;
}

static void
log_note(const struct sandbox *box, struct ats_slice output)
{
	struct ats_json_val v;
	char quoted[400];

	if (ats_json_get(output, "note", &v) && v.type == ATS_JSON_STRING && v.raw.n > 2)
		ats_log(ATS_LOG_WARN, "settings of a workspace", "sandbox=%s note=%s", box->id,
		    ats_log_quote(quoted, sizeof(quoted), v.raw.p + 1, v.raw.n - 2));
}

int
hooks_on_result(struct sandbox *box, const struct ats_msg_RESULT *m, const struct ats_frame *f,
    struct ats_err *err)
{
	struct hook_run *r = ats_map_get(box->e->hooks->boxes, f->head.call);
	struct hook_one ones[ATS_HOOKS_MATCHED_MAX];
	struct ats_slice payload = { f->payload, f->payload_n };
	struct outcome o;
	int rc;

	if (r == NULL || r->box != box)
		return 0;
	rc = dispatch_read_outcome(m, f, &o, err);
	if (rc == 0 && !o.is_error)
		rc = take_all(box, o.output, payload, ones, err);
	if (rc < 0)
		return rc;
	(void)ats_map_del(r->h->boxes, r->id);
	r->id = 0;
	box->failures = 0;
	if (o.is_error) {
		char why[160];

		(void)snprintf(why, sizeof(why), "%.*s", (int)(payload.n < 150 ? payload.n : 150),
		    payload.n > 0 ? payload.p : "");
		hook_run_fail(r, why);
	} else {
		log_note(box, o.output);
		hook_run_end(r, ones, (size_t)rc);
	}
	return 1;
}
