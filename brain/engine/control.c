/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods that look and order: sessions, sandboxes, status, events. Runs in the engine;
 * each client sees and moves what its own uid owns, everything else is unknown to it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway.h"
#include "brain/engine/observe.h"
#include "brain/engine/hooks.h"
#include "brain/engine/rpc.h"
#include "brain/engine/provider.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "brain/engine/upgrade.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/map.h"

#define LOG_TAIL (64 << 10)

static void
unknown_id(struct rpc *r)
{
	struct ats_err err = { 0 };

	(void)ats_err_set(&err, ATS_E_UNKNOWN_ID, "unknown id");
	rpc_fail(r, &err);
}

void
control_attach(struct rpc *r)
{
	char id[SESSION_ID_MAX + 1] = "", nonce[CLIENT_NONCE_MAX + 1] = "";
	struct rpc_param p[] = {
		{ "session", RPC_STR, true, sizeof(id), id },
		{ "client", RPC_STR, false, sizeof(nonce), nonce },
	};
	struct ats_json_w *w;
	struct session *s;

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	s = sessions_find_owned(r->e->sessions, id, r->client->uid);
	if (s == NULL) {
		unknown_id(r);
		return;
	}
	r->client->session = s;
	memcpy(r->client->nonce, nonce, sizeof(nonce));
	/* The first call should not wait for it. */
	sandbox_want(s->box);
	w = rpc_begin(r);
	ats_json_w_str(w, "session", s->id);
	ats_json_w_str(w, "sandbox", s->box->id);
	ats_json_w_str(w, "workspace", s->workspace);
	rpc_end(r);
}

/* ---- writing ----------------------------------------------------------------------- */

static void
write_session(struct ats_json_w *w, const struct session *s, bool all)
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
	(void)all;
}

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

static void
write_box(struct ats_json_w *w, const struct sandbox *box)
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

