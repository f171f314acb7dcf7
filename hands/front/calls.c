/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of calls, and how they end. Runs in hands' front. Results come from workers and
 * were checked before they get here. */
#include "hands/front/calls_private.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "hands/front/upgrade.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_US 2000 /* results that the full link did not take are tried again after \
		       */

static void on_retry(evutil_socket_t fd, short what, void *arg);

struct calls *
calls_new(struct front *f)
{
	struct calls *t = ats_calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->f = f;
	t->map = ats_map_new(CALLS_MAX);
	if (t->map == NULL || evtimer_assign(&t->retry, f->base, on_retry, t) < 0) {
		ats_map_free(t->map);
		free(t);
		return NULL;
	}
	return t;
}

struct call *
calls_find(const struct calls *t, uint64_t id)
{
	return ats_map_get(t->map, id);
}

size_t
calls_active(const struct calls *t)
{
	return t->active;
}

/* ---- the life of a call ------------------------------------------------------------ */
static void
free_part(struct call *c)
{
	if (c->ops != NULL && c->ops->free != NULL)
		c->ops->free(c);
	c->ops = NULL;
	c->part = NULL;
}

void
call_end_active(struct call *c)
{
	if (c->state != CALL_ACTIVE)
		return;
	(void)evtimer_del(&c->timer);
	c->f->calls->active--;
	c->state = CALL_KEPT;
	upgrade_poke(c->f);
}

static void
call_free(struct call *c)
{
	struct calls *t = c->f->calls;

	call_end_active(c);
	free_part(c);
	(void)ats_map_del(t->map, c->id);
	t->kept_bytes -= c->json.len + c->payload.len;
	t->unsent -= c->unsent;
	ats_buf_done(&c->json);
	ats_buf_done(&c->payload);
	free(c);
	if (t->f->draining && t->active == 0)
		front_stop_if_drained(t->f);
}

void
calls_free(struct calls *t)
{
	struct call *c;

	if (t == NULL)
		return;
	(void)evtimer_del(&t->retry);
	for (size_t i = 0; (c = ats_map_each(t->map, &i)) != NULL;)
		call_free(c);
	ats_map_free(t->map);
	free(t);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct call *c = arg;

	(void)fd;
	(void)what;
	if (c->ops != NULL && c->ops->cancel != NULL)
		c->ops->cancel(c, true);
}

void
call_deadline(struct call *c, uint64_t ms)
{
	struct timeval tv = ats_timeval_ms(ms);

	c->deadline_us = ms == 0 ? 0 : ats_clock_us() + ms * 1000;
	if (ms == 0)
		(void)evtimer_del(&c->timer);
	else
		(void)evtimer_add(&c->timer, &tv);
}

void
call_started(struct call *c)
{
	if (c->start_us == 0)
		c->start_us = ats_clock_us();
}

struct call *
call_alloc(struct calls *t, uint64_t id, const char *session, uint64_t fingerprint)
{
	struct call *c = ats_calloc(1, sizeof(*c));

	if (c != NULL && ats_map_put(t->map, id, c) < 0) {
		free(c);
		c = NULL;
	}
	if (c == NULL)
		return NULL;
	c->id = id;
	c->f = t->f;
	c->state = CALL_ACTIVE;
	c->fingerprint = fingerprint;
	c->arrival_us = ats_clock_us();
	(void)snprintf(c->session, sizeof(c->session), "%s", session);
	(void)evtimer_assign(&c->timer, t->f->base, on_deadline, c);
	ats_buf_init(&c->json, WORKER_JSON_MAX + 256);
	ats_buf_init(&c->payload, WORKER_PAYLOAD_MAX);
	t->active++;
	return c;
}

struct call *
call_new(struct calls *t, uint64_t id, const char *session, uint64_t fingerprint)
{
	struct call *c = NULL;

	if (t->active < CALLS_ACTIVE && t->kept_bytes < CALLS_KEPT_BYTES &&
	    worker_unsent(t->f) < CALLS_UNSENT_JOBS && !t->f->draining)
		c = call_alloc(t, id, session, fingerprint);
	if (c == NULL)
		link_refuse(t->f->link, id, t->f->draining ? ATS_E_BUSY : ATS_E_FULL,
		    t->f->draining ? "the sandbox is ending" : "too many calls at once");
	return c;
}

