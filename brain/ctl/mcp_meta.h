/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request of MCP 2026-07-28 says of itself. Process: atsctl. */
#ifndef ATS_CTL_MCP_META_H
#define ATS_CTL_MCP_META_H

#include <stdbool.h>

#include "common/json.h"

#define MCP_MODERN "2026-07-28"
#define MCP_KEY "io.modelcontextprotocol/"

struct mcp_meta {
	bool modern;			/* it is of that revision, as far as it goes */
	bool forms;			/* its client shows dialogs with a form */
	struct ats_slice info, token;	/* raw; p == NULL: none */
};
/* Reads params (scanned; p == NULL: none), whose slices it keeps. Anything that is wrong is
 * for the engine to refuse: it is not modern then. */
void mcp_meta_read(struct ats_slice params, struct mcp_meta *ret);
/* Whether an "elicitation" of client capabilities means forms. */
bool mcp_meta_has_forms(struct ats_slice elicitation);

#endif
