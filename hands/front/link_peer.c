/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection until it is the attachment, and its end. Runs in hands' front; who is at the
 * other end is not known yet, so that nothing here costs more than one hello, and nothing
 * touches the attachment that there is. */
#include "hands/front/link_private.h"

#include "common/fault.h"
#include "common/json.h"
#include "common/log.h"
#include "hands/front/exec.h"
#include "hands/front/front.h"
#include "hands/key.h"

#include <event2/event.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- sending ----------------------------------------------------------------------- */
int
peer_send(struct peer *p, enum ats_frame_id id, const void *msg)
{
	const struct ats_frame_row *row = &ats_frame_rows[id];
	struct ats_buf *out = &p->l->f->out;
	int rc;

	ats_buf_reset(out);
	rc = ats_msg_encode(&row->shape, msg, out, NULL);
	if (rc < 0)
		return rc;
	return ats_chan_send(p->chan, row->type, row->kind, 0, out->data, out->len, NULL, 0);
}

void
peer_goodbye(struct peer *p, int code, const char *text)
{
	struct ats_msg_GOODBYE m = {
		.code = code == 0 ? "closed" : ats_err_name(code),
		.text = text,
	};

	if (!p->said_goodbye)
		(void)peer_send(p, ATS_FRAME_GOODBYE, &m);
	p->said_goodbye = true;
	(void)evtimer_del(p->timer);
	ats_chan_close(p->chan, code == 0 ? ATS_E_EOF : code, text);
}

/* The peer broke a rule: it hears which, and the channel ends. Always 0: the channel must
 * not fail before the goodbye has left. */
static int
reject(struct peer *p, int rc, const struct ats_err *err)
{
	peer_goodbye(p, -rc, err->text[0] != '\0' ? err->text : ats_err_text(rc));
	return 0;
}

/* A frame that could not even be cut out of the stream ends the channel inside chan: its
 * goodbye goes out here, unless half of something else is in the way. */
static void
last_word(struct peer *p, int code, const char *why)
{
	struct ats_msg_GOODBYE m = { .code = ats_err_name(code), .text = why };
	const struct ats_frame_row *row = &ats_frame_rows[ATS_FRAME_GOODBYE];
	struct ats_frame_head h = { .type = row->type, .kind = row->kind };
	struct ats_buf *out = &p->l->f->out;
	struct ats_wire *w = ats_chan_wire(p->chan);
	char *head;

	if (p->said_goodbye || code == ATS_E_EOF || ats_chan_queued(p->chan) > 0)
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
	for (size_t at = 0; at < out->len;) {
		ssize_t n = ats_wire_send(w, &(struct iovec){ out->data + at, out->len - at }, 1,
		    false);

		if (n <= 0)		/* it has no room, or is gone */
			return;
		at += (size_t)n;
	}
	(void)(ats_wire_flush(w) < 0);
}

/* ---- hello ------------------------------------------------------------------------- */
/* To whom we do not know, no more than what the proof needs, and the workspace, by which a
 * brain sees that it is where it wanted to be. */
static int
send_hello(struct peer *p)
{
	const struct front *f = p->l->f;
	struct ats_msg_HELLO m = {
		.version_min = ATS_PROTO_VERSION,
		.version_max = ATS_PROTO_VERSION,
		.digest = ats_proto_digest(),
		.role = "hands",
		.boot = f->boot,
		.epoch = p->l->epoch,
		.workspace = f->opt.workspace,
	};

	/* Such a name cannot be said in JSON: brain has no means to ask for it either. */
	if (!ats_utf8_valid(m.workspace, strlen(m.workspace)))
		m.workspace = NULL;
	if (p->proves) {
		m.sandbox = f->key.sandbox;
		m.generation = f->key.generation;
		m.has_generation = true;
		m.nonce = p->nonce;
	} else {
		m.confinement =
		    (struct ats_slice){ f->opt.confinement, strlen(f->opt.confinement) };
	}
	return peer_send(p, ATS_FRAME_HELLO, &m);
}

static int
on_hello(struct peer *p, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_HELLO m;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_HELLO].shape, fr->json,
	    fr->head.json_len, 0, &m, &p->l->f->arena, err);

	if (rc < 0)
		return rc;
	if (p->hello)
		return ats_err_set(err, ATS_E_STATE, "a second hello");
	if (strcmp(m.role, "brain") != 0)
		return ats_err_set(err, ATS_E_PROTO, "the peer is not brain");
	if (m.version_min > ATS_PROTO_VERSION || m.version_max < ATS_PROTO_VERSION)
		return ats_err_set(err, ATS_E_VERSION,
		    "hands speaks version %u, brain %" PRIu64 " to %" PRIu64
		    ": install both of one release",
		    ATS_PROTO_VERSION, m.version_min, m.version_max);
	if (strcmp(m.digest, ats_proto_digest()) != 0 &&
	    m.version_max == ATS_PROTO_VERSION)
		return ats_err_set(err, ATS_E_VERSION,
		    "brain and hands were built from different tables: "
		    "install both of one release");
	p->hello = true;
	p->epoch = m.epoch;
	p->takeover = m.has_takeover && m.takeover;
	if (p->proves)
		return link_prove(p, &m, err);
	link_admit(p);
	return 0;
}

