/* SPDX-License-Identifier: Apache-2.0
 *
 * One HTTP/1.1 connection. Runs in ats-http; up to the token the peer is anybody. A refusal is
 * written and then read away from for a moment, since bytes that nobody reads turn an answer into
 * a reset. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brain/http/conn_private.h"
#include "brain/http/mcp.h"
#include "brain/http/metrics.h"
#include "common/fd.h"

#define READ_BYTES (64u << 10)
#define LINGER_S 2
#define LINGER_BYTES (64u << 20)
#define SMALL_BODY (64u << 10)

static void process(struct conn *c);

void
conn_wait(struct conn *c, unsigned seconds)
{
	struct timeval t = { (time_t)seconds, 0 };

	if (seconds == 0)
		(void)event_del(c->timer);
	else
		(void)event_add(c->timer, &t);
}

static void
tell_gone(struct conn *c)
{
	conn_gone_fn *gone = c->gone;

	c->gone = NULL;
	if (gone != NULL)
		gone(c->gone_ctx);
}

void
conn_drop(struct conn *c)
{
	struct http *h = c->h;

	if (c->dead)
		return;
	c->dead = true;
	(void)event_del(c->readable);
	(void)event_del(c->writable);
	(void)event_del(c->timer);
	ats_fd_close(&c->fd);
	TAILQ_REMOVE(&h->conns, c, link);
	TAILQ_INSERT_TAIL(&h->dead, c, link);
	h->nconns--;
	event_active(h->turn_end, EV_TIMEOUT, 0);
	tell_gone(c);
}

static void
destroy(struct conn *c)
{
	ats_fd_close(&c->fd);
	if (c->readable != NULL)
		event_free(c->readable);
	if (c->writable != NULL)
		event_free(c->writable);
	if (c->timer != NULL)
		event_free(c->timer);
	ats_buf_done(&c->in);
	ats_buf_done(&c->head);
	ats_buf_done(&c->body);
	ats_buf_done(&c->out);
	free(c);
}

void
conns_bury(struct http *h)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&h->dead)) != NULL) {
		TAILQ_REMOVE(&h->dead, c, link);
		destroy(c);
	}
}

void
conns_free(struct http *h)
{
	struct conn *c;

	while ((c = TAILQ_FIRST(&h->conns)) != NULL)
		conn_drop(c);
	conns_bury(h);
}

void
conn_read_on(struct conn *c, bool on)
{
	if (c->reading == on)
		return;
	c->reading = on;
	if (!on)
		(void)event_del(c->readable);
	else if (event_add(c->readable, NULL) < 0)
		conn_drop(c);
}

/* ---- in -------------------------------------------------------------------------- */

void
conn_expects(struct conn *c, conn_gone_fn *gone, void *ctx)
{
	c->gone = gone;
	c->gone_ctx = ctx;
	if (c->dead)
		tell_gone(c);
}

void
conn_forget(struct conn *c, const void *ctx)
{
	if (c->gone_ctx == ctx)
		c->gone = NULL;
}

const struct request *
conn_request(const struct conn *c)
{
	return &c->req;
}

struct ats_slice
conn_head(const struct conn *c)
{
	return (struct ats_slice){ c->head.data, c->head.len };
}

static void
refuse(struct conn *c, int status, const char *why)
{
	struct ats_slice none = { NULL, 0 };

	c->req.close = true;
	conn_reply_error(c, status, none, -32600, why);
}

/* The whole request is here. */
static void
answer(struct conn *c)
{
	c->state = ANSWER;
	conn_wait(c, 0);
	/* The next one waits; but the peer's end must be seen. */
	if (c->in.len > HTTP_HEAD)
		conn_read_on(c, false);
	if (c->req.metrics)
		metrics_request(c->h->scraped, c);
	else
		mcp_request(c->h, c, c->body.data, c->body.len);
	/* What of it is needed later was copied. */
	ats_buf_done(&c->body);
	ats_buf_init(&c->body, c->h->opt->body_max + 1);
}

/* False: there is no whole head yet. */
static bool
take_head(struct conn *c)
{
	struct ats_http_head head;
	struct ats_err err = { 0 };
	struct gate gate;
	const char *why;
	size_t n = ats_http_head_end(c->in.data, c->in.len, c->scanned);
	int status;

	c->scanned = c->in.len;
	if (n == 0 && c->in.len < HTTP_HEAD)
		return false;
	if (n == 0 || n > HTTP_HEAD) {
		refuse(c, 431, "the head is too large");
		return true;
	}
	c->req = (struct request){ .close = true };
	if (ats_http_request_read(c->in.data, n, &head, &err) < 0) {
		refuse(c, 400, err.text);
		return true;
	}
	gate = c->h->gate;
	gate.any_host = c->any_host;
	status = gate_judge(&gate, &head, &c->req, &why);
	ats_buf_reset(&c->head);
	if (status == 0 && ats_buf_add(&c->head, c->in.data, n) < 0) {
		status = 503;
		why = "out of memory";
	}
	ats_buf_consume(&c->in, n);
	c->scanned = 0;
	if (status != 0) {
		refuse(c, status, why);
		return true;
	}
	c->state = BODY;
	c->chunks = (struct ats_http_chunks){ 0 };
	c->body_left = c->req.length;
	conn_wait(c, c->h->opt->body_s);
	if (c->req.expects && c->in.len == 0 && c->req.framing != ATS_HTTP_NONE &&
	    (ats_buf_add_str(&c->out, "HTTP/1.1 100 Continue\r\n\r\n") < 0))
		conn_drop(c);
	else
		conn_flush(c);
	return true;
}

