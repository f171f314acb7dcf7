/* SPDX-License-Identifier: Apache-2.0
 *
 * The vault's life: loop, signals, idle exit, orderly stop. Runs in the vault process.
 * Inputs: the spawner (trusted), the engine (may be compromised: see engine.c), clients of
 * the same uid (see clients.c). */
#include "brain/vault/vault.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/vault/audit.h"
#include "brain/vault/boxes.h"
#include "brain/vault/credentials.h"
#include "brain/vault/decide.h"
#include "brain/vault/gateway.h"
#include "brain/vault/hooks.h"
#include "brain/vault/http.h"
#include "brain/vault/links.h"
#include "brain/vault/scripts.h"
#include "common/acceptor.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "proto/brain.h"

#define STOP_PATIENCE_S 15		/* engine and spawner together */

static void
tell_starter(struct vault *v, const char *text)
{
	if (v->ready_fd < 0)
		return;
	(void)!ats_fd_write_all(v->ready_fd, text, strlen(text));
	(void)!ats_fd_write_all(v->ready_fd, "\n", 1);
	ats_fd_close(&v->ready_fd);
}

void
vault_die(struct vault *v, const char *why)
{
	ats_log(ATS_LOG_ERROR, "brain ends", "why=\"%s\"", why);
	tell_starter(v, why);
	v->exit_code = 1;
	(void)event_base_loopbreak(v->base);
}

static void
order_spawner_stop(struct vault *v)
{
	if (ats_brain_send(v->spawner, ATS_MSG_STOP, 0, NULL, 0) < 0)
		(void)event_base_loopbreak(v->base);
}

void
vault_stop(struct vault *v, const char *why)
{
	struct timeval patience = { STOP_PATIENCE_S, 0 };

	if (v->stopping)
		return;
	ats_log(ATS_LOG_INFO, "brain stops", "why=\"%s\"", why);
	v->stopping = true;
	ats_notify_say(&v->notify, "STOPPING=1\n");
	(void)event_add(v->stop_timer, &patience);
	(void)event_del(v->idle_timer);
	ats_acceptor_stop(v->acceptor);
	if (v->engine.ordered)
		engine_sync(v);		/* says QUIT; EXITED goes on */
	else
		order_spawner_stop(v);
}

static void
on_stop_timer(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;

	(void)fd;
	(void)what;
	ats_log(ATS_LOG_WARN, "the stop took too long", NULL);
	(void)event_base_loopbreak(v->base);	/* the spawner kills what is left */
}

static void
on_signal(evutil_socket_t sig, short what, void *arg)
{
	(void)what;
	vault_stop(arg, sig == SIGINT ? "SIGINT" : "SIGTERM");
}

static void
on_idle(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	vault_stop(arg, "idle");
}

/* What hangs in this loop is what the manager must hear of: the engine is looked after here. */
static void
on_alive(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;

	(void)fd;
	(void)what;
	ats_notify_say(&v->notify, "WATCHDOG=1\n");
}

void
vault_check_idle(struct vault *v)
{
	struct timeval t = { .tv_sec = (time_t)v->conf->idle_exit_s };

	if (v->stopping)
		return;
	/* Clients of HTTP do not start a brain, so there has to be one. */
	if (!v->engine.ready || !v->engine.idle || v->nclients > 0 || t.tv_sec == 0 ||
	    v->http != NULL)
		(void)event_del(v->idle_timer);
	else if (!event_pending(v->idle_timer, EV_TIMEOUT, NULL))
		(void)event_add(v->idle_timer, &t);
}

void
vault_engine_exited(struct vault *v, uint64_t code, uint64_t sig)
{
	engine_on_exited(v, code, sig);
	if (v->stopping)
		order_spawner_stop(v);
	else if (!v->ever_ready && v->ready_fd >= 0 && v->engine.nstarts > 1)
		vault_die(v, "the engine ends while it starts; see brain.log");
}

/* STARTED and EXITED of the engine are the engine's, what has another prefix is of that kind,
 * everything else a sandbox's. */
static void
on_spawner_message(struct vault *v, struct ats_ipc_msg *m)
{
	bool engine = strcmp(m->s[0], "engine") == 0;

	if (engine && m->type == ATS_MSG_STARTED)
		engine_on_started(v, m);
	else if (engine)
		vault_engine_exited(v, m->u[1], m->u[2]);
	else if (!scripts_on_spawner(v, m) && !hooks_on_spawner(v, m) &&
	    !gateway_on_spawner(v, m) && !credentials_on_spawner(v, m) &&
	    !http_on_spawner(v, m))
		boxes_on_spawner(v, m);
	engine_sync(v);
}

static void
on_spawner(evutil_socket_t fd, short what, void *arg)
{
	struct vault *v = arg;
	int rc = -ATS_E_AGAIN;

	(void)what;
	for (unsigned i = 0; i < VAULT_MESSAGES_A_TURN; i++) {
		rc = ats_ipc_recv((int)fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_SPAWNER,
		    &v->msg);
		if (rc != 1)
			break;
		on_spawner_message(v, &v->msg);
		ats_ipc_done(&v->msg);
	}
	if (rc == 1 || rc == -ATS_E_AGAIN)
		return;
	if (v->stopping)
		(void)event_base_loopbreak(v->base);
	else
		vault_die(v, "the spawner ended");
}

