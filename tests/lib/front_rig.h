/* SPDX-License-Identifier: Apache-2.0
 *
 * front without a sandbox: a scripted brain on one side, scripted zygotes and workers on
 * the other, all in one process and one loop, so that every order of events can be
 * played. */
#ifndef ATS_TESTS_LIB_FRONT_RIG_H
#define ATS_TESTS_LIB_FRONT_RIG_H

#include "hands/front/front.h"

#include "common/digest.h"
#include "common/fd.h"
#include "hands/front/background.h"
#include "hands/front/calls.h"
#include "hands/front/link.h"
#include "hands/front/pool.h"
#include "hands/front/report.h"
#include "hands/front/spill.h"
#include "tests/lib/unit.h"

#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WORKERS 128
#define SESSION "s-000000000001"
#define CTX "{\"cwd\":\"/ws\"}"

struct fake_worker {
	int sock, out, err, in;
	unsigned profile;
	uint64_t serial;
	bool used;
};
struct frame {
	struct ats_frame_head h;
	char json[8192];
	char payload[65536];
};
struct rig {
	struct front f;
	int brain, listen_fd;
	int zygote[3];
	struct fake_worker w[WORKERS];
	unsigned nw, killed;
	unsigned stillborn;	/* so many workers are killed before they announce themselves */
	uint64_t serial, last_killed;
	char dir[64], in[1u << 17];
	size_t have;
	int spill_fd;
	int input; /* that came with the newest job (JOB_INPUT), or -1 */
	struct fake_worker *tester[3]; /* who has the self-test: one of each profile */
};
static struct rig rig;

/* ---- fake zygotes ------------------------------------------------------------------ */
static inline void
say_gone(struct rig *r, unsigned profile, uint64_t serial, int status)
{
	struct zygote_msg m = { .what = ZYGOTE_GONE, .serial = serial, .status = status };

	ck_assert_int_gt(ats_fd_send(r->zygote[profile], &m, sizeof(m), NULL, 0), 0);
}

static inline void
make_worker(struct rig *r, unsigned profile)
{
	struct fake_worker *w = NULL;
	struct zygote_msg m = {
		.what = ZYGOTE_WORKER, .count = 1, .serial = ++r->serial
	};
	int pair[2], out[2], err[2], in[2], fds[4];

	if (r->stillborn > 0) {
		r->stillborn--;
		say_gone(r, profile, m.serial, SIGKILL);
		return;
	}
	for (unsigned i = 0; i < r->nw && w == NULL; i++)
		w = r->w[i].sock < 0 ? &r->w[i] : NULL;
	if (w == NULL) {
		ck_assert_uint_lt(r->nw, WORKERS);
		w = &r->w[r->nw++];
	}
	*w = (struct fake_worker){
		.profile = profile, .serial = r->serial, .out = -1, .err = -1, .in = -1
	};
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, pair), 0);
	w->sock = pair[0];
	fds[0] = pair[1];
	if (profile == ATS_PROFILE_SHELL) {
		ck_assert_int_eq(ats_fd_pipe(out, 0), 0);
		ck_assert_int_eq(ats_fd_pipe(err, 0), 0);
		ck_assert_int_eq(ats_fd_pipe(in, 0), 0);
		w->out = out[1];
		w->err = err[1];
		w->in = in[0];
		fds[1] = out[0];
		fds[2] = err[0];
		fds[3] = in[1];
	}
	for (size_t i = 0; i < (profile == ATS_PROFILE_SHELL ? 4 : 1); i++)
		ck_assert_int_eq(ats_fd_cloexec(fds[i], true), 0);
	ck_assert_int_gt(ats_fd_send(r->zygote[profile], &m, sizeof(m), fds,
			     profile == ATS_PROFILE_SHELL ? 4 : 1),
	    0);
	for (size_t i = 0; i < (profile == ATS_PROFILE_SHELL ? 4 : 1); i++)
		(void)close(fds[i]);
}

static inline void
serve_zygotes(struct rig *r)
{
	struct zygote_msg m;

	for (unsigned p = 0; p < 3; p++) {
		while (recv(r->zygote[p], &m, sizeof(m), MSG_DONTWAIT) == sizeof(m)) {
			for (unsigned i = 0; m.what == ZYGOTE_WANT && i < m.count; i++)
				make_worker(r, p);
			if (m.what == ZYGOTE_KILL) {
				r->killed++;
				r->last_killed = m.serial;
			}
		}
	}
}

