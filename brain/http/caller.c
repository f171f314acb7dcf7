/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of 2026-07-28. Many clients share one way to brain, so each request has an id there that
 * none of them chose, which is its progress token, too; what comes back has the client's own again.
 * Runs in ats-http; requests are a client's, lines the engine's. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/http/session_private.h"

#define ACK "subscriptions/acknowledged"
#define TOOLS "\"toolsListChanged\":true"

int
caller_ask(struct session *s, struct conn *c, const struct message *m, const struct modern *q)
{
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };
	char id[MODERN_ID_MAX];
	struct exchange *x;

	if (exchanges_full(s, m->whole.n + q->headers.len + 4 * MODERN_ID_MAX))
		return -ATS_E_FULL;
	(void)snprintf(id, sizeof(id), "\"h-%" PRIx64 "\"", ++s->last_wire);
	ats_buf_init(&line, m->whole.n + q->headers.len + 4 * MODERN_ID_MAX);
	if (modern_line(m, id, &q->headers, &line) < 0)
		return -ATS_E_NOMEM;
	x = exchange_new(s, c, m);
	if (x == NULL)
		return -ATS_E_NOMEM;
	x->listens = q->listens;
	x->wire = strdup(id);
	x->line = ats_buf_steal(&line, &x->n);
	if (x->wire == NULL || x->line == NULL) {
		exchange_drop(x);
		return -ATS_E_NOMEM;
	}
	exchange_go(x);
	return 0;
}

/* As an event with what the client has chosen in the place of part. */
static void
say(struct exchange *x, struct ats_slice line, struct ats_slice part, const char *with)
{
	struct ats_slice parts[3];

	modern_splice(line, part, with, parts);
	if (x->conn != NULL)
		conn_event_parts(x->conn, "", parts);
}

void
caller_answered(struct exchange *x, const struct said *said, struct ats_slice line)
{
	struct ats_slice parts[3];

	if (x->stream == 0 && (conn_request(x->conn)->takes_json || said->code != 0)) {
		modern_splice(line, said->id, x->id, parts);
		conn_reply_parts(x->conn, modern_status(said->code), parts);
	} else if (stream_may_begin(x)) {
		say(x, line, said->id, x->id);
		conn_stream_end(x->conn);
	}
	exchange_drop(x);
}

static struct exchange *
find(struct session *s, struct ats_slice wire)
{
	struct exchange *x;

	TAILQ_FOREACH(x, &s->exchanges, link)
		if (strlen(x->wire) == wire.n && memcmp(x->wire, wire.p, wire.n) == 0)
			return x;
	return NULL;
}

/* A new engine says again what this client has heard of the one before it. Between the two the list
 * may have changed, and better it is looked at once too often. */
static void
tell_changed(struct exchange *x, struct ats_slice ack)
{
	static const char note[] = "{\"jsonrpc\":\"2.0\",\"method\":"
	    "\"notifications/tools/list_changed\",\"params\":{\"_meta\":{"
	    "\"io.modelcontextprotocol/subscriptionId\":0}}}";
	struct ats_slice line = { note, sizeof(note) - 1 };

	if (memmem(ack.p, ack.n, TOOLS, sizeof(TOOLS) - 1) != NULL)
		say(x, line, (struct ats_slice){ note + sizeof(note) - 5, 1 }, x->id);
}

void
caller_told(struct session *s, const struct said *said, struct ats_slice line)
{
	bool listens = said->subscription.p != NULL;
	struct ats_slice id = listens ? said->subscription : said->token;
	struct exchange *x = id.p == NULL ? NULL : find(s, id);

	if (x == NULL || x->listens != listens || (!listens && x->token == NULL))
		return;
	if (listens && x->acked && memmem(line.p, line.n, ACK, sizeof(ACK) - 1) != NULL) {
		tell_changed(x, line);
		return;
	}
	if (!stream_may_begin(x))
		return;
	x->acked = x->acked || listens;
	say(x, line, id, listens ? x->id : x->token);
}
