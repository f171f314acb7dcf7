/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of calls on one file. Runs in the engine; inputs are a client's. */
#include "brain/engine/turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/calls.h"
#include "brain/engine/ctx.h"
#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "common/map.h"

struct turn {				/* of one file of one session */
	struct call_list waiting;	/* by call.link */
	size_t readers, writers;	/* that have their turn */
	char key[];			/* session, newline, path */
};

void
turns_look_at_input(struct call *c)
{
	struct ats_slice input = { c->input, c->input_len };
	struct ats_ctx_named named;

	if (c->looked_at)
		return;
	c->looked_at = true;
	ats_ctx_name(c->tool, c->session->cwd, input, &named);
	/* A retry is about the file of the first time. */
	if (c->attempt == 0 && c->path != NULL && strcmp(c->path, named.path) != 0) {
		turns_leave(c);
		free(c->path);
		c->path = NULL;
	}
	if (named.path[0] != '\0' && c->path == NULL)
		c->path = strdup(named.path);
	/* Whatever becomes of the session's directory until it is sent, or sent again. */
	if (c->path != NULL && strcmp(c->path, named.path) == 0)
		c->cwd = strdup(c->session->cwd);
	/* A command's time is not that of its check. */
	if (c->timeout_ms == 0 && named.timeout_ms != 0 && !c->validate)
		c->timeout_ms = named.timeout_ms < c->tool->timeout_max_ms ?
		    named.timeout_ms : c->tool->timeout_max_ms;
	if (c->timeout_ms == 0)
		c->timeout_ms = c->tool->timeout_ms;
}

static bool
writes(const struct call *c)
{
	return c->tool->profile == ATS_PROFILE_WRITE && !c->validate;
}

/* NULL: out of memory. */
static struct turn *
turn_of(struct call *c)
{
	struct ats_map *turns = c->e->calls->turns;
	const char *session = c->session != NULL ? c->session->id : c->resumed_session;
	size_t n = strlen(session) + strlen(c->path) + 2;
	struct turn *t = calloc(1, sizeof(*t) + n), *old;

	if (t == NULL)
		return NULL;
	(void)snprintf(t->key, n, "%s\n%s", session, c->path);
	TAILQ_INIT(&t->waiting);
	old = ats_map_get_str(turns, t->key);
	if (old != NULL || ats_map_put_str(turns, t->key, t) < 0) {
		free(t);
		return old;
	}
	return t;
}

static void
drop_if_idle(struct call *c, struct turn *t)
{
	if (t->readers + t->writers > 0 || !TAILQ_EMPTY(&t->waiting))
		return;
	(void)ats_map_del_str(c->e->calls->turns, t->key);
	free(t);
}

/* What goes into a client's pipe takes as long as the client likes: nobody waits for it, and
 * it is known by session_read.nr what was written meanwhile. */
static void
have(struct turn *t, struct call *c)
{
	c->turn = NULL;
	if (c->exec != NULL)
		return;
	c->turn = t;
	if (writes(c))
		t->writers++;
	else
		t->readers++;
}

bool
turns_take(struct call *c)
{
	struct turn *t;

	if (c->tool == NULL || c->session == NULL)
		return true;
	turns_look_at_input(c);
	if (c->turn != NULL)	/* since turns_resume */
		return true;
	t = c->path == NULL ? NULL : turn_of(c);
	if (t == NULL)
		return true;
	if (TAILQ_EMPTY(&t->waiting) && t->writers == 0 && (t->readers == 0 || !writes(c))) {
		have(t, c);
		drop_if_idle(c, t);
		return true;
	}
	c->turn = t;
	c->waits_turn = true;
	TAILQ_INSERT_TAIL(&t->waiting, c, link);
	c->box->nqueue++;
	return false;
}

void
turns_resume(struct call *c)
{
	struct turn *t;

	if (c->tool == NULL || c->path == NULL || c->turn != NULL)
		return;
	t = turn_of(c);
	if (t != NULL)
		have(t, c);
}

static void
stop_waiting(struct turn *t, struct call *c)
{
	TAILQ_REMOVE(&t->waiting, c, link);
	c->waits_turn = false;
	c->box->nqueue--;
}

void
turns_leave(struct call *c)
{
	struct turn *t = c->turn;
	struct call *next;

	if (t == NULL)
		return;
	c->turn = NULL;
	if (c->waits_turn)
		stop_waiting(t, c);
	else if (writes(c))
		t->writers--;
	else
		t->readers--;
	while (!c->e->calls->closing && (next = TAILQ_FIRST(&t->waiting)) != NULL &&
	       t->writers == 0 && (t->readers == 0 || !writes(next))) {
		stop_waiting(t, next);
		have(t, next);
		dispatch_ready(next);
	}
	drop_if_idle(c, t);
}
