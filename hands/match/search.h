/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches one open file after another and formats what is found. One searcher a thread. */
#ifndef ATS_HANDS_MATCH_SEARCH_H
#define ATS_HANDS_MATCH_SEARCH_H

#include <stdint.h>

#include "common/buf.h"
#include "hands/match/regex.h"

#define SEARCH_LINE_SHOWN 1000u		/* bytes of a line that are shown */
#define SEARCH_SEPARATOR '\001'		/* first byte of a formatted "--" line */

enum search_mode { SEARCH_FILES, SEARCH_COUNT, SEARCH_CONTENT };
struct search_options {			/* borrowed by searchers */
	enum search_mode mode;
	struct regex *re;
	uint64_t before, after;		/* lines of context */
	bool line_numbers, only_matching, multiline;
	uint64_t max_lines;		/* of one file's text; then the file is left */
	size_t max_bytes;
	uint64_t deadline_us;		/* 0: none */
};
struct search_hit {
	uint64_t matches;		/* lines; with only_matching or multiline, matches */
	uint64_t lines;			/* of text */
	bool binary;			/* matches counts 1, there is no text */
	bool more;			/* left at max_lines or max_bytes: there is more */
	bool cut;			/* not searched to its end: huge, or out of time */
	bool steps;			/* the expression took too many steps; cut too */
	uint64_t steps_line;		/* near which line, 0 unknown */
};
struct searcher;
/* Returns owned or NULL. */
struct searcher *searcher_new(const struct search_options *o);
void searcher_free(struct searcher *s);
/* Reads fd (borrowed) from its start. 0, -ATS_E_NOMEM, or -ATS_E_SYS with errno set: could
 * not be read. Text (content mode): lines that begin with ':' or '-' (the path goes before),
 * or SEARCH_SEPARATOR; each ends in a newline. Valid until the next call. */
ATS_NODISCARD int searcher_run(struct searcher *s, int fd, struct search_hit *ret);
const struct ats_buf *searcher_text(const struct searcher *s);

#endif
