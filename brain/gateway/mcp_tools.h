/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools of an upstream MCP server, as far as the configuration takes them. */
#ifndef ATS_GATEWAY_MCP_TOOLS_H
#define ATS_GATEWAY_MCP_TOOLS_H

#include "common/json.h"
#include "proto/gateway_config.h"

#define MCP_PAGES_MAX 64u

struct mcp_tool {
	char *name;			/* the server's */
	char *shown;			/* as agents see it, with the gateway's name */
	char *json;			/* description, inputSchema, annotations */
	unsigned flags;			/* enum ats_gateway_flag */
};
struct mcp_tools {
	struct mcp_tool v[ATS_GW_TOOLS_MAX];
	size_t n;
};

struct mcp_tools *mcp_tools_new(void);		/* returns owned, or NULL */
void mcp_tools_free(struct mcp_tools *l);	/* NULL is fine */
/* Adds the tools of one result of tools/list (scanned). One that cannot be offered is left out and
 * logged. *ret_cursor: the next page's, owned, or NULL. -ATS_E_FIELD: it is no such result;
 * -ATS_E_NOMEM. */
ATS_NODISCARD int mcp_tools_page(struct mcp_tools *l, const struct ats_gw_config *c,
    struct ats_slice result, char **ret_cursor);
/* By the server's name, or by what agents see of it (without the gateway's name); NULL: none. */
const struct mcp_tool *mcp_tools_find(const struct mcp_tools *l, const struct ats_gw_config *c,
    const char *name);

#endif
