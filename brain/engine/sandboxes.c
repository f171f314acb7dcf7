/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of sandboxes, and what each of them is made of. Runs in the engine; ids, users and
 * workspaces are of sessions that the vault registered. */
#include "brain/engine/calls.h"
#include "brain/engine/sandbox_private.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/link.h"
#include "brain/engine/provider.h"
#include "brain/engine/upgrade.h"
#include "common/map.h"
#include "common/tls.h"

#define JSON_MAX (18u << 20)
#define CTX_MAX (256u << 10)
#define SENT_MAX (1u << 20)
#define GHOSTS_MAX 65536u

struct sandboxes {
	struct engine *e;
	struct ats_map *map;
};

struct sandboxes *
sandboxes_new(struct engine *e)
{
	struct sandboxes *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->e = e;
	t->map = ats_map_new(e->set.sessions_max);
	if (t->map == NULL) {
		free(t);
		return NULL;
	}
	return t;
}

static void
box_free(struct sandbox *box)
{
	struct call *c;
	size_t pos = 0;

	upgrade_lost(box, "the sandbox is not used any more");
	(void)provider_unused(box);
	link_stop(box);
	proof_end(&box->proof);
	link_key_clear(&box->key);
	ats_tls_free(box->tls);
	/* Answers that wait for room in the journal outlive their sandbox. */
	while (box->e->calls != NULL && (c = calls_each(box->e->calls, &pos)) != NULL)
		if (c->box == box)
			c->box = NULL;
	if (box->timer != NULL)
		event_free(box->timer);
	if (box->retry != NULL)
		event_free(box->retry);
	ats_map_free(box->sent);
	ats_map_free(box->ghosts);
	ats_buf_done(&box->arena);
	ats_buf_done(&box->delta_arena);
	ats_buf_done(&box->json);
	ats_buf_done(&box->ctx);
	free(box->confinement);
	free(box->workspace);
	free(box);
}

void
sandboxes_free(struct sandboxes *t)
{
	struct sandbox *box;
	size_t pos = 0;

	if (t == NULL)
		return;
	while ((box = ats_map_each(t->map, &pos)) != NULL)
		box_free(box);
	ats_map_free(t->map);
	free(t);
}

struct sandbox *
sandboxes_find(const struct sandboxes *t, const char *id)
{
	return ats_map_get_str(t->map, id);
}

struct sandbox *
sandboxes_each(const struct sandboxes *t, size_t *pos)
{
	return ats_map_each(t->map, pos);
}

static struct sandbox *
box_new(struct engine *e, const char *id, uint64_t uid, const char *workspace)
{
	struct sandbox *box = calloc(1, sizeof(*box));

	if (box == NULL)
		return NULL;
	box->e = e;
	box->uid = uid;
	(void)snprintf(box->id, sizeof(box->id), "%s", id);
	TAILQ_INIT(&box->queue);
	relay_init(box);
	ats_buf_init(&box->arena, 2u << 20);
	ats_buf_init(&box->delta_arena, CTX_MAX);
	ats_buf_init(&box->json, JSON_MAX);
	ats_buf_init(&box->ctx, CTX_MAX);
	box->workspace = strdup(workspace);
	box->sent = ats_map_new(SENT_MAX);
	box->ghosts = ats_map_new(GHOSTS_MAX);
	box->timer = event_new(e->base, -1, 0, sandbox_on_timer, box);
	box->retry = event_new(e->base, -1, 0, sandbox_on_retry, box);
	if (box->workspace == NULL || box->sent == NULL || box->ghosts == NULL ||
	    box->timer == NULL || box->retry == NULL) {
		box_free(box);
		return NULL;
	}
	return box;
}

int
sandboxes_use(struct sandboxes *t, const char *id, uint64_t uid, const char *workspace,
    struct sandbox **ret, struct ats_err *err)
{
	struct sandbox *box = ats_map_get_str(t->map, id);
	int rc;

	if (box == NULL) {
		if (strlen(id) >= sizeof(box->id))
			return ats_err_set(err, ATS_E_INVAL, "sandbox id");
		box = box_new(t->e, id, uid, workspace);
		if (box == NULL)
			return ats_err_set(err, ATS_E_NOMEM, "sandbox");
		rc = ats_map_put_str(t->map, box->id, box);
		if (rc < 0) {
			box_free(box);
			return ats_err_set(err, -rc, "sandboxes");
		}
	} else if (box->uid != uid || strcmp(box->workspace, workspace) != 0) {
		return ats_err_set(err, ATS_E_EXISTS, "sandbox %s is another's", id);
	}
	box->nsessions++;
	*ret = box;
	return 0;
}

void
sandboxes_drop(struct sandboxes *t, struct sandbox *box)
{
	(void)ats_map_del_str(t->map, box->id);
	box_free(box);
}
