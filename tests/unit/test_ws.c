/* SPDX-License-Identifier: Apache-2.0
 *
 * WebSocket's codec against RFC 6455's own examples and against what it forbids. */
#include "common/http_head.h"
#include "common/ws.h"

#include "common/digest.h"
#include "common/frame.h"
#include "tests/lib/unit.h"

#define BYTES(...) { __VA_ARGS__ }, sizeof((unsigned char[]){ __VA_ARGS__ })

/* Decodes copies in pieces; the payload goes to ret (room for n). Returns its length. */
static size_t
decode(struct ats_ws_in *in, const unsigned char *p, size_t n, size_t piece, unsigned char *ret)
{
	size_t out = 0;

	for (size_t at = 0; at < n; at += piece) {
		size_t k = n - at < piece ? n - at : piece, got;
		unsigned char *copy = malloc(k);

		memcpy(copy, p + at, k);
		got = ats_ws_decode(in, copy, k);
		ck_assert_uint_le(got, k);
		memcpy(ret + out, copy, got);
		out += got;
		free(copy);
	}
	return out;
}

START_TEST(accept_is_that_of_the_rfc)
{
	static const unsigned char nonce[16] = "the sample nonce";
	unsigned char sum[ATS_SHA1_BYTES], abc[ATS_SHA1_BYTES] = { 0xa9, 0x99, 0x3e, 0x36, 0x47,
		0x06, 0x81, 0x6a, 0xba, 0x3e, 0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0,
		0xd8, 0x9d };
	char accept[ATS_WS_ACCEPT], key[ATS_WS_KEY];

	ats_ws_key(nonce, key);
	ck_assert_str_eq(key, "dGhlIHNhbXBsZSBub25jZQ==");	/* RFC 6455, 1.3 */
	ats_ws_accept(key, accept);
	ck_assert_str_eq(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	ats_sha1("abc", 3, sum);				/* FIPS 180 */
	ck_assert_mem_eq(sum, abc, sizeof(abc));
}
END_TEST

START_TEST(heads_are_in_their_shortest_form)
{
	static const unsigned char mask[4] = { 0x37, 0xfa, 0x21, 0x3d };
	static const struct {
		uint64_t len;
		unsigned char p[16];
		size_t n;
	} rows[] = {
		{ 0, BYTES(0x82, 0) },
		{ 125, BYTES(0x82, 125) },
		{ 126, BYTES(0x82, 126, 0, 126) },
		{ 256, BYTES(0x82, 0x7e, 0x01, 0x00) },		/* RFC 6455, 5.7 */
		{ 65535, BYTES(0x82, 126, 0xff, 0xff) },
		{ 65536, BYTES(0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0) },
	};
	unsigned char out[ATS_WS_HEAD_MAX];

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_uint_eq(ats_ws_head(out, ATS_WS_BINARY, rows[i].len, NULL), rows[i].n);
		ck_assert_mem_eq(out, rows[i].p, rows[i].n);
		ck_assert_uint_eq(ats_ws_head(out, ATS_WS_BINARY, rows[i].len, mask),
		    rows[i].n + 4);
		ck_assert_uint_eq(out[1], rows[i].p[1] | 0x80u);
		ck_assert_mem_eq(out + rows[i].n, mask, 4);
	}
}
END_TEST

START_TEST(mask_is_the_same_from_any_byte_on)
{
	static const unsigned char mask[4] = { 0x37, 0xfa, 0x21, 0x3d };
	unsigned char in[100], all[100], parts[100];

	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * 5);
	for (unsigned i = 0; i < sizeof(in); i++)
		all[i] = in[i] ^ mask[i & 3];
	for (size_t cut = 0; cut <= sizeof(in); cut++) {
		ats_ws_mask(parts, in, cut, mask, 0);
		ats_ws_mask(parts + cut, in + cut, sizeof(in) - cut, mask, cut & 3);
		ck_assert_mem_eq(parts, all, sizeof(all));
	}
}
END_TEST

