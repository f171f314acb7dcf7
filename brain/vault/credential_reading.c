/* SPDX-License-Identifier: Apache-2.0
 *
 * How the value of a credential comes. Runs in the vault, which after its confinement opens no file
 * and starts no program: the spawner does, by the configuration's words, and what is read comes
 * here by a descriptor. What a file or a program of the user's says is judged by
 * credential_take; no other process names a source. */
#include "brain/vault/credentials_private.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/vault/children.h"
#include "brain/vault/gateway.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "proto/brain.h"

#define SAID_SHOWN 4096u

void
credential_stop(struct credential *c)
{
	if (c->rd != NULL)
		event_free(c->rd);
	if (c->timer != NULL)
		event_free(c->timer);
	c->rd = c->timer = NULL;
	ats_fd_close(&c->fd);
	said_close(&c->said);
	if (c->bytes != NULL)
		ats_secret_wipe(c->bytes, ATS_SECRET_MAX);
	free(c->bytes);
	c->bytes = NULL;
	c->n = 0;
}

/* rc 0: value (owned) is the new one; else why says it. */
static void
finish(struct credential *c, int rc, struct ats_secret *value)
{
	size_t len = 0;
	const void *p = value != NULL ? ats_secret_bytes(value, &len) : NULL;
	/* What cannot be read any more was taken back, from the processes that have it, too. */
	bool changed = c->value == NULL ? rc == 0 :
	    rc < 0 || !ats_secret_equal(c->value, p, len);

	credential_stop(c);
	if (rc < 0) {
		ats_log(ATS_LOG_WARN, "a credential cannot be read", "credential=%s why=\"%s\"",
		    c->src->name, c->why.text);
		c->state = CREDENTIAL_FAILED;
		c->failed_ms = ats_clock_ms();
		ats_secret_free(c->value);
		c->value = NULL;
	} else {
		c->state = CREDENTIAL_HAVE;
		c->why = (struct ats_err){ 0 };
		ats_secret_free(c->value);
		c->value = value;
	}
	gateway_credential_known(c->v, c->src->name, changed);
	clients_credential_answer(c->v, c->src->name);
}

void
credential_read_now(struct credential *c)
{
	int fd ATS_CLEANUP_FD = -1, rc = credential_open(c->src, &fd, &c->why);

	if (rc == 0)
		rc = credential_read(fd, c->src->name, &c->value, &c->why);
	c->state = rc == 0 ? CREDENTIAL_HAVE : CREDENTIAL_FAILED;
	c->failed_ms = ats_clock_ms();
	if (rc < 0)
		ats_log(ATS_LOG_WARN, "a credential cannot be read", "credential=%s why=\"%s\"",
		    c->src->name, c->why.text);
}

/* ---- a command ---------------------------------------------------------------------- */
/* It is killed; its end is what finishes. */
static void
give_up(struct credential *c, int code, const char *why)
{
	char id[CHILD_ID_MAX];

	if (c->why.code == 0)
		(void)ats_err_set(&c->why, code, "credentials.%s: %s", c->src->name, why);
	(void)snprintf(id, sizeof(id), CHILD_CREDENTIAL "%s", c->src->name);
	if (ats_brain_send(c->v->spawner, ATS_MSG_KILL, 0, NULL, 0, id) < 0 && !c->v->stopping)
		vault_die(c->v, "the spawner does not answer");
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	give_up(arg, ATS_E_TIMEOUT, "the command took longer than 10 s; if it asks for a "
	    "passphrase, unlock its agent first");
}

/* As much as there is. */
static void
read_some(struct credential *c)
{
	ssize_t got = 1;

	while (got > 0 && c->n < ATS_SECRET_MAX) {
		got = ats_fd_read(c->fd, c->bytes + c->n, ATS_SECRET_MAX - c->n);
		c->n += got > 0 ? (size_t)got : 0;
	}
	if (got == 0)
		(void)event_del(c->rd);
	if (c->n == ATS_SECRET_MAX) {
		(void)event_del(c->rd);
		give_up(c, ATS_E_TOOBIG, "the command prints more than 16 KiB");
	}
}

static void
on_bytes(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_some(arg);
}

static int
prepare(struct credential *c, int ret_write[2], struct ats_err *err)
{
	struct timeval t = { CREDENTIAL_MS / 1000, 0 };
	int fds[2];

	if (ats_fd_pipe(fds, 0) < 0)
		return ats_err_sys(err, "credentials.%s: pipe", c->src->name);
	c->fd = fds[0];
	ret_write[0] = fds[1];
	if (said_open(&c->said, c->v->base, &ret_write[1], err) < 0)
		return ats_err_wrap(err, "credentials.%s", c->src->name);
	c->bytes = ats_malloc(ATS_SECRET_MAX);
	c->rd = event_new(c->v->base, c->fd, EV_READ | EV_PERSIST, on_bytes, c);
	c->timer = evtimer_new(c->v->base, on_timer, c);
	if (ats_fd_nonblock(c->fd, true) < 0 || c->bytes == NULL || c->rd == NULL ||
	    c->timer == NULL || event_add(c->rd, NULL) < 0 || event_add(c->timer, &t) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "credentials.%s: out of memory",
		    c->src->name);
	return 0;
}

