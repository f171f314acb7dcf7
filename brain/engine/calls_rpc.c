/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods that make calls and act on them: ats/tool.call, ats/exec, ats/call.*. Runs in
 * the engine; parameters are a client's. */
#include "brain/engine/calls_rpc.h"

#include <stdio.h>
#include <string.h>

#include "brain/engine/call_ask.h"
#include "brain/engine/calls.h"
#include "brain/engine/calls_fds.h"
#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/gateway.h"
#include "brain/engine/link.h"
#include "brain/engine/sessions.h"
#include "brain/engine/toolset.h"

#define CALL_ID_MAX 200
#define DAY_MS 86400000u

struct session *
calls_session(struct rpc *r, const char *id)
{
	struct ats_err err = { 0 };
	struct session *s = r->client->session;

	if (id[0] != '\0')
		s = sessions_find_owned(r->e->sessions, id, r->client->uid);
	if (s != NULL)
		return s;
	if (id[0] != '\0')
		(void)ats_err_set(&err, ATS_E_UNKNOWN_ID, "unknown session %s", id);
	else
		(void)ats_err_set(&err, ATS_E_STATE,
		    "this connection has no session: ats/session.attach first");
	rpc_fail(r, &err);
	return NULL;
}

void
calls_key_of_id(const struct rpc *r, char key[CALL_KEY_MAX])
{
	key[0] = '\0';
	if (r->client->nonce[0] == '\0' ||
	    strlen(r->client->nonce) + r->id.n + 2 > CALL_KEY_MAX)
		return;
	(void)snprintf(key, CALL_KEY_MAX, "%s:%.*s", r->client->nonce, (int)r->id.n, r->id.p);
}

/* The tools of the gateway that name begins with. False: it begins with none. */
static bool
gateway_hint(struct engine *e, const char *name, char *out, size_t size)
{
	const char *end = strstr(name, "__");
	const struct gateway_tool *t = NULL;
	size_t n = end != NULL ? (size_t)(end - name) : 0, len = 0;

	if (n == 0)
		return false;
	gateways_want(e->gateways);	/* one that had failed may have it by the next call */
	while ((t = gateways_each(e->gateways, t)) != NULL && len < size) {
		if ((t->flags & GATEWAY_HIDDEN) == 0 && strlen(t->gateway) == n &&
		    memcmp(t->gateway, name, n) == 0)
			len += (size_t)snprintf(out + len, size - len, "%s %s",
			    len > 0 ? "," : "there are", t->name);
	}
	if (len == 0)
		gateways_why_none(e->gateways, name, n, out, size);
	return true;
}

void
calls_tool_hint(struct engine *e, const char *name, char *out, size_t size)
{
	const struct ats_tool_row *near = ats_tool_nearest(name);
	size_t n;

	if (near != NULL) {
		(void)snprintf(out, size, "did you mean %s?", near->name);
		return;
	}
	if (gateway_hint(e, name, out, size))
		return;
	(void)snprintf(out, size, "there are");
	for (size_t i = 0; i < ATS_TOOL_COUNT; i++) {
		n = strlen(out);
		(void)snprintf(out + n, size - n, "%s %s", i > 0 ? "," : "",
		    ats_tool_rows[i].name);
	}
}

static void
no_such_tool(struct engine *e, const char *name, struct ats_err *err)
{
	char hint[CALLS_HINT_MAX];

	calls_tool_hint(e, name, hint, sizeof(hint));
	(void)ats_err_set(err, ATS_E_UNKNOWN_TOOL, "no tool is called %s; %s", name, hint);
}

/* A validate has keys of its own: the call that follows may have the same id. */
static void
key_of(const struct rpc *r, enum call_form form, const char *id, char key[CALL_KEY_MAX])
{
	if (id[0] != '\0')
		(void)snprintf(key, CALL_KEY_MAX, "%s:%s",
		    form == CALL_FORM_VALIDATE ? "va" : "id", id);
	else
		calls_key_of_id(r, key);
}

