/* SPDX-License-Identifier: Apache-2.0
 *
 * An MCP server elsewhere, by Streamable HTTP: a message goes by a POST, whose answer is a message
 * or a stream of them; what the server says by itself comes by a GET that stays. Runs in
 * ats-gateway; answers are the upstream's. */
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "brain/gateway/fetch.h"
#include "brain/gateway/gateway.h"
#include "brain/gateway/mcp.h"
#include "brain/gateway/renewal.h"
#include "brain/gateway/sse.h"
#include "common/log.h"

#define INBOX_MAX (32u << 20)		/* bytes of messages that wait for a turn of the loop */
#define TARGET_MAX 4096u
#define REDIRECTS_MAX 5u
#define STREAM_FIRST_MS 1000
#define STREAM_MOST_MS 60000

struct http;
struct message {
	struct message *next;
	size_t n;
	char text[];
};
struct post {
	struct http *h;
	struct fetch *f;
	uint64_t id;			/* of the request that it carries, or 0 */
	bool is_stream;			/* the GET */
	struct ats_buf out, in;		/* its message; an answer that is no stream */
	struct sse sse;
	unsigned redirects;
	struct renewal renewal;
	bool renewed;			/* it was tried with another credential */
	struct post *next;
};
struct http {
	struct mcp *m;
	struct fetches *fetches;
	struct post *posts;
	struct ats_buf target;
	char session[512];
	struct message *inbox, **last;
	size_t inbox_bytes;
	struct event *deliver, *reopen;
	uint64_t reopen_ms;
};

/* ---- messages that came: not within libcurl's callbacks -------------------------- */
static int
put(void *ctx, const char *text, size_t n)
{
	struct http *h = ctx;
	struct message *msg;

	if (h->inbox_bytes + n > INBOX_MAX)
		return -ATS_E_FULL;
	msg = malloc(sizeof(*msg) + n + 1);
	if (msg == NULL)
		return -ATS_E_NOMEM;
	msg->next = NULL;
	msg->n = n;
	memcpy(msg->text, text, n);
	msg->text[n] = '\0';
	*h->last = msg;
	h->last = &msg->next;
	h->inbox_bytes += n;
	event_active(h->deliver, EV_TIMEOUT, 0);
	return 0;
}

static struct message *
take(struct http *h)
{
	struct message *msg = h->inbox;

	if (msg == NULL)
		return NULL;
	h->inbox = msg->next;
	if (h->inbox == NULL)
		h->last = &h->inbox;
	h->inbox_bytes -= msg->n;
	return msg;
}

static void
deliver_all(struct http *h)
{
	struct message *msg;

	/* Each may end the session, which empties the box. */
	while ((msg = take(h)) != NULL) {
		mcp_on_message(h->m, msg->text, msg->n);
		free(msg);
	}
}

static void
on_deliver(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	deliver_all(arg);
}

/* ---- one request ----------------------------------------------------------------- */
static void
post_free(struct post *p)
{
	struct post **at = &p->h->posts;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	renewal_forget(p->h->m->g, &p->renewal);
	fetch_cancel(p->f);
	ats_buf_done(&p->out);
	ats_buf_done(&p->in);
	sse_done(&p->sse);
	free(p);
}

static bool
is_type(const struct fetch_head *h, const char *type)
{
	size_t n = strcspn(h->type, "; \t");

	return n == strlen(type) && strncasecmp(h->type, type, n) == 0;
}

static bool
on_body(void *ctx, struct fetch *f, const char *s, size_t n)
{
	struct post *p = ctx;
	const struct fetch_head *h = fetch_head(f);

	if (h->status != 200)
		return true;		/* it is short, or the call's time ends it */
	if (p->h->session[0] == '\0' && h->session[0] != '\0')
		(void)snprintf(p->h->session, sizeof(p->h->session), "%s", h->session);
	if (is_type(h, "text/event-stream"))
		return sse_add(&p->sse, s, n, put, p->h) == 0;
	return ats_buf_add(&p->in, s, n) == 0;
}

static const struct fetch_ops ops;