static inline void
turn(struct rig *r)
{
	for (int i = 0; i < 4; i++) {
		(void)event_base_loop(r->f.base, EVLOOP_NONBLOCK);
		serve_zygotes(r);
	}
}

/* Without waiting; a descriptor that comes along is kept. */
static inline ssize_t
take_head(struct rig *r, int sock, struct job_head *h)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { h, sizeof(*h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
		.msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (c != NULL && c->cmsg_type == SCM_RIGHTS) {
		ats_fd_close(&r->input);
		memcpy(&r->input, CMSG_DATA(c), sizeof(int));
	}
	return n;
}

/* The next worker of that profile that has a job; the job's parts are read. */
static inline struct fake_worker *
job_of(struct rig *r, unsigned profile, struct job_head *h, char *json, size_t size)
{
	turn(r);
	for (unsigned i = 0; i < r->nw; i++) {
		struct fake_worker *w = &r->w[i];

		if (w->profile != profile || w->used || w->sock < 0 ||
		    take_head(r, w->sock, h) != sizeof(*h))
			continue;
		w->used = true;
		ck_assert_uint_lt(h->json_len + h->extra_len, size);
		ck_assert_int_eq(
		    ats_fd_read_all(w->sock, json, h->json_len + h->extra_len), 0);
		json[h->json_len + h->extra_len] = '\0';
		return w;
	}
	return NULL;
}

static inline void
reply(
    struct fake_worker *w, uint32_t what, const char *json, const void *payload, size_t n)
{
	struct reply_head h = {
		.what = what,
		.json_len = (uint32_t)strlen(json),
		.payload_len = (uint32_t)n,
	};

	ck_assert_int_eq(ats_fd_write_all(w->sock, &h, sizeof(h)), 0);
	ck_assert_int_eq(ats_fd_write_all(w->sock, json, h.json_len), 0);
	if (n > 0)
		ck_assert_int_eq(ats_fd_write_all(w->sock, payload, n), 0);
}

static inline void
gone(struct rig *r, struct fake_worker *w, int status)
{
	ats_fd_close(&w->sock);
	ats_fd_close(&w->out);
	ats_fd_close(&w->err);
	ats_fd_close(&w->in);
	say_gone(r, w->profile, w->serial, status);
}

/* ---- fake brain -------------------------------------------------------------------- */
static inline void
send_frame(struct rig *r, enum ats_frame_id id, uint64_t call, const char *json,
    const char *payload, size_t n)
{
	const struct ats_frame_row *row = &ats_frame_rows[id];
	struct ats_frame_head h = {
		.type = row->type,
		.kind = row->kind,
		.call = call,
		.json_len = (uint32_t)strlen(json),
	};
	unsigned char head[ATS_FRAME_HEAD];

	h.len = (uint32_t)(ATS_FRAME_HEAD + h.json_len + n);
	ats_frame_head_put(&h, head);
	ck_assert_int_eq(ats_fd_write_all(r->brain, head, sizeof(head)), 0);
	ck_assert_int_eq(ats_fd_write_all(r->brain, json, h.json_len), 0);
	if (n > 0)
		ck_assert_int_eq(ats_fd_write_all(r->brain, payload, n), 0);
	turn(r);
}

/* 1 a frame, 0 none is there, -1 the end. */
static inline int
next_frame(struct rig *r, struct frame *ret)
{
	struct ats_err err;
	ssize_t n;

	turn(r);
	n = recv(r->brain, r->in + r->have, sizeof(r->in) - r->have, MSG_DONTWAIT);
	if (n > 0)
		r->have += (size_t)n;
	if (r->have < ATS_FRAME_HEAD)
		return n == 0 ? -1 : 0;
	ck_assert_int_eq(ats_frame_head_get((unsigned char *)r->in, &ret->h, &err), 0);
	if (r->have < ret->h.len)
		return 0;
	ck_assert_uint_lt(ret->h.json_len, sizeof(ret->json));
	memcpy(ret->json, r->in + ATS_FRAME_HEAD, ret->h.json_len);
	ret->json[ret->h.json_len] = '\0';
	ck_assert_uint_lt(ret->h.payload_len, sizeof(ret->payload));
	memcpy(
	    ret->payload, r->in + ATS_FRAME_HEAD + ret->h.json_len, ret->h.payload_len);
	ret->payload[ret->h.payload_len] = '\0';
	memmove(r->in, r->in + ret->h.len, r->have - ret->h.len);
	r->have -= ret->h.len;
	return 1;
}

static inline void
expect(struct rig *r, enum ats_frame_id id, uint64_t call, struct frame *ret)
{
	for (int i = 0; i < 2000; i++) {
		int rc = next_frame(r, ret);
		const struct ats_frame_row *row = &ats_frame_rows[id];

		ck_assert_msg(rc >= 0, "the link ended before %s", row->shape.name);
		if (rc == 0) {
			(void)event_base_loop(r->f.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
			(void)usleep(500);
			continue;
		}
		if (ret->h.type == row->type && ret->h.kind == row->kind &&
		    ret->h.call == call)
			return;
	}
	ck_abort_msg("no %s came", ats_frame_rows[id].shape.name);
}

static inline void
expect_closed(struct rig *r, const char *code)
{
	struct frame fr;
	char want[64];
	int rc;

	expect(r, ATS_FRAME_GOODBYE, 0, &fr);
	(void)snprintf(want, sizeof(want), "\"code\":\"%s\"", code);
	ck_assert_msg(strstr(fr.json, want) != NULL, "%s", fr.json);
	for (int i = 0; i < 100 && (rc = next_frame(r, &fr)) >= 0; i++)
		;
	ck_assert_int_eq(rc, -1);
}

static inline void
say_hello(struct rig *r)
{
	char json[512];

	(void)snprintf(json, sizeof(json),
	    "{\"version_min\":1,\"version_max\":1,\"digest\":\"%s\","
	    "\"role\":\"brain\",\"epoch\":1}",
	    ats_proto_digest());
	send_frame(r, ATS_FRAME_HELLO, 0, json, NULL, 0);
}

static inline void
attach(struct rig *r)
{
	struct frame fr;

	expect(r, ATS_FRAME_HELLO, 0, &fr);
	say_hello(r);
	expect(r, ATS_FRAME_READY, 0, &fr);
}

static inline void
reconnect(struct rig *r)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	ats_fd_close(&r->brain);
	r->have = 0;
	turn(r);
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%.60s/sock", r->dir);
	r->brain = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(r->brain, (struct sockaddr *)&a, sizeof(a)), 0);
}

