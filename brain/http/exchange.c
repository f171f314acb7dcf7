/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests and their answers: as one body, or as events (stream.c) where something is said before
 * the answer or it takes long. Runs in ats-http; requests are a client's, lines the engine's. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/http/session_private.h"
#include "proto/unsure.h"

#define NO_ANSWER (-32001)
#define BEAT_S 15			/* so often something is said on a stream */
#define ORPHAN_S 60			/* without its client a request goes on so long */

static const char *
wire_id(const struct exchange *x)
{
	return x->wire != NULL ? x->wire : x->id;
}

static struct exchange *
find(struct session *s, struct ats_slice id)
{
	struct exchange *x;

	TAILQ_FOREACH(x, &s->exchanges, link) {
		const char *own = wire_id(x);

		if (strlen(own) == id.n && memcmp(own, id.p, id.n) == 0)
			return x;
	}
	return NULL;
}

void
exchange_drop(struct exchange *x)
{
	TAILQ_REMOVE(&x->s->exchanges, x, link);
	x->s->nexchanges--;
	x->s->h->nexchanges--;
	if (x->held)
		x->s->h->held_bytes -= x->n;
	if (x->conn != NULL)
		conn_forget(x->conn, x);
	if (x->timer != NULL)
		event_free(x->timer);
	free(x->id);
	free(x->token);
	free(x->wire);
	free(x->line);
	free(x);
}

bool
exchanges_full(const struct session *s, size_t bytes)
{
	const struct http *h = s->h;

	return s->nexchanges >= HTTP_REQUESTS || h->nexchanges >= HTTP_REQUESTS_ALL ||
	    bytes > HTTP_HELD_ALL - h->held_bytes;
}

static void
again_in(struct exchange *x, unsigned seconds)
{
	struct timeval t = { (time_t)seconds, 0 };

	(void)event_add(x->timer, &t);
}

static void
cancel(struct exchange *x)
{
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&line, 2 * MESSAGE_ID_MAX + 256);
	if (ats_buf_addf(&line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":%s,\"reason\":\"the client is gone\"}}", wire_id(x)) == 0)
		link_send(x->s->way, line.data, line.len);
}

/* Losing the connection is not taking the request back in MCP 2025-11-25; in 2026-07-28 it is. */
static void
on_conn_gone(void *ctx)
{
	struct exchange *x = ctx;

	x->conn = NULL;
	if (x->s->modern) {
		cancel(x);
		exchange_drop(x);
		return;
	}
	again_in(x, ORPHAN_S);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct exchange *x = arg;

	(void)fd;
	(void)what;
	if (x->conn == NULL) {
		cancel(x);
		exchange_drop(x);
		return;
	}
	if (x->stream == 0)
		(void)stream_may_begin(x);
	else
		conn_comment(x->conn);
	again_in(x, BEAT_S);
}

/* An earlier connection has been given up, or not noticed yet that it is lost. */
void
exchange_move(struct exchange *x, struct conn *c)
{
	if (x->conn != NULL)
		conn_stream_end(x->conn);
	x->conn = c;
	again_in(x, BEAT_S);
	conn_expects(c, on_conn_gone, x);
}

/* ---- requests -------------------------------------------------------------------- */

static char *
copy(struct ats_slice t)
{
	return t.p == NULL ? NULL : strndup(t.p, t.n);
}

struct exchange *
exchange_new(struct session *s, struct conn *c, const struct message *m)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return NULL;
	*x = (struct exchange){ .s = s, .conn = c, .id = copy(m->id), .token = copy(m->token) };
	x->calls = m->method.p != NULL && ats_json_key_is(m->method, "tools/call");
	x->timer = event_new(s->h->base, -1, 0, on_timer, x);
	TAILQ_INSERT_TAIL(&s->exchanges, x, link);
	s->nexchanges++;
	s->h->nexchanges++;
	if (x->id == NULL || x->timer == NULL || (m->token.p != NULL && x->token == NULL)) {
		exchange_drop(x);
		return NULL;
	}
	return x;
}

static void
send_line(struct exchange *x)
{
	x->again = x->sent;
	x->sent = x->sent || link_is_up(x->s->way);
	link_send(x->s->way, x->line, x->n);
}

void
exchange_go(struct exchange *x)
{
	x->held = true;
	x->s->h->held_bytes += x->n;
	again_in(x, BEAT_S);
	send_line(x);
	conn_expects(x->conn, on_conn_gone, x);	/* x may be gone after it */
}

int
session_ask(struct session *s, struct conn *c, const struct message *m)
{
	struct exchange *x;

	if (find(s, m->id) != NULL)
		return -ATS_E_EXISTS;
	if (exchanges_full(s, m->whole.n))
		return -ATS_E_FULL;
	x = exchange_new(s, c, m);
	if (x == NULL)
		return -ATS_E_NOMEM;
	x->first = ats_json_key_is(m->method, "initialize");
	x->line = message_line(m->whole, &x->n);
	if (x->line == NULL) {
		exchange_drop(x);
		return -ATS_E_NOMEM;
	}
	exchange_go(x);
	return 0;
}

