/* SPDX-License-Identifier: Apache-2.0
 *
 * What leaves by a connection: answers, events. Runs in ats-http; the peer may not read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "brain/http/conn_private.h"
#include "brain/http/metrics.h"
#include "common/json.h"

#define RETRY_MS 1000			/* after which a client asks for what it lost */

static void
write_out(struct conn *c)
{
	bool had = c->out.len > 0 || c->flushed;
	ssize_t n;

	if (c->failed) {
		conn_drop(c);
		return;
	}
	while (c->out.len > 0) {
		n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			conn_wait(c, c->h->opt->write_s);
			(void)event_add(c->writable, NULL);
			return;
		}
		if (n < 0) {
			conn_drop(c);
			return;
		}
		ats_buf_consume(&c->out, (size_t)n);
	}
	ats_buf_reset(&c->out);
	c->flushed = false;
	if (had)
		conn_all_written(c);
}

/* What the socket takes leaves at once, since somebody waits for it; what follows from that, and
 * from an error, is for a turn of its own. */
/* Whoever says something goes on with what asked for it, which conn_drop would tell that it is
 * over: so that is for a turn of its own, too. */
static void
give_up(struct conn *c)
{
	c->failed = true;
	ats_buf_done(&c->out);
	event_active(c->writable, EV_WRITE, 0);
}

/* Who reads nothing has most of what nobody reads. */
static void
make_room(struct http *h)
{
	struct conn *o, *most = NULL;
	size_t sum = 0;

	TAILQ_FOREACH(o, &h->conns, link) {
		if (o->failed)
			continue;
		sum += o->out.len;
		if (most == NULL || o->out.len > most->out.len)
			most = o;
	}
	if (sum > HTTP_OUT_ALL)
		give_up(most);
}

void
conn_flush(struct conn *c)
{
	ssize_t n;

	if (c->dead || c->failed)
		return;
	n = c->out.len == 0 ? 0 : send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		ats_buf_consume(&c->out, (size_t)n);
	c->flushed = c->flushed || n > 0;
	event_active(c->writable, EV_WRITE, 0);
	if (c->out.len > 0)
		make_room(c->h);
}

void
conn_on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	write_out(arg);
}

static const char *
reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{ 200, "OK" }, { 202, "Accepted" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" }, { 408, "Request Timeout" }, { 409, "Conflict" },
		{ 411, "Length Required" }, { 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" }, { 503, "Service Unavailable" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		if (rows[i].status == status)
			return rows[i].text;
	return "Error";
}

static int
write_head(struct conn *c, int status, const char *session, const char *type, bool close)
{
	int rc;

	metrics_answered(c->h, status);
	rc = ats_buf_addf(&c->out, "HTTP/1.1 %d %s\r\nCache-Control: no-store\r\n", status,
	    reason(status));

	if (rc == 0 && session != NULL)
		rc = ats_buf_addf(&c->out, "Mcp-Session-Id: %s\r\n", session);
	if (rc == 0 && type != NULL)
		rc = ats_buf_addf(&c->out, "Content-Type: %s\r\n", type);
	if (rc == 0 && status == 401)
		rc = ats_buf_add_str(&c->out, "WWW-Authenticate: Bearer\r\n");
	if (rc == 0 && (status == 429 || status == 503))
		rc = ats_buf_add_str(&c->out, "Retry-After: 1\r\n");
	if (rc == 0 && status == 405)
		rc = ats_buf_add_str(&c->out, c->req.metrics ? "Allow: GET\r\n" :
		    "Allow: POST, GET, DELETE\r\n");
	if (rc == 0 && close)
		rc = ats_buf_add_str(&c->out, "Connection: close\r\n");
	return rc;
}

/* The request is done; what came behind it is the next one's. */
static void
next_request(struct conn *c, bool close)
{
	ats_buf_reset(&c->body);
	c->scanned = 0;
	c->state = close ? LAST : HEAD;
	conn_flush(c);
}

static void
reply(struct conn *c, int status, const char *session, const char *type,
    const struct ats_slice body[3])
{
	bool close;
	int rc;

	if (c->dead)
		return;
	c->gone = NULL;
	/* With a part of the body still to come the next request cannot be found. */
	close = c->req.close || c->state != ANSWER;
	rc = write_head(c, status, session, type, close);
	if (rc == 0)
		rc = ats_buf_addf(&c->out, "Content-Length: %zu\r\n\r\n",
		    body[0].n + body[1].n + body[2].n);
	for (int i = 0; rc == 0 && i < 3; i++)
		if (body[i].n > 0)
			rc = ats_buf_add(&c->out, body[i].p, body[i].n);
	if (rc < 0)
		conn_drop(c);
	else
		next_request(c, close);
}

void
conn_reply(struct conn *c, int status, const char *session, const char *type, const char *body,
    size_t n)
{
	reply(c, status, session, type, (const struct ats_slice[3]){ { body, n } });
}

void
conn_reply_parts(struct conn *c, int status, const struct ats_slice body[3])
{
	reply(c, status, NULL, "application/json", body);
}

void
conn_reply_error_data(struct conn *c, int status, struct ats_slice id, int code,
    const char *why, struct ats_slice data)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	struct ats_json_w w;

	ats_buf_init(&text, 4096);
	ats_json_w_init(&w, &text);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	if (id.p == NULL)
		ats_json_w_null(&w, "id");
	else
		ats_json_w_raw(&w, "id", id.p, id.n);
	ats_json_w_object(&w, "error");
	ats_json_w_i64(&w, "code", code);
	ats_json_w_str(&w, "message", why);
	if (data.p != NULL)
		ats_json_w_raw(&w, "data", data.p, data.n);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	conn_reply(c, status, NULL, "application/json", text.data, w.rc < 0 ? 0 : text.len);
}

