/* SPDX-License-Identifier: Apache-2.0
 *
 * The link to brain. Runs in hands' front; nothing a peer sends may end more than its own
 * connection, and nothing a stranger sends may touch the attachment.
 * Invariant: at most one attachment; calls are taken only between READY and its end. */
#include "hands/front/link.h"

#include "common/acceptor.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/background.h"
#include "hands/front/calls.h"
#include "hands/front/exec.h"
#include "hands/front/front.h"
#include "hands/front/gateway.h"
#include "hands/front/link_private.h"
#include "hands/front/report.h"
#include "hands/front/upgrade.h"

#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define STRANGERS_MS 1000u	/* they are logged so often; the line counts them */

/* ---- sending ----------------------------------------------------------------------- */
int
link_send_msg(struct link *l, enum ats_frame_id id, uint64_t call, const void *msg)
{
	const struct ats_frame_row *row = &ats_frame_rows[id];
	struct ats_buf *out = &l->f->out;
	int rc;

	if (l->at == NULL)
		return -ATS_E_EOF;
	ats_buf_reset(out);
	rc = ats_msg_encode(&row->shape, msg, out, NULL);
	if (rc < 0)
		return rc;
	return ats_chan_send(
	    l->at->chan, row->type, row->kind, call, out->data, out->len, NULL, 0);
}

int
link_send(struct link *l, enum ats_frame_id id, uint64_t call, const char *json,
    size_t json_len, const char *payload, size_t payload_len)
{
	const struct ats_frame_row *row = &ats_frame_rows[id];

	if (!link_is_ready(l))
		return -ATS_E_EOF;
	return ats_chan_send(
	    l->at->chan, row->type, row->kind, call, json, json_len, payload, payload_len);
}

void
link_refuse(struct link *l, uint64_t call, int code, const char *text)
{
	struct ats_msg_RESULT r = {
		.outcome = "not_started",
		.is_error = true,
		.has_is_error = true,
		.code = ats_err_name(code),
	};
	struct ats_buf *out = &l->f->out;

	ats_buf_reset(out);
	if (ats_msg_encode(&ats_frame_rows[ATS_FRAME_RESULT].shape, &r, out, NULL) == 0)
		(void)link_send(
		    l, ATS_FRAME_RESULT, call, out->data, out->len, text, strlen(text));
}

void
link_goodbye(struct link *l, int code, const char *text)
{
	if (l == NULL)
		return;
	if (l->at != NULL)
		peer_goodbye(l->at, code, text);
	for (struct peer *p = l->waiting; p != NULL; p = p->next)
		peer_goodbye(p, code, p->proves ? NULL : text);
}

bool
link_has_way_in(const struct link *l)
{
	return l->acceptor != NULL || l->passed != NULL;
}

uint64_t
link_epoch(const struct link *l)
{
	return l->epoch;
}

void
link_set_epoch(struct link *l, uint64_t epoch)
{
	l->epoch = epoch;
}

size_t
link_half(const struct link *l, uint64_t *ret_call)
{
	struct ats_frame_head half;
	size_t n = l->at == NULL ? 0 : ats_chan_cut(l->at->chan, &half);

	*ret_call = n == 0 ? 0 : half.call;
	return n;
}

void
link_flush(struct link *l, unsigned ms)
{
	uint64_t now = ats_clock_us(), end = now + ms * UINT64_C(1000);
	struct pollfd p = { .events = POLLOUT };

	if (l->at == NULL)
		return;
	p.fd = ats_chan_fd(l->at->chan);
	for (; now < end && ats_chan_queued(l->at->chan) > 0; now = ats_clock_us()) {
		if (poll(&p, 1, (int)((end - now) / 1000) + 1) < 0 ||
		    (p.revents & (POLLERR | POLLHUP)) != 0)
			return;
		ats_chan_cork(l->at->chan);	/* uncorking writes */
		ats_chan_uncork(l->at->chan);
	}
}

bool
link_is_ready(const struct link *l)
{
	return l->at != NULL && l->at->state == ATS_STATE_READY;
}

struct ats_chan *
link_chan(struct link *l)
{
	return link_is_ready(l) ? l->at->chan : NULL;
}

