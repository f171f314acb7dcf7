/* SPDX-License-Identifier: Apache-2.0
 *
 * Channels: framing, caps, order, fairness, freeing inside callbacks, dying peers. */
#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/fd.h"
#include "tests/lib/unit.h"

#define SEEN_MAX 4096

struct seen {
	uint8_t type;
	uint64_t call;
	uint32_t json_len, payload_len;
	uint32_t sum;
};
struct end {				/* one side */
	struct ats_chan *c;
	struct seen seen[SEEN_MAX];
	size_t n, checks;
	int closed, code;
	bool free_in_frame, free_in_closed;
	uint8_t refuse;			/* type that check() refuses */
	struct end *other;		/* notes how far it was when a frame came here */
	size_t other_n;
	char why[256];
};

static struct event_base *base;

static uint32_t
sum_of(const void *p, size_t n, uint32_t h)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)p)[i]) * 16777619u;
	return h;
}

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	struct end *e = ctx;

	e->checks++;
	if (e->refuse != 0 && h->type == e->refuse)
		return ats_err_set(err, ATS_E_UNKNOWN_FRAME, "type %u", h->type);
	return 0;
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	struct end *e = ctx;
	struct seen *s = &e->seen[e->n++];

	(void)err;
	ck_assert(e->n < SEEN_MAX);
	*s = (struct seen){ f->head.type, f->head.call, f->head.json_len,
		f->head.payload_len, 0 };
	s->sum = sum_of(f->payload, f->payload_n, sum_of(f->json, f->head.json_len, 1));
	if (e->other != NULL)
		e->other_n = e->other->n;
	if (e->free_in_frame) {
		ats_chan_free(e->c);
		e->c = NULL;
	}
	return 0;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct end *e = ctx;

	e->closed++;
	e->code = code;
	snprintf(e->why, sizeof(e->why), "%s", why);
	if (e->free_in_closed) {
		ats_chan_free(e->c);
		e->c = NULL;
	}
}

static const struct ats_chan_ops ops = { on_check, on_frame, NULL, on_closed };

/* A channel for e; returns the raw other end, non-blocking. */
static int
open_raw(struct end *e)
{
	int fds[2];

	if (base == NULL)
		base = event_base_new();
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM | SOCK_NONBLOCK, fds), 0);
	e->c = ats_chan_new(base, fds[0], &ops, e);
	ck_assert_ptr_nonnull(e->c);
	return fds[1];
}

static void
open_pair(struct end *a, struct end *b)
{
	int raw = open_raw(a);

	b->c = ats_chan_new(base, raw, &ops, b);
	ck_assert_ptr_nonnull(b->c);
}

static void
shut(void)
{
	event_base_free(base);
	base = NULL;
}

static void
turn(void)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
run_until(const size_t *n, size_t want)
{
	while (*n < want)
		ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
}

static size_t
build(char *out, uint8_t type, uint64_t call, const char *json, const char *payload)
{
	struct ats_frame_head h = { .type = type, .kind = 1, .call = call,
		.json_len = (uint32_t)strlen(json) };

	h.len = ATS_FRAME_HEAD + h.json_len + (uint32_t)strlen(payload);
	ats_frame_head_put(&h, (unsigned char *)out);
	memcpy(out + ATS_FRAME_HEAD, json, strlen(json));
	memcpy(out + ATS_FRAME_HEAD + strlen(json), payload, strlen(payload));
	return h.len;
}

START_TEST(send_small_frames_arrive_in_order)
{
	static struct end a, b;

	open_pair(&a, &b);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_int_eq(ats_chan_send(a.c, 1, 1, i, "{\"x\":1}", 7, "pay", i % 4), 0);
	run_until(&b.n, 100);
	for (uint64_t i = 0; i < 100; i++) {
		ck_assert_uint_eq(b.seen[i].call, i);
		ck_assert_uint_eq(b.seen[i].payload_len, i % 4);
		ck_assert_uint_eq(b.seen[i].sum,
		    sum_of("pay", i % 4, sum_of("{\"x\":1}", 7, 1)));
	}
	ck_assert_uint_eq(b.checks, 100);
	ats_chan_free(a.c);
	ats_chan_free(b.c);
	shut();
}
END_TEST

START_TEST(send_corked_leaves_in_one_write)
{
	static struct end a;
	char got[4096];
	int raw = open_raw(&a);

	ats_chan_cork(a.c);
	ck_assert_int_eq(ats_chan_send(a.c, 1, 1, 1, "{}", 2, NULL, 0), 0);
	ck_assert_int_eq(ats_chan_send(a.c, 1, 1, 2, "{}", 2, "zz", 2), 0);
	ck_assert_int_eq(recv(raw, got, sizeof(got), 0), -1);
	ats_chan_uncork(a.c);
	ck_assert_int_eq(recv(raw, got, sizeof(got), 0), 46);
	ck_assert_uint_eq(ats_chan_queued(a.c), 0);
	ats_chan_free(a.c);
	close(raw);
	shut();
}
END_TEST

