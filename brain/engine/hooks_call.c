/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks around calls of tools. Runs in the engine. Those of the configuration come first, then the
 * rules, then, when it is about to be sent, those of the workspace: whatever these change is seen
 * by the others again, so that a repository can only make it stricter. */
#include "brain/engine/hooks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/calls.h"
#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/gateway.h"
#include "brain/engine/refused.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/turns.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"

#define DENIED_MAX (HOOKS_TEXT_MAX + 512u)

const char *
hooks_tool_name(const struct call *c, char *out, size_t size)
{
	if (c->gateway == NULL)
		return c->tool == NULL ? "Bash" : c->tool->name;
	(void)snprintf(out, size, "mcp__%s", c->gateway->name);
	return out;
}

/* ---- what they say before ------------------------------------------------------------------ */

static void ATS_PRINTF(3, 4)
stop(struct call *c, int code, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	call_fail(c, OUTCOME_NOT_STARTED, code, "not started: %s", text);
}

static void
deny(struct call *c, enum hook_side side, struct hook_verdict *v)
{
	struct outcome o = { .kind = OUTCOME_NOT_STARTED, .is_error = true,
		.code = ATS_E_DENIED };
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	char name[ATS_GATEWAY_TOOL_MAX + 8];

	ats_buf_init(&text, DENIED_MAX);
	(void)!ats_buf_addf(&text, "PreToolUse:%s hook %s: %.*s%sIt was not run%s.",
	    hooks_tool_name(c, name, sizeof(name)), v->stops ? "stops this" : "refused this call",
	    (int)v->reason.len, v->reason.data, v->reason.len > 0 ? "\n" : "no reason was given. ",
	    call_may_have_run(c) ? " again" : "");
	ats_log(ATS_LOG_INFO, "a hook refused a call", "session=%s call=c-%llu tool=%s",
	    c->session->id, (unsigned long long)c->id, call_tool_name(c));
	refused_note(c, side == HOOK_HOST ? "a hook of the configuration" :
	    "a hook of the workspace");
	o.payload = (struct ats_slice){ text.data, text.len };
	call_finish(c, &o);
}

static int
set_input(struct call *c, const char *p, size_t n)
{
	struct calls *t = c->e->calls;
	char *copy = malloc(n + 1);

	if (copy == NULL)
		return -ATS_E_NOMEM;
	memcpy(copy, p, n);
	copy[n] = '\0';
	t->input_bytes += n;
	t->input_bytes -= c->input_len;
	free(c->input);
	c->input = copy;
	c->input_len = n;
	/* Another file, another limit, perhaps. */
	c->looked_at = false;
	free(c->path);
	free(c->cwd);
	c->path = c->cwd = NULL;
	return 0;
}

/* The command of an exec becomes what a shell reads. */
static int
set_command(struct call *c, struct ats_slice input)
{
	struct ats_buf argv ATS_CLEANUP_BUF = { 0 };
	struct ats_json_val v;
	struct ats_json_w w;
	char *command = ats_json_get(input, "command", &v) ? ats_json_dup_str(&v) : NULL;
	int rc = command == NULL ? -ATS_E_FIELD : exec_set_command(c->exec, command);

	ats_buf_init(&argv, ATS_HOOK_INPUT_MAX * 2);
	ats_json_w_init(&w, &argv);
	ats_json_w_array(&w, NULL);
	ats_json_w_str(&w, NULL, "sh");
	ats_json_w_str(&w, NULL, "-c");
	ats_json_w_str(&w, NULL, command == NULL ? "" : command);
	ats_json_w_end(&w);
	free(command);
	if (rc == 0)
		rc = w.rc;
	return rc < 0 ? rc : set_input(c, argv.data, argv.len);
}

static int
rewrite(struct call *c, const struct ats_buf *input)
{
	struct ats_slice with = { input->data, input->len };

	ats_log(ATS_LOG_INFO, "a hook rewrote a call", "session=%s call=c-%llu tool=%s",
	    c->session->id, (unsigned long long)c->id, call_tool_name(c));
	return call_is_exec(c) ? set_command(c, with) : set_input(c, with.p, with.n);
}

static void
resubmit(struct call *c)
{
	if (c->gateway != NULL)
		gateway_submit(c);
	else
		dispatch_submit(c);
}

