/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a session on a connection: sent, sent again over a new one under the same id, answered
 * once. Process: an agent runtime; lines are brain's, texts in them a sandbox's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "brain/client/client.h"

#define GIVE_AGAIN_MS 100	/* without memory */
#define OUT_HIGH (256u << 10)	/* above it no further call is given to the connection */

int
calls_request(struct ats_buf *out, uint64_t nr, const char *method, struct ats_slice params)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_u64(&w, "id", nr);
	ats_json_w_str(&w, "method", method);
	ats_json_w_raw(&w, "params", params.p, params.n);
	ats_json_w_end(&w);
	return ats_json_w_line(&w);
}

/* ---- out --------------------------------------------------------------------------------- */

static int
give(struct ats *a, struct client_call *c)
{
	if (ats_buf_add(&a->out, c->line, c->line_len) < 0)
		return -ATS_E_NOMEM;
	a->given += c->line_len;
	c->end_at = a->given;
	c->queued = true;
	c->tries++;
	return 0;
}

void
calls_give_cancel(struct ats *a, struct client_call *c)
{
	struct ats_buf params ATS_CLEANUP_BUF = { 0 };
	size_t before = a->out.len;
	struct ats_json_w w;

	ats_buf_init(&params, 2048);
	ats_json_w_init(&w, &params);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "call_id", c->call_id);
	ats_json_w_end(&w);
	/* Without room for it the call goes on to its own end. */
	if (w.rc == 0)
		(void)!calls_request(&a->out, a->next_nr++, "ats/call.cancel",
		    (struct ats_slice){ params.data, params.len });
	a->given += a->out.len - before;
}

static void
write_out(struct ats *a)
{
	ssize_t n;
	bool want;

	while (a->out.len > 0) {
		n = send(a->sock, a->out.data, a->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			client_lost(a, "write failed");
			return;
		}
		if (n < 0)
			break;
		a->written += (size_t)n;
		ats_buf_consume(&a->out, (size_t)n);
	}
	want = a->out.len > 0;
	if (want != a->out_wanted &&
	    client_watch(a, EPOLL_CTL_MOD, a->sock, EPOLLIN | (want ? EPOLLOUT : 0)))
		a->out_wanted = want;
}

void
calls_pump(struct ats *a)
{
	struct client_call *c;

	if (a->state == CLIENT_OPEN) {
		TAILQ_FOREACH(c, &a->calls, link) {
			if (a->out.len > OUT_HIGH)
				break;
			if (c->queued)
				continue;
			if (give(a, c) < 0) {
				client_wake(a, GIVE_AGAIN_MS);
				break;
			}
			if (c->cancelled)
				calls_give_cancel(a, c);
		}
	}
	if (a->out.len == 0)
		ats_buf_reset(&a->out);
	write_out(a);
}

/* ---- ends -------------------------------------------------------------------------------- */

static void
drop(struct ats *a, struct client_call *c)
{
	TAILQ_REMOVE(&a->calls, c, link);
	a->ncalls--;
	a->waiting -= c->line_len;
	free(c->line);
	free(c->call_id);
	free(c);
}

static void
answer(struct ats *a, struct client_call *c, const struct ats_answer *with)
{
	ats_done_fn *done = c->done;
	void *arg = c->arg;

	drop(a, c);
	if (done != NULL)
		done(arg, with);
}

static void
end(struct ats *a, struct client_call *c, enum ats_end how, const char *code, const char *why)
{
	static const char *const heads[] = { [ATS_NOT_STARTED] = "The call did not start",
		[ATS_UNKNOWN] = "The outcome of this call is unknown; it may have run. Look at the "
		    "state of things before you repeat it" };
	char text[700];
	struct ats_answer with = { .end = how, .is_error = 1, .code = code, .result = "" };

	(void)snprintf(text, sizeof(text), "%s: %s", heads[how], why);
	with.text = text;
	with.text_len = strlen(text);
	answer(a, c, &with);
}

void
calls_unsent(struct ats *a)
{
	struct client_call *c;

	TAILQ_FOREACH(c, &a->calls, link) {
		if (c->queued && a->written >= c->end_at)
			c->maybe = true;
		c->queued = false;
	}
	a->stale = true;
}

void
calls_end_all(struct ats *a)
{
	struct client_call *c, *last = TAILQ_LAST(&a->calls, client_calls);
	bool is_last;

	calls_unsent(a);
	/* Those that answers ask for have their own turn. */
	while ((c = TAILQ_FIRST(&a->calls)) != NULL) {
		is_last = c == last;
		end(a, c, c->maybe ? ATS_UNKNOWN : ATS_NOT_STARTED, ats_err_name(a->why.code),
		    a->why.text);
		if (is_last)
			break;
	}
}