START_TEST(send_over_the_queue_limit_says_full_and_loses_nothing)
{
	static struct end a, b;
	static char big[3 << 20];
	size_t sent = 0;
	int rc;

	memset(big, 'b', sizeof(big));
	open_pair(&a, &b);
	while ((rc = ats_chan_send(a.c, 1, 1, sent, "{}", 2, big, sizeof(big))) == 0)
		sent++;
	ck_assert_int_eq(rc, -ATS_E_FULL);
	ck_assert_uint_ge(ats_chan_queued(a.c), ATS_CHAN_OUT_MAX);
	run_until(&b.n, sent);
	for (size_t i = 0; i < sent; i++)
		ck_assert_uint_eq(b.seen[i].sum,
		    sum_of(big, sizeof(big), sum_of("{}", 2, 1)));
	ck_assert_int_eq(ats_chan_send(a.c, 1, 1, sent, "{}", 2, NULL, 0), 0);
	ck_assert_int_eq(ats_chan_send(a.c, 1, 1, 1, NULL, 0, big, 30u << 20),
	    -ATS_E_TOOBIG);
	run_until(&b.n, sent + 1);
	ats_chan_free(a.c);
	ats_chan_free(b.c);
	shut();
}
END_TEST

START_TEST(read_bad_heads_close_before_the_body)
{
	static const struct {
		unsigned char head[ATS_FRAME_HEAD];
		int code;
		size_t checks;
	} rows[] = {
		{ { 0, 0, 0, 19, 1, 1 }, ATS_E_PROTO, 0 },
		{ { 0, 0, 0, 0, 1, 1 }, ATS_E_PROTO, 0 },
		{ { 0xff, 0xff, 0xff, 0xff, 1, 1 }, ATS_E_TOOBIG, 0 },
		{ { 1, 0x40, 0, 1, 1, 1 }, ATS_E_TOOBIG, 0 },
		{ { 0, 0, 0, 30, 1, 1, 0, 1 }, ATS_E_PROTO, 0 },
		{ { 0, 0, 0, 30, 1, 1, 1, 0 }, ATS_E_PROTO, 0 },
		{ { 0, 0, 0, 30, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11 },
		    ATS_E_PROTO, 0 },
		{ { 0, 0, 0, 30, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff },
		    ATS_E_PROTO, 0 },
		/* well-formed, refused by check() though its body never comes */
		{ { 0, 0x10, 0, 0, 9, 1 }, ATS_E_UNKNOWN_FRAME, 1 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct end *e = calloc(1, sizeof(*e));
		int raw = open_raw(e);

		e->refuse = 9;
		ck_assert_int_eq(write(raw, rows[i].head, ATS_FRAME_HEAD), ATS_FRAME_HEAD);
		turn();
		ck_assert_int_eq(e->closed, 1);
		ck_assert_msg(e->code == rows[i].code, "row %zu: %d", i, e->code);
		ck_assert_uint_eq(e->checks, rows[i].checks);
		ck_assert_uint_eq(e->n, 0);
		ck_assert_int_eq(ats_chan_send(e->c, 1, 1, 1, NULL, 0, NULL, 0), -ATS_E_EOF);
		turn();
		ck_assert_int_eq(e->closed, 1);
		ats_chan_free(e->c);
		close(raw);
		free(e);
	}
	shut();
}
END_TEST

START_TEST(read_peer_dies_at_every_byte)
{
	char bytes[128];
	size_t len = build(bytes, 1, 77, "{\"a\":[1,2]}", "payload");

	for (size_t at = 0; at <= len; at++) {
		struct end *e = calloc(1, sizeof(*e));
		int raw = open_raw(e);

		ck_assert_int_eq(write(raw, bytes, at), (ssize_t)at);
		turn();
		close(raw);
		while (e->closed == 0)
			event_base_loop(base, EVLOOP_ONCE);
		turn();
		ck_assert_int_eq(e->closed, 1);
		ck_assert_int_eq(e->code, ATS_E_EOF);
		ck_assert_uint_eq(e->n, at == len ? 1 : 0);
		ck_assert_int_eq(strstr(e->why, "middle") != NULL, at > 0 && at < len);
		ats_chan_free(e->c);
		free(e);
	}
	shut();
}
END_TEST

START_TEST(read_byte_by_byte_gives_the_same_frames)
{
	static struct end e;
	char bytes[128];
	size_t len = build(bytes, 1, 5, "{\"k\":\"v\"}", "pp");
	int raw = open_raw(&e);

	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < len; i++) {
			ck_assert_int_eq(write(raw, bytes + i, 1), 1);
			turn();
			ck_assert_uint_eq(e.n, (size_t)round + (i + 1 == len));
		}
	ats_chan_free(e.c);
	close(raw);
	shut();
}
END_TEST

