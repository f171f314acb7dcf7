/* SPDX-License-Identifier: Apache-2.0
 *
 * Approvals as dialogs of an MCP client: the lines of elicitation/create, their answers, and
 * which of them are open. No input and output here. Process: atsctl. The client is the person's
 * own; what stands in a dialog an agent wrote. */
#ifndef ATS_CTL_MCP_ELICIT_H
#define ATS_CTL_MCP_ELICIT_H

#include <sys/queue.h>

#include "brain/ctl/approval.h"
#include "common/json.h"

#define ELICIT_MAX 64u			/* dialogs at once; more are for atsctl approve */
#define ELICIT_TEXT_MAX (32u << 10)	/* text of one; longer ones are for atsctl approve */
#define ELICIT_WAY_MAX 96

struct elicit_dialog {
	TAILQ_ENTRY(elicit_dialog) link;
	char id[48];			/* of our request */
	char approval[APPROVAL_ID_MAX], sha256[ATS_SHA256_HEX];
};
TAILQ_HEAD(elicit_dialogs, elicit_dialog);

struct mcp_elicit {
	char prefix[40];		/* of the ids of our requests, which nobody else can know */
	uint64_t next;			/* number of the next request */
	struct elicit_dialogs open;
	size_t n;
};
void elicit_init(struct mcp_elicit *e, uint64_t secret);	/* random; shared with nobody */
void elicit_done(struct mcp_elicit *e);

/* Whether an initialize (a line that was scanned) declares that dialogs with a form can be
 * shown; then way is "elicitation CLIENT", as the vault takes it, of plain letters. */
bool elicit_can(struct ats_slice initialize, char way[ELICIT_WAY_MAX]);
/* The same of a request of MCP 2026-07-28, by the clientInfo in its _meta (p == NULL: none). */
void elicit_way(struct ats_slice info, char way[ELICIT_WAY_MAX]);
/* Appends what the person is to read of an approval. -ATS_E_TOOBIG: too much for a dialog. */
ATS_NODISCARD int elicit_text(const struct approval *a, struct ats_buf *out);
/* The member "requestedSchema". */
void elicit_write_schema(struct ats_json_w *w);
/* Appends the request for one approval. 1; 0 when it is not shown as a dialog, being too long or
 * one too many, or is shown already; -ATS_E_NOMEM. */
ATS_NODISCARD int elicit_show(struct mcp_elicit *e, const struct approval *a,
    struct ats_buf *out);
/* Appends notifications/cancelled for the dialog of an approval, if it is open: nobody waits for
 * its answer any more. -ATS_E_NOMEM. */
ATS_NODISCARD int elicit_gone(struct mcp_elicit *e, const char *approval, const char *why,
    struct ats_buf *out);
ATS_NODISCARD int elicit_all_gone(struct mcp_elicit *e, const char *why, struct ats_buf *out);

enum elicit_said {
	ELICIT_NOT_OURS,	/* the line is somebody else's */
	ELICIT_NOTHING,		/* ours, and decides nothing: late, dismissed, an error, or junk */
	ELICIT_APPROVE,
	ELICIT_DENY,
};
/* What the result of a dialog (an object) says. */
enum elicit_said elicit_said_by(struct ats_slice result);
/* Looks at a line of the client. An answer closes its dialog; it is copied to *ret when it
 * decides (its link means nothing there). */
enum elicit_said elicit_answer(struct mcp_elicit *e, const char *line, size_t n,
    struct elicit_dialog *ret);

#endif
