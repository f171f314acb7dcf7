/* SPDX-License-Identifier: Apache-2.0
 *
 * Running hooks of the workspace. Runs in hands' front. What is run is a repository's, confined as
 * any command of the session is; each gets the input as a file of its own, prints into bounded
 * memory, and ends with all that it has started when its time is over. */
#include "hands/front/hook.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/path.h"
#include "hands/front/front.h"
#include "hands/front/shell.h"
#include "hands/front/tool_call.h"
#include "hands/tools/hooks.h"
#include "proto/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX (512u << 10) /* what a worker says of them */

struct hook;
struct one {
	struct hook *of;
	struct shell *sh;
	int input; /* until it has started, or -1 */
	struct event timer;
	uint64_t start_us, ms;
	struct ats_buf out, err;
	bool blocks, cut, ended;
	const char *exit; /* how it ended; static */
	unsigned code;
};
struct hook {
	struct call *c;
	struct ats_buf input, list;
	struct one one[ATS_HOOKS_MATCHED_MAX];
	size_t n, running;
	bool starting;
};

struct asked { /* while a worker reads the settings; freed as it is */
	size_t n;
	char input[];
};

static enum call_move on_move(const struct call *c);
static void on_cancel(struct call *c, bool timeout);
static void on_free(struct call *c);
static void on_started(void *ctx);
static void on_output(void *ctx, unsigned which, const char *p, size_t n);
static void on_ended(void *ctx, const struct shell_end *end);

static const struct call_ops ops = { .move = on_move, .cancel = on_cancel, .free = on_free };
static const struct shell_ops shell_ops = {
	.started = on_started,
	.output = on_output,
	.ended = on_ended,
};
/* What tool_call wants to call it. */
static const struct ats_tool_row row = { .name = "hooks", .class = ATS_CLASS_NEVER,
	.profile = ATS_PROFILE_READ };

/* ---- the answer -------------------------------------------------------------------- */
static int
write_answer(const struct hook *h, struct ats_buf *json, struct ats_buf *payload)
{
	struct ats_slice list = { h->list.data, h->list.len };
	struct ats_json_val v;
	struct ats_json_w w;
	int rc = 0;

	ats_json_w_init(&w, json);
	ats_json_w_object(&w, NULL);
	if (ats_json_get(list, "events", &v))
		ats_json_w_raw(&w, "events", v.raw.p, v.raw.n);
	if (ats_json_get(list, "note", &v))
		ats_json_w_raw(&w, "note", v.raw.p, v.raw.n);
	if (ats_json_get(list, "more", &v))
		ats_json_w_raw(&w, "more", v.raw.p, v.raw.n);
	ats_json_w_array(&w, "hooks");
	for (size_t i = 0; i < h->n && rc == 0; i++) {
		const struct one *o = &h->one[i];

		ats_json_w_object(&w, NULL);
		ats_json_w_str(&w, "exit", o->exit);
		ats_json_w_u64(&w, "code", o->code);
		ats_json_w_u64(&w, "out", o->out.len);
		ats_json_w_u64(&w, "err", o->err.len);
		ats_json_w_bool(&w, "cut", o->cut);
		ats_json_w_u64(&w, "ms", o->ms);
		ats_json_w_bool(&w, "blocks", o->blocks);
		ats_json_w_end(&w);
		rc = ats_buf_add(payload, o->out.data, o->out.len);
		if (rc == 0)
			rc = ats_buf_add(payload, o->err.data, o->err.len);
	}
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	return rc < 0 ? rc : w.rc;
}

static void
answer(struct hook *h)
{
	ATS_CLEANUP_BUF struct ats_buf json = { 0 }, payload = { 0 };
	struct ats_msg_RESULT r = { 0 };
	int rc;

	ats_buf_init(&json, 64u << 10);
	ats_buf_init(&payload, WORKER_PAYLOAD_MAX);
	rc = write_answer(h, &json, &payload);
	if (rc < 0) {
		call_fail(h->c, true, -rc, "The hooks have run, but: %s.", ats_err_text(rc));
		return;
	}
	r.output = (struct ats_slice){ json.data, json.len };
	call_answer(h->c, &r, payload.data, payload.len);
}

static void
end(struct one *o, const char *exit, unsigned code)
{
	struct hook *h = o->of;

	o->ended = true;
	o->exit = exit;
	o->code = code;
	o->ms = (ats_clock_us() - o->start_us) / 1000;
	(void)evtimer_del(&o->timer);
	ats_fd_close(&o->input);
	if (--h->running == 0 && !h->starting)
		answer(h);
}

