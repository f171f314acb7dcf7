/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of calls: found by id and by key, stopped together. Runs in the engine; keys are
 * a client's, ids ours. */
#include "brain/engine/calls.h"

#include <stdio.h>
#include <stdlib.h>

#include "brain/engine/cache.h"
#include "brain/engine/call_ask.h"
#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/link.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "common/clock.h"
#include "common/map.h"

#define CACHE_ENTRIES 4096
#define CACHE_BYTES (16u << 20)

struct calls *
calls_new(struct engine *e)
{
	struct calls *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->e = e;
	TAILQ_INIT(&t->resumed);
	t->by_id = ats_map_new(e->set.calls_max + 1);
	t->by_key = ats_map_new(e->set.calls_max + 1);
	t->turns = ats_map_new(e->set.calls_max + 1);
	t->cache = cache_new(CACHE_ENTRIES, CACHE_BYTES);
	/* By the clock: no id of an engine before this one comes again. */
	t->next_pure = CALL_PURE_BIT | ((uint64_t)ats_clock_wall_ms() << 20 & ~CALL_PURE_BIT);
	if (t->by_id == NULL || t->by_key == NULL || t->turns == NULL || t->cache == NULL) {
		calls_free(t);
		return NULL;
	}
	return t;
}

void
calls_free(struct calls *t)
{
	struct waiter *w;
	struct call *c;
	size_t pos = 0;

	if (t == NULL)
		return;
	t->closing = true;
	while (t->by_id != NULL && (c = ats_map_each(t->by_id, &pos)) != NULL) {
		while ((w = TAILQ_FIRST(&c->waiters)) != NULL)
			call_waiter_drop(w);
		call_drop(c);
		pos = 0;
	}
	ats_map_free(t->by_id);
	ats_map_free(t->by_key);
	ats_map_free(t->turns);
	cache_free(t->cache);
	free(t);
}

size_t
calls_count(const struct calls *t)
{
	return ats_map_count(t->by_id);
}

struct call *
calls_each(const struct calls *t, size_t *pos)
{
	return ats_map_each(t->by_id, pos);
}

struct call *
calls_find(const struct calls *t, uint64_t id)
{
	return ats_map_get(t->by_id, id);
}

struct call *
call_find_key(const struct calls *t, const struct session *s, const char *call_id)
{
	static const char *const kinds[] = { "id:", "tu:", "va:", "" };
	char key[CALL_FULL_KEY_MAX];
	struct call *c;
	size_t i;

	for (i = 0; i < ATS_ARRAY_LEN(kinds); i++) {
		(void)snprintf(key, sizeof(key), "%s:%s%s", s->id, kinds[i], call_id);
		c = ats_map_get_str(t->by_key, key);
		if (c != NULL)
			return c;
	}
	return NULL;
}

bool
calls_id_given(const struct calls *t, uint64_t id)
{
	return (id & CALL_PURE_BIT) != 0 ? id < t->next_pure : store_id_given(t->e->store, id);
}

void
calls_stop(struct calls *t)
{
	struct call *c;
	size_t pos = 0;

	t->closing = true;
	while ((c = calls_each(t, &pos)) != NULL) {
		if (c->exec == NULL || c->given > 0 || c->finishing)
			continue;
		call_fail(c, OUTCOME_NOT_STARTED, ATS_E_NOT_STARTED,
		    "not started: brain was shut down before");
		pos = 0;	/* the map has changed */
	}
}

void
calls_session_closed(struct calls *t, struct session *s)
{
	struct call *c;
	size_t pos = 0;

	while ((c = ats_map_each(t->by_id, &pos)) != NULL) {
		if (c->session != s)
			continue;
		if (c->uncommitted || c->abandoned) {
			c->session = NULL;
			continue;
		}
		if (c->state == CALL_HOOKED) {
			hooks_call_cancel(c);
			pos = 0;
			continue;
		}
		if (c->asked != NULL) {
			gateway_session_closed(c);
			pos = 0;
			continue;
		}
		if (c->state == CALL_SENT && c->box->chan != NULL) {
			link_cancel(c->box, c->id, "cancelled");
			c->abandoned = true;
			c->box->abandoned++;
		}
		c->deadline_us = 0;
		call_fail(c, c->state == CALL_QUEUED ? OUTCOME_NOT_STARTED : OUTCOME_UNKNOWN,
		    ATS_E_CANCELLED, "the session was closed");
		pos = 0;	/* the map has changed */
	}
	pos = 0;
	while ((c = ats_map_each(t->by_id, &pos)) != NULL)
		if (c->session == s)
			c->session = NULL;
}
