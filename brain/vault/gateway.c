/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of ats-gateway processes: when one is started, fails, is tried again, and ends. Runs in
 * the vault. How often there is one is decided by calls and by how its upstream behaves. */
#include "brain/vault/gateway.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/vault/children.h"
#include "brain/vault/credentials.h"
#include "brain/vault/decide.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"

#define BACKOFF_MS 200			/* after the first failure, then twice that, ... */
#define BACKOFF_MOST_MS 10000
#define QUIT_MS 5000
#define STEADY_MS 10000			/* one that took orders so long has not failed */
#define FALLS_MOST 3			/* of one that took orders, each before that */

static const char *
name_of(const struct gateway *g)
{
	return g->src->conf.name;
}

struct gateway *
gateway_find(const struct vault *v, const char *name)
{
	for (size_t i = 0; i < v->ngateways; i++)
		if (strcmp(name_of(&v->gateways[i]), name) == 0)
			return &v->gateways[i];
	return NULL;
}

static void
set_timer(struct gateway *g, uint64_t ms)
{
	struct timeval t = ats_timeval_ms(ms);

	(void)event_add(g->timer, &t);
}

static void
unlink_it(struct gateway *g)
{
	ats_fd_close(&g->engine_end);
	ats_fd_close(&g->own_end);
	g->linked = false;
}

static void
disconnect(struct gateway *g)
{
	if (g->rd != NULL)
		event_free(g->rd);
	if (g->wr != NULL)
		event_free(g->wr);
	g->rd = g->wr = NULL;
	ats_fd_close(&g->fd);
	unlink_it(g);
	gateway_tools_done(&g->coming);
	g->refused = 0;
	g->refused_waits = g->credential_owed = g->renewed = false;
}

void
gateway_fail(struct gateway *g, int code, const char *text)
{
	(void)ats_err_set(&g->why, code, "gateway %s: %s", name_of(g), text);
	ats_log(ATS_LOG_WARN, "a gateway failed", "gateway=%s why=\"%s\"", name_of(g), text);
	g->why_took = g->took;
	g->failures++;
	g->failed_ms = ats_clock_ms();
	g->wanted = false;
	if (!g->known)
		gateway_tools_owe(g);
	asks_gateway_failed(g, &g->why);
}

static void
order_kill(struct gateway *g)
{
	char id[CHILD_ID_MAX];

	(void)snprintf(id, sizeof(id), CHILD_GATEWAY "%s", name_of(g));
	if (ats_brain_send(g->v->spawner, ATS_MSG_KILL, 0, NULL, 0, id) < 0 && !g->v->stopping)
		vault_die(g->v, "the spawner does not answer");
}

void
gateway_end(struct gateway *g)
{
	disconnect(g);
	g->took = g->life == GW_TAKES;
	g->life = GW_ENDING;
	(void)event_del(g->timer);
	order_kill(g);
	asks_gateway_lost(g);
}

void
gateway_kill(struct gateway *g, const char *why)
{
	if (g->fd < 0)
		return;
	gateway_end(g);
	gateway_fail(g, ATS_E_PROTO, why);
}

void
gateway_fell(struct gateway *g, const char *text)
{
	bool steady = g->life == GW_TAKES && ats_clock_ms() - g->ready_ms >= STEADY_MS;

	gateway_end(g);
	g->fell = true;
	if (steady)
		g->failures = 0;
	else
		gateway_fail(g, ATS_E_EOF, text);
}

bool
gateway_is_broken(const struct gateway *g)
{
	return g->why.code != 0 && !(g->why_took && g->failures < FALLS_MOST);
}

/* ---- when nobody needs it -------------------------------------------------------------- */

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct gateway *g = arg;

	(void)fd;
	(void)what;
	engine_sync(g->v);
}

static void
quit(struct gateway *g)
{
	if (ats_brain_send(g->fd, ATS_MSG_QUIT, 0, NULL, 0) < 0) {
		gateway_end(g);
		return;
	}
	g->life = GW_ENDING;
	set_timer(g, QUIT_MS);
}

void
gateway_check_idle(struct gateway *g)
{
	uint64_t s = g->v->conf->gateway_idle_s;

	if (g->life != GW_TAKES)
		return;
	if (g->ncalls > 0)
		(void)event_del(g->timer);
	else if (g->stale)
		quit(g);
	else if (s > 0)
		set_timer(g, s * 1000);
}

