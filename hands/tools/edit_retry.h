/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_HANDS_TOOLS_EDIT_RETRY_H
#define ATS_HANDS_TOOLS_EDIT_RETRY_H

#include "hands/tools/edit_text.h"

/* After a loss: 1 when the loaded content is what the steps make of what the session saw (out
 * says so then), 0 when they are still to be done, -ATS_E_CHANGED when that is not to be
 * known. */
ATS_NODISCARD int edit_retry(const struct change *c, const struct edit_step *steps, size_t n,
    struct tool_result *out, struct ats_err *err);

#endif
