/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine as the vault sees it: started, heard, restarted. Runs in the vault. The engine
 * parses what sandboxes send and may be compromised: all it can obtain here is a sandbox of
 * a session that a user registered. A message that is not its own to send ends it. */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/vault/boxes.h"
#include "brain/vault/decide.h"
#include "brain/vault/gateway.h"
#include "brain/vault/hooks.h"
#include "brain/vault/links.h"
#include "brain/vault/scripts.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/fd.h"
#include "proto/brain.h"

static void
free_event(struct event **ev)
{
	if (*ev != NULL)
		event_free(*ev);
	*ev = NULL;
}

static void
disconnect(struct engine *e)
{
	free_event(&e->rd);
	free_event(&e->wr);
	free_event(&e->watch);
	ats_fd_close(&e->fd);
}

static void
forget_closed(struct engine *e)
{
	struct session *s;

	while ((s = e->closed) != NULL) {
		e->closed = s->next;
		session_free(s);
	}
}

static void
order_kill(struct vault *v)
{
	disconnect(&v->engine);
	if (v->outside.listener >= 0)
		outside_lost(v);
	else if (ats_brain_send(v->spawner, ATS_MSG_KILL, 0, NULL, 0, "engine") < 0)
		vault_die(v, "the spawner does not answer");
}

void
engine_kill(struct vault *v, const char *why)
{
	ats_log(ATS_LOG_ERROR, "engine is killed", "pid=%d why=\"%s\"", (int)v->engine.pid, why);
	order_kill(v);
}

/* One that is stopped, or turns in a circle, is not seen to end: its sandboxes and the journal
 * outlive it, and the next one goes on with both. */
static void
on_watch(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;
	struct engine *e = &v->engine;

	(void)fd;
	(void)what;
	if (!e->ready || v->stopping)
		return;
	if (e->missed >= VAULT_WATCH_MISSED) {
		engine_kill(v, "it does not answer");
		return;
	}
	e->missed++;
	/* A full socket is one that nobody reads. */
	if (ats_brain_send(e->fd, ATS_MSG_ARE_YOU_THERE, 0, NULL, 0, ++e->asked) < 0)
		errno = 0;
}

/* It ends, or it lives on without us: then it must not stay. EXITED follows either way;
 * in an orderly stop it has time to finish. */
static void
on_eof(struct vault *v)
{
	if (!v->engine.quit_told) {
		order_kill(v);
		return;
	}
	disconnect(&v->engine);
	if (v->outside.listener >= 0)
		outside_lost(v);
}

/* ---- from the engine ---------------------------------------------------------------- */

static void
on_ready(struct vault *v)
{
	v->engine.ready = true;
	ats_log(ATS_LOG_INFO, "engine is ready", "pid=%d", (int)v->engine.pid);
	if (!v->ever_ready)
		ats_notify_say(&v->notify, "READY=1\n");
	v->ever_ready = true;
	if (v->ready_fd >= 0) {
		(void)!ats_fd_write_all(v->ready_fd, "ready\n", 6);
		ats_fd_close(&v->ready_fd);
	}
	vault_check_idle(v);
}

static void
on_session_ok(struct vault *v, const struct ats_ipc_msg *m)
{
	struct session *s = reg_find(v->reg, m->s[0]);
	int code = m->u[1] > 9999 ? ATS_E_PROTO : (int)m->u[1];

	if (s == NULL || !s->told)	/* closed meanwhile */
		return;
	if (code == 0)
		s->confirmed = true;
	clients_session_answer(v, s->id, code, m->s[2]);
}

