/* SPDX-License-Identifier: Apache-2.0
 *
 * What hooks read, and what follows from what they say. Runs in the engine; inputs are a client's,
 * results a sandbox's, and so may the hooks be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/exec.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/sessions.h"

#define STDERR_SHOWN 4096u
#define REPORT_MAX (256u << 10)

/* ---- what they read ------------------------------------------------------------------------ */

/* A result's text without images; cut. */
static int
add_result_text(const struct outcome *o, struct ats_buf *out)
{
	struct ats_json_iter it;
	struct ats_json_val v, len;
	struct ats_slice key, rest = o->payload;
	uint64_t n;
	int rc = 0;

	if (o->blocks.p == NULL)
		return ats_buf_add(out, rest.p, rest.n < HOOKS_RESPONSE_MAX ? rest.n :
		    HOOKS_RESPONSE_MAX);
	ats_json_iter_init(&it, o->blocks);
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		if (!ats_json_get(v.raw, "len", &len) || ats_json_to_u64(&len, &n) < 0 ||
		    n > rest.n)
			return -ATS_E_FIELD;
		if (ats_json_member_is(v.raw, "type", "text") &&
		    out->len + n <= HOOKS_RESPONSE_MAX)
			rc = ats_buf_add(out, rest.p, (size_t)n);
		rest.p += n;
		rest.n -= (size_t)n;
	}
	return rc;
}

static int
write_response(struct ats_json_w *w, const struct hook_ask *ask)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	const struct outcome *o = ask->outcome;
	int rc;

	ats_buf_init(&text, HOOKS_RESPONSE_MAX + 4096);
	rc = add_result_text(o, &text);
	if (rc < 0)
		return rc;
	if (o->is_error) {
		ats_json_w_strn(w, "error", text.data, text.len);
		ats_json_w_bool(w, "is_interrupt", ask->call->cancelled);
	} else {
		ats_json_w_object(w, "tool_response");
		ats_json_w_strn(w, "text", text.data, text.len);
		if (text.len < o->payload.n)
			ats_json_w_bool(w, "part", true);
		if (o->output.p != NULL && o->output.n <= HOOKS_RESPONSE_MAX)
			ats_json_w_raw(w, "output", o->output.p, o->output.n);
		if (o->has_exit_code)
			ats_json_w_u64(w, "exit_code", o->exit_code);
		ats_json_w_end(w);
	}
	ats_json_w_u64(w, "duration_ms", o->t.us[ATS_TIMING_RUN] / 1000);
	return 0;
}

static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    strchr("%+,-./:=@_", c) != NULL;
}

/* As a shell would have it. */
static int
add_word(struct ats_buf *out, const char *s)
{
	bool plain = *s != '\0';
	int rc = 0;

	for (const char *p = s; *p != '\0'; p++)
		plain = plain && is_plain(*p);
	if (plain)
		return ats_buf_add_str(out, s);
	rc = ats_buf_add_char(out, '\'');
	for (; rc == 0 && *s != '\0'; s++)
		rc = *s == '\'' ? ats_buf_add_str(out, "'\\''") : ats_buf_add_char(out, *s);
	return rc < 0 ? rc : ats_buf_add_char(out, '\'');
}

/* An exec is a Bash with the words of its program. */
static int
write_words(struct ats_json_w *w, struct ats_slice argv)
{
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice none;
	int rc = 0;

	ats_buf_init(&line, ATS_HOOK_INPUT_MAX);
	ats_json_iter_init(&it, argv);
	while (rc == 0 && ats_json_next(&it, &none, &v)) {
		char *word = ats_json_dup_str(&v);

		rc = word == NULL ? -ATS_E_NOMEM :
		    line.len > 0 ? ats_buf_add_char(&line, ' ') : 0;
		if (rc == 0)
			rc = add_word(&line, word);
		free(word);
	}
	ats_json_w_object(w, "tool_input");
	ats_json_w_strn(w, "command", line.data, line.len);
	ats_json_w_end(w);
	return rc;
}

