/* SPDX-License-Identifier: Apache-2.0
 *
 * Events to subscribers, and the ring of the newest. Runs in the engine; texts may hold what a
 * sandbox wrote, the writer escapes them. What a slow client does not read is not kept for it. */
#include "brain/engine/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/door.h"
#include "brain/engine/engine.h"
#include "brain/engine/observe.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "common/clock.h"
#include "common/json.h"

#define BACKLOG_MAX (1u << 20)

struct kept {
	uint64_t seq, uid, call;
	int64_t ts;
	const char *kind;
	char session[SESSION_ID_MAX + 1], sandbox[33], text[EVENTS_TEXT];	/* "": none */
};
struct events {
	size_t subscribers;
	uint64_t first, next;		/* seq of the first of this engine, and of the next one */
	struct kept ring[EVENTS_KEPT];
};

struct events *
events_new(struct engine *e)
{
	struct events *v = calloc(1, sizeof(*v));

	(void)e;
	/* By the clock: above those of engines before, which had fewer than a million a second. */
	if (v != NULL)
		v->first = v->next = (uint64_t)ats_clock_wall_ms() * 1000 + 1;
	return v;
}

void
events_free(struct events *v)
{
	free(v);
}

size_t
events_subscribers(const struct events *v)
{
	return v->subscribers;
}

/* ---- telling ------------------------------------------------------------------------- */

static void
write_event(struct ats_json_w *w, const struct kept *k)
{
	char call[32];

	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "jsonrpc", "2.0");
	ats_json_w_str(w, "method", "ats/event");
	ats_json_w_object(w, "params");
	ats_json_w_u64(w, "seq", k->seq);
	ats_json_w_i64(w, "ts", k->ts);
	ats_json_w_str(w, "kind", k->kind);
	if (k->session[0] != '\0')
		ats_json_w_str(w, "session", k->session);
	if (k->sandbox[0] != '\0')
		ats_json_w_str(w, "sandbox", k->sandbox);
	if (k->call != 0) {
		(void)snprintf(call, sizeof(call), "c-%" PRIu64, k->call);
		ats_json_w_str(w, "call", call);
	}
	if (k->text[0] != '\0')
		ats_json_w_str(w, "text", k->text);
	ats_json_w_end(w);
	ats_json_w_end(w);
}

static void
miss(struct client *c, uint64_t n)
{
	c->events_lost += n;
	ats_metric_add(&c->e->observed->metrics, ATS_METRIC_EVENTS_LOST, 0, 0, n);
}

/* False: there is no room. */
static bool
send_one(struct client *c, const struct kept *k)
{
	struct ats_json_w w;

	if (c->out.len > BACKLOG_MAX)
		return false;
	ats_json_w_init(&w, &c->out);
	write_event(&w, k);
	if (ats_json_w_line(&w) < 0)
		return false;
	observe_count(c->e, ATS_METRIC_EVENTS);
	client_flush(c);
	return true;
}

/* False: it waits for the client to read, with what comes after it. */
static bool
tell_lost(struct client *c, uint64_t seq)
{
	struct kept k = { .seq = seq, .ts = ats_clock_wall_ms(), .kind = "lost" };

	if (c->events_lost == 0)
		return true;
	(void)snprintf(k.text, sizeof(k.text), "%" PRIu64 " events", c->events_lost);
	if (!send_one(c, &k))
		return false;
	c->events_lost = 0;
	return true;
}

static void
tell_other_engine(struct client *c)
{
	struct kept k = { .seq = c->e->events->first - 1, .ts = ats_clock_wall_ms(),
		.kind = "lost", .text = "those that only the engine before this one knew" };

	(void)send_one(c, &k);
}

static bool
concerns(const struct client *c, const struct kept *k)
{
	if (k->uid != c->uid && k->uid != EVENTS_FOR_ALL)
		return false;
	if (c->events_session[0] == '\0' || k->uid == EVENTS_FOR_ALL)
		return true;
	return k->session[0] != '\0' ? strcmp(k->session, c->events_session) == 0 :
				       strcmp(k->sandbox, c->events_sandbox) == 0;
}

static void
tell(struct client *c, const struct kept *k)
{
	if (!concerns(c, k))
		return;
	if (!tell_lost(c, k->seq - 1) || !send_one(c, k))
		miss(c, 1);
}

void
events_drained(struct client *c)
{
	if (c->subscribed && !c->dead && c->events_lost > 0)
		(void)tell_lost(c, c->e->events->next - 1);
}

/* ---- who listens ----------------------------------------------------------------------- */

static void
tell_kept(struct client *c, uint64_t after)
{
	struct events *v = c->e->events;
	uint64_t oldest = v->next - v->first > EVENTS_KEPT ? v->next - EVENTS_KEPT : v->first;

	if (after + 1 < v->first) {
		tell_other_engine(c);
		after = v->first - 1;
	}
	if (after + 1 < oldest) {	/* also those that were not for this client */
		miss(c, oldest - after - 1);
		(void)tell_lost(c, oldest - 1);
		after = oldest - 1;
	}
	for (uint64_t seq = after + 1; seq < v->next && !c->dead; seq++)
		tell(c, &v->ring[seq % EVENTS_KEPT]);
}

void
events_subscribe(struct client *c, const struct session *session, uint64_t after)
{
	c->events_session[0] = c->events_sandbox[0] = '\0';
	if (session != NULL) {
		memcpy(c->events_session, session->id, sizeof(c->events_session));
		memcpy(c->events_sandbox, session->box->id, sizeof(c->events_sandbox));
	}
	if (after != 0)
		tell_kept(c, after);
	if (c->subscribed || c->dead)
		return;
	c->subscribed = true;
	c->e->events->subscribers++;
}

void
events_unsubscribe(struct client *c)
{
	if (!c->subscribed)
		return;
	c->subscribed = false;
	c->e->events->subscribers--;
}

static void
copy(char *out, size_t size, const char *s)
{
	size_t n = s == NULL ? 0 : strlen(s);

	if (n >= size)
		n = size - 1 - ats_utf8_cut_tail(s, size - 1);
	memcpy(out, s == NULL ? "" : s, n);
	out[n] = '\0';
}

void
events_emit(struct engine *e, uint64_t uid, const char *kind, const char *session,
    const char *sandbox, uint64_t call, const char *text)
{
	struct client *c, *next;
	struct kept *k;

	if (e->events == NULL || e->door == NULL)
		return;
	k = &e->events->ring[e->events->next % EVENTS_KEPT];
	k->seq = e->events->next++;
	k->uid = uid;
	k->call = call;
	k->ts = ats_clock_wall_ms();
	k->kind = kind;
	copy(k->session, sizeof(k->session), session);
	copy(k->sandbox, sizeof(k->sandbox), sandbox);
	copy(k->text, sizeof(k->text), text);
	if (e->events->subscribers == 0)
		return;
	for (c = door_each(e->door, NULL); c != NULL; c = next) {
		next = door_each(e->door, c);
		if (c->subscribed && !c->dead)
			tell(c, k);
	}
}