/* A gateway's tools come and go, and its calls stay: that there is no such tool is no answer to one
 * that was asked for when there was. True: it is answered, now or later. */
static bool
asked_before(struct rpc *r, enum call_form form, struct call_ask *ask, const char *name,
    const char *id, const char *session)
{
	char key[CALL_KEY_MAX];
	struct ats_err err = { 0 };
	bool known;

	ask->session = session[0] == '\0' ? r->client->session :
	    sessions_find_owned(r->e->sessions, session, r->client->uid);
	key_of(r, form, id, key);
	ask->key = key[0] == '\0' ? NULL : key;
	known = ask->session != NULL && call_ask_known(r->e, ask, name, &err) > 0;
	ask->session = NULL;
	ask->key = NULL;
	return known;
}

static void
tool_request(struct rpc *r, enum call_form form)
{
	struct ats_slice args = { "{}", 2 }, meta = { NULL, 0 }, fds = { NULL, 0 };
	char name[65] = "", id[CALL_ID_MAX] = "", session[40] = "", key[CALL_KEY_MAX] = "";
	struct call_ask ask = { .form = form, .asker = &r->client->asker, .rpc_id = r->id };
	struct rpc_param p[] = {
		{ "name", RPC_STR, true, sizeof(name), name },
		{ "arguments", RPC_OBJECT, false, 0, &args },
		{ "call_id", RPC_STR, false, sizeof(id), id },
		{ "timeout_ms", RPC_U64, false, DAY_MS, &ask.timeout_ms },
		{ "session", RPC_STR, false, sizeof(session), session },
		{ "_meta", RPC_OBJECT, false, 0, &meta },
		{ "ctx", RPC_OBJECT, false, 0, &ask.ctx },
		{ "fds", RPC_ARRAY, false, 0, &fds },
	};
	/* A check gives no data. */
	size_t np = ATS_ARRAY_LEN(p) - (form == CALL_FORM_VALIDATE);
	struct ats_err err = { 0 };
	int rc;

	if (rpc_params(r, p, np, false) < 0) {
		calls_drop_fds(r);
		return;
	}
	ask.input = args;
	if (!toolset_find(r->e, name, &ask)) {
		if (fds.p != NULL || !asked_before(r, form, &ask, name, id, session)) {
			no_such_tool(r->e, name, &err);
			rpc_fail(r, &err);
		}
		calls_drop_fds(r);
		return;
	}
	ask.session = calls_session(r, session);
	if (ask.session == NULL) {
		calls_drop_fds(r);
		return;
	}
	/* What went through a pipe cannot be given again: such a call has no key. */
	if (fds.p == NULL)
		key_of(r, form, id, key);
	ask.key = key[0] == '\0' ? NULL : key;
	rc = fds.p == NULL ? 0 : calls_take_data(r, &ask, fds, &err);
	if (rc == 0)
		rc = call_ask(r->e, &ask, &err);
	if (rc < 0) {
		exec_free(ask.exec);
		rpc_fail(r, &err);
	}
}

void
calls_tool_call(struct rpc *r)
{
	tool_request(r, CALL_FORM_ATS);
}

void
calls_tool_validate(struct rpc *r)
{
	tool_request(r, CALL_FORM_VALIDATE);
}

/* ---- exec ------------------------------------------------------------------------ */

