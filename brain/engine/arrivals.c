/* SPDX-License-Identifier: Apache-2.0
 *
 * Hands that comes in by itself: accept, hello, proof. Runs in the engine; everybody who
 * reaches the port can send anything, and can lose only his own connection. */
#include "brain/engine/arrivals.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/engine/engine.h"
#include "brain/engine/link.h"
#include "brain/engine/sandbox.h"
#include "common/chan.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/secret.h"
#include "common/tls.h"
#include "common/wire.h"

#define PENDING_MAX 64u			/* not proven yet */
#define PROVE_US 10000000u		/* that long each */
#define YIELD_US 1000000u		/* then it makes room, when others wait */
#define ACCEPTS_A_TURN 16u
#define TURN_US 50000u			/* so often, then: 320 a second */
#define HELLO_MAX (16u << 10)		/* JSON of an unproven one */
#define LOG_US 1000000u			/* between two lines about those that failed */

struct arrival {
	struct arrivals *a;
	struct ats_chan *chan;
	struct proof proof;
	bool hello;
	uint64_t since_us;
	struct ats_buf arena;
	TAILQ_ENTRY(arrival) link;
};

struct arrivals {
	struct engine *e;
	int fd;
	struct ats_addr addr;
	struct ats_tls *tls;		/* NULL without TLS */
	struct event *acceptable, *turn, *sweep;
	TAILQ_HEAD(, arrival) pending;	/* the oldest first */
	size_t npending;
	uint64_t epoch;
	uint64_t failed, logged_us;
};

static void
drop(struct arrival *r)
{
	struct arrivals *a = r->a;

	TAILQ_REMOVE(&a->pending, r, link);
	a->npending--;
	ats_chan_free(r->chan);
	proof_end(&r->proof);
	ats_buf_done(&r->arena);
	free(r);
}

/* As many as there are of them, a line a second. */
static void
note_failure(struct arrivals *a, const char *why)
{
	uint64_t now = ats_clock_us();

	a->failed++;
	if (now - a->logged_us < LOG_US)
		return;
	ats_log(ATS_LOG_WARN, "who came in did not prove to be a sandbox",
	    "failed=%llu last=\"%s\"", (unsigned long long)a->failed, why);
	a->failed = 0;
	a->logged_us = now;
}

/* The same for whatever it was; the log knows. */
static int
not_proven(struct arrival *r, const char *why, struct ats_err *err)
{
	note_failure(r->a, why);
	link_goodbye(r->chan, ATS_E_PROOF, PROOF_TEXT);
	return ats_err_set(err, ATS_E_PROOF, PROOF_TEXT);
}

/* ---- frames ------------------------------------------------------------------------ */

static int
send_msg(struct arrival *r, enum ats_frame_id frame, const void *msg, struct ats_err *err)
{
	const struct ats_frame_row *row = &ats_frame_rows[frame];
	struct ats_buf json ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&json, 4096);
	rc = ats_msg_encode(&row->shape, msg, &json, err);
	return rc < 0 ? rc :
	    ats_chan_send(r->chan, row->type, row->kind, 0, json.data, json.len, NULL, 0);
}

/* The same bytes whether there is such a sandbox or not. */
static int
answer_hello(struct arrival *r, const struct link_key *key, struct ats_err *err)
{
	char mac[ATS_PROVE_HEX];
	struct ats_msg_PROVE prove = { .mac = mac };
	struct ats_msg_HELLO m = {
		.version_min = ATS_PROTO_VERSION, .has_version_min = true,
		.version_max = ATS_PROTO_VERSION, .has_version_max = true,
		.digest = ats_proto_digest(), .role = "brain",
		.epoch = r->proof.epoch, .has_epoch = true,
		.sandbox = r->proof.sandbox, .nonce = r->proof.nonce,
	};
	int rc = send_msg(r, ATS_FRAME_HELLO, &m, err);

	proof_ours(&r->proof, key, mac);
	return rc < 0 ? rc : send_msg(r, ATS_FRAME_PROVE, &prove, err);
}

static const struct link_key *
key_of(const struct sandbox *box)
{
	return box != NULL && box->nsessions > 0 ? &box->key : NULL;
}

