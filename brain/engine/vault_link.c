/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the vault, and what each of them does. Runs in the engine; the vault is trusted. */
#include "brain/engine/call_resume.h"
#include "brain/engine/vault_link_private.h"

#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/arrivals.h"
#include "brain/engine/call.h"
#include "brain/engine/door.h"
#include "brain/engine/engine.h"
#include "brain/engine/gateway.h"
#include "brain/engine/hooks.h"
#include "brain/engine/permit.h"
#include "brain/engine/provider.h"
#include "brain/engine/refused.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/script.h"
#include "brain/engine/sessions.h"
#include "common/digest.h"
#include "common/fd.h"
#include "common/log.h"

/* After a start the vault says which sandboxes live; without news for so long, it has. */
#define SETTLE_US 300000

int
vault_link_settings(struct engine *e, int fd, struct ats_err *err)
{
	struct ats_ipc_msg *m = calloc(1, sizeof(*m));
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int rc;

	if (m == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "settings");
	do {
		(void)poll(&p, 1, -1);
		rc = ats_ipc_recv(fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT, m);
	} while (rc == -ATS_E_AGAIN);
	if (rc == 1 && m->type == ATS_MSG_SETTINGS) {
		rc = settings_parse(&e->set, m->s[0], err);
		if (strlen(m->s[1]) >= sizeof(e->state_dir) - 64)
			rc = ats_err_set(err, ATS_E_TOOBIG, "state directory");
		else
			(void)snprintf(e->state_dir, sizeof(e->state_dir), "%s", m->s[1]);
	} else {
		rc = ats_err_set(err, rc == 0 ? ATS_E_EOF : ATS_E_PROTO,
		    "the vault's first message is not its settings");
	}
	ats_ipc_done(m);
	free(m);
	return rc;
}

/* While the socket is full nothing more is read: the vault hears all before it says more. It waits
 * for each answer, and never waits to write. */
static void
answer_session(struct vault_link *v)
{
	const struct ats_err *err = &v->answer.verdict;
	int rc = ats_brain_send(v->fd, ATS_MSG_SESSION_OK, v->answer.seq, NULL, 0,
	    v->answer.session, (uint64_t)err->code, err->text);

	v->answer.due = rc == -ATS_E_AGAIN && event_add(v->writable, NULL) == 0;
	if (v->answer.due)
		(void)event_del(v->readable);
	else if (rc < 0)
		ats_log(ATS_LOG_ERROR, "cannot answer the vault", NULL);
}

static void
on_session(struct engine *e, const struct ats_ipc_msg *m)
{
	struct vault_link *v = e->vault;
	struct ats_err *err = &v->answer.verdict;
	int rc;

	err->text[0] = '\0';
	rc = sessions_register(e->sessions, m->s[0], m->s[1], m->u[2], m->s[3], m->s[4], err);
	err->code = rc < 0 ? -rc : 0;
	if (rc < 0)
		ats_log(ATS_LOG_ERROR, "session refused", "session=%s why=\"%s\"", m->s[0],
		    err->text);
	v->answer.seq = m->seq;
	(void)snprintf(v->answer.session, sizeof(v->answer.session), "%s", m->s[0]);
	answer_session(v);
}

static void
on_sandbox(struct engine *e, struct ats_ipc_msg *m)
{
	struct sandbox *box = sandboxes_find(e->boxes, m->s[0]);

	if (box == NULL)
		return;		/* its session was closed meanwhile; the fds are closed */
	if (m->u[2] != 0 || m->nfds != 1) {
		sandbox_on_failed(box, m->u[2] == 0 ? ATS_E_PROTO : (int)m->u[2], m->s[3]);
		return;
	}
	sandbox_on_fd(box, m->u[1], ats_steal_fd(&m->fds[0]), m->s[4]);
}

static void
on_link_key(struct engine *e, const struct ats_ipc_msg *m)
{
	struct sandbox *box = sandboxes_find(e->boxes, m->s[0]);
	struct ats_err err = { 0 };

	if (box == NULL)
		return;		/* it comes again with the next session */
	if (link_key_set(&box->key, m->u[1], m->s[2], m->u[3], m->s[4], &err) < 0)
		ats_log(ATS_LOG_ERROR, "no key for a sandbox", "sandbox=%s why=\"%s\"", box->id,
		    err.text);
	sandbox_key_changed(box);
}

