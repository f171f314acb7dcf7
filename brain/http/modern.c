/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP 2026-07-28 over HTTP (Transports, Streamable HTTP: Request Metadata, Server Validation).
 * Runs in ats-http; whoever asks has the token. */
#include "brain/http/modern.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base64.h"

#define KEY "io.modelcontextprotocol/"
#define PREFIX "Mcp-Param-"
#define HEADERS "ats/headers"
#define INVALID (-32600)
#define PARAMS (-32602)

/* ---- which era ------------------------------------------------------------------- */

static bool
find_meta(const struct message *m, struct ats_json_val *ret)
{
	return m->params.p != NULL && ats_json_type(m->params) == ATS_JSON_OBJECT &&
	    ats_json_get(m->params, "_meta", ret) && ret->type == ATS_JSON_OBJECT;
}

bool
modern_is(const char *version, const struct message *m)
{
	struct ats_json_val meta, v;

	if (strcmp(version, MODERN_REVISION) == 0)
		return true;
	if (m->method.p != NULL && (ats_json_key_is(m->method, "server/discover") ||
	    ats_json_key_is(m->method, "subscriptions/listen")))
		return true;
	if (!find_meta(m, &meta))
		return false;
	/* A handshake may name the revision of its own era there. */
	if (m->method.p != NULL && ats_json_key_is(m->method, "initialize"))
		return ats_json_member_is(meta.raw, KEY "protocolVersion", MODERN_REVISION);
	return ats_json_get(meta.raw, KEY "protocolVersion", &v) ||
	    ats_json_get(meta.raw, KEY "clientCapabilities", &v) ||
	    ats_json_get(meta.raw, KEY "clientInfo", &v);
}

/* ---- head and body --------------------------------------------------------------- */

static void refuse(struct modern *r, int code, const char *fmt, ...) ATS_PRINTF(3, 4);
static void
refuse(struct modern *r, int code, const char *fmt, ...)
{
	va_list ap;

	if (r->status != 0)
		return;			/* the first mistake is told */
	r->status = 400;
	r->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
}

/* Whether a JSON string is these bytes. */
static bool
string_is(const struct ats_json_val *v, const char *p, size_t n)
{
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };

	ats_buf_init(&text, v->raw.n + 1);
	return v->type == ATS_JSON_STRING && ats_json_to_str(v, &text) == 0 && text.len == n &&
	    memcmp(text.data, p, n) == 0;
}

static void
check_meta(const struct message *m, struct modern *r, struct ats_json_val *ret_version)
{
	struct ats_json_val meta, v;

	if (!find_meta(m, &meta)) {
		refuse(r, PARAMS, "params._meta is missing; each request of " MODERN_REVISION
		    " has one");
		return;
	}
	if (!ats_json_get(meta.raw, KEY "protocolVersion", ret_version) ||
	    ret_version->type != ATS_JSON_STRING || ret_version->raw.n > MODERN_VERSION_MAX)
		refuse(r, PARAMS, "params._meta: " KEY "protocolVersion: expected a revision");
	if (!ats_json_get(meta.raw, KEY "clientCapabilities", &v) || v.type != ATS_JSON_OBJECT)
		refuse(r, PARAMS, "params._meta: " KEY "clientCapabilities: expected an object");
	if (ats_json_get(meta.raw, KEY "clientInfo", &v) && v.type != ATS_JSON_OBJECT)
		refuse(r, PARAMS, "params._meta: " KEY "clientInfo: expected an object");
	if (ats_json_get(meta.raw, HEADERS, &v))
		refuse(r, PARAMS, "params._meta: " HEADERS " is this server's own");
}

/* The field, there once. */
static bool
field(const struct ats_http_head *h, const char *name, struct modern *r,
    struct ats_http_text *ret)
{
	unsigned count;

	*ret = ats_http_field(h, name, &count);
	if (count != 1)
		refuse(r, MODERN_MISMATCH, "%s: expected once", name);
	return count == 1;
}

static void
check_version(const struct ats_http_head *h, const struct ats_json_val *version,
    struct modern *r)
{
	struct ats_http_text v;

