/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request means to MCP: which session, and what becomes of its message. */
#ifndef ATS_HTTP_MCP_H
#define ATS_HTTP_MCP_H

#include "brain/http/http.h"

/* A whole request; c is answered now or later. body is borrowed until this returns. */
void mcp_request(struct http *h, struct conn *c, const char *body, size_t n);

#endif
