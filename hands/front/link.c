/* SPDX-License-Identifier: Apache-2.0
 *
 * The link to brain. Runs in hands' front; the peer is authenticated by who could get the
 * descriptor, and still nothing it sends may end more than its own connection.
 * Invariant: at most one attachment; calls are taken only between READY and its end. */
#include "hands/front/link.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/log.h"
#include "hands/front/background.h"
#include "hands/front/calls.h"
#include "hands/front/exec.h"
#include "hands/front/front.h"
#include "hands/front/link_private.h"
#include "hands/front/report.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO_MS 10000u

static int on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err);
static int on_frame(void *ctx, const struct ats_frame *fr, struct ats_err *err);
static int on_sink(void *ctx, const struct ats_frame *fr);
static void on_closed(void *ctx, int code, const char *why);

static const struct ats_chan_ops chan_ops = {
	.check = on_check,
	.frame = on_frame,
	.sink = on_sink,
	.closed = on_closed,
};

/* ---- sending ----------------------------------------------------------------------- */
int
link_send_msg(struct link *l, enum ats_frame_id id, uint64_t call, const void *msg)
{
	const struct ats_frame_row *row = &ats_frame_rows[id];
	struct ats_buf *out = &l->f->out;
	int rc;

	if (l->chan == NULL)
		return -ATS_E_EOF;
	ats_buf_reset(out);
	rc = ats_msg_encode(&row->shape, msg, out, NULL);
	if (rc < 0)
		return rc;
	return ats_chan_send(
	    l->chan, row->type, row->kind, call, out->data, out->len, NULL, 0);
}

int
link_send(struct link *l, enum ats_frame_id id, uint64_t call, const char *json,
    size_t json_len, const char *payload, size_t payload_len)
{
	const struct ats_frame_row *row = &ats_frame_rows[id];

	if (!link_is_ready(l))
		return -ATS_E_EOF;
	return ats_chan_send(
	    l->chan, row->type, row->kind, call, json, json_len, payload, payload_len);
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

static void
say_goodbye(struct link *l, int code, const char *text)
{
	struct ats_msg_GOODBYE m = {
		.code = code == 0 ? "closed" : ats_err_name(code),
		.text = text,
	};

	if (!l->said_goodbye)
		(void)link_send_msg(l, ATS_FRAME_GOODBYE, 0, &m);
	l->said_goodbye = true;
}

/* The peer broke a rule: it hears which, and the channel ends. Always 0: the channel must
 * not fail before the goodbye has left. */
static int
reject(struct link *l, int rc, const struct ats_err *err)
{
	const char *text = err->text[0] != '\0' ? err->text : ats_err_text(rc);

	say_goodbye(l, -rc, text);
	ats_chan_close(l->chan, -rc, text);
	return 0;
}

void
link_goodbye(struct link *l, int code, const char *text)
{
	if (l == NULL || l->chan == NULL)
		return;
	say_goodbye(l, code, text);
	ats_chan_close(l->chan, code == 0 ? ATS_E_EOF : code, text);
}

bool
link_is_ready(const struct link *l)
{
	return l->chan != NULL && l->state == ATS_STATE_READY;
}

struct ats_chan *
link_chan(struct link *l)
{
	return link_is_ready(l) ? l->chan : NULL;
}

/* ---- handshake --------------------------------------------------------------------- */
static int
send_hello(struct link *l)
{
	struct front *f = l->f;
	struct ats_msg_HELLO m = {
		.version_min = ATS_PROTO_VERSION,
		.version_max = ATS_PROTO_VERSION,
		.digest = ats_proto_digest(),
		.role = "hands",
		.boot = f->boot,
		.epoch = l->epoch,
		.confinement = { f->opt.confinement, strlen(f->opt.confinement) },
		.workspace = f->opt.workspace,
	};

	/* Such a name cannot be said in JSON: brain has no means to ask for it either. */
	if (!ats_utf8_valid(m.workspace, strlen(m.workspace)))
		m.workspace = NULL;
	return link_send_msg(l, ATS_FRAME_HELLO, 0, &m);
}

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
	m.running = (struct ats_slice){ running.data, running.len };
	m.shells = (struct ats_slice){ shells.data, shells.len };
	return link_send_msg(l, ATS_FRAME_READY, 0, &m);
}