static int
write_tool(struct ats_json_w *w, const struct hook_ask *ask)
{
	const struct call *c = ask->call;
	const char *key = call_client_key(c);
	int rc = 0;

	ats_json_w_str(w, "tool_name", ask->name);
	if (call_is_exec(c))
		rc = write_words(w, (struct ats_slice){ c->input, c->input_len });
	else if (ask->outcome != NULL && c->ran != NULL)
		ats_json_w_raw(w, "tool_input", c->ran, c->ran_len);
	else if (c->input != NULL &&
	    (ask->outcome == NULL || c->input_len <= ATS_HOOK_INPUT_MAX / 2))
		ats_json_w_raw(w, "tool_input", c->input, c->input_len);
	if (key != NULL && strncmp(key, "tu:", 3) == 0)
		ats_json_w_str(w, "tool_use_id", key + 3);
	if (c->gateway != NULL) {
		ats_json_w_object(w, "mcp_server");
		ats_json_w_str(w, "name", c->gateway->gateway);
		ats_json_w_end(w);
	}
	if (rc == 0 && ask->outcome != NULL)
		rc = write_response(w, ask);
	return rc;
}

/* The runtime's members; what it does not say of the session we do. */
static void
write_given(struct ats_json_w *w, const struct hook_ask *ask)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	char name[200];

	if (!ats_json_get(ask->given, "session_id", &v))
		ats_json_w_str(w, "session_id", ask->session->id);
	if (!ats_json_get(ask->given, "cwd", &v))
		ats_json_w_str(w, "cwd", ask->session->cwd);
	ats_json_iter_init(&it, ask->given);
	while (ats_json_next(&it, &key, &v)) {
		/* Escaped as it came: it goes out so. Longer ones are nobody's. */
		if (ats_json_key_is(key, "hook_event_name") || key.n >= sizeof(name) ||
		    memchr(key.p, '\\', key.n) != NULL)
			continue;
		memcpy(name, key.p, key.n);
		name[key.n] = '\0';
		ats_json_w_raw(w, name, v.raw.p, v.raw.n);
	}
}

int
hook_input_write(const struct hook_ask *ask, struct ats_buf *out)
{
	const struct session *s = ask->session;
	struct ats_json_w w;
	int rc = 0;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "hook_event_name", ats_hook_event_rows[ask->event].name);
	if (ask->call != NULL) {
		ats_json_w_str(&w, "session_id", s->id);
		ats_json_w_str(&w, "transcript_path", "");
		ats_json_w_str(&w, "cwd", s->cwd);
		ats_json_w_str(&w, "permission_mode", "default");
		rc = write_tool(&w, ask);
	} else {
		write_given(&w, ask);
	}
	ats_json_w_end(&w);
	return rc < 0 ? rc : w.rc;
}

/* ---- what follows -------------------------------------------------------------------------- */

void
hook_verdict_init(struct hook_verdict *v)
{
	memset(v, 0, sizeof(*v));
	ats_buf_init(&v->reason, HOOKS_TEXT_MAX);
	ats_buf_init(&v->context, HOOKS_TEXT_MAX);
	ats_buf_init(&v->message, HOOKS_TEXT_MAX);
	ats_buf_init(&v->input, ATS_HOOK_INPUT_MAX);
	ats_buf_init(&v->output, ATS_HOOK_INPUT_MAX);
	ats_buf_init(&v->report, REPORT_MAX);
}

void
hook_verdict_done(struct hook_verdict *v)
{
	ats_buf_done(&v->reason);
	ats_buf_done(&v->context);
	ats_buf_done(&v->message);
	ats_buf_done(&v->input);
	ats_buf_done(&v->output);
	ats_buf_done(&v->report);
}

void
hook_text_add(struct ats_buf *to, const char *text, size_t n)
{
	struct ats_buf clean ATS_CLEANUP_BUF = { 0 };
	size_t room = HOOKS_TEXT_MAX - 1 - to->len;

	ats_buf_init(&clean, 4 * HOOKS_TEXT_MAX);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\0'))
		n--;
	if (n == 0 || ats_utf8_repair(&clean, text, n < HOOKS_TEXT_MAX ? n : HOOKS_TEXT_MAX) < 0)
		return;
	if (to->len > 0 && room > 0) {
		(void)!ats_buf_add_char(to, '\n');
		room--;
	}
	n = clean.len < room ? clean.len : room;
	n -= ats_utf8_cut_tail(clean.data, n);
	(void)!ats_buf_add(to, clean.data, n);
}

/* The first of the highest counts. */
static void
decide(struct hook_verdict *v, enum ats_hook_decision d, const char *reason, size_t n)
{
	if (d <= v->decision)
		return;
	v->decision = d;
	ats_buf_reset(&v->reason);
	hook_text_add(&v->reason, reason, n);
}

