/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients of vault.sock. Runs in the vault. Peers are processes of the user (SO_PEERCRED);
 * still a message that does not fit its row, or a client that does not take its answer,
 * costs the client its connection and nothing else. */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/vault/boxes.h"
#include "brain/vault/client.h"
#include "brain/vault/decide.h"
#include "brain/vault/links.h"
#include "brain/vault/vault.h"
#include "common/acceptor.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/secret.h"
#include "common/share.h"
#include "proto/brain.h"

#define ENROLL_KEY "enrolled"		/* of the session that an enrolment registers */

static void
free_client(struct client *c)
{
	if (c->wr != NULL)
		event_free(c->wr);
	event_free(c->ev);
	ats_fd_close(&c->fd);
	free(c);
}

static void
drop(struct client *c)
{
	struct client **at = &c->v->clients;
	struct vault *v = c->v;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->v->nclients--;
	free_client(c);
	vault_check_idle(v);
}

void
client_lose(struct client *c)
{
	c->gone = true;
	(void)shutdown(c->fd, SHUT_RDWR);
}

void
client_ok(struct client *c, uint32_t seq, const char *a, const char *b)
{
	if (ats_brain_send(c->fd, ATS_MSG_OK, seq, NULL, 0, a, b) < 0)
		client_lose(c);
}

void
client_failed(struct client *c, uint32_t seq, int code, const char *text)
{
	if (ats_brain_send(c->fd, ATS_MSG_FAILED, seq, NULL, 0, (uint64_t)code, text) < 0)
		client_lose(c);
}

void
client_err(struct client *c, uint32_t seq, const struct ats_err *err)
{
	client_failed(c, seq, err->code, err->text);
}

void
clients_session_answer(struct vault *v, const char *id, int code, const char *text)
{
	const struct session *s = reg_find(v->reg, id);

	for (struct client *c = v->clients; c != NULL; c = c->next) {
		if (strcmp(c->waits, id) != 0 || s == NULL)
			continue;
		c->waits[0] = '\0';
		if (code == 0)
			client_ok(c, c->seq, s->id, s->box);
		else
			client_failed(c, c->seq, code, text);
	}
}

/* OK goes out when the engine knows the session too, and has left a sandbox that is in another
 * directory than the client means. */
static void
answer_with(struct client *c, uint32_t seq, struct session *s)
{
	boxes_look(c->v, s);
	if (s->confirmed) {
		client_ok(c, seq, s->id, s->box);
		return;
	}
	(void)snprintf(c->waits, sizeof(c->waits), "%s", s->id);
	c->seq = seq;
	engine_sync(c->v);
}

/* Where the workspace is on this machine, the way to it is judged, too. */
static int
check_workspace(const struct client *c, const char *path, char real[ATS_PATH_MAX],
    struct ats_err *err)
{
	int rc;

	if (c->v->conf->provider != PROVIDER_STDIO)
		return ats_workspace_check_far(path, real, err);
	rc = ats_workspace_check(c->v->homes, path, real, err);
	return rc < 0 ? rc : reg_check_way(c->v->reg, path, real, err);
}

static void
do_register(struct client *c, const struct ats_ipc_msg *m)
{
	struct session *s, *gone = NULL;
	struct ats_err err = { 0 };
	char real[ATS_PATH_MAX];

	if (check_workspace(c, m->s[0], real, &err) < 0 ||
	    reg_add(c->v->reg, c->uid, real, m->s[1], &s, &gone, &err) < 0) {
		client_err(c, m->seq, &err);
		return;
	}
	if (gone != NULL)
		engine_session_gone(c->v, gone);
	answer_with(c, m->seq, s);
}

/* Only the owner learns that an id exists, and root. */
static struct session *
find_own(struct client *c, const struct ats_ipc_msg *m)
{
	struct session *s = reg_find(c->v->reg, m->s[0]);
	struct ats_err err = { 0 };

	if (s != NULL && s->uid == c->uid)
		return s;
	if (s != NULL && c->uid == 0) {		/* who can be that user, too */
		(void)ats_err_set(&err, ATS_E_UNKNOWN_ID, ATS_IS_OF_UID "%lu, and each user's are "
		    "that user's alone: ask as that user", (unsigned long)s->uid);
		client_err(c, m->seq, &err);
	} else {
		client_failed(c, m->seq, ATS_E_UNKNOWN_ID, "no such session");
	}
	return NULL;
}

