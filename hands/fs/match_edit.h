/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the text that an edit replaces, and replacing it so that no byte outside changes.
 * Works on bytes; the caller knows that they are a text. */
#ifndef ATS_HANDS_FS_MATCH_EDIT_H
#define ATS_HANDS_FS_MATCH_EDIT_H

#include "common/buf.h"

#define MATCH_MAX 1000000u	/* places of one edit */

enum match_how {
	MATCH_EXACT,
	MATCH_LINE_ENDS,	/* CRLF and LF are one */
	MATCH_QUOTES		/* and typographic quotes are the plain ones */
};
struct match_span {
	size_t start, end;	/* bytes of the text */
};
struct match_set {
	struct match_span *v;	/* ascending; owned, match_set_done */
	size_t n, cap;
	enum match_how how;
};
/* The first way of matching that finds anything. all: places that do not overlap; else every
 * place, overlapping ones too, up to 100. 0 (also with none), -ATS_E_NOMEM, -ATS_E_FULL. */
ATS_NODISCARD int match_find(const char *text, size_t n, const char *old, size_t old_n,
    bool all, struct match_set *ret);
void match_set_done(struct match_set *m);

struct match_edit {		/* one change, for a diff */
	size_t old_start, old_end, new_start, new_end;
};
/* Appends the text with each place replaced by new to out. What new has in common with the
 * place at its ends stays byte for byte (its line ends and quotes too); a newline in the rest
 * becomes that of the neighbouring line unless new has CRLF itself. *ret_edits: m->n entries,
 * owned (free). */
ATS_NODISCARD int match_apply(const char *text, size_t n, const struct match_set *m,
    const char *new_text, size_t new_n, struct ats_buf *out, struct match_edit **ret_edits);
/* The line (from 1) that looks most like the longest line of old, or 0. */
size_t match_nearest_line(const char *text, size_t n, const char *old, size_t old_n,
    struct ats_slice *ret_line);
size_t match_line_of(const char *text, size_t at);	/* number of the line, from 1 */

#endif
