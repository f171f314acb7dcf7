/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: their table, their ids, their way to brain. Runs in ats-http; ids come from clients,
 * lines from the engine. */
#include "brain/http/session_private.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/digest.h"
#include "common/log.h"

#define HALF 32				/* hexadecimal digits: chance, then its proof */
#define IDLE_S 600			/* then it is put away; brain has it still */
#define OUR_ID_MAX 160			/* of a greeting that the client did not send */

/* What ended is not taken up again before brain has heard of it, too. */
#define ENDED_MAX 64u
static char ended[ENDED_MAX][2 * HALF + 1];
static unsigned nended;

static void
prove(const struct http *h, const char *chance, char out[HALF + 1])
{
	static const char label[] = "ats-http session ";
	unsigned char mac[ATS_SHA256_BYTES];
	char text[sizeof(label) + HALF];
	size_t n;
	const void *token = ats_secret_bytes(h->token, &n);

	(void)snprintf(text, sizeof(text), "%s%.*s", label, HALF, chance);
	ats_hmac_sha256(token, n, text, strlen(text), mac);
	ats_hex(mac, HALF / 2, out);
}

static bool
is_proven(const struct http *h, const char *id)
{
	char proof[HALF + 1];

	if (strlen(id) != 2 * HALF || strspn(id, "0123456789abcdef") != 2 * HALF)
		return false;
	prove(h, id, proof);
	return ats_digest_equal(id + HALF, proof, HALF);
}

static bool
has_ended(const char *id)
{
	for (unsigned i = 0; i < ENDED_MAX; i++)
		if (strcmp(ended[i], id) == 0)
			return true;
	return false;
}

/* ---- life ------------------------------------------------------------------------ */

/* It is freed at the end of the turn: its link may be calling. */
static void
put_away(struct session *s, int status, const char *why)
{
	if (s->gone)
		return;
	s->gone = true;
	exchanges_fail(s, status, why);
	if (s->listener != NULL)
		conn_stream_end(s->listener);
	s->listener = NULL;
	(void)event_del(s->timer);
	event_active(s->h->turn_end, EV_TIMEOUT, 0);
}

static void
destroy(struct session *s)
{
	TAILQ_REMOVE(&s->h->sessions, s, link);
	s->h->nsessions--;
	link_free(s->way, s->closes);
	events_done(&s->events);
	if (s->timer != NULL)
		event_free(s->timer);
	free(s);
}

void
sessions_bury(struct http *h)
{
	struct session *s, *next;

	for (s = TAILQ_FIRST(&h->sessions); s != NULL; s = next) {
		next = TAILQ_NEXT(s, link);
		if (s->gone)
			destroy(s);
	}
}

void
sessions_free(struct http *h)
{
	struct session *s;

	TAILQ_FOREACH(s, &h->sessions, link)
		put_away(s, 503, "the server ends");
	sessions_bury(h);
}

static bool
is_idle(const struct session *s)
{
	return !s->gone && TAILQ_EMPTY(&s->exchanges) && s->listener == NULL;
}

static void
on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;

	(void)fd;
	(void)what;
	if (is_idle(s))
		put_away(s, 503, "unused");
	else
		session_used(s);
}

void
session_used(struct session *s)
{
	static const struct timeval idle = { IDLE_S, 0 };

	(void)event_add(s->timer, &idle);
	TAILQ_REMOVE(&s->h->sessions, s, link);
	TAILQ_INSERT_TAIL(&s->h->sessions, s, link);
}

static bool
make_room(struct http *h)
{
	struct session *s;

	if (h->nsessions < HTTP_SESSIONS)
		return true;
	TAILQ_FOREACH(s, &h->sessions, link)
		if (is_idle(s)) {
			put_away(s, 503, "unused");
			return true;
		}
	return false;
}

/* ---- its way to brain ------------------------------------------------------------ */

/* Not a word that clients have for requests of their own. */
static void
our_id(const struct session *s, char out[OUR_ID_MAX])
{
	(void)snprintf(out, OUR_ID_MAX, "\"ats-http %s\"", s->id);
}

/* The engine behind a fresh connection knows nothing of what was agreed. */
static void
greet(struct session *s)
{
	static const char initialized[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
	char line[400], id[OUR_ID_MAX];
	int n;

	our_id(s, id);
	n = snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":"
	    "\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"ats-http\",\"version\":\"" ATS_VERSION "\"}}}",
	    id, s->revision);
	link_send(s->way, line, (size_t)n);
	link_send(s->way, initialized, sizeof(initialized) - 1);
}

static void
on_up(void *ctx)
{
	struct session *s = ctx;

	if (s->gone)
		return;
	if (s->revision[0] != '\0')
		greet(s);
	exchanges_send(s);
}

