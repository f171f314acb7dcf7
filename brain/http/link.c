/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to brain. Runs in ats-http; vault and engine are at the other ends, so what comes is
 * believed as far as it is read. Nothing here waits: each step is an event. */
#include "brain/http/link.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/log.h"
#include "proto/brain.h"

#define GIVE_UP_MS 30000u		/* brain may be restarting */
#define STEP_S 20			/* an answer of vault or engine */
#define FIRST_PAUSE_MS 20u
#define LAST_PAUSE_MS 1000u
#define READ_BYTES (256u << 10)

enum step { PAUSE, REGISTER, ATTACH, UP };
struct link {
	struct http *h;
	const struct link_ops *ops;
	void *ctx;
	char key[LINK_KEY_MAX], session[64];
	uint64_t nonce;
	bool known;
	enum step step;
	int fd;				/* to the vault, then to the door; -1 in a pause */
	struct event *readable, *writable, *timer;
	struct ats_buf in, out;
	size_t scanned;
	uint64_t lost_ms;		/* since when it is not there */
	unsigned pause_ms;
};

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);
static void step_register(struct link *l);

static void
wait_for_ms(struct link *l, unsigned ms)
{
	struct timeval t = ats_timeval_ms(ms);

	(void)event_add(l->timer, &t);
}

static void
hang_up(struct link *l)
{
	if (l->readable != NULL)
		event_free(l->readable);
	if (l->writable != NULL)
		event_free(l->writable);
	l->readable = l->writable = NULL;
	ats_fd_close(&l->fd);
	ats_buf_reset(&l->in);
	ats_buf_reset(&l->out);
	l->scanned = 0;
}

/* The last thing that happens to it, but link_free. */
static void
fail(struct link *l, bool known, const char *why)
{
	hang_up(l);
	(void)event_del(l->timer);
	l->step = PAUSE;
	l->ops->failed(l->ctx, known, why);
}

static void
again(struct link *l, const char *why)
{
	uint64_t now = ats_clock_ms();

	if (l->step == UP) {
		l->lost_ms = now;
		l->pause_ms = FIRST_PAUSE_MS;
	}
	hang_up(l);
	l->step = PAUSE;
	if (now - l->lost_ms > GIVE_UP_MS) {
		fail(l, false, why);
		return;
	}
	if (l->pause_ms == FIRST_PAUSE_MS)
		ats_log(ATS_LOG_WARN, "requests wait for brain", "session=%s why=\"%s\"",
		    l->session, why);
	wait_for_ms(l, l->pause_ms);
	l->pause_ms = l->pause_ms * 2 < LAST_PAUSE_MS ? l->pause_ms * 2 : LAST_PAUSE_MS;
}

static bool
dial(struct link *l, const char *path, int type)
{
	struct ats_err err = { 0 };

	hang_up(l);
	/* A full backlog is one more reason to try later. */
	if (ats_fd_unix_connect(path, type | SOCK_NONBLOCK, &l->fd, &err) < 0)
		return false;
	l->readable = event_new(l->h->base, l->fd, EV_READ | EV_PERSIST, on_readable, l);
	l->writable = event_new(l->h->base, l->fd, EV_WRITE, on_writable, l);
	return l->readable != NULL && l->writable != NULL && event_add(l->readable, NULL) == 0;
}

/* ---- the steps ------------------------------------------------------------------- */

static void
step_register(struct link *l)
{
	l->step = REGISTER;
	wait_for_ms(l, STEP_S * 1000);
	if (!dial(l, l->h->opt->vault, SOCK_SEQPACKET) ||
	    ats_brain_send(l->fd, l->known ? ATS_MSG_FIND_NAMED : ATS_MSG_REGISTER, 1, NULL, 0,
		l->h->opt->workspace, l->key) < 0)
		again(l, "brain does not run; any atsctl command that needs it starts it");
}

static void
step_attach(struct link *l)
{
	l->step = ATTACH;
	wait_for_ms(l, STEP_S * 1000);
	if (!dial(l, l->h->opt->door, SOCK_STREAM)) {
		again(l, "brain's door is not there");
		return;
	}
	ats_fd_widen(l->fd);
	if (ats_buf_addf(&l->out, "{\"jsonrpc\":\"2.0\",\"id\":\"attach\",\"method\":"
	    "\"ats/session.attach\",\"params\":{\"session\":\"%s\",\"client\":\"h-%" PRIx64
	    "\"}}\n", l->session, l->nonce) < 0)
		again(l, "out of memory");
	else
		event_active(l->writable, EV_WRITE, 0);
}

static void
on_vault(struct link *l)
{
	static struct ats_ipc_msg m;	/* 64 KiB */
	char why[256];
	int rc = ats_ipc_recv(l->fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_VAULT, &m);

	if (rc == -ATS_E_AGAIN)
		return;
	if (rc != 1) {
		again(l, "brain closed the connection");
		return;
	}
	if (m.type == ATS_MSG_OK && strlen(m.s[0]) < sizeof(l->session)) {
		(void)snprintf(l->session, sizeof(l->session), "%s", m.s[0]);
		ats_ipc_done(&m);
		step_attach(l);
		return;
	}
	(void)snprintf(why, sizeof(why), "%s", m.type == ATS_MSG_FAILED ? m.s[1] :
	    "brain answered with another message");
	rc = m.type == ATS_MSG_FAILED ? (int)m.u[0] : ATS_E_PROTO;
	ats_ipc_done(&m);
	if (rc == ATS_E_BUSY || rc == ATS_E_AGAIN)
		again(l, why);
	else
		fail(l, rc == ATS_E_UNKNOWN_ID, why);
}