int
peer_on_goodbye(struct peer *p, const struct ats_frame *fr, struct ats_err *err)
{
	struct ats_msg_GOODBYE m;
	char quoted[256];
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_GOODBYE].shape, fr->json,
	    fr->head.json_len, 0, &m, &p->l->f->arena, err);

	if (rc < 0)
		return rc;
	if (p == p->l->at)
		ats_log(ATS_LOG_INFO, "brain says goodbye", "code=%s",
		    ats_log_quote(quoted, sizeof(quoted), m.code, strlen(m.code)));
	p->said_goodbye = true;
	(void)evtimer_del(p->timer);
	ats_chan_close(p->chan, ATS_E_EOF, "goodbye");
	return 0;
}

/* ---- the channel ------------------------------------------------------------------- */
static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	struct peer *p = ctx;
	int rc = ats_frame_gate(h, ATS_FROM_BRAIN, p->state, err);

	return rc < 0 ? reject(p, rc, err) : 0;
}

static int
on_frame(void *ctx, const struct ats_frame *fr, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(fr->head.type, fr->head.kind);
	struct peer *p = ctx;
	int rc;

	if (p->wrong)
		return 0;
	if (p->state == ATS_STATE_READY)
		rc = link_frame(p->l, fr, err);
	else if (row == &ats_frame_rows[ATS_FRAME_HELLO])
		rc = on_hello(p, fr, err);
	else if (row == &ats_frame_rows[ATS_FRAME_PROVE])
		rc = link_on_prove(p, fr, err);
	else
		rc = peer_on_goodbye(p, fr, err);
	return rc < 0 ? reject(p, rc, err) : 0;
}

static int
on_sink(void *ctx, const struct ats_frame *fr)
{
	const struct ats_frame_row *row = ats_frame_row_find(fr->head.type, fr->head.kind);
	struct peer *p = ctx;

	/* Results have payloads, too, and their ids are those of other calls. */
	return p->state == ATS_STATE_READY && row == &ats_frame_rows[ATS_FRAME_EVENT_STDIN] ?
	    exec_stdin_sink(p->l->f, fr) : -1;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct peer *p = ctx;

	last_word(p, code, why);
	link_ended(p, code, why);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;

	(void)fd;
	(void)what;
	if (p->hello)
		link_not_proven(p);
	else
		peer_goodbye(p, ATS_E_SILENT, "no hello came");
}

static const struct ats_chan_ops chan_ops = {
	.check = on_check,
	.frame = on_frame,
	.sink = on_sink,
	.closed = on_closed,
};

/* A brain that was killed and came back may be accepted before its end of file was read.
 */
bool
peer_is_gone(const struct peer *p)
{
	struct pollfd f = { .fd = ats_chan_fd(p->chan), .events = POLLRDHUP };

	return p->said_goodbye ||
	    (poll(&f, 1, 0) == 1 && (f.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
}

/* The oldest of them makes room, one that has shown that it has no key or is leaving before the
 * others: a stranger holds a place for no longer than others let him. A hello is worth nothing,
 * everybody has one. */
static void
make_room(struct link *l)
{
	struct peer *lost = NULL;
	unsigned n = 0;

	for (struct peer *p = l->waiting; p != NULL; p = p->next, n++)
		if (lost == NULL && (p->wrong || p->said_goodbye))
			lost = p;
	if (n >= LINK_WAITING_MAX)
		link_ended(lost != NULL ? lost : l->waiting, ATS_E_BUSY, "others came after it");
}

int
peer_new(struct link *l, struct ats_wire *w, bool proves)
{
	static const struct timeval patience = { LINK_HELLO_MS / 1000, 0 };
	struct peer *p = ats_calloc(1, sizeof(*p));
	int rc;

	make_room(l);
	if (p == NULL) {
		ats_wire_free(w);
		return -ATS_E_NOMEM;
	}
	*p = (struct peer){ .l = l, .state = ATS_STATE_HELLO, .proves = proves };
	p->timer = evtimer_new(l->f->base, on_timer, p);
	p->chan = ats_chan_new_wire(l->f->base, w, &chan_ops, p);
	if (p->chan == NULL || p->timer == NULL || evtimer_add(p->timer, &patience) < 0 ||
	    (proves && ats_prove_nonce(p->nonce, NULL) < 0)) {
		peer_free(p);
		return -ATS_E_NOMEM;
	}
	link_wait(p);
	rc = send_hello(p);
	if (rc < 0)
		ats_chan_close(p->chan, -rc, "hello could not be sent");
	return 0;
}

void
peer_free(struct peer *p)
{
	ats_chan_free(p->chan);
	if (p->timer != NULL)
		event_free(p->timer);
	free(p);
}
