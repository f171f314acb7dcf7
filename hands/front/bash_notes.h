/* SPDX-License-Identifier: Apache-2.0
 *
 * The bracketed sentences behind the output of a Bash call: limits, survivors, directories,
 * the spill file. */
#ifndef ATS_HANDS_FRONT_BASH_NOTES_H
#define ATS_HANDS_FRONT_BASH_NOTES_H

#include "hands/front/bash_text.h"

/* Appends a line of its own. */
ATS_NODISCARD int bash_note(struct ats_buf *out, const char *text);
/* Appends what there is to say. cut: the output is not shown whole. *ret_cwd as in
 * bash_text_make. */
ATS_NODISCARD int bash_notes(const struct bash_text *t, const struct outcome *o, bool cut,
    struct ats_buf *out, const char **ret_cwd);

#endif
