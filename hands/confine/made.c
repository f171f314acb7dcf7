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
#include "common/log.h"
#include "hands/confine/keep.h"
#include "hands/confine/mnt.h"
#include "hands/confine/protect.h"

#define CONFIG_MAX (64u << 10)
#define HOOKS_MAX 1024

static unsigned
move(int at, const char *name, const char *why)
{
	bool moved = keep_move_aside(at, name) == 0;

	if (moved || errno != ENOENT)
		ats_log(ATS_LOG_WARN, moved ? "a tool made a repository: a name was moved aside" :
		    "a tool made a repository: a name stays", "name=%s why=\"%s\"", name, why);
	return moved;
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

static unsigned
settle_hooks(int git)
{
	int fd = openat(git, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	unsigned n = 0, looked = 0;

	if (d == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return errno == ENOENT ? 0 : move(git, "hooks", "it is no directory");
	}
	while ((e = readdir(d)) != NULL && looked++ < HOOKS_MAX)
		if (is_hook(e->d_name))
			n += move(fd, e->d_name, "it is a hook");
	(void)closedir(d);
	return e == NULL ? n : n + move(git, "hooks", "it has too many entries");
}

static unsigned
settle_one(const char *git, bool inner, bool config_is_open)
{
	static const char *const elsewhere[] = { "config.worktree", "commondir", "gitdir" };
	ATS_CLEANUP_FD int at = -1;
	struct stat st;
	unsigned n = 0;

	if (mnt_open_dir(git, &at, NULL) < 0)
		return 0;
	if (!config_is_open && !config_is_plain(at, inner))
		n += move(at, "config", "more than a new repository has");
	n += settle_hooks(at);
	for (size_t i = 0; !inner && i < ATS_ARRAY_LEN(elsewhere); i++)
		if (fstatat(at, elsewhere[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			n += move(at, elsewhere[i], "it leads elsewhere");
	return n;
}

unsigned
made_settle(const char *dir, bool config_is_open)
{
	static struct protect_dirs dirs;
	ATS_CLEANUP_FD int at = -1;
	char git[4096];
	struct stat st;
	unsigned n = 0;

	if (mnt_open_dir(dir, &at, NULL) < 0 ||
	    fstatat(at, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return move(at, ".git", "it leads elsewhere");
	if (snprintf(git, sizeof(git), "%s/.git", dir) >= (int)sizeof(git))
		return 0;
	protect_find_git(git, &dirs);
	for (size_t d = 0; d < dirs.n; d++)
		n += settle_one(dirs.v[d].path, d > 0, config_is_open);
	return n;
}
