/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether bytes are a whole image of a kind that models take. */
#ifndef ATS_HANDS_FS_IMAGE_H
#define ATS_HANDS_FS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define IMAGE_SIDE_MAX 8000u  /* pixels; larger ones are refused by the models' API */
#define IMAGE_SIDE_MANY 2000u /* the same, in a request with more than 20 images */
/* Bytes: what a RESULT can carry (frames.def) with some text beside it, and in base64
 * less than the 5 MB that the models' API takes. */
#define IMAGE_MAX ((3u << 20) - (64u << 10))

struct image {
	const char *mime; /* static */
	uint32_t width, height;
	size_t size; /* bytes up to its end; what follows is no part of it */
};
/* The kind that the first bytes (12 are enough) claim, or NULL. */
const char *image_claims(const char *p, size_t n);
/* Walks the whole structure: 0, or -ATS_E_INVAL with a text that says what is wrong, or
 * -ATS_E_TOOBIG: in pixels or in bytes. */
ATS_NODISCARD int image_check(
    const char *p, size_t n, struct image *ret, struct ats_err *err);

#endif
