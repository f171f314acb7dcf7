/* SPDX-License-Identifier: Apache-2.0
 *
 * Approvals for clients of MCP 2026-07-28, which are sent no requests: a tools/call that waits for
 * a person is answered "input_required" with the dialog in it, and the client sends it again with
 * what the person said (Multi Round-Trip Requests). Meanwhile the engine's request stays open
 * here; the second one joins it, and nothing runs twice. No input and output here. Process:
 * atsctl. The client is the person's own, what stands in a dialog an agent wrote, and the engine
 * only says which request an approval is of: what is shown comes from the vault. */
#ifndef ATS_CTL_MCP_ROUNDS_H
#define ATS_CTL_MCP_ROUNDS_H

#include "brain/ctl/mcp_elicit.h"
#include "brain/ctl/mcp_lines.h"
#include "brain/ctl/mcp_state.h"

#define ROUNDS_MAX 64u			/* asked about at once; others: atsctl approve */
#define ROUNDS_HELD_MAX (32u << 20)	/* answers that nobody waits for yet, together */
#define ROUNDS_LATE_MS 60000u		/* that a client may be late, after the approval's end */

struct mcp_round;
struct mcp_known;
TAILQ_HEAD(mcp_round_list, mcp_round);
TAILQ_HEAD(mcp_known_list, mcp_known);

struct mcp_rounds {
	unsigned char key[STATE_KEY_BYTES];	/* random; shared with nobody */
	char watch_id[32];		/* of our request to the engine; nobody else can know it */
	bool watches;
	uint64_t next;
	struct mcp_round_list all;	/* the oldest first */
	struct mcp_known_list known;	/* approvals that wait, as the vault tells them */
	size_t n, nknown, held;
};
/* -ATS_E_SYS. */
ATS_NODISCARD int rounds_init(struct mcp_rounds *r);
void rounds_done(struct mcp_rounds *r);

/* The request by which the engine is asked to say which requests wait, as a line; once a
 * connection, from the first on that could be asked about. -ATS_E_NOMEM. */
ATS_NODISCARD int rounds_watch(struct mcp_rounds *r, struct ats_buf *engine);
/* The vault told of an approval: who waits for it is asked, by a line for the client. 1; 0 when
 * it is not shown as a dialog, being too long or one too many; -ATS_E_NOMEM. */
ATS_NODISCARD int rounds_approval(struct mcp_rounds *r, const struct approval *a,
    struct ats_buf *client);
/* It waits no more; or none does as far as is known, the vault being lost. */
void rounds_gone(struct mcp_rounds *r, const char *approval);
void rounds_all_gone(struct mcp_rounds *r);

/* Looks at a line of the engine before mcp_from_engine does, and appends what the client is to
 * get for it. 1: it is dealt with; 0: it is for mcp_from_engine; -ATS_E_PROTO: no JSON;
 * -ATS_E_NOMEM: nothing has changed. */
ATS_NODISCARD int rounds_from_engine(struct mcp_rounds *r, struct mcp_lines *m,
    struct ats_slice line, struct ats_buf *client);

struct round_decision {			/* said: ELICIT_APPROVE, ELICIT_DENY, or nothing */
	enum elicit_said said;
	char approval[APPROVAL_ID_MAX], sha256[ATS_SHA256_HEX], way[ELICIT_WAY_MAX];
};
/* Looks at a line of the client before mcp_from_client does; lines for the two sides are appended.
 * 1: it is dealt with, and *ret is what to tell the vault; 0: it is for mcp_from_client;
 * -ATS_E_NOMEM. */
ATS_NODISCARD int rounds_from_client(struct mcp_rounds *r, struct mcp_lines *m, const char *line,
    size_t n, struct ats_buf *client, struct ats_buf *engine, struct round_decision *ret);

#endif
