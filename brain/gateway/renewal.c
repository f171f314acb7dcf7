/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests whose credential was refused. Runs in ats-gateway; who refuses is the upstream. */
#include "brain/gateway/renewal.h"

#include <stddef.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/vault_link.h"

bool
renewal_possible(const struct gateway *g)
{
	return g->credential != NULL && g->conf.has_url && g->conf.auth != ATS_GW_AUTH_NONE;
}

void
renewal_wait(struct gateway *g, struct renewal *w)
{
	bool first = g->renewals == NULL;

	w->next = g->renewals;
	g->renewals = w;
	if (first)
		vault_link_refused(g->vault);
}

static void
forget(struct renewal **at, const struct renewal *w)
{
	while (*at != NULL && *at != w)
		at = &(*at)->next;
	if (*at != NULL)
		*at = w->next;
}

void
renewal_forget(struct gateway *g, struct renewal *w)
{
	forget(&g->renewals, w);
	forget(&g->renewing, w);
}

void
renewals_end(struct gateway *g, bool changed)
{
	struct renewal *w;

	/* Those that wait now, the oldest first: one that waits again is for the next answer. One
	 * that is told may be the end of others. */
	while ((w = g->renewals) != NULL) {
		g->renewals = w->next;
		w->next = g->renewing;
		g->renewing = w;
	}
	while ((w = g->renewing) != NULL) {
		g->renewing = w->next;
		w->done(w->ctx, changed);
	}
}
