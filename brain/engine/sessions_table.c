/* SPDX-License-Identifier: Apache-2.0
 *
 * All sessions: registered by the vault, kept by the journal. Runs in the engine. What
 * changed is written with the next commit of a call, or some milliseconds later, so that a
 * pure call waits for no disk. */
#include "brain/engine/calls.h"
#include "brain/engine/sessions.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/call.h"
#include "brain/engine/door.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/hooks.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/store.h"
#include "common/log.h"
#include "common/map.h"

#define FLUSH_US 20000
#define FLUSH_AGAIN_US 1000000

TAILQ_HEAD(session_list, session);

struct sessions {
	struct engine *e;
	struct ats_map *map;		/* id -> session */
	struct session_list dirty;
	struct event *flush;
	uint64_t next_nr;
};

static void
on_flush(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	sessions_flush(arg);
}

struct sessions *
sessions_new(struct engine *e)
{
	struct sessions *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->e = e;
	TAILQ_INIT(&t->dirty);
	t->map = ats_map_new(e->set.sessions_max);
	t->flush = event_new(e->base, -1, 0, on_flush, t);
	if (t->map == NULL || t->flush == NULL) {
		sessions_free(t);
		return NULL;
	}
	return t;
}

static void
forget_dirty(struct sessions *t, struct session *s)
{
	if (s->on_dirty_list)
		TAILQ_REMOVE(&t->dirty, s, dirty_link);
	s->on_dirty_list = false;
}

void
sessions_free(struct sessions *t)
{
	struct session *s;
	size_t pos = 0;

	if (t == NULL)
		return;
	if (t->flush != NULL)
		event_free(t->flush);
	if (t->map != NULL)
		while ((s = ats_map_each(t->map, &pos)) != NULL)
			session_free(s);
	ats_map_free(t->map);
	free(t);
}

static int
register_new(struct sessions *t, const char *id, const char *box_id, uint64_t uid,
    const char *workspace, const char *key, struct ats_err *err)
{
	struct session *s;
	int rc;

	s = session_new(id, uid, workspace, key, t->e->set.reads_max);
	if (s == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "session");
	s->nr = t->next_nr++;
	rc = sandboxes_use(t->e->boxes, box_id, uid, workspace, &s->box, err);
	if (rc < 0) {
		session_free(s);
		return rc;
	}
	rc = ats_map_put_str(t->map, s->id, s);
	if (rc < 0) {
		sandboxes_unuse(s->box);
		session_free(s);
		return ats_err_set(err, -rc, "sessions");
	}
	/* Without the journal a session works, it only does not outlive the engine. */
	if (store_session_load(t->e->store, s, err) < 0)
		ats_log(ATS_LOG_WARN, "session not read from the journal", "session=%s", id);
	events_emit(t->e, uid, "session.open", id, box_id, 0, workspace);
	return 0;
}

int
sessions_register(struct sessions *t, const char *id, const char *box_id, uint64_t uid,
    const char *workspace, const char *key, struct ats_err *err)
{
	struct session *s = sessions_find(t, id);

	if (s == NULL)
		return register_new(t, id, box_id, uid, workspace, key, err);
	if (s->uid != uid || strcmp(s->workspace, workspace) != 0 ||
	    strcmp(s->box->id, box_id) != 0)
		return ats_err_set(err, ATS_E_EXISTS, "session %s is another's", id);
	return 0;
}

void
sessions_close(struct sessions *t, const char *id)
{
	struct session *s = ats_map_del_str(t->map, id);
	struct sandbox *box;

	if (s == NULL)
		return;
	box = s->box;
	events_emit(t->e, s->uid, "session.closed", s->id, box->id, 0, NULL);
	forget_dirty(t, s);
	calls_session_closed(t->e->calls, s);
	hooks_session_closed(t->e, s);
	if (t->e->door != NULL)
		door_session_closed(t->e->door, s);
	if (store_session_drop(t->e->store, id, NULL) < 0)
		ats_log(ATS_LOG_WARN, "session left in the journal", "session=%s", id);
	session_free(s);
	box->relay.forgot = true;
	sandboxes_unuse(box);
	engine_idle_check(t->e);
}

struct session *
sessions_find(const struct sessions *t, const char *id)
{
	return ats_map_get_str(t->map, id);
}

struct session *
sessions_find_owned(const struct sessions *t, const char *id, uint64_t uid)
{
	struct session *s = sessions_find(t, id);

	return s != NULL && s->uid == uid ? s : NULL;
}

struct session *
sessions_each(const struct sessions *t, size_t *pos)
{
	return ats_map_each(t->map, pos);
}

size_t
sessions_count(const struct sessions *t)
{
	return ats_map_count(t->map);
}

size_t
sessions_shells(const struct sessions *t)
{
	struct session *s;
	size_t pos = 0, n = 0;

	while ((s = ats_map_each(t->map, &pos)) != NULL)
		n += s->nshells;
	return n;
}

void
sessions_box_lost(struct sessions *t, const struct sandbox *box)
{
	struct session *s;
	size_t pos = 0;

	while ((s = ats_map_each(t->map, &pos)) != NULL) {
		if (s->box != box || s->nshells == 0)
			continue;
		session_notice_add(s, "Note: the sandbox was lost and replaced; background "
		    "commands that ran in it have ended and their output is gone.");
		s->nshells = 0;
		s->dirty = true;
		sessions_touch(t, s);
	}
}

void
sessions_touch(struct sessions *t, struct session *s)
{
	struct timeval tv = { .tv_sec = 0, .tv_usec = FLUSH_US };

	if (!(s->dirty || s->dirty_reads) || s->on_dirty_list)
		return;
	s->on_dirty_list = true;
	if (TAILQ_EMPTY(&t->dirty))
		(void)event_add(t->flush, &tv);
	TAILQ_INSERT_TAIL(&t->dirty, s, dirty_link);
}

void
sessions_flush(struct sessions *t)
{
	struct timeval again = { .tv_sec = FLUSH_AGAIN_US / 1000000, .tv_usec = 0 };
	struct ats_err err = { 0 };
	struct session *s;

	while ((s = TAILQ_FIRST(&t->dirty)) != NULL) {
		if ((s->dirty || s->dirty_reads) &&
		    store_session_save(t->e->store, s, &err) < 0) {
			ats_log(ATS_LOG_WARN, "session not written", "session=%s why=\"%s\"",
			    s->id, err.text);
			(void)event_add(t->flush, &again);
			return;
		}
		forget_dirty(t, s);
	}
}
