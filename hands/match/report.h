/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects what threads find and writes it in an order that no thread's timing can change,
 * holding no more than can be shown. */
#ifndef ATS_HANDS_MATCH_REPORT_H
#define ATS_HANDS_MATCH_REPORT_H

#include "hands/match/search.h"
#include "hands/tools/tool.h"

#define REPORT_TAIL_BYTES 8192u		/* of the result, kept free for what is said at the end */
#define REPORT_NAMED 5u			/* files named in a warning */

struct report_options {
	enum search_mode mode;
	bool context;			/* "--" between files */
	bool names_only;		/* Glob: no heading, there is no offset to go on with */
	uint64_t offset, limit;		/* entries: lines of text, or files; limit 0: all */
	const char *root, *cwd;		/* absolute; paths come relative to root */
	size_t max_bytes;		/* of the result */
};
struct report;
/* Returns owned or NULL. Options are copied, their strings borrowed. */
struct report *report_new(const struct report_options *o);
void report_free(struct report *r);

/* ---- from any thread ------------------------------------------------------------------ */
/* text (content mode): as searcher_text says; copied. -ATS_E_NOMEM. */
ATS_NODISCARD int report_add(struct report *r, const char *path, size_t n, uint64_t mtime_ns,
    const struct search_hit *hit, const struct ats_buf *text);
/* Whether nothing at or behind path can be shown any more. */
bool report_past(struct report *r, const char *path, size_t n);
void report_warn(struct report *r, const char *path, size_t n, int error);

/* ---- at the end ------------------------------------------------------------------------- */
/* searched: how many files were looked at; early: out of time. Writes text and output. */
ATS_NODISCARD int report_write(struct report *r, uint64_t searched, bool early,
    struct tool_result *out);
/* Appends the path as it is shown: relative to cwd when beneath it, else absolute. */
ATS_NODISCARD int report_path(const struct report_options *o, const char *path, size_t n,
    struct ats_buf *out);

#endif
