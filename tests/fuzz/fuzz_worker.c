/* SPDX-License-Identifier: Apache-2.0
 *
 * front's ends of zygotes and workers, all of which may have been taken over. Input: orders,
 * each a byte and what it needs: zygotes send messages of any form, workers answers of any
 * form, with descriptors of any number; jobs are given, told, given up. Whatever comes: a
 * job ends at most once, no answer comes after its end, an answer lies within its limits,
 * the number of processes is bounded, and no descriptor or byte is left in the end. */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/front/pool.h"
#include "tests/fuzz/fuzz.h"

#define PROFILES 3
#define WORKERS 32
#define JOBS 32

struct peer {			/* a worker's own end */
	int sock;
	uint64_t serial;
	unsigned profile;
};
struct task {
	struct pool_waiter waiter;
	struct worker *w;
	bool ended, free_at_reply, big, input;
	unsigned profile;
};
struct play {
	struct front f;
	int zygote[PROFILES];
	struct peer peers[WORKERS];
	struct task tasks[JOBS];
	size_t npeers, ntasks;
	bool flooded;			/* once is enough: it takes long */
	uint64_t serial;
};

static int
next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	(void)close(fd);
	return fd;
}

/* ---- what front's users do ----------------------------------------------------------- */
static void
on_reply(void *ctx, const struct reply_head *h, const char *json, const char *payload)
{
	struct task *t = ctx;
	unsigned sum = 0;

	FUZZ_CHECK(!t->ended && t->w != NULL && t->w->state == WORKER_BUSY);
	FUZZ_CHECK(h->what >= REPLY_RESULT && h->what <= REPLY_RENDER);
	FUZZ_CHECK(h->json_len <= WORKER_JSON_MAX && h->payload_len <= WORKER_PAYLOAD_MAX);
	for (size_t i = 0; i < h->json_len; i++)
		sum += (unsigned char)json[i];
	for (size_t i = 0; i < h->payload_len; i++)
		sum += (unsigned char)payload[i];
	if (h->what != REPLY_RESULT)
		return;
	t->ended = true;
	if (t->free_at_reply || sum == 1)
		worker_release(t->w);
	else
		worker_done(t->w);
	t->w = NULL;
}

static void
on_lost(void *ctx, int status)
{
	struct task *t = ctx;

	(void)status;
	FUZZ_CHECK(!t->ended);
	t->ended = true;
	t->w = NULL;
}

static const struct worker_ops ops = { .reply = on_reply, .lost = on_lost };

static void
give(struct task *t, struct worker *w)
{
	static char json[512u << 10], extra[256u << 10];	/* more than a socket takes */
	const struct job_head h = { .json_len = t->big ? sizeof json : 64,
		.extra_len = t->big ? sizeof extra : 0 };

	t->w = w;
	if (worker_run_fd(w, &ops, t, &h, json, extra, t->input ? STDERR_FILENO : -1) < 0) {
		worker_release(w);
		t->w = NULL;
		t->ended = true;
	}
}

static void
on_got(void *ctx, struct worker *w, const struct ats_err *err)
{
	struct task *t = ctx;

	FUZZ_CHECK((w == NULL) == (err != NULL));
	if (w != NULL)
		give(t, w);
	else
		t->ended = true;
}

static void
begin_task(struct play *p, uint8_t how)
{
	struct task *t;
	struct worker *w;

	if (p->ntasks == JOBS)
		return;
	t = &p->tasks[p->ntasks++];
	*t = (struct task){ .waiter = { .got = on_got, .ctx = t }, .profile = how % PROFILES,
		.free_at_reply = (how & 0x80) != 0, .big = (how & 0x40) != 0,
		.input = (how & 0x20) != 0 };
	w = pool_take(p->f.pool, (enum ats_profile)t->profile);
	if (w != NULL)
		give(t, w);
	else
		pool_wait(p->f.pool, (enum ats_profile)t->profile, &t->waiter);
}

