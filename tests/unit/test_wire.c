/* SPDX-License-Identifier: Apache-2.0
 *
 * Wires of each kind over a socketpair: bytes arrive as they were sent, whatever the sizes of
 * the pieces; the wrong peer is refused. */
#include "common/wire.h"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/frame.h"
#include "common/tls.h"
#include "tests/lib/wire_pair.h"

/* An authority, and a certificate of it for box.example and 192.0.2.7. */
#define CA_PEM \
	"-----BEGIN CERTIFICATE-----\n" \
	"MIIBSDCB+6ADAgECAhQwHo8SKud0ReG6v55BFBTBGytkXTAFBgMrZXAwGTEXMBUG\n" \
	"A1UEAwwOdGVzdCBhdXRob3JpdHkwIBcNMjYxMTMwMTMwMjA0WhgPMjEyNjExMDYx\n" \
	"MzAyMDRaMBkxFzAVBgNVBAMMDnRlc3QgYXV0aG9yaXR5MCowBQYDK2VwAyEAbGS9\n" \
	"YKkfW6iaxmmRX8uCbfcDri1UFWRPA/wAkpdCwvmjUzBRMB0GA1UdDgQWBBRAylyK\n" \
	"U1OOYFS2+qb20RXq+517ITAfBgNVHSMEGDAWgBRAylyKU1OOYFS2+qb20RXq+517\n" \
	"ITAPBgNVHRMBAf8EBTADAQH/MAUGAytlcANBAC0AXN65pcT8Qn/xT/7dZJXHVu1u\n" \
	"aaqgwPAfy8AiGgpQ4grgAbbGidXMoAFb5q5bQ5nBOtUk8GlvaXSBgKxHIgA=\n" \
	"-----END CERTIFICATE-----\n"
#define BOX_PEM \
	"-----BEGIN CERTIFICATE-----\n" \
	"MIIBNzCB6qADAgECAgEHMAUGAytlcDAZMRcwFQYDVQQDDA50ZXN0IGF1dGhvcml0\n" \
	"eTAgFw0yNjExMzAxMzAyMDRaGA8yMTI2MTEwNjEzMDIwNFowDjEMMAoGA1UEAwwD\n" \
	"Ym94MCowBQYDK2VwAyEArKrI30SeDbA6QN5q0OU/eSaEVH8gWy1BaDjsuIOThQGj\n" \
	"YDBeMBwGA1UdEQQVMBOCC2JveC5leGFtcGxlhwTAAAIHMB0GA1UdDgQWBBT1Fmx2\n" \
	"PemZoktZNN1v5JgfPND9aTAfBgNVHSMEGDAWgBRAylyKU1OOYFS2+qb20RXq+517\n" \
	"ITAFBgMrZXADQQC1dTwLWtG+B2vONMGeIHjr426rFH2hSgVLG6plZLL14CcPAHSQ\n" \
	"SUdXfjn+suxVZv9COKaDDDy32hMnoRAXBW8K\n" \
	"-----END CERTIFICATE-----\n"
#define BOX_KEY \
	"-----BEGIN PRIVATE KEY-----\n" \
	"MC4CAQAwBQYDK2VwBCIEILPEcxIh1L++oyTxcwY5iYaRfqIyw/I+n1rr5/G8A0R/\n" \
	"-----END PRIVATE KEY-----\n"

/* Frames of ours: lengths of each kind of WebSocket header, and more than a record. */
static size_t
make_frames(char *out)
{
	static const uint32_t sizes[] = { 20, 21, 125, 126, 127, 1024, 65535, 65536, 16384, 70000,
		20 };
	size_t n = 0;

	for (size_t i = 0; i < ATS_ARRAY_LEN(sizes); i++) {
		struct ats_frame_head h = { .len = sizes[i], .type = 1, .kind = 1, .call = i };

		ats_frame_head_put(&h, (unsigned char *)out + n);
		for (size_t k = ATS_FRAME_HEAD; k < sizes[i]; k++)
			out[n + k] = (char)(k * 7 + i);
		n += sizes[i];
	}
	return n;
}

