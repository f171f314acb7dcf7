/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of a document as images. A read worker has opened and judged the document; a
 * program under a shell monitor, with limits of its own, draws from that very descriptor.
 * No byte of the document is read in front. */
#ifndef ATS_HANDS_FRONT_RENDER_H
#define ATS_HANDS_FRONT_RENDER_H

#include "hands/front/calls.h"

/* Answers c, now or later; c has no part of its own any more. fd is taken. payload is
 * what came with REPLY_RENDER, delta what the call changed; both are borrowed. */
void render_start(
    struct call *c, int fd, struct ats_slice delta, struct ats_slice payload);

#endif
