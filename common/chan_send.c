/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels: sending. Runs in the engine and in hands' front. What is sent is ours; how slowly it
 * is taken is the peer's choice. Nothing is written out of order: what the wire does not take now
 * is queued, and all that follows it behind it. */
#include "common/chan.h"

#include <event2/event.h>
#include <string.h>

#include "common/chan_private.h"
#include "common/wire_private.h"

/* The wire said AGAIN: it waits to write or, in a handshake, for the peer. That it is heard
 * while closing, when nothing is read any more, is for this alone. */
static void
arm(struct ats_chan *c)
{
	bool writes = ats_wire_splices(c->wire) || ats_wire_wants_write(c->wire);
	int rc = 0;

	if (writes)
		rc = event_add(c->wr, NULL);
	else if (c->closing)
		rc = event_add(c->rd, NULL);
	if (writes && c->closing)
		(void)event_del(c->rd);
	if (rc < 0)
		ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
}

static void
send_failed(struct ats_chan *c, int rc)
{
	if (rc == -ATS_E_EOF)
		ats_chan_peer_gone(c);
	else
		ats_chan_fail(c, -rc, ats_wire_why(c->wire));
}

/* Bytes written, 0 when the wire takes none now, -1 when the channel failed. */
static ssize_t
put_iov(struct ats_chan *c, const struct iovec *iov, size_t n, bool more)
{
	ssize_t put = ats_wire_send(c->wire, iov, n, more);

	if (put >= 0)
		return put;
	if (put == -ATS_E_AGAIN)
		return 0;
	send_failed(c, (int)put);
	return -1;
}

/* What the wire holds itself. True when that has left. */
static bool
flush_wire(struct ats_chan *c)
{
	int rc = ats_wire_splices(c->wire) ? 0 : ats_wire_flush(c->wire);

	if (rc == -ATS_E_AGAIN)
		arm(c);
	else if (rc < 0)
		send_failed(c, rc);
	return rc == 0;
}

void
ats_chan_flush(struct ats_chan *c)
{
	while (!c->closed && !c->freed && !c->deaf) {
		struct iovec iov = { .iov_base = c->out.data,
			.iov_len = c->splice_left > 0 ? c->splice_at : c->out.len };
		ssize_t put;
		int rc;

		if (iov.iov_len == 0 && c->splice_left == 0)
			break;
		if (iov.iov_len == 0) {
			rc = ats_stream_splice(c);
			if (rc == 0)
				arm(c);
			if (rc <= 0)
				return;
			continue;
		}
		put = put_iov(c, &iov, 1, c->splice_left > 0);
		if (put == 0)
			arm(c);
		if (put <= 0)
			return;
		ats_buf_consume(&c->out, (size_t)put);
		if (c->splice_left > 0)
			c->splice_at -= (size_t)put;
	}
	if (c->closed || c->freed || c->deaf)
		return;
	ats_buf_reset(&c->out);
	if (!flush_wire(c) || !c->closing)
		return;
	ats_wire_shutdown(c->wire);
	ats_chan_fail(c, c->code, c->why);
}

/* ---- a frame ----------------------------------------------------------------------- */
/* Appends the parts. Nothing, or all of it. */
static int
queue_parts(struct ats_chan *c, const struct iovec *parts, size_t n)
{
	size_t total = 0;
	char *p;
	int rc;

	for (size_t i = 0; i < n; i++)
		total += parts[i].iov_len;
	rc = ats_buf_reserve(&c->out, total, &p);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		memcpy(p, parts[i].iov_base, parts[i].iov_len);
		p += parts[i].iov_len;
	}
	ats_buf_commit(&c->out, total);
	return 0;
}

/* Takes n bytes off the front of the parts. */
static void
skip_parts(struct iovec *parts, size_t *n_parts, size_t n)
{
	size_t whole = 0;

	while (whole < *n_parts && n >= parts[whole].iov_len)
		n -= parts[whole++].iov_len;
	*n_parts -= whole;
	memmove(parts, parts + whole, *n_parts * sizeof(*parts));
	if (*n_parts > 0) {
		parts[0].iov_base = (char *)parts[0].iov_base + n;
		parts[0].iov_len -= n;
	}
}

/* Straight into the wire; what it does not take is queued. A wire that took a part without
 * waiting for the socket (it makes records) is asked again at once. */
static int
send_now(struct ats_chan *c, struct iovec *parts, size_t n)
{
	ssize_t put, sent = 0;

	do {
		put = put_iov(c, parts, n, false);
		if (put < 0)
			return -ATS_E_EOF;
		skip_parts(parts, &n, (size_t)put);
		sent += put;
	} while (n > 0 && put > 0 && !ats_wire_wants_write(c->wire));
	if (n > 0 && queue_parts(c, parts, n) < 0) {
		if (sent > 0)		/* half a frame is out: nothing may follow it */
			ats_chan_fail(c, ATS_E_NOMEM, "out of memory");
		return -ATS_E_NOMEM;
	}
	if (n > 0 || ats_wire_wants_write(c->wire))
		arm(c);
	return 0;
}

int
ats_chan_send(struct ats_chan *c, uint8_t type, uint8_t kind, uint64_t call,
    const char *json, size_t json_len, const void *payload, size_t payload_len)
{
	unsigned char head[ATS_FRAME_HEAD];
	struct ats_frame_head h = { .type = type, .kind = kind, .call = call };
	struct iovec parts[3] = { { head, sizeof(head) } };
	size_t n = 1;

	if (c->closed || c->closing || c->freed || c->deaf)
		return -ATS_E_EOF;
	if (json_len > ATS_FRAME_MAX - ATS_FRAME_HEAD ||
	    payload_len > ATS_FRAME_MAX - ATS_FRAME_HEAD - json_len)
		return -ATS_E_TOOBIG;
	if (c->out.len >= ATS_CHAN_OUT_MAX)
		return -ATS_E_FULL;
	h.json_len = (uint32_t)json_len;
	h.len = (uint32_t)(ATS_FRAME_HEAD + json_len + payload_len);
	ats_frame_head_put(&h, head);
	/* iovec has no const; the wire and memcpy only read. */
	if (json_len > 0)
		parts[n++] = (struct iovec){ (void *)(uintptr_t)json, json_len };
	if (payload_len > 0)
		parts[n++] = (struct iovec){ (void *)(uintptr_t)payload, payload_len };
	if (c->corked == 0 && c->out.len == 0 && c->splice_left == 0)
		return send_now(c, parts, n);
	return queue_parts(c, parts, n);
}

/* ---- several at once --------------------------------------------------------------- */
void
ats_chan_cork(struct ats_chan *c)
{
	c->corked++;
}

void
ats_chan_uncork(struct ats_chan *c)
{
	if (c->corked == 0 || --c->corked > 0)
		return;
	if (c->out.len > 0)
		ats_chan_flush(c);
	if (c->first != NULL && !c->closed)
		ats_chan_kick(c);
}

size_t
ats_chan_queued(const struct ats_chan *c)
{
	return c->out.len + c->splice_left;
}
