/* SPDX-License-Identifier: Apache-2.0
 *
 * Bash in the foreground: capture, spill, progress, and the result. Runs in hands' front.
 * The command is the model's, the output the tool's; the text is made valid UTF-8 here.
 */
#include "hands/front/bash_private.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/json.h"
#include "common/path.h"
#include "hands/front/background.h"
#include "hands/front/bash_text.h"
#include "hands/front/capture.h"
#include "hands/front/front.h"
#include "hands/front/spill.h"
#include "hands/front/tool_call.h"
#include "hands/init/roles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_FIRST_US 1000000u
#define PROGRESS_EVERY_US 250000u
#define DEADLINE_SLACK_MS 100u
#define COMMAND_KEPT 65536u /* longer ones are not asked what status 1 means */
/* Only outputs that the text cannot show whole get a file. */
#define SPILL_FROM CAPTURE_CHARS

static void on_cancel(struct call *c, bool timeout);
static void on_free(struct call *c);
static void on_started(void *ctx);
static void on_output(void *ctx, unsigned which, const char *p, size_t n);
static void on_ended(void *ctx, const struct shell_end *end);

const struct call_ops bash_call_ops = {
	.part = RECORD_BASH,
	.move = bash_move,
	.save = bash_save,
	.cancel = on_cancel,
	.free = on_free,
	.survives = true,
};
const struct shell_ops bash_shell_ops = {
	.started = on_started,
	.output = on_output,
	.ended = on_ended,
};

/* ---- input ------------------------------------------------------------------------- */
bool
bash_input_read(struct call *c, const struct ats_msg_CALL_TOOL *m, struct bash_input *b)
{
	struct ats_err err;

	ats_buf_init(&b->in_arena, (1u << 20) + (64u << 10));
	ats_buf_init(&b->ctx_arena, 512u << 10);
	if (ats_tool_input(c->row, m->input.p, m->input.n, &b->in, &b->in_arena, &err) <
	    0) {
		call_fail(c, true, err.code, "%s: %s", c->row->name, err.text);
		return false;
	}
	if (ats_msg_decode(&ats_shape_CTX_IN, m->ctx.p, m->ctx.n, ATS_DECODE_SCANNED,
		&b->ctx, &b->ctx_arena, &err) < 0) {
		call_fail(c, false, err.code, "ctx: %s", err.text);
		return false;
	}
	return true;
}

void
bash_input_done(struct bash_input *b)
{
	ats_buf_done(&b->in_arena);
	ats_buf_done(&b->ctx_arena);
}

void
bash_job(const struct call *c, const struct bash_input *b, struct shell_job *ret)
{
	size_t n = strlen(b->in.command);

	*ret = (struct shell_job){
		.call = c->id,
		.cwd = b->ctx.cwd,
		.session = c->session,
		.env = b->ctx.env,
		.nenv = b->ctx.n_env,
		.extra = { b->in.command, n },
		.flags = c->split ? 0 : JOB_MERGE,
	};
	/* What the waiting bash would answer differently from a bash -c. */
	if (n > BASH_COMMAND_READY ||
	    strstr(b->in.command, "BASH_EXECUTION_STRING") != NULL)
		ret->flags |= JOB_COLD;
}

bool
bash_cwd_is_allowed(const struct front *f, const char *cwd)
{
	return ats_path_is_within(f->opt.workspace, cwd) ||
	       ats_path_is_within(f->opt.home, cwd) || ats_path_is_within(BOX_TMP, cwd);
}

/* The deadline of a call whose caller names none is this timeout too, less the way here. */
static uint64_t
limit_of(const struct call *c, const struct ats_in_bash *in, enum outcome_by *ret_by)
{
	uint64_t ms = in->has_timeout ? in->timeout : BASH_TIMEOUT_MS, left;
	uint64_t now = ats_clock_us();

	*ret_by = in->has_timeout ? BY_TIMEOUT : BY_DEFAULT;
	if (ms >= c->row->timeout_max_ms) {
		ms = c->row->timeout_max_ms;
		*ret_by = BY_MAXIMUM;
	}
	left = c->deadline_us > now ? (c->deadline_us - now) / 1000 : 1;
	if (left + DEADLINE_SLACK_MS < ms)
		*ret_by = BY_DEADLINE;
	return ms < left ? ms : left;
}

/* Whether it may run beside the others; the rest is a worker's to look at. */
void
front_check_bash(
    struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	struct ats_in_bash in;

	ats_buf_init(&arena, (1u << 20) + (64u << 10));
	if (call_input(c, m, &in, &arena) &&
	    (!in.run_in_background || background_has_room(c)))
		tool_call_start(c, fr, m);
}

void
front_bash(struct call *c, const struct ats_frame *fr, const struct ats_msg_CALL_TOOL *m)
{
	struct bash_input b;
	struct shell_job job;
	struct bash *x = NULL;

	(void)fr;
	if (!bash_input_read(c, m, &b)) {
		bash_input_done(&b);
		return;
	}
	if (b.in.run_in_background) {
		background_start(c, &b);
		bash_input_done(&b);
		return;
	}
	x = ats_calloc(1, sizeof(*x));
	if (x != NULL) {
		x->c = c;
		x->limit_ms = limit_of(c, &b.in, &x->limit_by);
		x->ignored_flag = b.in.no_sandbox;
		(void)evtimer_assign(&x->later, c->f->base, bash_on_later, x);
		capture_init(&x->text);
		capture_init(&x->side[0]);
		capture_init(&x->side[1]);
		if (strlen(b.in.command) <= COMMAND_KEPT)
			x->command = ats_strdup(b.in.command);
		x->cwd = ats_strdup(b.ctx.cwd);
		c->ops = &bash_call_ops;
		c->part = x;
		bash_job(c, &b, &job);
		job.lazy = !c->split; /* apart, only prompt reading keeps their order */
		if (x->cwd != NULL)
			x->sh = shell_new(c->f, &job, &bash_shell_ops, x);
	}
	bash_input_done(&b);
	if (x == NULL || x->sh == NULL)
		call_fail(
		    c, false, ATS_E_NOMEM, "The command was not started: no memory.");
	else
		call_deadline(c, x->limit_ms);
}

