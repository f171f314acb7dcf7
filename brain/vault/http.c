/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of ats-http. Runs in the vault. That process reads what comes over HTTP and may be
 * compromised: the vault hears one typed message of it, by which it says where it listens, and
 * nothing after that. When it ends it is started again, each time later while it ends early. */
#include "brain/vault/http.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/vault/children.h"
#include "brain/vault/vault.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
#include "proto/brain.h"

#define BACKOFF_MS 200			/* after the first failure, then twice that, ... */
#define BACKOFF_MOST_MS 10000
#define STEADY_MS 10000			/* one that listened so long has not failed */

enum http_life { HTTP_DOWN, HTTP_STARTING, HTTP_LISTENS };
struct http_door {
	struct vault *v;
	enum http_life life;
	int fd;				/* until HTTP_READY; else -1 */
	struct event *rd, *timer;
	pid_t pid;
	unsigned starts, failures;	/* in all; since it last listened for some time */
	uint64_t ready_ms;
	bool told;			/* this one has failed already */
	char where[sizeof(((struct ats_err *)NULL)->text)];
	struct ats_err why;		/* of its last failure; code 0: none */
};

static void
hang_up(struct http_door *h)
{
	if (h->rd != NULL)
		event_free(h->rd);
	h->rd = NULL;
	ats_fd_close(&h->fd);
}

static void
again_later(struct http_door *h)
{
	uint64_t wait = BACKOFF_MS;
	struct timeval t;

	for (unsigned i = 1; i < h->failures && wait < BACKOFF_MOST_MS; i++)
		wait *= 2;
	wait = wait < BACKOFF_MOST_MS ? wait : BACKOFF_MOST_MS;
	t = ats_timeval_ms(wait);
	(void)event_add(h->timer, &t);
}

static void
fail(struct http_door *h, int code, const char *text)
{
	(void)ats_err_set(&h->why, code, "%s", text);
	ats_log(ATS_LOG_WARN, "ats-http failed", "why=\"%s\"", h->why.text);
	h->failures++;
	h->told = true;
}

/* Text of a process that may be compromised goes on to people's terminals. */
static void
copy_shown(char *out, size_t size, const char *text)
{
	struct ats_buf b ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&b, 4 * size);
	(void)!ats_utf8_show(&b, text, strnlen(text, size - 1));
	(void)snprintf(out, size, "%s", b.data);
}

static void
order_kill(struct http_door *h)
{
	if (ats_brain_send(h->v->spawner, ATS_MSG_KILL, 0, NULL, 0, CHILD_HTTP) < 0 &&
	    !h->v->stopping)
		vault_die(h->v, "the spawner does not answer");
}

static void
on_ready(struct http_door *h, const struct ats_ipc_msg *m)
{
	char text[sizeof(h->where)];

	copy_shown(text, sizeof(text), m->s[1]);
	if (m->u[0] != 0) {		/* it ends by itself */
		fail(h, m->u[0] < 1000 ? (int)m->u[0] : ATS_E_PROTO, text);
		return;
	}
	h->life = HTTP_LISTENS;
	h->ready_ms = ats_clock_ms();
	h->why = (struct ats_err){ 0 };
	memcpy(h->where, text, sizeof(h->where));
	ats_log(ATS_LOG_INFO, "ats-http listens", "at=\"%s\" pid=%d", h->where, (int)h->pid);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct http_door *h = arg;
	struct vault *v = h->v;
	int rc = ats_ipc_recv((int)fd, ats_brain_rows, ats_brain_nrows, ATS_BRAIN_HTTP, &v->msg);

	(void)what;
	if (rc == -ATS_E_AGAIN)
		return;
	hang_up(h);
	if (rc == 1) {
		on_ready(h, &v->msg);
		ats_ipc_done(&v->msg);
	} else if (rc < 0) {
		fail(h, ATS_E_PROTO, "it said what it may not");
		order_kill(h);
	}				/* else EXITED comes */
}

