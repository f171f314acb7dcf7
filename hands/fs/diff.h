/* SPDX-License-Identifier: Apache-2.0
 *
 * A unified diff of known changes. */
#ifndef ATS_HANDS_FS_DIFF_H
#define ATS_HANDS_FS_DIFF_H

#include "hands/fs/match_edit.h"

#define DIFF_LINE_MAX 400u	/* bytes shown of a line */

struct diff_texts {
	const char *old;
	size_t old_n;
	const char *new_text;
	size_t new_n;
};
/* Appends hunks with 3 lines of context for the edits (ascending, not overlapping), at most
 * about max_bytes; what is left out is said in the last line. */
ATS_NODISCARD int diff_unified(const struct diff_texts *t, const struct match_edit *edits,
    size_t n, size_t max_bytes, struct ats_buf *out);
/* The one edit that turns old into new: all between their common head and tail. Returns false
 * when they are equal. */
bool diff_middle(const struct diff_texts *t, struct match_edit *ret);

#endif