static int
on_listen(struct engine *e, struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };

	if (e->arrivals != NULL || m->nfds != 1)
		return -ATS_E_PROTO;
	e->arrivals = arrivals_new(e, ats_steal_fd(&m->fds[0]), m->s[0], m->s[1], &err);
	if (e->arrivals == NULL)
		ats_log(ATS_LOG_ERROR, "no sandbox can come in", "why=\"%s\"", err.text);
	return 0;
}

static int
on_trust(struct engine *e, const struct ats_ipc_msg *m)
{
	struct trust *t = &e->trust;

	if (m->s[0][0] != '\0' && !ats_unhex(m->s[0], t->pin, sizeof(t->pin)))
		return -ATS_E_PROTO;
	t->has_pin = m->s[0][0] != '\0';
	free(t->ca_pem);
	t->ca_pem = m->s[1][0] != '\0' ? strdup(m->s[1]) : NULL;
	return m->s[1][0] != '\0' && t->ca_pem == NULL ? -ATS_E_NOMEM : 0;
}

/* Clients may have waited at it for longer than we are there: none is told that its session is not
 * known before the vault has said which there are. */
static int
open_door(struct vault_link *v)
{
	if (!v->open && door_open(v->e->door) < 0)
		return -ATS_E_NOMEM;
	v->open = true;
	return 0;
}

static int
on_message(struct engine *e, struct ats_ipc_msg *m)
{
	struct sandbox *box;

	switch (m->type) {
	case ATS_MSG_SESSION:
		on_session(e, m);
		return 0;
	case ATS_MSG_SESSION_CLOSED:
		sessions_close(e->sessions, m->s[0]);
		return 0;
	case ATS_MSG_SANDBOX:
		on_sandbox(e, m);
		return 0;
	case ATS_MSG_SANDBOX_ALIVE:
		box = sandboxes_find(e->boxes, m->s[0]);
		if (box != NULL)
			sandbox_on_alive(box, m->u[1], m->s[2]);
		return 0;
	case ATS_MSG_SANDBOX_EXITED:
		box = sandboxes_find(e->boxes, m->s[0]);
		if (box != NULL)
			sandbox_on_exited(box, m->u[1]);
		return 0;
	case ATS_MSG_SANDBOX_MOVED:
		box = sandboxes_find(e->boxes, m->s[0]);
		if (box != NULL && box->generation == m->u[1])
			sandbox_lost(box, ATS_E_LOST, "another directory is its workspace now");
		return 0;
	case ATS_MSG_LINK_KEY:
		on_link_key(e, m);
		return 0;
	case ATS_MSG_LISTEN:
		return on_listen(e, m);
	case ATS_MSG_TRUST:
		return on_trust(e, m);
	case ATS_MSG_ARE_YOU_THERE:
		vault_link_here(e, m->u[0]);
		return open_door(e->vault);
	case ATS_MSG_QUIT:
		e->stopping = true;
		if (!provider_stop(e))
			(void)event_base_loopbreak(e->base);
		return 0;
	case ATS_MSG_SCRIPT:
		scripts_on_started(e, m->u[0], m->nfds == 1 ? ats_steal_fd(&m->fds[0]) : -1,
		    (int)m->u[1], m->s[2]);
		return 0;
	case ATS_MSG_RULE:
		return permit_on_rule(e, m->u[0], m->s[1]);
	case ATS_MSG_GATEWAY_TOOL:
		gateways_on_tool(e->gateways, m->s[0], m->s[1], m->s[2], m->u[3]);
		return 0;
	case ATS_MSG_GATEWAY_TOOLS:
		gateways_on_tools(e->gateways, m->s[0], m->u[1], m->u[2], m->s[3]);
		return 0;
	case ATS_MSG_GATEWAY_LINK:
		if (m->nfds != 1)
			return -ATS_E_PROTO;
		gateway_links_on_fd(e->gateways, m->s[0], m->u[1], ats_steal_fd(&m->fds[0]));
		return 0;
	case ATS_MSG_GATEWAY_STATE:
		gateway_on_state(e, m->u[0], m->u[1], m->u[2], m->s[3], m->s[4]);
		return 0;
	case ATS_MSG_HOOK:
		return hooks_on_conf(e, m->u[0], m->u[1], m->u[2], m->s[3], m->u[4]);
	case ATS_MSG_HOOK_ENDED:
		hooks_on_ended(e, m->u[0], m->u[1], m->u[2], m->s[3]);
		return 0;
	case ATS_MSG_SCRIPT_ENDED:
		scripts_on_ended(e, m->u[0], m->u[1], m->u[2]);
		return 0;
	default:
		return -ATS_E_PROTO;
	}
}

