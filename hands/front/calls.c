/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of calls: how they begin, how long they are kept, and what ends or forgets one. Runs in
 * hands' front. Ids are the peer's. */
#include "hands/front/calls_private.h"

#include "common/clock.h"
#include "common/fault.h"
#include "hands/front/front.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "hands/front/upgrade.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_US 2000	/* results that the full link did not take are tried again after */

static void on_retry(evutil_socket_t fd, short what, void *arg);

struct calls *
calls_new(struct front *f)
{
	struct calls *t = ats_calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->f = f;
	t->map = ats_map_new(CALLS_MAX);
	if (t->map == NULL || evtimer_assign(&t->retry, f->base, on_retry, t) < 0) {
		ats_map_free(t->map);
		free(t);
		return NULL;
	}
	return t;
}

struct call *
calls_find(const struct calls *t, uint64_t id)
{
	return ats_map_get(t->map, id);
}

size_t
calls_active(const struct calls *t)
{
	return t->active;
}

/* ---- the life of a call ------------------------------------------------------------ */

void
call_free_part(struct call *c)
{
	if (c->ops != NULL && c->ops->free != NULL)
		c->ops->free(c);
	c->ops = NULL;
	c->part = NULL;
}

void
call_end_active(struct call *c)
{
	if (c->state != CALL_ACTIVE)
		return;
	(void)evtimer_del(&c->timer);
	c->f->calls->active--;
	c->state = CALL_KEPT;
	upgrade_poke(c->f);
}

void
call_free(struct call *c)
{
	struct calls *t = c->f->calls;

	call_end_active(c);
	call_free_part(c);
	(void)ats_map_del(t->map, c->id);
	t->kept_bytes -= c->json.len + c->payload.len;
	t->unsent -= c->unsent;
	ats_buf_done(&c->json);
	ats_buf_done(&c->payload);
	free(c);
	if (t->f->draining && t->active == 0)
		front_stop_if_drained(t->f);
}

void
calls_free(struct calls *t)
{
	struct call *c;

	if (t == NULL)
		return;
	(void)evtimer_del(&t->retry);
	for (size_t i = 0; (c = ats_map_each(t->map, &i)) != NULL;)
		call_free(c);
	ats_map_free(t->map);
	free(t);
}

static void
on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct call *c = arg;

	(void)fd;
	(void)what;
	if (c->ops != NULL && c->ops->cancel != NULL)
		c->ops->cancel(c, true);
}

void
call_deadline(struct call *c, uint64_t ms)
{
	struct timeval tv = ats_timeval_ms(ms);

	c->deadline_us = ms == 0 ? 0 : ats_clock_us() + ms * 1000;
	if (ms == 0)
		(void)evtimer_del(&c->timer);
	else
		(void)evtimer_add(&c->timer, &tv);
}

void
call_started(struct call *c)
{
	if (c->start_us == 0)
		c->start_us = ats_clock_us();
}

struct call *
call_alloc(struct calls *t, uint64_t id, const char *session, uint64_t fingerprint)
{
	struct call *c = ats_calloc(1, sizeof(*c));

	if (c != NULL && ats_map_put(t->map, id, c) < 0) {
		free(c);
		c = NULL;
	}
	if (c == NULL)
		return NULL;
	c->id = id;
	c->f = t->f;
	c->state = CALL_ACTIVE;
	c->fingerprint = fingerprint;
	c->arrival_us = ats_clock_us();
	(void)snprintf(c->session, sizeof(c->session), "%s", session);
	(void)evtimer_assign(&c->timer, t->f->base, on_deadline, c);
	ats_buf_init(&c->json, WORKER_JSON_MAX + 256);
	ats_buf_init(&c->payload, WORKER_PAYLOAD_MAX);
	t->active++;
	return c;
}

struct call *
call_new(struct calls *t, uint64_t id, const char *session, uint64_t fingerprint)
{
	struct call *c = NULL;

	if (t->active < CALLS_ACTIVE && t->kept_bytes < CALLS_KEPT_BYTES &&
	    worker_unsent(t->f) < CALLS_UNSENT_JOBS && !t->f->draining)
		c = call_alloc(t, id, session, fingerprint);
	if (c == NULL)
		link_refuse(t->f->link, id, t->f->draining ? ATS_E_BUSY : ATS_E_FULL,
		    t->f->draining ? "the sandbox is ending" : "too many calls at once");
	return c;
}

/* ---- results that are kept --------------------------------------------------------- */

void
calls_try_again(struct calls *t)
{
	struct timeval tv = { .tv_usec = RETRY_US };

	(void)evtimer_add(&t->retry, &tv);
}

void
call_send_kept(struct call *c)
{
	struct calls *t = c->f->calls;
	bool was = c->unsent;
	int rc = link_send(c->f->link, ATS_FRAME_RESULT, c->id, c->json.data, c->json.len,
	    c->payload.data, c->payload.len);

	c->unsent = rc == -ATS_E_FULL || rc == -ATS_E_NOMEM;
	t->unsent += c->unsent;
	t->unsent -= was;
	if (c->unsent)
		calls_try_again(t);
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct calls *t = arg;
	struct call *c;

	(void)fd;
	(void)what;
	for (size_t i = 0; t->unsent > 0 && (c = ats_map_each(t->map, &i)) != NULL;) {
		if (!c->unsent)
			continue;
		call_send_kept(c);
		if (c->unsent)
			return;
		if (!c->keep)
			call_free(c);
	}
}

/* ---- frames that end or forget one ------------------------------------------------- */

void
calls_on_cancel(struct calls *t, uint64_t id, bool timeout)
{
	struct call *c = calls_find(t, id);

	if (c != NULL && c->ops != NULL && c->ops->cancel != NULL)
		c->ops->cancel(c, timeout);
}

void
calls_on_ack(struct calls *t, uint64_t id)
{
	struct call *c = calls_find(t, id);

	if (c != NULL && c->state == CALL_KEPT)
		call_free(c);
}

void
calls_on_link_lost(struct calls *t)
{
	struct call *c;

	for (size_t i = 0; (c = ats_map_each(t->map, &i)) != NULL;) {
		if (!c->keep || (c->state == CALL_ACTIVE &&
				    (c->ops == NULL || !c->ops->survives))) {
			call_free(c);
			continue;
		}
		t->unsent -= c->unsent;
		c->unsent = false;
		if (c->ops != NULL && c->ops->unlinked != NULL)
			c->ops->unlinked(c);
	}
}

void
calls_resend(struct calls *t)
{
	struct call *c;

	for (size_t i = 0; (c = ats_map_each(t->map, &i)) != NULL;) {
		if (c->state == CALL_KEPT && c->ops == NULL && !c->unsent)
			call_send_kept(c);
	}
}

int
calls_list(const struct calls *t, struct ats_buf *out)
{
	const struct call *c;
	const char *comma = "";
	int rc = ats_buf_add_char(out, '[');

	for (size_t i = 0; rc == 0 && (c = ats_map_each(t->map, &i)) != NULL;) {
		rc = ats_buf_addf(out, "%s%" PRIu64, comma, c->id);
		comma = ",";
	}
	return rc < 0 ? rc : ats_buf_add_char(out, ']');
}
