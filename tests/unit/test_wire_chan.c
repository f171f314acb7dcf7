/* SPDX-License-Identifier: Apache-2.0
 *
 * A channel with streams does not notice of which kind its wire is. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/chan.h"
#include "tests/lib/wire_pair.h"

struct end {
	struct ats_chan *c;
	size_t frames, bytes, wrong;
	int closed;
	char why[128];
};

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	(void)ctx;
	(void)h;
	(void)err;
	return 0;
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	struct end *e = ctx;

	(void)err;
	e->frames++;
	e->bytes += f->payload_n;
	for (size_t i = 0; i < f->payload_n; i += 509)
		e->wrong += f->payload[i] != 'p';
	return 0;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct end *e = ctx;

	e->closed = code;
	snprintf(e->why, sizeof(e->why), "%s", why);
}

static const struct ats_chan_ops ops = { on_check, on_frame, NULL, on_closed };

static void
chan_pair(struct event_base *base, struct pair *p, enum ats_addr_kind kind, struct end e[2])
{
	open_pair(p, kind);
	memset(e, 0, 2 * sizeof(*e));
	for (int i = 0; i < 2; i++) {
		e[i].c = ats_chan_new_wire(base, p->w[i], &ops, &e[i]);
		ck_assert_ptr_nonnull(e[i].c);
		ck_assert_ptr_eq(ats_chan_wire(e[i].c), p->w[i]);
		p->w[i] = NULL;
	}
}

struct source {
	int pipe_fd, feed_fd;
	size_t left;
	struct ats_stream *s;
};

/* Half of it from memory, half out of a pipe. */
static void
pump(void *ctx, size_t max, struct ats_chunk *k)
{
	static char mem[ATS_CHAN_CHUNK];
	struct source *s = ctx;
	size_t n = s->left < max ? s->left : max;

	memset(mem, 'p', sizeof(mem));
	k->type = 2;
	k->kind = 2;
	k->json_len = (size_t)snprintf(k->json, sizeof(k->json), "{}");
	if (s->pipe_fd >= 0 && n > 0) {
		/* With the faults of tests it may hold some from before. */
		ck_assert(write(s->feed_fd, mem, n) > 0 || errno == EAGAIN);
		s->left -= ats_stream_take(s->s, s->pipe_fd, n, k);
		return;
	}
	k->mem = mem;
	k->n = n;
	s->left -= n;
}

START_TEST(channels_with_streams_work_over_each_kind)
{
	for (size_t k = 0; k < ATS_ARRAY_LEN(kinds); k++) {
		struct event_base *base = event_base_new();
		struct source src[2] = { { -1, -1, 3 << 20, NULL }, { -1, -1, 3 << 20, NULL } };
		struct end e[2];
		struct pair p;
		int fds[2];

		chan_pair(base, &p, kinds[k], e);
		ck_assert_int_eq(ats_fd_pipe(fds, O_NONBLOCK), 0);
		src[1].pipe_fd = fds[0];
		src[1].feed_fd = fds[1];
		for (uint64_t i = 0; i < 2; i++) {	/* one each way, before any handshake */
			src[i].s = ats_stream_new(e[i].c, i, 1 << 20, pump, &src[i]);
			ats_stream_ready(src[i].s);
			ck_assert_int_eq(ats_chan_send(e[i].c, 1, 1, i, "{}", 2, NULL, 0), 0);
		}
		while (e[0].bytes < 1 << 20 || e[1].bytes < 1 << 20)
			ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
		ck_assert_uint_eq(ats_stream_credit_left(src[0].s), 0);
		for (int i = 0; i < 2; i++)
			ck_assert_int_eq(ats_stream_credit(src[i].s, 10 << 20), 0);
		while (e[0].bytes < 3 << 20 || e[1].bytes < 3 << 20)
			ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
		for (int i = 0; i < 2; i++) {
			ck_assert_uint_eq(e[i].bytes, 3 << 20);
			ck_assert_uint_eq(e[i].wrong, 0);
			ck_assert_int_eq(e[i].closed, 0);
			ats_stream_free(src[i].s);
			ats_chan_free(e[i].c);
		}
		close(fds[0]);
		close(fds[1]);
		close_pair(&p);
		event_base_free(base);
	}
}
END_TEST

