/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP: revisions and the list of tools. Its methods are declared by rpc.h. */
#ifndef ATS_ENGINE_MCP_H
#define ATS_ENGINE_MCP_H

#include "proto/tools.h"

struct ats_json_w;
struct client;
struct rpc;

/* The revision to answer a client that asked for wanted; never NULL. Pure. */
const char *mcp_revision(const char *wanted);
/* Appends the entry of tools/list for a tool of the sandbox. Pure. */
void mcp_tool_write(struct ats_json_w *w, const struct ats_tool_row *t);
/* Says so to a client that has said that it is ready, and on what it listens to. */
void mcp_list_changed(struct client *c);
/* Whether a request of that id (raw) has no answer yet: then the one in r is refused. */
ATS_NODISCARD bool mcp_refuse_twice(struct rpc *r);

#endif
