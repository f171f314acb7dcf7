/* SPDX-License-Identifier: Apache-2.0
 *
 * Linked work trees and submodules. Runs in the launcher, with the rights of who started it.
 * The workspace's .git is a tool's work or the user's; nothing of what it names is shown to
 * anyone but as "is a repository of this workspace". */
#include "hands/confine/worktree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/path.h"

#define CONFIG_MAX 65536

/* A small regular file beneath dir, without the newline at its end. */
static bool
read_small(const char *dir, const char *name, char *out, size_t size)
{
	char path[PATH_MAX + 32];
	struct stat st;
	ATS_CLEANUP_FD int fd = -1;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size >= (off_t)size)
		return false;
	n = read(fd, out, size - 1);
	if (n <= 0 || memchr(out, '\0', (size_t)n) != NULL)
		return false;
	out[n] = '\0';
	while (n > 0 && (out[n - 1] == '\n' || out[n - 1] == '\r'))
		out[--n] = '\0';
	return n > 0;
}

/* What a file in dir names, relative to dir, resolved. */
static bool
resolve(const char *dir, const char *named, char ret[PATH_MAX])
{
	char joined[PATH_MAX];

	return ats_path_join(dir, named, joined, sizeof(joined)) == 0 &&
	    realpath(joined, ret) != NULL;
}

/* git, below a "worktrees" of the repository ret, names workspace/.git. */
static bool
is_worktree(const char *git, const char *workspace, char ret[PATH_MAX])
{
	char text[PATH_MAX], back[PATH_MAX], want[PATH_MAX];
	const char *below;

	if (!read_small(git, "commondir", text, sizeof(text)) || !resolve(git, text, ret) ||
	    !read_small(git, "gitdir", text, sizeof(text)) || !resolve(git, text, back))
		return false;
	below = ats_path_below(ret, git);
	(void)snprintf(want, sizeof(want), "%.4000s/.git", workspace);
	return below != NULL && strncmp(below, "worktrees/", 10) == 0 && strcmp(back, want) == 0;
}

/* git's configuration names the workspace as its work tree. */
static bool
is_submodule(const char *git, const char *workspace)
{
	static char text[CONFIG_MAX];
	char back[PATH_MAX], *save = NULL;

	if (!read_small(git, "config", text, sizeof(text)))
		return false;
	for (char *l = strtok_r(text, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save)) {
		l += strspn(l, " \t");
		if (strncmp(l, "worktree = ", 11) == 0)
			return resolve(git, l + 11, back) && strcmp(back, workspace) == 0;
	}
	return false;
}

static bool
is_repository(const char *dir, const char *workspace)
{
	char path[PATH_MAX + 32];
	struct stat st, ws;

	if (lstat(dir, &st) < 0 || lstat(workspace, &ws) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != ws.st_uid || ats_path_is_within(dir, workspace))
		return false;
	(void)snprintf(path, sizeof(path), "%s/objects", dir);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	(void)snprintf(path, sizeof(path), "%s/HEAD", dir);
	return lstat(path, &st) == 0;
}

int
worktree_find(const char *workspace, char ret[4096], struct ats_err *err)
{
	char text[PATH_MAX], git[PATH_MAX], repository[PATH_MAX];

	if (!read_small(workspace, ".git", text, sizeof(text)) ||
	    strncmp(text, "gitdir: ", 8) != 0)
		return 0;
	if (!resolve(workspace, text + 8, git)) {
		(void)ats_err_set(err, ATS_E_NOENT, ".git names %.200s, which is not there",
		    text + 8);
		return 0;
	}
	if (ats_path_is_within(workspace, git))
		return 0;	/* seen anyway */
	if (!is_worktree(git, workspace, repository)) {
		(void)snprintf(repository, sizeof(repository), "%s", git);
		if (!is_submodule(git, workspace))
			repository[0] = '\0';
	}
	if (repository[0] == '\0' || !is_repository(repository, workspace)) {
		(void)ats_err_set(err, ATS_E_DENIED,
		    ".git names %.200s, which does not name this workspace in turn", text + 8);
		return 0;
	}
	(void)snprintf(ret, 4096, "%s", repository);
	return 1;
}