static void
on_started(void *ctx)
{
	struct bash *x = ctx;

	call_started(x->c);
	x->c->setup_us = shell_waited_us(x->sh);
	x->next_progress_us = x->c->start_us + PROGRESS_FIRST_US;
}

/* ---- output ------------------------------------------------------------------------ */
/* The file begins with what is in memory, before any of that is lost. */
static void
spill_begin(struct bash *x)
{
	ATS_CLEANUP_BUF struct ats_buf raw = { 0 };
	char name[SPILL_NAME];

	ats_buf_init(&raw, 2 * CAPTURE_SIDE);
	(void)snprintf(name, sizeof(name), "%" PRIu64 ".out", x->c->id);
	if (capture_raw(&x->text, &raw) < 0 ||
	    spill_new(x->c->f->spills, name, &x->spill, NULL) < 0) {
		x->no_spill = true;
		return;
	}
	(void)spill_add(x->spill, raw.data, raw.len);
}

static void
add_text(struct bash *x, const char *p, size_t n)
{
	/* In steps that memory still holds whole when the file begins. */
	while (
	    x->spill == NULL && !x->no_spill && n > 0 && x->text.total + n > SPILL_FROM) {
		size_t part = n < CAPTURE_SIDE ? n : CAPTURE_SIDE;

		(void)capture_add(&x->text, p, part);
		p += part;
		n -= part;
		spill_begin(x);
	}
	if (n == 0)
		return;
	(void)capture_add(&x->text, p, n);
	if (x->spill != NULL)
		(void)spill_add(x->spill, p, n);
}

static void
progress(struct bash *x)
{
	ATS_CLEANUP_BUF struct ats_buf newest = { 0 };
	uint64_t now = ats_clock_us();
	char line[512];

	if (now < x->next_progress_us) {
		uint64_t us = x->next_progress_us - now;
		struct timeval tv = ats_timeval_us(us);

		if (!evtimer_pending(&x->later, NULL))
			(void)evtimer_add(&x->later, &tv);
		return;
	}
	x->next_progress_us = now + PROGRESS_EVERY_US;
	/* Should the sandbox be lost, that is what is known of the output. */
	ats_buf_init(&newest, CALL_NEWEST);
	if (capture_newest(&x->text, CALL_NEWEST, &newest) < 0)
		ats_buf_reset(&newest);
	call_progress_with(x->c, capture_last_line(&x->text, line, sizeof(line)),
	    x->text.total, (struct ats_slice){ newest.data, newest.len });
}

void
bash_on_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	progress(arg);
}

static void
on_output(void *ctx, unsigned which, const char *p, size_t n)
{
	struct bash *x = ctx;

	add_text(x, p, n);
	if (x->c->split)
		(void)capture_add(&x->side[which], p, n);
	if (x->c->progress)
		progress(x);
}

/* ---- the end ----------------------------------------------------------------------- */
static void
answer(struct bash *x)
{
	struct call *c = x->c;
	struct bash_text t = {
		.f = c->f,
		.text = &x->text,
		.end = &x->end,
		.command = x->command,
		.cwd = x->cwd,
		.spill = x->spill,
		.spill_failed = x->no_spill,
		.limit_ms = x->limit_ms,
		.limit_by = x->limit_by,
		.ignored_flag = x->ignored_flag,
		.side = { c->split ? &x->side[0] : NULL, c->split ? &x->side[1] : NULL },
	};

	bash_text_answer(c, &t);
}

static void
on_step(evutil_socket_t fd, short what, void *arg)
{
	struct bash *x = arg;

	(void)fd;
	(void)what;
	if (x->spill != NULL && !spill_finish(x->spill))
		event_active(&x->step, EV_TIMEOUT, 0);
	else
		answer(x);
}

static void
on_ended(void *ctx, const struct shell_end *end)
{
	struct bash *x = ctx;
	struct call *c = x->c;

	if (end->exit == NULL) {
		call_fail(c, false,
		    end->err.code == 0 ? ATS_E_NOT_STARTED : end->err.code,
		    "The command was not started: %s.", end->err.text);
		return;
	}
	(void)evtimer_del(&x->later);
	x->end = *end;
	x->exit = *end->exit;
	x->end.exit = &x->exit;
	if (x->spill == NULL || spill_finish(x->spill)) {
		answer(x);
		return;
	}
	call_deadline(c, 0);
	(void)evtimer_assign(&x->step, c->f->base, on_step, x);
	event_active(&x->step, EV_TIMEOUT, 0);
}

static void
on_cancel(struct call *c, bool timeout)
{
	struct bash *x = c->part;

	shell_stop(x->sh, timeout ? ENDED_TIMEOUT : ENDED_CANCEL);
}

static void
on_free(struct call *c)
{
	struct bash *x = c->part;

	if (x->end.exit != NULL && event_initialized(&x->step))
		(void)event_del(&x->step);
	(void)evtimer_del(&x->later);
	shell_free(x->sh);
	spill_free(x->spill);
	capture_done(&x->text);
	capture_done(&x->side[0]);
	capture_done(&x->side[1]);
	free(x->command);
	free(x->cwd);
	free(x);
}
