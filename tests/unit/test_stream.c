/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: turns, credit, back-pressure, splice from and into pipes with checksums. */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/chan.h"
#include "common/digest.h"
#include "common/fd.h"
#include "tests/lib/unit.h"

#define BULK (64u << 20)

static struct event_base *base;
static uint64_t calls[65536];
static size_t nframes, payload_bytes, memory_bytes;
static int sink_fd = -1, closed_code;
static bool write_rest;
static struct ats_sha256 *memory_sum;

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	(void)ctx;
	(void)err;
	(void)h;
	return 0;
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	(void)ctx;
	(void)err;
	calls[nframes++ % ATS_ARRAY_LEN(calls)] = f->head.call;
	payload_bytes += f->head.payload_len;
	memory_bytes += f->payload_n;
	if (memory_sum != NULL)
		ats_sha256_add(memory_sum, f->payload, f->payload_n);
	/* What the pipe did not take: an owner would wait, this one writes it at once. */
	if (write_rest && f->payload_n > 0) {
		ck_assert_int_eq(ats_fd_nonblock(sink_fd, false), 0);
		ck_assert_int_eq(ats_fd_write_all(sink_fd, f->payload, f->payload_n), 0);
		ck_assert_int_eq(ats_fd_nonblock(sink_fd, true), 0);
	}
	return 0;
}

static int
on_sink(void *ctx, const struct ats_frame *f)
{
	(void)ctx;
	(void)f;
	return sink_fd;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	(void)ctx;
	(void)why;
	closed_code = code;
}

static const struct ats_chan_ops ops = { on_check, on_frame, on_sink, on_closed };

static void
open_pair(struct ats_chan **a, struct ats_chan **b)
{
	int fds[2];

	base = event_base_new();
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	*a = ats_chan_new(base, fds[0], &ops, NULL);
	*b = ats_chan_new(base, fds[1], &ops, NULL);
	ck_assert_ptr_nonnull(*a);
	ck_assert_ptr_nonnull(*b);
}

static void
close_pair(struct ats_chan *a, struct ats_chan *b)
{
	ats_chan_free(a);
	ats_chan_free(b);
	event_base_free(base);
}

struct source {
	const char *mem;
	int pipe_fd;
	size_t left, chunk, pumped;
	uint64_t offset;
};

static void
pump(void *ctx, size_t max, struct ats_chunk *k)
{
	struct source *s = ctx;
	size_t n = s->left < max ? s->left : max;

	if (s->chunk > 0 && n > s->chunk)
		n = s->chunk;
	k->type = 2;
	k->kind = 2;
	k->json_len = (size_t)snprintf(k->json, sizeof(k->json), "{\"offset\":%llu}",
	    (unsigned long long)s->offset);
	k->mem = s->mem;
	k->pipe_fd = s->pipe_fd;
	k->n = n;
	s->left -= n;
	s->offset += n;
	s->pumped += n;
}

START_TEST(streams_with_data_take_turns)
{
	static char mem[ATS_CHAN_CHUNK];
	struct source src[3];
	struct ats_stream *s[3];
	struct ats_chan *a, *b;

	open_pair(&a, &b);
	for (unsigned i = 0; i < 3; i++) {
		src[i] = (struct source){ .mem = mem, .pipe_fd = -1, .left = 8u << 20 };
		s[i] = ats_stream_new(a, i, UINT64_MAX / 2, pump, &src[i]);
		ck_assert_ptr_nonnull(s[i]);
		ats_stream_ready(s[i]);
	}
	while (payload_bytes < 3 * (8u << 20))
		event_base_loop(base, EVLOOP_ONCE);
	for (size_t i = 0; i < nframes; i++)
		ck_assert_uint_eq(calls[i], i % 3);
	ck_assert_uint_eq(nframes, 3 * (8u << 20) / ATS_CHAN_CHUNK);
	for (unsigned i = 0; i < 3; i++)
		ats_stream_free(s[i]);
	close_pair(a, b);
}
END_TEST

