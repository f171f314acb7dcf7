/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to session.c, exchange.c, stream.c and caller.c. */
#ifndef ATS_HTTP_SESSION_PRIVATE_H
#define ATS_HTTP_SESSION_PRIVATE_H

#include "brain/http/events.h"
#include "brain/http/link.h"
#include "brain/http/session.h"

struct exchange {			/* a request that is not answered */
	TAILQ_ENTRY(exchange) link;
	struct session *s;
	struct conn *conn;		/* NULL: it was lost, the events are kept */
	char *id, *token;		/* owned, raw, the client's; token may be NULL */
	char *wire;			/* owned: raw id for the engine, or NULL: id */
	char *line;			/* owned: what was sent */
	size_t n;
	uint64_t stream, number;	/* 0: no event yet; of the last one */
	bool first;			/* initialize */
	bool held;			/* its line is among those of http.held_bytes */
	bool sent, again;		/* it left for brain: it may have run; and once more */
	bool calls;			/* tools/call */
	bool listens, acked;		/* subscriptions/listen; it was told so */
	struct event *timer;
};
TAILQ_HEAD(exchange_list, exchange);

struct session {
	TAILQ_ENTRY(session) link;
	struct http *h;
	char id[GATE_ID_MAX];
	char revision[SESSION_REVISION_MAX];	/* "" until it is agreed */
	bool modern;			/* of requests that agree on nothing: revision stays "" */
	uint64_t last_wire;		/* of its requests */
	struct link *way;
	struct exchange_list exchanges;
	unsigned nexchanges;
	struct conn *listener;		/* GET, or NULL */
	struct events events;
	uint64_t next_stream, told;	/* 1 is the listener's; of its last event */
	struct event *timer;
	bool gone, closes;
};

void session_used(struct session *s);

/* exchange.c */
/* A new one: id and token are copied, the rest is left to be filled in; NULL without memory. */
struct exchange *exchange_new(struct session *s, struct conn *c, const struct message *m);
void exchange_drop(struct exchange *x);
/* One more, of so many bytes, would be too much for the session, or for all. */
bool exchanges_full(const struct session *s, size_t bytes);
/* Its line is sent, or will be. */
void exchange_go(struct exchange *x);
/* Its client asks for its stream again, on c. */
void exchange_move(struct exchange *x, struct conn *c);
/* All that are open, in the order of their coming. */
void exchanges_send(struct session *s);
/* Those that never left for brain with this status; the others may have run, and hear that. */
void exchanges_fail(struct session *s, int status, const char *why);
void exchange_answered(struct session *s, const struct said *said, struct ats_slice line);
/* The client has taken back what params name; the engine was told. */
void exchange_cancelled(struct session *s, struct ats_slice params);
void exchange_progress(struct session *s, const struct said *said, struct ats_slice line);
/* A request of the engine's to the client. */
void exchange_asked(struct session *s, struct ats_slice line);

/* stream.c */
/* Begins the request's stream if there is none; false: the client does not take events. */
bool stream_begin(struct exchange *x);
/* The same before the answer: not of what begins a session, for it may be none. */
bool stream_may_begin(struct exchange *x);
/* One more event of a stream that was begun, kept and sent. */
void stream_say(struct exchange *x, const char *data, size_t n);
/* A line that belongs to no request. */
void session_tell(struct session *s, struct ats_slice line);

/* caller.c: the same for requests of a modern session */
void caller_answered(struct exchange *x, const struct said *said, struct ats_slice line);
void caller_told(struct session *s, const struct said *said, struct ats_slice line);

#endif
