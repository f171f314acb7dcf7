/* SPDX-License-Identifier: Apache-2.0
 *
 * Which era of MCP a request is of (MCP 2026-07-28: Versioning and Compatibility; Overview, _meta).
 * Runs in the engine; all of it is a client's. */
#include "brain/engine/mcp_era.h"

#include "brain/engine/rpc.h"

#define RPC_VERSION (-32022)	/* UnsupportedProtocolVersion */
#define VERSION_MAX 64		/* bytes of a revision's name that are told back */

struct claim {			/* what a request says about itself; type END: nothing */
	struct ats_json_val version, capabilities, info;
};

static bool
read_claim(const struct rpc *r, struct claim *ret)
{
	struct ats_json_val meta;
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;

	*ret = (struct claim){ .version.type = ATS_JSON_END, .capabilities.type = ATS_JSON_END,
		.info.type = ATS_JSON_END };
	if (!ats_json_get(r->params, "_meta", &meta) || meta.type != ATS_JSON_OBJECT)
		return false;
	ats_json_iter_init(&it, meta.raw);
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, MCP_KEY "protocolVersion"))
			ret->version = v;
		else if (ats_json_key_is(key, MCP_KEY "clientCapabilities"))
			ret->capabilities = v;
		else if (ats_json_key_is(key, MCP_KEY "clientInfo"))
			ret->info = v;
	}
	return ret->version.type != ATS_JSON_END || ret->capabilities.type != ATS_JSON_END ||
	       ret->info.type != ATS_JSON_END;
}

static bool
is_modern(const struct ats_json_val *version)
{
	return version->type == ATS_JSON_STRING &&
	       ats_json_key_is((struct ats_slice){ version->raw.p + 1, version->raw.n - 2 },
	    MCP_MODERN);
}

static int
refuse_version(struct rpc *r, const struct ats_json_val *asked)
{
	struct ats_json_w *w = rpc_begin_error(r, RPC_VERSION, "Unsupported protocol version");
	size_t n = asked->raw.n - 2;

	ats_json_w_array(w, "supported");
	ats_json_w_str(w, NULL, MCP_MODERN);
	ats_json_w_end(w);
	/* As it came, escapes and all; a longer one than any revision has is not echoed. */
	if (n <= VERSION_MAX)
		ats_json_w_raw(w, "requested", asked->raw.p, asked->raw.n);
	else
		ats_json_w_str(w, "requested", "");
	rpc_end_error(r);
	return -ATS_E_VERSION;
}

static int
refuse_meta(struct rpc *r, const char *key, const char *what)
{
	rpc_error(r->client, r->id, RPC_PARAMS, "_meta: " MCP_KEY "%s: %s", key, what);
	return -ATS_E_FIELD;
}

/* name and version, which an Implementation must have. */
static bool
is_implementation(const struct ats_json_val *v)
{
	struct ats_json_val name, version;

	return v->type == ATS_JSON_OBJECT && ats_json_get(v->raw, "name", &name) &&
	       name.type == ATS_JSON_STRING && ats_json_get(v->raw, "version", &version) &&
	       version.type == ATS_JSON_STRING;
}

int
mcp_era_take(struct rpc *r, enum mcp_era era)
{
	struct claim c;

	r->modern = false;
	if (!read_claim(r, &c) && era != MCP_ERA_MODERN)
		return 0;
	/* Clients that speak both may name a legacy revision in a handshake, there as well. */
	if (era == MCP_ERA_HANDSHAKE && !is_modern(&c.version))
		return 0;
	r->modern = true;
	if (c.version.type != ATS_JSON_STRING)
		return refuse_meta(r, "protocolVersion", c.version.type == ATS_JSON_END ?
		    "missing; or begin with initialize" : "expected a string");
	/* Another revision may want other members: it comes first. */
	if (!is_modern(&c.version))
		return refuse_version(r, &c.version);
	if (c.capabilities.type != ATS_JSON_OBJECT)
		return refuse_meta(r, "clientCapabilities",
		    c.capabilities.type == ATS_JSON_END ? "missing" : "expected an object");
	if (c.info.type != ATS_JSON_END && !is_implementation(&c.info))
		return refuse_meta(r, "clientInfo",
		    "expected an object with the strings name and version");
	if (era == MCP_ERA_HANDSHAKE || era == MCP_ERA_LEGACY) {
		rpc_error(r->client, r->id, RPC_METHOD, "not a method of " MCP_MODERN
		    ": server/discover tells what is served; without _meta it is that of an "
		    "earlier revision");
		return -ATS_E_STATE;
	}
	return 0;
}

/* ---- answers --------------------------------------------------------------------------- */

void
mcp_write_server(struct ats_json_w *w, const char *key)
{
	ats_json_w_object(w, key);
	ats_json_w_str(w, "name", "agent-tool-server");
	ats_json_w_str(w, "title", "Agent tool server");
	ats_json_w_str(w, "version", ATS_VERSION);
	ats_json_w_end(w);
}

void
mcp_write_type(struct ats_json_w *w)
{
	ats_json_w_str(w, "resultType", "complete");
}

void
mcp_write_meta(struct ats_json_w *w)
{
	ats_json_w_object(w, "_meta");
	mcp_write_server(w, MCP_KEY "serverInfo");
	ats_json_w_end(w);
}

void
mcp_write_cache(struct ats_json_w *w, unsigned ttl_ms)
{
	ats_json_w_u64(w, "ttlMs", ttl_ms);
	/* The gateways are one user's. */
	ats_json_w_str(w, "cacheScope", "private");
}
