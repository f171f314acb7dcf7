/* SPDX-License-Identifier: Apache-2.0
 *
 * What git reads of a repository that lies outside of its tree: info/exclude, also of a
 * submodule or a linked worktree, whose .git is a file, and the file that core.excludesFile
 * names. Only files beneath the tool's roots are read. Not read: the system's configuration,
 * files that a configuration includes, config.worktree. */
#ifndef ATS_HANDS_MATCH_GITREPO_H
#define ATS_HANDS_MATCH_GITREPO_H

#include "hands/fs/file.h"
#include "hands/match/ignore.h"

struct gitrepo;			/* what the user's configuration says; threads share it */
struct gitrepo_rules {
	struct ignore_rules *exclude, *user;	/* each owned, or NULL */
	bool is_valid;		/* .git is one by git's reckoning */
};

/* Borrows both. Reads the user's configuration. Returns owned or NULL (no memory). */
struct gitrepo *gitrepo_new(const struct tool_env *env, const struct tool_root *root);
void gitrepo_free(struct gitrepo *g);
/* dir: the directory that holds a .git of some kind, relative to the root, "" for the root
 * itself, with or without a slash at the end. */
void gitrepo_read(const struct gitrepo *g, const char *dir, struct gitrepo_rules *ret);

/* The last core.excludesFile of a configuration's text. False: there is none. */
bool gitrepo_config_value(const char *text, size_t n, char *ret, size_t size);

#endif
