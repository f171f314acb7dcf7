/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of calls, and of what all of them share. */
#ifndef ATS_ENGINE_CALLS_H
#define ATS_ENGINE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "brain/engine/call.h"

struct ats_map;
struct cache;

struct calls {
	struct engine *e;
	struct ats_map *by_id, *by_key;
	struct ats_map *turns;		/* of turns.c */
	bool closing;			/* nothing is sent any more */
	struct call_list resumed;
	struct cache *cache;
	uint64_t next_pure;
	size_t input_bytes;		/* of all calls */
};

/* Returns owned, or NULL without memory. */
struct calls *calls_new(struct engine *e);
void calls_free(struct calls *t);
/* The engine ends. Who cannot ask the next one, since a call has his pipes, hears of it here if
 * it was given to no sandbox. Answers are in the clients' buffers (door_flush). */
void calls_stop(struct calls *t);
size_t calls_count(const struct calls *t);
/* The next one, from *pos (0 at first); the table must not change meanwhile. */
struct call *calls_each(const struct calls *t, size_t *pos);
struct call *calls_find(const struct calls *t, uint64_t id);
/* Whether this engine, or one before it, has given that id to a call. */
bool calls_id_given(const struct calls *t, uint64_t id);
/* By the client's own id ("id:..." is tried first, then the rest). NULL if not alive. */
struct call *call_find_key(const struct calls *t, const struct session *s, const char *call_id);
/* A session is closed: its calls are cancelled and forget it. */
void calls_session_closed(struct calls *t, struct session *s);

#endif
