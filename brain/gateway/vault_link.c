/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages with the vault. Runs in ats-gateway; the vault is trusted. */
#include "brain/gateway/vault_link.h"

#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/orders.h"
#include "brain/gateway/renewal.h"
#include "common/log.h"
#include "common/secret.h"
#include "proto/brain.h"

#define ENDED_MAX (1u << 20)

struct tool {
	unsigned flags;
	char *name, *json;
};
struct tools {
	struct tool v[ATS_GW_TOOLS_MAX];
	size_t n, told;
	bool due;			/* it is whole, and to be sent */
};
struct ended {
	uint64_t call;
	uint64_t code;
};
struct vault_link {
	struct gateway *g;
	int fd;
	struct event *readable, *writable;
	bool stopped;
	/* what the vault is owed */
	bool refused_due;
	bool ready_due;
	struct ats_err ready;
	struct tools lists[2];		/* one that is being sent is sent whole, then the next */
	struct tools *now, *next;
	struct ats_buf ended;		/* of struct ended */
	struct ats_ipc_msg m;
};

/* ---- the first message -------------------------------------------------------------------- */
/* The whole of a pipe that the vault has written and closed. */
static int
read_pipe(int fd, char buf[ATS_SECRET_MAX + 1], size_t *ret_n, struct ats_err *err)
{
	size_t n = 0;
	ssize_t got;

	(void)!ats_fd_nonblock(fd, false);
	while (n <= ATS_SECRET_MAX &&
	    (got = ats_fd_read(fd, buf + n, ATS_SECRET_MAX + 1 - n)) != 0) {
		if (got < 0)
			return ats_err_sys(err, "credential");
		n += (size_t)got;
	}
	if (n == 0 || n > ATS_SECRET_MAX || memchr(buf, '\0', n) != NULL)
		return ats_err_set(err, ATS_E_INVAL,
		    "the credential is empty, longer than %u bytes, or holds a NUL",
		    ATS_SECRET_MAX);
	*ret_n = n;
	return 0;
}

/* The first one, or another one. */
static int
take_credential(struct gateway *g, int fd, struct ats_err *err)
{
	char buf[ATS_SECRET_MAX + 1];
	struct ats_secret *s = NULL;
	size_t n = 0;
	int rc = read_pipe(fd, buf, &n, err);

	if (rc == 0 && g->mask != NULL)
		rc = mask_renew(g->mask, buf, n);
	else if (rc == 0)
		rc = (g->mask = mask_new(buf, n)) == NULL ? -ATS_E_NOMEM : 0;
	if (rc == 0)
		rc = ats_secret_new(buf, n, &s, err);
	ats_secret_wipe(buf, sizeof(buf));
	if (rc < 0)
		return err->code != 0 ? rc : ats_err_set(err, ATS_E_NOMEM, "credential");
	ats_secret_free(g->credential);
	g->credential = s;
	return 0;
}

static int
take_setup(struct gateway *g, struct ats_ipc_msg *m, struct ats_err *err)
{
	struct ats_slice object = { m->s[1], strlen(m->s[1]) };
	int rc = ats_json_scan(object.p, object.n, err);

	if (rc == 0)
		rc = ats_gw_config_read(&g->conf, m->s[0], object, err);
	if (rc == 0 && (g->conf.credential != NULL) != (m->nfds == 1))
		rc = ats_err_set(err, ATS_E_PROTO, "the credential is missing, or is not wanted");
	if (rc == 0 && m->nfds == 1)
		rc = take_credential(g, m->fds[0], err);
	return rc;
}

int
vault_link_setup(struct gateway *g, int fd, struct ats_err *err)
{
	struct ats_ipc_msg *m = calloc(1, sizeof(*m));
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int rc;

	if (m == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "setup");
	do {
		(void)poll(&p, 1, -1);
		rc = ats_ipc_recv(fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT, m);
	} while (rc == -ATS_E_AGAIN);
	if (rc == 1 && m->type == ATS_MSG_GW_SETUP)
		rc = take_setup(g, m, err);
	else
		rc = ats_err_set(err, rc == 0 ? ATS_E_EOF : ATS_E_PROTO,
		    "the vault's first message is not GW_SETUP");
	ats_ipc_done(m);
	free(m);
	return rc;
}

