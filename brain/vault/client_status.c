/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients of vault.sock may look at: brain, its gateways, the names of its credentials. Runs
 * in the vault; no value of a credential is in reach of what is written here. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brain/vault/boxes.h"
#include "brain/vault/client.h"
#include "brain/vault/credentials.h"
#include "brain/vault/decide.h"
#include "brain/vault/gateway.h"
#include "brain/vault/http.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/json.h"

#define JSON_MAX (60u << 10)

/* Of a brain of the system each user sees what is theirs; root sees all. */
static bool
concerns(const struct client *c, const struct box *b)
{
	const struct session *s;

	if (c->uid == c->v->uid || c->uid == 0)
		return true;
	s = reg_find_box(c->v->reg, b->id);
	return s != NULL && s->uid == c->uid;
}

static void
add_boxes(const struct client *c, struct ats_json_w *w)
{
	static const char *const states[] = { "down", "starting", "up" };
	size_t n = 0;

	ats_json_w_array(w, "sandboxes");
	for (const struct box *b = c->v->boxes; b != NULL && n < 128; b = b->next) {
		if (!concerns(c, b))
			continue;
		n++;
		ats_json_w_object(w, NULL);
		ats_json_w_str(w, "id", b->id);
		ats_json_w_str(w, "state", states[b->state]);
		ats_json_w_u64(w, "pid", (uint64_t)b->pid);
		ats_json_w_u64(w, "generation", b->generation);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

static void
say_json(struct client *c, uint32_t seq, const struct ats_json_w *w)
{
	if (w->rc < 0)
		client_failed(c, seq, -w->rc, ats_err_text(w->rc));
	else
		client_ok(c, seq, w->out->data, "");
}

void
client_on_status(struct client *c, const struct ats_ipc_msg *m)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	const struct vault *v = c->v;
	struct ats_json_w w;

	ats_buf_init(&out, JSON_MAX);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "version", ATS_VERSION);
	ats_json_w_u64(&w, "pid", (uint64_t)getpid());
	ats_json_w_u64(&w, "uptime_ms", ats_clock_ms() - v->started_ms);
	ats_json_w_u64(&w, "spawner_pid", (uint64_t)v->spawner_pid);
	ats_json_w_object(&w, "engine");
	ats_json_w_u64(&w, "pid", (uint64_t)v->engine.pid);
	ats_json_w_bool(&w, "ready", v->engine.ready);
	ats_json_w_bool(&w, "idle", v->engine.idle);
	ats_json_w_u64(&w, "starts", v->engine.nstarts);
	ats_json_w_end(&w);
	ats_json_w_str(&w, "sandbox_url", v->conf->sandbox_url);
	ats_json_w_u64(&w, "enrolled", keys_count(v->keys));
	ats_json_w_u64(&w, "sessions", reg_count(v->reg));
	ats_json_w_u64(&w, "clients", v->nclients);
	ats_json_w_bool(&w, "stopping", v->stopping);
	ats_json_w_str(&w, "state_dir", v->places->state);
	ats_json_w_u64(&w, "approvals", approvals_count(v->decide->approvals));
	http_json(v, &w);
	add_boxes(c, &w);
	gateway_json(v, &w);
	credentials_unwell_json(v, &w);
	ats_json_w_end(&w);
	say_json(c, m->seq, &w);
}

void
client_on_gateways(struct client *c, const struct ats_ipc_msg *m)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;

	ats_buf_init(&out, JSON_MAX);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	gateway_try_all(c->v);
	gateway_json(c->v, &w);
	ats_json_w_end(&w);
	say_json(c, m->seq, &w);
}

static void
say_credentials(struct client *c, uint32_t seq, const char *name)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;

	ats_buf_init(&out, JSON_MAX);
	ats_json_w_init(&w, &out);
	ats_json_w_object(&w, NULL);
	credentials_json(c->v, name, &w);
	ats_json_w_end(&w);
	say_json(c, seq, &w);
}

/* One that is named is read again first. */
void
client_on_credentials(struct client *c, const struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };

	if (m->s[0][0] == '\0') {
		say_credentials(c, m->seq, "");
	} else if (credentials_again(c->v, m->s[0], &err) < 0) {
		client_err(c, m->seq, &err);
	} else {
		(void)snprintf(c->tests, sizeof(c->tests), "%s", m->s[0]);
		c->seq = m->seq;
	}
}

void
clients_credential_answer(struct vault *v, const char *name)
{
	for (struct client *c = v->clients; c != NULL; c = c->next) {
		if (strcmp(c->tests, name) != 0)
			continue;
		c->tests[0] = '\0';
		say_credentials(c, c->seq, name);
	}
}