/* Sends n bytes from a to b in pieces, and reads them in pieces. */
static void
carry(struct ats_wire *a, struct ats_wire *b, const char *bytes, size_t n, size_t piece_out,
    size_t piece_in)
{
	static char got[512 << 10];
	size_t sent = 0, came = 0;
	unsigned idle = 0;

	ck_assert(n <= sizeof(got));
	while (came < n) {
		size_t k = n - sent < piece_out ? n - sent : piece_out, half = k / 3;
		struct iovec iov[2] = { { (void *)(uintptr_t)(bytes + sent), half },
			{ (void *)(uintptr_t)(bytes + sent + half), k - half } };
		ssize_t rc = -ATS_E_AGAIN;

		ck_assert_msg(++idle < 2000, "no progress after %zu of %zu", came, n);
		if (k > 0)
			rc = ats_wire_send(a, iov, 2, false);
		else
			(void)!ats_wire_flush(a);
		ck_assert_msg(rc > 0 || rc == -ATS_E_AGAIN, "%zd %s", rc, ats_wire_why(a));
		if (rc > 0) {
			sent += (size_t)rc;
			idle = 0;
		}
		k = n - came < piece_in ? n - came : piece_in;
		rc = ats_wire_recv(b, got + came, k);
		ck_assert_msg(rc > 0 || rc == -ATS_E_AGAIN, "%zd %s", rc, ats_wire_why(b));
		if (rc > 0) {
			came += (size_t)rc;
			idle = 0;
		}
		(void)!ats_wire_flush(b);
		/* In a handshake the sender waits for the peer. */
		if (sent == 0)
			ck_assert_int_eq(ats_wire_flush(a) <= 0, 1);
	}
	ck_assert_mem_eq(got, bytes, n);
}

START_TEST(carry_each_kind_both_ways_in_any_pieces)
{
	static const size_t pieces[] = { 3, 4096, 1 << 20 };
	static char frames[512 << 10];
	size_t n = make_frames(frames);

	for (size_t k = 0; k < ATS_ARRAY_LEN(kinds); k++)
		for (size_t i = 0; i < ATS_ARRAY_LEN(pieces); i++)
			for (size_t o = 0; o < ATS_ARRAY_LEN(pieces); o++) {
				struct pair p;
				size_t some = pieces[i] == 3 || pieces[o] == 3 ? 1443 : n;

				open_pair(&p, kinds[k]);
				carry(p.w[0], p.w[1], frames, some, pieces[o], pieces[i]);
				carry(p.w[1], p.w[0], frames, some, pieces[o], pieces[i]);
				ck_assert(!ats_wire_pending(p.w[0]));
				ck_assert(!ats_wire_pending(p.w[1]));
				close_pair(&p);
			}
}
END_TEST

/* Steps of both sides until neither can go on. */
static void
settle(struct ats_wire *a, struct ats_wire *b, int rc[2])
{
	char buf[4096];

	rc[0] = rc[1] = -ATS_E_AGAIN;
	for (int i = 0; i < 20; i++) {
		if (rc[0] == -ATS_E_AGAIN)
			rc[0] = (int)ats_wire_recv(a, buf, sizeof(buf));
		if (rc[1] == -ATS_E_AGAIN)
			rc[1] = (int)ats_wire_recv(b, buf, sizeof(buf));
	}
}

START_TEST(end_of_the_peer_is_an_orderly_end)
{
	for (size_t k = 0; k < ATS_ARRAY_LEN(kinds); k++) {
		struct pair p;
		char byte;
		int rc[2];

		open_pair(&p, kinds[k]);
		settle(p.w[0], p.w[1], rc);
		ats_wire_shutdown(p.w[0]);
		ats_wire_free(p.w[0]);
		p.w[0] = NULL;
		ck_assert_int_eq((int)ats_wire_recv(p.w[1], &byte, 1), -ATS_E_EOF);
		ck_assert_str_eq(ats_wire_why(p.w[1]), "the peer closed the connection");
		close_pair(&p);
	}
}
END_TEST

