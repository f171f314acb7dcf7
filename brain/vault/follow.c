/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients of vault.sock hear of calls that wait for a person, and what they say to these.
 * Runs in the vault. What a client is owed is a position in the order of asking, so that one that
 * reads slowly costs nothing but a short list of those that are gone; when that is full, it is
 * dropped. */
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "brain/vault/args.h"
#include "brain/vault/client.h"
#include "brain/vault/decide.h"
#include "brain/vault/gateway.h"
#include "brain/vault/vault.h"
#include "common/fd.h"

static bool
concerns(const struct client *c, const struct ask *a)
{
	return a->uid == c->uid &&
	    (c->follow_session[0] == '\0' || strcmp(c->follow_session, a->session) == 0);
}

static int
send_one(struct client *c, const struct approval *p)
{
	const struct session *s = reg_find(c->v->reg, p->session);
	struct ats_slice args = { p->args.data, p->args.len };
	bool filed = args.n > ATS_GATEWAY_INLINE;
	int fd ATS_CLEANUP_FD = -1, rc = 0;

	if (filed)
		rc = vault_file_of(args, &fd);
	return rc < 0 ? rc : ats_brain_send(c->fd, ATS_MSG_APPROVAL, c->follow_seq, &fd, filed,
	    p->id, (uint64_t)p->asked_ms, (uint64_t)p->expires_ms, p->session, p->gateway, p->tool,
	    filed ? "" : args.p, s != NULL ? s->workspace : "");
}

static int
send_left(struct client *c)
{
	size_t n = 0;
	int rc = 0;

	while (n < c->nleft && (rc = ats_brain_send(c->fd, ATS_MSG_APPROVAL_GONE, c->follow_seq,
		NULL, 0, c->left[n].id, c->left[n].why)) == 0)
		n++;
	c->nleft -= n;
	memmove(c->left, c->left + n, c->nleft * sizeof(c->left[0]));
	return rc;
}

static int
send_waiting(struct client *c)
{
	const struct approval *p;
	size_t pos = 0;
	int rc = 0;

	while (rc == 0 && (p = approvals_each(c->v->decide->approvals, &pos)) != NULL) {
		const struct ask *a = p->owner;

		if (a->serial <= c->told)
			continue;
		if (concerns(c, a))
			rc = send_one(c, p);
		if (rc == 0)
			c->told = a->serial;
	}
	return rc;
}

/* As much as its socket takes. */
static void
sync_client(struct client *c)
{
	int rc = 0;

	if (c->gone || (!c->lists && !c->follows))
		return;
	rc = send_left(c);
	if (rc == 0)
		rc = send_waiting(c);
	if (rc == 0 && c->lists) {
		rc = ats_brain_send(c->fd, ATS_MSG_OK, c->follow_seq, NULL, 0, "", "");
		c->lists = rc < 0;
	}
	if (rc == -ATS_E_AGAIN && event_add(c->wr, NULL) == 0)
		return;
	if (rc < 0)
		client_lose(c);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	sync_client(arg);
}

void
follow_new(struct vault *v)
{
	for (struct client *c = v->clients; c != NULL; c = c->next)
		if (c->follows)
			sync_client(c);
}

void
follow_gone(struct vault *v, const struct ask *a, const char *why)
{
	for (struct client *c = v->clients; c != NULL; c = c->next) {
		if (!c->follows || c->gone || a->serial > c->told || !concerns(c, a))
			continue;
		if (c->nleft == CLIENT_GONE_MAX) {
			ats_log(ATS_LOG_WARN, "a client that does not read is dropped", "pid=%d",
			    (int)c->pid);
			client_lose(c);
			continue;
		}
		(void)snprintf(c->left[c->nleft].id, sizeof(c->left[0].id), "%s", a->approval);
		c->left[c->nleft++].why = why;
		sync_client(c);
	}
}

void
follow_on_approvals(struct client *c, const struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };

	if (c->wr == NULL)
		c->wr = event_new(c->v->base, c->fd, EV_WRITE, on_writable, c);
	if (c->wr == NULL)
		(void)ats_err_set(&err, ATS_E_NOMEM, "out of memory");
	else if (strlen(m->s[1]) >= sizeof(c->follow_session))
		(void)ats_err_set(&err, ATS_E_UNKNOWN_ID, "no such session");
	else
		(void)!approve_check_way(c->v, m->s[2], &err);
	if (err.code != 0) {
		client_err(c, m->seq, &err);
		return;
	}
	c->lists = true;
	c->follows = m->u[0] != 0;
	c->follow_seq = m->seq;
	(void)snprintf(c->follow_session, sizeof(c->follow_session), "%s", m->s[1]);
	c->told = 0;
	c->nleft = 0;
	sync_client(c);
}

void
follow_on_approve(struct client *c, const struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };

	if (approve_yes(c->v, c->uid, m->s[0], m->s[1], m->s[2], &err) < 0)
		client_err(c, m->seq, &err);
	else
		client_ok(c, m->seq, "", "");
}

void
follow_on_deny(struct client *c, const struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };

	if (approve_no(c->v, c->uid, m->s[0], m->s[1], m->s[2], &err) < 0)
		client_err(c, m->seq, &err);
	else
		client_ok(c, m->seq, "", "");
}