/* ---- answers ----------------------------------------------------------------------- */
void
call_send_kept(struct call *c)
{
	struct calls *t = c->f->calls;
	struct timeval tv = { .tv_usec = RETRY_US };
	bool was = c->unsent;
	int rc = link_send(c->f->link, ATS_FRAME_RESULT, c->id, c->json.data, c->json.len,
	    c->payload.data, c->payload.len);

	c->unsent = rc == -ATS_E_FULL || rc == -ATS_E_NOMEM;
	t->unsent += c->unsent;
	t->unsent -= was;
	if (c->unsent)
		(void)evtimer_add(&t->retry, &tv);
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct calls *t = arg;
	struct call *c;

	(void)fd;
	(void)what;
	for (size_t i = 0; t->unsent > 0 && (c = ats_map_each(t->map, &i)) != NULL;) {
		if (!c->unsent)
			continue;
		call_send_kept(c);
		if (c->unsent)
			return;
		if (!c->keep)
			call_free(c);
	}
}

static bool
store(struct call *c, const char *json, size_t json_len, const char *payload, size_t n)
{
	if (ats_buf_add(&c->json, json, json_len) < 0 ||
	    (n > 0 && ats_buf_add(&c->payload, payload, n) < 0)) {
		ats_buf_reset(&c->json);
		return false;
	}
	c->f->calls->kept_bytes += c->json.len + c->payload.len;
	return true;
}

/* The one place where a result leaves. */
static void
deliver(struct call *c, const char *json, size_t json_len, const char *payload, size_t n)
{
	struct front *f = c->f;
	int rc = link_send(f->link, ATS_FRAME_RESULT, c->id, json, json_len, payload, n);

	call_end_active(c);
	if (!c->keep || c->ops == NULL || !c->ops->keeps_part)
		free_part(c);
	if (c->keep || rc == -ATS_E_FULL || rc == -ATS_E_NOMEM) {
		if (!store(c, json, json_len, payload, n)) {
			ats_log(ATS_LOG_ERROR, "a result is lost",
			    "session=%s call=c-%" PRIu64 " code=no_memory", c->session, c->id);
			call_free(c);
		} else if (rc == -ATS_E_FULL || rc == -ATS_E_NOMEM) {
			struct timeval tv = { .tv_usec = RETRY_US };

			c->unsent = true;
			f->calls->unsent++;
			(void)evtimer_add(&f->calls->retry, &tv);
		}
	} else {
		call_free(c);
	}
	pool_touch(f->pool);
	front_stop_if_drained(f);
}

static void
times(const struct call *c, struct ats_msg_RESULT *r)
{
	uint64_t now = ats_clock_us();
	uint64_t start = c->start_us == 0 ? now : c->start_us;

	r->queue_us = start - c->arrival_us;
	r->setup_us = c->setup_us < r->queue_us ? c->setup_us : r->queue_us;
	r->run_us = now - start;
	r->here_us = now - c->arrival_us;
	r->has_queue_us = r->has_run_us = r->has_here_us = true;
	r->has_setup_us = r->setup_us > 0;
}

void
call_answer(struct call *c, struct ats_msg_RESULT *r, const char *payload, size_t n)
{
	struct ats_buf *out = &c->f->out;
	struct ats_err err;

	times(c, r);
	if (r->outcome == NULL)
		r->outcome = "done";
	ats_buf_reset(out);
	if (ats_msg_encode(&ats_frame_rows[ATS_FRAME_RESULT].shape, r, out, &err) < 0) {
		static const char json[] = "{\"outcome\":\"done\",\"is_error\":true,"
					   "\"code\":\"no_memory\"}";

		ats_log(ATS_LOG_ERROR, "a result could not be written",
		    "session=%s call=c-%" PRIu64 " code=%s", c->session, c->id,
		    ats_err_name(err.code));
		deliver(c, json, sizeof(json) - 1, payload, n);
		return;
	}
	deliver(c, out->data, out->len, payload, n);
}

