/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of a JSON-RPC message that the relay looks at, in a line of either side. Process:
 * atsctl. Pure. */
#ifndef ATS_CTL_MCP_ENVELOPE_H
#define ATS_CTL_MCP_ENVELOPE_H

#include <stdbool.h>

#include "common/json.h"

struct mcp_envelope {			/* slices are in the line; p == NULL: none */
	struct ats_slice id;		/* raw */
	struct ats_slice method;	/* between its quotes */
	struct ats_slice params;	/* raw, an object */
	bool answer;			/* has result or error */
	bool versioned;			/* as JSON-RPC 2.0 */
	bool bad;			/* the engine answers with an error at once */
};
/* Reads a value that ats_json_value has found. False, and bad: it is no object. */
bool mcp_envelope_read(struct ats_slice value, struct mcp_envelope *ret);
/* The same of a scanned line, whose value has first to be found. */
bool mcp_envelope_of(struct ats_slice line, struct mcp_envelope *ret);
bool mcp_is_method(const struct mcp_envelope *e, const char *name);
/* Whether the engine takes it for an id. */
bool mcp_is_id(const struct ats_json_val *v);
bool mcp_same(const char *s, struct ats_slice raw);	/* s may be NULL */

#endif
