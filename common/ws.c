/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of WebSocket (RFC 6455, 5). Runs in the engine and in hands' front; what is decoded is
 * the peer's. Nothing is allocated and nothing is kept but a header, one control frame and one
 * pong; a length is judged when it is announced. */
#include "common/ws.h"

#include <string.h>

#include "common/frame.h"

#define FIN 0x80u
#define RESERVED 0x70u
#define OPCODE 0x0fu
#define MASKED 0x80u
#define LEN16 126u
#define LEN64 127u

/* ---- masking ---------------------------------------------------------------------------- */

void
ats_ws_mask(unsigned char *dst, const unsigned char *src, size_t n, const unsigned char mask[4],
    unsigned at)
{
	unsigned char turned[8];
	uint64_t key, word;
	size_t i = 0;

	for (unsigned k = 0; k < 8; k++)
		turned[k] = mask[(at + k) & 3];
	memcpy(&key, turned, sizeof(key));
	for (; i + 8 <= n; i += 8) {
		memcpy(&word, src + i, sizeof(word));
		word ^= key;
		memcpy(dst + i, &word, sizeof(word));
	}
	for (; i < n; i++)
		dst[i] = src[i] ^ turned[i & 7];
}

/* ---- what comes --------------------------------------------------------------------------- */

void
ats_ws_in_init(struct ats_ws_in *in, bool server)
{
	*in = (struct ats_ws_in){ .server = server };
}

static void
refuse(struct ats_ws_in *in, enum ats_ws_code code, const char *why)
{
	if (in->bad == 0) {
		in->bad = (uint16_t)code;
		in->why = why;
	}
}

/* Header bytes in all, as far as the first two say. */
static unsigned
head_need(const struct ats_ws_in *in)
{
	unsigned len = in->head[1] & 0x7fu, need = 2;

	if (in->head_n < 2)
		return 2;
	need += len == LEN16 ? 2 : len == LEN64 ? 8 : 0;
	return need + ((in->head[1] & MASKED) != 0 ? 4 : 0);
}

/* The first two bytes, before more of a header is waited for. */
static void
judge_start(struct ats_ws_in *in)
{
	unsigned op = in->head[0] & OPCODE, len = in->head[1] & 0x7fu;
	bool fin = (in->head[0] & FIN) != 0;

	if ((in->head[0] & RESERVED) != 0)
		refuse(in, ATS_WS_BROKEN, "a reserved bit of a frame is set");
	else if (((in->head[1] & MASKED) != 0) != in->server)
		refuse(in, ATS_WS_BROKEN, in->server ? "a client's frame is not masked" :
		    "a server's frame is masked");
	else if (op == ATS_WS_TEXT)
		refuse(in, ATS_WS_NOT_BINARY, "a text message; only binary ones are taken");
	else if (op >= ATS_WS_CLOSE && op <= ATS_WS_PONG && (!fin || len > ATS_WS_CONTROL_MAX))
		refuse(in, ATS_WS_BROKEN, "a control frame is too long or in fragments");
	else if (op != ATS_WS_CONT && op != ATS_WS_BINARY &&
	    (op < ATS_WS_CLOSE || op > ATS_WS_PONG))
		refuse(in, ATS_WS_BROKEN, "a frame of an unknown opcode");
	else if ((op == ATS_WS_BINARY && in->in_message) || (op == ATS_WS_CONT && !in->in_message))
		refuse(in, ATS_WS_BROKEN, "the fragments of messages are out of order");
}

/* -1: it is not the shortest form. */
static int64_t
announced(const struct ats_ws_in *in)
{
	const unsigned char *p = in->head + 2;
	unsigned len = in->head[1] & 0x7fu;
	uint64_t n = 0;

	if (len < LEN16)
		return len;
	for (unsigned i = 0; i < (len == LEN16 ? 2u : 8u); i++)
		n = n << 8 | p[i];
	if (n < (len == LEN16 ? LEN16 : 65536u) || n > INT64_MAX)
		return -1;
	return (int64_t)n;
}

