/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that a tool is going to write: where it really is, whether tools may write
 * there, and its lock. Runs in workers of the write profile, and of the read profile for a
 * check, which locks nothing and asks instead of opening for writing; the path is hostile.
 *
 * Two workers on one file take turns by flock(2) on the inode; since a writer replaces
 * the inode, the one that waited looks whether the name still means what it locked. */
#include "hands/fs/file.h"

#include "common/clock.h"
#include "common/fd.h"
#include "hands/fs/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define RACES_MAX 16
#define LOCK_MAX_US (20u * 1000000u)
#define LOCK_STEP_MS 2
#define OPEN_WRITE (O_RDWR | O_NONBLOCK | O_NOCTTY)
#define OPEN_LOOK (O_RDONLY | O_NONBLOCK | O_NOCTTY)

void
fs_target_done(struct fs_target *t)
{
	ats_fd_close(&t->fd);
	ats_fd_close(&t->dirfd);
	ats_fd_close(&t->turn);
}

int
fs_may_write(const struct fs_place *at, struct ats_err *err)
{
	const char *name = fs_protected(at->root->fd, at->rel);

	if (fs_is_hidden(at, false))
		return fs_hidden_error(at, err);
	if (!at->root->writable)
		return ats_err_set(err, ATS_E_DENIED,
		    "%.300s is below %.150s, where tools may only read.", at->path,
		    at->root->path);
	if (name != NULL)
		return ats_err_set(err, ATS_E_DENIED,
		    "%.300s is protected: programs on the host execute or trust "
		    "\"%.100s\", so tools do not write it. Nothing was changed.",
		    at->path, name);
	return 0;
}

/* Opens parent and file without following anything. 0, or an errno; ELOOP: links. */
static int
open_plain(const struct tool_env *env, const struct fs_place *at, struct fs_target *t)
{
	const char *slash = strrchr(at->rel, '/'),
		   *last = slash != NULL ? slash + 1 : at->rel;
	char parent[4096];

	if (strcmp(at->rel, ".") == 0)
		return EISDIR;
	if (strlen(last) >= sizeof(t->name))
		return ENAMETOOLONG;
	(void)snprintf(parent, sizeof(parent), "%.*s",
	    slash != NULL ? (int)(slash - at->rel) : 1, slash != NULL ? at->rel : ".");
	(void)snprintf(t->name, sizeof(t->name), "%s", last);
	t->fd = -1;
	t->dirfd = fs_beneath_plain(at->root->fd, parent, O_PATH | O_DIRECTORY, 0);
	if (t->dirfd < 0)
		return errno == ENOENT ? 0 : errno;
	t->fd = fs_beneath_plain(
	    t->dirfd, t->name, env->check_only ? OPEN_LOOK : OPEN_WRITE, 0);
	if (t->fd < 0 && errno == ETXTBSY) /* a program that runs can still be replaced */
		t->fd = fs_beneath_plain(t->dirfd, t->name, OPEN_LOOK, 0);
	if (t->fd < 0 && errno != ENOENT) {
		int e = errno;

		ats_fd_close(&t->dirfd);
		return e;
	}
	return 0;
}

/* 0, an errno, or ESTALE when the name means another inode than t->fd by now. */
static int
is_current(struct fs_target *t)
{
	struct stat now;

	if (fstat(t->fd, &t->st) < 0)
		return errno;
	if (fstatat(t->dirfd, t->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? ESTALE : errno;
	return now.st_ino == t->st.st_ino && now.st_dev == t->st.st_dev ? 0 : ESTALE;
}

int
fs_lock(const struct tool_env *env, int fd)
{
	uint64_t give_up = ats_clock_us() + LOCK_MAX_US;

	if (env->deadline_us != 0 && env->deadline_us < give_up)
		give_up = env->deadline_us;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			break; /* a file system without locks: the hash check remains */
		if (ats_clock_us() >= give_up)
			return EWOULDBLOCK;
		(void)poll(NULL, 0, LOCK_STEP_MS);
	}
	return 0;
}

/* 0 or an errno. Checks run in a view that is read-only, whatever the file system is; the kernel
 * says so after it has found that all else would allow it. */
static int
ask_access(int dirfd, const char *name, int how)
{
	return faccessat(dirfd, name, how, 0) < 0 && errno != EROFS ? errno : 0;
}

/* For a check: whether the kernel would let us write the file, or make it, with its parents,
 * in the nearest directory that exists. 0 or an errno. */
static int
ask_may_write(const struct fs_target *t)
{
	char dir[sizeof(t->at.path)], *slash = dir;

	if (t->dirfd >= 0)
		return ask_access(t->dirfd, t->fd >= 0 ? t->name : ".",
		    t->fd >= 0 ? W_OK : W_OK | X_OK);
	(void)snprintf(dir, sizeof(dir), "%s", t->at.rel);
	while (slash != NULL) {
		int fd ATS_CLEANUP_FD = -1;

		slash = strrchr(dir, '/');
		if (slash != NULL)
			*slash = '\0';
		fd = fs_beneath_plain(t->at.root->fd, slash != NULL ? dir : ".",
		    O_PATH | O_DIRECTORY, 0);
		if (fd >= 0)
			return ask_access(fd, ".", W_OK | X_OK);
		if (errno != ENOENT)
			return errno;
	}
	return ENOENT;
}

/* A hard link gives an inode a second name: it must not be a protected file's. Only the
 * usual ones can be asked for without a search. */
static bool
is_protected_inode(int rootfd, const struct stat *of)
{
	static const char *const names[] = { ".git/config", ".git/config.worktree",
		".mcp.json", ".envrc", ".gitmodules", ".bashrc", ".profile",
		".bash_profile", ".zshrc", ".claude/settings.json",
		".claude/settings.local.json", ".vscode/settings.json",
		".vscode/tasks.json", ".git/info/attributes", ".git/hooks/pre-commit",
		".git/hooks/post-checkout", ".git/hooks/post-merge",
		".git/hooks/commit-msg", ".git/hooks/pre-push",
		".git/hooks/prepare-commit-msg", ".git/hooks/post-commit" };
	struct stat st;

	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++) {
		int fd ATS_CLEANUP_FD = fs_beneath_plain(rootfd, names[i], O_PATH, 0);

		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == of->st_ino &&
		    st.st_dev == of->st_dev)
			return true;
	}
	return false;
}

