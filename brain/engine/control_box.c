/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods that order something of a sandbox: another start, its end, another front; and what it
 * logged. Runs in the engine; each client moves what its own uid owns. */
#include "brain/engine/control.h"

#include "brain/engine/engine.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/upgrade.h"
#include "common/digest.h"

#define LOG_TAIL (64 << 10)

/* The one that is named. NULL: the request was answered. */
static struct sandbox *
asked_box(struct rpc *r)
{
	struct sandbox *box;
	char id[CONTROL_ID_MAX];

	if (control_read_id(r, id, sizeof(id)) < 0)
		return NULL;
	box = control_owned_box(r, id);
	if (box == NULL)
		control_unknown_id(r, id);
	return box;
}

static void
end_box(struct rpc *r, bool restart)
{
	struct sandbox *box = asked_box(r);

	if (box == NULL)
		return;
	sandbox_kill(box, restart);
	control_write_box(rpc_begin(r), box);
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
	control_write_box(rpc_begin(r), box);
	rpc_end(r);
}

/* The caller's only one. NULL: the request was answered. */
static struct sandbox *
only_box(struct rpc *r)
{
	struct sandbox *box, *only = NULL;
	struct ats_err err = { 0 };
	size_t pos = 0, n = 0, all = 0;

	for (; (box = sandboxes_each(r->e->boxes, &pos)) != NULL; all++)
		if (box->uid == r->client->uid) {
			only = box;
			n++;
		}
	if (n == 1)
		return only;
	if (n == 0 && all > 0 && r->client->uid == 0)
		(void)ats_err_set(&err, ATS_E_NO_SANDBOX, "there are %zu sandboxes, and none is "
		    "root's: each user upgrades their own", all);
	else
		(void)ats_err_set(&err, n == 0 ? ATS_E_NO_SANDBOX : ATS_E_INVAL, n == 0 ?
		    "there is no sandbox" : "there are %zu sandboxes: name one by its id", n);
	rpc_fail(r, &err);
	return NULL;
}

void
control_sandbox_upgrade(struct rpc *r)
{
	char id[CONTROL_ID_MAX] = "";
	struct rpc_param p[] = { { "id", RPC_STR, false, sizeof(id), id } };
	struct sandbox *box;

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	box = id[0] == '\0' ? only_box(r) : control_owned_box(r, id);
	if (box != NULL)
		upgrade_ask(r, box);
	else if (id[0] != '\0')
		control_unknown_id(r, id);
}

void
control_sandbox_logs(struct rpc *r)
{
	char id[CONTROL_ID_MAX], text[LOG_TAIL];
	const struct sandbox *box;
	size_t n;

	if (control_read_id(r, id, sizeof(id)) < 0)
		return;
	box = control_owned_box(r, id);
	if (box == NULL || !ats_id_valid(id)) {
		control_unknown_id(r, id);
		return;
	}
	n = sandbox_log_tail(box, text, sizeof(text));
	ats_json_w_strn(rpc_begin(r), "text", text, n);
	rpc_end(r);
}
