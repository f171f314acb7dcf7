/* SPDX-License-Identifier: Apache-2.0
 *
 * What Edit and MultiEdit do to a text in memory: one replacement after the other, each on the
 * result of the one before, with the changes from the first text to the last for the diff. */
#ifndef ATS_HANDS_TOOLS_EDIT_TEXT_H
#define ATS_HANDS_TOOLS_EDIT_TEXT_H

#include "hands/tools/change.h"

struct edit_step {
	struct ats_slice old, with;	/* borrowed; a BOM that both begin with is left out */
	bool all;
};
/* Borrows both. */
struct edit_step edit_step_make(const char *old, const char *with, bool all);

struct edit_text {
	struct change *c;		/* borrowed, loaded */
	enum text_kind kind;
	struct ats_slice was;		/* c->old as UTF-8 or raw bytes, after the BOM */
	struct ats_buf decoded;		/* of UTF-16, was points into it */
	struct ats_slice text;		/* after the steps so far: was, or now */
	struct ats_buf now;
	struct match_edit *edits;	/* from was to text, ascending */
	size_t nedits;
	size_t places;			/* that the last step replaced */
	enum match_how how;		/* and how it matched */
};
/* edit_text_done in any case. c may have no content: the text is empty then. */
ATS_NODISCARD int edit_text_open(struct edit_text *t, struct change *c, struct ats_err *err);
/* One step more. What goes wrong is said to the model: not found, not alone, changes nothing, too
 * large. */
ATS_NODISCARD int edit_text_apply(
    struct edit_text *t, const struct edit_step *step, struct ats_err *err);
/* Writes the text in the encoding of the file. */
ATS_NODISCARD int edit_text_commit(
    struct edit_text *t, struct tool_result *out, struct ats_err *err);
/* The diff and the structured output. */
ATS_NODISCARD int edit_text_report(const struct edit_text *t, struct tool_result *out);
void edit_text_done(struct edit_text *t);
/* Whether edit_create may: 0, 1 when the first try of a retry has done it (out says so), or
 * -ATS_E_EXISTS. */
ATS_NODISCARD int edit_may_create(struct change *c, struct ats_slice text,
    struct tool_result *out, struct ats_err *err);
/* Creates the file of c, or fills an empty one. */
ATS_NODISCARD int edit_create(struct change *c, struct ats_slice text,
    struct tool_result *out, struct ats_err *err);

#endif
