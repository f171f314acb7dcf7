/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of reading a pattern. Private to regex_syntax.c, regex_escape.c and
 * regex_class.c. */
#ifndef ATS_HANDS_MATCH_REGEX_READER_H
#define ATS_HANDS_MATCH_REGEX_READER_H

#include "hands/match/regex_syntax.h"
#include "hands/match/regex_words.h"

struct regex_reader {
	const char *begin, *p, *end;
	struct regex_syntax *s;
	struct words_arena arena;
	bool gave_up;
	bool imprecise;		/* assertions, atomic groups: words are not exact */
	bool at_end;		/* the last atom was $ */
	bool no_tail;		/* the pattern does not end in one place or one case */
	unsigned min, max;	/* of the last quantifier */
	int rc;			/* no memory */
	int depth;
};

/* Appends to the newline-free form. */
void regex_emit(struct regex_reader *r, const char *text, size_t n);
void regex_emit_str(struct regex_reader *r, const char *text);
/* Nothing more is read; the pattern is used as it is. */
void regex_give_up(struct regex_reader *r);
/* What matches these n bytes, one character, and nothing else. */
void regex_node_char(struct regex_reader *r, struct words_node *ret, const char *text, size_t n);
/* A literal newline is at r->p. */
void regex_newline(struct regex_reader *r);
/* p is at the x. Returns the value, *ret_end behind it. */
unsigned regex_read_hex(const char *p, const char *end, const char **ret_end);
/* r->p is at the backslash; moves behind all that belongs to it. */
void regex_read_escape(struct regex_reader *r, struct words_node *ret);
/* r->p is at the '['; moves behind the ']'. */
void regex_read_class(struct regex_reader *r, struct words_node *ret);

#endif