static void
end_task(struct play *p, uint8_t which)
{
	struct task *t = &p->tasks[which % JOBS];

	if (which % JOBS >= p->ntasks || t->ended)
		return;
	t->ended = true;
	if (t->w != NULL)
		worker_release(t->w);
	else
		pool_wait_cancel(p->f.pool, (enum ats_profile)t->profile, &t->waiter);
	t->w = NULL;
}

/* ---- what zygotes and workers do ------------------------------------------------------ */
static void
send_raw(int sock, const void *bytes, size_t n, unsigned nfds)
{
	const int fds[ATS_FD_PASS_MAX] = { 2, 2, 2, 2, 2, 2, 2, 2 };

	if (sock >= 0 && ats_fd_send(sock, bytes, n, fds, nfds % (ATS_FD_PASS_MAX + 1)) < 0)
		return;		/* full, or front has closed it */
}

static void
make_worker(struct play *p, uint8_t how)
{
	struct zygote_msg m = { .what = ZYGOTE_WORKER, .serial = ++p->serial };
	unsigned profile = how % PROFILES;
	int pair[2], fds[4] = { -1, 2, 2, 2 };

	if (p->npeers == WORKERS || p->zygote[profile] < 0)
		return;
	FUZZ_CHECK(ats_fd_socketpair(SOCK_STREAM, pair) == 0);
	FUZZ_CHECK(ats_fd_nonblock(pair[0], true) == 0);
	fds[0] = pair[1];
	/* a number that was used already, now and then */
	if ((how & 0x80) != 0)
		m.serial = 1;
	(void)!ats_fd_send(p->zygote[profile], &m, sizeof m, fds,
	    profile == ATS_PROFILE_SHELL ? 4 : 1);
	(void)close(pair[1]);
	p->peers[p->npeers++] = (struct peer){ pair[0], m.serial, profile };
}

static void
answer(struct peer *w, struct fuzz_in *in)
{
	struct reply_head h = { .what = fuzz_byte(in) % 8, .json_len = fuzz_byte(in),
		.payload_len = fuzz_byte(in) };
	uint8_t how = fuzz_byte(in);
	static char body[1024];

	h.zero = how == 0xff;
	if ((how & 0x40) != 0)
		h.json_len <<= 16;
	if ((how & 0x20) != 0)
		h.payload_len <<= 16;
	send_raw(w->sock, &h, how & 0x10 ? sizeof h / 2 : sizeof h, how & 0x3);
	if ((how & 0x80) == 0)
		send_raw(w->sock, body, h.json_len < 256 ? h.json_len + h.payload_len % 256 : 256,
		    0);
}

/* More than front wants to hold for one. */
static void
flood(struct play *p, struct peer *w)
{
	static const char much[64u << 10];
	const struct reply_head h = { REPLY_PROGRESS, WORKER_JSON_MAX, WORKER_PAYLOAD_MAX, 0 };

	if (p->flooded)
		return;
	p->flooded = true;
	send_raw(w->sock, &h, sizeof h, 0);
	for (int i = 0; i < 80; i++) {
		send_raw(w->sock, much, sizeof much, 0);
		(void)event_base_loop(p->f.base, EVLOOP_NONBLOCK);
	}
}

static void
zygote_says(struct play *p, uint8_t how, struct fuzz_in *in)
{
	struct zygote_msg m = { .what = fuzz_byte(in) % 8, .status = (int8_t)fuzz_byte(in) };
	uint8_t size = fuzz_byte(in);

	m.serial = fuzz_byte(in);
	memset(m.step, 'x', sizeof m.step);
	send_raw(p->zygote[how % PROFILES], &m, size & 0x80 ? size & 0x7f : sizeof m,
	    size & 0x7f ? (size >> 2) & 0xf : 0);
}

