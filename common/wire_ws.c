/* SPDX-License-Identifier: Apache-2.0
 *
 * WebSocket over another wire, plain or TLS. Runs in the engine and in hands' front; every byte
 * that comes is the peer's. What came is decoded where its caller wants it; what leaves is
 * collected, masked by a client, in one block, which is all that is held beside one pong. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/fault.h"
#include "common/fd.h"
#include "common/http_head.h"
#include "common/wire_private.h"
#include "common/ws.h"

#define HOLD_MAX 16384u		/* a record of TLS */
#define DIRECT_MIN 4096u	/* unmasked bytes that go past the block */
#define QUIET_MAX 16		/* reads without a byte of a message in one recv */

struct opening {
	char path[ATS_ADDR_MAX];	/* server: what alone is served */
	char key[ATS_WS_KEY];		/* client */
	size_t n, used;			/* bytes in text, of them the head once it is over */
	char text[ATS_WS_HANDSHAKE_MAX];
};

struct wire_ws {
	struct ats_wire base;		/* fd is the lower one's, which owns it */
	struct ats_wire *lower;
	bool server;
	bool open;			/* the handshake is over */
	bool said_close;
	struct opening *opening;	/* until what came behind the head is read */
	int ended;			/* what recv found, or 0 */
	struct ats_ws_in in;
	struct ats_ws_out out;
	size_t hold_at, hold_n;
	unsigned char hold[HOLD_MAX];
};

static int
lower_failed(struct wire_ws *s, int rc)
{
	if (rc == -ATS_E_AGAIN)
		return rc;
	return ats_wire_fail(&s->base, -rc, "%s", ats_wire_why(s->lower));
}

/* ---- writing ------------------------------------------------------------------------------ */

static int
push(struct wire_ws *s)
{
	while (s->hold_at < s->hold_n) {
		struct iovec iov = { s->hold + s->hold_at, s->hold_n - s->hold_at };
		ssize_t put = ats_wire_send(s->lower, &iov, 1, false);

		s->base.wants_write = false;
		if (put < 0)
			return lower_failed(s, (int)put);
		s->hold_at += (size_t)put;
	}
	s->hold_at = s->hold_n = 0;
	return 0;
}

static int
refill_keys(struct wire_ws *s)
{
	struct ats_ws_out *o = &s->out;

	if (!o->client || o->keys_left >= 4)
		return 0;
	if (getrandom(o->keys, sizeof(o->keys), 0) != (ssize_t)sizeof(o->keys))
		return ats_wire_fail(&s->base, ATS_E_SYS, "no random bytes");
	o->keys_left = sizeof(o->keys);
	return 0;
}

/* A control frame behind what is held; there is room, as nothing is. */
static int
hold_control(struct wire_ws *s, uint8_t opcode, const unsigned char *p, size_t n)
{
	unsigned char mask[4] = { 0 };
	size_t head;
	int rc = refill_keys(s);

	if (rc < 0)
		return rc;
	if (s->out.client) {
		s->out.keys_left -= 4;
		memcpy(mask, s->out.keys + s->out.keys_left, 4);
	}
	head = ats_ws_head(s->hold, opcode, n, s->out.client ? mask : NULL);
	ats_ws_mask(s->hold + head, p, n, mask, 0);
	s->hold_at = 0;
	s->hold_n = head + n;
	return 0;
}

/* Control frames stand between messages only: ours are one frame each. */
static bool
between_messages(const struct wire_ws *s)
{
	return s->hold_n == 0 && s->out.left == 0 && s->out.len4_n == 0;
}

static void
say_close(struct wire_ws *s, unsigned code)
{
	unsigned char p[2] = { (unsigned char)(code >> 8), (unsigned char)(code & 0xff) };

	if (s->said_close || !s->open || push(s) < 0 || !between_messages(s))
		return;
	s->said_close = true;
	if (hold_control(s, ATS_WS_CLOSE, p, code == ATS_WS_NO_CODE ? 0 : 2) == 0)
		(void)push(s);
}

/* ---- opening handshake ----------------------------------------------------------------------- */

static int
hold_text(struct wire_ws *s, int n)
{
	if (n < 0)
		return ats_wire_fail(&s->base, ATS_E_TOOBIG, "WebSocket handshake: too long");
	s->hold_at = 0;
	s->hold_n = (size_t)n;
	return 0;
}

static void
answer(struct wire_ws *s, int status, const char *accept)
{
	(void)hold_text(s, ats_ws_response((char *)s->hold, sizeof(s->hold), status, accept));
	(void)push(s);
}

static int
serve(struct wire_ws *s, struct ats_err *err)
{
	const struct opening *o = s->opening;
	char accept[ATS_WS_ACCEPT];
	int status = 400, rc = ats_ws_check_request(o->text, o->used, o->path, accept, &status,
	    err);

	if (rc < 0)
		answer(s, status, NULL);
	else
		answer(s, 101, accept);
	return rc;
}

