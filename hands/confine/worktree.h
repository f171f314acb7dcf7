/* SPDX-License-Identifier: Apache-2.0
 *
 * A workspace whose .git is a file: a linked work tree or a submodule, whose repository lies
 * elsewhere. */
#ifndef ATS_HANDS_CONFINE_WORKTREE_H
#define ATS_HANDS_CONFINE_WORKTREE_H

#include <stdbool.h>

#include "common/err.h"

/* 1 and the repository (resolved; of a work tree the one it shares) in ret: only when it names
 * this workspace (resolved) in turn and has the same owner, since a tool may have written the
 * file. 0: the workspace has no such file, or (err set) what it names is left out. */
ATS_NODISCARD int worktree_find(const char *workspace, char ret[4096], struct ats_err *err);

#endif