static void
stop(struct vault_link *v, const char *why)
{
	ats_log(ATS_LOG_INFO, "the vault's socket ended", "why=\"%s\"", why);
	(void)event_del(v->readable);
	gateway_vault_gone(v->e);
	v->e->stopping = true;
	(void)event_base_loopbreak(v->e->base);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval quiet = { 0, SETTLE_US };
	struct vault_link *v = arg;
	int rc = 0;

	(void)what;
	while (!v->answer.due && (rc = ats_ipc_recv(fd, ats_brain_rows, ats_brain_nrows,
	                              ATS_BRAIN_VAULT, &v->m)) == 1) {
		rc = on_message(v->e, &v->m);
		ats_ipc_done(&v->m);
		if (rc < 0) {
			stop(v, rc == -ATS_E_NOMEM ? "no memory" :
			    "a message that is not for the engine");
			return;
		}
		if (v->e->stopping)
			return;
	}
	if (v->answer.due)
		return;
	if (rc != -ATS_E_AGAIN) {
		stop(v, rc == 0 ? "closed" : "broken");
		return;
	}
	if (!v->settled && event_add(v->settle, &quiet) < 0)
		stop(v, "no memory");
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct vault_link *v = arg;

	if (v->answer.due)
		answer_session(v);
	if (v->answer.due)
		return;
	if ((!refused_flush(v->e) || !hooks_flush(v->e) || !gateway_flush(v->e)) &&
	    event_add(v->writable, NULL) < 0)
		stop(v, "no memory");
	else if (event_add(v->readable, NULL) < 0)
		stop(v, "no memory");
	else
		on_readable(fd, what, v);
}

static void
on_settled(evutil_socket_t fd, short what, void *arg)
{
	struct vault_link *v = arg;
	struct session *s;
	size_t pos = 0;

	(void)fd;
	(void)what;
	v->settled = true;
	/* Elsewhere hands waits for us, but not for ever. */
	while (settings_elsewhere(&v->e->set) &&
	    (s = sessions_each(v->e->sessions, &pos)) != NULL)
		if (s->nshells > 0)
			sandbox_want(s->box);
	calls_resume_settle(v->e->calls);
}

struct vault_link *
vault_link_new(struct engine *e, int fd)
{
	struct vault_link *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return NULL;
	v->e = e;
	v->fd = fd;
	v->readable = event_new(e->base, fd, EV_READ | EV_PERSIST, on_readable, v);
	v->writable = event_new(e->base, fd, EV_WRITE, on_writable, v);
	v->settle = event_new(e->base, -1, 0, on_settled, v);
	if (v->readable == NULL || v->writable == NULL || v->settle == NULL ||
	    ats_fd_nonblock(fd, true) < 0 || event_add(v->readable, NULL) < 0 ||
	    ats_brain_send(fd, ATS_MSG_ENGINE_READY, 0, NULL, 0) < 0) {
		vault_link_free(v);
		return NULL;
	}
	return v;
}

void
vault_link_free(struct vault_link *v)
{
	if (v == NULL)
		return;
	if (v->readable != NULL)
		event_free(v->readable);
	if (v->writable != NULL)
		event_free(v->writable);
	if (v->settle != NULL)
		event_free(v->settle);
	ats_fd_close(&v->fd);
	free(v);
}

void
vault_link_want_room(struct engine *e)
{
	if (e->vault != NULL && event_add(e->vault->writable, NULL) < 0)
		stop(e->vault, "no memory");
}
