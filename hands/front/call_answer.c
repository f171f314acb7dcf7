/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call says: its progress, and its one result. Runs in hands' front. Results come from
 * workers and were checked before they get here. */
#include "hands/front/calls_private.h"

#include "common/clock.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* The one place where a result leaves, but for one that is kept and sent again. */
static void
deliver(struct call *c, const char *json, size_t json_len, const char *payload, size_t n)
{
	struct front *f = c->f;
	int rc = link_send(f->link, ATS_FRAME_RESULT, c->id, json, json_len, payload, n);

	call_end_active(c);
	if (!c->keep || c->ops == NULL || !c->ops->keeps_part)
		call_free_part(c);
	if (c->keep || rc == -ATS_E_FULL || rc == -ATS_E_NOMEM) {
		if (!store(c, json, json_len, payload, n)) {
			ats_log(ATS_LOG_ERROR, "a result is lost",
			    "session=%s call=c-%" PRIu64 " code=no_memory", c->session, c->id);
			call_free(c);
		} else if (rc == -ATS_E_FULL || rc == -ATS_E_NOMEM) {
			c->unsent = true;
			f->calls->unsent++;
			calls_try_again(f->calls);
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
	size_t n;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text);
	call_answer(c, &r, text, n - ats_utf8_cut_tail(text, n));
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