START_TEST(exporter_is_the_same_at_both_ends_and_of_one_session)
{
	unsigned char a[32], b[32], before[32] = { 0 };

	for (int round = 0; round < 2; round++) {
		struct pair p;
		int rc[2];

		open_pair(&p, ATS_ADDR_TLS);
		ck_assert(!ats_wire_exporter(p.w[0], a) && !ats_wire_exporter(p.w[1], b));
		settle(p.w[0], p.w[1], rc);
		ck_assert(ats_wire_exporter(p.w[0], a) && ats_wire_exporter(p.w[1], b));
		ck_assert_mem_eq(a, b, 32);
		ck_assert_mem_ne(a, before, 32);
		memcpy(before, a, 32);
		close_pair(&p);
		open_pair(&p, ATS_ADDR_TCP);
		ck_assert(!ats_wire_exporter(p.w[0], a));
		close_pair(&p);
	}
}
END_TEST

/* A client of plan against a server of its own plan, for host. */
static void
meet(const struct ats_tls_plan *client, const struct ats_tls_plan *server, const char *host,
    int rc[2], char why[256])
{
	struct ats_err err = { .text = "" };
	struct pair p = { .tls = { NULL } };
	int fds[2];

	ck_assert_msg(ats_tls_new(client, &p.tls[0], &err) == 0, "%s", err.text);
	ck_assert_msg(ats_tls_new(server, &p.tls[1], &err) == 0, "%s", err.text);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	p.w[0] = wire_over(fds[0], ATS_ADDR_TLS, false, host, p.tls[0]);
	p.w[1] = wire_over(fds[1], ATS_ADDR_TLS, true, NULL, p.tls[1]);
	settle(p.w[0], p.w[1], rc);
	snprintf(why, 256, "%s", ats_wire_why(p.w[0]));
	close_pair(&p);
}

START_TEST(only_the_expected_peer_is_taken)
{
	unsigned char pin[ATS_TLS_PIN], wrong[ATS_TLS_PIN];
	const struct ats_tls_plan seeded = { .server = true, .seed = seed },
		box = { .server = true, .cert_pem = BOX_PEM, .key_pem = BOX_KEY };
	const struct {
		struct ats_tls_plan client;
		const struct ats_tls_plan *server;
		const char *host, *why;
	} rows[] = {
		{ { .pin = pin }, &seeded, "any.name", NULL },
		{ { .pin = pin }, &seeded, NULL, NULL },
		{ { .pin = wrong }, &seeded, "any.name", "not the one that was pinned" },
		{ { .ca_pem = CA_PEM }, &box, "box.example", NULL },
		{ { .ca_pem = CA_PEM }, &box, "BOX.example", NULL },
		{ { .ca_pem = CA_PEM }, &box, "192.0.2.7", NULL },
		{ { .ca_pem = CA_PEM }, &box, "192.0.2.8", "IP address mismatch" },
		{ { .ca_pem = CA_PEM }, &box, "x.box.example", "ostname mismatch" },
		{ { .ca_pem = CA_PEM }, &box, "box", "ostname mismatch" },
		{ { .ca_pem = BOX_PEM }, &box, "box.example", "certificate" },
		{ { .ca_pem = CA_PEM }, &seeded, "ats", "certificate" },
		{ { .ca_pem = CA_PEM, .pin = pin }, &box, "box.example", "pinned" },
		{ { .ca_pem = CA_PEM, .pin = pin }, &seeded, "ats", "certificate" },
	};

	ck_assert_int_eq(ats_tls_seed_pin(seed, pin, NULL), 0);
	memcpy(wrong, pin, sizeof(wrong));
	wrong[31] ^= 1;
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		char why[256];
		int rc[2];

		meet(&rows[i].client, rows[i].server, rows[i].host, rc, why);
		ck_assert_msg(rc[0] == (rows[i].why == NULL ? -ATS_E_AGAIN : -ATS_E_PERM),
		    "row %zu: %d %s", i, rc[0], why);
		ck_assert_int_eq(rc[1], rows[i].why == NULL ? -ATS_E_AGAIN : -ATS_E_PROTO);
		ck_assert_msg(rows[i].why == NULL || strstr(why, rows[i].why) != NULL,
		    "row %zu: %s", i, why);
	}
}
END_TEST

