/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON-RPC messages as the transport sees them. Runs in ats-http; bodies are a client's, lines
 * the engine's. */
#include "brain/http/message.h"

#include <stdlib.h>
#include <string.h>

#define PARSE (-32700)
#define INVALID (-32600)

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool
is_id(const struct ats_json_val *v)
{
	return (v->type == ATS_JSON_STRING || v->type == ATS_JSON_NUMBER) &&
	    v->raw.n <= MESSAGE_ID_MAX;
}

static struct ats_slice
token_of(struct ats_slice params)
{
	struct ats_json_val meta, token;

	if (ats_json_type(params) == ATS_JSON_OBJECT &&
	    ats_json_get(params, "_meta", &meta) && meta.type == ATS_JSON_OBJECT &&
	    ats_json_get(meta.raw, "progressToken", &token) && is_id(&token))
		return token.raw;
	return (struct ats_slice){ NULL, 0 };
}

int
message_read(const char *body, size_t n, struct message *ret, const char **ret_why)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	bool is_response = false, id_bad = false;

	*ret = (struct message){ .whole = { body, n } };
	*ret_why = "the body is no JSON";
	if (ats_json_scan(body, n, NULL) < 0)
		return PARSE;
	while (ret->whole.n > 0 && is_blank(ret->whole.p[0]))
		ret->whole.p++, ret->whole.n--;
	while (ret->whole.n > 0 && is_blank(ret->whole.p[ret->whole.n - 1]))
		ret->whole.n--;
	*ret_why = "expected one object; batches are not served";
	if (ats_json_type(ret->whole) != ATS_JSON_OBJECT)
		return INVALID;
	ats_json_iter_init(&it, ret->whole);
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "id")) {
			id_bad = !is_id(&v);
			ret->id = id_bad ? ret->id : v.raw;
		} else if (ats_json_key_is(key, "method") && v.type == ATS_JSON_STRING) {
			ret->method = (struct ats_slice){ v.raw.p + 1, v.raw.n - 2 };
		} else if (ats_json_key_is(key, "params")) {
			ret->params = v.raw;
			ret->token = token_of(v.raw);
		} else if (ats_json_key_is(key, "result") || ats_json_key_is(key, "error")) {
			is_response = true;
		}
	}
	*ret_why = "id: expected a string or a number of at most 256 bytes";
	if (id_bad)
		return INVALID;
	*ret_why = "neither a method nor an answer";
	return ret->method.p == NULL && !is_response ? INVALID : 0;
}

char *
message_line(struct ats_slice t, size_t *ret_n)
{
	char *line = malloc(t.n + 1);

	if (line == NULL)
		return NULL;
	for (size_t i = 0; i < t.n; i++)
		line[i] = t.p[i] == '\n' || t.p[i] == '\r' ? ' ' : t.p[i];
	line[t.n] = '\0';
	*ret_n = t.n;
	return line;
}

static struct ats_slice
subscription_of(struct ats_slice params)
{
	struct ats_json_val meta, id;

	if (ats_json_get(params, "_meta", &meta) && meta.type == ATS_JSON_OBJECT &&
	    ats_json_get(meta.raw, "io.modelcontextprotocol/subscriptionId", &id) && is_id(&id))
		return id.raw;
	return (struct ats_slice){ NULL, 0 };
}

static int64_t
code_of(const struct ats_json_val *error)
{
	struct ats_json_val v;
	int64_t code;

	if (error->type != ATS_JSON_OBJECT || !ats_json_get(error->raw, "code", &v) ||
	    ats_json_to_i64(&v, &code) < 0)
		return -1;
	return code;
}

int
message_said(struct ats_slice line, struct said *ret)
{
	struct ats_json_val params, token;
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key, method = { NULL, 0 };

	*ret = (struct said){ .id = { NULL, 0 } };
	params = (struct ats_json_val){ .type = ATS_JSON_NULL };
	if (ats_json_scan(line.p, line.n, NULL) < 0 || ats_json_type(line) != ATS_JSON_OBJECT)
		return -ATS_E_JSON;
	ats_json_iter_init(&it, line);
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "id") && is_id(&v))
			ret->id = v.raw;
		else if (ats_json_key_is(key, "result"))
			ret->result = v.raw;
		else if (ats_json_key_is(key, "error"))
			ret->code = code_of(&v);
		else if (ats_json_key_is(key, "method"))
			method = v.raw;
		else if (ats_json_key_is(key, "params"))
			params = v;
	}
	ret->asks = method.p != NULL && ret->id.p != NULL;
	if (ret->id.p != NULL || params.type != ATS_JSON_OBJECT)
		return 0;
	ret->subscription = subscription_of(params.raw);
	if (method.n == 24 && memcmp(method.p, "\"notifications/progress\"", 24) == 0 &&
	    ats_json_get(params.raw, "progressToken", &token) && is_id(&token))
		ret->token = token.raw;
	return 0;
}