START_TEST(stream_stops_at_its_credit_and_goes_on)
{
	static char mem[ATS_CHAN_CHUNK];
	struct source src = { .mem = mem, .pipe_fd = -1, .left = 1u << 20 };
	struct ats_chan *a, *b;
	struct ats_stream *s;

	open_pair(&a, &b);
	s = ats_stream_new(a, 1, 100000, pump, &src);
	ck_assert_ptr_nonnull(s);
	ats_stream_ready(s);
	for (int i = 0; i < 50; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(payload_bytes, 100000);
	ck_assert_uint_eq(ats_stream_credit_left(s), 0);
	ck_assert_int_eq(ats_stream_credit(s, 1), 0);
	while (payload_bytes < 100001)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_int_eq(ats_stream_credit(s, UINT64_C(1) << 63), 0);
	ck_assert_int_eq(ats_stream_credit(s, UINT64_C(1) << 63), -ATS_E_CREDIT);
	ck_assert_int_eq(ats_stream_credit(s, UINT64_MAX), -ATS_E_CREDIT);
	while (payload_bytes < (1u << 20))
		event_base_loop(base, EVLOOP_ONCE);
	ats_stream_free(s);
	close_pair(a, b);
}
END_TEST

START_TEST(stream_of_a_peer_that_does_not_read_is_not_pumped)
{
	static char mem[ATS_CHAN_CHUNK], got[1 << 20];
	struct source src = { .mem = mem, .pipe_fd = -1, .left = 64u << 20 };
	struct ats_stream *s;
	struct ats_chan *a;
	size_t have = 0, pos = 0;
	int fds[2];

	base = event_base_new();
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	a = ats_chan_new(base, fds[0], &ops, NULL);
	s = ats_stream_new(a, 1, UINT64_MAX / 2, pump, &src);
	ck_assert_ptr_nonnull(s);
	ats_stream_ready(s);
	for (int i = 0; i < 50; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_lt(src.pumped, 1u << 20);
	ck_assert_uint_le(ats_chan_queued(a), ATS_CHAN_CHUNK + 64);
	/* A control frame waits behind what is in the socket and one chunk, no more. */
	ck_assert_int_eq(ats_chan_send(a, 4, 1, 99, "{}", 2, NULL, 0), 0);
	for (;;) {
		struct ats_frame_head h;
		ssize_t n = recv(fds[1], got + have, sizeof(got) - have, MSG_DONTWAIT);

		if (n > 0)
			have += (size_t)n;
		ck_assert_uint_lt(have, sizeof(got));
		event_base_loop(base, EVLOOP_NONBLOCK);
		while (have - pos >= ATS_FRAME_HEAD) {
			ck_assert_int_eq(ats_frame_head_get((unsigned char *)got + pos, &h,
				NULL), 0);
			if (h.call == 99 || have - pos < h.len)
				break;
			pos += h.len;
		}
		if (have - pos >= ATS_FRAME_HEAD && h.call == 99)
			break;
	}
	ck_assert_uint_lt(pos, 512u << 10);
	ats_stream_free(s);
	ats_chan_free(a);
	close(fds[1]);
	event_base_free(base);
}
END_TEST

/* ---- pipes ------------------------------------------------------------------------ */

struct pipe_source {
	int fd;
	struct event *ev;
	struct ats_stream *s;
	uint64_t offset;
	bool eof;
};

static void
pump_pipe(void *ctx, size_t max, struct ats_chunk *k)
{
	struct pipe_source *p = ctx;
	int have = 0;

	ck_assert_int_eq(ioctl(p->fd, FIONREAD, &have), 0);
	if (have == 0) {
		event_add(p->ev, NULL);
		return;
	}
	k->type = 2;
	k->kind = 2;
	k->json_len = (size_t)snprintf(k->json, sizeof(k->json), "{\"offset\":%llu}",
	    (unsigned long long)p->offset);
	k->pipe_fd = p->fd;
	k->n = (size_t)have < max ? (size_t)have : max;
	p->offset += k->n;
}

static void
on_pipe(evutil_socket_t fd, short what, void *ctx)
{
	struct pipe_source *p = ctx;
	int have = 0;

	(void)what;
	ck_assert_int_eq(ioctl(fd, FIONREAD, &have), 0);
	if (have == 0) {
		p->eof = true;
		return;
	}
	ats_stream_ready(p->s);
}

/* Writes BULK bytes of a pattern in odd pieces and the digest into report. */
static void
produce(int out, int report)
{
	static char block[97 * 1024];
	struct ats_sha256 *sum = ats_sha256_new();
	char hex[ATS_SHA256_HEX];
	uint32_t x = 12345;
	size_t left = BULK;

	while (left > 0) {
		size_t n = left < sizeof(block) ? left : sizeof(block) - left % 4099;

		for (size_t i = 0; i + 4 <= n; i += 4) {
			x = x * 1664525u + 1013904223u;
			memcpy(block + i, &x, 4);
		}
		ats_sha256_add(sum, block, n);
		if (ats_fd_write_all(out, block, n) < 0)
			_exit(2);
		left -= n;
	}
	ats_sha256_finish(sum, hex);
	_exit(ats_fd_write_all(report, hex, sizeof(hex)) < 0);
}

static void
consume(int in, int report)
{
	static char block[128 * 1024];
	struct ats_sha256 *sum = ats_sha256_new();
	char hex[ATS_SHA256_HEX];
	ssize_t n;

	while ((n = ats_fd_read(in, block, sizeof(block))) > 0)
		ats_sha256_add(sum, block, (size_t)n);
	ats_sha256_finish(sum, hex);
	_exit(ats_fd_write_all(report, hex, sizeof(hex)) < 0);
}

START_TEST(splice_from_and_into_pipes_keeps_every_byte)
{
	int from[2], to[2], report_a[2], report_b[2];
	char hex_a[ATS_SHA256_HEX], hex_b[ATS_SHA256_HEX];
	struct pipe_source src = { 0 };
	struct ats_chan *a, *b;
	pid_t producer, consumer;

	ck_assert_int_eq(ats_fd_pipe(from, 0), 0);
	ck_assert_int_eq(ats_fd_pipe(to, 0), 0);
	ck_assert_int_eq(ats_fd_pipe(report_a, 0), 0);
	ck_assert_int_eq(ats_fd_pipe(report_b, 0), 0);
	(void)fcntl(from[0], F_SETPIPE_SZ, 1 << 20);
	(void)fcntl(to[0], F_SETPIPE_SZ, 1 << 20);
	producer = fork();
	if (producer == 0)
		produce(from[1], report_a[1]);
	close(from[1]);
	consumer = fork();
	if (consumer == 0) {
		close(to[1]);
		consume(to[0], report_b[1]);
	}
	close(to[0]);
	open_pair(&a, &b);
	sink_fd = to[1];
	write_rest = true;
	ck_assert_int_eq(ats_fd_nonblock(sink_fd, true), 0);
	ats_chan_expect_sinks(b, true);
	src.fd = from[0];
	src.ev = event_new(base, src.fd, EV_READ, on_pipe, &src);
	src.s = ats_stream_new(a, 7, UINT64_MAX / 2, pump_pipe, &src);
	ck_assert_ptr_nonnull(src.s);
	event_add(src.ev, NULL);
	while (payload_bytes < BULK)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_uint_eq(src.offset, BULK);
	ck_assert_uint_eq(payload_bytes, BULK);
	ck_assert_uint_lt(memory_bytes, BULK);
	close(to[1]);
	sink_fd = -1;
	ck_assert_int_eq(ats_fd_read_all(report_a[0], hex_a, sizeof(hex_a)), 0);
	ck_assert_int_eq(ats_fd_read_all(report_b[0], hex_b, sizeof(hex_b)), 0);
	ck_assert_str_eq(hex_a, hex_b);
	waitpid(producer, NULL, 0);
	waitpid(consumer, NULL, 0);
	ats_stream_free(src.s);
	event_free(src.ev);
	close_pair(a, b);
	close(from[0]);
	for (int i = 0; i < 2; i++) {
		close(report_a[i]);
		close(report_b[i]);
	}
}
END_TEST

START_TEST(sink_that_is_full_gives_the_rest_from_memory)
{
	static char mem[ATS_CHAN_CHUNK], back[ATS_CHAN_CHUNK];
	char sum_all[ATS_SHA256_HEX], sum_got[ATS_SHA256_HEX];
	struct ats_sha256 *h = ats_sha256_new();
	struct ats_chan *a, *b;
	ssize_t in_pipe;
	int to[2];

	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (char)(i * 7 + i / 251);
	ck_assert_int_eq(ats_fd_pipe(to, O_NONBLOCK), 0);
	ck_assert_int_eq(fcntl(to[0], F_SETPIPE_SZ, 4096), 4096);
	open_pair(&a, &b);
	memory_sum = ats_sha256_new();
	ck_assert_ptr_nonnull(memory_sum);
	ck_assert_ptr_nonnull(h);
	ats_chan_expect_sinks(b, true);
	sink_fd = to[1];
	ck_assert_int_eq(ats_chan_send(a, 2, 2, 7, "{}", 2, mem, sizeof(mem)), 0);
	while (nframes == 0)
		event_base_loop(base, EVLOOP_ONCE);
	in_pipe = read(to[0], back, sizeof(back));
	ck_assert_int_gt(in_pipe, 0);
	ck_assert_uint_eq((size_t)in_pipe + memory_bytes, sizeof(mem));
	ck_assert_int_eq(memcmp(back, mem, (size_t)in_pipe), 0);
	ats_sha256_add(h, mem + in_pipe, memory_bytes);
	ats_sha256_finish(h, sum_all);
	ats_sha256_finish(memory_sum, sum_got);
	ck_assert_str_eq(sum_all, sum_got);
	close(to[0]);
	close(to[1]);
	close_pair(a, b);
}
END_TEST

START_TEST(free_in_the_middle_of_a_splice_completes_the_frame)
{
	static char mem[ATS_CHAN_CHUNK], got[1 << 20];
	struct source src = { .left = 1u << 20 };
	struct ats_stream *s;
	struct ats_chan *a;
	size_t have = 0, pos = 0;
	int fds[2], from[2];
	ssize_t n;

	base = event_base_new();
	ck_assert_int_eq(ats_fd_pipe(from, O_NONBLOCK), 0);
	(void)fcntl(from[0], F_SETPIPE_SZ, 1 << 20);
	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (char)i;
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(write(from[1], mem, sizeof(mem)), sizeof(mem));
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, fds), 0);
	a = ats_chan_new(base, fds[0], &ops, NULL);
	src.pipe_fd = from[0];
	s = ats_stream_new(a, 1, UINT64_MAX / 2, pump, &src);
	ck_assert_ptr_nonnull(s);
	ats_stream_ready(s);
	for (int i = 0; i < 20; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_lt(src.pumped, 1u << 20);
	ck_assert_int_eq(ats_chan_send(a, 4, 1, 99, "{}", 2, NULL, 0), 0);
	ats_stream_free(s);
	close(from[0]);
	close(from[1]);
	for (;;) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		n = recv(fds[1], got + have, sizeof(got) - have, MSG_DONTWAIT);
		if (n > 0)
			have += (size_t)n;
		else if (ats_chan_queued(a) == 0)
			break;
	}
	while (pos < have) {
		struct ats_frame_head h;

		ck_assert_int_eq(ats_frame_head_get((unsigned char *)got + pos, &h, NULL), 0);
		ck_assert_uint_le(h.len, have - pos);
		for (size_t i = 0; i < h.payload_len; i++)
			ck_assert_int_eq(got[pos + ATS_FRAME_HEAD + h.json_len + i], (char)i);
		pos += h.len;
		ck_assert_int_eq(h.call == 99, pos == have);
	}
	ck_assert_int_eq(closed_code, 0);
	ats_chan_free(a);
	close(fds[1]);
	event_base_free(base);
}
END_TEST

