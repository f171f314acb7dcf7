/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to session.c and exchange.c. */
#ifndef ATS_HTTP_SESSION_PRIVATE_H
#define ATS_HTTP_SESSION_PRIVATE_H

#include "brain/http/events.h"
#include "brain/http/link.h"
#include "brain/http/session.h"

struct exchange {			/* a request that is not answered */
	TAILQ_ENTRY(exchange) link;
	struct session *s;
	struct conn *conn;		/* NULL: it was lost, the events are kept */
	char *id, *token;		/* owned, raw; token may be NULL */
	char *line;			/* owned: what was sent */
	size_t n;
	uint64_t stream, number;	/* 0: no event yet; of the last one */
	bool first;			/* initialize */
	struct event *timer;
};
TAILQ_HEAD(exchange_list, exchange);

struct session {
	TAILQ_ENTRY(session) link;
	struct http *h;
	char id[GATE_ID_MAX];
	char revision[SESSION_REVISION_MAX];	/* "" until it is agreed */
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
/* All that are open, in the order of their coming. */
void exchanges_send(struct session *s);
void exchanges_fail(struct session *s, int status, const char *why);
void exchange_answered(struct session *s, const struct said *said, struct ats_slice line);
void exchange_progress(struct session *s, const struct said *said, struct ats_slice line);
/* A line that belongs to no request. */
void session_tell(struct session *s, struct ats_slice line);

#endif
