/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks through the workspace: for sockets that host programs have there, and for
 * nested repositories, which are protected as the top one is, and for what the host's rules hide.
 * A look that does not come to its end says so: a tool makes as much as it likes, and what is
 * behind that must not be open for it. */
#ifndef ATS_HANDS_CONFINE_SCAN_H
#define ATS_HANDS_CONFINE_SCAN_H

#include <stdbool.h>

#include "common/err.h"

#define SCAN_DEPTH_MAX 128
#define SCAN_ENTRIES_MAX 4000000
#define SCAN_MS_MAX 30000
#define SCAN_SOCKETS_MAX 4096	/* mounts in each shell's view */
#define SCAN_DENIED_MAX 256		/* mounts in each shell's view */
#define SCAN_DENIED_ENTRIES_MAX 4000000

struct ignore_rules;
enum scan_repository {
	SCAN_WORK_TREE,	/* the directory holds a .git */
	SCAN_LINKED,	/* the same, and it is a file: a submodule, or a linked work tree */
	SCAN_BARE	/* the directory is a repository itself */
};
struct scan_ops {
	/* A socket, by its absolute path; or NULL. */
	int (*socket)(void *arg, const char *path, struct ats_err *err);
	/* A repository; the workspace's own .git is not among them, the workspace as a bare one
	 * is. Or NULL. */
	int (*repository)(void *arg, const char *dir, enum scan_repository kind,
	    struct ats_err *err);
	/* Asked now and then: whether to leave off; or NULL. */
	bool (*stop)(void *arg);
	void *arg;
};
/* *ret_whole (or NULL): false when not all of the workspace was looked at: it is too big, has
 * too many sockets, or directories that are ours and closed for us, which a tool can open again.
 * Negative: what an op returned. */
ATS_NODISCARD int scan_workspace(const char *workspace, const struct scan_ops *ops,
    bool *ret_whole, struct ats_err *err);
/* Whether git takes the directory itself for a repository, by the names in it. */
bool scan_is_bare(int dir);
struct scan_denied_ops {
	/* The absolute path of a directory or file that the rules name. */
	int (*hide)(const char *path, struct ats_err *err);
	/* Before that, where they name it by its place and not by its name alone: each
	 * directory on the way, from the top. Moved, it would take what is hidden to a
	 * place that no rule names. 1: held now; 0: it was. */
	int (*hold)(const char *path, struct ats_err *err);
};
/* Calls ops for each directory or file that the rules name (symbolic links are left out:
 * what they lead to has a name of its own). All of the workspace is looked at;
 * -ATS_E_CONFINE when that cannot be. */
ATS_NODISCARD int scan_denied(const char *workspace, const struct ignore_rules *rules,
    const struct scan_denied_ops *ops, struct ats_err *err);

#endif
