/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be told from a PCRE2 pattern without running it: words that every match holds,
 * and a form of the pattern in which nothing matches a newline, so that a whole buffer can be
 * searched at once and no match leaves its line. Wrong patterns are PCRE2's to refuse. */
#ifndef ATS_HANDS_MATCH_REGEX_SYNTAX_H
#define ATS_HANDS_MATCH_REGEX_SYNTAX_H

#include <stddef.h>

#include "common/buf.h"
#include "hands/match/literal.h"

#define REGEX_TAIL_MAX 8u

struct regex_atom {		/* of one character */
	size_t at, n;		/* its text in the pattern */
	unsigned min, max;	/* times */
};
struct regex_syntax {
	struct ats_buf line;	/* the newline-free form */
	bool line_safe;		/* line is usable */
	bool utf;		/* only works on characters: non-ASCII, \p, \x{100} */
	bool wild;		/* has what matches many characters: . [^a] \s \W */
	bool classes;		/* has what is more in Unicode than in ASCII: \w \d \b */
	bool end;		/* looks at the end of the line: $ \z (?= (?! */
	bool keep_cr;		/* names \r: a return at the end is text */
	bool newline;		/* a literal newline outside of brackets */
	size_t newline_at;	/* its offset */
	bool fold;		/* case is ignored, by flag or by (?i) at the start */
	bool exact;		/* the words, in this order, are all the pattern matches */
	struct ats_slice words[LITERAL_WORDS_MAX];	/* every match holds one */
	size_t nwords;		/* 0: none known */
	struct regex_atom tail[REGEX_TAIL_MAX]; /* what stands right before the last $ */
	size_t ntail;
	char *arena;		/* owns the words */
};
/* -ATS_E_NOMEM only. */
ATS_NODISCARD int regex_syntax_read(struct regex_syntax *s, const char *pattern, size_t n,
    bool fold);
void regex_syntax_done(struct regex_syntax *s);

#endif
