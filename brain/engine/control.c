/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods that look: what there is, and what happens. Runs in the engine; each client sees what
 * its own uid owns, everything else is unknown to it; root hears whose it is. */
#include "brain/engine/control.h"

#include <string.h>
#include <unistd.h>

#include "brain/engine/calls.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"
#include "common/clock.h"
#include "proto/brain.h"

/* ---- one by its id ------------------------------------------------------------------ */
void
control_of_another(struct rpc *r, uint64_t uid)
{
	struct ats_err err = { 0 };

	/* Root can be that user, and has to know whom to be. */
	if (r->client->uid == 0 && uid != 0)
		(void)ats_err_set(&err, ATS_E_UNKNOWN_ID, ATS_IS_OF_UID "%llu, and each user's are "
		    "that user's alone: ask as that user", (unsigned long long)uid);
	else
		(void)ats_err_set(&err, ATS_E_UNKNOWN_ID, "unknown id");
	rpc_fail(r, &err);
}

void
control_unknown_id(struct rpc *r, const char *id)
{
	const struct sandbox *box = sandboxes_find(r->e->boxes, id);
	const struct session *s = sessions_find(r->e->sessions, id);

	control_of_another(r, box != NULL ? box->uid : s != NULL ? s->uid : 0);
}

int
control_read_id(struct rpc *r, char *id, size_t size)
{
	struct rpc_param p[] = { { "id", RPC_STR, true, size, id } };

	id[0] = '\0';
	return rpc_params(r, p, ATS_ARRAY_LEN(p), false);
}

struct sandbox *
control_owned_box(struct rpc *r, const char *id)
{
	struct sandbox *box = sandboxes_find(r->e->boxes, id);

	return box != NULL && box->uid == r->client->uid ? box : NULL;
}

/* ---- a client and its session ------------------------------------------------------- */
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
		control_unknown_id(r, id);
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
			control_unknown_id(r, id);
			return;
		}
	}
	(void)rpc_begin(r);
	rpc_end(r);
	events_subscribe(r->client, s, after);
}

/* ---- what there is ------------------------------------------------------------------ */
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
	control_write_sessions(r, w);
	control_write_boxes(r, w);
	control_write_calls(r, w);
	rpc_end(r);
}

void
control_session_list(struct rpc *r)
{
	if (rpc_params(r, NULL, 0, false) < 0)
		return;
	control_write_sessions(r, rpc_begin(r));
	rpc_end(r);
}

void
control_sandbox_list(struct rpc *r)
{
	if (rpc_params(r, NULL, 0, false) < 0)
		return;
	control_write_boxes(r, rpc_begin(r));
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
