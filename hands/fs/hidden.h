/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that the host's configuration hides from tools (sandbox.deny_read): rules like those
 * of a .gitignore at the workspace's root. What they match, and all below a directory that
 * they match, is neither opened nor listed. Names are judged after their symlinks were
 * followed, and as they were given. */
#ifndef ATS_HANDS_FS_HIDDEN_H
#define ATS_HANDS_FS_HIDDEN_H

#include "hands/fs/file.h"
#include "hands/match/ignore.h"

/* Whether any root has rules. */
bool fs_hides(const struct tool_env *env);
/* Whether the rules hide a resolved place. */
bool fs_is_hidden(const struct fs_place *at, bool is_dir);
/* Opens a place, flags as for open(2), where fs_hides: its links are followed first, and what
 * is opened is what was judged. The fd, or -ATS_E_DENIED or the errors of fs_open_error. */
ATS_NODISCARD int fs_open_seen(const struct tool_env *env, const struct fs_place *pl, int flags,
    struct ats_err *err);
/* -ATS_E_DENIED, with the text for the model. */
int fs_hidden_error(const struct fs_place *pl, struct ats_err *err);

/* For listings: the rules below one directory. */
struct fs_hidden {
	const struct ignore_rules *rules;	/* borrowed; NULL: nothing is hidden there */
	char start[4096];	/* the directory, resolved, below its root: "" or "a/b/" */
	bool is_above;		/* start is the way down from it to the root of the rules */
	size_t skip;		/* bytes of a walk's paths that start stands for */
};
/* walk_start: as the walk names the directory, "" for the root. */
void fs_hidden_below(const struct tool_env *env, const struct fs_place *pl,
    const char *walk_start, struct fs_hidden *ret);
/* path: as the walk names it; its name begins at path + name_at. Directories above it are
 * the caller's business. */
bool fs_hidden_match(const struct fs_hidden *h, const char *path, size_t n, size_t name_at,
    bool is_dir);

#endif
