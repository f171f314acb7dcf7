/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of the gateways' tools. Runs in the engine; names and JSON come from the vault,
 * which has them from upstream servers: any text, but of a size that a message holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/engine/door.h"
#include "brain/engine/engine.h"
#include "brain/engine/events.h"
#include "brain/engine/gateway_private.h"
#include "brain/engine/mcp.h"
#include "brain/engine/mcp_list.h"
#include "brain/engine/sandbox.h"
#include "brain/engine/vault_link.h"
#include "common/json.h"
#include "common/log.h"
#include "common/map.h"

#define TOOLS_IN_ALL 1024u

struct gateways *
gateways_new(struct engine *e)
{
	struct gateways *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->e = e;
	TAILQ_INIT(&g->all);
	TAILQ_INIT(&g->links);
	TAILQ_INIT(&g->owed);
	TAILQ_INIT(&g->reading);
	g->by_name = ats_map_new(TOOLS_IN_ALL);
	if (g->by_name == NULL) {
		free(g);
		return NULL;
	}
	return g;
}

static void
drop_list(struct gateway_tool_list *list)
{
	struct gateway_tool *t;

	while ((t = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, t, link);
		gateway_tool_let_go(t);
	}
}

void
gateways_free(struct gateways *g)
{
	struct gateway *gw;

	if (g == NULL)
		return;
	gateway_links_free(g);
	while ((gw = TAILQ_FIRST(&g->all)) != NULL) {
		TAILQ_REMOVE(&g->all, gw, link);
		drop_list(&gw->tools);
		drop_list(&gw->coming);
		free(gw);
	}
	ats_map_free(g->by_name);
	free(g);
}

static struct gateway *
gateway_of(struct gateways *g, const char *name)
{
	struct gateway *gw, *other;

	TAILQ_FOREACH(gw, &g->all, link)
		if (strcmp(gw->name, name) == 0)
			return gw;
	if (!gateway_is_gateway(name))
		return NULL;
	gw = calloc(1, sizeof(*gw));
	if (gw == NULL)
		return NULL;
	(void)snprintf(gw->name, sizeof(gw->name), "%s", name);
	TAILQ_INIT(&gw->tools);
	TAILQ_INIT(&gw->coming);
	/* By name: the list is the same whichever of them starts first. */
	TAILQ_FOREACH(other, &g->all, link)
		if (strcmp(other->name, name) > 0)
			break;
	if (other != NULL)
		TAILQ_INSERT_BEFORE(other, gw, link);
	else
		TAILQ_INSERT_TAIL(&g->all, gw, link);
	return gw;
}

struct gateway_tool *
gateways_find(const struct gateways *g, const char *name)
{
	return g == NULL ? NULL : ats_map_get_str(g->by_name, name);
}

size_t
gateways_count(const struct gateways *g)
{
	return g == NULL ? 0 : ats_map_count(g->by_name);
}

struct gateway_tool *
gateways_each(const struct gateways *g, const struct gateway_tool *after)
{
	struct gateway_tool *t = after == NULL ? NULL : TAILQ_NEXT(after, link);
	struct gateway *gw;
	bool past = after == NULL;

	if (t != NULL || g == NULL)
		return t;
	TAILQ_FOREACH(gw, &g->all, link) {
		if (past && (t = TAILQ_FIRST(&gw->tools)) != NULL)
			return t;
		past = past || strcmp(gw->name, after->gateway) == 0;
	}
	return NULL;
}

static void
left_out(const char *gateway, const char *tool, const char *why)
{
	char quoted[200];

	ats_log(ATS_LOG_WARN, "a gateway's tool is left out", "gateway=%s tool=%s why=\"%s\"",
	    gateway, ats_log_quote(quoted, sizeof(quoted), tool, strlen(tool)), why);
}

/* By name: an upstream that tells its tools in another order has changed nothing. False: one is
 * called so already. */
static bool
put_in(struct gateway_tool_list *list, struct gateway_tool *t)
{
	struct gateway_tool *u = TAILQ_LAST(list, gateway_tool_list);
	int order = -1;

	while (u != NULL && (order = strcmp(u->name, t->name)) > 0)
		u = TAILQ_PREV(u, gateway_tool_list, link);
	if (u != NULL && order == 0)
		return false;
	if (u != NULL)
		TAILQ_INSERT_AFTER(list, u, t, link);
	else
		TAILQ_INSERT_HEAD(list, t, link);
	return true;
}

void
gateways_on_tool(struct gateways *g, const char *gateway, const char *tool, const char *json,
    uint64_t flags)
{
	struct gateway *gw = gateway_of(g, gateway);
	struct ats_err err = { 0 };
	struct gateway_tool *t;

	if (gw == NULL) {
		left_out("?", tool, "its gateway's name is none");
		return;
	}
	t = gateway_tool_new(gw->name, tool, json, flags, &err);
	if (t != NULL && gw->ncoming - gw->nrefused >= GATEWAY_TOOLS_MAX)
		(void)ats_err_set(&err, ATS_E_FULL, "a gateway has at most %u",
		    GATEWAY_TOOLS_MAX);
	else if (t != NULL && !put_in(&gw->coming, t))
		(void)ats_err_set(&err, ATS_E_EXISTS, "another has the name %s", t->name);
	gw->ncoming++;
	if (err.code == 0)
		return;
	gw->nrefused++;
	left_out(gw->name, tool, err.text);
	gateway_tool_let_go(t);
}