static void
write_sessions(struct rpc *r, struct ats_json_w *w)
{
	struct session *s;
	size_t pos = 0;

	ats_json_w_array(w, "sessions");
	while ((s = sessions_each(r->e->sessions, &pos)) != NULL) {
		if (s->uid != r->client->uid)
			continue;
		ats_json_w_object(w, NULL);
		write_session(w, s, false);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

static void
write_boxes(struct rpc *r, struct ats_json_w *w)
{
	struct sandbox *box;
	size_t pos = 0;

	ats_json_w_array(w, "sandboxes");
	while ((box = sandboxes_each(r->e->boxes, &pos)) != NULL) {
		if (box->uid != r->client->uid)
			continue;
		ats_json_w_object(w, NULL);
		write_box(w, box);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

static void
call_id(uint64_t id, char out[32])
{
	(void)snprintf(out, 32, "c-%" PRIu64, id);
}

static void
write_call(struct ats_json_w *w, const struct call *c)
{
	static const char *const states[] = { "queued", "running", "resumed", "asked",
		"hooks", "ending" };
	uint64_t now = ats_clock_us();
	char id[32];

	call_id(c->id, id);
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

static void
write_calls(struct rpc *r, struct ats_json_w *w)
{
	struct call *c;
	size_t pos = 0, n = 0;

	ats_json_w_array(w, "calls");
	while ((c = calls_each(r->e->calls, &pos)) != NULL && n < 1000) {
		if (c->session == NULL || c->session->uid != r->client->uid)
			continue;
		n++;
		ats_json_w_object(w, NULL);
		write_call(w, c);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

/* ---- looking ----------------------------------------------------------------------- */

void
control_status(struct rpc *r)
{
	struct ats_json_w *w;

	if (rpc_params(r, NULL, 0, false) < 0)
		return;
	w = rpc_begin(r);
	ats_json_w_str(w, "version", ATS_VERSION);
	ats_json_w_u64(w, "pid", (uint64_t)getpid());
	ats_json_w_u64(w, "up_ms", (ats_clock_us() - r->e->started_us) / 1000);
	ats_json_w_u64(w, "clients", door_count(r->e->door));
	ats_json_w_u64(w, "calls_in_flight", calls_count(r->e->calls));
	ats_json_w_u64(w, "journal_rows", store_rows(r->e->store));
	if (store_trouble(r->e->store)[0] != '\0')
		ats_json_w_str(w, "journal_error", store_trouble(r->e->store));
	ats_json_w_u64(w, "approvals_waiting", gateway_waiting(r->e, r->client->uid));
	hooks_write(w, r->e->hooks);
	write_sessions(r, w);
	write_boxes(r, w);
	write_calls(r, w);
	rpc_end(r);
}

void
control_session_list(struct rpc *r)
{
	if (rpc_params(r, NULL, 0, false) < 0)
		return;
	write_sessions(r, rpc_begin(r));
	rpc_end(r);
}

void
control_sandbox_list(struct rpc *r)
{
	if (rpc_params(r, NULL, 0, false) < 0)
		return;
	write_boxes(r, rpc_begin(r));
	rpc_end(r);
}

void
control_gateway_list(struct rpc *r)
{
	if (rpc_params(r, NULL, 0, false) < 0)
		return;
	gateways_want(r->e->gateways);
	gateways_write(rpc_begin(r), r->e->gateways);
	rpc_end(r);
}

static int
read_id(struct rpc *r, char *id, size_t size)
{
	struct rpc_param p[] = { { "id", RPC_STR, true, size, id } };

	id[0] = '\0';
	return rpc_params(r, p, ATS_ARRAY_LEN(p), false);
}

void
control_session_show(struct rpc *r)
{
	struct session *s;
	char id[64];

	if (read_id(r, id, sizeof(id)) < 0)
		return;
	s = sessions_find_owned(r->e->sessions, id, r->client->uid);
	if (s == NULL) {
		unknown_id(r);
		return;
	}
	write_session(rpc_begin(r), s, true);
	rpc_end(r);
}

static struct sandbox *
owned_box(struct rpc *r, const char *id)
{
	struct sandbox *box = sandboxes_find(r->e->boxes, id);

	return box != NULL && box->uid == r->client->uid ? box : NULL;
}

static void
inspect_ended(struct rpc *r, const struct ended_call *c)
{
	struct ats_json_w *w;
	char id[32];

	if (c->uid != r->client->uid) {
		unknown_id(r);
		return;
	}
	call_id(c->id, id);
	w = rpc_begin(r);
	ats_json_w_str(w, "id", id);
	ats_json_w_str(w, "kind", "call");
	observe_write_call(w, c);
	rpc_end(r);
}

/* It ended longer ago, or an engine before this one answered it. */
static void
inspect_stored(struct rpc *r, uint64_t number)
{
	struct store_call row;
	struct ats_json_w *w;
	char id[32];

	if (store_call_by_id(r->e->store, number, &row, NULL) != 1 ||
	    sessions_find_owned(r->e->sessions, row.session, r->client->uid) == NULL) {
		unknown_id(r);
		return;
	}
	call_id(number, id);
	w = rpc_begin(r);
	ats_json_w_str(w, "id", id);
	ats_json_w_str(w, "kind", "call");
	ats_json_w_str(w, "tool", row.tool);
	ats_json_w_str(w, "session", row.session);
	ats_json_w_str(w, "sandbox", row.sandbox);
	ats_json_w_u64(w, "attempt", row.attempt);
	ats_json_w_i64(w, "created", row.created_ms);
	ats_json_w_str(w, "state", row.state == STORE_DONE ? "answered" : "open");
	if (row.state == STORE_DONE) {
		ats_json_w_str(w, "outcome", outcome_name(row.outcome.kind));
		ats_json_w_bool(w, "is_error", row.outcome.is_error);
		ats_json_w_u64(w, "bytes", row.payload_len);
		observe_write_timings(w, &row.outcome.t);
	}
	rpc_end(r);
}

static void
inspect_call(struct rpc *r, const char *id)
{
	const struct ended_call *ended;
	uint64_t number;
	struct call *c;
	char *end;

	errno = 0;
	number = strtoull(id + 2, &end, 10);
	if (errno != 0 || id[2] == '\0' || *end != '\0') {
		unknown_id(r);
		return;
	}
	c = calls_find(r->e->calls, number);
	ended = c == NULL ? observe_find(r->e, number) : NULL;
	if (ended != NULL) {
		inspect_ended(r, ended);
	} else if (c == NULL || c->session == NULL) {
		inspect_stored(r, number);
	} else if (c->session->uid != r->client->uid) {
		unknown_id(r);
	} else {
		write_call(rpc_begin(r), c);
		rpc_end(r);
	}
}

void
control_inspect(struct rpc *r)
{
	struct session *s;
	struct sandbox *box;
	char id[64];

	if (read_id(r, id, sizeof(id)) < 0)
		return;
	s = sessions_find_owned(r->e->sessions, id, r->client->uid);
	box = owned_box(r, id);
	if (s != NULL) {
		write_session(rpc_begin(r), s, true);
		rpc_end(r);
	} else if (box != NULL) {
		write_box(rpc_begin(r), box);
		rpc_end(r);
	} else if (strncmp(id, "c-", 2) == 0) {
		inspect_call(r, id);
	} else {
		unknown_id(r);
	}
}

void
control_subscribe(struct rpc *r)
{
	char id[SESSION_ID_MAX + 1] = "";
	const struct session *s = NULL;
	uint64_t after = 0;
	struct rpc_param p[] = {
		{ "session", RPC_STR, false, sizeof(id), id },
		{ "after", RPC_U64, false, UINT64_MAX - 1, &after },
	};

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	if (id[0] != '\0') {
		s = sessions_find_owned(r->e->sessions, id, r->client->uid);
		if (s == NULL) {
			unknown_id(r);
			return;
		}
	}
	(void)rpc_begin(r);
	rpc_end(r);
	events_subscribe(r->client, s, after);
}

/* ---- sandboxes ----------------------------------------------------------------------- */

/* The one that is named. NULL: the request was answered. */
static struct sandbox *
asked_box(struct rpc *r)
{
	struct sandbox *box;
	char id[64];

	if (read_id(r, id, sizeof(id)) < 0)
		return NULL;
	box = owned_box(r, id);
	if (box == NULL)
		unknown_id(r);
	return box;
}

static void
end_box(struct rpc *r, bool restart)
{
	struct sandbox *box = asked_box(r);

	if (box == NULL)
		return;
	sandbox_kill(box, restart);
	write_box(rpc_begin(r), box);
	rpc_end(r);
}

void
control_sandbox_restart(struct rpc *r)
{
	end_box(r, true);
}

void
control_sandbox_kill(struct rpc *r)
{
	end_box(r, false);
}

void
control_sandbox_takeover(struct rpc *r)
{
	struct ats_err err = { 0 };
	struct sandbox *box = asked_box(r);

	if (box == NULL)
		return;
	if (sandbox_take_over(box, &err) < 0) {
		rpc_fail(r, &err);
		return;
	}
	write_box(rpc_begin(r), box);
	rpc_end(r);
}

/* The caller's only one. NULL: the request was answered. */
static struct sandbox *
only_box(struct rpc *r)
{
	struct sandbox *box, *only = NULL;
	struct ats_err err = { 0 };
	size_t pos = 0, n = 0;

	while ((box = sandboxes_each(r->e->boxes, &pos)) != NULL)
		if (box->uid == r->client->uid) {
			only = box;
			n++;
		}
	if (n == 1)
		return only;
	(void)ats_err_set(&err, n == 0 ? ATS_E_NO_SANDBOX : ATS_E_INVAL, n == 0 ?
	    "there is no sandbox" : "there are %zu sandboxes: name one by its id", n);
	rpc_fail(r, &err);
	return NULL;
}

void
control_sandbox_upgrade(struct rpc *r)
{
	char id[64] = "";
	struct rpc_param p[] = { { "id", RPC_STR, false, sizeof(id), id } };
	struct sandbox *box;

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	box = id[0] == '\0' ? only_box(r) : owned_box(r, id);
	if (box != NULL)
		upgrade_ask(r, box);
	else if (id[0] != '\0')
		unknown_id(r);
}

void
control_sandbox_logs(struct rpc *r)
{
	char id[64], text[LOG_TAIL];
	const struct sandbox *box;
	size_t n;

	if (read_id(r, id, sizeof(id)) < 0)
		return;
	box = owned_box(r, id);
	if (box == NULL || !ats_id_valid(id)) {
		unknown_id(r);
		return;
	}
	n = sandbox_log_tail(box, text, sizeof(text));
	ats_json_w_strn(rpc_begin(r), "text", text, n);
	rpc_end(r);
}