START_TEST(wrong_plans_are_told)
{
	static const struct {
		struct ats_tls_plan plan;
		const char *said;
	} rows[] = {
		{ { .server = true }, "needs a seed or a certificate" },
		{ { .server = true, .cert_pem = BOX_PEM }, "needs a seed or a certificate" },
		{ { .server = true, .cert_pem = "x", .key_pem = BOX_KEY }, "not in PEM form" },
		{ { .server = true, .cert_pem = BOX_PEM, .key_pem = BOX_PEM }, "not in PEM form" },
		{ { .server = true, .cert_pem = CA_PEM, .key_pem = BOX_KEY },
		    "not the certificate's" },
		{ { .pin = NULL }, "needs a pin or the authorities" },
		{ { .ca_pem = "nothing" }, "not in PEM form" },
		{ { .ca_pem = BOX_KEY }, "not in PEM form" },
	};
	struct ats_wire_plan plan = { .kind = ATS_ADDR_TLS, .server = true };
	struct ats_tls *t = NULL;
	struct ats_wire *w = NULL;
	struct ats_err err;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(ats_tls_new(&rows[i].plan, &t, &err), -ATS_E_INVAL);
		ck_assert_msg(strstr(err.text, rows[i].said) != NULL, "row %zu: %s", i, err.text);
		ck_assert_ptr_null(t);
	}
	ck_assert_int_eq(ats_wire_new(dup(0), &plan, &w, &err), -ATS_E_INVAL);
}
END_TEST

/* The pin is that of OpenSSL's own tools: sha256 of pkey -pubout -outform DER. */
START_TEST(pin_of_a_seed_is_the_documented_one)
{
	static const unsigned char seven[ATS_TLS_SEED] = { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
		7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 };
	static const unsigned char want[ATS_TLS_PIN] = {
		0x32, 0x4b, 0xe2, 0xde, 0xa8, 0xbc, 0x44, 0x46,
		0x1b, 0x02, 0x33, 0xe5, 0x1f, 0xa4, 0x89, 0x02, 0xed, 0x6b, 0x1c, 0xc6,
		0x71, 0xe7, 0x73, 0x9a, 0xf2, 0x55, 0x1e, 0x0b, 0xfe, 0x68, 0xf5, 0x4e };
	unsigned char pin[ATS_TLS_PIN];

	ck_assert_int_eq(ats_tls_seed_pin(seven, pin, NULL), 0);
	ck_assert_mem_eq(pin, want, sizeof(pin));
}
END_TEST

/* A server of kind that hears these bytes and then, if end, the end. What it answered is in
 * ret (NUL-terminated). */
static int
server_hears(enum ats_addr_kind kind, const void *bytes, size_t n, bool end, char *ret,
    size_t size, char why[256])
{
	struct pair p = { .tls = { NULL } };
	int fds[2], rc = -ATS_E_AGAIN;
	char buf[4096];
	ssize_t got;

	if (kind == ATS_ADDR_TLS)
		tls_pair(&p);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM | SOCK_NONBLOCK, fds), 0);
	p.w[1] = wire_over(fds[1], kind, true, NULL, p.tls[1]);
	for (size_t at = 0; at <= n && (rc > 0 || rc == -ATS_E_AGAIN); at += 999) {
		size_t k = n - at < 999 ? n - at : 999;

		ck_assert_int_eq(send(fds[0], (const char *)bytes + at, k, MSG_NOSIGNAL), k);
		rc = (int)ats_wire_recv(p.w[1], buf, sizeof(buf));
	}
	if (end)
		shutdown(fds[0], SHUT_WR);
	for (int i = 0; i < 50 && (rc > 0 || rc == -ATS_E_AGAIN); i++)
		rc = (int)ats_wire_recv(p.w[1], buf, sizeof(buf));
	got = recv(fds[0], ret, size - 1, 0);
	ret[got > 0 ? got : 0] = '\0';
	snprintf(why, 256, "%s", ats_wire_why(p.w[1]));
	close(fds[0]);
	close_pair(&p);
	return rc;
}

#define REQUEST                                                                          \
	"GET /link HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"       \
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

