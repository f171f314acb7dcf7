/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a request can be judged by its head: who asks, from where, for what. Pure. The
 * order is: token (401; that of metrics for /metrics), Host and Origin (403), path (404),
 * method (405), the rest (400, 406, 413, 415), so that who has no token learns nothing
 * else. */
#ifndef ATS_HTTP_GATE_H
#define ATS_HTTP_GATE_H

#include "common/http_head.h"
#include "common/secret.h"

#define GATE_ID_MAX 129			/* of a session id, with its NUL */
#define GATE_EVENT_MAX 65		/* of Last-Event-ID */
#define GATE_VERSION_MAX 33		/* of MCP-Protocol-Version */
#define GATE_NAME_MAX 65		/* of session= in the query */

struct gate {				/* all borrowed */
	const struct ats_secret *token;
	const struct ats_secret *metrics_token;		/* of /metrics; NULL: it is not there */
	const char *const *hosts, *const *origins;	/* beside the names of loopback */
	unsigned nhosts, norigins;
	bool any_host;			/* of a Unix socket: no name leads to it */
	uint64_t body_max;
};
enum gate_method { GATE_POST, GATE_GET, GATE_DELETE };
struct request {
	enum gate_method method;
	char session[GATE_ID_MAX], event[GATE_EVENT_MAX], version[GATE_VERSION_MAX];
	char name[GATE_NAME_MAX];	/* for requests that have no session by themselves */
	bool metrics;			/* GET of /metrics, by its own token */
	bool takes_json, takes_events;	/* of Accept */
	bool close;			/* the connection ends with the answer */
	bool expects;			/* 100-continue */
	enum ats_http_framing framing;
	uint64_t length;
};

/* 0, or the status to refuse with and a line that says why (valid for ever). */
int gate_judge(const struct gate *g, const struct ats_http_head *h, struct request *ret,
    const char **ret_why);

#endif
