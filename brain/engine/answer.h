/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the answer of a call into a client's buffer, straight from the result's bytes:
 * escaped as a stream, never built as a tree. */
#ifndef ATS_ENGINE_ANSWER_H
#define ATS_ENGINE_ANSWER_H

#include "brain/engine/call_waiters.h"
#include "brain/engine/outcome.h"
#include "common/json.h"

/* Appends one whole JSON-RPC line. id is the raw request id. notice: a further text for the
 * model, or NULL. -ATS_E_NOMEM, -ATS_E_TOOBIG: out is as before. Pure. */
ATS_NODISCARD int answer_write(struct ats_buf *out, enum call_form form, const char *id,
    uint64_t call, const struct outcome *o, const char *notice);
/* Checks RESULT.blocks against the payload's length: [{"type","mime","len"}], lengths that
 * add up. 0 or -ATS_E_FIELD. */
ATS_NODISCARD int answer_blocks_check(struct ats_slice blocks, size_t payload_len,
    struct ats_err *err);

#endif