START_TEST(other_protocols_end_with_a_reason)
{
	static char big[20000];
	static const struct {
		enum ats_addr_kind kind;
		const char *bytes, *said, *answer;
	} rows[] = {
		{ ATS_ADDR_TLS, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "TLS handshake: http request",
		    "" },
		{ ATS_ADDR_TLS, "\0\0\0\x1e\x04\x01 and so on, and more of it", "TLS handshake",
		    "" },
		{ ATS_ADDR_WS, "\x16\x03\x01\x02\r\n\r\n", "WebSocket handshake",
		    "HTTP/1.1 400" },
		{ ATS_ADDR_WS, "GET /other HTTP/1.1\r\n\r\n", "another path", "HTTP/1.1 404" },
		{ ATS_ADDR_WS, REQUEST "\x81\x80....", "text message", "\x88\x02\x03\xeb" },
		{ ATS_ADDR_WS, REQUEST "\x82\x14....", "not masked", "\x88\x02\x03\xea" },
		{ ATS_ADDR_WS, REQUEST "\x88\x82\0\0\0\0\x03\xe8", "the peer closed",
		    "\x88\x02\x03\xe8" },
	};
	char answer[1024], why[256];

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		size_t n = i == 1 ? 30 : i == 6 ? sizeof(REQUEST) + 7 : strlen(rows[i].bytes);
		int rc = server_hears(rows[i].kind, rows[i].bytes, n, false, answer,
		    sizeof(answer), why);

		ck_assert_msg(rc == (i == 6 ? -ATS_E_EOF : -ATS_E_PROTO), "row %zu: %d %s", i, rc,
		    why);
		ck_assert_msg(strstr(why, rows[i].said) != NULL, "row %zu: %s", i, why);
		if (rows[i].answer[0] != '\0')
			ck_assert_msg(strstr(answer, rows[i].answer) != NULL, "row %zu", i);
	}
	memset(big, 'x', sizeof(big));
	ck_assert_int_eq(
	    server_hears(ATS_ADDR_WS, big, sizeof(big), false, answer, sizeof(answer), why),
	    -ATS_E_PROTO);
	ck_assert_ptr_nonnull(strstr(answer, "431"));
	ck_assert_ptr_nonnull(strstr(why, "over 8192 bytes"));
}
END_TEST

START_TEST(end_at_any_byte_is_an_end)
{
	static const char ws[] = REQUEST "\x82\x94\0\0\0\0\0\0\0\x14................";
	char answer[1024], why[256];

	for (size_t n = 0; n < sizeof(ws); n += n < sizeof(REQUEST) - 20 ? 17 : 1) {
		int rc = server_hears(ATS_ADDR_WS, ws, n, true, answer, sizeof(answer), why);

		ck_assert_msg(rc == -ATS_E_EOF, "%zu: %d %s", n, rc, why);
		ck_assert_str_eq(why, "the peer closed the connection");
	}
	ck_assert_int_eq(server_hears(ATS_ADDR_TLS, "\x16\x03\x01", 3, true, answer,
	    sizeof(answer), why), -ATS_E_EOF);
	ck_assert_str_eq(why, "the connection ended in the TLS handshake");
}
END_TEST

/* The frames of a channel, read by a client that expects TLS or WebSocket. */
START_TEST(client_of_a_plain_server_ends_with_a_reason)
{
	static const enum ats_addr_kind both[] = { ATS_ADDR_TLS, ATS_ADDR_WS };
	static const char plain[] = "\0\0\0\x14\x04\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\r\n\r\n";

	for (size_t i = 0; i < ATS_ARRAY_LEN(both); i++) {
		struct pair p = { .tls = { NULL } };
		int fds[2], rc = -ATS_E_AGAIN;
		char buf[256];

		if (both[i] == ATS_ADDR_TLS)
			tls_pair(&p);
		ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
		p.w[0] = wire_over(fds[0], both[i], false, "box.example", p.tls[0]);
		ck_assert_int_eq(send(fds[1], plain, sizeof(plain) - 1, 0), sizeof(plain) - 1);
		for (int k = 0; k < 5 && rc == -ATS_E_AGAIN; k++)
			rc = (int)ats_wire_recv(p.w[0], buf, sizeof(buf));
		ck_assert_int_eq(rc, -ATS_E_PROTO);
		ck_assert_ptr_nonnull(strstr(ats_wire_why(p.w[0]), "handshake"));
		ck_assert_int_eq((int)ats_wire_recv(p.w[0], buf, sizeof(buf)), -ATS_E_PROTO);
		close(fds[1]);
		close_pair(&p);
	}
}
END_TEST

