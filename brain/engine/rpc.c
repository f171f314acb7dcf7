/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON-RPC 2.0 over lines. Runs in the engine; the lines are a client's: any fault is
 * answered or ignored, never more than that connection's. */
#include "brain/engine/rpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "brain/engine/mcp_era.h"
#include "common/log.h"

enum method_kind { KIND_REQUEST, KIND_NOTE };

static const struct method {
	const char *name;
	void (*fn)(struct rpc *r);
	enum method_kind kind;
	enum mcp_era era;
} methods[] = {
#define METHOD(wire, mfn, mkind, params, doc) { (wire), (mfn), KIND_##mkind, MCP_ERA_NONE },
#define MCP(wire, mfn, mkind, mera, doc) { (wire), (mfn), KIND_##mkind, MCP_ERA_##mera },
#include "brain/engine/methods.def"
#undef METHOD
#undef MCP
};

static bool
is_text(struct ats_slice raw, const char *text)
{
	size_t n = strlen(text);

	return raw.n == n + 2 && memcmp(raw.p + 1, text, n) == 0;
}

static int
read_member(struct ats_slice key, const struct ats_json_val *v, struct rpc_envelope *ret,
    bool *versioned, const char **ret_why)
{
	if (ats_json_key_is(key, "jsonrpc")) {
		*versioned = v->type == ATS_JSON_STRING && is_text(v->raw, "2.0");
	} else if (ats_json_key_is(key, "id")) {
		*ret_why = "id: expected a string or a number of at most 256 bytes";
		if ((v->type != ATS_JSON_STRING && v->type != ATS_JSON_NUMBER) ||
		    v->raw.n > RPC_ID_MAX)
			return RPC_INVALID;
		ret->id = v->raw;
	} else if (ats_json_key_is(key, "method")) {
		*ret_why = "method: expected a string";
		if (v->type != ATS_JSON_STRING)
			return RPC_INVALID;
		ret->method.p = v->raw.p + 1;
		ret->method.n = v->raw.n - 2;
	} else if (ats_json_key_is(key, "params")) {
		*ret_why = "params: expected an object";
		if (v->type != ATS_JSON_OBJECT)
			return RPC_INVALID;
		ret->params = v->raw;
	} else if (ats_json_key_is(key, "result") || ats_json_key_is(key, "error")) {
		ret->response = true;
	}
	return 0;
}

int
rpc_envelope_read(struct ats_slice line, struct rpc_envelope *ret, const char **ret_why)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	bool versioned = false;
	const char *why = NULL;
	int rc = 0, one;

	memset(ret, 0, sizeof(*ret));
	ret->params.p = "{}";
	ret->params.n = 2;
	ats_json_iter_init(&it, line);
	/* All members are read, so that an error carries the id wherever it stands. */
	while (ats_json_next(&it, &key, &v)) {
		one = read_member(key, &v, ret, &versioned, &why);
		if (one != 0 && rc == 0) {
			rc = one;
			*ret_why = why;
		}
	}
	if (rc != 0)
		return rc;
	*ret_why = "jsonrpc: expected \"2.0\"";
	if (!versioned)
		return RPC_INVALID;
	*ret_why = "method: missing";
	if (ret->method.p == NULL && !ret->response)
		return RPC_INVALID;
	return 0;
}

/* What w wrote from mark on is one answer, to id. */
static void
answer_end(struct client *c, struct ats_json_w *w, struct ats_slice id, size_t mark)
{
	if (ats_json_w_line(w) < 0) {
		client_drop(c, "no room for an answer");
		return;
	}
	batch_answered(c, id, mark);
	client_flush(c);
}

