/* SPDX-License-Identifier: Apache-2.0
 *
 * WebSocket. Input: flags, how long the pieces are, then the peer's bytes: with HEAD those of
 * the opening handshake, else frames. Whatever the pieces, decoding gives the same bytes and
 * the same end; what it gives is a stream of whole frames of ours as long as the peer kept the
 * rules, and encoding that stream again gives messages that decode to it. */
#include "common/frame.h"
#include "common/http_head.h"
#include "common/ws.h"
#include "tests/fuzz/fuzz.h"

enum { SERVER = 1, HEAD = 2 };

static struct ats_buf
decode(struct ats_slice s, bool server, size_t piece, struct ats_ws_in *in)
{
	struct ats_buf out;

	ats_buf_init(&out, SIZE_MAX / 2);
	ats_ws_in_init(in, server);
	for (size_t at = 0; at < s.n; at += piece) {
		size_t k = s.n - at < piece ? s.n - at : piece, got;
		char *copy = fuzz_copy((struct ats_slice){ s.p + at, k });

		got = ats_ws_decode(in, (unsigned char *)copy, k);
		FUZZ_CHECK(got <= k);
		FUZZ_CHECK(ats_buf_add(&out, copy, got) == 0);
		free(copy);
	}
	FUZZ_CHECK(in->pong_n <= ATS_WS_CONTROL_MAX);
	FUZZ_CHECK((in->bad == 0) == (in->why == NULL));
	return out;
}

/* Length of the whole frames at the start of the stream. */
static size_t
whole_frames(const struct ats_buf *b)
{
	size_t at = 0;

	while (b->len - at >= 4) {
		const unsigned char *p = (const unsigned char *)b->data + at;
		size_t n = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];

		if (n < ATS_FRAME_HEAD || n > b->len - at)
			break;
		at += n;
	}
	return at;
}

static void
encode_again(const struct ats_buf *frames, size_t n, bool client, size_t piece)
{
	struct ats_ws_out o = { .client = client };
	struct ats_buf coded, back;
	struct ats_ws_in in;
	size_t at = 0, used;
	char *room;
	int put;

	ats_buf_init(&coded, SIZE_MAX / 2);
	while (at < n) {
		size_t k = n - at < piece ? n - at : piece;

		o.keys_left = 4;
		FUZZ_CHECK(ats_buf_reserve(&coded, 64 + piece, &room) == 0);
		put = ats_ws_encode(&o, (const unsigned char *)frames->data + at, k,
		    (unsigned char *)room, 18 + piece, &used);
		FUZZ_CHECK(put >= 0 && (size_t)put <= 18 + piece && used <= k);
		FUZZ_CHECK(put > 0 || used > 0);
		ats_buf_commit(&coded, (size_t)put);
		at += used;
	}
	back = decode((struct ats_slice){ coded.data, coded.len }, client, piece, &in);
	FUZZ_CHECK(in.bad == 0 && back.len == n && memcmp(back.data, frames->data, n) == 0);
	ats_buf_done(&back);
	ats_buf_done(&coded);
}

static void
check_frames(struct ats_slice s, bool server, size_t piece)
{
	struct ats_ws_in a, b;
	struct ats_buf whole = decode(s, server, s.n + 1, &a), parts = decode(s, server, piece, &b);

	FUZZ_CHECK(fuzz_same(&whole, &parts));
	FUZZ_CHECK(a.bad == b.bad && a.closed == b.closed && a.pong_due == b.pong_due);
	FUZZ_CHECK(a.pong_n == b.pong_n && memcmp(a.pong, b.pong, a.pong_n) == 0);
	if (a.bad == 0 && a.closed == 0 && !a.in_message && a.len4_n == sizeof(a.len4) &&
	    whole.len >= ATS_FRAME_HEAD && whole_frames(&whole) == whole.len)
		encode_again(&whole, whole.len, !server, piece);
	ats_buf_done(&whole);
	ats_buf_done(&parts);
}

static void
check_head(struct ats_slice s, bool server, size_t piece)
{
	char *copy = fuzz_copy(s), accept[ATS_WS_ACCEPT] = "", answer[512];
	size_t end = 0, n = 0, whole = ats_http_head_end(copy, s.n, 0);
	struct ats_err err = { .text = "" };
	int status = 0, rc;

	for (; end == 0 && n < s.n; n += piece)
		end = ats_http_head_end(copy, n + piece < s.n ? n + piece : s.n, n);
	FUZZ_CHECK(end == whole);
	free(copy);
	if (whole == 0)
		return;
	copy = fuzz_copy((struct ats_slice){ s.p, whole });
	if (server) {
		rc = ats_ws_check_request(copy, whole, "/link", accept, &status, &err);
		FUZZ_CHECK((rc == 0) == (status == 0) && (rc == 0) == (accept[0] != '\0'));
		FUZZ_CHECK(ats_ws_response(answer, sizeof(answer), rc == 0 ? 101 : status,
			       accept) > 0);
	} else {
		rc = ats_ws_check_response(copy, whole, "dGhlIHNhbXBsZSBub25jZQ==", &err);
	}
	FUZZ_CHECK(rc == 0 || (rc == -ATS_E_PROTO && err.text[0] != '\0'));
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t flags = fuzz_byte(&in);
	size_t piece = 1u + fuzz_byte(&in);
	struct ats_slice s = fuzz_bytes(&in, in.n);

	if ((flags & HEAD) != 0)
		check_head(s, (flags & SERVER) != 0, piece);
	else
		check_frames(s, (flags & SERVER) != 0, piece);
	return 0;
}