START_TEST(older_tls_is_refused)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	struct pair p = { .tls = { NULL } };
	int fds[2], rc = -ATS_E_AGAIN;
	char byte;
	SSL *ssl;

	SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	tls_pair(&p);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM | SOCK_NONBLOCK, fds), 0);
	p.w[1] = wire_over(fds[1], ATS_ADDR_TLS, true, NULL, p.tls[1]);
	ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fds[0]);
	for (int i = 0; i < 10 && rc == -ATS_E_AGAIN; i++) {
		ck_assert_int_ne(SSL_connect(ssl), 1);
		rc = (int)ats_wire_recv(p.w[1], &byte, 1);
	}
	ck_assert_int_eq(rc, -ATS_E_PROTO);
	ck_assert_msg(strstr(ats_wire_why(p.w[1]), "unsupported protocol") != NULL, "%s",
	    ats_wire_why(p.w[1]));
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	close(fds[0]);
	close_pair(&p);
}
END_TEST

/* Moves what came at from to to; the byte number flip of all changes. */
static void
relay(int from, int to, size_t *passed, size_t flip)
{
	char buf[4096];
	ssize_t got = recv(from, buf, sizeof(buf), 0);

	if (got <= 0)
		return;
	if (flip >= *passed && flip - *passed < (size_t)got)
		buf[flip - *passed] ^= 0x10;
	*passed += (size_t)got;
	(void)!send(to, buf, (size_t)got, MSG_NOSIGNAL);
}

/* Somebody on the way changes one byte: what was sent arrives as it was, or not at all. */
START_TEST(changed_bytes_of_tls_never_pass)
{
	static const char sent[] = "\0\0\0\x18" "4 and so on, 24 bytes";
	unsigned arrived = 0, refused = 0;

	for (size_t flip = 0; flip < 1400; flip += 23)
		for (int way = 0; way < 2; way++) {
			enum ats_addr_kind kind = flip % 2 == 0 ? ATS_ADDR_TLS : ATS_ADDR_WSS;
			int a[2], b[2], rc[2] = { -ATS_E_AGAIN, -ATS_E_AGAIN };
			struct pair p = { .tls = { NULL } };
			size_t passed[2] = { 0, 0 };
			char got[2][64];
			bool said[2] = { false, false };

			tls_pair(&p);
			ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM | SOCK_NONBLOCK, a), 0);
			ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM | SOCK_NONBLOCK, b), 0);
			p.w[0] = wire_over(a[0], kind, false, "x", p.tls[0]);
			p.w[1] = wire_over(b[0], kind, true, NULL, p.tls[1]);
			for (int turn = 0; turn < 12; turn++) {
				for (int i = 0; i < 2; i++) {
					struct iovec iov = { (void *)(uintptr_t)sent, 24 };

					if (!said[i])
						said[i] = ats_wire_send(p.w[i], &iov, 1, false) > 0;
					if (rc[i] == -ATS_E_AGAIN)
						rc[i] = (int)ats_wire_recv(p.w[i], got[i], 64);
				}
				relay(a[1], b[1], &passed[0], way == 0 ? flip : SIZE_MAX);
				relay(b[1], a[1], &passed[1], way == 1 ? flip : SIZE_MAX);
			}
			for (int i = 0; i < 2; i++) {
				if (rc[i] > 0)
					ck_assert_mem_eq(got[i], sent, (size_t)rc[i]);
				arrived += rc[i] == 24;
				refused += rc[i] == -ATS_E_PROTO || rc[i] == -ATS_E_PERM;
			}
			close(a[1]);
			close(b[1]);
			close_pair(&p);
		}
	ck_assert_msg(arrived > 20 && refused > 60, "%u %u", arrived, refused);
}
END_TEST

