/* SPDX-License-Identifier: Apache-2.0
 *
 * What ats-gateway processes say. Runs in the vault. Such a process reads what a server or a
 * program outside says and may be compromised: it has one credential, and what it sends is typed
 * messages that must fit the state of its life. A wrong one ends this process and no other. */
#include "brain/vault/gateway.h"

#include <event2/event.h>
#include <string.h>

#include "brain/vault/decide.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/json.h"

static int
on_ready(struct gateway *g, const struct ats_ipc_msg *m, struct ats_err *err)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };

	if (g->life != GW_SETTING_UP)
		return ats_err_set(err, ATS_E_STATE, "GW_READY where none belongs");
	if (m->u[0] != 0) {
		ats_buf_init(&text, 2048);
		(void)!ats_utf8_show(&text, m->s[1], strnlen(m->s[1], 400));
		gateway_end(g);
		gateway_fail(g, m->u[0] < 1000 ? (int)m->u[0] : ATS_E_PROTO, text.data);
		return 0;
	}
	g->life = GW_TAKES;
	g->ready_ms = ats_clock_ms();
	g->why = (struct ats_err){ 0 };
	g->wanted = false;
	(void)event_del(g->timer);
	ats_log(ATS_LOG_INFO, "gateway is ready", "gateway=%s pid=%d", g->src->conf.name,
	    (int)g->pid);
	gateway_check_idle(g);
	return 0;
}

static int
on_message(struct gateway *g, const struct ats_ipc_msg *m, struct ats_err *err)
{
	if (g->life == GW_ENDING)
		return 0;
	if (g->life != GW_SETTING_UP && g->life != GW_TAKES)
		return ats_err_set(err, ATS_E_STATE, "it speaks before it is set up");
	switch ((enum ats_brain_msg)m->type) {
	case ATS_MSG_GW_READY:
		return on_ready(g, m, err);
	case ATS_MSG_GW_TOOL:
		return gateway_tools_on_tool(g, m->u[0], m->s[1], m->s[2], err);
	case ATS_MSG_GW_TOOLS:
		return gateway_tools_on_tools(g, m->u[0], err);
	case ATS_MSG_GW_UNAUTHORIZED:
		if (g->src->conf.credential == NULL)
			return ats_err_set(err, ATS_E_STATE, "it has no credential");
		gateway_on_unauthorized(g);
		return 0;
	case ATS_MSG_GW_ENDED:
		return asks_on_ended(g, m->u[0], m->u[1]) ? 0 :
		    ats_err_set(err, ATS_E_UNKNOWN_ID, "the end of a call that it was not given");
	default:			/* ats_ipc_recv lets no other pass */
		return 0;
	}
}

static void
on_eof(struct gateway *g)
{
	if (g->life != GW_ENDING) {
		gateway_fell(g, g->life == GW_TAKES ? "its process ended; see brain.log" :
		    "its process ended before it was ready; see brain.log");
		return;
	}
	gateway_end(g);
	g->failures = 0;
}

void
gateway_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct gateway *g = arg;
	struct vault *v = g->v;
	struct ats_err err = { 0 };
	int rc = -ATS_E_AGAIN;

	(void)what;
	for (unsigned i = 0; i < VAULT_MESSAGES_A_TURN && g->fd == (int)fd; i++) {
		rc = ats_ipc_recv((int)fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_GATEWAY,
		    &v->msg);
		if (rc != 1)
			break;
		rc = on_message(g, &v->msg, &err);
		ats_ipc_done(&v->msg);
		if (rc < 0)
			break;
		rc = 1;
	}
	if (g->fd == (int)fd && rc == 0)
		on_eof(g);
	else if (g->fd == (int)fd && rc < 0 && rc != -ATS_E_AGAIN)
		gateway_kill(g, err.code != 0 ? err.text : ats_err_text(rc));
	engine_sync(v);
}