/* A message must be as long as the frame of ours in it says. */
static void
judge_message(struct ats_ws_in *in)
{
	const unsigned char *p = in->len4;
	uint64_t said;

	if (in->len4_n < sizeof(in->len4)) {
		if (in->fin && in->left == 0)
			refuse(in, ATS_WS_MISMATCH, "a message is shorter than a frame");
		return;
	}
	said = (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | p[3];
	if (said > ATS_FRAME_MAX)
		refuse(in, ATS_WS_TOO_BIG, "a frame over the limit");
	else if (in->total > said || (in->fin && in->total != said))
		refuse(in, ATS_WS_MISMATCH, "a message is not as long as its frame says");
}

static void
start_frame(struct ats_ws_in *in)
{
	int64_t n = announced(in);
	unsigned need = in->head_n;

	if (n < 0) {
		refuse(in, ATS_WS_BROKEN, "a length is not in its shortest form");
		return;
	}
	in->opcode = in->head[0] & OPCODE;
	in->left = (uint64_t)n;
	in->head_n = 0;
	in->in_frame = true;
	in->mask_at = 0;
	in->control_n = 0;
	if (in->server)
		memcpy(in->mask, in->head + need - 4, 4);
	if (in->opcode >= ATS_WS_CLOSE)
		return;
	in->fin = (in->head[0] & FIN) != 0;
	if (in->opcode == ATS_WS_BINARY) {
		in->in_message = true;
		in->total = 0;
		in->len4_n = 0;
	}
	if (in->left > ATS_FRAME_MAX - in->total) {
		refuse(in, ATS_WS_TOO_BIG, "a message over the limit");
		return;
	}
	in->total += in->left;
	judge_message(in);
}

static void
end_close(struct ats_ws_in *in)
{
	unsigned code;

	if (in->control_n == 0) {
		in->closed = ATS_WS_NO_CODE;
		return;
	}
	code = (unsigned)in->control[0] << 8 | in->control[1];
	if (in->control_n == 1 || code < 1000 || code > 4999 || (code >= 1004 && code <= 1006) ||
	    code == 1015)	/* these are for reports, not for the wire (7.4.1) */
		refuse(in, ATS_WS_BROKEN, "a close frame without a code that may be sent");
	else
		in->closed = (uint16_t)code;
}

static void
end_frame(struct ats_ws_in *in)
{
	in->in_frame = false;
	switch (in->opcode) {
	case ATS_WS_CLOSE:
		end_close(in);
		break;
	case ATS_WS_PING:
		memcpy(in->pong, in->control, in->control_n);
		in->pong_n = in->control_n;
		in->pong_due = true;
		break;
	case ATS_WS_PONG:
		break;
	default:
		if (in->fin)
			in->in_message = false;
	}
}

/* Payload bytes from src to dst, unmasked. Returns how many are the message's. */
static size_t
take_payload(struct ats_ws_in *in, unsigned char *dst, const unsigned char *src, size_t n)
{
	bool control = in->opcode >= ATS_WS_CLOSE;
	unsigned char *to = control ? in->control + in->control_n : dst;

	if (in->server)
		ats_ws_mask(to, src, n, in->mask, in->mask_at);
	else
		memmove(to, src, n);
	in->mask_at = (in->mask_at + (unsigned)(n & 3)) & 3;
	in->left -= n;
	if (control) {
		in->control_n += n;
		return 0;
	}
	if (in->len4_n == sizeof(in->len4))
		return n;
	memcpy(in->len4 + in->len4_n, to, n);
	in->len4_n += (unsigned)n;
	if (in->len4_n == sizeof(in->len4))
		judge_message(in);
	return n;
}

/* One byte of a header. */
static void
take_head(struct ats_ws_in *in, unsigned char byte)
{
	in->head[in->head_n++] = byte;
	if (in->head_n == 2)
		judge_start(in);
	if (in->bad == 0 && in->head_n == head_need(in) && in->head_n >= 2)
		start_frame(in);
}

size_t
ats_ws_decode(struct ats_ws_in *in, unsigned char *buf, size_t n)
{
	size_t at = 0, out = 0, take;

	while (in->bad == 0 && in->closed == 0) {
		if (in->in_frame && in->left == 0) {
			if (in->opcode < ATS_WS_CLOSE)
				judge_message(in);
			end_frame(in);
			continue;
		}
		if (at == n)
			break;
		if (!in->in_frame) {
			take_head(in, buf[at++]);
			continue;
		}
		take = n - at < in->left ? n - at : (size_t)in->left;
		/* What the message says of its length is judged before more of it is given. */
		if (in->opcode < ATS_WS_CLOSE && in->len4_n < sizeof(in->len4) &&
		    take > sizeof(in->len4) - in->len4_n)
			take = sizeof(in->len4) - in->len4_n;
		out += take_payload(in, buf + out, buf + at, take);
		at += take;
	}
	return out;
}

/* ---- what leaves ---------------------------------------------------------------------------- */

size_t
ats_ws_head(unsigned char out[ATS_WS_HEAD_MAX], uint8_t opcode, uint64_t len,
    const unsigned char *mask)
{
	unsigned bytes = len < LEN16 ? 0 : len < 65536 ? 2 : 8;
	size_t n = 2;

	out[0] = (unsigned char)(FIN | opcode);
	out[1] = (unsigned char)(bytes == 0 ? len : bytes == 2 ? LEN16 : LEN64);
	for (unsigned i = bytes; i > 0; i--)
		out[n++] = (unsigned char)(len >> (8 * (i - 1)) & 0xff);
	if (mask == NULL)
		return n;
	out[1] |= MASKED;
	memcpy(out + n, mask, 4);
	return n + 4;
}

/* The header of the message whose length is known now, and those four bytes. 0: no key. */
static int
start_message(struct ats_ws_out *o, unsigned char *dst)
{
	const unsigned char *p = o->len4;
	uint32_t len = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	size_t n;

	if (len < ATS_FRAME_HEAD || len > ATS_FRAME_MAX)
		return -ATS_E_INVAL;
	if (o->client && o->keys_left < 4)
		return 0;
	if (o->client) {
		o->keys_left -= 4;
		memcpy(o->mask, o->keys + o->keys_left, 4);
	}
	n = ats_ws_head(dst, ATS_WS_BINARY, len, o->client ? o->mask : NULL);
	if (o->client)
		ats_ws_mask(dst + n, p, 4, o->mask, 0);
	else
		memcpy(dst + n, p, 4);
	o->mask_at = 0;
	o->len4_n = 0;
	o->left = len - 4;
	return (int)n + 4;
}

int
ats_ws_encode(struct ats_ws_out *o, const unsigned char *src, size_t n, unsigned char *dst,
    size_t room, size_t *ret_used)
{
	size_t at = 0, out = 0, take;
	int rc;

	while (at < n || (o->left == 0 && o->len4_n == 4)) {
		if (o->left == 0 && o->len4_n < 4) {
			o->len4[o->len4_n++] = src[at++];
			continue;
		}
		if (o->left == 0) {
			if (room - out < ATS_WS_HEAD_MAX + 4)
				break;
			rc = start_message(o, dst + out);
			if (rc < 0)
				return rc;
			if (rc == 0)
				break;
			out += (size_t)rc;
			continue;
		}
		take = n - at < o->left ? n - at : o->left;
		if (take > room - out)
			take = room - out;
		if (take == 0)
			break;
		if (o->client)
			ats_ws_mask(dst + out, src + at, take, o->mask, o->mask_at);
		else
			memcpy(dst + out, src + at, take);
		o->mask_at = (o->mask_at + (unsigned)(take & 3)) & 3;
		o->left -= (uint32_t)take;
		at += take;
		out += take;
	}
	*ret_used = at;
	return (int)out;
}
