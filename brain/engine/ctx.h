/* SPDX-License-Identifier: Apache-2.0
 *
 * What travels beside a call: ctxIn is made here from the session, ctxDelta is checked here
 * before the session believes it. Pure: no I/O, no clock. The delta's author is a sandbox
 * that may lie. */
#ifndef ATS_ENGINE_CTX_H
#define ATS_ENGINE_CTX_H

#include "proto/ctx.h"

struct session;

/* Appends the ctx_in object: cwd (NULL: the session's), the session's entry for path ("" for
 * none), and TERM ("" for none). */
ATS_NODISCARD int ctx_in_write(struct session *s, const char *cwd, const char *path,
    const char *term, struct ats_buf *out);
/* Checks delta (JSON text) and applies to the session what holds. path is what the input
 * named. What is well formed but not this call's to say is dropped; *ret_dropped says what
 * (static text) or is NULL. -ATS_E_FIELD and others: malformed, the link must end. */
ATS_NODISCARD int ctx_delta_apply(struct session *s, const struct ats_tool_row *tool,
    const char *path, struct ats_slice delta, struct ats_buf *arena,
    const char **ret_dropped, struct ats_err *err);

#endif
