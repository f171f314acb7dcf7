/* SPDX-License-Identifier: Apache-2.0
 *
 * Changing one cell of a Jupyter notebook in its text: what is not the cell stays byte for
 * byte, and the cell is written in the notebook's own style (indentation, line ends, spaces,
 * one string or an array of lines). */
#ifndef ATS_HANDS_FS_NOTEBOOK_H
#define ATS_HANDS_FS_NOTEBOOK_H

#include "common/json.h"

enum notebook_mode { NOTEBOOK_REPLACE, NOTEBOOK_INSERT, NOTEBOOK_DELETE };
struct notebook_edit {
	enum notebook_mode mode;
	const char *cell;	/* id or cell-N; NULL: none, for INSERT at the top */
	const char *source;
	const char *type;	/* "code", "markdown"; NULL: as it is, INSERT: code */
	const char *new_id;	/* for INSERT where the format has ids; [A-Za-z0-9_-] */
};
struct notebook_done {
	char cell[80];		/* the cell, as Read would name it; cut when longer */
	const char *type;	/* of what was inserted or replaced, "code" ... */
};
/* Appends the changed text to out. -ATS_E_INVAL: no notebook, or an edit that cannot be (text
 * for the model); -ATS_E_NO_MATCH: no such cell; -ATS_E_AMBIGUOUS: several have the id; JSON
 * errors of the scanner; -ATS_E_NOMEM. */
ATS_NODISCARD int notebook_change(struct ats_slice text, const struct notebook_edit *e,
    struct ats_buf *out, struct notebook_done *ret, struct ats_err *err);

#endif
