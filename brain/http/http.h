/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-http: MCP over Streamable HTTP (specification 2025-11-25, Transports), as a process of its
 * own that is a client of brain like any other. What its files share. Peers are whoever reaches
 * the port, and, past the token, the user's MCP clients. */
#ifndef ATS_HTTP_HTTP_H
#define ATS_HTTP_HTTP_H

#include <stdint.h>
#include <sys/queue.h>

#include "brain/http/gate.h"
#include "brain/http/limits.h"
#include "brain/http/options.h"
#include "common/secret.h"
#include "proto/metrics.h"

struct ats_acceptor;
struct event;
struct event_base;
struct conn;
struct metrics;
struct session;
TAILQ_HEAD(conn_list, conn);
TAILQ_HEAD(session_list, session);

struct listener {
	struct http *h;
	int fd;
	const struct ats_addr *at;
	struct ats_acceptor *acceptor;
};
struct http {
	struct event_base *base;
	const struct options *opt;
	struct ats_secret *token, *metrics_token;	/* the second NULL: no /metrics */
	struct ats_metrics metrics;
	struct metrics *scraped;
	struct gate gate;
	struct listener listeners[HTTP_LISTENERS];
	unsigned nlisteners;
	struct event *turn_end, *sig_int, *sig_term;
	struct conn_list conns, dead;	/* the oldest first */
	size_t nconns;
	struct session_list sessions;	/* the one unused longest first */
	size_t nsessions;
	uint64_t opens_us;		/* when all of HTTP_OPENS may be opened at once again */
	size_t nexchanges, held_bytes;	/* of all sessions */
};

#endif
