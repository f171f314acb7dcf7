/* SPDX-License-Identifier: Apache-2.0
 *
 * The eras of MCP. To 2025-11-25 a connection agrees on a revision by initialize; from 2026-07-28
 * on each request says its own, in params._meta, and nothing is known from one to the next. One
 * connection may carry both. */
#ifndef ATS_ENGINE_MCP_ERA_H
#define ATS_ENGINE_MCP_ERA_H

#include "common/err.h"

#define MCP_MODERN "2026-07-28"
#define MCP_KEY "io.modelcontextprotocol/"	/* what the names of its own members begin with */

struct ats_json_w;
struct rpc;

enum mcp_era {
	MCP_ERA_NONE,		/* not a method of MCP */
	MCP_ERA_HANDSHAKE,	/* legacy; its params may name any revision */
	MCP_ERA_LEGACY, MCP_ERA_MODERN, MCP_ERA_BOTH
};
/* Reads of which era a request for a method of that era is, into r->modern. Negative: it was
 * answered: -32602 when what must be in _meta is not there, -32022 for a revision that is not
 * served, -32601 for a method that its revision has not. */
ATS_NODISCARD int mcp_era_take(struct rpc *r, enum mcp_era era);

/* What each modern result begins and ends with. */
void mcp_write_type(struct ats_json_w *w);
void mcp_write_meta(struct ats_json_w *w);
/* The members of a modern result that may be kept, for ttl_ms milliseconds. */
void mcp_write_cache(struct ats_json_w *w, unsigned ttl_ms);
/* The member "serverInfo", by that key or another. */
void mcp_write_server(struct ats_json_w *w, const char *key);

#endif