START_TEST(control_frames_of_the_rfc_are_answered)
{
	static const struct {
		bool server;
		unsigned char p[16];
		size_t n;
	} pings[] = {			/* 5.7: "Hello" */
		{ false, BYTES(0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f) },
		{ true, BYTES(0x89, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58) },
	};
	unsigned char none[16];

	for (size_t i = 0; i < ATS_ARRAY_LEN(pings); i++)
		for (size_t piece = 1; piece < 12; piece++) {
			struct ats_ws_in in;

			ats_ws_in_init(&in, pings[i].server);
			ck_assert_uint_eq(decode(&in, pings[i].p, pings[i].n, piece, none), 0);
			ck_assert(in.pong_due && in.bad == 0 && in.closed == 0);
			ck_assert_uint_eq(in.pong_n, 5);
			ck_assert_mem_eq(in.pong, "Hello", 5);
		}
}
END_TEST

/* A frame of 24 bytes in three fragments, with a ping and a pong between them. */
START_TEST(fragments_and_what_stands_between_give_the_frame)
{
	static const unsigned char stream[] = { 0x02, 2, 0, 0, 0x89, 1, 'x', 0x00, 0, 0x00, 20, 0,
		24, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0x8a, 0, 0x80,
		2, 20, 21 };

	for (size_t piece = 1; piece <= sizeof(stream); piece++) {
		unsigned char got[sizeof(stream)];
		struct ats_ws_in in;

		ats_ws_in_init(&in, false);
		ck_assert_uint_eq(decode(&in, stream, sizeof(stream), piece, got), 24);
		ck_assert_msg(in.bad == 0, "%s", in.why);
		ck_assert(in.pong_due && !in.in_message);
		ck_assert_uint_eq(got[3], 24);
		for (unsigned i = 5; i < 24; i++)
			ck_assert_uint_eq(got[i], i - 2);
	}
}
END_TEST

