/* SPDX-License-Identifier: Apache-2.0
 *
 * The directories above a file that a tool makes, and its turn among those that make one beside
 * it. Runs in workers of the write profile; the path is hostile, and commands may change what
 * lies on it.
 *
 * What a name means for a repository depends on its neighbours: config is nobody's until HEAD,
 * objects and refs are there. Two workers of which each has looked before the other's file was
 * there would make a repository with a config that neither may. So the look is repeated while
 * the directory is locked by flock(2), which ends with its worker. The directory is that of the
 * first such name: two paths that meet below one of theirs have it in common. */
#include "hands/fs/file.h"

#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Makes the directories of rel below root that do not exist. */
static int
make_dirs(int rootfd, const char *rel, struct ats_err *err)
{
	char path[4096];
	size_t len = strlen(rel);

	memcpy(path, rel, len + 1);
	for (size_t i = 1; i <= len; i++) {
		int fd ATS_CLEANUP_FD = -1, up ATS_CLEANUP_FD = -1;
		char *slash;

		if (path[i] != '/' && path[i] != '\0')
			continue;
		path[i] = '\0';
		fd = fs_beneath_plain(rootfd, path, O_PATH | O_DIRECTORY, 0);
		if (fd < 0 && errno != ENOENT)
			return ats_err_sys(err, "%.400s", path);
		if (fd < 0) {
			slash = strrchr(path, '/');
			if (slash != NULL)
				*slash = '\0';
			up = fs_beneath_plain(rootfd, slash != NULL ? path : ".",
			    O_PATH | O_DIRECTORY, 0);
			if (slash != NULL)
				*slash = '/';
			if (up < 0 ||
			    (mkdirat(up, slash != NULL ? slash + 1 : path, 0777) < 0 &&
				errno != EEXIST))
				return ats_err_sys(
				    err, "cannot make the directory %.400s", path);
		}
		if (i < len)
			path[i] = '/';
	}
	return 0;
}

/* A directory below the root, made with those above it, no link followed: what became one since
 * the place was resolved has not been looked at. Returns the fd or -ATS_E_*. */
static int
make_dir(const struct tool_env *env, const struct fs_target *t, size_t n, int flags,
    struct ats_err *err)
{
	char path[4096];
	int rc, fd = -1;

	(void)snprintf(path, sizeof(path), "%.*s", n > 0 ? (int)n : 1, n > 0 ? t->at.rel : ".");
	rc = make_dirs(t->at.root->fd, path, err);
	if (rc == 0)
		fd = fs_beneath_plain(t->at.root->fd, path, flags | O_DIRECTORY, 0);
	if (fd >= 0)
		return fd;
	if (errno == ELOOP || errno == ENOENT || errno == ENOTDIR)
		return fs_open_error(env, &t->at, EAGAIN, err);
	return rc < 0 ? rc : fs_open_error(env, &t->at, errno, err);
}

static int
take_turn(const struct tool_env *env, struct fs_target *t, struct ats_err *err)
{
	ssize_t n = fs_repository_at(t->at.rel);
	int rc;

	if (n < 0)
		return 0;
	rc = make_dir(env, t, (size_t)n, O_RDONLY, err);
	if (rc < 0)
		return rc;
	t->turn = rc;
	if (fs_lock(env, t->turn) != 0)
		return ats_err_set(err, ATS_E_BUSY,
		    "the directory of \"%.200s\" is being written by others; nothing was changed.",
		    t->at.rel + n + (n > 0));
	return fs_may_write(&t->at, err);
}

/* Those of the file that are not there. */
static size_t
count_missing(const struct fs_target *t)
{
	char dir[4096], *slash;
	size_t n = 0;

	(void)snprintf(dir, sizeof(dir), "%s", t->at.rel);
	while ((slash = strrchr(dir, '/')) != NULL) {
		int fd ATS_CLEANUP_FD = -1;

		*slash = '\0';
		fd = fs_beneath_plain(t->at.root->fd, dir, O_PATH, 0);
		if (fd >= 0)
			break;
		n++;
	}
	return n;
}

int
fs_target_make_parent(const struct tool_env *env, struct fs_target *t, struct ats_err *err)
{
	const char *slash = strrchr(t->at.rel, '/');
	int rc;

	if (t->dirfd < 0)
		t->made = count_missing(t);
	rc = t->fd >= 0 ? 0 : take_turn(env, t, err);
	if (rc < 0 || t->dirfd >= 0)
		return rc;
	rc = make_dir(env, t, slash != NULL ? (size_t)(slash - t->at.rel) : 0, O_PATH, err);
	if (rc < 0)
		return rc;
	t->dirfd = rc;
	return 0;
}

void
fs_target_unmake_parent(const struct fs_target *t)
{
	char dir[4096], *slash;

	(void)snprintf(dir, sizeof(dir), "%s", t->at.rel);
	for (size_t i = 0; i < t->made && (slash = strrchr(dir, '/')) != NULL; i++) {
		int up ATS_CLEANUP_FD = -1;
		char *last;

		*slash = '\0';
		last = strrchr(dir, '/');
		if (last != NULL)
			*last = '\0';
		up = fs_beneath_plain(t->at.root->fd, last != NULL ? dir : ".",
		    O_PATH | O_DIRECTORY, 0);
		if (up < 0 ||
		    unlinkat(up, last != NULL ? last + 1 : dir, AT_REMOVEDIR) < 0)
			return;
		if (last != NULL)
			*last = '/';
	}
}
