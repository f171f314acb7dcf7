/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the box from the inside, in a process that is confined exactly as a tool is.
 */
#ifndef ATS_HANDS_CONFINE_SELFTEST_H
#define ATS_HANDS_CONFINE_SELFTEST_H

#include "common/buf.h"
#include "hands/worker/zygote.h"

/* In a read or write worker: appends the confinement vector. */
ATS_NODISCARD int selftest_run(const struct zygote_child *z, struct ats_buf *out);
/* In a monitor, in place of a command: REPLY_RESULT with the vector, then the end. */
void selftest_shell(const struct zygote_child *z, int sock) __attribute__((noreturn));

#endif