static inline void
call_tool(
    struct rig *r, uint64_t id, const char *name, const char *input, const char *more)
{
	char json[4096];

	(void)snprintf(json, sizeof(json),
	    "{\"name\":\"%s\",\"input\":%s,\"ctx\":" CTX
	    ",\"deadline_ms\":60000,\"session\":\"" SESSION "\"%s}",
	    name, input, more);
	send_frame(r, ATS_FRAME_CALL_TOOL, id, json, NULL, 0);
}

static inline void
call_validate(struct rig *r, uint64_t id, const char *name, const char *input)
{
	char json[4096];

	(void)snprintf(json, sizeof(json),
	    "{\"name\":\"%s\",\"input\":%s,\"ctx\":" CTX
	    ",\"deadline_ms\":60000,\"session\":\"" SESSION "\"}",
	    name, input);
	send_frame(r, ATS_FRAME_CALL_VALIDATE, id, json, NULL, 0);
}

/* ---- the rig ----------------------------------------------------------------------- */
static inline struct rig *
rig_new(bool ready)
{
	static const char report[] = "{\"level\":\"test\",\"verified\":true}";
	struct rig *r = &rig;
	int pair[2], z[3];
	char path[128], json[8192];
	struct job_head h;
	struct fake_worker *w;

	memset(r, 0, sizeof(*r));
	r->input = -1;
	(void)snprintf(r->dir, sizeof(r->dir), "/tmp/test-front-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(r->dir));
	r->spill_fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "%.60s/sock", r->dir);
	ck_assert_int_eq(
	    ats_fd_unix_listen(path, SOCK_STREAM, 0600, &r->listen_fd, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(ats_fd_socketpair(SOCK_SEQPACKET, pair), 0);
		r->zygote[i] = pair[0];
		z[i] = pair[1];
	}
	r->f.opt = (struct front_options){
		.workspace = "/ws",
		.home = "/home/agent",
		.retention_ms = 60000,
		.heartbeat_ms = 60000,
		.background_jobs = 16,
		.background_life_s = 86400,
		.confinement = "{\"verified\":false}",
	};
	r->f.base = event_base_new();
	ats_buf_init(&r->f.rx, FRONT_RX_MAX);
	r->f.block = malloc(FRONT_BLOCK_BYTES);
	ats_buf_init(&r->f.arena, 1u << 20);
	ats_buf_init(&r->f.out, 2u << 20);
	ck_assert_int_eq(ats_id_new("h", r->f.boot, sizeof(r->f.boot)), 0);
	r->f.spills = spill_store_new(r->spill_fd);
	r->f.pool = pool_new(&r->f, z[0], z[1], z[2]);
	r->f.calls = calls_new(&r->f);
	r->f.background = background_new(&r->f);
	r->f.report = front_report_new(&r->f);
	ck_assert_int_eq(ats_fd_socketpair(SOCK_STREAM, pair), 0);
	r->brain = pair[0];
	pool_start(r->f.pool);
	front_report_start(r->f.report);
	r->f.link = link_new(&r->f, pair[1], r->listen_fd);
	ck_assert_ptr_nonnull(r->f.link);
	for (unsigned i = 0; i < 3; i++) {
		w = job_of(r, (enum ats_profile)i, &h, json, sizeof(json));
		ck_assert_ptr_nonnull(w);
		ck_assert_uint_eq(h.flags, JOB_SELFTEST);
		r->tester[i] = w;
		if (!ready)
			continue;
		reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", report,
		    sizeof(report) - 1);
		gone(r, w, 0);
	}
	if (ready)
		attach(r);
	return r;
}

