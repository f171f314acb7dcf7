/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading lines of JSON-RPC. Runs in the shim; the line is an agent's. */
#include "hands/shim/rpc.h"

#include <string.h>

#include "hands/shim/shim.h"

static const struct ats_slice null_id = { "null", 4 };

static void
wrong(struct rpc *r, int code, const char *text)
{
	r->kind = RPC_WRONG;
	r->code = code;
	r->text = text;
}

static bool
take_id(const struct ats_json_val *v, struct ats_slice *ret)
{
	if ((v->type != ATS_JSON_STRING && v->type != ATS_JSON_NUMBER) || v->raw.n > SHIM_ID)
		return false;
	*ret = v->raw;
	return true;
}

static void
take_method(const struct ats_json_val *v, char method[RPC_METHOD + 1])
{
	ATS_CLEANUP_BUF struct ats_buf b = { 0 };

	ats_buf_init(&b, RPC_METHOD);
	method[0] = '\0';
	if (ats_json_to_str(v, &b) == 0)
		memcpy(method, b.data, b.len + 1);
}

static void
read_object(struct ats_slice line, struct rpc *r)
{
	const struct ats_json_val none = { .type = ATS_JSON_END };
	struct ats_json_val v, id = none, method = none, params = none, version = none;
	struct ats_json_iter it;
	struct ats_slice key;
	bool answers = false;

	ats_json_iter_init(&it, line);
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "id"))
			id = v;
		else if (ats_json_key_is(key, "method"))
			method = v;
		else if (ats_json_key_is(key, "params"))
			params = v;
		else if (ats_json_key_is(key, "jsonrpc"))
			version = v;
		else if (ats_json_key_is(key, "result") || ats_json_key_is(key, "error"))
			answers = true;
	}
	if (id.type != ATS_JSON_END && !take_id(&id, &r->id))
		wrong(r, RPC_INVALID, "Invalid request: the id is neither a string nor a number");
	else if (version.type != ATS_JSON_STRING || version.raw.n != 5 ||
	    memcmp(version.raw.p, "\"2.0\"", 5) != 0)
		wrong(r, RPC_INVALID, "Invalid request: jsonrpc is not \"2.0\"");
	else if (method.type == ATS_JSON_END && answers)
		r->kind = RPC_RESPONSE;
	else if (method.type != ATS_JSON_STRING)
		wrong(r, RPC_INVALID, "Invalid request: there is no method");
	else if (params.type != ATS_JSON_END && params.type != ATS_JSON_OBJECT)
		wrong(r, id.type == ATS_JSON_END ? RPC_INVALID : RPC_PARAMS,
		    "Invalid params: not an object");
	else
		r->kind = id.type == ATS_JSON_END ? RPC_NOTIFICATION : RPC_REQUEST;
	if (method.type == ATS_JSON_STRING)
		take_method(&method, r->method);
	if (params.type == ATS_JSON_OBJECT)
		r->params = params.raw;
}

void
rpc_read(const char *line, size_t n, struct rpc *ret)
{
	struct ats_slice all = { line, n };

	*ret = (struct rpc){ .id = null_id };
	if (ats_json_scan(line, n, NULL) < 0)
		wrong(ret, RPC_PARSE, "Parse error: not strict JSON, or nested too deeply");
	else if (ats_json_type(all) == ATS_JSON_ARRAY)
		wrong(ret, RPC_INVALID, "Invalid request: batches are not supported");
	else if (ats_json_type(all) != ATS_JSON_OBJECT)
		wrong(ret, RPC_INVALID, "Invalid request: not an object");
	else
		read_object(all, ret);
}
