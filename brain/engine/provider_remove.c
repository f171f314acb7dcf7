/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of what scripts made: destroy, a few at a time. Runs in the engine; what the script
 * says to it is not read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/provider.h"
#include "brain/engine/provider_private.h"
#include "brain/engine/script_line.h"
#include "common/log.h"

#define DESTROY_MS 30000u
#define DESTROYS_MAX 4			/* at a time; the others wait */

struct removal {
	TAILQ_ENTRY(removal) link;
	struct engine *e;
	struct script *run;		/* of it, or of the build that it waits for */
	char box[sizeof(((struct sandbox *)0)->id)];
	char id[MADE_ID_MAX];
};

static void remove_next(struct provider *p);

static void
removal_done(struct removal *r)
{
	struct provider *p = r->e->provider;

	TAILQ_REMOVE(&p->removals, r, link);
	free(r);
	remove_next(p);
	if (p->e->stopping && TAILQ_EMPTY(&p->removals))
		(void)event_base_loopbreak(p->e->base);
}

static void
on_removed(void *ctx, int code, const char *why, struct ats_slice line)
{
	struct removal *r = ctx;

	(void)line;
	if (code != 0 && code != ATS_E_NOENT)
		ats_log(ATS_LOG_WARN, "a sandbox was not removed", "sandbox=%s id=%s why=\"%s\"",
		    r->box, r->id, why);
	r->e->provider->running--;
	removal_done(r);
}

static void
remove_next(struct provider *p)
{
	struct ats_buf line ATS_CLEANUP_BUF = { 0 };
	struct removal *r;

	TAILQ_FOREACH(r, &p->removals, link) {
		if (p->running >= DESTROYS_MAX)
			return;
		if (r->run != NULL || script_line_id(r->id, &line) < 0)
			continue;
		r->run = script_run(p->e, r->box, SCRIPT_DESTROY,
		    (struct ats_slice){ line.data, line.len }, DESTROY_MS, on_removed, r);
		p->running += r->run != NULL;
	}
}

static struct removal *
removal_new(struct engine *e, const char *box, const char *id)
{
	struct removal *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		ats_log(ATS_LOG_ERROR, "a sandbox was not removed", "sandbox=%s id=%s", box, id);
		return NULL;
	}
	r->e = e;
	(void)snprintf(r->box, sizeof(r->box), "%s", box);
	(void)snprintf(r->id, sizeof(r->id), "%s", id);
	TAILQ_INSERT_TAIL(&e->provider->removals, r, link);
	return r;
}

void
provider_remove(struct engine *e, const char *box, const struct made *m)
{
	struct ats_err err = { 0 };

	/* First: one that is being removed is nothing to take over. */
	if (store_made_drop(e->store, box, m->id, &err) < 0)
		ats_log(ATS_LOG_WARN, "a sandbox stays in the journal",
		    "sandbox=%s why=\"%s\"", box, err.text);
	if (removal_new(e, box, m->id) != NULL)
		remove_next(e->provider);
}

static void
on_abandoned(void *ctx, int code, const char *why, struct ats_slice line)
{
	struct removal *r = ctx;
	struct made m;

	(void)why;
	r->run = NULL;
	if (code != 0 || script_line_made(line, &m, NULL) < 0) {
		removal_done(r);
		return;
	}
	(void)snprintf(r->id, sizeof(r->id), "%s", m.id);
	remove_next(r->e->provider);
}

void
provider_abandon(struct sandbox *box, struct script **s)
{
	struct removal *r = *s == NULL ? NULL : removal_new(box->e, box->id, "");

	if (r == NULL) {
		script_drop(*s);
	} else {
		r->run = *s;
		script_let_go(*s, on_abandoned, r);
	}
	*s = NULL;
}

void
provider_removals_free(struct provider *p)
{
	struct removal *r;

	while ((r = TAILQ_FIRST(&p->removals)) != NULL) {
		TAILQ_REMOVE(&p->removals, r, link);
		free(r);
	}
}
