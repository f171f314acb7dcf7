/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of credentials. Runs in the vault. After it is confined the vault opens no file
 * and starts no program: the spawner does, by the configuration's words, and what is read comes
 * here by a descriptor. What a file or a program of the user's says is judged by
 * credential_take; no other process names a source. */
#include "brain/vault/credentials.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/vault/children.h"
#include "brain/vault/gateway.h"
#include "brain/vault/said.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
#include "proto/brain.h"

#define SAID_SHOWN 4096u
#define REFUSED_MS 60000		/* so often at most a refused one is read again */
#define RETRY_MS 3000			/* so long a failure stands, then a use tries again */

enum state { UNREAD, READING, HAVE, FAILED };
struct credential {
	struct vault *v;
	const struct credential_source *src;
	enum state state;
	struct ats_secret *value;	/* of the last reading that went well, or NULL */
	struct ats_err why;		/* of FAILED, and of READING that is to fail */
	uint64_t failed_ms, refused_ms;
	/* of READING: what the command says */
	int fd;
	struct event *rd, *timer;
	char *bytes;			/* ATS_SECRET_MAX of them */
	size_t n;
	struct said said;
};
struct credentials {
	struct credential *v;
	size_t n;
};

static void
stop_reading(struct credential *c)
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

	stop_reading(c);
	if (rc < 0) {
		ats_log(ATS_LOG_WARN, "a credential cannot be read", "credential=%s why=\"%s\"",
		    c->src->name, c->why.text);
		c->state = FAILED;
		c->failed_ms = ats_clock_ms();
		ats_secret_free(c->value);
		c->value = NULL;
	} else {
		c->state = HAVE;
		c->why = (struct ats_err){ 0 };
		ats_secret_free(c->value);
		c->value = value;
	}
	gateway_credential_known(c->v, c->src->name, changed);
	clients_credential_answer(c->v, c->src->name);
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

static int
start(struct credential *c, struct ats_err *err)
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
		stop_reading(c);
		return rc;
	}
	c->state = READING;
	return 0;
}

static int
mask_one(const char *value, size_t n, const struct ats_buf *from, struct ats_buf *out);

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
	    mask_one(c->bytes, n, &lines, &own) < 0 ||
	    credentials_mask(c->v, (struct ats_slice){ own.data, own.len }, &shown) < 0)
		return;
	ats_log(failed ? ATS_LOG_WARN : ATS_LOG_INFO, "the command of a credential said",
	    "credential=%s stderr=%s", c->src->name,
	    ats_log_quote(text, sizeof(text), shown.data, shown.len));
}

/* ---- from the spawner --------------------------------------------------------------- */

static struct credential *
find(const struct vault *v, const char *name)
{
	for (size_t i = 0; i < v->credentials->n; i++)
		if (strcmp(v->credentials->v[i].src->name, name) == 0)
			return &v->credentials->v[i];
	return NULL;
}

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
	c = find(v, m->s[0] + n);
	if (c == NULL || c->state != READING)
		return true;
	if (m->type == ATS_MSG_STARTED)
		on_started(c, m);
	else
		on_exited(c, m);
	return true;
}

/* ---- for the vault ------------------------------------------------------------------ */

int
credentials_get(struct vault *v, const char *name, const struct ats_secret **ret,
    struct ats_err *err)
{
	struct credential *c = find(v, name);
	int rc;

	if (c == NULL)
		return ats_err_set(err, ATS_E_NOENT, "credentials.%.64s does not exist", name);
	if (c->state == HAVE) {
		*ret = c->value;
		return 0;
	}
	if (c->state == FAILED && ats_clock_ms() - c->failed_ms < RETRY_MS)
		return ats_err_set(err, c->why.code, "%s", c->why.text);
	if (c->state != READING && (rc = start(c, err)) < 0)
		return rc;
	return -ATS_E_AGAIN;
}

int
credentials_again(struct vault *v, const char *name, struct ats_err *err)
{
	struct credential *c = find(v, name);

	if (c == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_ID, "brain.json has no credentials.%.64s",
		    name);
	return c->state == READING ? 0 : start(c, err);
}

bool
credentials_refused(struct vault *v, const char *name)
{
	struct credential *c = find(v, name);
	struct ats_err err = { 0 };

	if (c == NULL)
		return false;
	if (c->state == READING)
		return true;
	if (c->refused_ms != 0 && ats_clock_ms() - c->refused_ms < REFUSED_MS)
		return false;
	c->refused_ms = ats_clock_ms();
	ats_log(ATS_LOG_INFO, "a credential was refused and is read again", "credential=%s", name);
	return start(c, &err) == 0;
}

/* What is masked: a value of a few letters stands in every text. */
#define MASK_LEAST 6