int
credential_start(struct credential *c, struct ats_err *err)
{
	bool runs = c->src->kind == CREDENTIAL_COMMAND;
	int fds[2] = { -1, -1 }, rc = 0;

	c->why = (struct ats_err){ 0 };
	if (runs)
		rc = prepare(c, fds, err);
	if (rc == 0 && ats_brain_send(c->v->spawner, ATS_MSG_START_HELPER, 0, fds, runs ? 2 : 0,
		c->src->name) < 0)
		rc = ats_err_set(err, ATS_E_AGAIN, "credentials.%s: it could not be ordered",
		    c->src->name);
	ats_fd_close(&fds[0]);
	ats_fd_close(&fds[1]);
	if (rc < 0) {
		credential_stop(c);
		return rc;
	}
	c->state = CREDENTIAL_READING;
	return 0;
}

/* The value that it printed is in none of its other words that are logged. */
static void
log_said(struct credential *c, bool failed)
{
	struct ats_buf lines ATS_CLEANUP_BUF = { 0 }, own ATS_CLEANUP_BUF = { 0 };
	struct ats_buf shown ATS_CLEANUP_BUF = { 0 };
	const char *end = memchr(c->bytes, '\n', c->n);
	size_t n = end != NULL ? (size_t)(end - c->bytes) : c->n;
	char text[SAID_SHOWN];

	ats_buf_init(&lines, SAID_SHOWN);
	ats_buf_init(&own, 8 * SAID_SHOWN);
	ats_buf_init(&shown, 8 * SAID_SHOWN);
	n -= n > 0 && c->bytes[n - 1] == '\r';
	if (said_lines(&c->said, &lines) < 0 || lines.len == 0 ||
	    credential_mask_one(c->bytes, n, &lines, &own) < 0 ||
	    credentials_mask(c->v, (struct ats_slice){ own.data, own.len }, &shown) < 0)
		return;
	ats_log(failed ? ATS_LOG_WARN : ATS_LOG_INFO, "the command of a credential said",
	    "credential=%s stderr=%s", c->src->name,
	    ats_log_quote(text, sizeof(text), shown.data, shown.len));
}

/* ---- from the spawner --------------------------------------------------------------- */
static void
on_started(struct credential *c, struct ats_ipc_msg *m)
{
	struct ats_secret *value = NULL;

	if (m->u[2] != 0) {
		finish(c, ats_err_set(&c->why, (int)m->u[2], "%s", m->s[3]), NULL);
	} else if (c->src->kind != CREDENTIAL_COMMAND) {
		int rc = m->nfds == 1 ? credential_read(m->fds[0], c->src->name, &value, &c->why) :
		    ats_err_set(&c->why, ATS_E_PROTO, "credentials.%s: no file came",
		    c->src->name);

		finish(c, rc, value);
	}
}

static void
on_exited(struct credential *c, const struct ats_ipc_msg *m)
{
	struct ats_secret *value = NULL;
	int rc;

	if (c->fd >= 0 && c->why.code == 0)
		read_some(c);
	if (c->fd >= 0)
		log_said(c, c->why.code != 0 || m->u[1] != 0 || m->u[2] != 0);
	if (c->why.code != 0)
		rc = -c->why.code;
	else if (m->u[1] != 0 || m->u[2] != 0)
		rc = ats_err_set(&c->why, ATS_E_SYS, "credentials.%s: %s ended with %s %llu; run "
		    "it by hand to see why", c->src->name, c->src->argv.v[0],
		    m->u[2] != 0 ? "signal" : "code",
		    (unsigned long long)(m->u[2] != 0 ? m->u[2] : m->u[1]));
	else
		rc = credential_take(c->bytes, c->n, c->src->name, &value, &c->why);
	finish(c, rc, value);
}

bool
credentials_on_spawner(struct vault *v, struct ats_ipc_msg *m)
{
	size_t n = strlen(CHILD_CREDENTIAL);
	struct credential *c;

	if (strncmp(m->s[0], CHILD_CREDENTIAL, n) != 0)
		return false;
	c = credential_find(v, m->s[0] + n);
	if (c == NULL || c->state != CREDENTIAL_READING)
		return true;
	if (m->type == ATS_MSG_STARTED)
		on_started(c, m);
	else
		on_exited(c, m);
	return true;
}