/* One try: *at is tried as it is, then resolved into *at. Returns 0 or an errno, or
 * negative with err filled. */
static int
try_open(const struct tool_env *env, const struct fs_place *pl, struct fs_target *t,
    struct ats_err *err)
{
	int rc;

	t->at = *pl;
	t->at.rel = t->at.path + (pl->rel - pl->path);
	if (strcmp(pl->rel, ".") == 0)
		return EISDIR;
	rc = fs_may_write(&t->at, err);
	if (rc < 0)
		return rc;
	rc = open_plain(env, &t->at, t);
	if (rc == ELOOP || (rc == 0 && t->fd < 0 &&
	    strstr(pl->path, "\xef\xbf\xbd") != NULL)) {
		fs_target_done(t);
		rc = fs_resolve(env, pl, &t->at, err);
		if (rc == 0)
			rc = fs_may_write(&t->at, err);
		if (rc < 0)
			return rc;
		rc = open_plain(env, &t->at, t);
		if (rc == ELOOP)
			return ESTALE;	/* became a link meanwhile */
	}
	return rc;
}

/* The file that was opened: whether it is one to be written, and its lock. As try_open. */
static int
take(const struct tool_env *env, const struct fs_place *pl, struct fs_target *t,
    struct ats_err *err)
{
	int rc = 0;

	if (fstat(t->fd, &t->st) < 0)
		return errno;
	if (!S_ISREG(t->st.st_mode))
		return ats_err_set(err, ATS_E_NOTFILE, "%.400s is %s, not a regular file.",
		    pl->path, fs_kind(t->st.st_mode));
	if (t->st.st_nlink > 1 && is_protected_inode(t->at.root->fd, &t->st))
		return ats_err_set(err, ATS_E_DENIED,
		    "%.400s is a hard link of a protected file. Nothing was changed.",
		    pl->path);
	if (!env->check_only)
		rc = fs_lock(env, t->fd);
	return rc != 0 ? rc : is_current(t);
}

int
fs_target_open(const struct tool_env *env, const struct fs_place *pl,
    struct fs_target *ret, struct ats_err *err)
{
	struct fs_target *t = ret;
	int rc = ESTALE;
	uint64_t give_up = ats_clock_us() + LOCK_MAX_US;

	for (int i = 0; rc == ESTALE && (i < RACES_MAX || ats_clock_us() < give_up);
	     i++) {
		t->fd = t->dirfd = t->turn = -1;
		t->made = 0;
		rc = try_open(env, pl, t, err);
		if (rc == 0 && t->fd >= 0)
			rc = take(env, pl, t, err);
		if (rc == 0 && env->check_only)
			rc = ask_may_write(t);
		if (rc != 0)
			fs_target_done(t);
	}
	switch (rc) {
	case 0:
		return 0;
	case ESTALE:
	case EWOULDBLOCK:
		return ats_err_set(err, ATS_E_BUSY,
		    "%.400s is being written by others; nothing was changed.", pl->path);
	case EACCES:
	case EPERM:
		return ats_err_set(err, ATS_E_PERM,
		    "%.400s may not be written (permissions); nothing was changed.",
		    pl->path);
	default:
		return rc < 0 ? rc : fs_open_error(env, pl, rc, err);
	}
}
