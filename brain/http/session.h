/* SPDX-License-Identifier: Apache-2.0
 *
 * A session of MCP over HTTP, and its requests under way. Its id carries its own proof, so that
 * one that this process has put away, or that the process before it made, is taken up again. */
#ifndef ATS_HTTP_SESSION_H
#define ATS_HTTP_SESSION_H

#include "brain/http/conn.h"
#include "brain/http/message.h"
#include "brain/http/modern.h"

#define SESSION_REVISION_MAX 17u

struct session;

/* A new one in ret. Of all three: -ATS_E_AGAIN: too many were opened lately, -ATS_E_FULL: as many
 * are in use as there may be, -ATS_E_NOMEM. */
ATS_NODISCARD int session_new(struct http *h, struct session **ret);
/* One that is in memory, or was once; -ATS_E_UNKNOWN_ID: or the proof is wrong. revision: what the
 * client says that was agreed; for one that must be taken up again. */
ATS_NODISCARD int session_find(struct http *h, const char *id, const char *revision,
    struct session **ret);
/* The one of requests that say all by themselves, by the name in their URL. */
ATS_NODISCARD int session_modern(struct http *h, const char *name, struct session **ret);
const char *session_id(const struct session *s);	/* borrowed */
/* Sends a request; c is answered later. -ATS_E_EXISTS: its id is under way, -ATS_E_FULL,
 * -ATS_E_NOMEM: c is not. */
ATS_NODISCARD int session_ask(struct session *s, struct conn *c, const struct message *m);
/* The same of a modern session; q is what modern_check found in order. */
ATS_NODISCARD int caller_ask(struct session *s, struct conn *c, const struct message *m,
    const struct modern *q);
/* Sends a notification, or an answer to a request of the engine's. */
void session_note(struct session *s, const struct message *m);
/* c becomes a stream: of what is no answer, or, after an event id, of what came after it in that
 * stream. -ATS_E_NOENT: no such event. */
ATS_NODISCARD int session_listen(struct session *s, struct conn *c, const char *after);
/* The client ends it: for brain, too. */
void session_end(struct session *s);
void sessions_bury(struct http *h);
void sessions_free(struct http *h);

#endif
