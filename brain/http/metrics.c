/* SPDX-License-Identifier: Apache-2.0
 *
 * /metrics. Runs in ats-http; who asks has the token of metrics, and can do nothing else with it.
 * The engine is asked over a connection of its own, one for all that ask meanwhile; when it does
 * not answer, what ats-http has counted itself is the answer, and ats_up is 0. */
#include "brain/http/metrics.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/json.h"
#include "common/log.h"

#define METRICS_WAIT_S 3
#define TEXT_MAX (2u << 20)
#define READ_BYTES (64u << 10)

static const char ask[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ats/metrics\"}\n";
static const char text_type[] = "text/plain; version=0.0.4; charset=utf-8";

struct waiting {
	struct metrics *m;
	struct conn *c;			/* NULL: free, or it is gone */
};
struct metrics {
	struct http *h;
	int fd;				/* to the engine, while it is asked; or -1 */
	struct event *readable, *timer;
	struct ats_buf in;
	struct waiting waiting[METRICS_WAITING_MAX];
};

struct metrics *
metrics_new(struct http *h)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->h = h;
	m->fd = -1;
	ats_buf_init(&m->in, TEXT_MAX + READ_BYTES);
	return m;
}

static void
hang_up(struct metrics *m)
{
	if (m->readable != NULL)
		event_free(m->readable);
	if (m->timer != NULL)
		event_free(m->timer);
	m->readable = m->timer = NULL;
	ats_fd_close(&m->fd);
	ats_buf_done(&m->in);
	ats_buf_init(&m->in, TEXT_MAX + READ_BYTES);
}

void
metrics_free(struct metrics *m)
{
	if (m == NULL)
		return;
	hang_up(m);
	ats_buf_done(&m->in);
	free(m);
}

void
metrics_answered(struct http *h, int status)
{
	static const int codes[] = { 200, 202, 400, 401, 403, 404, 405, 406, 408, 409, 411, 413,
		415, 429, 431, 503 };
	unsigned i = 0;

	_Static_assert(ATS_ARRAY_LEN(codes) == ATS_LABEL_CODE_OTHER, "a row of CODE each");
	while (i < ATS_ARRAY_LEN(codes) && codes[i] != status)
		i++;
	ats_metric_add(&h->metrics, ATS_METRIC_HTTP_ANSWERS, i, 0, 1);
}

/* ---- the answer ---------------------------------------------------------------------- */

/* Appends the engine's text, where its line has one. */
static bool
add_engine(const struct metrics *m, struct ats_buf *out)
{
	const char *nl = m->in.len == 0 ? NULL : memchr(m->in.data, '\n', m->in.len);
	struct ats_slice line = { m->in.data, nl == NULL ? 0 : (size_t)(nl - m->in.data) };
	struct ats_json_val result, text;
	size_t mark = out->len;

	if (nl == NULL || ats_json_scan(line.p, line.n, NULL) < 0 ||
	    ats_json_type(line) != ATS_JSON_OBJECT || !ats_json_get(line, "result", &result) ||
	    result.type != ATS_JSON_OBJECT || !ats_json_get(result.raw, "text", &text))
		return false;
	if (ats_json_to_str(&text, out) < 0) {
		ats_buf_truncate(out, mark);
		return false;
	}
	return true;
}

static void
answer_all(struct metrics *m)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 }, engine ATS_CLEANUP_BUF = { 0 };
	struct ats_metrics *counts = &m->h->metrics;
	bool up;

	ats_buf_init(&out, 2 * TEXT_MAX);
	ats_buf_init(&engine, TEXT_MAX);
	up = add_engine(m, &engine);
	hang_up(m);
	ats_metric_set(counts, ATS_METRIC_HTTP_UP, 0, 0, up);
	ats_metric_set(counts, ATS_METRIC_HTTP_CONNS, 0, 0, m->h->nconns);
	ats_metric_set(counts, ATS_METRIC_HTTP_SESSIONS, 0, 0, m->h->nsessions);
	if (ats_metrics_write(counts, ATS_METRIC_HTTP, &out) < 0 ||
	    (engine.len > 0 && ats_buf_add(&out, engine.data, engine.len) < 0))
		ats_buf_reset(&out);
	for (unsigned i = 0; i < METRICS_WAITING_MAX; i++) {
		struct conn *c = m->waiting[i].c;

		m->waiting[i].c = NULL;
		if (c != NULL && out.len > 0)
			conn_reply(c, 200, NULL, text_type, out.data, out.len);
		else if (c != NULL)
			conn_reply(c, 503, NULL, NULL, NULL, 0);
	}
}

/* ---- asking -------------------------------------------------------------------------- */

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct metrics *m = arg;
	ssize_t n;
	char *to;

	(void)what;
	if (ats_buf_reserve(&m->in, READ_BYTES, &to) < 0) {
		ats_buf_reset(&m->in);
		answer_all(m);
		return;
	}
	n = ats_fd_read((int)fd, to, READ_BYTES);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		ats_buf_commit(&m->in, (size_t)n);
	if (n <= 0 || memchr(to, '\n', (size_t)n) != NULL)
		answer_all(m);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct metrics *m = arg;

	(void)fd;
	(void)what;
	ats_log(ATS_LOG_WARN, "brain does not say its metrics in time", NULL);
	answer_all(m);
}

/* A line this short goes into a socket's buffer whole. */
static bool
begin(struct metrics *m)
{
	static const struct timeval patience = { METRICS_WAIT_S, 0 };
	struct http *h = m->h;

	if (ats_fd_unix_connect(h->opt->door, SOCK_STREAM | SOCK_NONBLOCK, &m->fd, NULL) < 0)
		return false;
	m->readable = event_new(h->base, m->fd, EV_READ | EV_PERSIST, on_readable, m);
	m->timer = event_new(h->base, -1, 0, on_timer, m);
	return m->readable != NULL && m->timer != NULL && event_add(m->readable, NULL) == 0 &&
	    event_add(m->timer, &patience) == 0 &&
	    ats_fd_send(m->fd, ask, sizeof(ask) - 1, NULL, 0) == (ssize_t)(sizeof(ask) - 1);
}

static void
on_gone(void *ctx)
{
	struct waiting *w = ctx;

	w->c = NULL;
}

void
metrics_request(struct metrics *m, struct conn *c)
{
	unsigned i = 0;

	while (i < METRICS_WAITING_MAX && m->waiting[i].c != NULL)
		i++;
	if (i == METRICS_WAITING_MAX) {
		conn_reply(c, 503, NULL, NULL, NULL, 0);
		return;
	}
	m->waiting[i] = (struct waiting){ m, c };
	conn_expects(c, on_gone, &m->waiting[i]);
	if (m->fd < 0 && !begin(m))
		answer_all(m);
}
