/* SPDX-License-Identifier: Apache-2.0
 *
 * Wires of each kind over a socketpair: bytes arrive as they were sent, whatever the sizes of
 * the pieces; the wrong peer is refused; a channel with streams does not notice the kind. */
#include "common/wire.h"

#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/fd.h"
#include "common/tls.h"
#include "tests/lib/unit.h"

static const unsigned char seed[ATS_TLS_SEED] = "the seed of a test, 32 bytes....";
static const enum ats_addr_kind kinds[] = { ATS_ADDR_UNIX, ATS_ADDR_TCP, ATS_ADDR_TLS,
	ATS_ADDR_WS, ATS_ADDR_WSS };

struct pair {
	struct ats_tls *tls[2];		/* client, server */
	struct ats_wire *w[2];
};

static void
tls_pair(struct pair *p)
{
	unsigned char pin[ATS_TLS_PIN];
	struct ats_tls_plan client = { .pin = pin }, server = { .server = true, .seed = seed };

	ck_assert_int_eq(ats_tls_seed_pin(seed, pin, NULL), 0);
	ck_assert_int_eq(ats_tls_new(&client, &p->tls[0], NULL), 0);
	ck_assert_int_eq(ats_tls_new(&server, &p->tls[1], NULL), 0);
}

static struct ats_wire *
wire_over(int fd, enum ats_addr_kind kind, bool server, const char *host, struct ats_tls *tls)
{
	struct ats_wire_plan plan = { .kind = kind, .server = server, .host = host,
		.path = "/link", .tls = tls };
	struct ats_err err = { .text = "" };
	struct ats_wire *w = NULL;

	ck_assert_msg(ats_wire_new(fd, &plan, &w, &err) == 0, "%s", err.text);
	return w;
}

static void
open_pair(struct pair *p, enum ats_addr_kind kind)
{
	int fds[2];

	memset(p, 0, sizeof(*p));
	if (kind == ATS_ADDR_TLS || kind == ATS_ADDR_WSS)
		tls_pair(p);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	p->w[0] = wire_over(fds[0], kind, false, "box.example", p->tls[0]);
	p->w[1] = wire_over(fds[1], kind, true, NULL, p->tls[1]);
}

static void
close_pair(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		ats_wire_free(p->w[i]);
		ats_tls_free(p->tls[i]);
	}
}

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

START_TEST(wrong_pin_is_refused_by_name)
{
	unsigned char pin[ATS_TLS_PIN] = { 1 };
	struct ats_tls_plan client = { .pin = pin };
	struct pair p;
	int rc[2];

	open_pair(&p, ATS_ADDR_TLS);
	ats_wire_free(p.w[0]);
	ats_wire_free(p.w[1]);
	ats_tls_free(p.tls[0]);
	ck_assert_int_eq(ats_tls_new(&client, &p.tls[0], NULL), 0);
	int fds[2];
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	p.w[0] = wire_over(fds[0], ATS_ADDR_TLS, false, "x", p.tls[0]);
	p.w[1] = wire_over(fds[1], ATS_ADDR_TLS, true, NULL, p.tls[1]);
	settle(p.w[0], p.w[1], rc);
	ck_assert_int_eq(rc[0], -ATS_E_PERM);
	ck_assert_str_eq(ats_wire_why(p.w[0]), "the peer's TLS key is not the one that was pinned");
	ck_assert_int_eq(rc[1], -ATS_E_PROTO);
	close_pair(&p);
}
END_TEST

ATS_UNIT_MAIN("wire", carry_each_kind_both_ways_in_any_pieces, end_of_the_peer_is_an_orderly_end,
    exporter_is_the_same_at_both_ends_and_of_one_session, wrong_pin_is_refused_by_name)