static int
on_hello(struct arrival *r, const struct ats_msg_HELLO *m, struct ats_err *err)
{
	int rc = link_check_hello(m, err);

	if (rc < 0) {
		link_goodbye(r->chan, err->code, err->text);
		return rc;
	}
	rc = proof_begin(&r->proof, ++r->a->epoch, err);
	if (rc < 0)
		return rc;
	if (!proof_hello(&r->proof, m, ats_chan_wire(r->chan)))
		return not_proven(r, "its hello asks for no proof", err);
	r->hello = true;
	return answer_hello(r, key_of(sandboxes_find(r->a->e->boxes, r->proof.sandbox)), err);
}

/* r is gone when this returns 0: its channel is the sandbox's. */
static int
become(struct arrival *r, struct sandbox *box, struct ats_err *err)
{
	int rc = sandbox_on_arrival(box, r->chan, &r->proof, r->a->addr.kind);

	if (rc < 0) {
		link_goodbye(r->chan, ATS_E_BUSY, "another hands is this sandbox already");
		return ats_err_set(err, -rc, "another is there");
	}
	r->chan = NULL;
	drop(r);
	return 0;
}

static int
on_prove(struct arrival *r, const struct ats_msg_PROVE *m, struct ats_err *err)
{
	struct sandbox *box = sandboxes_find(r->a->e->boxes, r->proof.sandbox);
	const struct link_key *key = key_of(box);

	if (!proof_check(&r->proof, key, m->mac))
		return not_proven(r, link_key_find(key, r->proof.generation) == NULL ?
		    "no such sandbox, or its generation does not count" : "the MAC is wrong", err);
	return become(r, box, err);
}

static int
on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(f->head.type, f->head.kind);
	struct arrival *r = ctx;
	union {
		struct ats_msg_HELLO hello;
		struct ats_msg_PROVE prove;
	} m;
	int rc;

	if (row == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_FRAME, "unknown frame");
	if (ats_frame_row_id(row) == ATS_FRAME_GOODBYE)
		return ats_err_set(err, ATS_E_EOF, "it said goodbye");
	rc = ats_msg_decode(&row->shape, f->json, f->head.json_len, 0, &m, &r->arena, err);
	if (rc < 0)
		return rc;
	return r->hello ? on_prove(r, &m.prove, err) : on_hello(r, &m.hello, err);
}

static int
on_check(void *ctx, const struct ats_frame_head *h, struct ats_err *err)
{
	const struct ats_frame_row *row = ats_frame_row_find(h->type, h->kind);
	struct arrival *r = ctx;
	enum ats_frame_id next = r->hello ? ATS_FRAME_PROVE : ATS_FRAME_HELLO, id;
	int rc = ats_frame_gate(h, ATS_FROM_HANDS, ATS_STATE_HELLO, err);

	if (rc < 0 || row == NULL || h->json_len > HELLO_MAX)
		return rc < 0 ? rc : ats_err_set(err, ATS_E_PROTO, "not a hello");
	id = ats_frame_row_id(row);
	if (id != next && id != ATS_FRAME_GOODBYE)
		return not_proven(r, "it goes on without a proof", err);
	return 0;
}

static void
on_closed(void *ctx, int code, const char *why)
{
	struct arrival *r = ctx;

	if (code != ATS_E_PROOF)
		note_failure(r->a, why);
	drop(r);
}

static const struct ats_chan_ops ops = {
	.check = on_check,
	.frame = on_frame,
	.closed = on_closed,
};

/* ---- coming in --------------------------------------------------------------------- */

static struct ats_chan *
make_chan(struct arrivals *a, int fd, struct arrival *r)
{
	struct ats_wire_plan plan = { .kind = a->addr.kind, .server = true,
		.path = a->addr.path, .tls = a->tls };
	struct ats_wire *w;

	/* The listening socket was tuned by whoever made it, and Linux passes that on. */
	return ats_wire_new(fd, &plan, &w, NULL) < 0 ? NULL :
	    ats_chan_new_wire(a->e->base, w, &ops, r);
}

/* When the oldest is to be looked at. */
static void
sweep_at(struct arrivals *a)
{
	struct arrival *r = TAILQ_FIRST(&a->pending);
	uint64_t now = ats_clock_us(), end;
	struct timeval tv;

	if (r == NULL || event_pending(a->sweep, EV_TIMEOUT, NULL))
		return;
	end = r->since_us + PROVE_US;
	tv = ats_timeval_us(end > now ? end - now : 0);
	(void)event_add(a->sweep, &tv);
}