static void
not_started(struct one *o, const char *why)
{
	ats_buf_reset(&o->err);
	(void)!ats_buf_add(&o->err, why, strlen(why));
	end(o, "not_started", 0);
}

/* ---- one of them ------------------------------------------------------------------- */
static void
on_started(void *ctx)
{
	struct one *o = ctx;

	call_started(o->of->c);
	ats_fd_close(&o->input);
}

static void
on_output(void *ctx, unsigned which, const char *p, size_t n)
{
	struct one *o = ctx;
	struct ats_buf *to = which == 0 ? &o->out : &o->err;
	size_t room = (which == 0 ? ATS_HOOK_STDOUT_MAX : ATS_HOOK_STDERR_MAX) - to->len;

	if (n > room) {
		o->cut = o->cut || which == 0;
		n = room;
	}
	if (n > 0 && ats_buf_add(to, p, n) < 0)
		o->cut = true;
}

static void
on_ended(void *ctx, const struct shell_end *e)
{
	struct one *o = ctx;
	struct outcome how;

	if (e->exit == NULL) {
		not_started(o, e->err.text);
		return;
	}
	outcome_decide(e->exit->status, e->exit->flags, e->why, NULL, true, &how);
	end(o, outcome_kind_name(how.kind), how.code);
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	struct one *o = arg;

	(void)fd;
	(void)what;
	shell_stop(o->sh, ENDED_TIMEOUT);
}

/* What is run, as shell_new wants it. */
static int
make_extra(struct ats_slice spec, struct ats_buf *out, uint32_t *ret_flags)
{
	struct ats_json_val v, e;
	struct ats_json_iter it;
	struct ats_slice none;
	int rc = 0;

	*ret_flags = JOB_COLD;
	if (!ats_json_get(spec, "args", &v))
		return ats_json_get(spec, "command", &v) ? ats_json_to_str(&v, out)
							 : -ATS_E_PROTO;
	*ret_flags = JOB_EXEC;
	ats_json_iter_init(&it, v.raw);
	while (rc == 0 && ats_json_next(&it, &none, &e)) {
		rc = ats_json_to_str(&e, out);
		if (rc == 0)
			rc = ats_buf_add_char(out, '\0');
	}
	return rc;
}

static int
start_one(struct one *o, struct ats_slice spec)
{
	ATS_CLEANUP_BUF struct ats_buf extra = { 0 };
	struct front *f = o->of->c->f;
	char dir[ATS_PATH_MAX + 32];
	const char *env[] = { dir };
	struct ats_json_val v;
	uint64_t ms = ATS_HOOK_TIMEOUT_MS;
	struct timeval tv = { 0 };
	struct shell_job job = { .call = o->of->c->id, .cwd = f->opt.workspace, .env = env,
		.nenv = 1 };
	int rc;

	if (ats_json_get(spec, "blocks", &v))
		o->blocks = v.b;
	if (!ats_json_get(spec, "timeout_ms", &v) || ats_json_to_u64(&v, &ms) < 0)
		return -ATS_E_PROTO;
	(void)snprintf(dir, sizeof(dir), "CLAUDE_PROJECT_DIR=%s", f->opt.workspace);
	ats_buf_init(&extra, 64u << 10);
	rc = make_extra(spec, &extra, &job.flags);
	if (rc < 0)
		return rc;
	/* Nothing is waited for while it is read, or not. */
	o->input = ats_fd_memory("hook", o->of->input.data, o->of->input.len);
	if (o->input < 0)
		return -ATS_E_NOMEM;
	job.flags |= JOB_INPUT;
	job.input = o->input;
	job.extra = (struct ats_slice){ extra.data, extra.len };
	tv = ats_timeval_ms(ms);
	o->sh = shell_new(f, &job, &shell_ops, o);
	if (o->sh == NULL || evtimer_add(&o->timer, &tv) < 0)
		return -ATS_E_NOMEM;
	return 0;
}

static void
start_all(struct hook *h, const struct ats_json_val *hooks)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice none;
	int rc;

	h->starting = true;
	ats_json_iter_init(&it, hooks->raw);
	while (h->n < ATS_HOOKS_MATCHED_MAX && ats_json_next(&it, &none, &v)) {
		struct one *o = &h->one[h->n++];

		o->of = h;
		o->input = -1;
		o->start_us = ats_clock_us();
		ats_buf_init(&o->out, ATS_HOOK_STDOUT_MAX);
		ats_buf_init(&o->err, ATS_HOOK_STDERR_MAX);
		(void)evtimer_assign(&o->timer, h->c->f->base, on_time, o);
		h->running++;
		rc = start_one(o, v.raw);
		if (rc < 0 && !o->ended)
			not_started(o, ats_err_text(rc));
	}
	h->starting = false;
	if (h->running == 0)
		answer(h);
}