/* The head is here. */
static int
judge_head(struct wire_ws *s)
{
	struct ats_err err = { .text = "" };
	const struct opening *o = s->opening;
	int rc;

	rc = s->server ? serve(s, &err) : ats_ws_check_response(o->text, o->used, o->key, &err);
	if (rc < 0)
		return ats_wire_fail(&s->base, -rc, "%s", err.text);
	s->open = true;
	return 0;
}

static int
read_head(struct wire_ws *s)
{
	struct opening *o = s->opening;
	size_t from = o->n;
	ssize_t got = ats_wire_recv(s->lower, o->text + o->n, sizeof(o->text) - o->n);

	if (got < 0)
		return lower_failed(s, (int)got);
	o->n += (size_t)got;
	o->used = ats_http_head_end(o->text, o->n, from);
	if (o->used > 0)
		return judge_head(s);
	if (o->n < sizeof(o->text))
		return 0;
	if (s->server)
		answer(s, 431, NULL);
	return ats_wire_fail(&s->base, ATS_E_PROTO, "WebSocket handshake: over %u bytes",
	    ATS_WS_HANDSHAKE_MAX);
}

/* 0 when it is over. */
static int
shake(struct wire_ws *s)
{
	int rc = s->ended;

	while (!s->open && rc == 0) {
		rc = push(s);
		if (rc == 0)
			rc = read_head(s);
	}
	if (rc < 0 && rc != -ATS_E_AGAIN)
		s->ended = rc;
	return s->open ? 0 : rc;
}

/* ---- the wire -------------------------------------------------------------------- */

static int
ws_flush(struct ats_wire *w)
{
	struct wire_ws *s = (struct wire_ws *)w;
	int rc = shake(s);

	if (rc == 0)
		rc = push(s);
	if (rc == 0 && s->in.pong_due && !s->said_close && between_messages(s)) {
		s->in.pong_due = false;
		rc = hold_control(s, ATS_WS_PONG, s->in.pong, s->in.pong_n);
		if (rc == 0)
			rc = push(s);
	}
	return rc < 0 ? rc : lower_failed(s, ats_wire_flush(s->lower));
}

/* From what came behind the head of the handshake, or from below. */
static ssize_t
take_raw(struct wire_ws *s, void *buf, size_t n)
{
	struct opening *o = s->opening;
	size_t early = o != NULL ? o->n - o->used : 0;

	if (early > n)
		early = n;
	if (early > 0)
		memcpy(buf, o->text + o->used, early);
	if (o != NULL)
		o->used += early;
	if (o != NULL && o->used == o->n) {
		free(o);
		s->opening = NULL;
	}
	return early > 0 ? (ssize_t)early : ats_wire_recv(s->lower, buf, n);
}

/* What decoding found beside bytes. */
static void
after_decode(struct wire_ws *s)
{
	const struct ats_ws_in *in = &s->in;

	if (in->bad != 0) {
		say_close(s, in->bad);
		s->ended = ats_wire_fail(&s->base, ATS_E_PROTO, "WebSocket: %s", in->why);
	} else if (in->closed != 0) {
		say_close(s, in->closed);
		s->ended = in->closed == ATS_WS_NORMAL || in->closed == ATS_WS_NO_CODE ?
		    ats_wire_fail(&s->base, ATS_E_EOF, "the peer closed the connection") :
		    ats_wire_fail(&s->base, ATS_E_EOF,
			"the peer closed the connection with WebSocket's code %u", in->closed);
	} else if (in->pong_due) {
		(void)ws_flush(&s->base);
	}
}

static ssize_t
ws_recv(struct ats_wire *w, void *buf, size_t n)
{
	struct wire_ws *s = (struct wire_ws *)w;
	ssize_t got = shake(s);
	size_t bytes;

	for (unsigned quiet = 0; got >= 0 && s->ended == 0 && quiet < QUIET_MAX; quiet++) {
		got = take_raw(s, buf, n);
		if (got < 0) {
			got = lower_failed(s, (int)got);
			break;
		}
		bytes = ats_ws_decode(&s->in, buf, (size_t)got);
		after_decode(s);
		if (bytes > 0)
			return (ssize_t)bytes;
	}
	if (s->ended == 0 && got < 0 && got != -ATS_E_AGAIN)
		s->ended = (int)got;
	return s->ended < 0 ? s->ended : -ATS_E_AGAIN;
}

/* Encodes of the parts what the block takes. A server's long bytes stay where they are: they
 * are *ret_direct. Returns how many are in the block now. */
static ssize_t
collect(struct wire_ws *s, const struct iovec *iov, size_t n, struct iovec *ret_direct,
    bool *ret_all)
{
	struct ats_ws_out *o = &s->out;
	size_t taken = 0, used;
	int put;

	*ret_all = false;
	for (size_t i = 0; i < n; i++) {
		const unsigned char *p = iov[i].iov_base;
		size_t left = iov[i].iov_len;

		while (left > 0) {
			if (!o->client && o->left >= DIRECT_MIN && left >= DIRECT_MIN) {
				*ret_direct = (struct iovec){ (void *)(uintptr_t)p,
					left < o->left ? left : o->left };
				return (ssize_t)taken;
			}
			put = refill_keys(s);
			if (put < 0)
				return put;
			put = ats_ws_encode(o, p, left, s->hold + s->hold_n,
			    sizeof(s->hold) - s->hold_n, &used);
			if (put < 0)
				return ats_wire_fail(&s->base, -put, "not a frame to send");
			s->hold_n += (size_t)put;
			p += used;
			left -= used;
			taken += used;
			if (used == 0 && put == 0)
				return (ssize_t)taken;
		}
	}
	*ret_all = true;
	return (ssize_t)taken;
}

