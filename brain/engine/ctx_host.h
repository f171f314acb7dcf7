/* SPDX-License-Identifier: Apache-2.0
 *
 * The same ctx between the engine and an agent runtime on the host: what the runtime says with
 * a call that it forwards, and what the session holds after it. Pure: no I/O, no clock. The
 * runtime owns the session; what it says is checked all the same. */
#ifndef ATS_ENGINE_CTX_HOST_H
#define ATS_ENGINE_CTX_HOST_H

#include "common/json.h"
#include "proto/tools.h"

#define CTX_HOST_READS_MAX 8u
#define CTX_HOST_MAX (64u << 10)	/* of what is written */

struct session;

/* Checks ctx (a scanned JSON object in the shape ctx_in) and takes it into the session: all of
 * it or nothing. env is brain's to give: refused. -ATS_E_FIELD with a text that names the
 * member; -ATS_E_NOMEM. */
ATS_NODISCARD int ctx_host_take(struct session *s, struct ats_slice ctx, struct ats_err *err);
/* Appends an object in the shape ctx_host: what a call of this tool may have changed, as the
 * session has it now. path is what its input named, or "". out is as before on failure. */
ATS_NODISCARD int ctx_host_write(const struct session *s, const struct ats_tool_row *tool,
    const char *path, struct ats_buf *out);

#endif
