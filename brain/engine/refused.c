/* SPDX-License-Identifier: Apache-2.0
 *
 * What the vault is told of calls that were refused here. Runs in the engine. A vault that reads
 * nothing for a while is owed the lines, up to a limit, after which the log says how many it
 * lacks. */
#include "brain/engine/refused.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "brain/engine/engine.h"
#include "brain/engine/hooks.h"
#include "brain/engine/sessions.h"
#include "brain/engine/vault_link.h"
#include "common/log.h"
#include "proto/brain.h"

#define OWED_MAX 1024u
#define WHY_MAX 300u

struct refused {
	STAILQ_ENTRY(refused) link;
	uint64_t call;
	char session[40], tool[ATS_GATEWAY_TOOL_MAX], why[WHY_MAX];
};
struct refusals {
	STAILQ_HEAD(, refused) owed;
	size_t n;
	uint64_t lost;
};

struct refusals *
refusals_new(void)
{
	struct refusals *r = calloc(1, sizeof(*r));

	if (r != NULL)
		STAILQ_INIT(&r->owed);
	return r;
}

void
refusals_free(struct refusals *r)
{
	struct refused *one;

	while (r != NULL && (one = STAILQ_FIRST(&r->owed)) != NULL) {
		STAILQ_REMOVE_HEAD(&r->owed, link);
		free(one);
	}
	free(r);
}

static void
lose(struct refusals *r, const struct call *c)
{
	r->lost++;
	ats_log(ATS_LOG_ERROR, "a refusal is not in the audit log: the vault reads nothing",
	    "session=%s call=c-%llu lost=%llu", c->session->id, (unsigned long long)c->id,
	    (unsigned long long)r->lost);
}

void
refused_note(const struct call *c, const char *why)
{
	struct refusals *r = c->e->refusals;
	struct refused *one;

	if (c->validate || c->session == NULL)
		return;
	one = r->n < OWED_MAX ? calloc(1, sizeof(*one)) : NULL;
	if (one == NULL) {
		lose(r, c);
		return;
	}
	one->call = c->id;
	(void)snprintf(one->session, sizeof(one->session), "%s", c->session->id);
	(void)snprintf(one->tool, sizeof(one->tool), "%s",
	    call_is_exec(c) ? "Bash" : call_tool_name(c));
	(void)snprintf(one->why, sizeof(one->why), "%s", why);
	STAILQ_INSERT_TAIL(&r->owed, one, link);
	r->n++;
	(void)refused_flush(c->e);
}

bool
refused_flush(struct engine *e)
{
	struct refusals *r = e->refusals;
	struct refused *one;

	while ((one = STAILQ_FIRST(&r->owed)) != NULL) {
		if (vault_link_refused(e, one->call, one->session, one->tool, one->why) ==
		    -ATS_E_AGAIN) {
			vault_link_want_room(e);
			return false;
		}
		STAILQ_REMOVE_HEAD(&r->owed, link);
		r->n--;
		free(one);
	}
	return true;
}
