/* SPDX-License-Identifier: Apache-2.0
 *
 * What frames from hands do, for link.c. */
#ifndef ATS_ENGINE_LINK_FRAMES_H
#define ATS_ENGINE_LINK_FRAMES_H

#include "brain/engine/link.h"
#include "common/chan.h"

/* ats_chan_ops.frame of a link: ctx is its sandbox, f a whole frame that the link's check let
 * through, borrowed. Negative, the code in err: the link is to end. */
ATS_NODISCARD int link_on_frame(void *ctx, const struct ats_frame *f, struct ats_err *err);

#endif