void
call_answer_json(struct call *c, const struct ats_msg_RESULT *r, const char *json,
    size_t json_len, const char *payload, size_t n)
{
	struct ats_buf *out = &c->f->out;
	struct ats_msg_RESULT t;
	int rc;

	while (json_len > 0 && json[json_len - 1] != '}') /* white space behind it */
		json_len--;
	times(c, &t);
	ats_buf_reset(out);
	rc = ats_buf_add(out, json, json_len - 1); /* outcome is there: a comma fits */
	if (rc == 0)
		rc = ats_buf_addf(out, ",\"queue_us\":%" PRIu64 ",\"here_us\":%" PRIu64, t.queue_us,
		    t.here_us);
	if (rc == 0 && t.has_setup_us)
		rc = ats_buf_addf(out, ",\"setup_us\":%" PRIu64, t.setup_us);
	if (rc == 0 && !r->has_run_us)
		rc = ats_buf_addf(out, ",\"run_us\":%" PRIu64, t.run_us);
	if (rc == 0)
		rc = ats_buf_add_char(out, '}');
	if (rc == 0)
		deliver(c, out->data, out->len, payload, n);
	else
		deliver(c, json, json_len, payload, n);
}

void
call_fail(struct call *c, bool started, int code, const char *fmt, ...)
{
	struct ats_msg_RESULT r = {
		.outcome = started ? "done" : "not_started",
		.is_error = true,
		.has_is_error = true,
		.code = ats_err_name(code),
	};
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(text))
		n = sizeof(text) - 1;
	n -= (int)ats_utf8_cut_tail(text, (size_t)n);
	call_answer(c, &r, text, (size_t)n);
}

bool
call_input(
    struct call *c, const struct ats_msg_CALL_TOOL *m, void *ret, struct ats_buf *arena)
{
	struct ats_err err;

	if (ats_tool_input(c->row, m->input.p, m->input.n, ret, arena, &err) == 0)
		return true;
	call_fail(c, true, err.code, "%s: %s", c->row->name, err.text);
	return false;
}

void
call_progress(struct call *c, const char *message, uint64_t done)
{
	call_progress_with(c, message, done, (struct ats_slice){ NULL, 0 });
}

void
call_progress_with(
    struct call *c, const char *message, uint64_t done, struct ats_slice newest)
{
	struct ats_msg_EVENT_PROGRESS m = {
		.message = message,
		.done = done,
		.has_done = true,
	};
	struct ats_buf *out = &c->f->out;
	uint64_t now = ats_clock_us();

	if (!c->progress || !link_is_ready(c->f->link) ||
	    now - c->progress_us < CALL_PROGRESS_US)
		return;
	c->progress_us = now;
	ats_buf_reset(out);
	if (ats_msg_encode(
		&ats_frame_rows[ATS_FRAME_EVENT_PROGRESS].shape, &m, out, NULL) == 0)
		(void)link_send(c->f->link, ATS_FRAME_EVENT_PROGRESS, c->id, out->data,
		    out->len, newest.p, newest.n);
}

/* ---- frames that end or forget one ----------------------------------------------------- */
void
calls_on_cancel(struct calls *t, uint64_t id, bool timeout)
{
	struct call *c = calls_find(t, id);

	if (c != NULL && c->ops != NULL && c->ops->cancel != NULL)
		c->ops->cancel(c, timeout);
}

void
calls_on_ack(struct calls *t, uint64_t id)
{
	struct call *c = calls_find(t, id);

	if (c != NULL && c->state == CALL_KEPT)
		call_free(c);
}

void
calls_on_link_lost(struct calls *t)
{
	struct call *c;

	for (size_t i = 0; (c = ats_map_each(t->map, &i)) != NULL;) {
		if (!c->keep || (c->state == CALL_ACTIVE &&
				    (c->ops == NULL || !c->ops->survives))) {
			call_free(c);
			continue;
		}
		t->unsent -= c->unsent;
		c->unsent = false;
		if (c->ops != NULL && c->ops->unlinked != NULL)
			c->ops->unlinked(c);
	}
}

void
calls_resend(struct calls *t)
{
	struct call *c;

	for (size_t i = 0; (c = ats_map_each(t->map, &i)) != NULL;) {
		if (c->state == CALL_KEPT && c->ops == NULL && !c->unsent)
			call_send_kept(c);
	}
}

int
calls_list(const struct calls *t, struct ats_buf *out)
{
	const struct call *c;
	const char *comma = "";
	int rc = ats_buf_add_char(out, '[');

	for (size_t i = 0; rc == 0 && (c = ats_map_each(t->map, &i)) != NULL;) {
		rc = ats_buf_addf(out, "%s%" PRIu64, comma, c->id);
		comma = ",";
	}
	return rc < 0 ? rc : ats_buf_add_char(out, ']');
}
