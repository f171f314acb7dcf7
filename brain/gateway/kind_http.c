/* SPDX-License-Identifier: Apache-2.0
 *
 * Gateways of kind http: a call is one request to the configured origin. Runs in ats-gateway; the
 * arguments are anybody's, answers the upstream's. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/gateway/encode.h"
#include "brain/gateway/fetch.h"
#include "brain/gateway/gateway.h"
#include "brain/gateway/http_answer.h"
#include "brain/gateway/mask.h"
#include "brain/gateway/orders.h"
#include "brain/gateway/renewal.h"
#include "common/log.h"
#include "proto/brain.h"

#define TARGET_MAX (48u << 10)
#define BODY_MAX (2u << 20)		/* percent-encoding makes arguments longer */
#define REDIRECTS_MAX 5
#define HOST_SHOWN 200u

struct job {
	struct order *o;
	struct fetch *fetch;
	const char *method, *type;	/* of the request; static or the configuration's */
	struct ats_buf target, body;
	bool has_body;
	unsigned redirects;
	struct http_answer answer;
	struct renewal renewal;
	bool renewed;			/* it was tried with another credential */
};

static void
job_free(struct job *j)
{
	renewal_forget(j->o->g, &j->renewal);
	ats_buf_done(&j->target);
	ats_buf_done(&j->body);
	http_answer_done(&j->answer);
	free(j);
}

/* ---- the request --------------------------------------------------------------------------- */
static int
make_target(struct job *j, struct ats_err *err)
{
	const struct ats_gw_tool *t = j->o->tool;
	struct ats_slice args = order_args(j->o);
	size_t mark;
	int rc = ats_buf_add_str(&j->target, j->o->g->conf.url.path);

	if (rc == 0)
		rc = encode_path(&j->target, &t->path, args, err);
	mark = j->target.len;
	if (rc == 0 && t->nquery > 0)
		rc = ats_buf_add_char(&j->target, '?');
	if (rc == 0)
		rc = encode_query(&j->target, t, args, err);
	if (rc == 0 && j->target.len == mark + 1)
		ats_buf_truncate(&j->target, mark);	/* nothing of it was there */
	return rc;
}

static int
text_body(struct job *j, struct ats_err *err)
{
	struct ats_json_val v;

	if (!ats_json_get(order_args(j->o), j->o->tool->body_arg, &v))
		return ats_err_set(err, ATS_E_INVAL, "%.100s: is required", j->o->tool->body_arg);
	return encode_value(&j->body, j->o->tool->body_arg, &v, err);
}