void
link_ready_if_both(struct link *l)
{
	int rc;

	if (l->chan == NULL || !l->hello || !l->tested || l->state == ATS_STATE_READY)
		return;
	rc = send_ready(l);
	if (rc < 0) {
		ats_chan_close(l->chan, -rc, "ready could not be sent");
		return;
	}
	l->state = ATS_STATE_READY;
	calls_resend(l->f->calls);
}

void
link_report_ready(struct link *l)
{
	l->tested = true;
	link_ready_if_both(l);
}

/* ---- the channel ------------------------------------------------------------------- */
static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	struct link *l = ctx;
	int rc = ats_frame_gate(h, ATS_FROM_BRAIN, l->state, err);

	return rc < 0 ? reject(l, rc, err) : 0;
}

static int
on_frame(void *ctx, const struct ats_frame *fr, struct ats_err *err)
{
	struct link *l = ctx;
	int rc = link_frame(l, fr, err);

	return rc < 0 && l->chan != NULL ? reject(l, rc, err) : 0;
}

static int
on_sink(void *ctx, const struct ats_frame *fr)
{
	struct link *l = ctx;

	return exec_stdin_sink(l->f, fr);
}

/* While nobody is attached: how long front waits for somebody. While somebody is who has
 * not said hello: how long that may take, since nobody else can attach meanwhile. */
static void
arm_retention(struct link *l)
{
	uint64_t ms = l->chan != NULL ? HELLO_MS : l->f->opt.retention_ms;
	struct timeval tv = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000),
	};

	(void)evtimer_add(l->retention, &tv);
}

/* A frame that could not even be cut out of the stream ends the channel inside chan: its
 * goodbye goes out here, unless half of something else is in the way. */
