/* SPDX-License-Identifier: Apache-2.0
 *
 * An error in the place of an answer is about that one sending. Of a call that was sent before,
 * on a connection that was lost, it says nothing: the first sending may have run
 * (docs/PROTOCOL.md). */
#ifndef ATS_PROTO_UNSURE_H
#define ATS_PROTO_UNSURE_H

#include <stdbool.h>

#include "common/json.h"

#define ATS_UNSURE                                                                       \
	"The outcome of this call is unknown; it may have run. Look at the state of "     \
	"things before you repeat it"

/* Whether a line of the engine, scanned, that answers such a call is an error which leaves that
 * open, and where in it that goes: at the beginning of its message. */
bool ats_unsure_at(struct ats_slice line, size_t *ret_at);
/* Appends the line with it, up to sizeof(ATS_UNSURE) + 1 bytes longer. */
ATS_NODISCARD int ats_unsure_add(struct ats_slice line, size_t at, struct ats_buf *out);

#endif