/* ---- ready ------------------------------------------------------------------------- */
static int
send_ready(struct link *l)
{
	ATS_CLEANUP_BUF struct ats_buf running = { 0 }, shells = { 0 };
	struct front *f = l->f;
	struct ats_msg_READY m = { .confinement = front_report_json(f->report) };
	int rc;

	ats_buf_init(&running, 49152);
	ats_buf_init(&shells, 8192);
	if ((rc = calls_list(f->calls, &running)) < 0 ||
	    (rc = background_list(f->background, &shells)) < 0)
		return rc;
	m.version = ATS_VERSION;
	m.build = upgrade_build()[0] != '\0' ? upgrade_build() : NULL;
	m.init = f->opt.init_version;
	m.fronts = f->opt.number;
	m.has_fronts = true;
	m.running = (struct ats_slice){ running.data, running.len };
	m.shells = (struct ats_slice){ shells.data, shells.len };
	m.hooks = m.has_hooks = front_report_hooks(f->report);
	return link_send_msg(l, ATS_FRAME_READY, 0, &m);
}

static void
arm(struct event *timer, uint64_t ms)
{
	struct timeval tv = ats_timeval_ms(ms);

	(void)evtimer_add(timer, &tv);
}

static void
ready_if_both(struct link *l)
{
	int rc;

	if (l->at == NULL || !l->tested || l->at->state == ATS_STATE_READY)
		return;
	rc = send_ready(l);
	if (rc < 0) {
		ats_chan_close(l->at->chan, -rc, "ready could not be sent");
		return;
	}
	l->at->state = ATS_STATE_READY;
	l->ready_us = ats_clock_us();
	arm(l->heartbeat, l->f->opt.heartbeat_ms);
	calls_resend(l->f->calls);
	gateway_on_ready(l->f->gateway);
}

void
link_report_ready(struct link *l)
{
	l->tested = true;
	ready_if_both(l);
}

/* ---- attaching --------------------------------------------------------------------- */
/* The attachment is over: streams go before their channel. */
static struct peer *
detach(struct link *l)
{
	struct peer *p = l->at;
	struct ats_frame_head half;
	size_t n = ats_chan_cut(p->chan, &half);

	(void)evtimer_del(l->heartbeat);
	if (n > 0)
		exec_stdin_cut(l->f, half.call, n);
	calls_on_link_lost(l->f->calls);
	l->at = NULL;
	p->state = ATS_STATE_HELLO;
	return p;
}

void
link_wait(struct peer *p)
{
	struct peer **last = &p->l->waiting;

	while (*last != NULL)
		last = &(*last)->next;
	p->next = NULL;
	*last = p;
}

static void
remove_waiting(struct link *l, const struct peer *p)
{
	struct peer **at = &l->waiting;

	while (*at != NULL && *at != p)
		at = &(*at)->next;
	if (*at != NULL)
		*at = p->next;
}

void
link_admit(struct peer *p)
{
	struct link *l = p->l;
	struct peer *old;

	if (l->at != NULL && peer_is_gone(l->at))
		peer_free(detach(l));
	if (l->at != NULL && !p->takeover) {
		peer_goodbye(p, ATS_E_BUSY, "another brain is attached");
		return;
	}
	if (l->at != NULL) {
		ats_log(ATS_LOG_WARN, "another brain takes over", NULL);
		old = detach(l);
		peer_goodbye(old, ATS_E_TAKEN_OVER, ats_err_text(ATS_E_TAKEN_OVER));
		link_wait(old);
	}
	remove_waiting(l, p);
	(void)evtimer_del(p->timer);
	(void)evtimer_del(l->retention);
	l->at = p;
	l->epoch = p->epoch;
	ready_if_both(l);
}