static int
mask_one(const char *value, size_t n, const struct ats_buf *from, struct ats_buf *out)
{
	const char *p = from->data, *end = p + from->len, *hit;
	int rc = 0;

	while (rc == 0 && n >= MASK_LEAST &&
	    (hit = memmem(p, (size_t)(end - p), value, n)) != NULL) {
		rc = ats_buf_add(out, p, (size_t)(hit - p));
		if (rc == 0)
			rc = ats_buf_add_str(out, "***");
		p = hit + n;
	}
	return rc < 0 ? rc : ats_buf_add(out, p, (size_t)(end - p));
}

int
credentials_mask(const struct vault *v, struct ats_slice text, struct ats_buf *out)
{
	struct ats_buf a ATS_CLEANUP_BUF = { 0 }, b ATS_CLEANUP_BUF = { 0 };
	struct ats_buf escaped ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&a, out->max);
	ats_buf_init(&b, out->max);
	ats_buf_init(&escaped, 8 * ATS_SECRET_MAX);
	rc = ats_buf_add(&a, text.p, text.n);
	for (size_t i = 0; rc == 0 && i < v->credentials->n; i++) {
		const struct ats_secret *s = v->credentials->v[i].value;
		const char *bytes;
		size_t n;

		if (s == NULL)
			continue;
		bytes = ats_secret_bytes(s, &n);
		ats_buf_reset(&escaped);
		rc = ats_json_escape(&escaped, bytes, n);
		if (rc == 0)
			rc = mask_one(escaped.data, escaped.len, &a, &b);
		ats_buf_reset(&a);
		if (rc == 0)
			rc = mask_one(bytes, n, &b, &a);
		ats_buf_reset(&b);
		ats_secret_wipe(escaped.data, escaped.len);
	}
	return rc < 0 ? rc : ats_buf_add(out, a.data, a.len);
}

static const char *
state_word(const struct credential *c)
{
	return c->state == FAILED ? "failed" : c->state == HAVE ? "ok" : "not read";
}

void
credentials_json(const struct vault *v, const char *name, struct ats_json_w *w)
{
	static const char *const sources[] = { [CREDENTIAL_FILE] = "file",
		[CREDENTIAL_SYSTEMD] = "systemd", [CREDENTIAL_COMMAND] = "command" };
	const struct sources *g = &v->conf->sources;

	ats_json_w_array(w, "credentials");
	for (size_t i = 0; i < v->credentials->n; i++) {
		const struct credential *c = &v->credentials->v[i];

		if (name[0] != '\0' && strcmp(c->src->name, name) != 0)
			continue;
		ats_json_w_object(w, NULL);
		ats_json_w_str(w, "name", c->src->name);
		ats_json_w_str(w, "source", sources[c->src->kind]);
		ats_json_w_str(w, "state", state_word(c));
		if (c->state == FAILED)
			ats_json_w_str(w, "error", c->why.text);
		ats_json_w_array(w, "gateways");
		for (size_t k = 0; k < g->n; k++)
			if (g->v[k].conf.credential != NULL &&
			    strcmp(g->v[k].conf.credential, c->src->name) == 0)
				ats_json_w_str(w, NULL, g->v[k].conf.name);
		ats_json_w_end(w);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

static void
read_now(struct credential *c)
{
	int fd ATS_CLEANUP_FD = -1, rc = credential_open(c->src, &fd, &c->why);

	if (rc == 0)
		rc = credential_read(fd, c->src->name, &c->value, &c->why);
	c->state = rc == 0 ? HAVE : FAILED;
	c->failed_ms = ats_clock_ms();
	if (rc < 0)
		ats_log(ATS_LOG_WARN, "a credential cannot be read", "credential=%s why=\"%s\"",
		    c->src->name, c->why.text);
}

int
credentials_open(struct vault *v, struct ats_err *err)
{
	const struct sources *g = &v->conf->sources;
	struct credentials *all = ats_calloc(1, sizeof(*all));

	if (all != NULL)
		all->v = ats_calloc(g->ncredentials + 1, sizeof(*all->v));
	if (all == NULL || all->v == NULL) {
		free(all);
		return ats_err_set(err, ATS_E_NOMEM, "credentials: out of memory");
	}
	v->credentials = all;
	for (size_t i = 0; i < g->ncredentials; i++) {
		struct credential *c = &all->v[all->n++];

		*c = (struct credential){ .v = v, .src = &g->credentials[i], .fd = -1,
			.said = SAID_NOTHING };
		if (c->src->kind != CREDENTIAL_COMMAND)
			read_now(c);
	}
	return 0;
}

void
credentials_free(struct vault *v)
{
	if (v->credentials == NULL)
		return;
	for (size_t i = 0; i < v->credentials->n; i++) {
		stop_reading(&v->credentials->v[i]);
		ats_secret_free(v->credentials->v[i].value);
	}
	free(v->credentials->v);
	free(v->credentials);
	v->credentials = NULL;
}
