/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to conn.c and conn_out.c. */
#ifndef ATS_HTTP_CONN_PRIVATE_H
#define ATS_HTTP_CONN_PRIVATE_H

#include <event2/event.h>

#include "brain/http/conn.h"

enum state {
	HEAD,				/* of the next request */
	BODY,
	ANSWER,				/* somebody else makes it */
	STREAM,
	LAST,				/* what is queued leaves, then it ends */
	LINGER,				/* its end is read away */
};
struct conn {
	TAILQ_ENTRY(conn) link;
	struct http *h;
	int fd;
	enum state state;
	struct ats_buf in, head, body, out;
	size_t scanned;			/* of in: no end of a head */
	struct request req;
	struct ats_http_chunks chunks;
	uint64_t body_left;
	size_t lingered;
	bool dead, reading, any_host;
	bool flushed;			/* some left since the last turn of writing */
	bool failed;			/* it ends in the next one */
	struct event *readable, *writable, *timer;
	conn_gone_fn *gone;
	void *gone_ctx;
};

/* conn.c */
/* Ends it; it is freed at the end of the turn. */
void conn_drop(struct conn *c);
void conn_wait(struct conn *c, unsigned seconds);	/* for something to happen; 0: for ever */
void conn_read_on(struct conn *c, bool on);
/* What was queued has left. */
void conn_all_written(struct conn *c);

/* conn_out.c */
void conn_on_writable(evutil_socket_t fd, short what, void *arg);
/* From within a turn of this connection or of another one. */
void conn_flush(struct conn *c);

#endif
