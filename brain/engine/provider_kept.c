/* SPDX-License-Identifier: Apache-2.0
 *
 * What scripts made outlives the engine that asked for it: it is in the journal, and the next
 * engine takes it over when its sandbox is needed again. Runs in the engine. */
#include <stdlib.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/provider.h"
#include "brain/engine/provider_private.h"
#include "common/log.h"

void
provider_keep(struct provided *d, const struct made *m, bool used)
{
	struct engine *e = d->box->e;
	struct store_made row = { .made = *m, .used = used };
	struct ats_err err = { 0 };

	(void)snprintf(row.box, sizeof(row.box), "%s", d->box->id);
	(void)snprintf(row.script, sizeof(row.script), "%s", provider_script(e));
	if (store_made_save(e->store, &row, &err) < 0)
		ats_log(ATS_LOG_WARN, "a sandbox is not in the journal: an engine after this one "
		    "will not know it", "sandbox=%s why=\"%s\"", d->box->id, err.text);
}

static int
on_row(void *ctx, const struct store_made *row)
{
	struct provider *p = ctx;
	const char *script = provider_script(p->e);
	struct store_made *m;

	/* Of another script: it may come back to the configuration. */
	if (script == NULL || strcmp(script, row->script) != 0)
		return 0;
	m = malloc(sizeof(*m));
	if (m == NULL)
		return -ATS_E_NOMEM;
	*m = *row;
	TAILQ_INSERT_TAIL(&p->left, m, link);
	return 0;
}

void
provider_load(struct provider *p)
{
	struct ats_err err = { 0 };

	if (store_made_each(p->e->store, on_row, p, &err) < 0)
		ats_log(ATS_LOG_WARN, "sandboxes of the engine before are not known", "why=\"%s\"",
		    err.text);
}

void
provider_take_over(struct provider *p, struct provided *d)
{
	struct store_made *m, *next;

	for (m = TAILQ_FIRST(&p->left); m != NULL; m = next) {
		next = TAILQ_NEXT(m, link);
		if (strcmp(m->box, d->box->id) != 0)
			continue;
		TAILQ_REMOVE(&p->left, m, link);
		if (m->used && !d->has_now) {
			d->now = m->made;
			d->has_now = d->again = true;
		} else if (!m->used && d->nwarm < PROVIDER_WARM_MAX) {
			d->warm[d->nwarm++] = m->made;
		} else {
			provider_remove(p->e, m->box, &m->made);
		}
		free(m);
	}
}

void
provider_remove_left(struct provider *p)
{
	struct store_made *m;

	while ((m = TAILQ_FIRST(&p->left)) != NULL) {
		TAILQ_REMOVE(&p->left, m, link);
		provider_remove(p->e, m->box, &m->made);
		free(m);
	}
}

void
provider_left_free(struct provider *p)
{
	struct store_made *m;

	while ((m = TAILQ_FIRST(&p->left)) != NULL) {
		TAILQ_REMOVE(&p->left, m, link);
		free(m);
	}
}