static void
do_find(struct client *c, const struct ats_ipc_msg *m)
{
	struct session *s = find_own(c, m);
	struct ats_err err = { 0 };
	char real[ATS_PATH_MAX];

	if (s == NULL)
		return;
	/* The directory may have gone, or become a link, since it was registered. */
	if (check_workspace(c, s->workspace, real, &err) == 0 &&
	    strcmp(real, s->workspace) != 0)
		(void)ats_err_set(&err, ATS_E_INVAL, "%s is not what it was", s->workspace);
	if (err.code != 0) {
		client_err(c, m->seq, &err);
		return;
	}
	reg_touch(s);
	answer_with(c, m->seq, s);
}

static void
do_find_named(struct client *c, const struct ats_ipc_msg *m)
{
	const struct session *s = NULL;
	struct ats_err err = { 0 };
	char real[ATS_PATH_MAX];

	if (check_workspace(c, m->s[0], real, &err) == 0 &&
	    (s = reg_find_named(c->v->reg, c->uid, real, m->s[1])) == NULL)
		(void)ats_err_set(&err, ATS_E_UNKNOWN_ID, "no such session in %s", real);
	if (s != NULL)
		client_ok(c, m->seq, s->id, s->box);
	else
		client_err(c, m->seq, &err);
}

static void
do_close(struct client *c, const struct ats_ipc_msg *m)
{
	struct session *s = find_own(c, m);

	if (s == NULL)
		return;
	s = reg_take(c->v->reg, s->id);
	for (struct client *w = c->v->clients; w != NULL; w = w->next) {
		if (strcmp(w->waits, s->id) != 0)
			continue;
		w->waits[0] = '\0';
		client_failed(w, w->seq, ATS_E_UNKNOWN_ID, "the session was closed");
	}
	engine_session_gone(c->v, s);
	client_ok(c, m->seq, "", "");
}

/* The session keeps the sandbox known to the engine when a hands comes before any call. */
static void
do_enroll(struct client *c, const struct ats_ipc_msg *m)
{
	char real[ATS_PATH_MAX], text[KEYS_TEXT_MAX];
	struct session *s = NULL, *gone = NULL;
	struct ats_err err = { 0 };

	if (!links_want_proof(c->v))
		(void)ats_err_set(&err, ATS_E_INVAL, "sandbox.url is %s: a sandbox proves that it "
		    "has a key where it is reached over a network; set it to tls://HOST:PORT or "
		    "another such address first, and see INTEGRATION.md", c->v->conf->sandbox_url);
	else if (check_workspace(c, m->s[0], real, &err) == 0)
		(void)!reg_add(c->v->reg, c->uid, real, ENROLL_KEY, &s, &gone, &err);
	if (gone != NULL)
		engine_session_gone(c->v, gone);
	if (s == NULL || links_enroll(c->v, s->box, m->u[1] == 1, text, &err) < 0) {
		client_err(c, m->seq, &err);
		return;
	}
	client_ok(c, m->seq, text, s->box);
	ats_secret_wipe(text, sizeof(text));
	engine_sync(c->v);
}

/* What concerns more users than the one who asks: a brain of the system does it for root. */
static bool
may_rule(struct client *c, const struct ats_ipc_msg *m)
{
	if (c->uid == c->v->uid || c->uid == 0)
		return true;
	client_failed(c, m->seq, ATS_E_PERM, "this brain serves other users, too: only root may");
	return false;
}

static void
do_revoke(struct client *c, const struct ats_ipc_msg *m)
{
	const struct session *s = reg_find_box(c->v->reg, m->s[0]);
	struct ats_err err = { 0 };

	/* In a brain of the system one whose session is gone is root's to revoke. */
	if ((s == NULL || s->uid != c->uid) && !may_rule(c, m))
		return;
	if (links_revoke(c->v, m->s[0], &err) < 0) {
		client_err(c, m->seq, &err);
		return;
	}
	if (s != NULL)
		s = reg_find_named(c->v->reg, s->uid, s->workspace, ENROLL_KEY);
	if (s != NULL)
		engine_session_gone(c->v, reg_take(c->v->reg, s->id));
	client_ok(c, m->seq, "", "");
}

