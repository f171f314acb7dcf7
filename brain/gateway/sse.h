/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of server-sent events (HTML standard, 9.2.6), as far as MCP uses them. Pure. */
#ifndef ATS_GATEWAY_SSE_H
#define ATS_GATEWAY_SSE_H

#include "common/buf.h"

struct sse {
	struct ats_buf line, data;
	bool any;			/* a line of data, be it empty */
	bool cr;			/* the last byte was one */
	bool other;			/* the event is not a message */
};

void sse_init(struct sse *s, size_t max_bytes);
void sse_done(struct sse *s);
/* Takes bytes as they come; got is called for each event of type message that ends among them, and
 * may refuse (negative). -ATS_E_TOOBIG, -ATS_E_NOMEM, or what got returned. */
ATS_NODISCARD int sse_add(struct sse *s, const char *p, size_t n,
    int (*got)(void *ctx, const char *data, size_t n), void *ctx);

#endif
