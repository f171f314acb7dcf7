/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/list waits a moment for gateways that were started to be asked for their tools: many
 * clients ask once. */
#ifndef ATS_ENGINE_MCP_LIST_H
#define ATS_ENGINE_MCP_LIST_H

#include <stdbool.h>

#include "common/buf.h"

struct client;
struct engine;
struct mcp_lists;

struct mcp_lists *mcp_lists_new(struct engine *e);	/* NULL without memory */
void mcp_lists_free(struct mcp_lists *l);
/* A gateway has told its tools, or failed: who waits is answered if it was the last. */
void mcp_lists_check(struct engine *e);
void mcp_lists_client_gone(struct client *c);
/* Whether a tools/list of that id (raw) waits; mcp_list_cancel answers it no more. */
bool mcp_list_waits(const struct client *c, struct ats_slice id);
bool mcp_list_cancel(struct client *c, struct ats_slice id);

#endif
