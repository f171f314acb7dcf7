/* SPDX-License-Identifier: Apache-2.0
 *
 * Hooks of the configuration, as the vault sees them: the engine asks for one by its index and a
 * session, the spawner starts it, and its descriptors pass through here unread. Runs in the vault.
 * The engine chooses what a hook reads, no program, no argument and no workspace but those that a
 * user has registered; how many run is bounded. */
#include "brain/vault/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/vault/children.h"
#include "brain/vault/vault.h"
#include "common/fault.h"
#include "proto/brain.h"

#define HOOKS_RUNNING_MAX 64
#define HOOKS_OWED_MAX 1024u		/* with those that ended and are not told yet */

struct hook {
	uint64_t number;		/* ours, never used twice */
	uint64_t theirs;		/* of the engine that asked */
	bool known;			/* that engine lives */
	bool ended;
	uint64_t exit_code;
	struct ats_err why;		/* code 0: it has run */
	struct hook *next;
};

static void
drop(struct vault *v, struct hook *h)
{
	struct hook **at = &v->hooks;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	v->nhooks--;
	free(h);
}

static void
name_of(const struct hook *h, char out[CHILD_ID_MAX])
{
	(void)snprintf(out, CHILD_ID_MAX, CHILD_HOOK "%llu", (unsigned long long)h->number);
}

static void
order_kill(struct vault *v, const struct hook *h)
{
	char name[CHILD_ID_MAX];

	name_of(h, name);
	if (ats_brain_send(v->spawner, ATS_MSG_KILL, 0, NULL, 0, name) < 0)
		vault_die(v, "the spawner does not answer");
}

static int
order(struct vault *v, const struct hook *h, const struct ats_ipc_msg *m, struct ats_err *err)
{
	const struct session *s = reg_find(v->reg, m->s[2]);
	int rc;

	if (v->nhooks > HOOKS_RUNNING_MAX)
		return ats_err_set(err, ATS_E_FULL, "%u hooks run already", HOOKS_RUNNING_MAX);
	if (s == NULL || !s->told)
		return ats_err_set(err, ATS_E_UNKNOWN_ID, "there is no such session");
	if (m->u[1] >= v->conf->hooks.n || m->nfds != 3)
		return ats_err_set(err, ATS_E_INVAL, "there is no such hook");
	rc = ats_brain_send(v->spawner, ATS_MSG_START_HOOK, 0, m->fds, m->nfds, h->number, m->u[1],
	    s->workspace);
	return rc < 0 ? ats_err_set(err, -rc, "it could not be ordered") : 0;
}

void
hooks_run(struct vault *v, struct ats_ipc_msg *m)
{
	struct hook *h = v->nhooks < HOOKS_OWED_MAX ? ats_calloc(1, sizeof(*h)) : NULL;

	/* One that asks and does not read what it is told would fill the memory. */
	if (h == NULL) {
		engine_kill(v, v->nhooks < HOOKS_OWED_MAX ? "no memory for what it asks for" :
		    "it asks for more hooks than it hears of");
		return;
	}
	h->number = ++v->hook_number;
	h->theirs = m->u[0];
	h->known = true;
	h->next = v->hooks;
	v->hooks = h;
	v->nhooks++;
	h->ended = order(v, h, m, &h->why) < 0;
}

void
hooks_kill(struct vault *v, uint64_t theirs)
{
	for (struct hook *h = v->hooks; h != NULL; h = h->next)
		if (h->known && h->theirs == theirs && !h->ended)
			order_kill(v, h);
}

bool
hooks_on_spawner(struct vault *v, struct ats_ipc_msg *m)
{
	char own[CHILD_ID_MAX];
	struct hook *h;

	if (strncmp(m->s[0], CHILD_HOOK, strlen(CHILD_HOOK)) != 0)
		return false;
	for (h = v->hooks; h != NULL; h = h->next) {
		name_of(h, own);
		if (strcmp(own, m->s[0]) == 0)
			break;
	}
	if (h == NULL)
		return true;
	if (m->type == ATS_MSG_EXITED) {
		h->ended = true;
		h->exit_code = m->u[2] != 0 ? 128 + m->u[2] : m->u[1];
	} else if (m->u[2] != 0) {
		(void)ats_err_set(&h->why, (int)m->u[2], "%s", m->s[3]);
		h->ended = true;
	} else if (!h->known) {
		order_kill(v, h);
	}
	return true;
}

void
hooks_engine_gone(struct vault *v)
{
	for (struct hook *h = v->hooks; h != NULL; h = h->next) {
		if (h->known && !h->ended)
			order_kill(v, h);
		h->known = false;
	}
}

int
hooks_sync(struct vault *v)
{
	struct hook *next;
	int rc = 0;

	for (struct hook *h = v->hooks; rc == 0 && h != NULL; h = next) {
		next = h->next;
		if (!h->ended)
			continue;
		if (h->known)
			rc = ats_brain_send(v->engine.fd, ATS_MSG_HOOK_ENDED, 0, NULL, 0, h->theirs,
			    (uint64_t)h->why.code, h->exit_code, h->why.text);
		if (rc == 0)
			drop(v, h);
	}
	return rc;
}

void
hooks_free(struct vault *v)
{
	while (v->hooks != NULL)
		drop(v, v->hooks);
}
