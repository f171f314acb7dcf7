/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection of atsctl mcp to the vault, over which approvals of its session become dialogs
 * of the client, and their answers decisions. Process: atsctl. */
#ifndef ATS_CTL_MCP_ASKS_H
#define ATS_CTL_MCP_ASKS_H

#include "brain/ctl/mcp_rounds.h"

enum asks_state {
	ASKS_OFF,		/* the client shows no dialogs, or has not said so yet */
	ASKS_WANTED,		/* to be connected at retry_ms */
	ASKS_ASKED, ASKS_ON,
	ASKS_REFUSED,		/* by the configuration of this brain */
};
struct mcp_asks {
	struct ctl *c;
	enum asks_state state;
	int fd;			/* -1: none; non-blocking */
	uint32_t seq;		/* of the last request */
	bool again;		/* brain has changed since it was asked */
	uint64_t retry_ms;
	char way[ELICIT_WAY_MAX];
	/* Whether the client takes requests (to 2025-11-25); else they are in answers. */
	bool requests;
	struct mcp_elicit dialogs;
	struct mcp_rounds rounds;
	struct approval_msg msg;
};
/* -ATS_E_SYS. */
ATS_NODISCARD int asks_init(struct mcp_asks *a, struct ctl *c);
void asks_done(struct mcp_asks *a);
/* The client said initialized; initialize is what it declared before. */
void asks_client_ready(struct mcp_asks *a, struct ats_slice initialize);
/* A request of 2026-07-28 came whose client (clientInfo, p == NULL: none) shows dialogs. */
void asks_client_shows(struct mcp_asks *a, struct ats_slice info);
/* Tells the vault, if anything. */
void asks_decide(struct mcp_asks *a, const struct round_decision *d);
/* Another brain, perhaps with another configuration, may be there now. */
void asks_brain_changed(struct mcp_asks *a);
/* Milliseconds until asks_step has something to do without input, -1: never. */
int asks_wait_ms(const struct mcp_asks *a);
/* Connects when it is time, and reads what there is; lines for the client are appended to
 * out. -ATS_E_NOMEM. */
ATS_NODISCARD int asks_step(struct mcp_asks *a, const char *session, struct ats_buf *out);
/* Whether a line of the client was an answer to one of our dialogs, which is dealt with then. */
bool asks_take(struct mcp_asks *a, const char *line, size_t n);

#endif
