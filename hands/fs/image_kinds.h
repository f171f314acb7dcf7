/* SPDX-License-Identifier: Apache-2.0
 *
 * The checkers behind image.h, one for each kind. Each is given bytes that begin with its
 * magic and returns NULL, with size and pixels in ret, or what is wrong. */
#ifndef ATS_HANDS_FS_IMAGE_KINDS_H
#define ATS_HANDS_FS_IMAGE_KINDS_H

#include "hands/fs/image.h"

struct image_in {
	const unsigned char *p;
	size_t n;
};
const char *image_png(struct image_in in, struct image *ret);
const char *image_jpeg(struct image_in in, struct image *ret);
const char *image_gif(struct image_in in, struct image *ret);
const char *image_webp(struct image_in in, struct image *ret);

#endif
