/* SPDX-License-Identifier: Apache-2.0
 *
 * What comes of our requests to an MCP server: its capabilities, its list of tools, results. Runs
 * in ats-gateway; all of it is the server's, and what agents see of it is masked. */
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/gateway/gateway.h"
#include "brain/gateway/mask.h"
#include "brain/gateway/mcp.h"
#include "brain/gateway/mcp_content.h"
#include "brain/gateway/orders.h"
#include "brain/gateway/vault_link.h"
#include "common/clock.h"
#include "common/log.h"

#define SAID_MAX 700u			/* of an error's text */
#define RELIST_MS 500			/* changes of the list are looked at together */

/* ---- the list of tools ------------------------------------------------------------- */
void
mcp_next_list(struct mcp *m)
{
	struct ats_err err = { 0 };

	m->list_again = false;
	m->pages = 0;
	m->listing = mcp_tools_new();
	if (m->listing == NULL || mcp_ask_list(m, NULL, &err) < 0)
		mcp_on_down(m, err.text[0] != '\0' ? err.text : "out of memory");
}

static void
send_waiting(struct mcp *m)
{
	struct ats_err err = { 0 };
	struct mcp_asked *a;

	while (m->state == MCP_UP && (a = m->waiting) != NULL) {
		m->waiting = a->next;
		if (mcp_ask_call(m, a, &err) < 0)
			mcp_fail_call(a, false, err.code, err.text);
	}
}

/* Descriptions go to agents as results do. */
static int
tell_tool(struct mcp *m, const struct mcp_tool *t)
{
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };
	size_t n = strlen(t->json);
	int rc;

	ats_buf_init(&json, n + 1);
	rc = mask_apply(m->g->mask, t->json, n, &json);
	if (rc == 0)		/* in a number it would be none any more */
		rc = ats_json_scan(json.data, json.len, NULL);
	return rc < 0 ? rc : vault_link_tools_add(m->g->vault, t->flags, t->name, json.data);
}

static void
on_listed(struct mcp *m)
{
	int rc;

	mcp_tools_free(m->tools);
	m->tools = m->listing;
	m->listing = NULL;
	vault_link_tools_begin(m->g->vault);
	for (size_t i = 0; i < m->tools->n; i++)
		if ((rc = tell_tool(m, &m->tools->v[i])) < 0)
			ats_log(ATS_LOG_ERROR, "a tool is left out", "code=%s", ats_err_name(-rc));
	vault_link_tools_end(m->g->vault);
	if (m->state == MCP_STARTING) {
		(void)event_del(m->timer);
		m->state = MCP_UP;
		m->up_us = ats_clock_us();
		if (!m->was_up)
			vault_link_ready(m->g->vault, 0, "");
		m->was_up = true;
	}
	if (m->list_again)
		mcp_set_timer(m->relist, RELIST_MS);
	send_waiting(m);
}

static void
on_page(struct mcp *m, struct ats_slice result)
{
	struct ats_err err = { 0 };
	char *cursor = NULL;
	int rc;

	if (m->listing == NULL)
		return;
	rc = mcp_tools_page(m->listing, &m->g->conf, result, &cursor);
	if (rc == 0 && cursor != NULL && ++m->pages < MCP_PAGES_MAX &&
	    m->listing->n < ATS_GW_TOOLS_MAX)
		rc = mcp_ask_list(m, cursor, &err);
	else if (rc == 0)
		on_listed(m);
	free(cursor);
	if (rc < 0)
		mcp_on_down(m, err.text[0] != '\0' ? err.text : "its list of tools is none");
}

void
mcp_on_list_changed(struct mcp *m)
{
	if (m->listing != NULL)
		m->list_again = true;
	else if (m->state == MCP_UP && !event_pending(m->relist, EV_TIMEOUT, NULL))
		mcp_set_timer(m->relist, RELIST_MS);
}

/* ---- answers ----------------------------------------------------------------------- */
static void
on_initialized(struct mcp *m, struct ats_slice result)
{
	static const char *const known[] = { MCP_NEWEST, "2025-06-18", "2025-03-26", "2024-11-05" };
	struct ats_json_val caps, tools;

	for (size_t i = 0; i < ATS_ARRAY_LEN(known); i++)
		if (ats_json_member_is(result, "protocolVersion", known[i]))
			(void)snprintf(m->version, sizeof(m->version), "%s", known[i]);
	if (m->version[0] == '\0') {
		mcp_on_down(m, "it speaks no version of MCP that is known here (2024-11-05 to "
		    MCP_NEWEST ")");
		return;
	}
	mcp_notify(m, "notifications/initialized");
	if (m->state == MCP_DOWN)
		return;
	if (m->transport->ready != NULL)
		m->transport->ready(m);
	if (ats_json_get(result, "capabilities", &caps) && caps.type == ATS_JSON_OBJECT &&
	    ats_json_get(caps.raw, "tools", &tools)) {
		mcp_next_list(m);
		return;
	}
	m->listing = mcp_tools_new();
	if (m->listing == NULL)
		mcp_on_down(m, "out of memory");
	else
		on_listed(m);
}

static void
on_called(struct mcp *m, struct mcp_asked *a, struct ats_slice result)
{
	struct order *o = a->o;
	struct result r;
	int rc;

	free(a);
	result_init(&r, m->g->mask);
	rc = mcp_content(&r, m->g->conf.name, result);
	if (rc < 0)
		result_fail(&r, rc == -ATS_E_FIELD ? ATS_E_UPSTREAM : -rc, rc == -ATS_E_FIELD ?
		    "%s answered, but not with a result as MCP has it" :
		    "%s answered, but there is no memory for it", o->whole);
	order_end(o, &r);
}

static void
on_error(struct mcp *m, struct mcp_asked *a, struct ats_slice error)
{
	struct ats_json_val code, text;
	char *whole = ats_json_get(error, "message", &text) ? ats_json_dup_str(&text) : NULL;
	struct ats_buf said ATS_CLEANUP_BUF = { 0 };
	int64_t n = 0;
	enum mcp_what what = a->what;
	struct order *o = a->o;

	if (ats_json_get(error, "code", &code) && ats_json_to_i64(&code, &n) < 0)
		n = 0;
	free(a);
	ats_buf_init(&said, SAID_MAX);
	if (whole != NULL && mask_cut(m->g->mask, whole, strlen(whole), SAID_MAX, &said) < 0)
		ats_buf_reset(&said);
	free(whole);
	if (what == MCP_CALL)
		order_fail(o, ATS_E_UPSTREAM,
		    "%s: the server answered with error %" PRId64 ": %s", o->whole, n,
		    said.len > 0 ? said.data : "");
	else
		mcp_on_down(m, said.len > 0 ? said.data : "it answers with an error");
}

void
mcp_on_answer(struct mcp *m, struct mcp_asked *a, struct ats_slice message)
{
	struct ats_json_val v;
	enum mcp_what what = a->what;

	if (ats_json_get(message, "error", &v) && v.type == ATS_JSON_OBJECT) {
		on_error(m, a, v.raw);
		return;
	}
	if (!ats_json_get(message, "result", &v))
		v.raw = (struct ats_slice){ "{}", 2 };
	if (what == MCP_CALL) {
		on_called(m, a, v.raw);
		return;
	}
	free(a);
	if (what == MCP_INITIALIZE)
		on_initialized(m, v.raw);
	else
		on_page(m, v.raw);
}