static void
last_word(struct link *l, int code, const char *why)
{
	struct ats_msg_GOODBYE m = { .code = ats_err_name(code), .text = why };
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_GOODBYE];
	struct ats_frame_head h = { .type = row->type, .kind = row->kind };
	struct ats_buf *out = &l->f->out;
	char *head;

	if (l->said_goodbye || code == ATS_E_EOF || ats_chan_queued(l->chan) > 0)
		return;
	ats_buf_reset(out);
	if (ats_buf_reserve(out, ATS_FRAME_HEAD, &head) < 0)
		return;
	ats_buf_commit(out, ATS_FRAME_HEAD);
	if (ats_msg_encode(&row->shape, &m, out, NULL) < 0)
		return;
	h.len = (uint32_t)out->len;
	h.json_len = h.len - ATS_FRAME_HEAD;
	ats_frame_head_put(&h, (unsigned char *)out->data);
	(void)send(
	    ats_chan_fd(l->chan), out->data, out->len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The attachment is over: streams go before their channel. */
static void
detach(struct link *l)
{
	l->state = ATS_STATE_HELLO;
	calls_on_link_lost(l->f->calls);
	ats_chan_free(l->chan);
	l->chan = NULL;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct link *l = ctx;
	char quoted[256];

	ats_log(code == ATS_E_EOF ? ATS_LOG_INFO : ATS_LOG_WARN, "link closed",
	    "code=%s why=%s", ats_err_name(code),
	    ats_log_quote(quoted, sizeof(quoted), why, strlen(why)));
	last_word(l, code, why);
	detach(l);
	front_stop_if_drained(l->f);
	if (l->accept_ev == NULL)
		front_stop(l->f, "the link is closed and there is no other way in");
	else
		arm_retention(l);
}

static int
attach(struct link *l, int fd)
{
	int rc;

	l->state = ATS_STATE_HELLO;
	l->hello = false;
	l->said_goodbye = false;
	l->chan = ats_chan_new(l->f->base, fd, &chan_ops, l);
	if (l->chan == NULL)
		return -ATS_E_NOMEM;
	arm_retention(l);
	rc = send_hello(l);
	if (rc < 0)
		ats_chan_close(l->chan, -rc, "hello could not be sent");
	return 0;
}

/* One attachment at a time: the second hears so and is closed. */
static void
turn_away(struct link *l, int fd)
{
	static const char json[] =
	    "{\"code\":\"busy\",\"text\":\"another brain is attached\"}";
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_GOODBYE];
	struct ats_frame_head h = {
		.type = row->type,
		.kind = row->kind,
		.len = ATS_FRAME_HEAD + sizeof(json) - 1,
		.json_len = sizeof(json) - 1,
	};
	char frame[ATS_FRAME_HEAD + sizeof(json)];

	(void)l;
	ats_frame_head_put(&h, (unsigned char *)frame);
	memcpy(frame + ATS_FRAME_HEAD, json, sizeof(json));
	(void)send(fd, frame, h.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}

/* A brain that was killed and came back may be accepted before its end of file was read.
 */
static bool
peer_is_gone(const struct link *l)
{
	struct pollfd p = { .fd = ats_chan_fd(l->chan), .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	(void)event_add(l->accept_ev, NULL);
}

/* Out of descriptors: the backlog waits. The base ends with us, so l is there. */
static void
pause_accept(struct link *l)
{
	static const struct timeval pause = { 0, 100000 };

	if (event_base_once(l->f->base, -1, EV_TIMEOUT, on_resume, l, &pause) == 0)
		(void)event_del(l->accept_ev);
}

/* As accept4. The launcher is trusted; its end is ours. */
static int
take_passed(struct link *l, int fd)
{
	int conn = -1;
	size_t n = 0;
	char byte;
	ssize_t got = ats_fd_recv(fd, &byte, sizeof(byte), &conn, 1, &n);

	errno = EAGAIN;
	if (got == 0) {
		(void)event_del(l->accept_ev);
		front_stop(l->f, "the launcher is gone");
	}
	return n == 1 ? conn : -1;
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	int conn = l->passed ? take_passed(l, fd) :
	    accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (conn < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			pause_accept(l);
		return;
	}
	if (l->chan != NULL && peer_is_gone(l))
		detach(l);
	if (l->chan != NULL)
		turn_away(l, conn);
	else if (attach(l, conn) < 0)
		ats_log(ATS_LOG_ERROR, "a connection could not be taken", NULL);
}

static void
on_retention(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	if (l->chan != NULL)
		ats_chan_close(l->chan, ATS_E_SILENT, "no hello came");
	else
		front_stop(l->f, "no brain came back within the retention time");
}

struct link *
link_new(struct front *f, int first_fd, int listen_fd)
{
	struct link *l = ats_calloc(1, sizeof(*l));
	socklen_t size = sizeof(int);
	int listens = 0;

	if (l == NULL)
		return NULL;
	l->f = f;
	l->listen_fd = listen_fd;
	l->passed = listen_fd >= 0 && getsockopt(listen_fd, SOL_SOCKET, SO_ACCEPTCONN,
	    &listens, &size) == 0 && listens == 0;
	l->retention = evtimer_new(f->base, on_retention, l);
	if (listen_fd >= 0 && ats_fd_nonblock(listen_fd, true) == 0)
		l->accept_ev =
		    event_new(f->base, listen_fd, EV_READ | EV_PERSIST, on_accept, l);
	if (l->retention == NULL || (listen_fd >= 0 && l->accept_ev == NULL) ||
	    (l->accept_ev != NULL && event_add(l->accept_ev, NULL) < 0) ||
	    (first_fd >= 0 && attach(l, first_fd) < 0)) {
		link_free(l);
		return NULL;
	}
	if (first_fd < 0)
		arm_retention(l);
	return l;
}

void
link_free(struct link *l)
{
	if (l == NULL)
		return;
	ats_chan_free(l->chan);
	if (l->accept_ev != NULL)
		event_free(l->accept_ev);
	if (l->retention != NULL)
		event_free(l->retention);
	ats_fd_close(&l->listen_fd);
	free(l);
}
