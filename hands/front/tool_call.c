/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the tools that run in a read or write worker. Runs in hands' front. The hot
 * path: one write to a ready worker, one read of its reply, one write to the link. What a
 * worker answers is decoded again and held against its payload before it is passed on. */
#include "hands/front/tool_call.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/data.h"
#include "hands/front/front.h"
#include "hands/front/outcome.h"
#include "hands/front/pool.h"
#include "hands/front/render.h"
#include "proto/msg.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define TRIES 4 /* ready workers that turn out to be dead */

struct tool_call {
	struct call *c;
	enum ats_profile profile;
	uint32_t flags; /* JOB_* */
	struct worker *w; /* NULL while it waits for one */
	struct pool_waiter waiter;
	struct ats_buf json, extra; /* the job, while it waits */
	tool_call_wrap *wrap;
	void *wrap_ctx;
	struct data *data; /* its bytes are wanted raw, or NULL */
};

static enum call_move on_move(const struct call *c);
static void on_cancel(struct call *c, bool timeout);
static void on_free(struct call *c);
static void on_reply(
    void *ctx, const struct reply_head *h, const char *json, const char *payload);
static void on_lost(void *ctx, int status);
static void on_worker(void *ctx, struct worker *w, const struct ats_err *err);

static const struct call_ops ops = {
	.move = on_move,
	.cancel = on_cancel,
	.free = on_free,
	.survives = true,
};
static const struct worker_ops worker_ops = { .reply = on_reply, .lost = on_lost };

/* ---- start ------------------------------------------------------------------------- */
static bool
run(struct tool_call *t, struct worker *w, struct ats_slice json, struct ats_slice extra)
{
	struct job_head h = {
		.json_len = (uint32_t)json.n,
		.extra_len = (uint32_t)extra.n,
		.call = t->c->id,
		.deadline_us = t->c->deadline_us,
		.flags = t->flags,
	};

	if (worker_run(w, &worker_ops, t, &h, json.p, extra.p) < 0) {
		worker_release(w);
		return false;
	}
	t->w = w;
	call_started(t->c);
	return true;
}

static void
wait_for_worker(struct tool_call *t, struct ats_slice json, struct ats_slice extra)
{
	if ((t->json.len == 0 && ats_buf_add(&t->json, json.p, json.n) < 0) ||
	    (extra.n > 0 && t->extra.len == 0 &&
		ats_buf_add(&t->extra, extra.p, extra.n) < 0)) {
		call_fail(
		    t->c, false, ATS_E_NOMEM, "The call was not started: no memory.");
		return;
	}
	pool_wait(t->c->f->pool, t->profile, &t->waiter);
}

static struct tool_call *
make(struct call *c, enum ats_profile profile, tool_call_wrap *wrap, void *wrap_ctx)
{
	struct tool_call *t = ats_calloc(1, sizeof(*t));

	if (t == NULL) {
		free(wrap_ctx);
		call_fail(c, false, ATS_E_NOMEM, "The call was not started: no memory.");
		return NULL;
	}
	t->c = c;
	t->profile = profile;
	t->flags = c->validate ? JOB_VALIDATE : 0;
	t->waiter.got = on_worker;
	t->waiter.ctx = t;
	t->wrap = wrap;
	t->wrap_ctx = wrap_ctx;
	ats_buf_init(&t->json, ATS_FRAME_MAX);
	ats_buf_init(&t->extra, ATS_FRAME_MAX);
	c->ops = &ops;
	c->part = t;
	return t;
}

static void
start(struct tool_call *t, struct ats_slice json, struct ats_slice extra)
{
	struct worker *w;

	for (int i = 0; i < TRIES; i++) {
		if ((w = pool_take(t->c->f->pool, t->profile)) == NULL)
			break;
		if (run(t, w, json, extra))
			return;
	}
	wait_for_worker(t, json, extra);
}

void
tool_call_run(struct call *c, enum ats_profile profile, struct ats_slice json,
    struct ats_slice extra, tool_call_wrap *wrap, void *wrap_ctx)
{
	struct tool_call *t = make(c, profile, wrap, wrap_ctx);

	if (t != NULL)
		start(t, json, extra);
}

void
tool_call_hooks(struct call *c, struct ats_slice json, tool_call_wrap *wrap, void *wrap_ctx)
{
	struct tool_call *t = make(c, ATS_PROFILE_READ, wrap, wrap_ctx);

	if (t == NULL)
		return;
	t->flags = JOB_HOOKS;
	start(t, json, (struct ats_slice){ NULL, 0 });
}

void
tool_call_forget(struct call *c)
{
	on_free(c);
	c->ops = NULL;
	c->part = NULL;
}