void
rpc_error(struct client *c, struct ats_slice id, int code, const char *fmt, ...)
{
	size_t mark = c->out.len;
	struct ats_json_w w;
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ats_json_w_init(&w, &c->out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	if (id.p == NULL)
		ats_json_w_null(&w, "id");
	else
		ats_json_w_raw(&w, "id", id.p, id.n);
	ats_json_w_object(&w, "error");
	ats_json_w_i64(&w, "code", code);
	ats_json_w_str(&w, "message", text);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	answer_end(c, &w, id, mark);
}

static void
write_error(struct ats_json_w *w, int rpc_code, int code, const char *text, size_t n)
{
	ats_json_w_object(w, "error");
	ats_json_w_i64(w, "code", rpc_code);
	ats_json_w_strn(w, "message", text, n);
	ats_json_w_object(w, "data");
	ats_json_w_str(w, "code", ats_err_name(code));
	ats_json_w_bool(w, "retryable", ats_err_retryable(code));
	ats_json_w_end(w);
	ats_json_w_end(w);
}

void
rpc_error_write(struct ats_json_w *w, int code, const char *text, size_t n)
{
	write_error(w, RPC_OURS, code, text, n);
}

void
rpc_fail(struct rpc *r, const struct ats_err *err)
{
	struct client *c = r->client;
	size_t mark = c->out.len;
	struct ats_json_w w;

	if (r->id.p == NULL)
		return;
	if (err->code == ATS_E_FIELD) {
		rpc_error(c, r->id, RPC_PARAMS, "%s", err->text);
		return;
	}
	ats_json_w_init(&w, &c->out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_raw(&w, "id", r->id.p, r->id.n);
	write_error(&w, r->modern ? RPC_INTERNAL : RPC_OURS, err->code, err->text,
	    strlen(err->text));
	ats_json_w_end(&w);
	answer_end(c, &w, r->id, mark);
}

static void
begin(struct rpc *r)
{
	r->mark = r->client->out.len;
	ats_json_w_init(&r->w, &r->client->out);
	ats_json_w_object(&r->w, NULL);
	ats_json_w_raw(&r->w, "jsonrpc", "\"2.0\"", 5);
	ats_json_w_raw(&r->w, "id", r->id.p, r->id.n);
}

struct ats_json_w *
rpc_begin_error(struct rpc *r, int code, const char *text)
{
	begin(r);
	ats_json_w_object(&r->w, "error");
	ats_json_w_i64(&r->w, "code", code);
	ats_json_w_str(&r->w, "message", text);
	ats_json_w_object(&r->w, "data");
	return &r->w;
}

void
rpc_end_error(struct rpc *r)
{
	ats_json_w_end(&r->w);
	ats_json_w_end(&r->w);
	ats_json_w_end(&r->w);
	answer_end(r->client, &r->w, r->id, r->mark);
}

struct ats_json_w *
rpc_begin(struct rpc *r)
{
	begin(r);
	ats_json_w_object(&r->w, "result");
	if (r->modern)
		mcp_write_type(&r->w);
	return &r->w;
}

void
rpc_end(struct rpc *r)
{
	struct ats_json_w *w = &r->w;

	if (r->modern)
		mcp_write_meta(w);
	ats_json_w_end(w);
	ats_json_w_end(w);
	answer_end(r->client, w, r->id, r->mark);
}

static const struct method *
find_method(struct ats_slice name)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(methods); i++)
		if (ats_json_key_is(name, methods[i].name))
			return &methods[i];
	return NULL;
}

/* A request or notification of a whole envelope. */
static void
run_method(struct rpc *r, struct ats_slice name, bool in_array)
{
	const struct method *m = find_method(name);
	bool note = r->id.p == NULL;
	char quoted[80];

	if (m != NULL && (m->kind == KIND_NOTE) != note) {
		if (!note)
			rpc_error(r->client, r->id, RPC_INVALID, "%s is a notification: no id",
			    m->name);
		return;
	}
	if (!note && (m == NULL || m->era != MCP_ERA_NONE) &&
	    mcp_era_take(r, m == NULL ? MCP_ERA_BOTH : m->era) < 0)
		return;
	if (r->modern && in_array)
		rpc_error(r->client, r->id, RPC_INVALID, "a request of " MCP_MODERN
		    " stands alone, not in an array");
	else if (m != NULL)
		m->fn(r);
	else if (!note)
		rpc_error(r->client, r->id, RPC_METHOD, "no such method: %s",
		    ats_log_quote(quoted, sizeof(quoted), name.p, name.n));
}

static void
run_one(struct client *c, struct ats_slice object, bool in_array)
{
	struct rpc_envelope en;
	struct rpc r = { .e = c->e, .client = c };
	const char *why;
	int rc;

	rc = rpc_envelope_read(object, &en, &why);
	if (en.id.p != NULL && !en.response && batch_expect(c, en.id) < 0) {
		rpc_error(c, en.id, RPC_INTERNAL, "too many requests of batches wait");
		return;
	}
	if (rc != 0) {
		rpc_error(c, en.id, rc, "%s", why);
		return;
	}
	if (en.response)
		return;		/* we ask clients nothing */
	r.id = en.id;
	r.params = en.params;
	run_method(&r, en.method, in_array);
}