/* Anybody can make lines by connecting to a port. */
static void
log_end(struct link *l, const struct peer *p, int code, const char *why)
{
	uint64_t now = ats_clock_ms();
	char quoted[256];

	l->strangers += p != l->at;
	if (p != l->at && l->strangers_ms != 0 && now - l->strangers_ms < STRANGERS_MS)
		return;
	(void)ats_log_quote(quoted, sizeof(quoted), why, strlen(why));
	if (p == l->at) {
		ats_log(code == ATS_E_EOF ? ATS_LOG_INFO : ATS_LOG_WARN, "link closed",
		    "code=%s why=%s", ats_err_name(code), quoted);
		return;
	}
	ats_log(code == ATS_E_EOF ? ATS_LOG_INFO : ATS_LOG_WARN, "a peer did not attach",
	    "code=%s why=%s ended=%llu", ats_err_name(code), quoted,
	    (unsigned long long)l->strangers);
	l->strangers_ms = now;
	l->strangers = 0;
}

void
link_ended(struct peer *p, int code, const char *why)
{
	struct link *l = p->l;
	bool attached = p == l->at;

	log_end(l, p, code, why);
	if (attached)
		(void)detach(l);
	else
		remove_waiting(l, p);
	l->known = l->known || attached;
	peer_free(p);
	if (attached)
		front_stop_if_drained(l->f);
	if (!link_has_way_in(l) && l->at == NULL && l->waiting == NULL)
		front_stop(l->f, "the link is closed and there is no other way in");
	else if (attached)
		arm(l->retention, l->f->opt.retention_ms);
	link_want(l);
}

/* ---- timers ------------------------------------------------------------------------ */
/* Who came in time and needs no proof has the time that a hello has; strangers must not keep
 * hands for themselves. */
static void
on_retention(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	for (const struct peer *p = l->waiting; p != NULL; p = p->next) {
		if (!p->proves && !p->said_goodbye) {
			arm(l->retention, LINK_HELLO_MS);
			return;
		}
	}
	front_stop(l->f, "no brain came back within the retention time");
}

/* Brain does the same: whichever side still hears nothing ends the link. */
static void
on_heartbeat(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	uint64_t now = ats_clock_us(), interval = l->f->opt.heartbeat_ms * 1000, heard;
	struct ats_msg_PING m = { .seq = ++l->ping_seq };

	(void)fd;
	(void)what;
	if (!link_is_ready(l))
		return;
	heard = ats_chan_last_rx_us(l->at->chan);
	if (heard < l->ready_us)
		heard = l->ready_us;
	if (now - heard >= 2 * interval) {
		peer_goodbye(l->at, ATS_E_SILENT, ats_err_text(ATS_E_SILENT));
		return;
	}
	if (now - heard >= interval / 2)
		(void)link_send_msg(l, ATS_FRAME_PING, 0, &m);
	arm(l->heartbeat, l->f->opt.heartbeat_ms);
}

struct link *
link_new(struct front *f, int first_fd, int listen_fd)
{
	struct link *l = ats_calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->f = f;
	l->listen_fd = -1;
	l->retention = evtimer_new(f->base, on_retention, l);
	l->heartbeat = evtimer_new(f->base, on_heartbeat, l);
	l->pause = evtimer_new(f->base, link_on_pause, l);
	if (l->retention == NULL || l->heartbeat == NULL || l->pause == NULL ||
	    link_listen(l, listen_fd) < 0 ||
	    (first_fd >= 0 && link_take(l, first_fd, false, NULL) < 0)) {
		link_free(l);
		return NULL;
	}
	arm(l->retention, f->opt.retention_ms);
	link_want(l);
	return l;
}

int
link_open(struct link *l, int listen_fd)
{
	int rc = link_listen(l, listen_fd);

	arm(l->retention, l->f->opt.retention_ms);
	if (rc == 0)
		link_want(l);
	return rc;
}

void
link_free(struct link *l)
{
	struct peer *p;

	if (l == NULL)
		return;
	if (l->at != NULL)
		peer_free(l->at);
	while ((p = l->waiting) != NULL) {
		l->waiting = p->next;
		peer_free(p);
	}
	ats_acceptor_free(l->acceptor);
	if (l->passed != NULL)
		event_free(l->passed);
	if (l->retention != NULL)
		event_free(l->retention);
	if (l->heartbeat != NULL)
		event_free(l->heartbeat);
	if (l->pause != NULL)
		event_free(l->pause);
	ats_fd_close(&l->listen_fd);
	free(l);
}
