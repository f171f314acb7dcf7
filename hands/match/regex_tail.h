/* SPDX-License-Identifier: Apache-2.0
 *
 * What the last bytes of a line must be for a pattern that ends in $: most lines are ruled
 * out by a look at their ends. */
#ifndef ATS_HANDS_MATCH_REGEX_TAIL_H
#define ATS_HANDS_MATCH_REGEX_TAIL_H

#include "hands/match/regex_syntax.h"

struct regex_tail {
	size_t n;		/* bytes that are known, 0: none */
	bool has[REGEX_TAIL_MAX][128];	/* [0] is the last one; non-ASCII may be anywhere */
};
/* False when nothing is known, or it would rule out few lines; out of memory too. */
bool regex_tail_make(const char *pattern, const struct regex_syntax *s,
    struct regex_tail *ret);
/* Whether a line that ends before end, its newline and return not counted, may match. */
static inline bool
regex_tail_fits(const struct regex_tail *t, const char *text, size_t end)
{
	for (size_t i = 0; i < t->n; i++) {
		unsigned char c;

		if (i == end)
			return false;
		c = (unsigned char)text[end - 1 - i];
		if (c >= 0x80)
			return true;
		if (!t->has[i][c])
			return false;
	}
	return true;
}

#endif
