/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments that a tool's schema has mirrored into fields of an HTTP request ("x-mcp-header", MCP
 * 2026-07-28). The door over HTTP hands the fields in with the call, under this name in _meta;
 * here they are compared, since here is the schema. */
#ifndef ATS_ENGINE_MCP_HEADERS_H
#define ATS_ENGINE_MCP_HEADERS_H

#include "common/buf.h"

#define MCP_HEADERS "ats/headers"
#define MCP_HEADER_MISMATCH (-32020)

/* schema, args and headers are scanned JSON objects, headers' names in small letters without
 * "Mcp-Param-". 0 when each argument that the schema mirrors is there as it should be, and else
 * -ATS_E_FIELD with the first that is not. Pure. */
ATS_NODISCARD int mcp_headers_check(struct ats_slice schema, struct ats_slice args,
    struct ats_slice headers, struct ats_err *err);

#endif