static int
post_send(struct post *p, struct ats_err *err)
{
	struct http *h = p->h;
	char version[64], session[sizeof(h->session) + 32];
	const char *headers[5] = { "User-Agent: ats-gateway/" ATS_VERSION };
	struct fetch_request r = { .method = p->is_stream ? "GET" : "POST",
		.target = h->target.data, .headers = headers, .nheaders = 1,
		.with_credential = true, .once = !p->is_stream, .ops = &ops, .ctx = p };

	if (p->is_stream) {
		headers[r.nheaders++] = "Accept: text/event-stream";
	} else {
		headers[r.nheaders++] = "Accept: application/json, text/event-stream";
		headers[r.nheaders++] = "Content-Type: application/json";
		r.body = (struct ats_slice){ p->out.data, p->out.len };
	}
	if (h->m->version[0] != '\0') {
		(void)snprintf(version, sizeof(version), "MCP-Protocol-Version: %s", h->m->version);
		headers[r.nheaders++] = version;
	}
	if (h->session[0] != '\0') {
		(void)snprintf(session, sizeof(session), "Mcp-Session-Id: %s", h->session);
		headers[r.nheaders++] = session;
	}
	return fetch_start(h->fetches, &r, &p->f, err);
}

static int
post_new(struct http *h, uint64_t id, const char *json, size_t n, struct ats_err *err)
{
	struct post *p = calloc(1, sizeof(*p));
	int rc;

	if (p == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	p->h = h;
	p->id = id;
	p->is_stream = json == NULL;
	p->next = h->posts;
	h->posts = p;
	ats_buf_init(&p->out, MCP_MESSAGE_MAX);
	ats_buf_init(&p->in, MCP_MESSAGE_MAX);
	sse_init(&p->sse, MCP_MESSAGE_MAX);
	rc = json != NULL ? ats_buf_add(&p->out, json, n) : 0;
	if (rc < 0)
		(void)ats_err_set(err, -rc, "out of memory");
	else
		rc = post_send(p, err);
	if (rc < 0)
		post_free(p);
	return rc;
}

/* ---- its end
 * ----------------------------------------------------------------------------------------
 */
/* A server that is really at another path says so; it is asked there from now on. */
static bool
moved(struct post *p, const struct fetch_head *head)
{
	struct http *h = p->h;
	struct ats_buf to ATS_CLEANUP_BUF = { 0 };
	struct ats_err err = { 0 };

	ats_buf_init(&to, TARGET_MAX);
	if ((head->status != 307 && head->status != 308) || ++p->redirects > REDIRECTS_MAX ||
	    fetch_redirect(&h->m->g->conf, h->target.data, head->location, &to) != 1)
		return false;
	ats_buf_done(&h->target);
	h->target = to;
	ats_buf_init(&to, 0);
	return post_send(p, &err) == 0;
}

static void
on_stream_end(struct http *h, long status)
{
	struct timeval tv = { (time_t)(h->reopen_ms / 1000), 0 };

	if (status != 200)		/* most servers have none */
		return;
	(void)event_add(h->reopen, &tv);
	if (h->reopen_ms < STREAM_MOST_MS)
		h->reopen_ms *= 2;
}

static void
lost(struct http *h, uint64_t id, int code, bool began, const char *why, long status)
{
	char text[400];

	if (code > 0)
		(void)snprintf(text, sizeof(text), "the server could not be asked: %.300s%s", why,
		    began ? "" : " (nothing was sent to it)");
	else if (code == FETCH_STOPPED)
		(void)snprintf(text, sizeof(text),
		    "the server's answer is too long, or comes too fast");
	else if (status == 401 || status == 403)
		(void)snprintf(text, sizeof(text),
		    "the server does not accept the credential of this "
		    "gateway (status %ld)",
		    status);
	else if (status >= 300)
		(void)snprintf(text, sizeof(text), "the server answered with status %ld", status);
	else
		(void)snprintf(text, sizeof(text), "the server's answer ended without a result");
	mcp_on_lost(h->m, id, text);
}

static void
on_renewed(void *ctx, bool changed)
{
	struct post *p = ctx;
	struct http *h = p->h;
	struct ats_err err = { 0 };
	uint64_t id = p->id;

	p->renewed = true;
	if (changed && post_send(p, &err) == 0)
		return;
	post_free(p);
	if (id != 0)
		lost(h, id, changed ? err.code : 0, false, err.text, 401);
}

/* Who is not known has changed nothing. */
static bool
waits_for_renewal(struct post *p, const struct fetch_head *head)
{
	struct gateway *g = p->h->m->g;

	if (head->status != 401 || p->renewed || p->is_stream || !renewal_possible(g))
		return false;
	p->renewal = (struct renewal){ .done = on_renewed, .ctx = p };
	renewal_wait(g, &p->renewal);
	return true;
}

static void
on_done(void *ctx, struct fetch *f, int code, bool began, const char *why)
{
	struct post *p = ctx;
	struct http *h = p->h;
	const struct fetch_head *head = fetch_head(f);
	long status = head->status;
	uint64_t id = p->id;
	bool is_stream = p->is_stream;

	p->f = NULL;
	if (code == 0 && (moved(p, head) || waits_for_renewal(p, head)))
		return;
	if (code == 0 && status == 200 && p->in.len > 0 && put(h, p->in.data, p->in.len) < 0)
		code = FETCH_STOPPED;
	post_free(p);
	if (is_stream) {
		on_stream_end(h, status);
		return;
	}
	if (code == 0 && status == 404 && h->session[0] != '\0') {
		mcp_on_down(h->m, "the server has ended the session");
		return;
	}
	/* What was said before the end counts: the answer may be among it. */
	deliver_all(h);
	if (id != 0)
		lost(h, id, code, began, why, status);
}

static const struct fetch_ops ops = { .body = on_body, .done = on_done };

/* ---- the transport --------------------------------------------------------------- */
static void
on_reopen(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	(void)fd;
	(void)what;
	(void)!post_new(h, 0, NULL, 0, NULL);
}

static int
open_http(struct mcp *m, struct ats_err *err)
{
	struct http *h = calloc(1, sizeof(*h));
	const char *path = m->g->conf.url.path;

	m->link = h;
	if (h == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	h->m = m;
	h->last = &h->inbox;
	ats_buf_init(&h->target, TARGET_MAX);
	h->deliver = evtimer_new(m->g->base, on_deliver, h);
	h->reopen = evtimer_new(m->g->base, on_reopen, h);
	if (h->deliver == NULL || h->reopen == NULL ||
	    ats_buf_add_str(&h->target, path[0] != '\0' ? path : "/") < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	h->fetches = fetches_new(m->g->base, &m->g->conf, &m->g->credential, err);
	return h->fetches == NULL ? -err->code : 0;
}

static int
begin(struct mcp *m, struct ats_err *err)
{
	struct http *h = m->link;

	(void)err;
	h->session[0] = '\0';
	h->reopen_ms = STREAM_FIRST_MS;
	return 0;
}

static int
send_message(struct mcp *m, uint64_t id, const char *json, size_t n, struct ats_err *err)
{
	return post_new(m->link, id, json, n, err);
}

static void
ready(struct mcp *m)
{
	(void)!post_new(m->link, 0, NULL, 0, NULL);
}

static void
forget(struct mcp *m, uint64_t id)
{
	struct http *h = m->link;

	for (struct post *p = h->posts; p != NULL; p = p->next)
		if (p->id == id) {
			post_free(p);
			return;
		}
}

static void
end(struct mcp *m)
{
	struct http *h = m->link;
	struct message *msg;

	while (h->posts != NULL)
		post_free(h->posts);
	while ((msg = take(h)) != NULL)
		free(msg);
	(void)event_del(h->reopen);
	h->session[0] = '\0';
}

static void
close_http(struct mcp *m)
{
	struct http *h = m->link;

	end(m);
	fetches_free(h->fetches);
	ats_buf_done(&h->target);
	event_free(h->deliver);
	event_free(h->reopen);
	free(h);
}

const struct mcp_transport mcp_http = {
	.open = open_http,
	.begin = begin,
	.send = send_message,
	.ready = ready,
	.forget = forget,
	.end = end,
	.close = close_http,
};
