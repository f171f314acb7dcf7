/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call gives back: blocks of text and images, masked and capped. */
#ifndef ATS_GATEWAY_RESULT_H
#define ATS_GATEWAY_RESULT_H

#include <stdint.h>

#include "common/buf.h"

#define RESULT_TEXT_MAX 100000u		/* bytes of text, all blocks together */
#define RESULT_IMAGE_MAX (2600u << 10)	/* bytes of images, all together; with the text it fits
					 * into a RESULT of frames.def */
#define RESULT_BLOCKS_MAX 64u

struct mask;

/* Bytes of one text as they come: what can be shown, and how many there were. */
struct gather {
	struct ats_buf head;
	uint64_t total;
	bool stopped;			/* by whoever reads: there may be more than total */
};
struct result {
	const struct mask *mask;	/* borrowed */
	struct ats_buf payload, blocks;
	size_t text, images;		/* bytes so far */
	unsigned nblocks;
	bool has_image, full;		/* full: what came last was cut or left out */
	bool is_error;
	bool not_started;
	int code;			/* ATS_E_*, positive, when is_error */
	const char *exit_kind;		/* static, or NULL */
	bool has_exit_code;
	unsigned exit_code;
};

void gather_init(struct gather *g, const struct mask *m);
void gather_done(struct gather *g);
/* -ATS_E_NOMEM; what is over the cap is counted only. */
ATS_NODISCARD int gather_add(struct gather *g, const void *p, size_t n);

/* mask may be NULL, is borrowed. */
void result_init(struct result *r, const struct mask *m);
void result_done(struct result *r);
/* Appends a block of text: bad UTF-8 becomes U+FFFD, the credential ***; over the cap it is cut
 * after a whole character, and a line says how many bytes there were. 0 or -ATS_E_NOMEM. */
ATS_NODISCARD int result_text(struct result *r, const char *s, size_t n);
ATS_NODISCARD int result_textf(struct result *r, const char *fmt, ...) ATS_PRINTF(2, 3);
ATS_NODISCARD int result_gathered(struct result *r, const struct gather *g);
/* Appends an image, or where it is not one of the four kinds or too large a line that says so. */
ATS_NODISCARD int result_image(struct result *r, const char *mime, const char *p, size_t n);
/* "image/png" and so on as engines show it, without parameters, or NULL. */
const char *result_image_type(const char *mime);
/* Makes it an error with that text alone. code is positive. */
void result_fail(struct result *r, int code, const char *fmt, ...) ATS_PRINTF(3, 4);
/* The JSON of its RESULT (frames.def), appended to json; the payload is r->payload. */
ATS_NODISCARD int result_json(struct result *r, uint64_t run_us, struct ats_buf *json);

#endif