/* ---- what the vault is owed ---------------------------------------------------------------- */
static void
stop(struct vault_link *v, const char *why)
{
	ats_log(ATS_LOG_INFO, "ends", "why=\"%s\"", why);
	v->stopped = true;
	/* Not loopbreak, which the beginning of the loop forgets. */
	(void)event_base_loopexit(v->g->base, NULL);
}

static int
send_ended(struct vault_link *v)
{
	struct ended e;
	int rc = 0;

	while (rc == 0 && v->ended.len > 0) {
		memcpy(&e, v->ended.data, sizeof(e));
		rc = ats_brain_send(v->fd, ATS_MSG_GW_ENDED, 0, NULL, 0, e.call, e.code);
		if (rc == 0)
			ats_buf_consume(&v->ended, sizeof(e));
	}
	return rc;
}

static void
tools_clear(struct tools *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].json);
	}
	l->n = l->told = 0;
	l->due = false;
}

static int
send_tools(struct vault_link *v)
{
	struct tools *l = v->now;
	int rc = 0;

	while (rc == 0 && l->told < l->n) {
		const struct tool *t = &l->v[l->told];

		rc = ats_brain_send(v->fd, ATS_MSG_GW_TOOL, 0, NULL, 0, (uint64_t)t->flags, t->name,
		    t->json);
		if (rc == 0)
			l->told++;
	}
	if (rc == 0)
		rc = ats_brain_send(v->fd, ATS_MSG_GW_TOOLS, 0, NULL, 0, (uint64_t)l->n);
	if (rc < 0)
		return rc;
	tools_clear(l);
	v->now = v->next;
	v->next = l;
	return v->now->due ? send_tools(v) : 0;
}

static void
send_owed(struct vault_link *v)
{
	int rc = send_ended(v);

	if (rc == 0 && v->now->due)
		rc = send_tools(v);
	if (rc == 0 && v->refused_due) {
		rc = ats_brain_send(v->fd, ATS_MSG_GW_UNAUTHORIZED, 0, NULL, 0);
		v->refused_due = rc == -ATS_E_AGAIN;
	}
	if (rc == 0 && v->ready_due) {
		rc = ats_brain_send(v->fd, ATS_MSG_GW_READY, 0, NULL, 0, (uint64_t)v->ready.code,
		    v->ready.text);
		v->ready_due = rc == -ATS_E_AGAIN;
		if (rc == 0 && v->ready.code != 0)
			stop(v, "not ready");
	}
	if (rc == -ATS_E_AGAIN && event_add(v->writable, NULL) == 0)
		return;
	if (rc < 0)
		stop(v, "cannot write to the vault");
}

void
vault_link_ready(struct vault_link *v, int code, const char *why)
{
	v->ready_due = true;
	v->ready.text[0] = '\0';
	v->ready.code = 0;
	if (code != 0) {
		struct ats_buf text ATS_CLEANUP_BUF = { 0 };

		ats_buf_init(&text, 4096);
		(void)!mask_apply(v->g->mask, why, strnlen(why, 4000), &text);
		(void)ats_err_set(&v->ready, code, "%s", text.data);
		ats_log(ATS_LOG_ERROR, "cannot take orders", "why=\"%s\"", v->ready.text);
	}
	send_owed(v);
}

void
vault_link_refused(struct vault_link *v)
{
	v->refused_due = true;
	send_owed(v);
}

/* The list that is not being sent. */
static struct tools *
tools_open(struct vault_link *v)
{
	return v->now->due ? v->next : v->now;
}

void
vault_link_tools_begin(struct vault_link *v)
{
	tools_clear(tools_open(v));
}

int
vault_link_tools_add(struct vault_link *v, unsigned flags, const char *name, const char *json)
{
	struct tools *l = tools_open(v);
	struct tool *t = &l->v[l->n];

	if (l->n >= ATS_GW_TOOLS_MAX)
		return -ATS_E_FULL;
	*t = (struct tool){ flags, strdup(name), strdup(json) };
	l->n++;
	return t->name == NULL || t->json == NULL ? -ATS_E_NOMEM : 0;
}

void
vault_link_tools_end(struct vault_link *v)
{
	tools_open(v)->due = true;
	send_owed(v);
}