static void
on_line(void *ctx, struct ats_slice line)
{
	struct session *s = ctx;
	struct said said;
	char ours[OUR_ID_MAX];

	if (s->gone || message_said(line, &said) < 0)
		return;
	if (s->modern && said.id.p == NULL) {
		caller_told(s, &said, line);
	} else if (said.asks) {
		if (!s->modern)
			exchange_asked(s, line);
	} else if (said.id.p != NULL) {
		our_id(s, ours);
		if (said.id.n != strlen(ours) || memcmp(said.id.p, ours, said.id.n) != 0)
			exchange_answered(s, &said, line);
	} else if (said.token.p != NULL) {
		exchange_progress(s, &said, line);
	} else {
		session_tell(s, line);
	}
}

static void
on_failed(void *ctx, bool known, const char *why)
{
	struct session *s = ctx;

	ats_log(known ? ATS_LOG_INFO : ATS_LOG_WARN, "no way to brain", "why=\"%s\"", why);
	if (known)
		put_away(s, 404, "unknown session; begin again with initialize");
	else
		put_away(s, 503, why);
}

/* Whoever opens and ends sessions in a loop has brain make and forget as many. */
static bool
may_open(struct http *h)
{
	const uint64_t each_us = 1000000u / HTTP_OPENS_S;
	uint64_t now = ats_clock_us();

	if (h->opens_us < now)
		h->opens_us = now;
	if (h->opens_us - now > (HTTP_OPENS - 1) * each_us)
		return false;
	h->opens_us += each_us;
	return true;
}

static int
make(struct http *h, const char *id, bool known, bool modern, struct session **ret)
{
	static const struct link_ops ops = { on_up, on_line, on_failed };
	char key[LINK_KEY_MAX];
	struct session *s;

	if (!may_open(h))
		return -ATS_E_AGAIN;
	if (!make_room(h))
		return -ATS_E_FULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ATS_E_NOMEM;
	s->h = h;
	s->modern = modern;
	(void)snprintf(s->id, sizeof(s->id), "%s", id);
	/* A session's own key is a half of its id; the other half proves it. */
	(void)snprintf(key, sizeof(key), modern ? "http-%.*s" : "http:%.*s",
	    modern ? (int)sizeof(key) : HALF, id);
	TAILQ_INIT(&s->exchanges);
	events_init(&s->events);
	s->next_stream = 1;
	s->timer = event_new(h->base, -1, 0, on_idle, s);
	s->way = link_new(h, key, known, &ops, s);
	TAILQ_INSERT_TAIL(&h->sessions, s, link);
	h->nsessions++;
	if (s->timer == NULL || s->way == NULL) {
		destroy(s);
		return -ATS_E_NOMEM;
	}
	session_used(s);
	*ret = s;
	return 0;
}

/* One in memory, or NULL. */
static struct session *
in_memory(struct http *h, const char *id)
{
	struct session *s;

	TAILQ_FOREACH(s, &h->sessions, link)
		if (!s->gone && strcmp(s->id, id) == 0) {
			session_used(s);
			return s;
		}
	return NULL;
}

int
session_new(struct http *h, struct session **ret)
{
	unsigned char chance[HALF / 2];
	char id[2 * HALF + 1];

	if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return -ATS_E_NOMEM;
	ats_hex(chance, sizeof(chance), id);
	prove(h, id, id + HALF);
	return make(h, id, false, false, ret);
}

int
session_find(struct http *h, const char *id, const char *revision, struct session **ret)
{
	int rc;

	if (!is_proven(h, id) || has_ended(id))
		return -ATS_E_UNKNOWN_ID;
	*ret = in_memory(h, id);
	if (*ret != NULL)
		return 0;
	rc = make(h, id, true, false, ret);
	if (rc == 0)
		(void)snprintf((*ret)->revision, sizeof((*ret)->revision), "%s", revision);
	return rc;
}

int
session_modern(struct http *h, const char *name, struct session **ret)
{
	char id[GATE_ID_MAX];

	/* Not the form of an id that clients may send. */
	(void)snprintf(id, sizeof(id), "name:%s", name);
	*ret = in_memory(h, id);
	return *ret != NULL ? 0 : make(h, id, false, true, ret);
}

const char *
session_id(const struct session *s)
{
	return s->id;
}

void
session_end(struct session *s)
{
	(void)snprintf(ended[nended++ % ENDED_MAX], sizeof(ended[0]), "%.*s", 2 * HALF,
	    s->id);
	s->closes = true;
	put_away(s, 404, "the session was ended");
}

void
session_note(struct session *s, const struct message *m)
{
	size_t n;
	char *line = message_line(m->whole, &n);

	/* Before it is up there is nothing that a notification could be about. */
	if (line != NULL)
		link_send(s->way, line, n);
	free(line);
	if (m->method.p != NULL && ats_json_key_is(m->method, "notifications/cancelled"))
		exchange_cancelled(s, m->params);
}