/* Its rest is not left for other turns, in pieces as large as what happens to be free. */
START_TEST(read_of_a_frame_larger_than_the_buffer_takes_one_turn)
{
	static char payload[100001], bytes[sizeof(payload) + 64];
	static struct end e;
	size_t len;
	int raw = open_raw(&e);

	memset(payload, 'p', sizeof(payload) - 1);
	len = build(bytes, 1, 5, "{}", payload);
	for (size_t round = 1; round <= 3; round++) {
		ck_assert_int_eq(write(raw, bytes, len), (ssize_t)len);
		turn();
		ck_assert_uint_eq(e.n, round);
		ck_assert_uint_eq(e.seen[e.n - 1].sum, e.seen[0].sum);
	}
	ats_chan_free(e.c);
	close(raw);
	shut();
}
END_TEST

START_TEST(read_small_frames_alone_take_little_memory)
{
	static struct end ends[100];
	size_t before = mallinfo2().uordblks, after;
	int raw[100];
	char b[64];
	size_t n = build(b, 1, 1, "{}", "a heartbeat");

	for (size_t i = 0; i < 100; i++) {
		raw[i] = open_raw(&ends[i]);
		for (int k = 0; k < 3; k++)
			ck_assert_int_eq(write(raw[i], b, n), n);
	}
	for (size_t i = 0; i < 100; i++)
		run_until(&ends[i].n, 3);
	after = mallinfo2().uordblks;
	ck_assert_uint_le(after, before + 100 * 8192);
	for (size_t i = 0; i < 100; i++) {
		close(raw[i]);
		ats_chan_free(ends[i].c);
	}
	shut();
}
END_TEST

START_TEST(read_a_turn_is_bounded_and_others_get_theirs)
{
	static struct end a, b;
	static char bytes[32 * 1000];
	size_t len = build(bytes, 1, 1, "{}", "");
	int raw_a = open_raw(&a), raw_b = open_raw(&b);

	b.other = &a;
	for (size_t i = 1; i < 1000; i++)
		memcpy(bytes + i * len, bytes, len);
	ck_assert_int_eq(write(raw_a, bytes, len * 1000), (ssize_t)len * 1000);
	ck_assert_int_eq(write(raw_b, bytes, len), (ssize_t)len);
	run_until(&b.n, 1);
	run_until(&a.n, 1000);
	ck_assert_uint_lt(b.other_n, 100);
	ats_chan_free(a.c);
	ats_chan_free(b.c);
	close(raw_a);
	close(raw_b);
	shut();
}
END_TEST

START_TEST(free_inside_frame_and_closed_is_safe)
{
	static struct end a, b;
	char bytes[128];
	size_t len = build(bytes, 1, 1, "{}", "x");
	int raw = open_raw(&a);

	a.free_in_frame = true;
	ck_assert_int_eq(write(raw, bytes, len), (ssize_t)len);
	ck_assert_int_eq(write(raw, bytes, len), (ssize_t)len);
	run_until(&a.n, 1);
	turn();
	ck_assert_uint_eq(a.n, 1);
	ck_assert_int_eq(a.closed, 0);
	close(raw);

	raw = open_raw(&b);
	b.free_in_closed = true;
	close(raw);
	while (b.closed == 0)
		event_base_loop(base, EVLOOP_ONCE);
	turn();
	ck_assert_int_eq(b.closed, 1);
	ck_assert_ptr_null(b.c);
	shut();
}
END_TEST

START_TEST(send_to_a_vanished_peer_closes_later_not_inside)
{
	static struct end a;
	int raw = open_raw(&a);

	close(raw);
	ck_assert_int_eq(ats_chan_send(a.c, 1, 1, 1, NULL, 0, NULL, 0), -ATS_E_EOF);
	ck_assert_int_eq(a.closed, 0);
	turn();
	ck_assert_int_eq(a.closed, 1);
	ats_chan_free(a.c);
	shut();
}
END_TEST

START_TEST(close_lets_the_queue_leave_first)
{
	static struct end a, b;
	static char big[1 << 20];

	open_pair(&a, &b);
	ck_assert_int_eq(ats_chan_send(a.c, 1, 1, 1, "{}", 2, big, sizeof(big)), 0);
	ats_chan_close(a.c, ATS_E_BUSY, "bye");
	ck_assert_int_eq(ats_chan_send(a.c, 1, 1, 2, "{}", 2, NULL, 0), -ATS_E_EOF);
	while (a.closed == 0)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_int_eq(a.code, ATS_E_BUSY);
	ck_assert_str_eq(a.why, "bye");
	ats_chan_free(a.c);
	while (b.closed == 0)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_uint_eq(b.n, 1);
	ck_assert_int_eq(b.code, ATS_E_EOF);
	ats_chan_free(b.c);
	shut();
}
END_TEST

ATS_UNIT_MAIN("chan", send_small_frames_arrive_in_order, send_corked_leaves_in_one_write,
    send_over_the_queue_limit_says_full_and_loses_nothing,
    read_bad_heads_close_before_the_body, read_peer_dies_at_every_byte,
    read_byte_by_byte_gives_the_same_frames,
    read_of_a_frame_larger_than_the_buffer_takes_one_turn,
    read_small_frames_alone_take_little_memory,
    read_a_turn_is_bounded_and_others_get_theirs, free_inside_frame_and_closed_is_safe,
    send_to_a_vanished_peer_closes_later_not_inside, close_lets_the_queue_leave_first)