/* ---- the list ---------------------------------------------------------------------- */
/* A worker made it, of a hostile file. */
static bool
list_is_fine(struct ats_slice list, struct ats_json_val *ret_hooks)
{
	struct ats_json_val v;
	uint64_t n;

	return list.p != NULL && ats_json_type(list) == ATS_JSON_OBJECT &&
	       ats_json_get(list, "events", &v) && ats_json_to_u64(&v, &n) == 0 &&
	       ats_json_get(list, "more", &v) && ats_json_to_u64(&v, &n) == 0 &&
	       ats_json_get(list, "note", &v) && v.type == ATS_JSON_STRING &&
	       ats_json_get(list, "hooks", ret_hooks) && ret_hooks->type == ATS_JSON_ARRAY;
}

static struct hook *
hook_new(struct call *c, const struct asked *a, struct ats_slice list)
{
	struct hook *h = ats_calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->c = c;
	ats_buf_init(&h->input, ATS_HOOK_INPUT_MAX);
	ats_buf_init(&h->list, LIST_MAX);
	if (ats_buf_add(&h->input, a->input, a->n) == 0 &&
	    ats_buf_add(&h->list, list.p, list.n) == 0)
		return h;
	ats_buf_done(&h->input);
	ats_buf_done(&h->list);
	free(h);
	return NULL;
}

static void
on_list(struct call *c, void *ctx, struct ats_msg_RESULT *r, const char *payload, size_t n)
{
	struct ats_json_val hooks;
	struct hook *h;

	if (r->is_error || !list_is_fine(r->output, &hooks)) {
		call_fail(c, false, ATS_E_NOT_STARTED, "the workspace's settings: %.*s",
		    (int)(n < 300 ? n : 300), n > 0 ? payload : "no list of hooks");
		return;
	}
	h = hook_new(c, ctx, r->output);
	if (h == NULL) {
		call_fail(c, false, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
		return;
	}
	tool_call_forget(c);
	c->ops = &ops;
	c->part = h;
	(void)list_is_fine((struct ats_slice){ h->list.data, h->list.len }, &hooks);
	start_all(h, &hooks);
}

/* The worker needs no input. */
static int
make_job(const struct ats_msg_CALL_HOOK *m, struct ats_buf *out)
{
	struct ats_msg_CALL_HOOK ask = *m;

	ask.input = (struct ats_slice){ "{}", 2 };
	return ats_msg_encode(
	    &ats_frame_rows[ATS_FRAME_CALL_HOOK].shape, &ask, out, NULL);
}

void
hook_start(struct call *c, const struct ats_msg_CALL_HOOK *m)
{
	ATS_CLEANUP_BUF struct ats_buf job = { 0 };
	struct asked *a = malloc(sizeof(*a) + m->input.n);
	int rc = a == NULL ? -ATS_E_NOMEM : 0;

	ats_buf_init(&job, 8192);
	if (rc == 0)
		rc = make_job(m, &job);
	if (rc < 0) {
		free(a);
		call_fail(c, false, -rc, "%s", ats_err_text(rc));
		return;
	}
	a->n = m->input.n;
	memcpy(a->input, m->input.p, a->n);
	c->row = &row;
	tool_call_hooks(c, (struct ats_slice){ job.data, job.len }, on_list, a);
}

/* ---- ended by others ------------------------------------------------------------------- */
static enum call_move
on_move(const struct call *c)
{
	(void)c;
	return CALL_WAITS;
}

static void
on_cancel(struct call *c, bool timeout)
{
	struct hook *h = c->part;

	h->starting = true; /* one answer, when all have been ended */
	for (size_t i = 0; i < h->n; i++) {
		struct one *o = &h->one[i];

		if (o->ended)
			continue;
		shell_free(o->sh);
		o->sh = NULL;
		end(o, outcome_kind_name(timeout ? OUTCOME_TIMEOUT : OUTCOME_CANCELLED), 0);
	}
	answer(h);
}

static void
on_free(struct call *c)
{
	struct hook *h = c->part;

	for (size_t i = 0; i < h->n; i++) {
		struct one *o = &h->one[i];

		(void)evtimer_del(&o->timer);
		shell_free(o->sh);
		ats_fd_close(&o->input);
		ats_buf_done(&o->out);
		ats_buf_done(&o->err);
	}
	ats_buf_done(&h->input);
	ats_buf_done(&h->list);
	free(h);
}
