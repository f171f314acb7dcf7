/* SPDX-License-Identifier: Apache-2.0
 *
 * What a result of tools/call becomes. */
#ifndef ATS_GATEWAY_MCP_CONTENT_H
#define ATS_GATEWAY_MCP_CONTENT_H

#include "brain/gateway/result.h"

/* Fills r, which is empty, from a scanned result: text and images as they are, the rest as a line
 * of text that tells of it, structured content only where there is no text. gateway: its name, for
 * such lines. -ATS_E_FIELD: it is no such result; -ATS_E_NOMEM. */
ATS_NODISCARD int mcp_content(struct result *r, const char *gateway, struct ats_slice message);

#endif