static ssize_t
ws_send(struct ats_wire *w, const struct iovec *iov, size_t n, bool more)
{
	struct wire_ws *s = (struct wire_ws *)w;
	struct iovec out[2] = { { s->hold, 0 }, { NULL, 0 } };
	size_t first, parts;
	ssize_t taken, put;
	bool all;
	int rc = ws_flush(w);

	if (rc < 0)
		return rc;
	if (s->said_close)
		return ats_wire_fail(w, ATS_E_EOF, "the peer closed the connection");
	taken = collect(s, iov, n, &out[1], &all);
	if (taken < 0)
		return taken;
	out[0].iov_len = s->hold_n;
	first = s->hold_n > 0 ? 0 : 1;
	parts = (out[1].iov_len > 0 ? 2u : 1u) - first;
	if (parts == 0)
		return taken;
	put = ats_wire_send(s->lower, out + first, parts, more || !all);
	if (put == -ATS_E_AGAIN)
		return taken > 0 ? taken : put;
	if (put < 0)
		return lower_failed(s, (int)put);
	if ((size_t)put < s->hold_n) {
		s->hold_at = (size_t)put;
		return taken;
	}
	put -= (ssize_t)s->hold_n;
	s->hold_n = 0;
	s->out.left -= (uint32_t)put;
	return taken + put;
}

static bool
ws_pending(const struct ats_wire *w)
{
	const struct wire_ws *s = (const struct wire_ws *)w;

	return s->ended < 0 || (s->open && s->opening != NULL) || ats_wire_pending(s->lower);
}

static bool
ws_wants_write(const struct ats_wire *w)
{
	return ats_wire_wants_write(((const struct wire_ws *)w)->lower);
}

static void
ws_shutdown(struct ats_wire *w)
{
	struct wire_ws *s = (struct wire_ws *)w;

	say_close(s, ATS_WS_NORMAL);
	ats_wire_shutdown(s->lower);
}

static bool
ws_exporter(const struct ats_wire *w, unsigned char ret_bytes[32])
{
	return ats_wire_exporter(((const struct wire_ws *)w)->lower, ret_bytes);
}

static void
ws_done(struct ats_wire *w)
{
	struct wire_ws *s = (struct wire_ws *)w;

	ats_wire_free(s->lower);
	free(s->opening);
	w->fd = -1;
}

static const struct ats_wire_ops ws_ops = {
	.recv = ws_recv,
	.send = ws_send,
	.flush = ws_flush,
	.pending = ws_pending,
	.wants_write = ws_wants_write,
	.shutdown = ws_shutdown,
	.exporter = ws_exporter,
	.done = ws_done,
};

/* ---- making one ------------------------------------------------------------------ */

static int
set_up(struct wire_ws *s, const struct ats_wire_plan *plan)
{
	const char *path = plan->path != NULL && plan->path[0] != '\0' ? plan->path : "/";
	const char *host = plan->host != NULL && plan->host[0] != '\0' ? plan->host : "localhost";
	unsigned char chance[16];
	struct opening *o = s->opening;

	if (strlen(path) >= sizeof(o->path))
		return -ATS_E_INVAL;
	memcpy(o->path, path, strlen(path) + 1);
	ats_ws_in_init(&s->in, plan->server);
	s->out.client = !plan->server;
	if (plan->server)
		return 0;
	if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return -ATS_E_SYS;
	ats_ws_key(chance, o->key);
	s->base.wants_write = true;	/* a client speaks first */
	return hold_text(s, ats_ws_request((char *)s->hold, sizeof(s->hold), host, plan->port, path,
	    o->key));
}

int
ats_wire_ws_new(struct ats_wire *lower, const struct ats_wire_plan *plan,
    struct ats_wire **ret, struct ats_err *err)
{
	struct wire_ws *s = ats_calloc(1, sizeof(*s));
	int rc;

	if (s == NULL) {
		ats_wire_free(lower);
		return -ATS_E_NOMEM;
	}
	s->base = (struct ats_wire){ .ops = &ws_ops, .fd = ats_wire_fd(lower) };
	s->lower = lower;
	s->server = plan->server;
	s->opening = ats_calloc(1, sizeof(*s->opening));
	rc = s->opening != NULL ? set_up(s, plan) : -ATS_E_NOMEM;
	if (rc < 0) {
		ats_wire_free(&s->base);
		return rc == -ATS_E_NOMEM ? rc :
		    ats_err_set(err, -rc, "WebSocket: %s", ats_err_text(rc));
	}
	*ret = &s->base;
	return 0;
}
