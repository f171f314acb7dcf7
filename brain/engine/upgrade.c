/* SPDX-License-Identifier: Apache-2.0
 *
 * Upgrades of hands, as the engine sees them. Runs in the engine; what hands says of its version
 * is its own word, and only shown. */
#include "brain/engine/upgrade.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/dispatch.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/link.h"
#include "brain/engine/rpc.h"
#include "brain/engine/sandbox.h"
#include "common/clock.h"
#include "common/log.h"

struct upgrade {
	struct sandbox *box;
	struct client *client;		/* NULL: it is gone */
	char id[RPC_ID_MAX + 1];	/* raw JSON */
	size_t id_len;
	char boot[33];			/* before it */
	struct hands_program was;
	uint64_t asked_us;
	struct event *timer;
};

/* It is over: calls go on. */
static void
end(struct upgrade *u)
{
	struct sandbox *box = u->box;

	if (u->client != NULL)
		u->client->asker.nwaiters--;
	box->upgrade = NULL;
	event_free(u->timer);
	free(u);
	if (box->state == SANDBOX_READY)
		event_active(box->retry, EV_TIMEOUT, 0);
}

static struct rpc
request(const struct upgrade *u)
{
	return (struct rpc){ .e = u->box->e, .client = u->client, .id = { u->id, u->id_len } };
}

static void
fail(struct upgrade *u, int code, const char *text)
{
	struct sandbox *box = u->box;
	struct rpc r = request(u);
	struct ats_err err = { 0 };

	(void)ats_err_set(&err, code, "%s", text);
	ats_log(ATS_LOG_WARN, "a sandbox was not upgraded", "sandbox=%s code=%s why=\"%s\"",
	    box->id, ats_err_name(code), text);
	events_emit(box->e, box->uid, "sandbox.not_upgraded", NULL, box->id, 0, text);
	if (u->client != NULL)
		rpc_fail(&r, &err);
	end(u);
}

static void
write_program(struct ats_json_w *w, const char *name, const struct hands_program *p)
{
	ats_json_w_object(w, name);
	ats_json_w_str(w, "version", p->version);
	ats_json_w_str(w, "build", p->build);
	ats_json_w_end(w);
}

static void
succeed(struct upgrade *u)
{
	struct sandbox *box = u->box;
	struct rpc r = request(u);
	struct ats_json_w *w;

	ats_log(ATS_LOG_INFO, "a sandbox was upgraded", "sandbox=%s front=%llu", box->id,
	    (unsigned long long)box->program.fronts);
	events_emit(box->e, box->uid, "sandbox.upgraded", NULL, box->id, 0, NULL);
	if (u->client != NULL) {
		w = rpc_begin(&r);
		ats_json_w_str(w, "id", box->id);
		write_program(w, "was", &u->was);
		write_program(w, "is", &box->program);
		ats_json_w_u64(w, "fronts", box->program.fronts);
		ats_json_w_u64(w, "took_ms", (ats_clock_us() - u->asked_us) / 1000);
		rpc_end(&r);
	}
	end(u);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	fail(arg, ATS_E_TIMEOUT, "hands does not say what became of it");
}

static struct upgrade *
start(struct rpc *r, struct sandbox *box)
{
	static const struct timeval most = { UPGRADE_MOST_MS / 1000, 0 };
	struct upgrade *u = r->id.n > RPC_ID_MAX ? NULL : calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->box = box;
	u->timer = event_new(box->e->base, -1, 0, on_timer, u);
	if (u->timer == NULL || event_add(u->timer, &most) < 0) {
		if (u->timer != NULL)
			event_free(u->timer);
		free(u);
		return NULL;
	}
	memcpy(u->id, r->id.p, r->id.n);
	u->id_len = r->id.n;
	memcpy(u->boot, box->boot, sizeof(u->boot));
	u->was = box->program;
	u->asked_us = ats_clock_us();
	u->client = r->client;
	u->client->asker.nwaiters++;
	box->upgrade = u;
	return u;
}

void
upgrade_ask(struct rpc *r, struct sandbox *box)
{
	const struct ats_msg_UPGRADE m = { 0 };
	struct ats_err err = { 0 };
	struct upgrade *u;

	if (box->upgrade != NULL)
		(void)ats_err_set(&err, ATS_E_BUSY, "it is being upgraded already");
	else if (box->state != SANDBOX_READY)
		(void)ats_err_set(&err, ATS_E_NO_SANDBOX, "it does not run; when it starts, it is "
		    "what is installed");
	if (err.code != 0) {
		rpc_fail(r, &err);
		return;
	}
	u = start(r, box);
	if (u == NULL) {
		(void)ats_err_set(&err, ATS_E_NOMEM, "upgrade");
		rpc_fail(r, &err);
	} else if (link_send(box, ATS_FRAME_UPGRADE, 0, &m, &err) < 0) {
		fail(u, err.code, err.text);
	}
}

void
upgrade_unchanged(struct sandbox *box, int code, const char *text)
{
	if (box->upgrade != NULL)
		fail(box->upgrade, code, text);
}

void
upgrade_ready(struct sandbox *box)
{
	struct upgrade *u = box->upgrade;

	if (u == NULL)
		return;
	if (strcmp(u->boot, box->boot) != 0)
		fail(u, ATS_E_LOST, "the sandbox was lost, and another one started");
	else if (box->program.fronts <= u->was.fronts)
		fail(u, ATS_E_LOST, "the link was lost meanwhile, and hands goes on as it was; its "
		    "log may say why");
	else
		succeed(u);
}

void
upgrade_lost(struct sandbox *box, const char *why)
{
	if (box->upgrade != NULL)
		fail(box->upgrade, ATS_E_LOST, why);
}

void
upgrade_client_gone(struct client *c)
{
	struct sandbox *box;
	size_t pos = 0;

	while ((box = sandboxes_each(c->e->boxes, &pos)) != NULL)
		if (box->upgrade != NULL && box->upgrade->client == c) {
			box->upgrade->client = NULL;
			c->asker.nwaiters--;
		}
}
