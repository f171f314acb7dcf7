/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of programs in the sandbox for tools of the host. Runs in front; arguments and ids are
 * those programs', results are brain's. What is kept for a lost link is bounded in all. */
#include "hands/front/gateway_private.h"

#include "common/acceptor.h"
#include "common/chan.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/delivery.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/upgrade.h"
#include "proto/specs.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>

#define JSON_MAX (1100u << 10)	/* of CALL_GATEWAY, as the table has it */

/* ---- the list -------------------------------------------------------------------------- */
static struct gateway_call *
find(const struct gateway *g, uint64_t id)
{
	struct gateway_call *c = g->first;

	while (c != NULL && c->id != id)
		c = c->next;
	return c;
}

static struct gateway_call *
find_its(const struct gateway_peer *p, uint64_t its)
{
	struct gateway_call *c = p->g->first;

	while (c != NULL && (c->peer != p || c->its != its))
		c = c->next;
	return c;
}

static void
drop(struct gateway *g, struct gateway_call *c)
{
	struct gateway_call **at = &g->first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (g->last == &c->next)
		g->last = at;
	c->peer->calls--;
	g->held -= c->n;
	free(c->input);
	free(c);
	upgrade_poke(g->f);
}

/* ---- answers of our own ---------------------------------------------------------------- */
static void
refuse(struct gateway_peer *p, uint64_t its, const char *outcome, int code, const char *text)
{
	const struct ats_msg_RESULT r = { .outcome = outcome, .is_error = true,
		.has_is_error = true, .code = ats_err_name(code) };
	struct ats_buf *out = &p->g->f->out;

	ats_buf_reset(out);
	if (ats_msg_encode(&ats_frame_rows[ATS_FRAME_RESULT].shape, &r, out, NULL) == 0)
		gateway_peer_send(p, ATS_FRAME_RESULT, its, out->data, out->len, text,
		    strlen(text));
}

/* ---- to brain -------------------------------------------------------------------------- */
static int
encode(const struct gateway *g, const struct gateway_call *c, struct ats_buf *out)
{
	uint64_t now = ats_clock_us();
	char key[65];
	struct ats_msg_CALL_GATEWAY m = {
		.name = c->name,
		.input = { c->input, c->n },
		.session = c->session[0] != '\0' ? c->session : NULL,
		.key = key,
		.progress = c->progress,
		.has_progress = c->progress,
		.has_deadline_ms = c->deadline_us != 0,
	};

	(void)snprintf(key, sizeof(key), "%.32s.%" PRIu64, g->f->boot, c->id);
	if (c->deadline_us != 0)
		m.deadline_ms = c->deadline_us > now + 1000 ? (c->deadline_us - now) / 1000 : 1;
	return ats_msg_encode(&ats_frame_rows[ATS_FRAME_CALL_GATEWAY].shape, &m, out, NULL);
}

/* Without a link it waits for the next. */
static void
ask(struct gateway *g, struct gateway_call *c)
{
	ATS_CLEANUP_BUF struct ats_buf json = { 0 };
	int rc;

	if (!link_is_ready(g->f->link))
		return;
	ats_buf_init(&json, JSON_MAX);
	rc = encode(g, c, &json);
	if (rc == 0)
		rc = link_send(g->f->link, ATS_FRAME_CALL_GATEWAY, c->id, json.data, json.len,
		    NULL, 0);
	if (rc == 0)
		c->sent = true;
	if (rc == 0 || rc == -ATS_E_EOF)
		return;
	/* One that was sent before may run: then it is not known how it ends. */
	refuse(c->peer, c->its, c->sent ? "unknown" : "not_started", -rc, c->sent ?
	    "The call could not be asked for again after the link was lost; whether it ran is "
	    "not known." : "The call could not be passed on: the link to the host is full. Try "
	    "again later.");
	drop(g, c);
}

static void
tell_cancel(const struct gateway *g, const struct gateway_call *c)
{
	static const char json[] = "{\"why\":\"cancelled\"}";

	if (c->sent)
		(void)link_send(g->f->link, ATS_FRAME_CANCEL, c->id, json, sizeof(json) - 1,
		    NULL, 0);
}