void
exchanges_send(struct session *s)
{
	struct exchange *x;

	TAILQ_FOREACH(x, &s->exchanges, link)
		send_line(x);
}

/* A client that gets 404 begins a session and sends the same again, and 503 asks for that, too:
 * what may have run is answered as a call is, by an error that says so. */
static void
fail(struct exchange *x, int status, const char *why)
{
	struct ats_slice id = { x->id, strlen(x->id) };
	char text[400];

	if (x->sent) {
		(void)snprintf(text, sizeof(text), "no answer: %.250s. It may have run: look at "
		    "the state of things before you repeat it", why);
		status = 200;
	} else {
		(void)snprintf(text, sizeof(text), "%s", why);
	}
	conn_reply_error(x->conn, status, id, NO_ANSWER, text);
}

void
exchanges_fail(struct session *s, int status, const char *why)
{
	struct exchange *x;

	while ((x = TAILQ_FIRST(&s->exchanges)) != NULL) {
		if (x->conn != NULL && x->stream == 0)
			fail(x, status, why);
		else if (x->conn != NULL)
			conn_stream_end(x->conn);
		exchange_drop(x);
	}
}

/* What was agreed, for a way that has to be made again. */
static void
learn(struct session *s, const struct said *said)
{
	struct ats_json_val v;

	if (said->result.p != NULL && ats_json_type(said->result) == ATS_JSON_OBJECT &&
	    ats_json_get(said->result, "protocolVersion", &v) && v.type == ATS_JSON_STRING &&
	    v.raw.n - 2 < sizeof(s->revision)) {
		memcpy(s->revision, v.raw.p + 1, v.raw.n - 2);
		s->revision[v.raw.n - 2] = '\0';
	}
}

static void
answered(struct exchange *x, const struct said *said, struct ats_slice line)
{
	struct session *s = x->s;

	if (s->modern) {
		caller_answered(x, said, line);
		return;
	}
	if (x->first)
		learn(s, said);
	if (x->stream == 0 && x->conn != NULL && conn_request(x->conn)->takes_json) {
		conn_reply(x->conn, 200, x->first ? s->id : NULL, "application/json", line.p,
		    line.n);
	} else if (stream_begin(x)) {
		stream_say(x, line.p, line.n);
		if (x->conn != NULL)
			conn_stream_end(x->conn);
	}
	exchange_drop(x);
}

void
exchange_answered(struct session *s, const struct said *said, struct ats_slice line)
{
	struct ats_buf unsure ATS_CLEANUP_BUF = { 0 };
	struct exchange *x = find(s, said->id);
	struct said with;
	size_t at;

	if (x == NULL)
		return;			/* it was given up */
	session_used(s);
	if (!x->calls || !x->again || !ats_unsure_at(line, &at)) {
		answered(x, said, line);
		return;
	}
	ats_buf_init(&unsure, line.n + sizeof(ATS_UNSURE) + 2);
	line = ats_unsure_add(line, at, &unsure) < 0 ? line :
	    (struct ats_slice){ unsure.data, unsure.len };
	if (message_said(line, &with) == 0)
		answered(x, &with, line);
}

/* The engine says no more about it: whoever only takes it back, and keeps the connection, would
 * keep it for ever. That this comes a client that has moved on may ignore (MCP, Cancellation). */
void
exchange_cancelled(struct session *s, struct ats_slice params)
{
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };
	struct said said = { .code = NO_ANSWER };
	struct ats_json_val id;
	struct exchange *x;

	if (ats_json_type(params) != ATS_JSON_OBJECT || !ats_json_get(params, "requestId", &id))
		return;
	x = find(s, id.raw);
	if (x == NULL || x->first)	/* what begins a session is not taken back */
		return;
	said.id = (struct ats_slice){ x->id, strlen(x->id) };
	ats_buf_init(&line, MESSAGE_ID_MAX + 256);
	if (ats_buf_addf(&line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,"
	    "\"message\":\"cancelled by the client\"}}", x->id, NO_ANSWER) == 0)
		exchange_answered(s, &said, (struct ats_slice){ line.data, line.len });
}

void
exchange_progress(struct session *s, const struct said *said, struct ats_slice line)
{
	struct exchange *x;

	TAILQ_FOREACH(x, &s->exchanges, link)
		if (x->token != NULL && strlen(x->token) == said->token.n &&
		    memcmp(x->token, said->token.p, said->token.n) == 0)
			break;
	if (x != NULL && stream_may_begin(x))
		stream_say(x, line.p, line.n);
}

/* It belongs to a request under way, or to nobody: the youngest that takes events has it. */
void
exchange_asked(struct session *s, struct ats_slice line)
{
	struct exchange *x;

	TAILQ_FOREACH_REVERSE(x, &s->exchanges, exchange_list, link)
		if (stream_may_begin(x)) {
			stream_say(x, line.p, line.n);
			return;
		}
	session_tell(s, line);
}
