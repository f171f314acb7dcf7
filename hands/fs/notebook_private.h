/* SPDX-License-Identifier: Apache-2.0
 *
 * Between notebook.c (the edits), notebook_find.c (where) and notebook_cell.c (what is written).
 * All slices are of the notebook's text or of struct notebook, and borrowed. */
#ifndef ATS_HANDS_FS_NOTEBOOK_PRIVATE_H
#define ATS_HANDS_FS_NOTEBOOK_PRIVATE_H

#include "hands/fs/notebook.h"

#define SPACE_MAX 1024u	/* of a level's white space; more is left out */

/* A member or an element with what stands before it. */
struct notebook_part {
	struct ats_slice lead;	/* white space after the bracket or comma */
	struct ats_slice key;	/* still escaped, without quotes */
	struct ats_slice colon;	/* from the key's quote to the value */
	struct ats_json_val v;
};
struct notebook_parts {			/* walks a container */
	struct ats_json_iter it;
	const char *end;	/* of the part before, or the bracket */
};

struct notebook_style {
	struct ats_slice member, element;	/* white space before a member and its elements */
	struct ats_slice colon;
	bool as_lines;		/* a source is an array */
};
struct notebook {
	struct ats_slice text, cells;		/* cells: the array */
	struct ats_slice cells_lead, cells_colon;	/* before and after the key "cells" */
	bool has_ids;
	size_t n;
	struct notebook_part at, first, second, next;	/* next: the one after at */
	struct notebook_part before;			/* at */
	bool found;
	size_t index;				/* of at */
	char space[3][SPACE_MAX];		/* that a style needs */
	unsigned nspaces;
};

struct notebook_cell {
	const struct notebook_style *st;
	const char *source;
	const char *type;	/* what the cell is to be; NULL: as it is */
	const char *new_id;	/* or NULL */
	struct ats_buf *out;
	bool first;
};

/* Walks the members or elements of container, an object or array. */
void notebook_parts_init(struct notebook_parts *p, struct ats_slice container);
bool notebook_parts_next(struct notebook_parts *p, struct notebook_part *ret);
bool notebook_is_space(char c);
/* There is a newline in this white space. */
bool notebook_is_lines(struct ats_slice lead);
/* v is this string, however it is escaped. */
bool notebook_text_is(const struct ats_json_val *v, const char *want);
/* Fills what nb has of the whole notebook from nb->text. -ATS_E_INVAL: it is none of format 4. */
ATS_NODISCARD int notebook_open(struct notebook *nb, struct ats_err *err);
/* Fills what nb has of the cell of this name (an id or cell-N; NULL: of none) and of those around
 * it. -ATS_E_NO_MATCH, -ATS_E_AMBIGUOUS, -ATS_E_INVAL. */
ATS_NODISCARD int notebook_find(struct notebook *nb, const char *name, struct ats_err *err);

/* The white space of a level below inner, which lies one below outer. */
struct ats_slice notebook_deeper(struct notebook *nb, struct ats_slice outer,
    struct ats_slice inner);
/* From an existing cell. */
void notebook_style_of(struct notebook *nb, const struct notebook_part *cell,
    struct notebook_style *ret);
/* A new cell; close is the white space before its last brace. As ats_buf_add. */
ATS_NODISCARD int notebook_write_new(struct notebook_cell *w, struct ats_slice close);
/* The cell (its JSON) with another source, perhaps of another type; code: it is one of code now.
 * As ats_buf_add. */
ATS_NODISCARD int notebook_write_changed(struct notebook_cell *w, struct ats_slice cell, bool code);

#endif