void
vault_link_ended(struct vault_link *v, uint64_t call, int code)
{
	struct ended e = { call, (uint64_t)code };

	if (ats_buf_add(&v->ended, &e, sizeof(e)) < 0)
		stop(v, "the vault does not read");
	else
		send_owed(v);
}

/* ---- what the vault says ------------------------------------------------------------------- */
static int
read_file(int fd, struct ats_buf *out)
{
	struct stat st;
	char *to;
	int rc;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > ATS_GATEWAY_ARGS_MAX)
		return -ATS_E_PROTO;
	rc = ats_buf_reserve(out, (size_t)st.st_size, &to);
	if (rc == 0 && pread(fd, to, (size_t)st.st_size, 0) != st.st_size)
		rc = -ATS_E_PROTO;
	if (rc == 0)
		ats_buf_commit(out, (size_t)st.st_size);
	return rc;
}

static int
on_order(struct vault_link *v, struct ats_ipc_msg *m)
{
	struct ats_buf args ATS_CLEANUP_BUF = { 0 };
	struct ats_slice inside = { m->s[3], strlen(m->s[3]) };
	size_t filed = inside.n == 0 && m->nfds > 0 ? 1 : 0;
	int rc = 0;

	ats_buf_init(&args, ATS_GATEWAY_ARGS_MAX);
	if (filed == 1) {
		rc = read_file(m->fds[0], &args);
		inside = (struct ats_slice){ args.data, args.len };
	}
	if (rc == 0)
		orders_start(v->g->orders, m->u[0], m->u[1], m->s[2], inside, m->fds + filed,
		    m->nfds - filed);
	return rc;
}

/* One that cannot be taken is as none: the one that there is stays. */
static int
on_credential(struct vault_link *v, struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };
	int rc = -ATS_E_NOENT;

	if (v->g->credential == NULL)
		return -ATS_E_PROTO;
	if (m->nfds == 1)
		rc = take_credential(v->g, m->fds[0], &err);
	if (m->nfds == 1 && rc < 0)
		ats_log(ATS_LOG_ERROR, "a credential cannot be taken", "why=\"%s\"", err.text);
	renewals_end(v->g, rc == 0);
	return 0;
}

static int
on_message(struct vault_link *v, struct ats_ipc_msg *m)
{
	switch (m->type) {
	case ATS_MSG_GW_LINK:
		if (m->nfds != 1)
			return -ATS_E_PROTO;
		orders_link(v->g->orders, ats_steal_fd(&m->fds[0]));
		return 0;
	case ATS_MSG_GW_ORDER:
		return on_order(v, m);
	case ATS_MSG_GW_CANCEL:
		orders_cancel(v->g->orders, m->u[0]);
		return 0;
	case ATS_MSG_GW_CREDENTIAL:
		return on_credential(v, m);
	case ATS_MSG_QUIT:
		stop(v, "the vault says so");
		return 0;
	default:
		return -ATS_E_PROTO;
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct vault_link *v = arg;
	int rc;

	(void)what;
	while ((rc = ats_ipc_recv(fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT, &v->m)) ==
	    1) {
		rc = on_message(v, &v->m);
		ats_ipc_done(&v->m);
		if (rc < 0 || v->stopped)
			break;
	}
	if (rc == -ATS_E_AGAIN || v->stopped)
		return;
	(void)event_del(v->readable);
	stop(v, rc == 0 ? "the vault's socket is closed" : "a message that is not for a gateway");
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	send_owed(arg);
}

struct vault_link *
vault_link_new(struct gateway *g, int fd)
{
	struct vault_link *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return NULL;
	v->g = g;
	v->fd = fd;
	v->now = &v->lists[0];
	v->next = &v->lists[1];
	ats_buf_init(&v->ended, ENDED_MAX);
	v->readable = event_new(g->base, fd, EV_READ | EV_PERSIST, on_readable, v);
	v->writable = event_new(g->base, fd, EV_WRITE, on_writable, v);
	if (v->readable == NULL || v->writable == NULL || ats_fd_nonblock(fd, true) < 0 ||
	    event_add(v->readable, NULL) < 0) {
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
	tools_clear(&v->lists[0]);
	tools_clear(&v->lists[1]);
	ats_buf_done(&v->ended);
	if (v->readable != NULL)
		event_free(v->readable);
	if (v->writable != NULL)
		event_free(v->writable);
	ats_fd_close(&v->fd);
	free(v);
}
