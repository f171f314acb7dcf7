/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of .gitignore and its like, as git reads them. */
#ifndef ATS_HANDS_MATCH_IGNORE_H
#define ATS_HANDS_MATCH_IGNORE_H

#include <stddef.h>

#include "common/err.h"

#define IGNORE_FILE_MAX (4u << 20)	/* bytes read of one file; the rest has no effect */
#define IGNORE_RULES_MAX 65536u		/* of one file */

enum ignore_verdict { IGNORE_NONE, IGNORE_YES, IGNORE_NO };

struct ignore_rules;		/* of one file; immutable: threads share it */

/* Copies text. Returns owned; NULL when it holds no rule, or out of memory. */
struct ignore_rules *ignore_parse(const char *text, size_t n);
/* Reads dirfd/name: a regular file, a symlink is not followed. NULL when there is none. */
struct ignore_rules *ignore_read(int dirfd, const char *name);
/* The same of an open file (borrowed). */
struct ignore_rules *ignore_read_fd(int fd);
void ignore_free(struct ignore_rules *r);
/* The last rule that matches decides. path: relative to the rules' directory; its last
 * component begins at path + name_at. Parent directories are the caller's business. */
enum ignore_verdict ignore_match(const struct ignore_rules *r, const char *path, size_t n,
    size_t name_at, bool is_dir);

/* The rule files of one directory, linked to those of the directories above it. Directories
 * without any may be left out of the chain. */
struct ignore_dir {
	const struct ignore_dir *up;
	size_t base;		/* path bytes up to here: length of "dir/", 0 for the top */
	bool repository;	/* holds .git: no .gitignore above it counts */
	/* Each owned, or NULL. user: of core.excludesFile */
	struct ignore_rules *git, *dot, *exclude, *user;
};
/* path: from the top; its name begins at path + name_at. .ignore wins over .gitignore, that
 * over .git/info/exclude, that over core.excludesFile; within each the nearest directory
 * wins. All but the first count in a repository only, as for git. */
bool ignore_decide(const struct ignore_dir *d, const char *path, size_t n, size_t name_at,
    bool is_dir);
void ignore_dir_done(struct ignore_dir *d);	/* frees its rules */

#endif
