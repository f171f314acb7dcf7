/* SPDX-License-Identifier: Apache-2.0
 *
 * What atsctl mcp remembers of the lines that it relays: requests that are not answered,
 * to be sent again after a loss of brain. Process: atsctl. */
#ifndef ATS_CTL_MCP_LINES_H
#define ATS_CTL_MCP_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/json.h"

#define MCP_LINE_MAX (17u << 20)
#define MCP_PENDING_MAX 1024u
#define MCP_PENDING_BYTES (64u << 20)

struct mcp_request {
	TAILQ_ENTRY(mcp_request) link;
	char *line, *id;	/* owned; id is the raw JSON text */
	size_t len;
	bool modern;		/* of MCP 2026-07-28 */
	bool forms;		/* of it, a tools/call whose client shows dialogs */
	bool listen, acked;	/* a subscriptions/listen, of which the client knows */
	bool calls, again;	/* a tools/call; sent on a connection that was lost */
	/* Of mcp_rounds.h: the client was told to ask again, and nobody waits; then it did, and
	 * waits by the id as (owned), no longer by id. */
	bool parked;
	char *as;
};
TAILQ_HEAD(mcp_request_list, mcp_request);

struct mcp_lines {
	struct mcp_request_list pending;	/* in the order of their coming */
	size_t n, bytes;
	uint64_t nulls;			/* errors with id null that are due */
	bool batches;			/* the engine serves arrays: so it was agreed */
	char *initialize, *initialized;		/* owned, to be replayed; or NULL */
};

/* What a line of the engine is to the client. */
enum mcp_fate { MCP_PASS, MCP_DROP, MCP_LOST, MCP_RELISTEN, MCP_UNSURE };

void mcp_lines_init(struct mcp_lines *m);
void mcp_lines_done(struct mcp_lines *m);
/* Room for more requests; without it stdin is not read. */
bool mcp_lines_room(const struct mcp_lines *m);
/* Looks at a line of the client before it goes to the engine and remembers what must be.
 * What has no id and is no notification (no JSON, say) is passed on too: the engine owes an
 * error with id null for it. -ATS_E_NOMEM. */
ATS_NODISCARD int mcp_from_client(struct mcp_lines *m, const char *line, size_t n);
/* Looks at a line of the engine. An answer passes once, if its request is not answered
 * yet and was not cancelled; notifications and requests of the engine pass. MCP_LOST: it is
 * no JSON, and the connection is not worth keeping. MCP_RELISTEN: it acknowledges a subscription
 * of the client's again, after a loss; mcp_relistened says what that means for the client.
 * MCP_UNSURE: an error of a call that was sent before, too; it passes with mcp_unsure. */
enum mcp_fate mcp_from_engine(struct mcp_lines *m, struct ats_slice line);
/* The open request that the engine knows by this id, or NULL; mcp_forget frees it. */
struct mcp_request *mcp_find(const struct mcp_lines *m, struct ats_slice id);
void mcp_forget(struct mcp_lines *m, struct mcp_request *r);
/* Whether the client waits for an answer by this id. */
bool mcp_is_awaited(const struct mcp_lines *m, struct ats_slice id);
/* Appends what the client is to hear instead of such a line: what it subscribed to may have changed
 * while nobody was there to say so. */
ATS_NODISCARD int mcp_relistened(struct ats_slice line, struct ats_buf *out);
/* Appends such an error, as one of what nobody knows. */
ATS_NODISCARD int mcp_unsure(struct ats_slice line, struct ats_buf *out);
/* Whether a line has no id: a notification, worth sending after a loss. */
bool mcp_is_notification(const char *line, size_t n);
/* Whether answers of the engine are due: to requests that somebody waits for (a subscription has
 * its answer when it is gone), or errors with id null. */
bool mcp_awaits(const struct mcp_lines *m);

/* ---- mcp_lost.c */
/* Appends what a fresh connection must hear: initialize, initialized, open requests. */
ATS_NODISCARD int mcp_replay(struct mcp_lines *m, struct ats_buf *out);
/* Appends notifications/cancelled for every open request. */
ATS_NODISCARD int mcp_cancel_all(const struct mcp_lines *m, struct ats_buf *out);
/* The connection is lost, and with it the errors with id null that were due: nobody can be
 * asked for them again. Appends errors in their place, MCP_PENDING_MAX at most. */
ATS_NODISCARD int mcp_lose_nulls(struct mcp_lines *m, struct ats_buf *out);
/* Appends an error answer for every open request that somebody waits for, and forgets all. */
ATS_NODISCARD int mcp_fail_all(struct mcp_lines *m, struct ats_buf *out, const char *why);

#endif