	if (r->status != 0 || !field(h, "MCP-Protocol-Version", r, &v))
		return;
	if (!string_is(version, v.p, v.n)) {
		refuse(r, MODERN_MISMATCH, "MCP-Protocol-Version is not that of the body");
	} else if (!string_is(version, MODERN_REVISION, strlen(MODERN_REVISION))) {
		refuse(r, MODERN_UNSUPPORTED, "unsupported protocol version");
		r->version = version->raw;
	}
}

/* What stands in a field: as it is, or as =?base64?...?=. False: no such thing. */
static bool
decode(struct ats_http_text v, struct ats_buf *out)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	size_t nb = sizeof(begin) - 1, ne = sizeof(end) - 1, n;

	for (size_t i = 0; i < v.n; i++)
		if ((v.p[i] < ' ' && v.p[i] != '\t') || v.p[i] > '~')
			return false;
	if (v.n < nb + ne || memcmp(v.p, begin, nb) != 0 ||
	    memcmp(v.p + v.n - ne, end, ne) != 0)
		return ats_buf_add(out, v.n > 0 ? v.p : "", v.n) == 0;
	n = v.n - nb - ne;
	return n % 4 == 0 && (n == 0 || ats_base64_decode(v.p + nb, n, out) == 0) &&
	    ats_utf8_valid(out->data, out->len);
}

