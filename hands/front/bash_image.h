/* SPDX-License-Identifier: Apache-2.0
 *
 * A command whose whole output is an image as a data: URL. */
#ifndef ATS_HANDS_FRONT_BASH_IMAGE_H
#define ATS_HANDS_FRONT_BASH_IMAGE_H

#include "hands/front/bash_text.h"
#include "hands/fs/image.h"

#define BASH_IMAGE_URL_MAX (5u << 20) /* longer outputs are not looked at */

/* Whether an output is data:image/TYPE;base64,... and nothing else. 0: yes, its bytes
 * were appended to out, and the first ret->size of them are a whole image. 1: it is no
 * such URL (SVG is text). Negative: it is one, but not of an image that can be shown; err
 * says why. */
ATS_NODISCARD int bash_image_decode(
    const char *s, size_t n, struct ats_buf *out, struct image *ret, struct ats_err *err);
/* The same for what a command has printed, in memory or in its file. */
ATS_NODISCARD int bash_image_of(const struct bash_text *t, struct ats_buf *out,
    struct image *ret, struct ats_err *err);

#endif