static int
start_alive(struct vault *v)
{
	uint64_t ms = v->notify.watchdog_ms;
	struct timeval each = ats_timeval_ms(ms);

	if (ms == 0)
		return 0;
	v->alive_timer = event_new(v->base, -1, EV_PERSIST, on_alive, v);
	return v->alive_timer == NULL ? -1 : event_add(v->alive_timer, &each);
}

static int
make_events(struct vault *v)
{
	v->base = event_base_new();
	if (v->base == NULL)
		return -1;
	v->spawner_rd = event_new(v->base, v->spawner, EV_READ | EV_PERSIST, on_spawner, v);
	v->idle_timer = evtimer_new(v->base, on_idle, v);
	v->stop_timer = evtimer_new(v->base, on_stop_timer, v);
	v->sig_int = evsignal_new(v->base, SIGINT, on_signal, v);
	v->sig_term = evsignal_new(v->base, SIGTERM, on_signal, v);
	if (v->spawner_rd == NULL || v->idle_timer == NULL || v->stop_timer == NULL ||
	    v->sig_int == NULL || v->sig_term == NULL)
		return -1;
	if (event_add(v->spawner_rd, NULL) < 0 || event_add(v->sig_int, NULL) < 0 ||
	    event_add(v->sig_term, NULL) < 0)
		return -1;
	return start_alive(v);
}

static int
make_dirs(struct vault *v, char vault_dir[ATS_PATH_MAX], struct ats_err *err)
{
	int n = snprintf(vault_dir, ATS_PATH_MAX, "%s/vault", v->places->state);
	int m = snprintf(v->engine_dir, ATS_PATH_MAX, "%s/engine", v->places->state);
	int rc;

	if (n < 0 || n >= ATS_PATH_MAX || m < 0 || m >= ATS_PATH_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "%.64s...: path too long",
		    v->places->state);
	rc = ats_places_make(vault_dir, err);
	return rc < 0 ? rc : ats_places_make(v->engine_dir, err);
}

int
vault_new(const struct config *conf, const struct ats_places *places,
    const struct ats_homes *homes, const struct vault_fds *fds, struct vault **ret,
    struct ats_err *err)
{
	struct vault *v = ats_calloc(1, sizeof(*v));
	char dir[ATS_PATH_MAX];
	int rc;

	if (v == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	v->conf = conf;
	v->places = places;
	v->homes = homes;
	v->uid = getuid();
	v->spawner = fds->spawner;
	v->spawner_pid = fds->spawner_pid;
	v->listener = fds->listener;
	v->door = fds->door;
	v->arrivals = -1;
	v->ready_fd = fds->ready;
	v->notify = fds->notify;
	v->outside.listener = v->engine.fd = -1;
	v->started_ms = ats_clock_ms();
	rc = make_dirs(v, dir, err);
	if (rc == 0)
		rc = reg_open(dir, (size_t)conf->max_sessions,
		    (int64_t)conf->journal_days * 86400000, &v->reg, err);
	if (rc == 0)
		rc = keys_open(dir, (size_t)conf->max_sessions, &v->keys, err);
	if (rc == 0)
		rc = links_open(v, err);
	if (rc == 0 && make_events(v) < 0)
		rc = ats_err_set(err, ATS_E_NOMEM, "event loop: out of memory");
	if (rc == 0)
		rc = outside_open(v, fds->engine, fds->engine_uid, err);
	if (rc == 0)
		rc = credentials_open(v, err);
	if (rc == 0 && (v->audit = audit_new(dir, conf->audit_max_bytes)) == NULL)
		rc = ats_err_sys(err, "%.200s", dir);
	if (rc == 0)
		rc = decide_open(v, err);
	if (rc == 0)
		rc = gateway_open_all(v, err);
	if (rc == 0)
		rc = clients_listen(v, err);
	if (rc == 0)
		rc = http_open(v, err);
	if (rc == 0)
		rc = engine_order(v, err);
	if (rc < 0) {
		tell_starter(v, err != NULL ? err->text : "cannot start");
		vault_free(v);
		return rc;
	}
	*ret = v;
	return 0;
}

int
vault_run(struct vault *v)
{
	(void)event_base_dispatch(v->base);
	return v->exit_code;
}

static void
free_event(struct event *ev)
{
	if (ev != NULL)
		event_free(ev);
}

void
vault_free(struct vault *v)
{
	if (v == NULL)
		return;
	clients_free(v);
	engine_free(v);
	outside_free(v);
	boxes_free(v);
	scripts_free(v);
	hooks_free(v);
	decide_free(v);
	gateway_free_all(v);
	credentials_free(v);
	http_free(v);
	audit_free(v->audit);
	reg_free(v->reg);
	keys_free(v->keys);
	free_event(v->spawner_rd);
	ats_acceptor_free(v->acceptor);
	free_event(v->idle_timer);
	free_event(v->stop_timer);
	free_event(v->sig_int);
	free_event(v->sig_term);
	free_event(v->alive_timer);
	if (v->base != NULL)
		event_base_free(v->base);
	ats_fd_close(&v->spawner);
	ats_fd_close(&v->listener);
	ats_fd_close(&v->door);
	ats_fd_close(&v->arrivals);
	free(v->ca_pem);
	ats_notify_close(&v->notify);
	ats_fd_close(&v->ready_fd);
	free(v);
}