static void
on_attached(struct link *l, struct ats_slice line)
{
	if (memmem(line.p, line.n, "\"result\"", 8) == NULL) {
		again(l, "brain does not know the session that it gave");
		return;
	}
	l->step = UP;
	l->pause_ms = FIRST_PAUSE_MS;
	(void)event_del(l->timer);
	l->ops->up(l->ctx);
}

static void
take_lines(struct link *l)
{
	size_t used = 0;
	char *nl;

	/* A callback may hang up, or send; it does not free. */
	while (l->fd >= 0 && (nl = memchr(l->in.data + l->scanned, '\n',
	    l->in.len - l->scanned)) != NULL) {
		struct ats_slice line = { l->in.data + used, (size_t)(nl - l->in.data) - used };

		used = l->scanned = (size_t)(nl - l->in.data) + 1;
		if (l->step == ATTACH)
			on_attached(l, line);
		else
			l->ops->line(l->ctx, line);
	}
	if (l->fd < 0)
		return;
	ats_buf_consume(&l->in, used);
	l->scanned = l->in.len;
	if (l->in.len == 0)
		ats_buf_reset(&l->in);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	ssize_t n;
	char *to;

	(void)what;
	if (l->step == REGISTER) {
		on_vault(l);
		return;
	}
	if (ats_buf_reserve(&l->in, READ_BYTES, &to) < 0) {
		again(l, "a line of brain's is too long");
		return;
	}
	n = ats_fd_read((int)fd, to, READ_BYTES);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		again(l, "brain closed the connection");
		return;
	}
	ats_buf_commit(&l->in, (size_t)n);
	take_lines(l);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	ssize_t n;

	(void)what;
	while (l->out.len > 0) {
		n = ats_fd_send((int)fd, l->out.data, l->out.len, NULL, 0);
		if (n == -ATS_E_AGAIN) {
			(void)event_add(l->writable, NULL);
			return;
		}
		if (n < 0) {
			again(l, "brain closed the connection");
			return;
		}
		ats_buf_consume(&l->out, (size_t)n);
	}
	ats_buf_reset(&l->out);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	if (l->step == PAUSE)
		step_register(l);
	else
		again(l, "brain does not answer");
}

/* ---- for the session ------------------------------------------------------------- */

struct link *
link_new(struct http *h, const char *key, bool known, const struct link_ops *ops, void *ctx)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	*l = (struct link){ .h = h, .ops = ops, .ctx = ctx, .known = known, .fd = -1,
		.lost_ms = ats_clock_ms(), .pause_ms = FIRST_PAUSE_MS };
	(void)snprintf(l->key, sizeof(l->key), "%s", key);
	ats_buf_init(&l->in, HTTP_LINE);
	ats_buf_init(&l->out, HTTP_LINE);
	l->timer = event_new(h->base, -1, 0, on_timer, l);
	if (l->timer == NULL || getrandom(&l->nonce, sizeof(l->nonce), 0) < 0) {
		link_free(l, false);
		return NULL;
	}
	/* In a turn of its own: nothing is called back from here. */
	wait_for_ms(l, 0);
	return l;
}

/* One message, and nobody waits for the answer: what was not closed is forgotten by age. */
static void
close_session(const struct link *l)
{
	int fd ATS_CLEANUP_FD = -1;

	if (l->session[0] != '\0' &&
	    ats_fd_unix_connect(l->h->opt->vault, SOCK_SEQPACKET | SOCK_NONBLOCK, &fd,
		NULL) == 0 &&
	    ats_brain_send(fd, ATS_MSG_CLOSE_SESSION, 1, NULL, 0, l->session) < 0)
		ats_log(ATS_LOG_WARN, "a session was not closed", "session=%s", l->session);
}

void
link_free(struct link *l, bool close)
{
	if (l == NULL)
		return;
	hang_up(l);
	if (close)
		close_session(l);
	if (l->timer != NULL)
		event_free(l->timer);
	ats_buf_done(&l->in);
	ats_buf_done(&l->out);
	free(l);
}

bool
link_is_up(const struct link *l)
{
	return l->step == UP;
}

void
link_send(struct link *l, const char *line, size_t n)
{
	ssize_t sent;

	if (l->step != UP)
		return;
	if (ats_buf_add(&l->out, line, n) < 0 || ats_buf_add_char(&l->out, '\n') < 0) {
		again(l, "too much waits for brain");
		return;
	}
	/* At once, since somebody waits; an error is for a turn of its own. */
	sent = ats_fd_send(l->fd, l->out.data, l->out.len, NULL, 0);
	if (sent > 0)
		ats_buf_consume(&l->out, (size_t)sent);
	if (l->out.len > 0)
		event_active(l->writable, EV_WRITE, 0);
}