/* Arrays are requests of one revision of MCP only. */
static void
run_batch(struct client *c, struct ats_slice array)
{
	struct ats_slice none = { NULL, 0 }, key;
	struct ats_json_iter it;
	struct ats_json_val v;
	unsigned n = 0;

	if (c->revision == NULL || strcmp(c->revision, "2025-03-26") != 0) {
		rpc_error(c, none, RPC_INVALID, "arrays of requests are not served");
		return;
	}
	if (batch_open(c) < 0) {
		rpc_error(c, none, RPC_INTERNAL, "out of memory");
		return;
	}
	ats_json_iter_init(&it, array);
	while (!c->dead && ats_json_next(&it, &key, &v)) {
		n++;
		if (v.type == ATS_JSON_OBJECT)
			run_one(c, v.raw, true);
		else
			rpc_error(c, none, RPC_INVALID, "expected an object");
	}
	batch_close(c);
	if (n == 0)
		rpc_error(c, none, RPC_INVALID, "an empty array");
}

void
rpc_line(struct client *c, struct ats_slice line)
{
	struct ats_slice none = { NULL, 0 };
	struct ats_err err = { 0 };
	enum ats_json_type type;

	if (ats_json_scan(line.p, line.n, &err) < 0) {
		rpc_error(c, none, RPC_PARSE, "%s", err.text);
		return;
	}
	while (line.n > 0 && strchr(" \t\r\n", line.p[0]) != NULL) {
		line.p++;
		line.n--;
	}
	while (line.n > 0 && strchr(" \t\r\n", line.p[line.n - 1]) != NULL)
		line.n--;
	type = ats_json_type(line);
	if (type == ATS_JSON_OBJECT)
		run_one(c, line, false);
	else if (type == ATS_JSON_ARRAY)
		run_batch(c, line);
	else
		rpc_error(c, none, RPC_INVALID, "expected an object");
}

/* ---- parameters ------------------------------------------------------------------ */

static int
param_read(const struct rpc_param *p, const struct ats_json_val *v, struct ats_err *err)
{
	static const char *const names[] = { "a string", "a number", "true or false", "an object",
		"an array" };
	static const enum ats_json_type types[] = { ATS_JSON_STRING, ATS_JSON_NUMBER,
		ATS_JSON_BOOL, ATS_JSON_OBJECT, ATS_JSON_ARRAY };
	struct ats_buf text;
	uint64_t n;
	int rc = 0;

	if (v->type != types[p->type])
		return ats_err_set(err, ATS_E_FIELD, "%s: expected %s", p->name, names[p->type]);
	switch (p->type) {
	case RPC_STR:
		ats_buf_init(&text, v->raw.n + 1);
		rc = ats_json_to_str(v, &text);
		if (rc == 0 && text.len < p->max)
			memcpy(p->dest, text.data, text.len + 1);
		else
			rc = ats_err_set(err, ATS_E_FIELD, "%s: too long, or not text", p->name);
		ats_buf_done(&text);
		return rc;
	case RPC_U64:
		if (ats_json_to_u64(v, &n) < 0 || n > p->max)
			return ats_err_set(err, ATS_E_FIELD, "%s: expected 0 to %zu", p->name,
			    p->max);
		memcpy(p->dest, &n, sizeof(n));
		return 0;
	case RPC_BOOL:
		*(bool *)p->dest = v->b;
		return 0;
	case RPC_OBJECT:
	case RPC_ARRAY:
		*(struct ats_slice *)p->dest = v->raw;
		return 0;
	}
	return 0;
}

int
rpc_params(struct rpc *r, const struct rpc_param *p, size_t n, bool extra)
{
	struct ats_err err = { 0 };
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	uint64_t seen = 0;
	char quoted[80];
	size_t i;
	int rc = 0;

	ats_json_iter_init(&it, r->params);
	while (rc == 0 && ats_json_next(&it, &key, &v)) {
		for (i = 0; i < n && !ats_json_key_is(key, p[i].name); i++)
			;
		if (i < n) {
			seen |= UINT64_C(1) << i;
			rc = param_read(&p[i], &v, &err);
		} else if (!extra) {
			rc = ats_err_set(&err, ATS_E_FIELD, "unknown parameter %s",
			    ats_log_quote(quoted, sizeof(quoted), key.p, key.n));
		}
	}
	for (i = 0; rc == 0 && i < n; i++)
		if (p[i].required && (seen & (UINT64_C(1) << i)) == 0)
			rc = ats_err_set(&err, ATS_E_FIELD, "%s: missing", p[i].name);
	if (rc < 0)
		rpc_fail(r, &err);
	return rc;
}
