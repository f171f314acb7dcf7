/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine is told. Runs in the vault.
 *
 * What the engine is owed is state (flags of sessions and boxes), not a queue: engine_sync
 * sends as much as the socket takes, in the order settings, rules, hooks, closed sessions,
 * sandboxes of other directories, sessions, keys, sandboxes, gateways, their calls, and that this
 * was all; a new engine is simply owed everything again. */
#include <event2/event.h>

#include "brain/vault/boxes.h"
#include "brain/vault/decide.h"
#include "brain/vault/gateway.h"
#include "brain/vault/hooks.h"
#include "brain/vault/links.h"
#include "brain/vault/scripts.h"
#include "brain/vault/vault.h"
#include "proto/brain.h"

static int
tell_settings(struct vault *v)
{
	struct ats_buf lines ATS_CLEANUP_BUF = { 0 };
	int rc;

	if (v->engine.settings_told)
		return 0;
	ats_buf_init(&lines, CONFIG_TEXT_MAX);
	rc = ats_buf_addf(&lines, "version=%s\n", ATS_VERSION);
	if (rc == 0)
		rc = config_lines(v->conf, CONFIG_ENGINE, &lines);
	if (rc == 0)
		rc = ats_brain_send(v->engine.fd, ATS_MSG_SETTINGS, 0, NULL, 0, lines.data,
		    v->engine_dir);
	v->engine.settings_told = rc == 0;
	return rc;
}

static int
tell_rules(struct vault *v)
{
	enum policy_effect effect = POLICY_NONE;
	const char *text;
	int rc = 0;

	while (rc == 0 &&
	       (text = policy_rules_text(v->conf->rules, v->engine.rules_told, &effect)) != NULL) {
		rc = ats_brain_send(v->engine.fd, ATS_MSG_RULE, 0, NULL, 0, (uint64_t)effect, text);
		v->engine.rules_told += rc == 0;
	}
	return rc;
}

static int
tell_hooks(struct vault *v)
{
	const struct ats_hooks *h = &v->conf->hooks;
	size_t *told = &v->engine.hooks_told;
	int rc = 0;

	for (; rc == 0 && *told < h->n; *told += rc == 0) {
		const struct ats_hook *k = &h->v[*told];

		rc = ats_brain_send(v->engine.fd, ATS_MSG_HOOK, 0, NULL, 0, (uint64_t)*told,
		    (uint64_t)k->event, k->timeout_ms, k->matcher == NULL ? "" : k->matcher,
		    (uint64_t)k->blocks);
	}
	return rc;
}

static int
tell_closed(struct vault *v)
{
	struct session *s;
	int rc = 0;

	while (rc == 0 && (s = v->engine.closed) != NULL) {
		rc = ats_brain_send(v->engine.fd, ATS_MSG_SESSION_CLOSED, 0, NULL, 0, s->id);
		if (rc == 0) {
			v->engine.closed = s->next;
			session_free(s);
		}
	}
	return rc;
}

static int
tell_sessions(struct vault *v)
{
	struct session *s;
	int rc = 0;

	for (size_t i = 0; rc == 0 && (s = reg_each(v->reg, &i)) != NULL;) {
		if (s->told)
			continue;
		rc = ats_brain_send(v->engine.fd, ATS_MSG_SESSION, 0, NULL, 0, s->id, s->box,
		    s->uid, s->workspace, s->key);
		s->told = rc == 0;
		if (s->told)
			links_owe(v, s->box);
	}
	return rc;
}

static int
tell_all(struct vault *v)
{
	int rc = tell_settings(v);

	if (rc == 0)
		rc = tell_rules(v);
	if (rc == 0)
		rc = tell_hooks(v);
	if (rc == 0)
		rc = tell_closed(v);
	if (rc == 0)
		rc = boxes_tell_moved(v);
	if (rc == 0)
		rc = tell_sessions(v);
	if (rc == 0)
		rc = links_sync(v);
	if (rc == 0)
		rc = boxes_sync(v);
	if (rc == 0)
		rc = gateway_sync_all(v);
	if (rc == 0)
		rc = asks_sync(v);
	if (rc == 0 && !v->engine.all_told) {
		rc = ats_brain_send(v->engine.fd, ATS_MSG_ARE_YOU_THERE, 0, NULL, 0, (uint64_t)0);
		v->engine.all_told = rc == 0;
	}
	return rc;
}

void
engine_sync(struct vault *v)
{
	struct engine *e = &v->engine;
	int rc;

	if (e->fd < 0)
		return;
	rc = e->quit_told ? 0 : tell_all(v);
	if (rc == 0)
		rc = hooks_sync(v);
	if (rc == 0)
		rc = scripts_sync(v);	/* also those by which a quitting engine cleans up */
	if (rc == 0 && v->stopping && !e->quit_told) {
		rc = ats_brain_send(e->fd, ATS_MSG_QUIT, 0, NULL, 0);
		e->quit_told = rc == 0;
	}
	if (rc == -ATS_E_AGAIN)
		(void)event_add(e->wr, NULL);
	else if (rc < 0)
		engine_kill(v, ats_err_text(rc));
}

void
engine_session_gone(struct vault *v, struct session *s)
{
	asks_session_gone(v, s->id);
	if (reg_find_box(v->reg, s->box) == NULL)
		boxes_unused(v, s->box);
	if (!s->told || v->engine.fd < 0) {
		session_free(s);
		return;
	}
	s->next = v->engine.closed;
	v->engine.closed = s;
	engine_sync(v);
}
