/* SPDX-License-Identifier: Apache-2.0
 *
 * The requestState of MCP 2026-07-28: what the client carries from one round to the next, proven
 * to be ours. No input and output here. Process: atsctl. */
#ifndef ATS_CTL_MCP_STATE_H
#define ATS_CTL_MCP_STATE_H

#include "common/digest.h"
#include "common/json.h"

#define STATE_KEY_BYTES 32
#define STATE_MAX 256			/* bytes of one, with its NUL */
#define STATE_APPROVAL_MAX 32

struct mcp_state {
	uint64_t nr;
	char approval[STATE_APPROVAL_MAX];	/* an id */
	uint64_t expires_ms;			/* since 1970 */
};
/* What a tools/call asks for: name and arguments, as the client wrote them. "" without memory. */
void state_digest(struct ats_slice params, char out[ATS_SHA256_HEX]);
/* The text of a state, which is good only with requests of that digest and by that key. */
void state_write(const unsigned char key[STATE_KEY_BYTES], const struct mcp_state *s,
    const char *digest, char out[STATE_MAX]);
/* False: it is not a state that state_write gave for that key and digest. Time is the caller's. */
bool state_read(const unsigned char key[STATE_KEY_BYTES], const struct ats_json_val *v,
    const char *digest, struct mcp_state *ret);

#endif