void
tool_call_start(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	struct ats_slice json = { fr->json, fr->head.json_len }, none = { NULL, 0 };
	/* A check is made where nothing can be written, whatever the tool. */
	struct tool_call *t = make(
	    c, c->validate ? ATS_PROFILE_READ : c->row->profile, NULL, NULL);

	if (t == NULL)
		return;
	if (!c->validate && m->has_window &&
	    (t->data = data_new(c, m->window)) == NULL) {
		call_fail(c, false, ATS_E_NOMEM, "The call was not started: no memory.");
		return;
	}
	start(t, json, none);
}

static struct data *
data_of(struct front *f, uint64_t call)
{
	struct call *c = calls_find(f->calls, call);
	struct tool_call *t = c != NULL && c->ops == &ops ? c->part : NULL;

	return t != NULL ? t->data : NULL;
}

int
tool_call_on_window(struct front *f, uint64_t call, uint64_t bytes, struct ats_err *err)
{
	struct data *d = data_of(f, call);

	if (d != NULL && data_credit(d, bytes) < 0)
		return ats_err_set(err, ATS_E_CREDIT, "window: too much credit");
	return 0;
}

void
tool_call_on_signal(struct front *f, uint64_t call)
{
	if (data_of(f, call) != NULL)
		call_fail(calls_find(f->calls, call), true, ATS_E_CANCELLED,
		    "Nobody reads the data any more.");
}

static void
on_worker(void *ctx, struct worker *w, const struct ats_err *err)
{
	struct tool_call *t = ctx;
	struct ats_slice json = { t->json.data, t->json.len };
	struct ats_slice extra = { t->extra.data, t->extra.len };

	if (w == NULL) {
		call_fail(
		    t->c, false, err->code, "The call was not started: %s.", err->text);
		return;
	}
	if (run(t, w, json, extra)) {
		ats_buf_done(&t->json);
		ats_buf_done(&t->extra);
		return;
	}
	call_fail(t->c, false, ATS_E_NOT_STARTED,
	    "The call was not started: its worker ended before it could take it.");
}

/* ---- end --------------------------------------------------------------------------- */
static void
on_free(struct call *c)
{
	struct tool_call *t = c->part;

	pool_wait_cancel(c->f->pool, t->profile, &t->waiter);
	if (t->w != NULL) {
		pool_kill(c->f->pool, t->w);
		worker_release(t->w);
	}
	ats_buf_done(&t->json);
	ats_buf_done(&t->extra);
	data_free(t->data);
	free(t->wrap_ctx);
	free(t);
}

/* Whether it counts as run when no result comes: a check that was not made to its end says
 * nothing. */
static bool
has_run(const struct tool_call *t)
{
	return t->w != NULL && !t->c->validate;
}

/* Bytes that went raw cannot be sent again. */
static enum call_move
on_move(const struct call *c)
{
	const struct tool_call *t = c->part;

	return c->keep || t->data != NULL ? CALL_WAITS : CALL_LEAVES;
}

static const char *
unsure(const struct tool_call *t)
{
	return t->profile == ATS_PROFILE_WRITE
		   ? " Whether it changed the file is not known: read it again."
		   : "";
}

static void
on_cancel(struct call *c, bool timeout)
{
	struct tool_call *t = c->part;
	bool started = has_run(t);

	if (timeout)
		call_fail(c, started, ATS_E_TIMEOUT,
		    "%s did not end within its time limit.%s", c->row->name,
		    t->w != NULL ? unsure(t) : " It had not started.");
	else
		call_fail(c, started, ATS_E_CANCELLED, "%s was cancelled.%s",
		    c->row->name, t->w != NULL ? unsure(t) : " It had not started.");
}

static void
on_lost(void *ctx, int status)
{
	struct tool_call *t = ctx;
	const char *name = t->c->row->name;
	bool started = has_run(t);

	t->w = NULL;
	if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		call_fail(t->c, started, ATS_E_SYS,
		    "%s's worker was ended for a forbidden system call (seccomp, "
		    "SIGSYS).%s",
		    name, unsure(t));
	else if (status != -1 && WIFSIGNALED(status))
		call_fail(t->c, started, ATS_E_SYS, "%s's worker was killed by %s%s.%s",
		    name, outcome_signal_name((unsigned)WTERMSIG(status)),
		    WTERMSIG(status) == SIGKILL ? " (out of memory, or from outside)"
						: "",
		    unsure(t));
	else if (status != -1 && WIFEXITED(status))
		call_fail(t->c, started, ATS_E_SYS,
		    "%s's worker ended with status %d without an answer.%s", name,
		    WEXITSTATUS(status), unsure(t));
	else
		call_fail(t->c, started, ATS_E_SYS, "%s's worker was lost.%s", name,
		    unsure(t));
}

