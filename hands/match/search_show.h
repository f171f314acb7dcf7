/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats the lines of one file: numbers, context, separators, cuts. Private to search.c.
 * Offsets are into the searcher's buffer. */
#ifndef ATS_HANDS_MATCH_SEARCH_SHOW_H
#define ATS_HANDS_MATCH_SEARCH_SHOW_H

#include "hands/match/search.h"

struct search_show {
	const struct search_options *o;
	struct ats_buf text;
	uint64_t lines;
	uint64_t number;	/* of the line that begins at counted */
	uint64_t hidden;		/* bytes of the first line that buf no longer holds */
	size_t counted;
	size_t shown;		/* end of the last line that was shown */
	bool any;		/* one was shown */
	bool gap;		/* between it and shown, lines were dropped */
	uint64_t after_left;
};
void search_show_init(struct search_show *s, const struct search_options *o);
void search_show_done(struct search_show *s);
void search_show_reset(struct search_show *s);
void search_show_drop(struct search_show *s);	/* forgets the text */
/* Lines buf[start, next) hold match m; with the context before, and the rest of the context
 * after the match before. -ATS_E_TOOBIG over max_bytes. */
ATS_NODISCARD int search_show_lines(struct search_show *s, const char *buf, size_t start,
    size_t next, const struct regex_span *m);
/* The matched text alone. */
ATS_NODISCARD int search_show_match(struct search_show *s, const char *buf,
    const struct regex_span *m);
/* Context after the last match, up to limit. */
ATS_NODISCARD int search_show_after(struct search_show *s, const char *buf, size_t limit);
/* How much of the front of buf[0, from) may go. */
size_t search_show_keep(const struct search_show *s, const char *buf, size_t from);
void search_show_shift(struct search_show *s, const char *buf, size_t bytes);
/* The number of the line that holds at. */
uint64_t search_show_line(struct search_show *s, const char *buf, size_t at);

#endif