/* Small ones find room beside those that a flood of large ones has taken it with. */
static bool
bodies_full(const struct conn *c, size_t more)
{
	const struct conn *o;
	size_t sum = more;

	if (c->body.len + more <= SMALL_BODY)
		return false;
	TAILQ_FOREACH(o, &c->h->conns, link)
		sum += o->body.len;
	return sum > HTTP_BODIES_ALL;
}

/* False: more must come. */
static bool
take_body(struct conn *c)
{
	size_t n = c->in.len, got = n;
	int64_t used = 0;

	if (c->req.framing == ATS_HTTP_CHUNKED) {
		used = ats_http_chunks_decode(&c->chunks, c->in.data, n, &got);
		if (used < 0) {
			refuse(c, 400, "the body is not in chunks as it says");
			return true;
		}
	} else {
		if (c->body_left < n)
			got = (size_t)c->body_left;
		used = (int64_t)got;
		c->body_left -= got;
	}
	if (c->body.len + got > c->h->opt->body_max) {
		refuse(c, 413, "the body is too large");
		return true;
	}
	if (got > 0 && bodies_full(c, got)) {
		refuse(c, 503, "too many bytes of requests are under way; try again");
		return true;
	}
	if (got > 0 && ats_buf_add(&c->body, c->in.data, got) < 0) {
		refuse(c, 503, "out of memory");
		return true;
	}
	ats_buf_consume(&c->in, (size_t)used);
	if (c->req.framing == ATS_HTTP_CHUNKED ? !c->chunks.done : c->body_left > 0)
		return false;
	answer(c);
	return true;
}

static void
process(struct conn *c)
{
	bool more = true;

	while (more && !c->dead) {
		if (c->state == HEAD)
			more = c->out.len == 0 && c->in.len > 0 && take_head(c);
		else if (c->state == BODY)
			more = take_body(c);
		else
			more = false;
	}
}

static void
on_data(struct conn *c, size_t n)
{
	switch (c->state) {
	case HEAD:
		if (c->in.len == n)
			conn_wait(c, c->h->opt->head_s);	/* the first bytes of a head */
		process(c);
		break;
	case BODY:
		process(c);
		break;
	case LINGER:
		c->lingered += n;
		ats_buf_reset(&c->in);
		if (c->lingered > LINGER_BYTES)
			conn_drop(c);
		break;
	case STREAM:			/* nothing is served behind it */
	case LAST:
		ats_buf_reset(&c->in);
		break;
	default:			/* the next request waits */
		if (c->in.len > HTTP_HEAD)
			conn_read_on(c, false);
		break;
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	ssize_t n;
	char *to;

	(void)what;
	if (ats_buf_reserve(&c->in, READ_BYTES, &to) < 0) {
		conn_drop(c);
		return;
	}
	n = ats_fd_read((int)fd, to, READ_BYTES);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		/* A client that wants its answer keeps its end open: Streamable HTTP's do. */
		conn_drop(c);
		return;
	}
	ats_buf_commit(&c->in, (size_t)n);
	on_data(c, (size_t)n);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	if (c->state == BODY || (c->state == HEAD && c->in.len > 0 && c->out.len == 0))
		refuse(c, 408, "the request took too long");
	else
		conn_drop(c);
}

/* ---- the end --------------------------------------------------------------------- */

static void
begin_linger(struct conn *c)
{
	c->state = LINGER;
	ats_buf_done(&c->in);
	ats_buf_done(&c->body);
	(void)shutdown(c->fd, SHUT_WR);
	conn_wait(c, LINGER_S);
	conn_read_on(c, true);
}

void
conn_all_written(struct conn *c)
{
	if (c->state == LAST) {
		begin_linger(c);
	} else if (c->state == HEAD) {
		conn_wait(c, c->in.len > 0 ? c->h->opt->head_s : HTTP_IDLE_S);
		conn_read_on(c, true);
		process(c);
	} else if (c->state == STREAM) {
		conn_wait(c, 0);
	}
}

/* ---- the beginning --------------------------------------------------------------- */

/* The oldest that has asked nothing makes room: strangers do not keep the others out. */
static bool
make_room(struct http *h)
{
	struct conn *c;

	if (h->nconns < HTTP_CONNS)
		return true;
	TAILQ_FOREACH(c, &h->conns, link)
		if (c->state == HEAD || c->state == LINGER || c->state == LAST) {
			conn_drop(c);
			return true;
		}
	return false;
}

void
conn_new(struct http *h, int fd, bool any_host)
{
	struct conn *c = make_room(h) ? calloc(1, sizeof(*c)) : NULL;

	if (c == NULL) {
		(void)close(fd);
		return;
	}
	c->h = h;
	c->fd = fd;
	c->any_host = any_host;
	ats_buf_init(&c->in, HTTP_HEAD + 2 * READ_BYTES);
	ats_buf_init(&c->head, HTTP_HEAD);
	ats_buf_init(&c->body, h->opt->body_max + 1);
	ats_buf_init(&c->out, HTTP_OUT);
	c->readable = event_new(h->base, fd, EV_READ | EV_PERSIST, on_readable, c);
	c->writable = event_new(h->base, fd, EV_WRITE, conn_on_writable, c);
	c->timer = event_new(h->base, -1, 0, on_timer, c);
	if (c->readable == NULL || c->writable == NULL || c->timer == NULL ||
	    event_add(c->readable, NULL) < 0) {
		destroy(c);
		return;
	}
	c->reading = true;
	TAILQ_INSERT_TAIL(&h->conns, c, link);
	h->nconns++;
	ats_metric_add(&h->metrics, ATS_METRIC_HTTP_CONNS_TOTAL, 0, 0, 1);
	conn_wait(c, c->h->opt->head_s);
}