static void
on_message(struct vault *v, struct ats_ipc_msg *m)
{
	switch ((enum ats_brain_msg)m->type) {
	case ATS_MSG_ENGINE_READY:
		on_ready(v);
		break;
	case ATS_MSG_SESSION_OK:
		on_session_ok(v, m);
		break;
	case ATS_MSG_NEED_SANDBOX:
		boxes_need(v, m->s[0], NULL);
		break;
	case ATS_MSG_USE_URL:
		boxes_need(v, m->s[0], m->s[1]);
		break;
	case ATS_MSG_RUN_SCRIPT:
		scripts_run(v, m->s[0], m->u[1], m->u[2]);
		break;
	case ATS_MSG_KILL_SCRIPT:
		scripts_kill(v, m->u[0]);
		break;
	case ATS_MSG_RUN_HOOK:
		hooks_run(v, m);
		break;
	case ATS_MSG_KILL_HOOK:
		hooks_kill(v, m->u[0]);
		break;
	case ATS_MSG_KILL_SANDBOX:
		boxes_kill(v, m->s[0], m->u[1]);
		break;
	case ATS_MSG_KEY_PROVEN:
		links_proven(v, m->s[0], m->u[1]);
		break;
	case ATS_MSG_GATEWAY_ASK:
		decide_on_ask(v, m);
		break;
	case ATS_MSG_GATEWAY_STRICT:
		v->decide->strict = m->u[0];
		break;
	case ATS_MSG_GATEWAY_CANCEL:
		asks_cancel(v, m->u[0]);
		break;
	case ATS_MSG_GATEWAY_NOTED:
		(void)asks_forget(v, m->u[0]);
		break;
	case ATS_MSG_CALL_REFUSED:
		decide_on_refused(v, m);
		break;
	case ATS_MSG_GATEWAY_LIST:
		gateway_on_list(v, m->s[0]);
		break;
	case ATS_MSG_GATEWAY_BROKEN:
		gateway_on_broken(v, m->s[0], m->u[1]);
		break;
	case ATS_MSG_IDLE:
		v->engine.idle = m->u[0] != 0;
		vault_check_idle(v);
		break;
	default:			/* ats_ipc_recv lets no other pass */
		break;
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;
	int rc = -ATS_E_AGAIN;

	(void)what;
	for (unsigned i = 0; i < VAULT_MESSAGES_A_TURN && v->engine.fd == (int)fd; i++) {
		rc = ats_ipc_recv((int)fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_ENGINE,
		    &v->msg);
		if (rc != 1)
			break;
		v->engine.missed = 0;
		on_message(v, &v->msg);
		ats_ipc_done(&v->msg);
	}
	if (v->engine.fd < 0)
		return;
	if (rc == 0)
		on_eof(v);
	else if (rc < 0 && rc != -ATS_E_AGAIN)
		engine_kill(v, ats_err_text(rc));
	else
		engine_sync(v);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	engine_sync(arg);
}

/* ---- life --------------------------------------------------------------------------- */

/* A new engine knows nothing. */
static void
owe_everything(struct vault *v)
{
	struct session *s;

	for (size_t i = 0; (s = reg_each(v->reg, &i)) != NULL;)
		s->told = s->confirmed = false;
	forget_closed(&v->engine);
	boxes_engine_gone(v);
	links_engine_gone(v);
	scripts_engine_gone(v);
	hooks_engine_gone(v);
	gateway_engine_gone(v);
	asks_engine_gone(v);
	v->engine.settings_told = v->engine.all_told = v->engine.ready = false;
	v->engine.rules_told = v->engine.hooks_told = 0;
	v->engine.idle = true;		/* until it says otherwise */
}

int
engine_attach(struct vault *v, int fd, struct ats_err *err)
{
	uint64_t ms = v->conf->heartbeat_ms > VAULT_WATCH_MS ? v->conf->heartbeat_ms :
	    VAULT_WATCH_MS;
	struct timeval watch = ats_timeval_ms(ms);
	struct engine *e = &v->engine;

	e->fd = fd;
	e->rd = event_new(v->base, e->fd, EV_READ | EV_PERSIST, on_readable, v);
	e->wr = event_new(v->base, e->fd, EV_WRITE, on_writable, v);
	e->watch = event_new(v->base, -1, EV_PERSIST, on_watch, v);
	e->missed = 0;
	if (e->rd == NULL || e->wr == NULL || e->watch == NULL ||
	    event_add(e->rd, NULL) < 0 || event_add(e->watch, &watch) < 0) {
		disconnect(e);
		return ats_err_set(err, ATS_E_NOMEM, "the engine's link: out of memory");
	}
	e->ordered = true;
	e->starts_ms[e->nstarts++ % VAULT_STARTS] = ats_clock_ms();
	return 0;
}

int
engine_order(struct vault *v, struct ats_err *err)
{
	int pair[2], fds[3], rc;

	owe_everything(v);
	if (v->outside.listener >= 0)
		return outside_wait(v, err);
	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return ats_err_sys(err, "engine: socketpair");
	fds[0] = v->door;
	fds[1] = pair[1];
	fds[2] = STDERR_FILENO;
	rc = ats_fd_nonblock(pair[0], true);
	if (rc == 0)
		rc = ats_brain_send(v->spawner, ATS_MSG_START_ENGINE, 0, fds, 3);
	(void)close(pair[1]);
	if (rc == 0)
		return engine_attach(v, pair[0], err);
	(void)close(pair[0]);
	return ats_err_set(err, ATS_E_SYS, "the engine could not be ordered");
}

void
engine_on_started(struct vault *v, const struct ats_ipc_msg *m)
{
	char why[600];

	v->engine.pid = (pid_t)m->u[1];
	if (m->u[2] == 0) {
		engine_sync(v);
		return;
	}
	v->engine.ordered = false;
	(void)snprintf(why, sizeof(why), "the engine cannot be started: %s", m->s[3]);
	vault_die(v, why);
}

static void
on_restart(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;
	struct ats_err err = { 0 };

	(void)fd;
	(void)what;
	if (v->stopping)
		return;
	if (engine_order(v, &err) < 0)
		vault_die(v, err.text);
}

/* How many starts lie within the last VAULT_STARTS_MS. */
static unsigned
recent_starts(const struct engine *e)
{
	uint64_t now = ats_clock_ms();
	unsigned n = 0;

	for (unsigned i = 0; i < VAULT_STARTS && i < e->nstarts; i++)
		n += now - e->starts_ms[i] < VAULT_STARTS_MS;
	return n;
}

void
engine_on_exited(struct vault *v, uint64_t code, uint64_t sig)
{
	struct engine *e = &v->engine;
	struct timeval wait = { 0, 0 };
	unsigned recent = recent_starts(e);

	ats_log(v->stopping ? ATS_LOG_INFO : ATS_LOG_WARN, "engine ended",
	    "pid=%d code=%llu signal=%llu", (int)e->pid, (unsigned long long)code,
	    (unsigned long long)sig);
	disconnect(e);
	owe_everything(v);
	e->ordered = false;
	e->pid = 0;
	if (v->stopping)
		return;
	if (recent >= VAULT_STARTS) {
		vault_die(v, "the engine ended too often; see the log");
		return;
	}
	/* The first restart is at once; a loop of crashes slows down before it ends. */
	wait.tv_usec = (suseconds_t)((recent - 1) * (recent - 1) * 20000);
	if (e->restart == NULL)
		e->restart = evtimer_new(v->base, on_restart, v);
	if (e->restart == NULL || event_add(e->restart, &wait) < 0)
		vault_die(v, "out of memory");
}

void
engine_free(struct vault *v)
{
	disconnect(&v->engine);
	free_event(&v->engine.restart);
	forget_closed(&v->engine);
}
