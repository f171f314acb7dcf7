/* SPDX-License-Identifier: Apache-2.0
 *
 * One JSON-RPC message of a body, as far as the transport must know it. Pure. */
#ifndef ATS_HTTP_MESSAGE_H
#define ATS_HTTP_MESSAGE_H

#include "common/json.h"

#define MESSAGE_ID_MAX 256u		/* raw bytes of an id, and of a progress token */

struct message {			/* pointers into the body */
	struct ats_slice id;		/* raw; p == NULL: a notification */
	struct ats_slice method;	/* between the quotes, escaped; p == NULL: a response */
	struct ats_slice token;		/* raw params._meta.progressToken, or p == NULL */
	struct ats_slice params;	/* raw, or p == NULL */
	struct ats_slice whole;		/* the object, without what is around it */
};
/* 0, or the JSON-RPC error code and why; id is set as far as it was found. */
int message_read(const char *body, size_t n, struct message *ret, const char **ret_why);

/* Of JSON, as one line: where it has a line break, outside of strings, is a space. The caller's to
 * free; NULL without memory. */
char *message_line(struct ats_slice json, size_t *ret_n);

/* What a line of the engine is: an answer to an id, a request, or a notification. */
struct said {
	struct ats_slice id;		/* raw; p == NULL: a notification */
	struct ats_slice token;		/* of notifications/progress, raw; p == NULL: another */
	struct ats_slice subscription;	/* that a notification is for, raw, or p == NULL */
	struct ats_slice result;	/* raw, or p == NULL */
	int64_t code;			/* of an error, or 0 */
	bool asks;			/* a method and an id */
};
/* Scans the line. -ATS_E_JSON when it is none of both. */
ATS_NODISCARD int message_said(struct ats_slice line, struct said *ret);

#endif