void
calls_exec(struct rpc *r)
{
	struct ats_slice argv = { NULL, 0 }, fds = { NULL, 0 };
	struct exec_ask want = { .rows = 24, .cols = 80 };
	char id[CALL_ID_MAX] = "", session[40] = "", key[CALL_KEY_MAX];
	struct call_ask ask = { .form = CALL_FORM_EXEC, .asker = &r->client->asker,
		.rpc_id = r->id };
	struct rpc_param p[] = {
		{ "argv", RPC_ARRAY, true, 0, &argv },
		{ "call_id", RPC_STR, true, sizeof(id), id },
		{ "timeout_ms", RPC_U64, false, DAY_MS, &ask.timeout_ms },
		{ "tty", RPC_BOOL, false, 0, &want.tty },
		{ "rows", RPC_U64, false, 10000, &want.rows },
		{ "cols", RPC_U64, false, 10000, &want.cols },
		{ "term", RPC_STR, false, sizeof(want.term), want.term },
		{ "fds", RPC_ARRAY, false, 0, &fds },
		{ "session", RPC_STR, false, sizeof(session), session },
	};
	struct ats_err err = { 0 };

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0) {
		calls_drop_fds(r);
		return;
	}
	ask.session = calls_session(r, session);
	if (ask.session == NULL) {
		calls_drop_fds(r);
		return;
	}
	(void)snprintf(key, sizeof(key), "id:%s", id);
	ask.key = key;
	ask.input = argv;
	if (calls_take_exec(r, argv, fds, &want, &ask.exec, &err) < 0) {
		rpc_fail(r, &err);
		return;
	}
	if (call_ask(r->e, &ask, &err) < 0) {
		exec_free(ask.exec);
		rpc_fail(r, &err);
	}
}

/* ---- on calls that live ------------------------------------------------------------ */

static struct call *
named_call(struct rpc *r, const char *id)
{
	struct session *s = calls_session(r, "");
	struct ats_err err = { 0 };
	struct call *c;

	if (s == NULL)
		return NULL;
	c = call_find_key(r->e->calls, s, id);
	if (c == NULL) {
		(void)ats_err_set(&err, ATS_E_UNKNOWN_ID, "no such call is running");
		rpc_fail(r, &err);
	}
	return c;
}

static void
say_done(struct rpc *r)
{
	(void)rpc_begin(r);
	rpc_end(r);
}

void
calls_watch(struct rpc *r)
{
	if (rpc_params(r, NULL, 0, false) < 0)
		return;
	r->client->watches = true;
	say_done(r);
}

void
calls_cancel(struct rpc *r)
{
	char id[CALL_ID_MAX] = "";
	struct rpc_param p[] = { { "call_id", RPC_STR, true, sizeof(id), id } };
	struct call *c;

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	c = named_call(r, id);
	if (c == NULL)
		return;
	call_cancel(c);
	say_done(r);
}

/* Passes a message on to the exec of that name, if it runs, and answers. */
static void
tell_exec(struct rpc *r, const char *id, enum ats_frame_id frame, const void *m)
{
	struct ats_err err = { 0 };
	struct call *c = named_call(r, id);
	int rc;

	if (c == NULL)
		return;
	if (c->exec != NULL && c->state == CALL_SENT && c->box->chan != NULL)
		rc = link_send(c->box, frame, c->id, m, &err);
	else
		rc = ats_err_set(&err, ATS_E_STATE, "not an exec that runs");
	if (rc < 0)
		rpc_fail(r, &err);
	else
		say_done(r);
}

void
calls_signal(struct rpc *r)
{
	struct ats_msg_SIGNAL m = { .number = 0 };
	char id[CALL_ID_MAX] = "";
	struct rpc_param p[] = {
		{ "call_id", RPC_STR, true, sizeof(id), id },
		{ "signal", RPC_U64, true, 64, &m.number },
	};

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	m.has_number = true;
	tell_exec(r, id, ATS_FRAME_SIGNAL, &m);
}

void
calls_resize(struct rpc *r)
{
	struct ats_msg_RESIZE m = { .rows = 0 };
	char id[CALL_ID_MAX] = "";
	struct rpc_param p[] = {
		{ "call_id", RPC_STR, true, sizeof(id), id },
		{ "rows", RPC_U64, true, 10000, &m.rows },
		{ "cols", RPC_U64, true, 10000, &m.cols },
	};

	if (rpc_params(r, p, ATS_ARRAY_LEN(p), false) < 0)
		return;
	m.has_rows = m.has_cols = true;
	tell_exec(r, id, ATS_FRAME_RESIZE, &m);
}
