/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods that show what was observed: metrics, calls that ended. Runs in the engine; each client
 * sees what its own uid owns, and counts only as the user whose brain it is. */
#include "brain/engine/control.h"

#include "brain/engine/engine.h"
#include "brain/engine/observe.h"

#define METRICS_MAX (1u << 20)
#define ENDED_USUAL 32u

/* Counts of everybody's: for who runs brain. */
void
control_metrics(struct rpc *r)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	struct ats_err err = { 0 };

	if (rpc_params(r, NULL, 0, false) < 0)
		return;
	if (r->client->uid != 0 && r->client->uid != r->e->brain_uid) {
		(void)ats_err_set(&err, ATS_E_PERM, "metrics are for the user whose brain it is");
		rpc_fail(r, &err);
		return;
	}
	ats_buf_init(&text, METRICS_MAX);
	if (observe_text(r->e, &text) < 0) {
		(void)ats_err_set(&err, ATS_E_NOMEM, "metrics");
		rpc_fail(r, &err);
		return;
	}
	ats_json_w_strn(rpc_begin(r), "text", text.data, text.len);
	rpc_end(r);
}

void
control_calls_ended(struct rpc *r)
{
	uint64_t limit = ENDED_USUAL, n = 0;
	struct rpc_param p[] = { { "limit", RPC_U64, false, OBSERVE_RECENT, &limit } };
	const struct ended_call *c;
	struct ats_json_w *w;
	size_t pos = 0;
	char id[CONTROL_CALL_ID];

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	w = rpc_begin(r);
	ats_json_w_array(w, "calls");
	while (n < limit && (c = observe_each(r->e, &pos)) != NULL) {
		if (c->uid != r->client->uid)
			continue;
		n++;
		control_call_id(c->id, id);
		ats_json_w_object(w, NULL);
		ats_json_w_str(w, "id", id);
		observe_write_call(w, c);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
	rpc_end(r);
}
