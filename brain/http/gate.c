/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a request. Runs in ats-http; it is anybody's. */
#include "brain/http/gate.h"

#include <string.h>
#include <strings.h>

#define PATH "/mcp"
#define METRICS_PATH "/metrics"

static bool
has_token(const struct ats_secret *token, const struct ats_http_head *h)
{
	static const char scheme[] = "Bearer ";
	unsigned count;
	struct ats_http_text v = ats_http_field(h, "Authorization", &count);
	size_t n = sizeof(scheme) - 1;

	if (count != 1 || v.n < n || strncasecmp(v.p, scheme, n) != 0)
		return false;
	return ats_secret_equal(token, v.p + n, v.n - n);
}

static bool
is_one_of(struct ats_http_text t, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (ats_http_text_is(t, names[i]))
			return true;
	return false;
}

/* The name alone: which port a client sees may be a tunnel's. */
static struct ats_http_text
without_port(struct ats_http_text t)
{
	const char *colon = memrchr(t.p, ':', t.n);
	struct ats_http_text name = t;

	if (colon == NULL || (t.n > 0 && t.p[t.n - 1] == ']'))
		return t;
	for (const char *d = colon + 1; d < t.p + t.n; d++)
		if (*d < '0' || *d > '9')
			return t;
	name.n = (size_t)(colon - t.p);
	return name;
}

static bool
is_loopback(struct ats_http_text name)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

	return is_one_of(name, names, ATS_ARRAY_LEN(names));
}

/* A page whose name was made to lead here (DNS rebinding) says its own name. */
static bool
host_is_ours(const struct gate *g, const struct ats_http_head *h)
{
	unsigned count;
	struct ats_http_text v = ats_http_field(h, "Host", &count);

	if (count != 1 || v.n == 0)
		return false;
	return g->any_host || is_loopback(without_port(v)) ||
	    is_one_of(without_port(v), g->hosts, g->nhosts);
}

static bool
origin_is_ours(const struct gate *g, const struct ats_http_head *h)
{
	static const char *const schemes[] = { "http://", "https://" };
	unsigned count;
	struct ats_http_text v = ats_http_field(h, "Origin", &count), name;

	if (count == 0)
		return true;
	if (count > 1)
		return false;
	for (size_t i = 0; i < ATS_ARRAY_LEN(schemes); i++) {
		size_t n = strlen(schemes[i]);

		name = (struct ats_http_text){ v.p + n, v.n > n ? v.n - n : 0 };
		if (v.n > n && strncasecmp(v.p, schemes[i], n) == 0 &&
		    is_loopback(without_port(name)))
			return true;
	}
	return is_one_of(v, g->origins, g->norigins);
}

static bool
read_method(struct ats_http_text t, enum gate_method *ret)
{
	static const char *const names[] = { "POST", "GET", "DELETE" };

	for (unsigned i = 0; i < ATS_ARRAY_LEN(names); i++)
		if (ats_http_text_is_exactly(t, names[i])) {
			*ret = (enum gate_method)i;
			return true;
		}
	return false;
}

/* A field that is there once at most, in visible ASCII. */
static bool
copy(const struct ats_http_head *h, const char *name, char *out, size_t size)
{
	unsigned count;
	struct ats_http_text v = ats_http_field(h, name, &count);

	out[0] = '\0';
	if (count > 1 || v.n >= size || (count == 1 && v.n == 0))
		return false;
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] <= ' ' || v.p[i] > '~')
			return false;
	memcpy(out, v.n > 0 ? v.p : "", v.n);
	out[v.n] = '\0';
	return true;
}