static void
on_message(struct client *c, const struct ats_ipc_msg *m)
{
	if (c->waits[0] != '\0' || c->tests[0] != '\0' || c->lists) {
		client_failed(c, m->seq, ATS_E_BUSY, "the last question is not answered yet");
		return;
	}
	if (c->v->stopping && m->type != ATS_MSG_SHUTDOWN && m->type != ATS_MSG_VAULT_STATUS) {
		client_failed(c, m->seq, ATS_E_BUSY, "brain stops");
		return;
	}
	switch ((enum ats_brain_msg)m->type) {
	case ATS_MSG_REGISTER:
		do_register(c, m);
		break;
	case ATS_MSG_FIND_SESSION:
		do_find(c, m);
		break;
	case ATS_MSG_FIND_NAMED:
		do_find_named(c, m);
		break;
	case ATS_MSG_CLOSE_SESSION:
		do_close(c, m);
		break;
	case ATS_MSG_ENROLL:
		do_enroll(c, m);
		break;
	case ATS_MSG_REVOKE:
		do_revoke(c, m);
		break;
	case ATS_MSG_VAULT_STATUS:
		client_on_status(c, m);
		break;
	case ATS_MSG_APPROVALS:
		follow_on_approvals(c, m);
		break;
	case ATS_MSG_APPROVE:
		follow_on_approve(c, m);
		break;
	case ATS_MSG_DENY:
		follow_on_deny(c, m);
		break;
	case ATS_MSG_CREDENTIALS:
		if (may_rule(c, m))
			client_on_credentials(c, m);
		break;
	case ATS_MSG_GATEWAYS:
		client_on_gateways(c, m);
		break;
	case ATS_MSG_SHUTDOWN:
		if (!may_rule(c, m))
			break;
		client_ok(c, m->seq, "", "");	/* the end of the connection is the end */
		vault_stop(c->v, "asked to");
		break;
	default:			/* ats_ipc_recv lets no other pass */
		break;
	}
}

static void
on_client(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	struct vault *v = c->v;
	int rc = -ATS_E_AGAIN;

	(void)what;
	for (unsigned i = 0; i < VAULT_MESSAGES_A_TURN && !c->gone; i++) {
		rc = ats_ipc_recv((int)fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_CLIENT,
		    &v->msg);
		if (rc != 1)
			break;
		on_message(c, &v->msg);
		ats_ipc_done(&v->msg);
	}
	if (rc < 0 && rc != -ATS_E_AGAIN)
		ats_log(ATS_LOG_WARN, "client dropped", "pid=%d why=%s", (int)c->pid,
		    ats_err_name(rc));
	if (c->gone || (rc != 1 && rc != -ATS_E_AGAIN))
		drop(c);
}

/* Whom a brain of the system serves the mode of its socket says; never the engine, which reads
 * what sandboxes write and must not register a thing. */
static bool
may_come(const struct vault *v, uid_t uid)
{
	return uid == v->uid ||
	    (v->places->system && !(v->outside.listener >= 0 && uid == v->outside.uid));
}

/* Users of the machine share what there is. */
static bool
has_room(const struct vault *v, uid_t uid)
{
	size_t mine = 0;

	if (ats_share_counts(uid, v->uid))
		for (const struct client *c = v->clients; c != NULL; c = c->next)
			mine += c->uid == uid;
	return ats_share_has_room(v->conf->max_clients, v->nclients, mine);
}

static void
admit(void *ctx, int fd)
{
	struct vault *v = ctx;
	struct client *c = ats_calloc(1, sizeof(*c));
	gid_t gid;

	if (c == NULL) {
		(void)close(fd);
		return;
	}
	c->v = v;
	c->fd = fd;
	if (ats_fd_peer(fd, &c->uid, &gid, &c->pid) < 0 || !may_come(v, c->uid))
		client_failed(c, 0, ATS_E_PERM, "this brain belongs to another user");
	else if (!has_room(v, c->uid))
		ats_log(ATS_LOG_WARN, "too many clients", "limit=%llu uid=%llu",
		    (unsigned long long)v->conf->max_clients, (unsigned long long)c->uid);
	else
		c->ev = event_new(v->base, fd, EV_READ | EV_PERSIST, on_client, c);
	if (c->ev == NULL || event_add(c->ev, NULL) < 0) {
		if (c->ev != NULL)
			event_free(c->ev);
		(void)close(fd);
		free(c);
		return;
	}
	c->next = v->clients;
	v->clients = c;
	v->nclients++;
	vault_check_idle(v);
}

int
clients_listen(struct vault *v, struct ats_err *err)
{
	v->acceptor = ats_acceptor_new(v->base, v->listener, admit, v);
	if (v->acceptor == NULL || ats_acceptor_start(v->acceptor) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "vault.sock: out of memory");
	return 0;
}

void
clients_free(struct vault *v)
{
	struct client *c;

	while ((c = v->clients) != NULL) {
		v->clients = c->next;
		free_client(c);
	}
	v->nclients = 0;
}