static void
replace(struct ats_buf *to, struct ats_slice with)
{
	if (with.p == NULL)
		return;
	ats_buf_reset(to);
	(void)!ats_buf_add(to, with.p, with.n);
}

static void
take_output(struct hook_verdict *v, const struct ats_hook_output *o)
{
	decide(v, o->decision, o->reason == NULL ? "" : o->reason,
	    o->reason == NULL ? 0 : strlen(o->reason));
	v->stops = v->stops || o->stops;
	if (o->context != NULL)
		hook_text_add(&v->context, o->context, strlen(o->context));
	if (o->message != NULL)
		hook_text_add(&v->message, o->message, strlen(o->message));
	replace(&v->input, o->input);
	replace(&v->output, o->output);
}

const char *
hook_end_name(enum hook_end end)
{
	static const char *const names[] = { [HOOK_RAN] = "ok", [HOOK_BLOCKED] = "blocked",
		[HOOK_FAILED] = "failed", [HOOK_TIMED_OUT] = "timeout",
		[HOOK_NOT_RUN] = "not_run" };

	return names[end];
}

void
hook_say_code(char out[HOOK_WHY_MAX], bool signal, unsigned code)
{
	const char *todo = "";

	if (!signal && code == 126)	/* as shells, env and our own keeper say it */
		todo = ": its program cannot be executed; look at its mode (chmod +x), and at "
		       "its first line";
	else if (!signal && code == 127)
		todo = ": its program was not found; name it by its whole path, and see that it "
		       "is installed";
	(void)snprintf(out, HOOK_WHY_MAX, signal ? "ended by signal %u%s" : "ended with code %u%s",
	    code, todo);
}

static void
report(struct hook_verdict *v, enum hook_side side, const struct hook_one *one)
{
	size_t mark = v->report.len;
	struct ats_json_w w;
	int rc = mark > 0 ? ats_buf_add_char(&v->report, ',') : 0;

	ats_json_w_init(&w, &v->report);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "source", side == HOOK_HOST ? "host" : "workspace");
	ats_json_w_u64(&w, "index", one->index);
	ats_json_w_str(&w, "outcome", hook_end_name(one->end));
	ats_json_w_u64(&w, "exit_code", one->code);
	ats_json_w_u64(&w, "ms", one->ms);
	if (one->why[0] != '\0')
		ats_json_w_str(&w, "why", one->why);
	if (one->err.n > 0)
		ats_json_w_strn(&w, "stderr", one->err.p,
		    one->err.n < STDERR_SHOWN ? one->err.n : STDERR_SHOWN);
	ats_json_w_end(&w);
	if (rc < 0 || w.rc < 0)
		ats_buf_truncate(&v->report, mark);
}

/* One that could not be run, or failed where its failure denies. */
static void
deny_failure(struct hook_verdict *v, const char *why)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&text, 1024);
	(void)!ats_buf_addf(&text, "a hook that must agree could not: %s", why);
	decide(v, ATS_HOOK_DENY, text.data, text.len);
}

void
hook_verdict_add(struct hook_verdict *v, enum hook_side side, enum ats_hook_event event,
    struct hook_one *one)
{
	struct ats_hook_output o;
	struct ats_err err = { 0 };
	bool said = one->end == HOOK_RAN;

	if (said && one->cut)
		(void)ats_err_set(&err, ATS_E_TOOBIG, "it printed more than %u bytes",
		    ATS_HOOK_STDOUT_MAX);
	else if (said && ats_hook_output_read(event, one->out.p, one->out.n, &o, &err) == 0)
		take_output(v, &o);
	if (said && !one->cut)
		ats_hook_output_done(&o);
	if (said && err.code != 0) {
		one->end = HOOK_FAILED;
		(void)snprintf(one->why, sizeof(one->why), "%.*s", HOOK_WHY_MAX - 1, err.text);
	}
	if (one->end == HOOK_BLOCKED)
		decide(v, ATS_HOOK_DENY, one->err.p, one->err.n);
	else if (one->end != HOOK_RAN &&
	    (one->blocks || (one->end == HOOK_NOT_RUN && side == HOOK_HOST)))
		deny_failure(v, one->why);
	report(v, side, one);
}
