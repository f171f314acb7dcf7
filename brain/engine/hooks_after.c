/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks that follow a call: what they say joins its answer, which is held until then. Runs in the
 * engine. That they are due, and that they begin, is in the journal: one that dies meanwhile leaves
 * it to the next to run them, once, or to say that it does not know. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"

/* The answer that was held, with one more text, or another one. */
static int
add_text(const struct outcome *o, const struct ats_buf *text, struct ats_buf *payload,
    struct ats_buf *blocks, struct outcome *ret)
{
	int rc = ats_buf_add(payload, o->payload.p, o->payload.n);

	if (rc == 0)
		rc = ats_buf_add(payload, text->data, text->len);
	if (rc == 0 && o->blocks.p == NULL)
		rc = ats_buf_addf(blocks, "[{\"type\":\"text\",\"len\":%zu}", o->payload.n);
	else if (rc == 0)	/* all but its last bracket */
		rc = ats_buf_add(blocks, o->blocks.p, o->blocks.n - 1);
	if (rc == 0)
		rc = ats_buf_addf(blocks, "%s{\"type\":\"text\",\"len\":%zu}]",
		    blocks->len > 1 ? "," : "", text->len);
	if (rc < 0)
		return rc;
	ret->payload = (struct ats_slice){ payload->data, payload->len };
	ret->blocks = (struct ats_slice){ blocks->data, blocks->len };
	return 0;
}

static size_t
trimmed(struct ats_slice s)
{
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\n'))
		s.n--;
	return s.n;
}

/* Ends the call with what is held; c is gone after it. */
void
hooks_finish_held(struct call *c)
{
	struct outcome *held = c->held, with = *held;
	struct ats_buf payload ATS_CLEANUP_BUF = { 0 }, blocks ATS_CLEANUP_BUF = { 0 };
	struct ats_buf *text = c->hook_context;

	c->held = NULL;
	c->hook_context = NULL;
	ats_buf_init(&payload, held->payload.n + HOOKS_TEXT_MAX + 64);
	ats_buf_init(&blocks, held->blocks.n + 256);
	with.blocks.n = with.blocks.p == NULL ? 0 : trimmed(with.blocks);
	if (text != NULL && text->len > 0 && !call_is_exec(c))
		(void)!add_text(&with, text, &payload, &blocks, &with);
	call_finish(c, &with);
	if (text != NULL)
		ats_buf_done(text);
	free(text);
	free(held);
}

/* As text, whatever it is. */
static void
replace_held(struct call *c, const struct ats_buf *output)
{
	struct ats_slice raw = { output->data, output->len };
	struct ats_json_val v = ats_json_value(raw);
	char *text = v.type == ATS_JSON_STRING ? ats_json_dup_str(&v) : NULL;
	struct outcome with = *c->held, *copy;

	if (c->exec != NULL || (v.type == ATS_JSON_STRING && text == NULL)) {
		free(text);
		return;		/* its bytes have gone already; or a NUL in it */
	}
	with.payload = text == NULL ? raw : (struct ats_slice){ text, strlen(text) };
	with.blocks.p = with.output.p = NULL;
	with.blocks.n = with.output.n = 0;
	copy = outcome_dup(&with);
	free(text);
	if (copy == NULL)
		return;
	free(c->held);
	c->held = copy;
}

static void on_after(void *ctx, enum hook_side side, struct hook_verdict *v);

static bool
is_wanted_of(struct call *c, enum hook_side side, enum ats_hook_event event)
{
	char name[ATS_GATEWAY_TOOL_MAX + 8];

	return hooks_wanted(c->e, side, c->gateway == NULL ? c->box : NULL, event,
	    hooks_tool_name(c, name, sizeof(name)));
}

void
hooks_note(struct call *c, struct store_call *row)
{
	static const enum ats_hook_event after[] = { ATS_HOOK_POST_TOOL_USE,
		ATS_HOOK_POST_TOOL_USE_FAILURE };

	free(c->ran);		/* it is what is sent now */
	c->ran = NULL;
	for (size_t i = 0; c->e->hooks_on && i < ATS_ARRAY_LEN(after); i++)
		if (is_wanted_of(c, HOOK_BOX, after[i]) || is_wanted_of(c, HOOK_HOST, after[i]))
			c->hooks_due |= HOOKS_DUE;
	row->hooks = c->hooks_due;
	if ((c->hooks_due & HOOKS_DUE) != 0 && c->input_len <= ATS_HOOK_INPUT_MAX / 2)
		row->input = (struct ats_slice){ c->input, c->input_len };
}