static inline void
rig_free(struct rig *r)
{
	char cmd[128];

	background_free(r->f.background);
	calls_free(r->f.calls);
	link_free(r->f.link);
	front_report_free(r->f.report);
	pool_free(r->f.pool);
	spill_store_free(r->f.spills);
	ats_buf_done(&r->f.arena);
	ats_buf_done(&r->f.out);
	ats_buf_done(&r->f.rx);
	free(r->f.block);
	event_base_free(r->f.base);
	ats_fd_close(&r->brain);
	for (unsigned i = 0; i < 3; i++)
		ats_fd_close(&r->zygote[i]);
	for (unsigned i = 0; i < r->nw; i++) {
		if (r->w[i].sock >= 0)
			(void)close(r->w[i].sock);
		if (r->w[i].out >= 0)
			(void)close(r->w[i].out);
		if (r->w[i].err >= 0)
			(void)close(r->w[i].err);
		if (r->w[i].in >= 0)
			(void)close(r->w[i].in);
	}
	ats_fd_close(&r->spill_fd);
	ats_fd_close(&r->input);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf %.63s", r->dir);
	ck_assert_int_eq(system(cmd), 0);
}

static inline struct fake_worker *
read_job(struct rig *r, uint64_t id, unsigned profile)
{
	struct job_head h;
	char json[8192];
	struct fake_worker *w = job_of(r, profile, &h, json, sizeof(json));

	ck_assert_ptr_nonnull(w);
	ck_assert_uint_eq(h.call, id);
	return w;
}

/* ---- shells ------------------------------------------------------------------------ */
static inline struct fake_worker *
shell_job(struct rig *r, struct job_head *h, char *json, size_t size)
{
	struct fake_worker *w = job_of(r, ATS_PROFILE_SHELL, h, json, size);

	ck_assert_ptr_nonnull(w);
	return w;
}

static inline void
shell_exit(struct rig *r, struct fake_worker *w, struct job_exit *e)
{
	ats_fd_close(&w->out);
	ats_fd_close(&w->err);
	reply(w, REPLY_EXIT, "", e, sizeof(*e));
	gone(r, w, 0);
}

#endif