static bool
same_lists(const struct gateway_tool_list *a, const struct gateway_tool_list *b)
{
	const struct gateway_tool *t = TAILQ_FIRST(a), *u = TAILQ_FIRST(b);

	while (t != NULL && u != NULL && t->flags == u->flags && strcmp(t->name, u->name) == 0 &&
	    strcmp(t->json, u->json) == 0) {
		t = TAILQ_NEXT(t, link);
		u = TAILQ_NEXT(u, link);
	}
	return t == NULL && u == NULL;
}

/* Out of the list of all, which is as it was without them. */
static void
take_out(struct gateways *g, struct gateway *gw)
{
	struct gateway_tool *t;

	TAILQ_FOREACH(t, &gw->tools, link) {
		(void)ats_map_del_str(g->by_name, t->name);
		g->json_sum -= t->json_len;
	}
	drop_list(&gw->tools);
	gw->ntools = 0;
}

static void
take_in(struct gateways *g, struct gateway *gw, struct gateway_tool *t)
{
	int rc = 0;

	if (t->json_len > GATEWAY_JSON_SUM - g->json_sum)
		rc = -ATS_E_TOOBIG;
	if (rc == 0)
		rc = ats_map_put_str(g->by_name, t->name, t);
	if (rc < 0) {
		left_out(gw->name, t->name, rc == -ATS_E_TOOBIG ?
		    "the descriptions of all tools of gateways are too long" :
		    rc == -ATS_E_EXISTS ? "another gateway's tool has that name" :
		    ats_err_text(rc));
		gateway_tool_let_go(t);
		return;
	}
	g->json_sum += t->json_len;
	TAILQ_INSERT_TAIL(&gw->tools, t, link);
	gw->ntools++;
}

/* Everybody who has seen the list. */
static void
tell_all(struct gateways *g)
{
	struct engine *e = g->e;
	struct client *c, *next;
	struct sandbox *box;
	size_t pos = 0;

	for (c = e->door == NULL ? NULL : door_each(e->door, NULL); c != NULL; c = next) {
		next = door_each(e->door, c);	/* c may be dropped */
		mcp_list_changed(c);
	}
	while (e->boxes != NULL && (box = sandboxes_each(e->boxes, &pos)) != NULL) {
		box->tools_due = true;
		gateways_tell_box(g, box);
	}
}

static void
tell_failed(struct engine *e, const struct gateway *gw)
{
	char text[EVENTS_TEXT];

	(void)snprintf(text, sizeof(text), "%s: %.150s", gw->name, gw->text);
	events_emit(e, EVENTS_FOR_ALL, "gateway.failed", NULL, NULL, 0, text);
}

void
gateways_on_tools(struct gateways *g, const char *gateway, uint64_t n, uint64_t code,
    const char *text)
{
	struct gateway *gw = gateway_of(g, gateway);
	struct gateway_tool *t;
	bool same;

	if (gw == NULL) {
		ats_log(ATS_LOG_ERROR, "a gateway whose name is none", NULL);
		return;
	}
	if (gw->ncoming != n)
		ats_log(ATS_LOG_ERROR, "not as many tools as were said",
		    "gateway=%s tools=%zu said=%llu", gw->name, gw->ncoming,
		    (unsigned long long)n);
	/* One that is only started when it is needed, or that failed for now: what it told
	 * before is what it will have. */
	gw->code = (int)code;
	(void)snprintf(gw->text, sizeof(gw->text), "%s", text);
	if (code != ATS_E_AGAIN)
		gw->wanted = gw->late = false;
	gw->ncoming = gw->nrefused = 0;
	if (code != 0 && code != ATS_E_AGAIN)
		tell_failed(g->e, gw);
	same = same_lists(&gw->tools, &gw->coming);
	if (same) {
		drop_list(&gw->coming);
		mcp_lists_check(g->e);
		return;
	}
	take_out(g, gw);
	while ((t = TAILQ_FIRST(&gw->coming)) != NULL) {
		TAILQ_REMOVE(&gw->coming, t, link);
		take_in(g, gw, t);
	}
	ats_log(ATS_LOG_INFO, "tools of a gateway", "gateway=%s tools=%zu", gw->name, gw->ntools);
	events_emit(g->e, EVENTS_FOR_ALL, "gateway.tools", NULL, NULL, 0, gw->name);
	tell_all(g);
	mcp_lists_check(g->e);
}

void
gateways_want(struct gateways *g)
{
	struct gateway *gw;

	if (g == NULL)
		return;
	TAILQ_FOREACH(gw, &g->all, link) {
		if (gw->ntools > 0 || gw->code == 0 || gw->wanted)
			continue;
		gw->wanted = vault_link_gateway_list(g->e, gw->name) == 0;
	}
}

bool
gateways_pending(const struct gateways *g)
{
	const struct gateway *gw;

	TAILQ_FOREACH(gw, &g->all, link)
		if (gw->wanted && !gw->late)
			return true;
	return false;
}

bool
gateways_all_told(const struct gateways *g)
{
	const struct gateway *gw;

	if (g == NULL)
		return true;
	TAILQ_FOREACH(gw, &g->all, link)
		if (gw->wanted)
			return false;
	return true;
}

void
gateways_too_late(struct gateways *g)
{
	struct gateway *gw;

	TAILQ_FOREACH(gw, &g->all, link)
		gw->late = gw->wanted;
}