void
hooks_take_context(struct call *c, const char *text, size_t n)
{
	if (n == 0)
		return;
	if (c->hook_context == NULL) {
		c->hook_context = calloc(1, sizeof(*c->hook_context));
		if (c->hook_context == NULL)
			return;
		ats_buf_init(c->hook_context, HOOKS_TEXT_MAX);
	}
	hook_text_add(c->hook_context, text, n);
}

/* Where it stands in the order of things above. */
static void
go_on(struct call *c, enum hook_side side, const struct hook_verdict *v)
{
	bool host = side == HOOK_HOST;

	c->state = CALL_QUEUED;
	if (v->input.len > 0 && rewrite(c, &v->input) < 0) {
		stop(c, ATS_E_FIELD, "a hook has rewritten it into what it cannot be");
		return;
	}
	if (v->decision == ATS_HOOK_ASK && !c->permitted)
		c->hook_asks = true;
	if (host) {
		c->hooked_host = true;
		c->hook_allows = v->decision == ATS_HOOK_ALLOW;
		resubmit(c);
		return;
	}
	c->hooked_box = true;
	if (v->input.len > 0) {		/* what was agreed to is not what it is now */
		c->hooked_host = c->permitted = c->hook_allows = false;
		turns_leave(c);
		resubmit(c);
	} else if (c->hook_asks && !c->permitted) {
		turns_leave(c);
		resubmit(c);
	} else {
		dispatch_again(c);
	}
}

void
hooks_run_over(struct call *c)
{
	c->hooks = NULL;
	c->hooks_us += ats_clock_us() - c->hooked_us;
	c->hooked_us = 0;
}

static void
on_before(void *ctx, enum hook_side side, struct hook_verdict *v)
{
	struct call *c = ctx;

	hooks_run_over(c);
	c->state = CALL_QUEUED;
	hooks_take_context(c, v->context.data, v->context.len);
	if (v->decision == ATS_HOOK_DENY)
		deny(c, side, v);
	else
		go_on(c, side, v);
}

static void
start_before(struct call *c, enum hook_side side, const char *name)
{
	struct hook_ask ask = { .event = ATS_HOOK_PRE_TOOL_USE, .session = c->session,
		.name = name, .call = c };
	struct ats_err err = { 0 };

	c->state = CALL_HOOKED;
	c->deadline_us = 0;
	call_timer_set(c);
	c->hooked_us = ats_clock_us();
	c->hooks = hooks_run(c->e, side, &ask, on_before, c, &err);
	if (c->hooks != NULL)
		return;
	c->state = CALL_QUEUED;
	/* Those that could not be asked have not agreed. */
	stop(c, err.code, "the hooks that would have to agree cannot be run: %s", err.text);
}

static bool
is_hooked(const struct call *c)
{
	return !c->validate && c->session != NULL && c->input != NULL;
}

bool
hooks_before(struct call *c)
{
	char name[ATS_GATEWAY_TOOL_MAX + 8];
	const char *tool = hooks_tool_name(c, name, sizeof(name));

	/* One that an engine before this one has sent comes with what its client wrote, which no
	 * hook has seen here. */
	if (c->hooked_host || !is_hooked(c) ||
	    !hooks_wanted(c->e, HOOK_HOST, NULL, ATS_HOOK_PRE_TOOL_USE, tool))
		return false;
	start_before(c, HOOK_HOST, tool);
	return true;
}

bool
hooks_before_send(struct call *c)
{
	char name[ATS_GATEWAY_TOOL_MAX + 8];

	if (c->hooked_box || !is_hooked(c) || c->attempt > 0 ||
	    !hooks_wanted(c->e, HOOK_BOX, c->box, ATS_HOOK_PRE_TOOL_USE, ""))
		return false;
	start_before(c, HOOK_BOX, hooks_tool_name(c, name, sizeof(name)));
	return true;
}

/* ---- its end ------------------------------------------------------------------------------ */

void
hooks_call_cancel(struct call *c)
{
	struct hook_run *r = c->hooks;

	c->hooks = NULL;
	hooks_cancel(r);
	if (c->held != NULL)
		hooks_finish_held(c);
	else
		stop(c, c->timed_out ? ATS_E_TIMEOUT : ATS_E_CANCELLED, "%s before it started",
		    c->timed_out ? "timed out" : "cancelled");
}

void
hooks_call_done(struct call *c)
{
	hooks_cancel(c->hooks);
	c->hooks = NULL;
	free(c->held);
	c->held = NULL;
	if (c->hook_context != NULL)
		ats_buf_done(c->hook_context);
	free(c->hook_context);
	c->hook_context = NULL;
}
