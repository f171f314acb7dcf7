/* SPDX-License-Identifier: Apache-2.0
 *
 * One HTTP connection: requests one after another, an answer to each, or a stream of events that
 * ends it. */
#ifndef ATS_HTTP_CONN_H
#define ATS_HTTP_CONN_H

#include "brain/http/http.h"
#include "common/buf.h"

/* Takes fd. any_host: of a Unix socket, which no name leads to. */
void conn_new(struct http *h, int fd, bool any_host);
/* At the end of a turn: those that ended are freed. */
void conns_bury(struct http *h);
/* Ends all at once. */
void conns_free(struct http *h);

/* What asks for the answer; told once when the connection ends before it has it whole. */
typedef void conn_gone_fn(void *ctx);
void conn_expects(struct conn *c, conn_gone_fn *gone, void *ctx);
/* ctx ends before that: it is not told. Nothing where another one asks by now. */
void conn_forget(struct conn *c, const void *ctx);
/* The request under way; borrowed until it is answered. */
const struct request *conn_request(const struct conn *c);
/* All of its head, as it came; borrowed until it is answered. */
struct ats_slice conn_head(const struct conn *c);

/* The answer to the request under way. type NULL: no body. session: for Mcp-Session-Id, or NULL.
 * Nobody is told gone any more. */
void conn_reply(struct conn *c, int status, const char *session, const char *type,
    const char *body, size_t n);
/* The same with JSON in three parts, one after the other. */
void conn_reply_parts(struct conn *c, int status, const struct ats_slice body[3]);
/* A JSON-RPC error; id raw, or p == NULL. */
void conn_reply_error(struct conn *c, int status, struct ats_slice id, int code, const char *why);
/* The same; data: raw JSON, or p == NULL. */
void conn_reply_error_data(struct conn *c, int status, struct ats_slice id, int code,
    const char *why, struct ats_slice data);
/* Begins a stream of events (text/event-stream), which ends with the connection. */
void conn_stream(struct conn *c, const char *session);
/* data is one line, "" in the first event of a stream, which says when to ask again. id "": none.
 * Dropped when the peer does not read. */
void conn_event(struct conn *c, const char *id, const char *data, size_t n);
void conn_event_parts(struct conn *c, const char *id, const struct ats_slice data[3]);
void conn_comment(struct conn *c);	/* so that nobody takes it for dead */
void conn_stream_end(struct conn *c);

#endif
