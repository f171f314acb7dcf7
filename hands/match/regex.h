/* SPDX-License-Identifier: Apache-2.0
 *
 * Regular expressions over file contents: PCRE2 with JIT behind a literal scan.
 * Without REGEX_MULTILINE a match lies within one line, ^ and $ are that line's ends, and a
 * return before the newline belongs to the line's end. \w, \d, \s and \b mean Unicode. */
#ifndef ATS_HANDS_MATCH_REGEX_H
#define ATS_HANDS_MATCH_REGEX_H

#include <stddef.h>

#include "common/err.h"

#define REGEX_IGNORE_CASE 1u
#define REGEX_MULTILINE 2u	/* a match may span lines, . matches newlines */

struct regex;			/* immutable for its users: threads share one */
struct regex_run;		/* of one thread */
struct regex_span {
	size_t start, end;
};

/* Returns owned in *ret. -ATS_E_INVAL: err shows PCRE2's complaint and the place. */
ATS_NODISCARD int regex_new(const char *pattern, unsigned flags, struct regex **ret,
    struct ats_err *err);
void regex_free(struct regex *re);

/* Whether the pattern names returns. A MULTILINE search of any other pattern is one of lines
 * that end in a newline alone: the caller takes the returns before newlines away. */
bool regex_names_returns(const struct regex *re);

/* Borrows re. Returns owned or NULL (no memory). */
struct regex_run *regex_run_new(struct regex *re);
void regex_run_free(struct regex_run *run);
/* Call for each new text before regex_find: whole lines, or all there is for MULTILINE. */
ATS_NODISCARD int regex_begin(struct regex_run *run, const char *text, size_t n);
/* The first match that begins at from or later. 1 and *ret, 0, or -ATS_E_TOOBIG when the
 * expression took too many steps (ret->start: where it was), -ATS_E_NOMEM. A match may be
 * empty; none is given behind the last newline. */
ATS_NODISCARD int regex_find(struct regex_run *run, const char *text, size_t n, size_t from,
    struct regex_span *ret);

#endif