/* The last words are said before a handshake that has not begun, and behind 2 MiB. */
START_TEST(close_lets_the_queue_leave_over_each_kind)
{
	static char big[2 << 20];

	memset(big, 'p', sizeof(big));
	for (size_t k = 0; k < ATS_ARRAY_LEN(kinds); k++) {
		struct event_base *base = event_base_new();
		struct end e[2];
		struct pair p;

		chan_pair(base, &p, kinds[k], e);
		ck_assert_int_eq(ats_chan_send(e[k % 2].c, 1, 1, 1, "{}", 2, big, sizeof(big)), 0);
		ck_assert_int_eq(ats_chan_send(e[k % 2].c, 1, 1, 2, "{}", 2, NULL, 0), 0);
		ats_chan_close(e[k % 2].c, ATS_E_BUSY, "bye");
		while (e[k % 2].closed == 0)
			ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
		ck_assert_int_eq(e[k % 2].closed, ATS_E_BUSY);
		ats_chan_free(e[k % 2].c);
		while (e[1 - k % 2].closed == 0)
			ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
		ck_assert_uint_eq(e[1 - k % 2].frames, 2);
		ck_assert_uint_eq(e[1 - k % 2].bytes, sizeof(big));
		ck_assert_int_eq(e[1 - k % 2].closed, ATS_E_EOF);
		ck_assert_str_eq(e[1 - k % 2].why, "the peer closed the connection");
		ats_chan_free(e[1 - k % 2].c);
		close_pair(&p);
		event_base_free(base);
	}
}
END_TEST

/* Two ends over TLS, after the handshake; what the first sends can be had from the result. */
static int
raw_pair(struct event_base *base, struct pair *p, struct end e[2])
{
	int fds[2];

	tls_pair(p);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	p->w[0] = wire_over(fds[0], ATS_ADDR_TLS, false, "x", p->tls[0]);
	p->w[1] = wire_over(dup(fds[1]), ATS_ADDR_TLS, true, NULL, p->tls[1]);
	memset(e, 0, 2 * sizeof(*e));
	for (int i = 0; i < 2; i++)
		e[i].c = ats_chan_new_wire(base, p->w[i], &ops, &e[i]);
	p->w[0] = p->w[1] = NULL;
	ck_assert_int_eq(ats_chan_send(e[1].c, 1, 1, 1, "{}", 2, NULL, 0), 0);
	while (e[0].frames == 0)
		ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
	return fds[1];
}

/* A small frame, header, JSON and payload, is one record and one write. */
START_TEST(small_frame_is_one_record)
{
	struct event_base *base = event_base_new();
	struct end e[2];
	struct pair p;
	char buf[4096];
	int raw = raw_pair(base, &p, e);

	ck_assert_int_eq(ats_chan_send(e[0].c, 1, 1, 1, "{\"a\":1}", 7, "payload", 7), 0);
	ck_assert_int_eq(recv(raw, buf, sizeof(buf), MSG_DONTWAIT),
	    5 + 20 + 7 + 7 + 1 + 16);	/* header, type, tag */
	for (int i = 0; i < 2; i++)
		ats_chan_free(e[i].c);
	close(raw);
	close_pair(&p);
	event_base_free(base);
}
END_TEST

/* A chunk with its head does not go a few bytes over them. */
START_TEST(chunks_of_a_stream_fill_records)
{
	struct event_base *base = event_base_new();
	struct source src = { -1, -1, 2 * ATS_CHAN_CHUNK, NULL };
	struct end e[2];
	struct pair p;
	static unsigned char body[1 << 17];
	unsigned char head[5];
	size_t n, got = 0;
	int raw = raw_pair(base, &p, e);

	ats_chan_free(e[1].c);		/* we read instead */
	src.s = ats_stream_new(e[0].c, 1, 1 << 20, pump, &src);
	ats_stream_ready(src.s);
	while (got < ATS_CHAN_CHUNK + ATS_CHAN_CHUNK / 2) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		ck_assert_int_eq(recv(raw, head, sizeof(head), MSG_WAITALL), sizeof(head));
		n = (size_t)head[3] << 8 | head[4];
		ck_assert_int_eq(recv(raw, body, n, MSG_WAITALL), n);
		got += n;
		ck_assert_uint_ge(n, 4096);
	}
	ats_stream_free(src.s);
	ats_chan_free(e[0].c);
	close(raw);
	close_pair(&p);
	event_base_free(base);
}
END_TEST

ATS_UNIT_MAIN("wire_chan", channels_with_streams_work_over_each_kind,
    close_lets_the_queue_leave_over_each_kind, small_frame_is_one_record,
    chunks_of_a_stream_fill_records)