/* What has had its tries is not sent again, nor what nobody wants any more and that did not
 * leave us. */
void
calls_end_some(struct ats *a)
{
	struct client_call *c, *next;

	a->stale = false;

	for (c = TAILQ_FIRST(&a->calls); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->queued)
			continue;
		/* A hook has no identity with brain: a second one would be another. */
		if (c->maybe && (c->tries >= CLIENT_tries || c->kind == CALL_HOOK))
			end(a, c, ATS_UNKNOWN, "closed", "the connection to brain was lost");
		else if (!c->maybe && c->cancelled)
			end(a, c, ATS_NOT_STARTED, "cancelled", "it was cancelled");
		else
			continue;
		next = TAILQ_FIRST(&a->calls);	/* the answer may have changed the list */
	}
}

/* ---- in ---------------------------------------------------------------------------------- */

struct client_call *
calls_find(struct ats *a, uint64_t nr)
{
	struct client_call *c;

	TAILQ_FOREACH(c, &a->calls, link)
		if (c->nr == nr)
			return c;
	return NULL;
}

/* An error is about this sending. One before it, which a lost connection left without an
 * answer, may have run: only an engine that has no room for a call has found that it is new. */
static bool
may_have_run(const struct client_call *c, const struct ats_answer *with)
{
	return c->maybe && c->kind != CALL_VALIDATE && with->result_len == 0 &&
	    with->end == ATS_NOT_STARTED && strcmp(with->code, "table_full") != 0;
}

static void
take_answer(struct ats *a, uint64_t nr, struct ats_slice result, struct ats_slice error)
{
	struct client_call *c = calls_find(a, nr);
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	struct ats_answer with;
	char code[40];

	if (c == NULL || !c->queued) {
		open_take(a, nr, result, error);
		return;
	}
	a->losses = 0;
	ats_buf_init(&text, 2u * CLIENT_line_bytes);
	if (!answer_read(c->kind, result, error, &text, code, &with))
		end(a, c, ATS_UNKNOWN, "no_memory", "no memory for its answer");
	else if (may_have_run(c, &with))
		end(a, c, ATS_UNKNOWN, code, with.text);
	else
		answer(a, c, &with);
}

/* False: it is no JSON-RPC, and nothing after it is believed. */
static bool
take_line(struct ats *a, struct ats_slice line)
{
	struct ats_slice result = { NULL, 0 }, error = { NULL, 0 }, key;
	struct ats_json_iter it;
	struct ats_json_val v;
	bool asks = false;
	uint64_t nr = 0;

	if (ats_json_scan(line.p, line.n, NULL) < 0 || ats_json_type(line) != ATS_JSON_OBJECT)
		return false;
	ats_json_iter_init(&it, line);
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "id"))
			(void)(ats_json_to_u64(&v, &nr) < 0);
		else if (ats_json_key_is(key, "method"))
			asks = true;
		else if (ats_json_key_is(key, "result") && v.type == ATS_JSON_OBJECT)
			result = v.raw;
		else if (ats_json_key_is(key, "error") && v.type == ATS_JSON_OBJECT)
			error = v.raw;
	}
	if (!asks && nr != 0)		/* notifications are not for us */
		take_answer(a, nr, result, error);
	return true;
}

static void
take_lines(struct ats *a)
{
	struct ats_slice line;
	const char *nl;

	while (a->sock >= 0 && a->in.len > a->scanned) {
		nl = memchr(a->in.data + a->scanned, '\n', a->in.len - a->scanned);
		if (nl == NULL) {
			a->scanned = a->in.len;
			if (a->in.len > CLIENT_line_bytes)
				client_lost(a, "an answer without end");
			return;
		}
		line = (struct ats_slice){ a->in.data, (size_t)(nl - a->in.data) };
		a->scanned = 0;
		if (!take_line(a, line)) {
			client_lost(a, "it sent a line that is not JSON");
			return;
		}
		if (a->sock >= 0)
			ats_buf_consume(&a->in, line.n + 1);
	}
}

void
calls_on_readable(struct ats *a)
{
	char *to;
	ssize_t n;

	if (ats_buf_reserve(&a->in, CLIENT_FILL, &to) < 0) {
		client_lost(a, "no memory for an answer");
		return;
	}
	n = recv(a->sock, to, CLIENT_FILL, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_lost(a, "it closed the connection");
	} else {
		ats_buf_commit(&a->in, (size_t)n);
		take_lines(a);
	}
	if (a->in.len == 0)
		ats_buf_reset(&a->in);
}
