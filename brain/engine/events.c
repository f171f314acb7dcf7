/* SPDX-License-Identifier: Apache-2.0
 *
 * Events to subscribers. Runs in the engine; texts may hold what a sandbox wrote, the
 * writer escapes them. */
#include "brain/engine/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "brain/engine/door.h"
#include "brain/engine/engine.h"
#include "brain/engine/observe.h"
#include "common/clock.h"
#include "common/json.h"

#define BACKLOG_MAX (1u << 20)

struct events {
	size_t subscribers;
};

struct events *
events_new(struct engine *e)
{
	(void)e;
	return calloc(1, sizeof(struct events));
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

void
events_subscribe(struct client *c)
{
	if (c->subscribed)
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

struct event_text {
	const char *kind, *session, *sandbox, *text;
	uint64_t call;
};

static void
send_one(struct client *c, const struct event_text *ev)
{
	size_t mark = c->out.len;
	struct ats_json_w w;
	char call[32];

	ats_json_w_init(&w, &c->out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_str(&w, "method", "ats/event");
	ats_json_w_object(&w, "params");
	ats_json_w_i64(&w, "ts", ats_clock_wall_ms());
	ats_json_w_str(&w, "kind", ev->kind);
	if (ev->session != NULL)
		ats_json_w_str(&w, "session", ev->session);
	if (ev->sandbox != NULL)
		ats_json_w_str(&w, "sandbox", ev->sandbox);
	if (ev->call != 0) {
		(void)snprintf(call, sizeof(call), "c-%llu", (unsigned long long)ev->call);
		ats_json_w_str(&w, "call", call);
	}
	if (ev->text != NULL)
		ats_json_w_str(&w, "text", ev->text);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	if (w.rc == 0)
		w.rc = ats_buf_add_char(&c->out, '\n');
	if (w.rc < 0) {
		ats_buf_truncate(&c->out, mark);
		c->events_lost++;
		observe_count(c->e, ATS_METRIC_EVENTS_LOST);
		return;
	}
	observe_count(c->e, ATS_METRIC_EVENTS);
	client_flush(c);
}

void
events_emit(struct engine *e, uint64_t uid, const char *kind, const char *session,
    const char *sandbox, uint64_t call, const char *text)
{
	struct event_text ev = { kind, session, sandbox, text, call };
	struct client *c, *next;
	char lost[64];

	if (e->events == NULL || e->events->subscribers == 0 || e->door == NULL)
		return;
	for (c = door_each(e->door, NULL); c != NULL; c = next) {
		next = door_each(e->door, c);
		if (!c->subscribed || c->dead || c->uid != uid)
			continue;
		if (c->out.len > BACKLOG_MAX) {
			c->events_lost++;
			observe_count(e, ATS_METRIC_EVENTS_LOST);
			continue;
		}
		if (c->events_lost > 0) {
			struct event_text gap = { "lost", NULL, NULL, lost, 0 };

			(void)snprintf(lost, sizeof(lost), "%llu events",
			    (unsigned long long)c->events_lost);
			c->events_lost = 0;
			send_one(c, &gap);
		}
		send_one(c, &ev);
	}
}
