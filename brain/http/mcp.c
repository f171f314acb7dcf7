/* SPDX-License-Identifier: Apache-2.0
 *
 * Streamable HTTP (MCP, Transports): POST sends one message; to 2025-11-25 GET listens and DELETE
 * ends a session, from 2026-07-28 on each request stands alone. Runs in ats-http; whoever asks has
 * the token.
 */
#include "brain/http/mcp.h"

#include <string.h>

#include "brain/http/conn.h"
#include "brain/http/message.h"
#include "brain/http/session.h"

#define INVALID (-32600)
#define NO_SESSION (-32001)

static const struct ats_slice nobody = { NULL, 0 };

static bool
is_known_version(const char *v)
{
	static const char *const known[] = { "2025-11-25", "2025-06-18", "2025-03-26" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(known); i++)
		if (strcmp(v, known[i]) == 0)
			return true;
	return v[0] == '\0';		/* of before 2025-06-18, when none was sent */
}

static void
no_session(struct conn *c, struct ats_slice id, int rc)
{
	if (rc == -ATS_E_UNKNOWN_ID)
		conn_reply_error(c, 404, id, NO_SESSION,
		    "unknown session; begin again with initialize");
	else if (rc == -ATS_E_AGAIN)
		conn_reply_error(c, 429, id, INVALID, "too many sessions are opened; wait");
	else
		conn_reply_error(c, 503, id, INVALID, rc == -ATS_E_FULL ?
		    "too many sessions at once" : "out of memory");
}

/* NULL: c is answered. */
static struct session *
find(struct http *h, struct conn *c, struct ats_slice id)
{
	const struct request *r = conn_request(c);
	struct session *s = NULL;
	int rc;

	if (!is_known_version(r->version)) {
		conn_reply_error(c, 400, id, INVALID,
		    "MCP-Protocol-Version: 2025-11-25, 2025-06-18 or 2025-03-26");
		return NULL;
	}
	if (r->session[0] == '\0') {
		conn_reply_error(c, 400, id, INVALID,
		    "Mcp-Session-Id is missing; a session begins with initialize");
		return NULL;
	}
	rc = session_find(h, r->session, r->version[0] != '\0' ? r->version : "2025-03-26", &s);
	if (rc < 0)
		no_session(c, id, rc);
	return s;
}

static void
ask(struct http *h, struct conn *c, const struct message *m)
{
	struct session *s = NULL;
	int rc = 0;

	if (ats_json_key_is(m->method, "initialize"))
		rc = session_new(h, &s);
	else
		s = find(h, c, m->id);
	if (rc < 0)
		no_session(c, m->id, rc);
	if (s == NULL)
		return;
	rc = session_ask(s, c, m);
	if (rc == -ATS_E_EXISTS)
		conn_reply_error(c, 409, m->id, INVALID, "a request of this id is under way");
	else if (rc == -ATS_E_FULL)
		conn_reply_error(c, 429, m->id, INVALID, "too many requests at once");
	else if (rc < 0)
		conn_reply_error(c, 503, m->id, INVALID, "out of memory");
}

/* ---- 2026-07-28 ------------------------------------------------------------------ */

static void
refuse(struct conn *c, const struct message *m, const struct modern *q)
{
	struct ats_buf data ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&data, MODERN_VERSION_MAX + 256);
	if (q->version.p == NULL ||
	    ats_buf_addf(&data, "{\"supported\":[\"" MODERN_REVISION "\"],\"requested\":%.*s}",
		(int)q->version.n, q->version.p) < 0)
		conn_reply_error(c, q->status, m->id, q->code, q->why);
	else
		conn_reply_error_data(c, q->status, m->id, q->code, q->why,
		    (struct ats_slice){ data.data, data.len });
}

static void
ask_modern(struct http *h, struct conn *c, const struct message *m, struct modern *q)
{
	struct ats_http_head head;
	struct ats_slice text = conn_head(c);
	struct session *s = NULL;
	int rc;

	/* It was read before, when it came. */
	if (ats_http_request_read(text.p, text.n, &head, NULL) < 0)
		head = (struct ats_http_head){ .nfields = 0 };
	modern_check(&head, m, q);
	if (q->status == 0 && q->listens && !conn_request(c)->takes_events) {
		conn_reply_error(c, 406, m->id, INVALID,
		    "Accept: expected text/event-stream for subscriptions/listen");
		return;
	}
	if (q->status != 0) {
		refuse(c, m, q);
		return;
	}
	rc = session_modern(h, conn_request(c)->name, &s);
	if (rc < 0) {
		no_session(c, m->id, rc);
		return;
	}
	rc = caller_ask(s, c, m, q);
	if (rc == -ATS_E_FULL)
		conn_reply_error(c, 429, m->id, INVALID, "too many requests at once");
	else if (rc < 0)
		conn_reply_error(c, 503, m->id, INVALID, "out of memory");
}

static void
post_modern(struct http *h, struct conn *c, const struct message *m)
{
	struct modern q;

	if (m->method.p == NULL) {
		conn_reply_error(c, 400, m->id, INVALID, "there is nothing to be answered in "
		    MODERN_REVISION);
	} else if (m->id.p == NULL) {
		/* A notification, of which this revision has none. */
		conn_reply(c, 202, NULL, NULL, NULL, 0);
	} else {
		ask_modern(h, c, m, &q);
		ats_buf_done(&q.headers);
	}
}

static void
post(struct http *h, struct conn *c, const char *body, size_t n)
{
	struct message m;
	struct session *s;
	const char *why;
	int code = message_read(body, n, &m, &why);

	if (code != 0) {
		conn_reply_error(c, 400, m.id, code, why);
		return;
	}
	if (modern_is(conn_request(c)->version, &m)) {
		post_modern(h, c, &m);
		return;
	}
	if (m.method.p != NULL && m.id.p != NULL) {
		ask(h, c, &m);
		return;
	}
	s = find(h, c, nobody);
	if (s == NULL)
		return;
	session_note(s, &m);
	conn_reply(c, 202, NULL, NULL, NULL, 0);
}

void
mcp_request(struct http *h, struct conn *c, const char *body, size_t n)
{
	const struct request *r = conn_request(c);
	struct session *s;

	if (r->method == GATE_POST) {
		post(h, c, body, n);
		return;
	}
	if (strcmp(r->version, MODERN_REVISION) == 0) {
		conn_reply_error(c, 405, nobody, INVALID, MODERN_REVISION " knows POST alone");
		return;
	}
	s = find(h, c, nobody);
	if (s == NULL)
		return;
	if (r->method == GATE_DELETE) {
		session_end(s);
		conn_reply(c, 200, NULL, NULL, NULL, 0);
	} else if (session_listen(s, c, r->event) < 0) {
		conn_reply_error(c, 404, nobody, INVALID, "Last-Event-ID: no such event is kept");
	}
}