/* New keys are asked for while the socket to the peer is full. OpenSSL 3.0 cannot answer in the
 * middle of a record and ends the session; another may go on. Neither waits for ever. */
START_TEST(new_keys_for_a_peer_that_does_not_read)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	struct pair p = { .tls = { NULL } };
	static char mem[16384];
	struct iovec iov = { mem, sizeof(mem) };
	char buf[16384];
	int fds[2], rc = 0, came = 0;
	SSL *ssl;

	tls_pair(&p);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM | SOCK_NONBLOCK, fds), 0);
	p.w[1] = wire_over(fds[1], ATS_ADDR_TLS, true, NULL, p.tls[1]);
	ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fds[0]);
	while (SSL_connect(ssl) != 1)
		(void)!ats_wire_recv(p.w[1], buf, 1);
	(void)!ats_wire_recv(p.w[1], buf, 1);
	while ((rc = (int)ats_wire_send(p.w[1], &iov, 1, false)) > 0)
		;
	ck_assert_int_eq(rc, -ATS_E_AGAIN);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		ck_assert_int_eq(SSL_write(ssl, "data", 4), 4);
	}
	rc = -ATS_E_AGAIN;
	for (int i = 0; i < 2000 && came < 12 && (rc > 0 || rc == -ATS_E_AGAIN); i++) {
		rc = (int)ats_wire_recv(p.w[1], buf, sizeof(buf));
		came += rc > 0 ? rc : 0;
		(void)!ats_wire_flush(p.w[1]);
		(void)SSL_read(ssl, buf, sizeof(buf));
	}
	ck_assert_msg(came == 12 || (rc == -ATS_E_PROTO && ats_wire_why(p.w[1])[0] != '\0'),
	    "%d %d", came, rc);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	close(fds[0]);
	close_pair(&p);
}
END_TEST

/* A peer that pings without an end and reads nothing: one pong is owed, nothing grows. */
START_TEST(pings_without_end_cost_nothing)
{
	static const char ping[] = "\x89\x84\0\0\0\0ping";
	struct pair p = { .tls = { NULL } };
	char buf[4096], flood[(sizeof(ping) - 1) * 400];
	size_t sent = 0;
	int fds[2];

	for (size_t i = 0; i < 400; i++)
		memcpy(flood + i * (sizeof(ping) - 1), ping, sizeof(ping) - 1);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM | SOCK_NONBLOCK, fds), 0);
	p.w[1] = wire_over(fds[1], ATS_ADDR_WS, true, NULL, NULL);
	ck_assert_int_gt(send(fds[0], REQUEST, sizeof(REQUEST) - 1, 0), 0);
	for (int i = 0; i < 3000; i++) {
		/* Whole floods only: the socket takes all or nothing when it has room. */
		ssize_t rc = send(fds[0], flood, sizeof(flood), 0);

		ck_assert_int_eq(rc, sizeof(flood));
		sent += 400;
		ck_assert_int_eq((int)ats_wire_recv(p.w[1], buf, sizeof(buf)), -ATS_E_AGAIN);
	}
	ck_assert(ats_wire_wants_write(p.w[1]));
	ck_assert_int_eq(ats_wire_flush(p.w[1]), -ATS_E_AGAIN);
	ck_assert_uint_gt(sent, 1000000);
	while (recv(fds[0], buf, sizeof(buf), 0) > 0)
		;
	ck_assert_int_eq(ats_wire_flush(p.w[1]), 0);
	ck_assert_int_ge(recv(fds[0], buf, sizeof(buf), 0), 6);
	close(fds[0]);
	close_pair(&p);
}
END_TEST

ATS_UNIT_MAIN("wire", carry_each_kind_both_ways_in_any_pieces, end_of_the_peer_is_an_orderly_end,
    exporter_is_the_same_at_both_ends_and_of_one_session, only_the_expected_peer_is_taken,
    wrong_plans_are_told, pin_of_a_seed_is_the_documented_one, other_protocols_end_with_a_reason,
    end_at_any_byte_is_an_end, client_of_a_plain_server_ends_with_a_reason, older_tls_is_refused,
    changed_bytes_of_tls_never_pass, new_keys_for_a_peer_that_does_not_read,
    pings_without_end_cost_nothing)
