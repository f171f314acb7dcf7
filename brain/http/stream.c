/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of events: of a request, and the session's own, which has what belongs to none. What is
 * said is kept for a while, so that a client that lost its connection can ask for what came after
 * the last event that it had. Runs in ats-http; lines are the engine's, what is asked for again is
 * a client's. */
#include <string.h>

#include "brain/http/session_private.h"

#define LISTENER_STREAM 1u

/* Of all sessions there is so much, and it is not the quiet ones' that goes. */
static void
keep(struct session *s, uint64_t stream, uint64_t number, const char *data, size_t n)
{
	struct session *one, *most;
	size_t bytes;

	events_keep(&s->events, stream, number, data, n);
	do {
		bytes = 0;
		most = s;
		TAILQ_FOREACH(one, &s->h->sessions, link) {
			bytes += one->events.bytes;
			if (one->events.bytes > most->events.bytes)
				most = one;
		}
	} while (bytes > HTTP_EVENTS_ALL && events_forget(&most->events));
}

void
stream_say(struct exchange *x, const char *data, size_t n)
{
	char id[EVENTS_ID];

	events_id(x->stream, ++x->number, id);
	keep(x->s, x->stream, x->number, data, n);
	if (x->conn != NULL)
		conn_event(x->conn, id, data, n);
}

bool
stream_begin(struct exchange *x)
{
	if (x->stream != 0)
		return true;
	if (x->conn == NULL || !conn_request(x->conn)->takes_events)
		return false;
	x->stream = ++x->s->next_stream;
	conn_stream(x->conn, x->first ? x->s->id : NULL);
	if (x->s->modern)
		return true;		/* what is lost there is lost */
	/* An id at once: what is lost from here on can be asked for. */
	if (strcmp(x->s->revision, "2025-11-25") >= 0)
		stream_say(x, "", 0);
	return true;
}

bool
stream_may_begin(struct exchange *x)
{
	return !x->first && stream_begin(x);
}

/* ---- listening ------------------------------------------------------------------- */

void
session_tell(struct session *s, struct ats_slice line)
{
	char id[EVENTS_ID];

	events_id(LISTENER_STREAM, ++s->told, id);
	keep(s, LISTENER_STREAM, s->told, line.p, line.n);
	if (s->listener != NULL)
		conn_event(s->listener, id, line.p, line.n);
}

static void
on_listener_gone(void *ctx)
{
	struct session *s = ctx;

	s->listener = NULL;
}

struct replay {
	struct conn *c;
	uint64_t stream;
};

static void
replay_one(void *ctx, uint64_t number, const char *data, size_t n)
{
	struct replay *r = ctx;
	char id[EVENTS_ID];

	events_id(r->stream, number, id);
	conn_event(r->c, id, data, n);
}

static void
listen_for_all(struct session *s, struct conn *c)
{
	struct conn *before = s->listener;

	s->listener = c;
	conn_expects(c, on_listener_gone, s);
	if (before != NULL)
		conn_stream_end(before);
}

int
session_listen(struct session *s, struct conn *c, const char *after)
{
	uint64_t stream = LISTENER_STREAM, number = UINT64_MAX;
	struct exchange *x = NULL;

	if (after[0] != '\0' && events_id_read(after, &stream, &number) < 0)
		return -ATS_E_NOENT;
	if (stream != LISTENER_STREAM) {
		TAILQ_FOREACH(x, &s->exchanges, link)
			if (x->stream == stream)
				break;
		if (x == NULL && !events_have(&s->events, stream))
			return -ATS_E_NOENT;
	}
	session_used(s);
	conn_stream(c, NULL);
	if (stream == LISTENER_STREAM)
		listen_for_all(s, c);
	else if (x != NULL)
		exchange_move(x, c);
	events_after(&s->events, stream, number, replay_one, &(struct replay){ c, stream });
	if (stream != LISTENER_STREAM && x == NULL)
		conn_stream_end(c);	/* the answer was among them */
	return 0;
}