static int
order(struct http_door *h, struct ats_err *err)
{
	int pair[2], rc;

	if (ats_fd_socketpair(SOCK_SEQPACKET, pair) < 0)
		return ats_err_sys(err, "socketpair");
	rc = ats_fd_nonblock(pair[0], true);
	if (rc == 0)
		rc = ats_brain_send(h->v->spawner, ATS_MSG_START_HTTP, 0, &pair[1], 1);
	(void)close(pair[1]);
	h->fd = pair[0];
	h->rd = event_new(h->v->base, h->fd, EV_READ | EV_PERSIST, on_readable, h);
	if (rc < 0 || h->rd == NULL || event_add(h->rd, NULL) < 0) {
		hang_up(h);
		return ats_err_set(err, ATS_E_AGAIN, "it could not be ordered");
	}
	h->life = HTTP_STARTING;
	h->told = false;
	h->starts++;
	return 0;
}

static void
begin(struct http_door *h)
{
	struct ats_err err = { 0 };

	if (h->v->stopping || order(h, &err) == 0)
		return;
	fail(h, err.code, err.text);
	again_later(h);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	begin(arg);
}

static void
on_started(struct http_door *h, const struct ats_ipc_msg *m)
{
	h->pid = (pid_t)m->u[1];
	if (m->u[2] == 0)
		return;
	hang_up(h);
	h->life = HTTP_DOWN;
	fail(h, (int)m->u[2], m->s[3]);
	again_later(h);
}

static void
on_exited(struct http_door *h, const struct ats_ipc_msg *m)
{
	/* Behind its last word, which may have come with its end, m is another message. */
	uint64_t code = m->u[1], sig = m->u[2];
	char why[120];

	if (h->rd != NULL)
		on_readable(h->fd, EV_READ, h);
	hang_up(h);
	if (h->life == HTTP_LISTENS && ats_clock_ms() - h->ready_ms >= STEADY_MS)
		h->failures = 0;
	h->pid = 0;
	h->life = HTTP_DOWN;
	h->where[0] = '\0';
	if (h->v->stopping)
		return;
	(void)snprintf(why, sizeof(why), "it ended with %s %llu; see brain.log",
	    sig != 0 ? "signal" : "code", (unsigned long long)(sig != 0 ? sig : code));
	if (!h->told)
		fail(h, ATS_E_EOF, why);
	again_later(h);
}

bool
http_on_spawner(struct vault *v, const struct ats_ipc_msg *m)
{
	if (strcmp(m->s[0], CHILD_HTTP) != 0)
		return false;
	if (v->http != NULL && m->type == ATS_MSG_STARTED)
		on_started(v->http, m);
	else if (v->http != NULL)
		on_exited(v->http, m);
	return true;
}

int
http_open(struct vault *v, struct ats_err *err)
{
	struct http_door *h;

	if (!config_has_http(v->conf))
		return 0;
	h = ats_calloc(1, sizeof(*h));
	if (h == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "http: out of memory");
	h->v = v;
	h->fd = -1;
	v->http = h;
	h->timer = evtimer_new(v->base, on_timer, h);
	if (h->timer == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "http: out of memory");
	begin(h);
	return 0;
}

void
http_json(const struct vault *v, struct ats_json_w *w)
{
	static const char *const states[] = { "down", "starting", "listens" };
	const struct http_door *h = v->http;

	if (h == NULL)
		return;
	ats_json_w_object(w, "http");
	ats_json_w_str(w, "state", states[h->life]);
	ats_json_w_str(w, "where", h->where);
	ats_json_w_u64(w, "pid", (uint64_t)h->pid);
	ats_json_w_u64(w, "starts", h->starts);
	if (h->why.code != 0)
		ats_json_w_str(w, "why", h->why.text);
	ats_json_w_end(w);
}

void
http_free(struct vault *v)
{
	struct http_door *h = v->http;

	if (h == NULL)
		return;
	hang_up(h);
	if (h->timer != NULL)
		event_free(h->timer);
	free(h);
	v->http = NULL;
}
