/* SPDX-License-Identifier: Apache-2.0
 *
 * Gateways of kind mcp: the tools of an upstream MCP server, which is a program that runs here or
 * a server elsewhere. Runs in ats-gateway. This file is the server's life: it is started, asked
 * for its tools, given calls, and started again when it ends. */
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/mask.h"
#include "brain/gateway/mcp.h"
#include "brain/gateway/orders.h"
#include "brain/gateway/vault_link.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"

#define BACKOFF_FIRST_MS 250
#define BACKOFF_MOST_MS 60000
#define WAIT_FOR_MS 5000		/* a call waits for the next start, if it comes so soon */
#define STEADY_US 60000000		/* after which an end is the first one again */
#define REQUESTS_MAX (ORDERS_MAX + 8)

static void start_server(struct mcp *m);

/* ---- ends ------------------------------------------------------------------------ */
void
mcp_fail_call(struct mcp_asked *a, bool began, int code, const char *why)
{
	struct order *o = a->o;
	struct result r;

	free(a);
	result_init(&r, o->g->mask);
	r.not_started = !began;
	result_fail(&r, code,
	    began ? "%s: %s. Whether the call took effect is not known; look before "
		    "you try again."
		  : "%s was not called: %s.",
	    o->whole, why);
	order_end(o, &r);
}

static void
fail_all(struct mcp *m, const char *why, bool waiting_too)
{
	struct mcp_asked *a;

	for (size_t i = 0; (a = ats_map_each(m->asked, &i)) != NULL;) {
		(void)ats_map_del(m->asked, a->id);
		if (a->what == MCP_CALL)
			mcp_fail_call(a, true, ATS_E_EOF, why);
		else
			free(a);
	}
	while (waiting_too && (a = m->waiting) != NULL) {
		m->waiting = a->next;
		mcp_fail_call(a, false, ATS_E_NOT_STARTED, why);
	}
}

void
mcp_set_timer(struct event *ev, uint64_t ms)
{
	struct timeval tv = ats_timeval_ms(ms);

	(void)event_add(ev, &tv);
}

void
mcp_on_down(struct mcp *m, const char *why)
{
	char log[600];

	if (m->state == MCP_DOWN)
		return;
	if (m->state == MCP_UP && ats_clock_us() - m->up_us > STEADY_US)
		m->backoff_ms = 0;
	m->state = MCP_DOWN;
	m->transport->end(m);
	mcp_tools_free(m->listing);
	m->listing = NULL;
	m->list_again = false;
	(void)event_del(m->relist);
	m->backoff_ms = m->backoff_ms == 0 ? BACKOFF_FIRST_MS :
	    m->backoff_ms * 2 > BACKOFF_MOST_MS ? BACKOFF_MOST_MS : m->backoff_ms * 2;
	ats_log(ATS_LOG_WARN, "the server is gone", "gateway=%s next_try_ms=%" PRIu64 " why=%s",
	    m->g->conf.name, m->backoff_ms,
	    mask_quote(m->g->mask, log, sizeof(log), why, strlen(why)));
	fail_all(m, why, !m->was_up || m->backoff_ms > WAIT_FOR_MS);
	/* One that has never worked is the vault's to try again: it tells who asks. */
	if (!m->was_up)
		vault_link_ready(m->g->vault, ATS_E_UPSTREAM, why);
	else
		mcp_set_timer(m->timer, m->backoff_ms);
}

void
mcp_on_lost(struct mcp *m, uint64_t id, const char *why)
{
	struct mcp_asked *a = ats_map_del(m->asked, id);

	if (a == NULL)
		return;
	if (a->what == MCP_CALL) {
		mcp_fail_call(a, true, ATS_E_UPSTREAM, why);
		return;
	}
	free(a);
	mcp_on_down(m, why);
}

/* ---- the server's life ----------------------------------------------------------- */
static void
on_relist(evutil_socket_t fd, short what, void *arg)
{
	struct mcp *m = arg;

	(void)fd;
	(void)what;
	if (m->state == MCP_UP && m->listing == NULL)
		mcp_next_list(m);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct mcp *m = arg;

	(void)fd;
	(void)what;
	if (m->state == MCP_STARTING)
		mcp_on_down(m, "it has not said within 30 s which tools it has");
	else
		start_server(m);
}

static void
start_server(struct mcp *m)
{
	struct ats_err err = { 0 };

	m->state = MCP_STARTING;
	m->version[0] = '\0';
	m->junk = 0;
	mcp_set_timer(m->timer, MCP_START_S * 1000);
	if (m->transport->begin(m, &err) < 0 || mcp_ask_initialize(m, &err) < 0)
		mcp_on_down(m, err.text);
}

static int
start(struct order *o, struct ats_err *err)
{
	struct mcp *m = o->g->own;
	struct mcp_asked *a, **at;
	int rc;

	if (m->state == MCP_DOWN && m->backoff_ms > WAIT_FOR_MS)
		return ats_err_set(err, ATS_E_NOT_STARTED,
		    "the MCP server behind it has ended "
		    "several times; it is started again within %" PRIu64 " s",
		    m->backoff_ms / 1000);
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	a->what = MCP_CALL;
	a->o = o;
	o->own = a;
	if (m->state == MCP_UP) {
		rc = mcp_ask_call(m, a, err);
		if (rc < 0)
			free(a);
		return rc;
	}
	for (at = &m->waiting; *at != NULL; at = &(*at)->next)
		;
	*at = a;
	return 0;
}

static void
tell_cancelled(struct mcp *m, uint64_t id)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;

	mcp_begin(&w, &out, 0, "notifications/cancelled");
	ats_json_w_object(&w, "params");
	ats_json_w_u64(&w, "requestId", id);
	ats_json_w_str(&w, "reason", "nobody waits for it any more");
	ats_json_w_end(&w);
	(void)!mcp_end(m, &w, 0, NULL);
}

static void
stop(struct order *o)
{
	struct mcp *m = o->g->own;
	struct mcp_asked *a = o->own, **at;

	for (at = &m->waiting; *at != NULL && *at != a; at = &(*at)->next)
		;
	if (*at != NULL) {
		*at = a->next;
		free(a);
		return;
	}
	(void)ats_map_del(m->asked, a->id);
	if (m->transport->forget != NULL)
		m->transport->forget(m, a->id);
	tell_cancelled(m, a->id);
	free(a);
}

static int
open_mcp(struct gateway *g, struct ats_err *err)
{
	struct mcp *m = calloc(1, sizeof(*m));

	g->own = m;
	if (m == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	m->g = g;
	m->transport = g->conf.has_url ? &mcp_http : &mcp_stdio;
	m->asked = ats_map_new(REQUESTS_MAX);
	m->timer = evtimer_new(g->base, on_timer, m);
	m->relist = evtimer_new(g->base, on_relist, m);
	if (m->asked == NULL || m->timer == NULL || m->relist == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	return m->transport->open(m, err);
}

static int
run(struct gateway *g, struct ats_err *err)
{
	(void)err;
	start_server(g->own);
	return 0;
}

static void
close_mcp(struct gateway *g)
{
	struct mcp *m = g->own;
	struct mcp_asked *a;

	m->transport->close(m);
	for (size_t i = 0; (a = ats_map_each(m->asked, &i)) != NULL;)
		free(a);
	ats_map_free(m->asked);
	mcp_tools_free(m->tools);
	mcp_tools_free(m->listing);
	event_free(m->timer);
	event_free(m->relist);
	free(m);
}

const struct kind kind_mcp = {
	.name = "mcp",
	.open = open_mcp,
	.run = run,
	.start = start,
	.stop = stop,
	.close = close_mcp,
};
