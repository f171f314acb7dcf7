/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of orders. Runs in ats-gateway; ids and limits are the vault's, arguments anybody's. */
#include "brain/gateway/orders.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/results.h"
#include "brain/gateway/vault_link.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"
#include "proto/brain.h"

#define PROGRESS_US 200000

struct orders {
	struct gateway *g;
	struct ats_map *running;
	struct results *results;
};

struct orders *
orders_new(struct gateway *g)
{
	struct orders *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->g = g;
	o->running = ats_map_new(ORDERS_MAX);
	o->results = results_new(g->base);
	if (o->running == NULL || o->results == NULL) {
		orders_free(o);
		return NULL;
	}
	return o;
}

static void
order_free(struct order *o)
{
	if (o->deadline != NULL)
		event_free(o->deadline);
	free(o->name);
	free(o->whole);
	free(o->args);
	for (size_t i = 0; i < ATS_ARRAY_LEN(o->files); i++)
		ats_fd_close(&o->files[i]);
	free(o);
}

void
orders_free(struct orders *o)
{
	struct order *one;

	if (o == NULL)
		return;
	for (size_t i = 0; o->running != NULL && (one = ats_map_each(o->running, &i)) != NULL;) {
		o->g->kind->stop(one);
		order_free(one);
	}
	ats_map_free(o->running);
	results_free(o->results);
	free(o);
}

void
orders_link(struct orders *o, int fd)
{
	results_link(o->results, fd);
}

struct ats_slice
order_args(const struct order *o)
{
	return (struct ats_slice){ o->args, o->args_len };
}

/* ---- ends ---------------------------------------------------------------------------------- */
static void
answer(struct orders *all, uint64_t id, uint64_t started_us, struct result *r)
{
	uint64_t run_us = started_us == 0 ? 0 : ats_clock_us() - started_us;
	int rc = results_add(all->results, id, r, run_us);

	if (rc < 0) {
		result_fail(r, -rc, "the result is lost: %s", ats_err_text(rc));
		if (results_add(all->results, id, r, run_us) < 0)
			ats_log(ATS_LOG_ERROR, "a result is lost", "call=c-%" PRIu64, id);
	}
	ats_log(ATS_LOG_DEBUG, "call ended", "call=c-%" PRIu64 " code=%s", id,
	    r->is_error ? ats_err_name(r->code) : "ok");
	vault_link_ended(all->g->vault, id, r->is_error ? r->code : 0);
}

void
order_end(struct order *o, struct result *r)
{
	struct orders *all = o->g->orders;

	(void)ats_map_del(all->running, o->id);
	answer(all, o->id, o->started_us, r);
	result_done(r);
	order_free(o);
}

void
order_fail(struct order *o, int code, const char *fmt, ...)
{
	struct result r;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	result_init(&r, o->g->mask);
	result_fail(&r, code, "%s", text);
	order_end(o, &r);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct order *o = arg;

	(void)fd;
	(void)what;
	o->g->kind->stop(o);
	order_fail(o, ATS_E_TIMEOUT,
	    "%s did not answer within %" PRIu64
	    " ms and was given up; whether it took effect is not "
	    "known. Look before you try again.",
	    o->whole, o->limit_ms);
}

void
orders_cancel(struct orders *all, uint64_t id)
{
	struct order *o = ats_map_get(all->running, id);

	if (o == NULL)			/* it has ended: its result is on the way */
		return;
	o->g->kind->stop(o);
	order_fail(o, ATS_E_CANCELLED,
	    "%s was cancelled while it ran; whether it took effect is not known.", o->whole);
}

/* ---- beginning ----------------------------------------------------------------------------- */
static void
refuse(struct orders *all, uint64_t id, const struct ats_err *err)
{
	struct result r;

	result_init(&r, all->g->mask);
	r.not_started = true;
	result_fail(&r, err->code != 0 ? err->code : ATS_E_NOMEM, "%s",
	    err->text[0] != '\0' ? err->text : "the gateway is out of memory");
	answer(all, id, 0, &r);
	result_done(&r);
}