void
conn_reply_error(struct conn *c, int status, struct ats_slice id, int code, const char *why)
{
	conn_reply_error_data(c, status, id, code, why, (struct ats_slice){ NULL, 0 });
}

/* ---- events ---------------------------------------------------------------------- */

void
conn_stream(struct conn *c, const char *session)
{
	if (c->dead || c->failed || c->state != ANSWER)
		return;
	c->state = STREAM;
	if (write_head(c, 200, session, "text/event-stream", true) < 0 ||
	    ats_buf_add_str(&c->out, "X-Accel-Buffering: no\r\n\r\n") < 0)
		give_up(c);
	else
		conn_flush(c);
	/* Its end shows in what is read: nothing, or a next request that is not served. */
	if (!c->dead)
		conn_read_on(c, true);
}

void
conn_event_parts(struct conn *c, const char *id, const struct ats_slice data[3])
{
	int rc;

	if (c->dead || c->failed || c->state != STREAM)
		return;
	if (c->out.len > HTTP_STREAM) {
		give_up(c);
		return;
	}
	rc = id[0] != '\0' ? ats_buf_addf(&c->out, "id: %s\n", id) : 0;
	if (rc == 0 && id[0] != '\0' && data[0].n == 0)
		rc = ats_buf_addf(&c->out, "retry: %d\n", RETRY_MS);
	if (rc == 0)
		rc = ats_buf_add_str(&c->out, "data: ");
	for (int i = 0; rc == 0 && i < 3; i++)
		if (data[i].n > 0)
			rc = ats_buf_add(&c->out, data[i].p, data[i].n);
	if (rc == 0)
		rc = ats_buf_add_str(&c->out, "\n\n");
	if (rc < 0)
		give_up(c);
	else
		conn_flush(c);
}

void
conn_event(struct conn *c, const char *id, const char *data, size_t n)
{
	conn_event_parts(c, id, (const struct ats_slice[3]){ { data, n } });
}

void
conn_comment(struct conn *c)
{
	if (c->dead || c->failed || c->state != STREAM || c->out.len > 0)
		return;
	if (ats_buf_add_str(&c->out, ": here\n\n") < 0)
		give_up(c);
	else
		conn_flush(c);
}

void
conn_stream_end(struct conn *c)
{
	c->gone = NULL;
	if (c->dead || c->failed || c->state != STREAM)
		return;
	c->state = LAST;
	if (c->out.len > 0)
		conn_flush(c);
	else
		conn_all_written(c);
}