/* ---- its start and its end --------------------------------------------------------------- */

static int
order_process(struct gateway *g, struct ats_err *err)
{
	int pair[2], rc;

	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return ats_err_sys(err, "socketpair");
	rc = ats_fd_nonblock(pair[0], true);
	if (rc == 0)
		rc = ats_brain_send(g->v->spawner, ATS_MSG_START_GATEWAY, 0, &pair[1], 1,
		    name_of(g));
	(void)close(pair[1]);
	g->fd = pair[0];
	g->rd = event_new(g->v->base, g->fd, EV_READ | EV_PERSIST, gateway_on_readable, g);
	g->wr = event_new(g->v->base, g->fd, EV_WRITE, on_writable, g);
	if (rc < 0 || g->rd == NULL || g->wr == NULL) {
		disconnect(g);
		return ats_err_set(err, ATS_E_AGAIN, "its process could not be ordered");
	}
	return 0;
}

static void
begin(struct gateway *g)
{
	const char *cred = g->src->conf.credential;
	const struct ats_secret *s;
	struct ats_err err = { 0 };
	int rc = 0;

	g->life = GW_DOWN;
	g->stale = g->took = g->fell = false;
	if (cred != NULL)
		rc = credentials_get(g->v, cred, &s, &err);
	if (rc == -ATS_E_AGAIN) {
		g->life = GW_CREDENTIAL;
		return;
	}
	if (rc == 0)
		rc = order_process(g, &err);
	if (rc < 0)
		gateway_fail(g, err.code, err.text);
	else
		g->life = GW_ORDERED;
}

/* How long a start must wait yet, in ms. */
static uint64_t
must_wait(const struct gateway *g)
{
	uint64_t gone = ats_clock_ms() - g->failed_ms, wait = BACKOFF_MS;

	if (g->failures == 0)
		return 0;
	for (unsigned i = 1; i < g->failures && wait < BACKOFF_MOST_MS; i++)
		wait *= 2;
	wait = wait < BACKOFF_MOST_MS ? wait : BACKOFF_MOST_MS;
	return gone < wait ? wait - gone : 0;
}

void
gateway_need(struct gateway *g)
{
	uint64_t wait = must_wait(g);

	if (g->life != GW_DOWN || g->v->stopping)
		return;
	if (wait > 0)
		set_timer(g, wait);
	else
		begin(g);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct gateway *g = arg;

	(void)fd;
	(void)what;
	if (g->life == GW_DOWN && (g->wanted || asks_wait_for(g)))
		gateway_need(g);
	else if (g->life == GW_SETTING_UP)
		gateway_kill(g, "it did not get ready in time");
	else if (g->life == GW_TAKES && g->ncalls == 0)
		quit(g);
	else if (g->life == GW_ENDING)
		order_kill(g);
	engine_sync(g->v);
}

static void
on_started(struct gateway *g, const struct ats_ipc_msg *m)
{
	struct ats_err err = { 0 };

	if (g->life != GW_ORDERED)
		return;
	if (m->u[2] != 0) {
		disconnect(g);
		g->life = GW_DOWN;
		gateway_fail(g, (int)m->u[2], m->s[3]);
		return;
	}
	g->life = GW_SETTING_UP;
	g->pid = (pid_t)m->u[1];
	set_timer(g, GATEWAY_SETUP_MS);
	if (event_add(g->rd, NULL) < 0)
		(void)ats_err_set(&err, ATS_E_NOMEM, "out of memory");
	if (err.code == 0)
		(void)!gateway_set_up(g, &err);
	if (err.code == 0)
		return;
	gateway_end(g);
	gateway_fail(g, err.code, err.text);
}