/* It was copied by the vault, and has seals: its size is that of what was approved. */
static int
file_body(struct job *j, struct ats_err *err)
{
	int fd = j->o->files[0];
	struct stat st;
	char *to;

	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_set(err, ATS_E_INVAL, "%.100s: is required", j->o->tool->body_arg);
	ats_buf_init(&j->body, (size_t)st.st_size + 1);
	if (ats_buf_reserve(&j->body, (size_t)st.st_size, &to) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	if (pread(fd, to, (size_t)st.st_size, 0) != st.st_size)
		return ats_err_set(err, ATS_E_SYS, "%.100s: cannot be read",
		    j->o->tool->body_arg);
	ats_buf_commit(&j->body, (size_t)st.st_size);
	return 0;
}

static int
make_body(struct job *j, struct ats_err *err)
{
	const struct ats_gw_tool *t = j->o->tool;

	j->has_body = true;
	switch (t->body) {
	case ATS_GW_BODY_JSON:
		j->type = "Content-Type: application/json";
		return encode_rest(&j->body, t, order_args(j->o), false, err);
	case ATS_GW_BODY_FORM:
		j->type = "Content-Type: application/x-www-form-urlencoded";
		return encode_rest(&j->body, t, order_args(j->o), true, err);
	case ATS_GW_BODY_TEXT:
		j->type = "Content-Type: text/plain; charset=utf-8";
		return text_body(j, err);
	case ATS_GW_BODY_FILE:
		j->type = "Content-Type: application/octet-stream";
		return file_body(j, err);
	case ATS_GW_BODY_NONE:
		break;
	}
	/* One that is empty, so that its length is said, where servers want one. */
	j->has_body = j->method[0] == 'P';
	j->type = "Content-Type:";
	return 0;
}

static const struct fetch_ops ops;

static int
send_request(struct job *j, struct ats_err *err)
{
	struct gateway *g = j->o->g;
	const char *headers[3] = { "User-Agent: ats-gateway/" ATS_VERSION };
	struct fetch_request r = { .method = j->method, .target = j->target.data,
		.headers = headers, .nheaders = 1, .with_credential = true,
		.once = (j->o->tool->flags & GATEWAY_READ_ONLY) == 0, .ops = &ops, .ctx = j };

	if (j->has_body) {
		headers[r.nheaders++] = j->type;
		r.body = (struct ats_slice){ j->body.data, j->body.len };
	}
	return fetch_start(g->own, &r, &j->fetch, err);
}

static int
start(struct order *o, struct ats_err *err)
{
	struct job *j = calloc(1, sizeof(*j));
	int rc;

	if (j == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	j->o = o;
	j->method = o->tool->method;
	ats_buf_init(&j->target, TARGET_MAX);
	ats_buf_init(&j->body, BODY_MAX);
	http_answer_init(&j->answer, o->g->mask);
	rc = make_target(j, err);
	if (rc == 0)
		rc = make_body(j, err);
	if (rc == 0)
		rc = send_request(j, err);
	if (rc < 0)
		job_free(j);
	else
		o->own = j;
	return rc;
}

static void
stop(struct order *o)
{
	struct job *j = o->own;

	fetch_cancel(j->fetch);
	job_free(j);
}

/* ---- the answer ---------------------------------------------------------------------------- */
static bool
on_body(void *ctx, struct fetch *f, const char *p, size_t n)
{
	struct job *j = ctx;

	return http_answer_add(&j->answer, fetch_head(f), p, n);
}

static bool
is_redirect(const struct fetch_head *h)
{
	return (h->status == 301 || h->status == 302 || h->status == 303 || h->status == 307 ||
	           h->status == 308) && h->location[0] != '\0';
}

static int
send_again(struct job *j, struct ats_err *err)
{
	http_answer_done(&j->answer);
	http_answer_init(&j->answer, j->o->g->mask);
	return send_request(j, err);
}

/* Goes on at another place of the same origin; RFC 9110, 15.4, says with which method. */
static int
follow(struct job *j, const struct fetch_head *h, struct ats_err *err)
{
	struct ats_buf to ATS_CLEANUP_BUF = { 0 }, host ATS_CLEANUP_BUF = { 0 };
	int rc;

	ats_buf_init(&to, TARGET_MAX);
	if (++j->redirects > REDIRECTS_MAX)
		return ats_err_set(err, ATS_E_UPSTREAM, "more than %d redirects", REDIRECTS_MAX);
	rc = fetch_redirect(&j->o->g->conf, j->target.data, h->location, &to);
	ats_buf_init(&host, HOST_SHOWN);
	if (rc == 0 && mask_cut(j->o->g->mask, to.data, to.len, HOST_SHOWN, &host) < 0)
		ats_buf_reset(&host);
	if (rc == 0)
		return ats_err_set(err, ATS_E_DENIED,
		    "it redirects to another address (%s), which is not followed: the "
		    "credential is for this one", host.len > 0 ? host.data : "");
	if (rc < 0)
		return ats_err_set(err, ATS_E_UPSTREAM, "it redirects to what is no address");
	if (strcmp(j->method, "HEAD") != 0 && (h->status == 303 ||
	        (h->status <= 302 && strcmp(j->method, "POST") == 0))) {
		j->method = "GET";
		j->has_body = false;
	}
	ats_buf_done(&j->target);
	j->target = to;
	ats_buf_init(&to, 0);
	return send_again(j, err);
}

static void
fail(struct job *j, int code, bool began, const char *why)
{
	struct order *o = j->o;
	struct result r;

	job_free(j);
	result_init(&r, o->g->mask);
	r.not_started = !began;
	result_fail(&r, code, "%s could not be called: %s.%s", o->whole, why,
	    began ? " Whether it took effect is not known." : " Nothing was sent.");
	order_end(o, &r);
}

static void
answer(struct job *j, const struct fetch_head *h)
{
	struct order *o = j->o;
	struct result r;

	result_init(&r, o->g->mask);
	if (http_answer_finish(&j->answer, h, o, &r) < 0)
		result_fail(&r, ATS_E_NOMEM, "%s answered, but there is no memory for it",
		    o->whole);
	job_free(j);
	order_end(o, &r);
}

static void
on_renewed(void *ctx, bool changed)
{
	static const struct fetch_head refused = { .status = 401 };
	struct job *j = ctx;
	struct ats_err err = { 0 };

	j->renewed = true;
	if (!changed)
		answer(j, &refused);
	else if (send_again(j, &err) < 0)
		fail(j, err.code, false, err.text);
}

/* Who is not known has changed nothing; but what was redirected may have done so before. */
static bool
may_try_again(const struct job *j, const struct fetch_head *h)
{
	return h->status == 401 && !j->renewed && j->redirects == 0 &&
	    renewal_possible(j->o->g);
}

static void
on_done(void *ctx, struct fetch *f, int code, bool began, const char *why)
{
	struct job *j = ctx;
	const struct fetch_head *h = fetch_head(f);
	struct ats_err err = { 0 };

	j->fetch = NULL;
	if (code > 0) {
		fail(j, code, began || j->redirects > 0, why);
		return;
	}
	if (is_redirect(h)) {
		if (follow(j, h, &err) < 0)
			fail(j, err.code, true, err.text);
		return;
	}
	if (may_try_again(j, h)) {
		j->renewal = (struct renewal){ .done = on_renewed, .ctx = j };
		renewal_wait(j->o->g, &j->renewal);
		return;
	}
	answer(j, h);
}

static const struct fetch_ops ops = { .body = on_body, .done = on_done };

/* ---- the kind ------------------------------------------------------------------------------ */
static int
open_http(struct gateway *g, struct ats_err *err)
{
	g->own = fetches_new(g->base, &g->conf, &g->credential, err);
	return g->own == NULL ? -err->code : 0;
}

static void
close_http(struct gateway *g)
{
	fetches_free(g->own);
}

const struct kind kind_http = {
	.name = "http",
	.open = open_http,
	.start = start,
	.stop = stop,
	.close = close_http,
};
