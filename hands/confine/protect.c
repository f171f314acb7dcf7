/* SPDX-License-Identifier: Apache-2.0
 *
 * Where protected names count. Runs in the shell zygote and in monitors; what it sees is a
 * tool's work or the user's: nothing is followed, no file is opened. */
#include "hands/confine/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/confine/mnt.h"
#include "hands/confine/scan.h"

#define MODULES_DEPTH 16	/* names of submodules may hold slashes */
#define MODULES_ENTRIES (1u << 20)

#define PROTECTED(kind, dir, name) dir name,
const char *const protect_names[PROTECT_NAMES_MAX] = {
#include "hands/protected.def"
};
#undef PROTECTED

/* Of a name, by its index; past the last one it is not looked at. */
#define PROTECTED(kind, dir, name) kind,
static const enum protect_kind kinds[PROTECT_NAMES_MAX] = {
#include "hands/protected.def"
};
#undef PROTECTED

/* Directories of the workspace and the home that have protected names of their own. */
static const struct { const char *path; enum protect_kind kind; } places[] = {
	{ ".hg", PROTECT_HG }, { ".jj/repo", PROTECT_JJ }, { ".config/fish", PROTECT_FISH },
	{ "fish", PROTECT_FISH } };

const char *
protect_name(const struct protect_dirs *dirs, size_t d, size_t i)
{
	const char *name = protect_names[i], *slash;
	enum protect_kind kind = dirs->v[d].kind;
	bool is_tree = kind == PROTECT_TREE || kind == PROTECT_LINKED;

	if (name == NULL ||
	    (dirs->config_is_open && strcmp(name, ".git/config") == 0))
		return NULL;
	if (kinds[i] != kind &&
	    !(is_tree && (kinds[i] == PROTECT_TREE || kinds[i] == PROTECT_HOME)))
		return NULL;
	slash = strrchr(name, '/');
	return slash != NULL ? slash + 1 : name;
}

static bool
add(struct protect_dirs *d, const char *path, enum protect_kind kind)
{
	if (d->n == PROTECT_DIRS_MAX || strlen(path) >= sizeof(d->v[0].path)) {
		d->whole = false;
		return false;
	}
	(void)snprintf(d->v[d->n].path, sizeof(d->v[0].path), "%s", path);
	d->v[d->n++].kind = kind;
	return true;
}

/* The repositories below .git/modules and the like of .git/worktrees: directories with a HEAD,
 * at any depth. */
static void
add_below(struct protect_dirs *d, const char *path, unsigned depth, unsigned *left)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	char at[4096];
	struct stat st;

	if (dir == NULL) {
		/* Its owner opens it again. */
		d->whole = d->whole && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((e = readdir(dir)) != NULL && *left > 0) {
		(*left)--;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (snprintf(at, sizeof(at), "%s/%s", path, e->d_name) >= (int)sizeof(at)) {
			d->whole = false;
			continue;
		}
		if (strlen(at) + sizeof("/modules") < sizeof(at)) {
			size_t n = strlen(at);

			(void)snprintf(at + n, sizeof(at) - n, "/HEAD");
			if (lstat(at, &st) == 0) {
				at[n] = '\0';
				(void)add(d, at, PROTECT_GIT);
				(void)snprintf(at + n, sizeof(at) - n, "/modules");
			} else {
				at[n] = '\0';
			}
			if (depth < MODULES_DEPTH)
				add_below(d, at, depth + 1, left);
			else
				d->whole = false;
		}
	}
	if (e != NULL)
		d->whole = false;
	(void)closedir(dir);
}

static void
add_git(struct protect_dirs *d, const char *git)
{
	static const char *const inner[] = { "modules", "worktrees" };
	unsigned left = MODULES_ENTRIES;
	char path[4096];
	struct stat st;

	if (lstat(git, &st) < 0 || !S_ISDIR(st.st_mode) || !add(d, git, PROTECT_GIT))
		return;
	for (size_t i = 0; i < ATS_ARRAY_LEN(inner); i++)
		if (snprintf(path, sizeof(path), "%s/%s", git, inner[i]) < (int)sizeof(path))
			add_below(d, path, 0, &left);
}

void
protect_find_git(const char *git, struct protect_dirs *ret)
{
	ret->n = 0;
	ret->whole = true;
	ret->config_is_open = false;
	add_git(ret, git);
}

struct finding {
	const struct protect_from *from;
	struct protect_dirs *ret;
};

static int
on_repository(void *arg, const char *dir, enum scan_repository kind, struct ats_err *err)
{
	struct protect_dirs *d = ((struct finding *)arg)->ret;
	char git[4096];

	(void)err;
	if (kind == SCAN_BARE)
		add_git(d, dir);
	else if (add(d, dir, kind == SCAN_LINKED ? PROTECT_LINKED : PROTECT_TREE) &&
	    snprintf(git, sizeof(git), "%s/.git", dir) < (int)sizeof(git))
		add_git(d, git);
	return 0;
}

/* Real directories only: no link on the way. */
static void
add_places(struct protect_dirs *d, const char *top)
{
	char path[4096];

	for (size_t i = 0; i < ATS_ARRAY_LEN(places); i++) {
		ATS_CLEANUP_FD int fd = -1;

		if (snprintf(path, sizeof(path), "%s/%s", top, places[i].path) <
		    (int)sizeof(path) && mnt_open_dir(path, &fd, NULL) == 0)
			(void)add(d, path, places[i].kind);
	}
}

static bool
stop(void *arg)
{
	const struct finding *f = arg;

	return f->from->stop != NULL && f->from->stop(f->from->arg);
}

void
protect_find(const struct protect_from *from, struct protect_dirs *ret)
{
	struct finding finding = { from, ret };
	const struct scan_ops ops = { .repository = on_repository, .stop = stop,
		.arg = &finding };
	char git[4096];
	bool whole = true;

	ret->n = 0;
	ret->whole = true;
	ret->config_is_open = from->config_is_open;
	(void)add(ret, from->workspace, PROTECT_TREE);
	add_places(ret, from->workspace);
	if (from->home != NULL && add(ret, from->home, PROTECT_HOME))
		add_places(ret, from->home);
	if (snprintf(git, sizeof(git), "%s/.git", from->workspace) < (int)sizeof(git))
		add_git(ret, git);
	if (from->git_dir != NULL)
		add_git(ret, from->git_dir);
	if (scan_workspace(from->workspace, &ops, &whole, NULL) < 0)
		whole = false;
	ret->whole = ret->whole && whole;
}