int
hooks_resume(struct call *c, const struct store_call *row)
{
	c->hooks_due = row->hooks;
	if (row->input.p == NULL)
		return 0;
	c->ran = strndup(row->input.p, row->input.n);
	c->ran_len = c->ran == NULL ? 0 : strlen(c->ran);
	return c->ran == NULL ? -ATS_E_NOMEM : 0;
}

static unsigned
began_bit(enum hook_side side)
{
	return side == HOOK_BOX ? HOOKS_BOX_BEGAN : HOOKS_HOST_BEGAN;
}

/* By an engine before this one, or before an attempt that came to nothing: not once more, and the
 * agent is told. */
static bool
have_begun(struct call *c, enum hook_side side)
{
	static const char text[] = "Hooks that follow this call had begun when brain's engine or "
				   "the sandbox ended. Whether they ran to their end, and what "
				   "they said, is not known; they were not run again.";

	if ((c->hooks_due & began_bit(side)) == 0)
		return false;
	hooks_take_context(c, text, sizeof(text) - 1);
	return true;
}

/* If we die now they are not run again. */
static void
note_begin(struct call *c, enum hook_side side)
{
	struct ats_err err = { 0 };

	c->hooks_due |= began_bit(side);
	if (c->journaled && store_call_hooks(c->e->store, c->id, c->hooks_due, &err) < 0)
		ats_log(ATS_LOG_WARN, "that hooks begin is not in the journal",
		    "session=%s call=c-%llu why=\"%s\"", c->session->id,
		    (unsigned long long)c->id, err.text);
}

/* False: there are none of that side, or they cannot be run. */
static bool
start_after(struct call *c, enum hook_side side)
{
	char name[ATS_GATEWAY_TOOL_MAX + 8];
	struct hook_ask ask = { .session = c->session, .call = c, .outcome = c->held,
		.name = hooks_tool_name(c, name, sizeof(name)),
		.event = c->held->is_error ? ATS_HOOK_POST_TOOL_USE_FAILURE :
		    ATS_HOOK_POST_TOOL_USE };
	struct sandbox *box = c->gateway == NULL ? c->box : NULL;
	struct ats_err err = { 0 };

	if (have_begun(c, side) || !hooks_wanted(c->e, side, box, ask.event, ask.name) ||
	    (side == HOOK_BOX && box->state != SANDBOX_READY))
		return false;
	note_begin(c, side);
	c->hooked_us = ats_clock_us();
	c->hooks = hooks_run(c->e, side, &ask, on_after, c, &err);
	if (c->hooks == NULL) {
		hooks_run_over(c);
		ats_log(ATS_LOG_WARN, "hooks of a call that has ended were not run",
		    "session=%s call=c-%llu why=\"%s\"", c->session->id, (unsigned long long)c->id,
		    err.text);
	}
	return c->hooks != NULL;
}

static void
on_after(void *ctx, enum hook_side side, struct hook_verdict *v)
{
	struct call *c = ctx;

	hooks_run_over(c);
	hooks_take_context(c, v->context.data, v->context.len);
	if (v->decision == ATS_HOOK_DENY)
		hooks_take_context(c, v->reason.data, v->reason.len);
	if (v->output.len > 0)
		replace_held(c, &v->output);
	if (side == HOOK_HOST || !start_after(c, HOOK_HOST))
		hooks_finish_held(c);
}

static bool
is_wanted_after(struct call *c, const struct outcome *o)
{
	enum ats_hook_event event =
	    o->is_error ? ATS_HOOK_POST_TOOL_USE_FAILURE : ATS_HOOK_POST_TOOL_USE;

	return c->hook_context != NULL || (c->hooks_due & ~(unsigned)HOOKS_DUE) != 0 ||
	    is_wanted_of(c, HOOK_BOX, event) || is_wanted_of(c, HOOK_HOST, event);
}

bool
hooks_after(struct call *c, const struct outcome *o)
{
	if (c->validate || c->session == NULL || (c->input == NULL && c->hooks_due == 0) ||
	    c->abandoned || c->held != NULL || o->kind != OUTCOME_DONE || !is_wanted_after(c, o))
		return false;
	c->held = outcome_dup(o);
	if (c->held == NULL)
		return false;
	if (c->state == CALL_SENT)	/* it cannot be lost any more */
		(void)ats_map_del(c->box->sent, c->id);
	c->state = CALL_HOOKED;
	c->deadline_us = 0;
	call_timer_set(c);
	if (c->cancelled || (!start_after(c, HOOK_BOX) && !start_after(c, HOOK_HOST)))
		hooks_finish_held(c);
	return true;
}
