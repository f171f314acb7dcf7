/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of revision 2026-07-28, each of which says by itself all that there is to know: what
 * its head and its body must say alike, and the line that the engine gets of it. Pure. */
#ifndef ATS_HTTP_MODERN_H
#define ATS_HTTP_MODERN_H

#include "brain/http/message.h"
#include "common/http_head.h"

#define MODERN_REVISION "2026-07-28"
#define MODERN_VERSION_MAX 128u		/* raw bytes of a revision that somebody asks for */
#define MODERN_PARAMS_MAX 16384u	/* of all Mcp-Param-*: less than a head */
#define MODERN_ID_MAX 24u		/* of an id among all clients', with its NUL */

#define MODERN_MISMATCH (-32020)	/* head and body differ */
#define MODERN_UNSUPPORTED (-32022)	/* another revision */

/* Whether a POST is one of these, by the revision that its head names, or by its body. */
bool modern_is(const char *version, const struct message *m);

struct modern {
	int status, code;		/* to refuse with; status 0: it is in order */
	char why[160];
	struct ats_slice version;	/* of MODERN_UNSUPPORTED: what was asked for, raw */
	bool listens;			/* subscriptions/listen: the answer is a stream */
	struct ats_buf headers;		/* tools/call: Mcp-Param-*, an object; to be freed */
};
/* Judges a request by its head (RFC 9110 text) and its message. *ret in any case. */
void modern_check(const struct ats_http_head *h, const struct message *m, struct modern *ret);

/* Appends the request as one line with id (raw) for its id and its progress token, and with the
 * headers in params._meta["ats/headers"]. -ATS_E_NOMEM, -ATS_E_TOOBIG. */
ATS_NODISCARD int modern_line(const struct message *m, const char *id,
    const struct ats_buf *headers, struct ats_buf *out);

/* line with the text part of it replaced by with, in three parts. */
void modern_splice(struct ats_slice line, struct ats_slice part, const char *with,
    struct ats_slice ret[3]);
/* The status of an answer with this JSON-RPC error code, 0 for none. */
int modern_status(int64_t code);

#endif