/* A pump whose pipe another process reads as well: at worst between the two calls. */
struct shared {
	struct ats_stream *s;
	int fd[2];
	uint64_t offset;
	bool late;			/* the other reads after the pump, else before it */
};

static void
drink(int fd)
{
	static char gone[1 << 20];

	ck_assert(read(fd, gone, sizeof(gone)) != 0);
}

static void
pump_shared(void *ctx, size_t max, struct ats_chunk *k)
{
	struct shared *p = ctx;

	if (!p->late)
		drink(p->fd[0]);
	ck_assert_uint_eq(ats_stream_take(p->s, p->fd[0], max, k), k->n);
	if (p->late)
		drink(p->fd[0]);
	k->type = 2;
	k->kind = 2;
	k->json_len = (size_t)snprintf(k->json, sizeof(k->json), "{\"offset\":%llu}",
	    (unsigned long long)p->offset);
	p->offset += k->n;
}

START_TEST(stream_of_a_pipe_that_others_read_sends_what_it_took)
{
	static const size_t sizes[] = { 100, 16u << 10, 64u << 10, 200u << 10 };
	static char mem[200u << 10];
	struct shared p = { .offset = 0 };
	struct ats_chan *a, *b;

	open_pair(&a, &b);
	ck_assert_int_eq(ats_fd_pipe(p.fd, O_NONBLOCK), 0);
	(void)fcntl(p.fd[0], F_SETPIPE_SZ, 1 << 20);
	p.s = ats_stream_new(a, 1, UINT64_MAX / 2, pump_shared, &p);
	ck_assert_ptr_nonnull(p.s);
	for (size_t i = 0; i < 2 * ATS_ARRAY_LEN(sizes); i++) {
		size_t n = sizes[i / 2];
		uint64_t was = p.offset;

		p.late = i % 2 == 0;
		ck_assert_int_eq(write(p.fd[1], mem, n), (ssize_t)n);
		ats_stream_ready(p.s);
		for (int k = 0; k < 20; k++)
			event_base_loop(base, EVLOOP_NONBLOCK);
		ck_assert_uint_eq(ats_chan_queued(a), 0);
		ck_assert_int_eq(closed_code, 0);
		if (p.late && getenv("ATS_FAULT") != NULL)
			ck_assert_uint_gt(p.offset, was);	/* short writes */
		else if (p.late)
			ck_assert_uint_ge(p.offset - was, n < (32u << 10) ? n : 32u << 10);
		else
			ck_assert_uint_eq(p.offset, was);
	}
	ats_stream_free(p.s);
	close(p.fd[0]);
	close(p.fd[1]);
	close_pair(a, b);
}
END_TEST

