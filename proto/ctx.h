/* SPDX-License-Identifier: Apache-2.0
 *
 * What brain's engine and the library for agent runtimes both know of a call's ctx: which file
 * an input names, and where a session may stand. Pure. */
#ifndef ATS_PROTO_CTX_H
#define ATS_PROTO_CTX_H

#include "proto/tools.h"

/* Places of a sandbox besides its workspace. */
#define ATS_PLACE_HOME "/home/agent"
#define ATS_PLACE_TMP "/tmp"
#define ATS_PLACE_SPILL "/run/ats/spill"

/* What an input says beside what the tool does with it. */
struct ats_ctx_named {
	char path[4096];	/* the FILE parameter, joined with cwd and normalised; "" if none */
	uint64_t timeout_ms;	/* the TIMEOUT parameter; 0 if none */
};
/* args: a scanned JSON object. A FILE parameter that cannot be a path counts as none: hands
 * refuses it with a text for the model. */
void ats_ctx_name(const struct ats_tool_row *tool, const char *cwd, struct ats_slice args,
    struct ats_ctx_named *ret);
/* Whether a directory may be a session's cwd in this workspace: absolute, normalised,
 * within the workspace, /tmp or HOME. */
bool ats_ctx_cwd_allowed(const char *workspace, const char *cwd);

#endif
