/* SPDX-License-Identifier: Apache-2.0
 *
 * The names in a workspace that programs of the host execute or trust, and the directories in
 * which they count: the workspace, its repository, the repositories of submodules and linked
 * work trees inside that one, and nested repositories. */
#ifndef ATS_HANDS_CONFINE_PROTECT_H
#define ATS_HANDS_CONFINE_PROTECT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/* Of hands/protected.def, relative to a work tree; those below ".git/" count in every
 * repository. The rest is NULL. */
#define PROTECT_NAMES_MAX 64
extern const char *const protect_names[PROTECT_NAMES_MAX];

/* With more the workspace counts as not looked at. Memory is taken for those that are there. */
#define PROTECT_DIRS_MAX 1024

enum protect_kind {
	PROTECT_TREE,	/* a work tree: names without a slash, and .git itself */
	PROTECT_LINKED,	/* the same, of a submodule or a linked work tree */
	PROTECT_GIT,	/* a repository: what follows ".git/" */
	PROTECT_HOME,	/* start-up files of shells */
	PROTECT_HG,	/* the workspace's .hg */
	PROTECT_JJ,	/* .jj/repo */
	PROTECT_FISH	/* .config/fish, or fish, of the workspace or the home */
};
/* Where to look. Borrowed. */
struct protect_from {
	const char *workspace;
	const char *home;	/* or NULL: no name in it can be changed anyway */
	const char *git_dir;	/* the workspace's repository where that is elsewhere, or NULL */
	bool config_is_open;	/* ".git/config" is not protected */
	bool (*stop)(void *arg);	/* asked now and then whether to leave off; or NULL */
	void *arg;
};
struct protect_dirs {
	size_t n;
	bool config_is_open;
	bool whole;	/* all of the workspace was looked at */
	struct protect_dir {
		char path[4096];
		enum protect_kind kind;
	} v[PROTECT_DIRS_MAX];
};
/* Looks for them, the workspace first, each repository after what holds it. Nothing is
 * followed. What is not looked at makes whole false. */
void protect_find(const struct protect_from *from, struct protect_dirs *ret);
/* A repository's directory, and those of its submodules and linked work trees behind it. */
void protect_find_git(const char *git, struct protect_dirs *ret);
/* The i-th of protect_names as it counts in the d-th directory, or NULL: not there. */
const char *protect_name(const struct protect_dirs *dirs, size_t d, size_t i);

#endif
