/* SPDX-License-Identifier: Apache-2.0
 *
 * What is shown of gateways: to people, and their tools to sandboxes. Runs in the engine; names,
 * JSON and texts come from the vault, which has them from upstream servers. */
#include "brain/engine/calls.h"
#include "brain/engine/gateway_private.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "brain/engine/engine.h"
#include "brain/engine/link.h"
#include "brain/engine/sessions.h"
#include "common/json.h"
#include "common/log.h"

#define FULL_AGAIN_US 5000

/* ---- gateways ------------------------------------------------------------------------------ */
void
gateways_why_none(const struct gateways *g, const char *name, size_t n, char *out, size_t size)
{
	const struct gateway *gw;

	TAILQ_FOREACH(gw, &g->all, link)
		if (strlen(gw->name) == n && memcmp(gw->name, name, n) == 0)
			break;
	if (gw == NULL)
		(void)snprintf(out, size, "there is no gateway %.*s", (int)n, name);
	else if (gw->code != 0 && gw->code != ATS_E_AGAIN)
		(void)snprintf(out, size, "%s", gw->text);
	else if (gw->wanted)
		(void)snprintf(out, size, "the gateway %s is starting: call it again in a moment",
		    gw->name);
	else
		(void)snprintf(out, size, "the gateway %s has no tools", gw->name);
}

static const char *
state_of(const struct gateways *g, const struct gateway *gw)
{
	if (gw->code != 0 && gw->code != ATS_E_AGAIN)
		return "failed";
	if (gw->wanted)
		return "starting";
	return gateway_links_generation(g, gw->name) != 0 ? "running" : "idle";
}

void
gateways_write(struct ats_json_w *w, const struct gateways *g)
{
	const struct gateway_tool *t;
	const struct gateway *gw;

	ats_json_w_array(w, "gateways");
	TAILQ_FOREACH(gw, &g->all, link) {
		ats_json_w_object(w, NULL);
		ats_json_w_str(w, "name", gw->name);
		ats_json_w_str(w, "state", state_of(g, gw));
		if (gw->code != 0 && gw->code != ATS_E_AGAIN) {
			ats_json_w_str(w, "code", ats_err_name(gw->code));
			ats_json_w_str(w, "text", gw->text);
		}
		ats_json_w_array(w, "tools");
		TAILQ_FOREACH(t, &gw->tools, link)
			ats_json_w_str(w, NULL, t->name);
		ats_json_w_end(w);
		ats_json_w_end(w);
	}
	ats_json_w_end(w);
}

/* ---- calls that wait for a person ---------------------------------------------------------- */
const char *
gateway_state_name(const struct call *c)
{
	static const char *const names[] = { [ASKED_DUE] = "asked", [ASKED_TOLD] = "asked",
		[ASKED_WAITS] = "waiting", [ASKED_STARTED] = "running" };

	return c->asked == NULL ? "asked" : names[c->asked->state];
}

static bool
waits(const struct call *c)
{
	return c->asked != NULL && c->asked->state == ASKED_WAITS && !c->abandoned &&
	    c->session != NULL;
}

size_t
gateway_waiting(const struct engine *e, uint64_t uid)
{
	const struct call *c;
	size_t pos = 0, n = 0;

	while ((c = calls_each(e->calls, &pos)) != NULL)
		n += waits(c) && c->session->uid == uid;
	return n;
}

size_t
gateway_waiting_all(const struct engine *e)
{
	const struct call *c;
	size_t pos = 0, n = 0;

	while ((c = calls_each(e->calls, &pos)) != NULL)
		n += waits(c);
	return n;
}

/* ---- sandboxes ----------------------------------------------------------------------------- */
static int
write_frame(const struct gateways *g, struct ats_buf *out)
{
	const struct gateway_tool *t = NULL;
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_array(&w, NULL);
	while ((t = gateways_each(g, t)) != NULL)
		if ((t->flags & GATEWAY_HIDDEN) == 0)
			gateway_tool_write(&w, t, true);
	ats_json_w_end(&w);
	return w.rc;
}

void
gateways_tell_box(struct gateways *g, struct sandbox *box)
{
	struct ats_buf list ATS_CLEANUP_BUF = { 0 };
	struct timeval again = { 0, FULL_AGAIN_US };
	struct ats_msg_TOOLS m = { 0 };
	struct ats_err err = { 0 };
	int rc;

	if (g == NULL || !box->tools_due || box->state != SANDBOX_READY)
		return;
	/* Hands that an engine before this one talked to may have a list of its. */
	if (gateways_count(g) == 0 && !box->tools_told && !settings_elsewhere(&g->e->set)) {
		box->tools_due = false;
		return;
	}
	ats_buf_init(&list, 1u << 20);
	rc = write_frame(g, &list);
	if (rc < 0) {
		(void)ats_err_set(&err, -rc, "%s", ats_err_text(rc));
	} else {
		m.tools = (struct ats_slice){ list.data, list.len };
		rc = link_send(box, ATS_FRAME_TOOLS, 0, &m, &err);
	}
	if (rc == -ATS_E_FULL)
		(void)event_add(box->retry, &again);
	if (rc == -ATS_E_FULL || rc == -ATS_E_EOF)
		return;		/* an end of the link is followed by another READY */
	box->tools_due = false;
	box->tools_told = true;
	if (rc < 0)
		ats_log(ATS_LOG_ERROR, "a sandbox does not hear of the tools of gateways",
		    "sandbox=%s why=\"%s\"", box->id, err.text);
}
