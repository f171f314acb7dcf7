/* SPDX-License-Identifier: Apache-2.0
 *
 * _meta of requests. Process: atsctl; the MCP client controls it, and the engine checks it. */
#include "brain/ctl/mcp_meta.h"

/* An empty object means forms, as before there was anything else. */
bool
mcp_meta_has_forms(struct ats_slice elicitation)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;

	ats_json_iter_init(&it, elicitation);
	return ats_json_get(elicitation, "form", &v) || !ats_json_next(&it, &key, &v);
}

static bool
is_modern(const struct ats_json_val *v)
{
	return v->type == ATS_JSON_STRING &&
	       ats_json_key_is((struct ats_slice){ v->raw.p + 1, v->raw.n - 2 }, MCP_MODERN);
}

void
mcp_meta_read(struct ats_slice params, struct mcp_meta *ret)
{
	bool version = false, capabilities = false;
	struct ats_json_val meta, v, can;
	struct ats_json_iter it;
	struct ats_slice key;

	*ret = (struct mcp_meta){ 0 };
	if (params.p == NULL || !ats_json_get(params, "_meta", &meta) ||
	    meta.type != ATS_JSON_OBJECT)
		return;
	ats_json_iter_init(&it, meta.raw);
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, MCP_KEY "protocolVersion")) {
			version = is_modern(&v);
		} else if (ats_json_key_is(key, MCP_KEY "clientCapabilities")) {
			capabilities = v.type == ATS_JSON_OBJECT;
			ret->forms = capabilities && ats_json_get(v.raw, "elicitation", &can) &&
			    can.type == ATS_JSON_OBJECT && mcp_meta_has_forms(can.raw);
		} else if (ats_json_key_is(key, MCP_KEY "clientInfo")) {
			if (v.type == ATS_JSON_OBJECT)
				ret->info = v.raw;
		} else if (ats_json_key_is(key, "progressToken")) {
			if (v.type == ATS_JSON_STRING || v.type == ATS_JSON_NUMBER)
				ret->token = v.raw;
		}
	}
	ret->modern = version && capabilities;
}
