/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods that show one thing whole: a session, a sandbox, a call, also one that ended long ago.
 * Runs in the engine; the id is a client's word, and each sees what its own uid owns. */
#include "brain/engine/calls.h"
#include "brain/engine/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/observe.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store.h"

void
control_session_show(struct rpc *r)
{
	struct session *s;
	char id[CONTROL_ID_MAX];

	if (control_read_id(r, id, sizeof(id)) < 0)
		return;
	s = sessions_find_owned(r->e->sessions, id, r->client->uid);
	if (s == NULL) {
		control_unknown_id(r, id);
		return;
	}
	control_write_session(rpc_begin(r), s);
	rpc_end(r);
}

static void
inspect_ended(struct rpc *r, const struct ended_call *c)
{
	struct ats_json_w *w;
	char id[CONTROL_CALL_ID];

	if (c->uid != r->client->uid) {
		control_of_another(r, c->uid);
		return;
	}
	control_call_id(c->id, id);
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
	char id[CONTROL_CALL_ID];

	if (store_call_by_id(r->e->store, number, &row, NULL) != 1 ||
	    sessions_find_owned(r->e->sessions, row.session, r->client->uid) == NULL) {
		control_of_another(r, 0);
		return;
	}
	control_call_id(number, id);
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
		control_unknown_id(r, id);
		return;
	}
	c = calls_find(r->e->calls, number);
	ended = c == NULL ? observe_find(r->e, number) : NULL;
	if (ended != NULL) {
		inspect_ended(r, ended);
	} else if (c == NULL || c->session == NULL) {
		inspect_stored(r, number);
	} else if (c->session->uid != r->client->uid) {
		control_of_another(r, c->session->uid);
	} else {
		control_write_call(rpc_begin(r), c);
		rpc_end(r);
	}
}

void
control_inspect(struct rpc *r)
{
	struct session *s;
	struct sandbox *box;
	char id[CONTROL_ID_MAX];

	if (control_read_id(r, id, sizeof(id)) < 0)
		return;
	s = sessions_find_owned(r->e->sessions, id, r->client->uid);
	box = control_owned_box(r, id);
	if (s != NULL) {
		control_write_session(rpc_begin(r), s);
		rpc_end(r);
	} else if (box != NULL) {
		control_write_box(rpc_begin(r), box);
		rpc_end(r);
	} else if (strncmp(id, "c-", 2) == 0) {
		inspect_call(r, id);
	} else {
		control_unknown_id(r, id);
	}
}
