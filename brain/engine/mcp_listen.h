/* SPDX-License-Identifier: Apache-2.0
 *
 * subscriptions/listen (MCP 2026-07-28): a request that stays open and is told of changes, each
 * notification with its id, until it is cancelled or its connection ends. */
#ifndef ATS_ENGINE_MCP_LISTEN_H
#define ATS_ENGINE_MCP_LISTEN_H

#include <stdbool.h>
#include <sys/queue.h>

#include "common/buf.h"

struct client;
struct mcp_listen_open;
TAILQ_HEAD(mcp_listen_list, mcp_listen_open);

/* Whether a request of that id (raw) is open. */
bool mcp_listens_to(const struct client *c, struct ats_slice id);
/* Ends the request of that id; nothing is said. False: there is none. */
bool mcp_listen_cancel(struct client *c, struct ats_slice id);
/* The list of tools has changed: says so to those that want to hear it. c may be dropped. */
void mcp_listens_tell(struct client *c);
void mcp_listens_drop(struct client *c);

#endif