/* session=NAME among what is between ? and the end; what else is there is not ours. */
static bool
read_query(struct ats_http_text q, char name[GATE_NAME_MAX])
{
	static const char key[] = "session=", letters[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t nkey = sizeof(key) - 1;

	while (q.n > 0) {
		const char *end = memchr(q.p, '&', q.n);
		size_t n = end != NULL ? (size_t)(end - q.p) : q.n;

		if (n > nkey && memcmp(q.p, key, nkey) == 0) {
			if (name[0] != '\0' || n - nkey >= GATE_NAME_MAX)
				return false;
			memcpy(name, q.p + nkey, n - nkey);
			name[n - nkey] = '\0';
			if (strspn(name, letters) != n - nkey)
				return false;
		} else if (n == nkey && memcmp(q.p, key, nkey) == 0) {
			return false;
		}
		q.p += n + (end != NULL);
		q.n -= n + (end != NULL);
	}
	return true;
}

static void
read_accept(const struct ats_http_head *h, struct request *r)
{
	unsigned count;
	struct ats_http_text v = ats_http_field(h, "Accept", &count);
	bool any = count == 0 || ats_http_lists(v, "*/*");

	r->takes_json = any || ats_http_lists(v, "application/json") ||
	    ats_http_lists(v, "application/*");
	r->takes_events = ats_http_lists(v, "text/event-stream") || (any && count > 0) ||
	    ats_http_lists(v, "text/*");
}

static int
judge_body(const struct gate *g, const struct ats_http_head *h, struct request *r,
    const char **ret_why)
{
	struct ats_http_text type = ats_http_field(h, "Content-Type", NULL);
	struct ats_err err = { 0 };

	if (ats_http_framing(h, &r->framing, &r->length, &err) < 0) {
		*ret_why = "the length of the body is not clear";
		return 400;
	}
	if (r->method != GATE_POST) {
		*ret_why = "a body where none is wanted";
		return r->framing == ATS_HTTP_NONE || (r->framing == ATS_HTTP_LENGTH &&
		    r->length == 0) ? 0 : 400;
	}
	*ret_why = "Content-Type: expected application/json";
	if (!ats_http_lists(type, "application/json"))
		return 415;
	*ret_why = "a body without a length";
	if (r->framing == ATS_HTTP_NONE)
		return 411;
	*ret_why = "the body is too large";
	return r->framing == ATS_HTTP_LENGTH && r->length > g->body_max ? 413 : 0;
}

static bool
is_metrics(const struct gate *g, struct ats_http_text path)
{
	const char *query = memchr(path.p, '?', path.n);

	if (query != NULL)
		path.n = (size_t)(query - path.p);
	return g->metrics_token != NULL && ats_http_text_is_exactly(path, METRICS_PATH);
}

static int
judge_metrics(const struct ats_http_head *h, const char **ret_why)
{
	enum ats_http_framing framing;
	struct ats_err err = { 0 };
	uint64_t length;

	*ret_why = "GET";
	if (!ats_http_text_is_exactly(h->method, "GET"))
		return 405;
	*ret_why = "a body where none is wanted";
	return ats_http_framing(h, &framing, &length, &err) < 0 ||
	    (framing != ATS_HTTP_NONE && (framing != ATS_HTTP_LENGTH || length > 0)) ? 400 : 0;
}

int
gate_judge(const struct gate *g, const struct ats_http_head *h, struct request *ret,
    const char **ret_why)
{
	struct ats_http_text path = h->target;
	const char *query = memchr(path.p, '?', path.n);

	*ret = (struct request){ .method = GATE_POST, .metrics = is_metrics(g, path) };
	ret->close = ats_http_lists(ats_http_field(h, "Connection", NULL), "close");
	*ret_why = "Authorization: the bearer token is missing or another one";
	if (!has_token(ret->metrics ? g->metrics_token : g->token, h))
		return 401;
	*ret_why = "Host: not a name of this server; --host allows more";
	if (!host_is_ours(g, h))
		return 403;
	*ret_why = "Origin: not one that may ask; --origin allows more";
	if (!origin_is_ours(g, h))
		return 403;
	if (ret->metrics)
		return judge_metrics(h, ret_why);
	if (query != NULL)
		path.n = (size_t)(query - path.p);
	*ret_why = "nothing is here; MCP is at " PATH;
	if (!ats_http_text_is_exactly(path, PATH))
		return 404;
	*ret_why = "POST, GET or DELETE";
	if (!read_method(h->method, &ret->method))
		return 405;
	*ret_why = "session= in the query: 1 to 64 letters, digits, '.', '_' or '-', once";
	if (query != NULL && !read_query((struct ats_http_text){ query + 1,
	    h->target.n - path.n - 1 }, ret->name))
		return 400;
	*ret_why = "a field of MCP is wrong, or there twice";
	if (!copy(h, "Mcp-Session-Id", ret->session, sizeof(ret->session)) ||
	    !copy(h, "Last-Event-ID", ret->event, sizeof(ret->event)) ||
	    !copy(h, "MCP-Protocol-Version", ret->version, sizeof(ret->version)))
		return 400;
	read_accept(h, ret);
	*ret_why = "Accept: expected application/json and text/event-stream";
	if (ret->method == GATE_GET ? !ret->takes_events : ret->method == GATE_POST &&
	    !ret->takes_json && !ret->takes_events)
		return 406;
	ret->expects = ats_http_text_is(ats_http_field(h, "Expect", NULL), "100-continue");
	return judge_body(g, h, ret, ret_why);
}
