/* SPDX-License-Identifier: Apache-2.0
 *
 * How sessions, sandboxes and calls are shown to clients. Runs in the engine; texts in them are
 * sandboxes' and clients' own. */
#include "brain/engine/calls.h"
#include "brain/engine/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/provider.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "common/clock.h"
#include "common/map.h"

void
control_write_session(struct ats_json_w *w, const struct session *s)
{
	size_t i;

	ats_json_w_str(w, "id", s->id);
	ats_json_w_str(w, "kind", "session");
	ats_json_w_str(w, "sandbox", s->box->id);
	ats_json_w_str(w, "workspace", s->workspace);
	ats_json_w_str(w, "key", s->key);
	ats_json_w_str(w, "cwd", s->cwd);
	ats_json_w_u64(w, "calls", s->calls);
	ats_json_w_u64(w, "files_known", ats_map_count(s->reads));
	ats_json_w_array(w, "shells");
	for (i = 0; i < s->nshells; i++)
		ats_json_w_str(w, NULL, s->shells[i]);
	ats_json_w_end(w);
}

void
control_write_sessions(struct rpc *r, struct ats_json_w *w)
{
	struct session *s;
	size_t pos = 0;

	ats_json_w_array(w, "sessions");
	while ((s = sessions_each(r->e->sessions, &pos)) != NULL) {
		if (s->uid != r->client->uid)
			continue;
		ats_json_w_object(w, NULL);
		control_write_session(w, s);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

/* ---- sandboxes ---------------------------------------------------------------------- */
/* What carries it, and whether each end knows the other by the sandbox's key: over a network. */
static void
write_link(struct ats_json_w *w, const struct sandbox *box)
{
	static const char *const kinds[] = { [ATS_ADDR_UNIX] = "unix", [ATS_ADDR_TCP] = "tcp",
		[ATS_ADDR_TLS] = "tls", [ATS_ADDR_WS] = "ws", [ATS_ADDR_WSS] = "wss" };

	if (!box->proof.wanted)
		return;		/* its url says it all */
	ats_json_w_str(w, "transport", kinds[box->kind]);
	ats_json_w_bool(w, "proven", box->chan != NULL && box->proof.proven);
}

static void
write_program(struct ats_json_w *w, const struct hands_program *p)
{
	ats_json_w_str(w, "version", p->version);
	ats_json_w_str(w, "build", p->build);
	if (p->init[0] != '\0')
		ats_json_w_str(w, "init_version", p->init);
	if (p->fronts > 0)
		ats_json_w_u64(w, "upgrades", p->fronts - 1);
}

void
control_write_box(struct ats_json_w *w, const struct sandbox *box)
{
	ats_json_w_str(w, "id", box->id);
	ats_json_w_str(w, "kind", "sandbox");
	ats_json_w_str(w, "state", sandbox_state_name(box->state));
	ats_json_w_str(w, "url", box->e->set.sandbox_url);
	write_link(w, box);
	ats_json_w_str(w, "workspace", box->workspace);
	ats_json_w_u64(w, "generation", box->generation);
	ats_json_w_u64(w, "sessions", box->nsessions);
	ats_json_w_u64(w, "calls_running", ats_map_count(box->sent));
	ats_json_w_u64(w, "calls_waiting", box->nqueue);
	ats_json_w_u64(w, "losses", box->losses);
	if (provider_script(box->e) != NULL)
		ats_json_w_u64(w, "warm", provider_warm(box));
	if (box->state == SANDBOX_READY)
		ats_json_w_u64(w, "up_ms", (ats_clock_us() - box->ready_us) / 1000);
	if (box->last_error[0] != '\0')
		ats_json_w_str(w, "last_error", box->last_error);
	if (box->program.version[0] != '\0')
		write_program(w, &box->program);
	if (box->confinement != NULL)
		ats_json_w_raw(w, "confinement", box->confinement, strlen(box->confinement));
}

void
control_write_boxes(struct rpc *r, struct ats_json_w *w)
{
	struct sandbox *box;
	size_t pos = 0;

	ats_json_w_array(w, "sandboxes");
	while ((box = sandboxes_each(r->e->boxes, &pos)) != NULL) {
		if (box->uid != r->client->uid)
			continue;
		ats_json_w_object(w, NULL);
		control_write_box(w, box);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

/* ---- calls -------------------------------------------------------------------------- */
void
control_call_id(uint64_t id, char out[CONTROL_CALL_ID])
{
	(void)snprintf(out, CONTROL_CALL_ID, "c-%" PRIu64, id);
}

void
control_write_call(struct ats_json_w *w, const struct call *c)
{
	static const char *const states[] = { "queued", "running", "resumed", "asked",
		"hooks", "ending" };
	uint64_t now = ats_clock_us();
	char id[CONTROL_CALL_ID];

	control_call_id(c->id, id);
	ats_json_w_str(w, "id", id);
	ats_json_w_str(w, "kind", "call");
	ats_json_w_str(w, "tool", call_tool_name(c));
	if (c->validate)
		ats_json_w_bool(w, "validate", true);
	ats_json_w_str(w, "state", c->abandoned || c->uncommitted ? "answered" :
	    c->state == CALL_ASKED ? gateway_state_name(c) : states[c->state]);
	if (c->asked != NULL && c->asked->approval[0] != '\0')
		ats_json_w_str(w, "approval", c->asked->approval);
	if (c->session != NULL)
		ats_json_w_str(w, "session", c->session->id);
	if (c->box != NULL)
		ats_json_w_str(w, "sandbox", c->box->id);
	ats_json_w_u64(w, "attempt", c->attempt);
	ats_json_w_u64(w, "age_ms", (now - c->created_us) / 1000);
	ats_json_w_bool(w, "cancelled", c->cancelled);
	if (c->last_line != NULL)
		ats_json_w_str(w, "last_line", c->last_line);
}

void
control_write_calls(struct rpc *r, struct ats_json_w *w)
{
	struct call *c;
	size_t pos = 0, n = 0;

	ats_json_w_array(w, "calls");
	while ((c = calls_each(r->e->calls, &pos)) != NULL && n < 1000) {
		if (c->session == NULL || c->session->uid != r->client->uid)
			continue;
		n++;
		ats_json_w_object(w, NULL);
		control_write_call(w, c);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}