/* Of a kind with tools of its own the name is the configuration's, of MCP the upstream's. */
static int
find_tool(struct order *o, struct ats_err *err)
{
	const struct ats_gw_config *c = &o->g->conf;

	o->tool = ats_gw_find_tool(c, o->name);
	if (o->tool == NULL && c->kind != ATS_GW_MCP)
		return ats_err_set(err, ATS_E_UNKNOWN_TOOL,
		    "the gateway %s has no tool %s", c->name, o->name);
	if (o->limit_ms == 0)
		o->limit_ms = o->tool != NULL && o->tool->timeout_ms != 0 ? o->tool->timeout_ms :
		    c->timeout_ms;
	return 0;
}

static struct order *
make(struct orders *all, uint64_t id, const char *tool, struct ats_slice args)
{
	struct order *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	for (size_t i = 0; i < ATS_ARRAY_LEN(o->files); i++)
		o->files[i] = -1;
	o->g = all->g;
	o->id = id;
	o->name = strdup(tool);
	if (asprintf(&o->whole, "%s__%s", o->g->conf.name, tool) < 0)
		o->whole = NULL;
	o->args = malloc(args.n + 1);
	o->deadline = evtimer_new(all->g->base, on_deadline, o);
	if (o->name == NULL || o->whole == NULL || o->args == NULL || o->deadline == NULL) {
		order_free(o);
		return NULL;
	}
	memcpy(o->args, args.p, args.n);
	o->args[args.n] = '\0';
	o->args_len = args.n;
	return o;
}

static int
check_args(const struct order *o, struct ats_err *err)
{
	int rc = ats_json_scan(o->args, o->args_len, err);

	if (rc == 0 && ats_json_type(order_args(o)) != ATS_JSON_OBJECT)
		rc = ats_err_set(err, ATS_E_INVAL, "the arguments must be a JSON object");
	return rc;
}

/* The vault sends one for each that the arguments have. */
static int
take_files(struct order *o, int *files, size_t n, struct ats_err *err)
{
	struct ats_json_val v;
	size_t i, at = 0;

	for (i = 0; o->tool != NULL && i < o->tool->files.n; i++)
		if (ats_json_get(order_args(o), o->tool->files.v[i], &v) && at++ < n)
			o->files[i] = ats_steal_fd(&files[at - 1]);
	return at == n ? 0 : ats_err_set(err, ATS_E_PROTO, "it needs %zu files, and %zu came", at,
	    n);
}

static int
begin(struct orders *all, struct order *o, int *files, size_t nfiles, struct ats_err *err)
{
	struct timeval tv;
	int rc = check_args(o, err);

	if (rc == 0)
		rc = find_tool(o, err);
	if (rc == 0)
		rc = take_files(o, files, nfiles, err);
	if (rc < 0)
		return rc;
	tv = ats_timeval_ms(o->limit_ms);
	o->started_us = ats_clock_us();
	if (event_add(o->deadline, &tv) < 0 || ats_map_put(all->running, o->id, o) < 0)
		return ats_err_set(err, ATS_E_FULL, "this gateway runs %d calls already; try later",
		    ORDERS_MAX);
	rc = o->g->kind->start(o, err);
	if (rc < 0)
		(void)ats_map_del(all->running, o->id);
	return rc;
}

void
orders_start(struct orders *all, uint64_t id, uint64_t limit_ms, const char *tool,
    struct ats_slice args, int *files, size_t nfiles)
{
	struct ats_err err = { 0 };
	struct order *o;

	if (ats_map_get(all->running, id) != NULL) {
		ats_log(ATS_LOG_ERROR, "an order came twice", "call=c-%" PRIu64, id);
		return;
	}
	o = make(all, id, tool, args);
	if (o == NULL) {
		(void)ats_err_set(&err, ATS_E_NOMEM, "the gateway is out of memory");
		refuse(all, id, &err);
		return;
	}
	o->limit_ms = limit_ms;
	if (begin(all, o, files, nfiles, &err) < 0) {
		order_free(o);
		refuse(all, id, &err);
	}
}

void
order_progress(struct order *o, const char *message, bool has_done, uint64_t done)
{
	uint64_t now = ats_clock_us();

	if (o->told_us != 0 && now - o->told_us < PROGRESS_US)
		return;
	o->told_us = now;
	results_progress(o->g->orders->results, o->id, o->g->mask, message, has_done, done);
}