void
gateway_on_ready(struct gateway *g)
{
	struct gateway_call *next;

	for (struct gateway_call *c = g != NULL ? g->first : NULL; c != NULL; c = next) {
		next = c->next;
		ask(g, c);
	}
}

/* ---- from peers ------------------------------------------------------------------------ */
static struct gateway_call *
call_new(struct gateway_peer *p, uint64_t its, const struct ats_msg_CALL_GATEWAY *m)
{
	struct gateway_call *c = ats_calloc(1, sizeof(*c));

	if (c == NULL || (c->input = ats_malloc(m->input.n)) == NULL) {
		free(c);
		return NULL;
	}
	c->peer = p;
	c->its = its;
	c->progress = m->has_progress && m->progress;
	c->n = m->input.n;
	memcpy(c->input, m->input.p, m->input.n);
	(void)snprintf(c->name, sizeof(c->name), "%s", m->name);
	if (m->session != NULL)
		(void)snprintf(c->session, sizeof(c->session), "%s", m->session);
	if (m->has_deadline_ms)
		c->deadline_us = ats_clock_us() + m->deadline_ms * 1000 + 1;
	return c;
}

int
gateway_call(struct gateway_peer *p, uint64_t its, const struct ats_msg_CALL_GATEWAY *m,
    struct ats_err *err)
{
	struct gateway *g = p->g;
	struct gateway_call *c;

	if (its == 0)
		return ats_err_set(err, ATS_E_FIELD, "a call without an id");
	if (find_its(p, its) != NULL)
		return ats_err_set(err, ATS_E_ID_REUSED, "%s", ats_err_text(ATS_E_ID_REUSED));
	if (ats_json_type(m->input) != ATS_JSON_OBJECT) {
		refuse(p, its, "not_started", ATS_E_FIELD, "The arguments are not an object.");
		return 0;
	}
	if (p->calls >= GATEWAY_CALLS || m->input.n > GATEWAY_HELD - g->held) {
		refuse(p, its, "not_started", ATS_E_FULL, "Too many calls for tools of the host "
		    "are under way. Wait for one to end, then try again.");
		return 0;
	}
	c = call_new(p, its, m);
	if (c == NULL) {
		refuse(p, its, "not_started", ATS_E_NOMEM, "The sandbox is out of memory.");
		return 0;
	}
	c->id = ++g->ids;
	*g->last = c;
	g->last = &c->next;
	p->calls++;
	g->held += c->n;
	ask(g, c);
	return 0;
}

/* Brain ends a call that it was not asked for again after a while: so one that it cannot be told
 * of is done here. */
void
gateway_cancel(struct gateway_peer *p, uint64_t its)
{
	struct gateway *g = p->g;
	struct gateway_call *c = find_its(p, its);

	if (c == NULL)
		return;
	if (c->sent && link_is_ready(g->f->link)) {
		tell_cancel(g, c);
		return;
	}
	refuse(p, its, c->sent ? "unknown" : "not_started", ATS_E_CANCELLED, c->sent ?
	    "The call was cancelled while the link to the host was lost; whether it ran is not "
	    "known." : "The call was cancelled before it was started.");
	drop(g, c);
}

void
gateway_forget(struct gateway_peer *p)
{
	struct gateway_call *next;

	for (struct gateway_call *c = p->g->first; c != NULL; c = next) {
		next = c->next;
		if (c->peer != p)
			continue;
		tell_cancel(p->g, c);
		drop(p->g, c);
	}
}

/* ---- from brain ------------------------------------------------------------------------ */
/* Of calls whose peer is gone answers still come. */
static int
known(const struct gateway *g, uint64_t id, struct ats_err *err)
{
	if (g != NULL && id > 0 && id <= g->ids)
		return 0;
	return ats_err_set(err, ATS_E_STATE, "an answer to a call that hands did not make");
}