/* ---- checking a result ------------------------------------------------------------- */
/* The blocks lie within the payload, and nothing of it is left over. */
static bool
blocks_fit(struct ats_slice blocks, size_t payload)
{
	struct ats_json_iter it;
	struct ats_json_val v, len;
	struct ats_slice key;
	uint64_t n, sum = 0;

	if (ats_json_value(blocks).type != ATS_JSON_ARRAY)
		return false;
	ats_json_iter_init(&it, blocks);
	while (ats_json_next(&it, &key, &v)) {
		if (v.type != ATS_JSON_OBJECT || !ats_json_get(v.raw, "len", &len) ||
		    ats_json_to_u64(&len, &n) < 0 || n > payload - sum)
			return false;
		sum += n;
	}
	return sum == payload;
}

/* Only read-state may come from a worker of these profiles. */
static bool
delta_is_fine(struct ats_slice delta, struct ats_buf *arena)
{
	struct ats_CTX_DELTA d;

	return ats_msg_decode(&ats_shape_CTX_DELTA, delta.p, delta.n, ATS_DECODE_SCANNED,
		   &d, arena, NULL) == 0 &&
	       d.cwd == NULL && d.shell_started == NULL && d.shell_ended == NULL;
}

static bool
result_is_fine(struct front *f, bool validate, const struct reply_head *h,
    const char *json, struct ats_msg_RESULT *r, struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };

	ats_buf_init(&arena, 2 * WORKER_JSON_MAX);
	if (ats_msg_decode(&ats_frame_rows[ATS_FRAME_RESULT].shape, json, h->json_len, 0,
		r, &f->arena, err) < 0)
		return false;
	(void)ats_err_set(err, ATS_E_PROTO, "the result contradicts itself");
	return (strcmp(r->outcome, "done") == 0 ||
		   strcmp(r->outcome, "not_started") == 0) &&
	       (r->blocks.p == NULL || blocks_fit(r->blocks, h->payload_len)) &&
	       (r->ctx_delta.p == NULL ||
		   (!validate && delta_is_fine(r->ctx_delta, &arena)));
}

static void
on_progress(struct tool_call *t, const struct reply_head *h, const char *json)
{
	struct ats_msg_EVENT_PROGRESS m;

	if (ats_msg_decode(&ats_frame_rows[ATS_FRAME_EVENT_PROGRESS].shape, json,
		h->json_len, 0, &m, &t->c->f->arena, NULL) == 0)
		call_progress(t->c, m.message, m.done);
}

/* ---- pages that a program has to draw ------------------------------------------------ */
static bool
may_be_drawn(const struct tool_call *t, const struct worker *w, const struct reply_head *h)
{
	return h->what == REPLY_RENDER && t->profile == ATS_PROFILE_READ &&
	       t->wrap == NULL && t->data == NULL && !t->c->validate && w->passed >= 0;
}

/* The worker's part is over, and t with it. */
static void
to_render(struct tool_call *t, struct worker *w, struct ats_slice delta,
    struct ats_slice payload)
{
	struct call *c = t->c;
	int fd = ats_steal_fd(&w->passed);

	tool_call_forget(c);
	render_start(c, fd, delta, payload);
}

static void
on_reply(void *ctx, const struct reply_head *h, const char *json, const char *payload)
{
	struct tool_call *t = ctx;
	struct call *c = t->c;
	struct worker *w = t->w;
	bool started = has_run(t);
	struct ats_msg_RESULT r;
	struct ats_err err;

	if (h->what == REPLY_PROGRESS) {
		on_progress(t, h, json);
		return;
	}
	if (h->what == REPLY_DATA && t->data != NULL &&
	    data_open(t->data, ats_steal_fd(&w->passed)))
		return;
	t->w = NULL; /* it ends by itself: answering must not kill it */
	if (may_be_drawn(t, w, h) && result_is_fine(c->f, false, h, json, &r, &err)) {
		to_render(t, w, r.ctx_delta, (struct ats_slice){ payload, h->payload_len });
	} else if (h->what != REPLY_RESULT ||
	    !result_is_fine(c->f, c->validate, h, json, &r, &err)) {
		ats_log(
		    ATS_LOG_WARN, "a worker broke the rules", "tool=%s", c->row->name);
		pool_kill(c->f->pool, w);
		call_fail(c, started, ATS_E_PROTO,
		    "%s's worker answered nonsense and was "
		    "ended.%s",
		    c->row->name, unsure(t));
	} else if (t->data != NULL) {
		data_result(t->data, json, h->json_len, payload, h->payload_len);
	} else if (t->wrap != NULL) {
		t->wrap(c, t->wrap_ctx, &r, payload, h->payload_len);
	} else {
		call_answer_json(c, &r, json, h->json_len, payload, h->payload_len);
	}
	worker_done(w);
}