START_TEST(what_the_rfc_forbids_closes_with_its_code)
{
	static const struct {
		const char *name;
		bool server;
		uint16_t bad;
		unsigned char p[16];
		size_t n;
	} rows[] = {
		{ "text", false, 1003, BYTES(0x81, 0x05, 'H', 'e', 'l', 'l', 'o') },
		{ "text of a client", true, 1003, BYTES(0x81, 0x85) },
		{ "rsv1", false, 1002, BYTES(0xc2, 0) },
		{ "rsv2", false, 1002, BYTES(0xa2, 0) },
		{ "rsv3", false, 1002, BYTES(0x92, 0) },
		{ "unmasked client", true, 1002, BYTES(0x82, 20) },
		{ "masked server", false, 1002, BYTES(0x82, 0x94) },
		{ "opcode 3", false, 1002, BYTES(0x83, 0) },
		{ "opcode 11", false, 1002, BYTES(0x8b, 0) },
		{ "ping in fragments", false, 1002, BYTES(0x09, 0) },
		{ "ping of 126", false, 1002, BYTES(0x89, 126) },
		{ "continuation of nothing", false, 1002, BYTES(0x80, 0) },
		{ "message in a message", false, 1002, BYTES(0x02, 1, 0, 0x82, 0) },
		{ "16 bits for 125", false, 1002, BYTES(0x82, 126, 0, 125) },
		{ "64 bits for 65535", false, 1002, BYTES(0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255) },
		{ "top bit", false, 1002, BYTES(0x82, 127, 128, 0, 0, 0, 0, 0, 0, 0) },
		{ "too big", false, 1009, BYTES(0x82, 127, 0, 0, 0, 0, 1, 0x40, 0, 1) },
		{ "too big in sum", false, 1009,
		    BYTES(0x02, 1, 1, 0x80, 127, 0, 0, 0, 0, 1, 0x40, 0, 0) },
		{ "says too big", false, 1009, BYTES(0x02, 4, 1, 0x40, 0, 1) },
		{ "empty message", false, 1007, BYTES(0x82, 0) },
		{ "three bytes", false, 1007, BYTES(0x82, 3, 0, 0, 20) },
		{ "longer than it says", false, 1007, BYTES(0x82, 21, 0, 0, 0, 20) },
		{ "shorter than it says", false, 1007, BYTES(0x82, 19, 0, 0, 0, 20) },
		{ "fragments longer", false, 1007, BYTES(0x02, 4, 0, 0, 0, 20, 0x00, 17) },
		{ "fragments shorter", false, 1007, BYTES(0x02, 4, 0, 0, 0, 20, 0x80, 15) },
		{ "half a close code", false, 1002, BYTES(0x88, 1, 3) },
		{ "close code 999", false, 1002, BYTES(0x88, 2, 3, 0xe7) },
		{ "close code 1005", false, 1002, BYTES(0x88, 2, 3, 0xed) },
		{ "close code 5000", false, 1002, BYTES(0x88, 2, 0x13, 0x88) },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		for (size_t piece = 1; piece <= rows[i].n; piece++) {
			unsigned char got[32];
			struct ats_ws_in in;

			ats_ws_in_init(&in, rows[i].server);
			(void)decode(&in, rows[i].p, rows[i].n, piece, got);
			ck_assert_msg(in.bad == rows[i].bad, "%s: %u %s", rows[i].name, in.bad,
			    in.bad != 0 ? in.why : "");
			ck_assert_uint_eq(in.closed, 0);
		}
}
END_TEST

START_TEST(close_ends_what_is_taken)
{
	static const unsigned char stream[] = { 0x88, 4, 3, 0xe9, 'b', 'y', 0x82, 20, 0, 0, 0, 20 };
	unsigned char got[32];
	struct ats_ws_in in;

	ats_ws_in_init(&in, false);
	ck_assert_uint_eq(decode(&in, stream, sizeof(stream), 3, got), 0);
	ck_assert_uint_eq(in.closed, 1001);
	ats_ws_in_init(&in, false);
	ck_assert_uint_eq(decode(&in, (const unsigned char *)"\x88", 2, 2, got), 0);
	ck_assert_uint_eq(in.closed, ATS_WS_NO_CODE);
}
END_TEST

/* What encode makes, in any pieces and with any room, decode gives back. */
START_TEST(encode_and_decode_are_each_others_inverse)
{
	static const uint32_t sizes[] = { 20, 125, 126, 300, 65536, 21 };
	static unsigned char frames[70000], coded[90000], back[90000];
	size_t n = 0;

	for (size_t i = 0; i < ATS_ARRAY_LEN(sizes); i++) {
		struct ats_frame_head h = { .len = sizes[i], .type = 1, .kind = 1 };

		ats_frame_head_put(&h, frames + n);
		for (size_t k = 20; k < sizes[i]; k++)
			frames[n + k] = (unsigned char)(k * 11);
		n += sizes[i];
	}
	for (unsigned client = 0; client < 2; client++)
		for (size_t piece = 1; piece < 100000; piece = piece * 7 + 1) {
			struct ats_ws_out o = { .client = client };
			struct ats_ws_in in;
			size_t at = 0, len = 0;

			while (at < n) {
				size_t k = n - at < piece ? n - at : piece, used;
				int put;

				memset(o.keys, (int)at, sizeof(o.keys));
				o.keys_left = 4;
				put = ats_ws_encode(&o, frames + at, k, coded + len,
				    20 + piece % 77, &used);
				ck_assert_int_ge(put, 0);
				ck_assert(put > 0 || used > 0);
				at += used;
				len += (size_t)put;
			}
			ats_ws_in_init(&in, client);
			ck_assert_uint_eq(decode(&in, coded, len, piece, back), n);
			ck_assert_uint_eq(in.bad, 0);
			ck_assert_mem_eq(back, frames, n);
		}
	for (unsigned i = 0; i < 20; i++) {
		struct ats_ws_out o = { .client = false };
		unsigned char bad[4] = { 0, 0, 0, (unsigned char)i };
		size_t used;

		ck_assert_int_eq(ats_ws_encode(&o, bad, 4, coded, 100, &used), -ATS_E_INVAL);
	}
}
END_TEST

#define LINE "GET /link HTTP/1.1\r\n"
#define HOST "Host: box:80\r\n"
#define UP "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define V13 "Sec-WebSocket-Version: 13\r\n"

START_TEST(requests_are_read_strictly)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{ 0, LINE HOST UP KEY V13 },
		{ 0, LINE V13 KEY "upgrade:\tWebSocket \r\n"
		    "CONNECTION: keep-alive , upgrade\r\n" HOST
		    "X-Other: a, b\xc3\xa4\r\nX-Other: c\r\nEmpty:\r\n"
		    "Sec-WebSocket-Extensions: permessage-deflate\r\n" },
		{ 400, "" },
		{ 400, "GET /link HTTP/1.0\r\n" HOST UP KEY V13 },
		{ 400, "GET /link\r\n" HOST UP KEY V13 },
		{ 400, "GET /link HTTP/1.1 \r\n" HOST UP KEY V13 },
		{ 400, "GET  /link HTTP/1.1\r\n" HOST UP KEY V13 },
		{ 404, "GET /link2 HTTP/1.1\r\n" HOST UP KEY V13 },
		{ 404, "GET /lin HTTP/1.1\r\n" HOST UP KEY V13 },
		{ 404, "GET /Link HTTP/1.1\r\n" HOST UP KEY V13 },
		{ 405, "POST /link HTTP/1.1\r\n" HOST UP KEY V13 },
		{ 405, "get /link HTTP/1.1\r\n" HOST UP KEY V13 },
		{ 400, LINE UP KEY V13 },
		{ 400, LINE "Host:\r\n" UP KEY V13 },
		{ 400, LINE HOST HOST UP KEY V13 },
		{ 400, LINE HOST UP KEY KEY V13 },
		{ 400, LINE HOST UP UP KEY V13 },
		{ 400, LINE HOST UP KEY V13 V13 },
		{ 400, LINE HOST UP KEY V13 "Content-Length: 0\r\n" },
		{ 400, LINE HOST UP KEY V13 "Transfer-Encoding: chunked\r\n" },
		{ 403, LINE HOST UP KEY V13 "Origin: http://evil.example\r\n" },
		{ 403, LINE HOST UP KEY V13 "Origin: null\r\n" },
		{ 426, LINE HOST UP KEY },
		{ 426, LINE HOST UP KEY "Sec-WebSocket-Version: 8\r\n" },
		{ 426, LINE HOST UP KEY "Sec-WebSocket-Version: 13, 8\r\n" },
		{ 426, LINE HOST KEY V13 },
		{ 426, LINE HOST "Upgrade: websocket\r\nConnection: upgraded\r\n" KEY V13 },
		{ 426, LINE HOST "Upgrade: h2c\r\nConnection: Upgrade\r\n" KEY V13 },
		{ 400, LINE HOST UP V13 },
		{ 400, LINE HOST UP "Sec-WebSocket-Key: c2hvcnQ=\r\n" V13 },
		{ 400, LINE HOST UP "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n" V13 },
		{ 400, LINE HOST UP "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\"Q==\r\n" V13 },
		{ 400, LINE HOST UP KEY V13 " folded: x\r\n" },
		{ 400, LINE HOST UP KEY V13 "X: y\r\n\tz\r\n" },
		{ 400, LINE HOST UP KEY V13 "Name : x\r\n" },
		{ 400, LINE HOST UP KEY V13 ": x\r\n" },
		{ 400, LINE HOST UP KEY V13 "Name\r\n" },
		{ 400, LINE HOST UP KEY V13 "X: a\rb\r\n" },
		{ 400, LINE HOST UP KEY V13 "X: a\nb\r\n" },
		{ 400, LINE HOST UP KEY V13 "X: a\177b\r\n" },
		{ 400, "\r\n" LINE HOST UP KEY V13 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		char text[1024], accept[ATS_WS_ACCEPT];
		struct ats_err err = { .text = "" };
		int status = 0, n = snprintf(text, sizeof(text), "%s\r\n", rows[i].text), rc;

		rc = ats_ws_check_request(text, (size_t)n, "/link", accept, &status, &err);
		ck_assert_msg(status == rows[i].status, "row %zu: %d %s", i, status, err.text);
		ck_assert_int_eq(rc, status == 0 ? 0 : -ATS_E_PROTO);
		if (status == 0)
			ck_assert_str_eq(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
		for (size_t k = 0; k < (size_t)n; k++)		/* no end of it crashes */
			(void)!ats_ws_check_request(text, k, "/link", accept, &status, NULL);
	}
}
END_TEST

#define ACCEPT "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

START_TEST(responses_are_read_strictly)
{
	static const struct {
		const char *said, *text;
	} rows[] = {
		{ NULL, "HTTP/1.1 101 Switching Protocols\r\n" UP ACCEPT },
		{ NULL, "HTTP/1.1 101\r\n" UP ACCEPT },
		{ "answered 403", "HTTP/1.1 403 Forbidden\r\n" UP ACCEPT },
		{ "answered 200", "HTTP/1.1 200 OK\r\n" },
		{ "not a response", "HTTP/1.0 101 x\r\n" UP ACCEPT },
		{ "not a response", "HTTP/1.1 1011 x\r\n" UP ACCEPT },
		{ "not a response", "HTTP/1.1 10\r\n" UP ACCEPT },
		{ "not a response", "HTTP/1.1  101 x\r\n" UP ACCEPT },
		{ "not a response", "HTTP/1.1 101 x\r\n" UP ACCEPT ACCEPT },
		{ "not an answer", "HTTP/1.1 101 x\r\n" UP },
		{ "not an answer", "HTTP/1.1 101 x\r\n" ACCEPT },
		{ "not an answer", "HTTP/1.1 101 x\r\n" UP
		    "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" },
		{ "not offered", "HTTP/1.1 101 x\r\n" UP ACCEPT "Sec-WebSocket-Protocol: x\r\n" },
		{ "not offered", "HTTP/1.1 101 x\r\n" UP ACCEPT
		    "Sec-WebSocket-Extensions: permessage-deflate\r\n" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		char text[1024];
		struct ats_err err = { .text = "" };
		int n = snprintf(text, sizeof(text), "%s\r\n", rows[i].text), rc;

		rc = ats_ws_check_response(text, (size_t)n, "dGhlIHNhbXBsZSBub25jZQ==", &err);
		ck_assert_int_eq(rc, rows[i].said == NULL ? 0 : -ATS_E_PROTO);
		ck_assert_msg(rows[i].said == NULL || strstr(err.text, rows[i].said) != NULL,
		    "row %zu: %s", i, err.text);
	}
}
END_TEST

START_TEST(what_is_sent_is_what_is_read)
{
	char text[1024], accept[ATS_WS_ACCEPT];
	int status = 0, n = ats_ws_request(text, sizeof(text), "::1", 7000, "/link",
	    "dGhlIHNhbXBsZSBub25jZQ==");

	ck_assert_int_gt(n, 0);
	ck_assert_ptr_nonnull(strstr(text, "\r\nHost: [::1]:7000\r\n"));
	ck_assert_uint_eq(ats_http_head_end(text, (size_t)n, 0), n);
	ck_assert_uint_eq(ats_http_head_end(text, (size_t)n, (size_t)n - 1), n);
	ck_assert_uint_eq(ats_http_head_end(text, (size_t)n - 1, 0), 0);
	ck_assert_int_eq(
	    ats_ws_check_request(text, (size_t)n, "/link", accept, &status, NULL), 0);
	n = ats_ws_response(text, sizeof(text), 101, accept);
	ck_assert_int_eq(
	    ats_ws_check_response(text, (size_t)n, "dGhlIHNhbXBsZSBub25jZQ==", NULL), 0);
	ck_assert_int_gt(ats_ws_response(text, sizeof(text), 426, NULL), 0);
	ck_assert_ptr_nonnull(strstr(text, "Sec-WebSocket-Version: 13\r\n"));
	ck_assert_int_eq(ats_ws_request(text, 100, "h", 1, "/", "k"), -ATS_E_TOOBIG);
}
END_TEST

ATS_UNIT_MAIN("ws", accept_is_that_of_the_rfc, heads_are_in_their_shortest_form,
    mask_is_the_same_from_any_byte_on, control_frames_of_the_rfc_are_answered,
    fragments_and_what_stands_between_give_the_frame, what_the_rfc_forbids_closes_with_its_code,
    close_ends_what_is_taken, encode_and_decode_are_each_others_inverse,
    requests_are_read_strictly, responses_are_read_strictly, what_is_sent_is_what_is_read)
