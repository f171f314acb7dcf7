/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to mcp_rounds.c and mcp_retry.c. */
#ifndef ATS_CTL_MCP_ROUNDS_PRIVATE_H
#define ATS_CTL_MCP_ROUNDS_PRIVATE_H

#include "brain/ctl/mcp_envelope.h"
#include "brain/ctl/mcp_rounds.h"

#define ROUND_DIALOG "approval"		/* the key of the one dialog in a result */

struct mcp_known {
	TAILQ_ENTRY(mcp_known) link;
	char id[APPROVAL_ID_MAX], sha256[ATS_SHA256_HEX];
	uint64_t expires_ms;		/* since 1970 */
	char *text;			/* owned */
};

enum round_state { ROUND_WAITS, ROUND_PARKED, ROUND_JOINED };
struct mcp_round {
	TAILQ_ENTRY(mcp_round) link;
	uint64_t nr;
	enum round_state state;
	struct mcp_request *request;	/* NULL: it is answered, by held */
	char digest[ATS_SHA256_HEX];	/* of what it asks for */
	char approval[APPROVAL_ID_MAX];	/* that it waits for, as the engine said */
	char shown[APPROVAL_ID_MAX], sha256[ATS_SHA256_HEX];	/* what the client was asked */
	uint64_t expires_ms;		/* of its requestState */
	char *token, *new_token;	/* owned, raw: of the first request, of the last; or NULL */
	char *held;			/* owned: a line without its newline */
	size_t held_len;
};
void round_free(struct mcp_rounds *r, struct mcp_round *x);
/* The approval of that id, if it waits as far as is known. */
struct mcp_known *round_known(const struct mcp_rounds *r, const char *approval);
/* The round whose request the engine knows by this id, or NULL. */
struct mcp_round *round_of(const struct mcp_rounds *r, struct ats_slice id);
/* Answers the request that the client waits by, whose id is id: it is parked. -ATS_E_NOMEM. */
ATS_NODISCARD int round_ask(struct mcp_rounds *r, struct mcp_round *x, const struct mcp_known *k,
    const char *id, struct ats_buf *client);
/* If the client waits, and its approval is known and was not shown yet. */
ATS_NODISCARD int round_ask_if_due(struct mcp_rounds *r, struct mcp_round *x,
    struct ats_buf *client);
uint64_t round_now_ms(void);		/* since 1970 */

/* Appends line, and a newline, with other bytes in the place of part, which is in it. */
ATS_NODISCARD int round_splice(struct ats_buf *out, struct ats_slice line, struct ats_slice part,
    const char *with);

#endif
