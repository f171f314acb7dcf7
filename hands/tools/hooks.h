/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of the workspace's own settings. Runs in read workers; the files are a repository's. */
#ifndef ATS_HANDS_TOOLS_HOOKS_H
#define ATS_HANDS_TOOLS_HOOKS_H

#include "common/buf.h"
#include "common/err.h"

/* Appends {"events":MASK,"more":N,"note":S,"hooks":[{"command":S,"args":[S],"timeout_ms":N,
 * "blocks":B}]}: which events have hooks, and those of this event whose matcher takes name ("": all
 * do). args begins with command, and is absent where a shell is to read that. root: descriptor of
 * the workspace. A file that cannot be read has no hooks, and the note says why. */
ATS_NODISCARD int hooks_list(int root, const char *event, const char *name, struct ats_buf *out);
/* Whether there is one of the files. */
bool hooks_has_settings(int root);

#endif