START_TEST(pump_that_promises_too_much_closes_the_channel)
{
	struct source src = { .left = 1u << 20 };
	struct ats_chan *a, *b;
	struct ats_stream *s;
	int from[2];

	ck_assert_int_eq(ats_fd_pipe(from, 0), 0);	/* blocking: must not hang */
	ck_assert_int_eq(write(from[1], "abc", 3), 3);
	open_pair(&a, &b);
	src.pipe_fd = from[0];
	s = ats_stream_new(a, 1, UINT64_MAX / 2, pump, &src);
	ck_assert_ptr_nonnull(s);
	ats_stream_ready(s);
	while (closed_code == 0)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_int_eq(closed_code, ATS_E_SYS);
	ats_stream_free(s);
	close(from[0]);
	close(from[1]);
	close_pair(a, b);
}
END_TEST

ATS_UNIT_MAIN("stream", streams_with_data_take_turns, stream_stops_at_its_credit_and_goes_on,
    stream_of_a_peer_that_does_not_read_is_not_pumped,
    splice_from_and_into_pipes_keeps_every_byte,
    sink_that_is_full_gives_the_rest_from_memory,
    free_in_the_middle_of_a_splice_completes_the_frame,
    stream_of_a_pipe_that_others_read_sends_what_it_took,
    pump_that_promises_too_much_closes_the_channel)
