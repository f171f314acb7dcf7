/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP: revisions and the list of tools. Its methods are declared by rpc.h. */
#ifndef ATS_ENGINE_MCP_H
#define ATS_ENGINE_MCP_H

#include "common/buf.h"

/* The revision to answer a client that asked for wanted; never NULL. Pure. */
const char *mcp_revision(const char *wanted);
/* Appends the "tools" array. Pure. */
ATS_NODISCARD int mcp_tools_write(struct ats_buf *out);

#endif