static void
check_name(const struct ats_http_head *h, const struct message *m, struct modern *r)
{
	static const struct {
		const char *method, *member;
	} rows[] = { { "tools/call", "name" }, { "prompts/get", "name" },
		{ "resources/read", "uri" } };
	struct ats_buf text ATS_CLEANUP_BUF = { 0 };
	struct ats_http_text v;
	struct ats_json_val name;
	size_t i = 0;

	while (i < ATS_ARRAY_LEN(rows) && !ats_json_key_is(m->method, rows[i].method))
		i++;
	if (r->status != 0 || i == ATS_ARRAY_LEN(rows) ||
	    !ats_json_get(m->params, rows[i].member, &name) || name.type != ATS_JSON_STRING ||
	    !field(h, "Mcp-Name", r, &v))
		return;
	ats_buf_init(&text, v.n + 1);
	if (!decode(v, &text))
		refuse(r, MODERN_MISMATCH, "Mcp-Name: expected visible ASCII or =?base64?...?=");
	else if (!string_is(&name, text.data, text.len))
		refuse(r, MODERN_MISMATCH, "Mcp-Name is not params.%s", rows[i].member);
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Whether one of the fields before this one has its name. */
static bool
is_again(const struct ats_http_head *h, unsigned i)
{
	char name[64];

	if (h->field[i].name.n >= sizeof(name))
		return true;		/* longer than any that a tool has */
	(void)snprintf(name, sizeof(name), "%.*s", (int)h->field[i].name.n, h->field[i].name.p);
	for (unsigned k = 0; k < i; k++)
		if (ats_http_text_is(h->field[k].name, name))
			return true;
	return false;
}

/* Which of them a tool has, and what must be in them, the engine knows. */
static void
take_params(const struct ats_http_head *h, struct modern *r)
{
	size_t n = strlen(PREFIX);
	struct ats_json_w w;

	ats_json_w_init(&w, &r->headers);
	ats_json_w_object(&w, NULL);
	for (unsigned i = 0; i < h->nfields && r->status == 0; i++) {
		struct ats_buf text ATS_CLEANUP_BUF = { 0 };
		struct ats_http_text f = h->field[i].name;
		char name[64] = "";

		ats_buf_init(&text, MODERN_PARAMS_MAX);
		if (f.n <= n || !ats_http_text_is((struct ats_http_text){ f.p, n }, PREFIX))
			continue;
		if (is_again(h, i) || !decode(h->field[i].value, &text)) {
			refuse(r, MODERN_MISMATCH, "%.*s: expected once, visible ASCII or "
			    "=?base64?...?=", f.n < 64 ? (int)f.n : 64, f.p);
			continue;
		}
		for (size_t k = n; k < f.n; k++)
			name[k - n] = lower(f.p[k]);
		ats_json_w_strn(&w, name, text.data, text.len);
	}
	ats_json_w_end(&w);
	if (w.rc < 0)
		refuse(r, INVALID, "out of memory");
}

void
modern_check(const struct ats_http_head *h, const struct message *m, struct modern *ret)
{
	struct ats_json_val version;
	struct ats_http_text v;

	*ret = (struct modern){ .listens = ats_json_key_is(m->method, "subscriptions/listen") };
	ats_buf_init(&ret->headers, 2 * MODERN_PARAMS_MAX);
	check_meta(m, ret, &version);
	check_version(h, &version, ret);
	if (ret->status == 0 && field(h, "Mcp-Method", ret, &v) &&
	    !string_is(&(struct ats_json_val){ .type = ATS_JSON_STRING,
		.raw = { m->method.p - 1, m->method.n + 2 } }, v.p, v.n))
		refuse(ret, MODERN_MISMATCH, "Mcp-Method is not the method of the body");
	check_name(h, m, ret);
	if (ret->status == 0 && ats_json_key_is(m->method, "tools/call"))
		take_params(h, ret);
}

/* ---- lines ----------------------------------------------------------------------- */

static int
add_line(struct ats_buf *out, const char *p, const char *end)
{
	char *to;
	size_t n = (size_t)(end - p);

	if (ats_buf_reserve(out, n, &to) < 0)
		return -ATS_E_NOMEM;
	/* Where JSON has a line break outside of strings it is a space. */
	for (size_t i = 0; i < n; i++)
		to[i] = p[i] == '\n' || p[i] == '\r' ? ' ' : p[i];
	ats_buf_commit(out, n);
	return 0;
}

struct edit {				/* instead of n bytes at p: text */
	const char *p;
	size_t n;
	const char *before, *text, *after;
};

static void
sort_edits(struct edit *e, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		for (unsigned k = i; k > 0 && e[k].p < e[k - 1].p; k--) {
			struct edit swap = e[k];

			e[k] = e[k - 1];
			e[k - 1] = swap;
		}
}

int
modern_line(const struct message *m, const char *id, const struct ats_buf *headers,
    struct ats_buf *out)
{
	const char *at = m->whole.p, *end = m->whole.p + m->whole.n;
	struct ats_json_val meta;
	struct edit e[3] = { { m->id.p, m->id.n, "", id, "" } };
	unsigned n = 1;
	int rc = 0;

	if (m->token.p != NULL)
		e[n++] = (struct edit){ m->token.p, m->token.n, "", id, "" };
	/* It is not empty: the revision is in it. */
	if (headers->len > 0 && find_meta(m, &meta))
		e[n++] = (struct edit){ meta.raw.p + 1, 0, "\"" HEADERS "\":", headers->data, "," };
	sort_edits(e, n);
	for (unsigned i = 0; i < n && rc == 0; i++) {
		rc = add_line(out, at, e[i].p);
		if (rc == 0)
			rc = ats_buf_addf(out, "%s%s%s", e[i].before, e[i].text, e[i].after);
		at = e[i].p + e[i].n;
	}
	return rc < 0 ? rc : add_line(out, at, end);
}

void
modern_splice(struct ats_slice line, struct ats_slice part, const char *with,
    struct ats_slice ret[3])
{
	size_t before = (size_t)(part.p - line.p);

	ret[0] = (struct ats_slice){ line.p, before };
	ret[1] = (struct ats_slice){ with, strlen(with) };
	ret[2] = (struct ats_slice){ part.p + part.n, line.n - before - part.n };
}

int
modern_status(int64_t code)
{
	switch (code) {
	case -32601:			/* no such method */
		return 404;
	case -32700:
	case INVALID:
	case MODERN_MISMATCH:
	case MODERN_UNSUPPORTED:
	case -32021:			/* a capability that the client has not declared */
		return 400;
	default:			/* a result, or a method's own error */
		return 200;
	}
}
