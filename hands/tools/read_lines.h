/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of numbered lines, made from bytes that come in pieces. */
#ifndef ATS_HANDS_TOOLS_READ_LINES_H
#define ATS_HANDS_TOOLS_READ_LINES_H

#include <stdint.h>

#include "common/buf.h"

#define READ_WHOLE_BYTES (16u << 20) /* larger files are read as a stream */
#define READ_LINES_DEFAULT 2000u
#define READ_WHOLE_MAX (256u << 10)	/* files up to here are one page */
#define READ_PAGE_BYTES 100000u		/* pages of larger ones */
#define READ_GIVE_BYTES (32u << 10)	/* text that is given ahead */
#define READ_LINE_MAX 2000u		/* characters shown of a line */

struct read_page {
	struct ats_buf *out;
	uint64_t file_size;
	uint64_t from, limit;	/* first line, how many */
	size_t max_bytes;	/* of text */
	uint64_t all_lines;	/* of the file, 0 unknown */
	bool is_asked;		/* offset or limit was given */
	int (*give)(void *ctx);	/* as tool_env has it, or NULL */
	void *give_ctx;
	/* state */
	uint64_t line;		/* number of the line that is being made */
	uint64_t shown;		/* lines in out, or given */
	size_t given;		/* bytes that are not in out any more */
	uint64_t line_bytes;	/* bytes of the current line so far */
	size_t held_n;
	bool has_nul;		/* a NUL was added */
	bool last_is_cr;	/* the newest byte of the line so far */
	size_t rest;		/* bytes last added that are behind it, when it is full */
	bool is_full;		/* no more lines go in */
	bool has_more;		/* there is more in the file */
	char held[4 * READ_LINE_MAX + 8];	/* the start of a line whose end is still to come */
};
/* out is borrowed; from and limit count lines, from 1. */
void read_page_init(struct read_page *p, struct ats_buf *out, uint64_t file_size,
    uint64_t from, uint64_t limit);
/* Adds the next bytes of the file; last: there are no more. 0 or -ATS_E_NOMEM. */
ATS_NODISCARD int read_page_add(struct read_page *p, const char *s, size_t n, bool last);
/* Says what is missing: empty file, past the end, how to go on. */
ATS_NODISCARD int read_page_end(struct read_page *p, const char *path);

#endif