static void
zygote_ends(struct play *p, uint8_t how)
{
	unsigned profile = how % PROFILES;
	int pair[2];

	ats_fd_close(&p->zygote[profile]);
	if ((how & 0x80) == 0)
		return;
	FUZZ_CHECK(ats_fd_socketpair(SOCK_SEQPACKET, pair) == 0);
	p->zygote[profile] = pair[0];
	FUZZ_CHECK(ats_fd_nonblock(pair[0], true) == 0);
	pool_replace(p->f.pool, (enum ats_profile)profile, pair[1]);
}

static void
tell(struct play *p, uint8_t which)
{
	struct task *t = &p->tasks[which % JOBS];

	if (which % JOBS >= p->ntasks || t->w == NULL)
		return;
	worker_tell(t->w, which >> 5, which);
}

/* All of it, front's turns between. */
static void
read_from(struct play *p, struct peer *w)
{
	char bytes[8192];

	while (recv(w->sock, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
		(void)event_base_loop(p->f.base, EVLOOP_NONBLOCK);
}

static void
step(struct play *p, struct fuzz_in *in)
{
	uint8_t what = fuzz_byte(in), how = fuzz_byte(in);
	struct peer none = { .sock = -1 };
	struct peer *w = p->npeers > 0 ? &p->peers[how % p->npeers] : &none;
	struct ats_slice s;

	switch (what % 12) {
	case 0: make_worker(p, how); break;
	case 1: begin_task(p, how); break;
	case 2: answer(w, in); break;
	case 3:
		s = fuzz_bytes(in, fuzz_byte(in));
		send_raw(w->sock, s.p, s.n, what >> 4);
		break;
	case 4: ats_fd_close(&w->sock); break;
	case 5: zygote_says(p, how, in); break;
	case 6: zygote_ends(p, how); break;
	case 7: end_task(p, how); break;
	case 8: tell(p, how); break;
	case 9: flood(p, w); break;
	case 10: read_from(p, w); break;
	default: pool_touch(p->f.pool); break;
	}
	if ((what & 0x80) == 0)
		(void)event_base_loop(p->f.base, EVLOOP_NONBLOCK);
}

/* ---- begin and end --------------------------------------------------------------------- */
static void
start(struct play *p)
{
	int pair[2], ends[PROFILES];

	p->f.base = event_base_new();
	ats_buf_init(&p->f.rx, FRONT_RX_MAX);
	FUZZ_CHECK(p->f.base != NULL);
	for (unsigned i = 0; i < PROFILES; i++) {
		FUZZ_CHECK(ats_fd_socketpair(SOCK_SEQPACKET, pair) == 0);
		FUZZ_CHECK(ats_fd_nonblock(pair[0], true) == 0);
		p->zygote[i] = pair[0];
		ends[i] = pair[1];
	}
	p->f.pool = pool_new(&p->f, ends[0], ends[1], ends[2]);
	FUZZ_CHECK(p->f.pool != NULL);
	pool_start(p->f.pool);
}

static void
stop(struct play *p)
{
	for (size_t i = 0; i < p->ntasks; i++)
		end_task(p, (uint8_t)i);
	(void)event_base_loop(p->f.base, EVLOOP_NONBLOCK);
	pool_free(p->f.pool);
	event_base_free(p->f.base);
	ats_buf_done(&p->f.rx);
	for (unsigned i = 0; i < PROFILES; i++)
		ats_fd_close(&p->zygote[i]);
	for (size_t i = 0; i < p->npeers; i++)
		ats_fd_close(&p->peers[i].sock);
	FUZZ_CHECK(worker_unsent(&p->f) == 0);
}

/* What is passed may be a file, which epoll does not take. */
static void
be_quiet(int severity, const char *text)
{
	(void)severity;
	(void)text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct play p;
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in);
	int before = next_fd();

	memset(&p, 0, sizeof p);
	ats_log_init("fuzz", ATS_LOG_ERROR, -1);
	event_set_log_callback(be_quiet);
	start(&p);
	ats_fault_alloc(fault);
	for (int i = 0; i < 400 && in.n > 0; i++)
		step(&p, &in);
	ats_fault_alloc(0);
	stop(&p);
	FUZZ_CHECK(next_fd() == before);
	return 0;
}
