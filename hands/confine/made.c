/* SPDX-License-Identifier: Apache-2.0
 *
 * Repositories that tools make. Runs in monitors, when nothing of their call runs any more, and in
 * the shell zygote. Everything there is a tool's work: nothing is followed, one file is read. */
#include "hands/confine/made.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/confine/keep.h"
#include "hands/confine/protect.h"
#include "hands/confine/scan.h"

#define CONFIG_MAX (64u << 10)
#define HOOKS_MAX 1024

static const char *const elsewhere[] = { "config.worktree", "commondir", "gitdir" };

struct made {
	bool config_is_open;
	unsigned moved;
	bool stays;	/* something could not be moved aside, or not be looked at */
};

static void
move(struct made *m, int at, const char *name, const char *why)
{
	enum keep_aside aside = keep_put_aside(at, name, why);

	m->moved += aside == KEEP_MOVED;
	m->stays = m->stays || aside == KEEP_STAYS;
}

/* As a tool may have shut it. -1: it is gone, or what cannot be opened stays. */
static int
open_dir(struct made *m, const char *path)
{
	int at = keep_open_dir(path);

	m->stays = m->stays || (at < 0 && errno == EACCES);
	return at;
}

static bool
config_is_plain(int git, bool inner)
{
	ATS_CLEANUP_FD int fd =
	    openat(git, "config", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	static char text[CONFIG_MAX];
	struct stat st;

	if (fd < 0)
		return errno == ENOENT;
	/* By a second name it could be written to later. */
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    st.st_size <= (off_t)sizeof(text) &&
	    ats_fd_read_all(fd, text, (size_t)st.st_size) == 0 &&
	    made_config_is_plain(text, (size_t)st.st_size, inner);
}

/* Git runs a hook by its exact name: what ends otherwise is none. */
static bool
is_hook(const char *name)
{
	size_t n = strlen(name);

	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	    strstr(name, ".quarantine") == NULL &&
	    (n < 7 || strcmp(name + n - 7, ".sample") != 0);
}

static void
settle_hooks(struct made *m, int git)
{
	int fd = openat(git, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	unsigned looked = 0;

	if (d == NULL) {
		bool is_there = fd >= 0 || errno != ENOENT;

		if (fd >= 0)
			(void)close(fd);
		if (is_there)
			move(m, git, "hooks", "it is no directory that can be read");
		return;
	}
	while ((e = readdir(d)) != NULL && looked++ < HOOKS_MAX)
		if (is_hook(e->d_name))
			move(m, fd, e->d_name, "it is a hook");
	(void)closedir(d);
	if (e != NULL)
		move(m, git, "hooks", "it has too many entries");
}

/* A linked work tree names the repository that it is in, and its work tree. */
static bool
is_of_worktree(int git, const char *name)
{
	ATS_CLEANUP_FD int fd =
	    openat(git, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char text[8];
	struct stat st;

	if (strcmp(name, "gitdir") == 0)
		return true;
	return strcmp(name, "commondir") == 0 && fd >= 0 && fstat(fd, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_size == 6 &&
	    ats_fd_read_all(fd, text, 6) == 0 && memcmp(text, "../..\n", 6) == 0;
}

/* The repository itself, or what is at inner below it. */
static void
settle_one(struct made *m, const char *git, const char *inner)
{
	bool is_worktree = strncmp(inner, "/worktrees/", 11) == 0;
	ATS_CLEANUP_FD int at = open_dir(m, git);
	struct stat st;

	if (at < 0)
		return;
	if (!m->config_is_open && !config_is_plain(at, *inner != '\0'))
		move(m, at, "config", "more than a new repository has");
	settle_hooks(m, at);
	for (size_t i = 0; i < ATS_ARRAY_LEN(elsewhere); i++)
		if (fstatat(at, elsewhere[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !(is_worktree && is_of_worktree(at, elsewhere[i])))
			move(m, at, elsewhere[i], "it leads elsewhere");
}

/* at holds .git, a directory. */
static void
settle_all(struct made *m, int at, const char *dir)
{
	static struct protect_dirs dirs;
	char git[4096];

	dirs.whole = false;
	if (snprintf(git, sizeof(git), "%s/.git", dir) < (int)sizeof(git)) {
		ATS_CLEANUP_FD int opened = open_dir(m, git);	/* for the look below it */

		if (opened >= 0)
			protect_find_git(git, &dirs);
	}
	if (!dirs.whole) {
		move(m, at, ".git", "not all of it can be looked at");
		return;
	}
	for (size_t d = 0; d < dirs.n; d++)
		settle_one(m, dirs.v[d].path, dirs.v[d].path + strlen(git));
}

unsigned
made_settle(const char *dir, bool config_is_open, const char **ret_stays)
{
	struct made m = { .config_is_open = config_is_open };
	ATS_CLEANUP_FD int at = open_dir(&m, dir);
	struct stat st;

	if (at >= 0 && fstatat(at, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(st.st_mode))
			settle_all(&m, at, dir);
		else
			move(&m, at, ".git", "it leads elsewhere");
	}
	if (m.stays)
		*ret_stays = ".git";
	return m.moved;
}

bool
made_is_bare(const char *dir)
{
	ATS_CLEANUP_FD int at = keep_open_dir(dir);

	return at >= 0 && scan_is_bare(at);
}

/* Not what cannot be looked at. */
static bool
has_no_hooks(int git)
{
	int fd = openat(git, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (d == NULL) {
		bool is_none = fd < 0 && errno == ENOENT;

		if (fd >= 0)
			(void)close(fd);
		return is_none;
	}
	errno = 0;
	while ((e = readdir(d)) != NULL && !is_hook(e->d_name))
		;
	(void)closedir(d);
	return e == NULL && errno == 0;
}

static bool
is_plain_bare(int git, bool config_is_open)
{
	struct stat st;

	for (size_t i = 0; i < ATS_ARRAY_LEN(elsewhere); i++)
		if (fstatat(git, elsewhere[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			return false;
	return (config_is_open || config_is_plain(git, false)) && has_no_hooks(git);
}

unsigned
made_settle_bare(const char *dir, bool config_is_open, const char **ret_stays)
{
	struct made m = { .config_is_open = config_is_open };
	ATS_CLEANUP_FD int at = open_dir(&m, dir);

	if (at >= 0 && scan_is_bare(at) && !is_plain_bare(at, config_is_open))
		move(&m, at, "HEAD", "with it this is a repository, and not as git makes one");
	if (m.stays)
		*ret_stays = "HEAD";
	return m.moved;
}
