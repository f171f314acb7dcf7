/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of a command's output that a model sees: its head and its tail, kept in memory
 * that does not grow with the output. Bytes come as pipes give them; characters that two
 * reads split are put together because the text is made at the end. */
#ifndef ATS_HANDS_FRONT_CAPTURE_H
#define ATS_HANDS_FRONT_CAPTURE_H

#include <stdint.h>

#include "common/buf.h"

/* Enough bytes for half the characters of a cut text, at four bytes each. */
#define CAPTURE_SIDE (64u << 10)
#define CAPTURE_CHARS 30000u /* longer texts keep this many, half of each end */

struct capture {
	struct ats_buf head; /* the first CAPTURE_SIDE bytes */
	char *ring;	     /* the last CAPTURE_SIDE of the rest; NULL until needed */
	uint64_t total;	     /* bytes seen */
};

void capture_init(struct capture *c);
void capture_done(struct capture *c);
/* 0 or -ATS_E_NOMEM; then the bytes are counted but may be missing from the text. */
int capture_add(struct capture *c, const char *p, size_t n);
/* Whether every byte is still in memory; then capture_raw gives them. */
bool capture_whole(const struct capture *c);
/* Appends the bytes themselves. 0, -ATS_E_NOMEM or -ATS_E_TOOBIG (not whole). */
ATS_NODISCARD int capture_raw(const struct capture *c, struct ats_buf *out);
/* Appends valid UTF-8: the whole text, or head, a marker and tail with max_chars
 * characters besides the marker. more: where the rest can be read, or NULL. *ret_cut says
 * which. 0 or -ATS_E_NOMEM / -ATS_E_TOOBIG. */
ATS_NODISCARD int capture_text(const struct capture *c, size_t max_chars,
    const char *more, struct ats_buf *out, bool *ret_cut);
/* Writes the newest line that is not empty (valid UTF-8, cut to size) and returns out. */
/* Appends the newest bytes, some thousand, as valid UTF-8: max bytes at most, whole
 * characters. */
ATS_NODISCARD int capture_newest(
    const struct capture *c, size_t max, struct ats_buf *out);
const char *capture_last_line(const struct capture *c, char *out, size_t size);

/* ---- spill_move.c */
struct records;
ATS_NODISCARD int capture_save(const struct capture *c, struct records *r);
/* The next record, into an empty one. */
ATS_NODISCARD int capture_load(struct capture *c, struct records *r);

#endif