static void
on_exited(struct gateway *g, const struct ats_ipc_msg *m)
{
	char how[sizeof(g->last_exit)], why[120];

	(void)snprintf(how, sizeof(how), "%s %llu", m->u[2] != 0 ? "signal" : "code",
	    (unsigned long long)(m->u[2] != 0 ? m->u[2] : m->u[1]));
	ats_log(ATS_LOG_INFO, "gateway ended", "gateway=%s pid=%d code=%llu signal=%llu",
	    name_of(g), (int)g->pid, (unsigned long long)m->u[1], (unsigned long long)m->u[2]);
	(void)event_del(g->timer);
	if (g->life != GW_ENDING) {
		(void)snprintf(why, sizeof(why), "its process ended with %s; see brain.log", how);
		gateway_fell(g, why);
	}
	if (g->fell)
		memcpy(g->last_exit, how, sizeof(how));
	disconnect(g);
	g->life = GW_DOWN;
	g->pid = 0;
	if (g->wanted || asks_wait_for(g))
		gateway_need(g);
}

bool
gateway_on_spawner(struct vault *v, struct ats_ipc_msg *m)
{
	size_t n = strlen(CHILD_GATEWAY);
	struct gateway *g;

	if (strncmp(m->s[0], CHILD_GATEWAY, n) != 0)
		return false;
	g = gateway_find(v, m->s[0] + n);
	if (g != NULL && m->type == ATS_MSG_STARTED)
		on_started(g, m);
	else if (g != NULL)
		on_exited(g, m);
	return true;
}

void
gateway_credential_known(struct vault *v, const char *name, bool changed)
{
	for (size_t i = 0; i < v->ngateways; i++) {
		struct gateway *g = &v->gateways[i];
		const char *own = g->src->conf.credential;

		if (own == NULL || strcmp(own, name) != 0)
			continue;
		if (g->life == GW_CREDENTIAL) {
			begin(g);
		} else if (g->refused_waits) {
			g->refused_waits = false;
			g->credential_owed = true;
			g->renewed = changed;
			gateway_want_room(g);
		} else if (changed && g->life >= GW_ORDERED && g->life <= GW_TAKES) {
			g->stale = true;
			gateway_check_idle(g);
		} else if (changed && g->why.code != 0 && !g->known) {
			gateway_on_list(v, g->src->conf.name);	/* its tools are owed since */
		}
	}
}

/* ---- of the engine ----------------------------------------------------------------------- */

void
gateway_on_list(struct vault *v, const char *name)
{
	struct gateway *g = gateway_find(v, name);

	if (g == NULL || g->known)
		return;
	g->wanted = true;
	gateway_need(g);
}

void
gateway_try_all(struct vault *v)
{
	for (size_t i = 0; i < v->ngateways; i++) {
		if (!gateway_is_broken(&v->gateways[i]))
			continue;
		v->gateways[i].wanted = true;
		gateway_need(&v->gateways[i]);
	}
	engine_sync(v);
}

void
gateway_on_broken(struct vault *v, const char *name, uint64_t generation)
{
	struct gateway *g = gateway_find(v, name);

	if (g != NULL && g->generation == generation && g->life == GW_TAKES)
		gateway_kill(g, "its link to the engine broke the rules");
}

void
gateway_engine_gone(struct vault *v)
{
	for (size_t i = 0; i < v->ngateways; i++) {
		unlink_it(&v->gateways[i]);
		gateway_tools_engine_gone(&v->gateways[i]);
	}
}

/* ---- all of them --------------------------------------------------------------------------- */

int
gateway_open_all(struct vault *v, struct ats_err *err)
{
	const struct sources *conf = &v->conf->sources;

	v->gateways = ats_calloc(conf->n + 1, sizeof(*v->gateways));
	if (v->gateways == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "gateways: out of memory");
	for (size_t i = 0; i < conf->n; i++) {
		struct gateway *g = &v->gateways[v->ngateways++];
		int rc;

		*g = (struct gateway){ .v = v, .src = &conf->v[i], .fd = -1, .engine_end = -1,
			.own_end = -1 };
		g->timer = evtimer_new(v->base, on_timer, g);
		if (g->timer == NULL)
			return ats_err_set(err, ATS_E_NOMEM, "gateways: out of memory");
		rc = gateway_tools_configured(g, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
gateway_free_all(struct vault *v)
{
	for (size_t i = 0; i < v->ngateways; i++) {
		struct gateway *g = &v->gateways[i];

		disconnect(g);
		if (g->timer != NULL)
			event_free(g->timer);
		gateway_tools_engine_gone(g);
		gateway_tools_done(&g->tools);
	}
	free(v->gateways);
	v->gateways = NULL;
	v->ngateways = 0;
}