int
gateway_on_result(struct gateway *g, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_RESULT m;
	struct gateway_call *c;
	int rc = known(g, fr->head.call, err);

	if (rc == 0)
		rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_RESULT].shape, fr->json,
		    fr->head.json_len, 0, &m, &g->f->arena, err);
	if (rc < 0 || (c = find(g, fr->head.call)) == NULL)
		return rc;
	gateway_peer_send(c->peer, ATS_FRAME_RESULT, c->its, fr->json, fr->head.json_len,
	    fr->payload, fr->head.payload_len);
	drop(g, c);
	return 0;
}

int
gateway_on_progress(struct gateway *g, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_EVENT_PROGRESS m;
	struct gateway_call *c;
	int rc = known(g, fr->head.call, err);

	if (rc == 0)
		rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_EVENT_PROGRESS].shape, fr->json,
		    fr->head.json_len, 0, &m, &g->f->arena, err);
	if (rc < 0 || (c = find(g, fr->head.call)) == NULL || !c->progress)
		return rc;
	gateway_peer_send(c->peer, ATS_FRAME_EVENT_PROGRESS, c->its, fr->json,
	    fr->head.json_len, fr->payload, fr->head.payload_len);
	return 0;
}

static void
keep_tools(struct gateway *g, const struct ats_frame *fr)
{
	char *copy = ats_malloc(fr->head.json_len);

	free(g->tools);
	g->tools = copy;
	g->tools_len = copy != NULL ? fr->head.json_len : 0;
	if (copy == NULL) {
		delivery_refuse(g->f->delivery, "hands is out of memory");
		return;
	}
	memcpy(copy, fr->json, fr->head.json_len);
	for (struct gateway_peer *p = g->peers, *next; p != NULL; p = next) {
		next = p->next;
		gateway_peer_send(p, ATS_FRAME_TOOLS, 0, g->tools, g->tools_len, NULL, 0);
	}
}

/* Specs that cannot be read are brain's fault, and no reason to leave it. */
int
gateway_on_tools(struct gateway *g, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_specs specs;
	struct ats_msg_TOOLS m;
	struct ats_err why = { 0 };
	int rc;

	if (g == NULL)
		return 0;
	rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_TOOLS].shape, fr->json,
	    fr->head.json_len, 0, &m, &g->f->arena, err);
	if (rc < 0)
		return rc;
	if (ats_specs_read(m.tools.p, m.tools.n, &specs, &why) < 0) {
		(void)ats_err_wrap(&why, "the specs that came from the host");
		delivery_refuse(g->f->delivery, why.text);
		return 0;
	}
	delivery_put(g->f->delivery, &specs);
	ats_specs_done(&specs);
	keep_tools(g, fr);
	return 0;
}

bool
gateway_is_idle(const struct gateway *g)
{
	return g == NULL || g->first == NULL;
}

uint64_t
gateway_ids(const struct gateway *g)
{
	return g == NULL ? 0 : g->ids;
}

/* ---- life ------------------------------------------------------------------------------ */
struct gateway *
gateway_new(struct front *f, int listen_fd)
{
	struct gateway *g = ats_calloc(1, sizeof(*g));

	if (g == NULL) {
		ats_fd_close(&listen_fd);
		return NULL;
	}
	g->f = f;
	g->ids = f->gateway_ids;
	g->listen_fd = listen_fd;
	g->last = &g->first;
	if (gateway_listen(g) < 0) {
		gateway_free(g);
		return NULL;
	}
	return g;
}

void
gateway_free(struct gateway *g)
{
	struct gateway_peer *p;
	struct gateway_call *c;

	if (g == NULL)
		return;
	while ((c = g->first) != NULL) {
		refuse(c->peer, c->its, c->sent ? "unknown" : "not_started", ATS_E_EOF, c->sent ?
		    "The sandbox ends before the host has answered; whether the call ran is not "
		    "known." : "The sandbox ends; the call was not started.");
		drop(g, c);
	}
	while ((p = g->peers) != NULL) {
		g->peers = p->next;
		gateway_peer_free(p);
	}
	ats_acceptor_free(g->acceptor);
	ats_fd_close(&g->listen_fd);
	free(g->tools);
	free(g);
}
