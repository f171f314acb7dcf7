/* SPDX-License-Identifier: Apache-2.0
 *
 * Envelopes of JSON-RPC, read as the engine reads them (brain/engine/rpc.c). Process: atsctl; the
 * MCP client controls the lines of one side, the engine those of the other. */
#include "brain/ctl/mcp_envelope.h"

#include <string.h>

#define ID_MAX 256u		/* bytes of an id that the engine takes for one */

bool
mcp_is_id(const struct ats_json_val *v)
{
	return (v->type == ATS_JSON_STRING || v->type == ATS_JSON_NUMBER) &&
	    v->raw.n <= ID_MAX;
}

bool
mcp_envelope_read(struct ats_slice value, struct mcp_envelope *ret)
{
	struct ats_json_iter it;
	struct ats_slice key;
	struct ats_json_val v;

	*ret = (struct mcp_envelope){ 0 };
	ats_json_iter_init(&it, value);
	while (it.in_object && ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "jsonrpc")) {
			ret->versioned = v.raw.n == 5 && memcmp(v.raw.p, "\"2.0\"", 5) == 0;
		} else if (ats_json_key_is(key, "id")) {
			if (mcp_is_id(&v))
				ret->id = v.raw;
			else
				ret->bad = true;
		} else if (ats_json_key_is(key, "method")) {
			if (v.type == ATS_JSON_STRING)
				ret->method = (struct ats_slice){ v.raw.p + 1, v.raw.n - 2 };
			else
				ret->bad = true;
		} else if (ats_json_key_is(key, "params")) {
			if (v.type == ATS_JSON_OBJECT)
				ret->params = v.raw;
			else
				ret->bad = true;
		} else if (ats_json_key_is(key, "result") || ats_json_key_is(key, "error")) {
			ret->answer = true;
		}
	}
	ret->bad = ret->bad || !ret->versioned || (ret->method.p == NULL && !ret->answer);
	return it.in_object;
}

bool
mcp_envelope_of(struct ats_slice line, struct mcp_envelope *ret)
{
	return mcp_envelope_read(ats_json_value(line).raw, ret);
}

bool
mcp_is_method(const struct mcp_envelope *e, const char *name)
{
	return e->method.p != NULL && ats_json_key_is(e->method, name);
}

bool
mcp_same(const char *s, struct ats_slice raw)
{
	return s != NULL && strlen(s) == raw.n && memcmp(s, raw.p, raw.n) == 0;
}
