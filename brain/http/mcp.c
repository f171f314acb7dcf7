/* SPDX-License-Identifier: Apache-2.0
 *
 * Streamable HTTP (MCP 2025-11-25, Transports): POST sends one message, GET listens, DELETE ends
 * a session. Runs in ats-http; whoever asks has the token. */
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
no_session(struct conn *c, struct ats_slice id)
{
	conn_reply_error(c, 404, id, NO_SESSION, "unknown session; begin again with initialize");
}

/* NULL: c is answered. */
static struct session *
find(struct http *h, struct conn *c, struct ats_slice id)
{
	const struct request *r = conn_request(c);
	struct session *s;

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
	s = session_find(h, r->session, r->version[0] != '\0' ? r->version : "2025-03-26");
	if (s == NULL)
		no_session(c, id);
	return s;
}

static void
ask(struct http *h, struct conn *c, const struct message *m)
{
	bool first = ats_json_key_is(m->method, "initialize");
	struct session *s = first ? session_new(h) : find(h, c, m->id);
	int rc;

	if (s == NULL) {
		if (first)
			conn_reply_error(c, 503, m->id, INVALID, "too many sessions at once");
		return;
	}
	rc = session_ask(s, c, m);
	if (rc == -ATS_E_EXISTS)
		conn_reply_error(c, 409, m->id, INVALID, "a request of this id is under way");
	else if (rc == -ATS_E_FULL)
		conn_reply_error(c, 429, m->id, INVALID, "too many requests at once");
	else if (rc < 0)
		conn_reply_error(c, 503, m->id, INVALID, "out of memory");
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
	if (m.method.p != NULL && m.id.p != NULL) {
		ask(h, c, &m);
		return;
	}
	s = find(h, c, nobody);
	if (s == NULL)
		return;
	/* Brain asks clients nothing by this way: an answer is to nothing. */
	if (m.method.p != NULL)
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