static void
admit(struct arrivals *a, int fd)
{
	struct arrival *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		(void)close(fd);
		return;
	}
	r->a = a;
	r->since_us = ats_clock_us();
	ats_buf_init(&r->arena, 2 * HELLO_MAX);
	TAILQ_INSERT_TAIL(&a->pending, r, link);
	a->npending++;
	r->chan = make_chan(a, fd, r);
	if (r->chan == NULL)
		drop(r);
	sweep_at(a);
}

/* Those that wait in the backlog may be better ones. False when nobody can go yet. */
static bool
make_place(struct arrivals *a)
{
	struct arrival *oldest = TAILQ_FIRST(&a->pending);

	if (a->npending < PENDING_MAX)
		return true;
	if (ats_clock_us() - oldest->since_us < YIELD_US)
		return false;
	note_failure(a, "it said too little while others waited");
	drop(oldest);
	return true;
}

static void
on_acceptable(evutil_socket_t lfd, short what, void *arg)
{
	static const struct timeval pause = { 0, TURN_US };
	struct arrivals *a = arg;
	int fd;

	(void)what;
	for (unsigned i = 0; i < ACCEPTS_A_TURN && make_place(a); i++) {
		fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			admit(a, fd);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno == EAGAIN)
			return;
		ats_log(ATS_LOG_ERROR, "cannot accept a sandbox", "errno=%d", errno);
		break;
	}
	/* No more for this moment: the rest waits in the backlog. */
	(void)event_del(a->acceptable);
	(void)event_add(a->turn, &pause);
}

static void
on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct arrivals *a = arg;

	(void)fd;
	(void)what;
	(void)event_add(a->acceptable, NULL);
}

static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct arrivals *a = arg;
	struct arrival *r;

	(void)fd;
	(void)what;
	while ((r = TAILQ_FIRST(&a->pending)) != NULL &&
	    ats_clock_us() - r->since_us >= PROVE_US) {
		note_failure(a, "it took too long");
		link_goodbye(r->chan, ATS_E_PROOF, PROOF_TEXT);
		drop(r);
	}
	sweep_at(a);
}

/* ---- life -------------------------------------------------------------------------- */

static int
make_tls(struct arrivals *a, const char *hex, struct ats_err *err)
{
	unsigned char seed[ATS_TLS_SEED];
	const struct ats_tls_plan plan = { .server = true, .seed = seed };
	int rc;

	if (!ats_unhex(hex, seed, sizeof(seed)))
		return ats_err_set(err, ATS_E_FIELD, "no key for TLS");
	rc = ats_tls_new(&plan, &a->tls, err);
	ats_secret_wipe(seed, sizeof(seed));
	return rc;
}

struct arrivals *
arrivals_new(struct engine *e, int fd, const char *address, const char *seed,
    struct ats_err *err)
{
	struct arrivals *a = calloc(1, sizeof(*a));
	int rc;

	if (a == NULL) {
		(void)close(fd);
		(void)ats_err_set(err, ATS_E_NOMEM, "arrivals");
		return NULL;
	}
	a->e = e;
	a->fd = fd;
	TAILQ_INIT(&a->pending);
	rc = ats_addr_parse(address, &a->addr, err);
	if (rc == 0 && ats_addr_has_tls(&a->addr))
		rc = make_tls(a, seed, err);
	a->acceptable = event_new(e->base, fd, EV_READ | EV_PERSIST, on_acceptable, a);
	a->turn = event_new(e->base, -1, 0, on_turn, a);
	a->sweep = event_new(e->base, -1, 0, on_sweep, a);
	if (rc == 0 && (a->acceptable == NULL || a->turn == NULL || a->sweep == NULL ||
	    ats_fd_nonblock(fd, true) < 0 || event_add(a->acceptable, NULL) < 0))
		rc = ats_err_set(err, ATS_E_NOMEM, "arrivals");
	if (rc == 0)
		return a;
	arrivals_free(a);
	return NULL;
}

void
arrivals_free(struct arrivals *a)
{
	struct arrival *r;

	if (a == NULL)
		return;
	while ((r = TAILQ_FIRST(&a->pending)) != NULL)
		drop(r);
	if (a->acceptable != NULL)
		event_free(a->acceptable);
	if (a->turn != NULL)
		event_free(a->turn);
	if (a->sweep != NULL)
		event_free(a->sweep);
	ats_tls_free(a->tls);
	ats_fd_close(&a->fd);
	free(a);
}
