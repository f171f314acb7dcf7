/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the files of a repository that hold ignore rules. Runs in read workers; all of it,
 * the user's configuration too, may have been written by anybody in the box. */
#include "hands/match/gitrepo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/path.h"

#define PATH_BYTES 4096u
#define CONFIG_MAX (1u << 20)
#define READ_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

struct gitrepo {
	const struct tool_env *env;
	const struct tool_root *root;
	bool has_user;			/* core.excludesFile is set, if only to nothing */
	char user[PATH_BYTES];
};

/* Opens an absolute path or one relative to base; symlinks lead no further than the roots. */
static int
open_at(const struct gitrepo *g, const char *base, const char *name, int flags)
{
	struct fs_place pl, to;
	int fd;

	if (name[0] == '~' && name[1] == '/' && g->env->home != NULL) {
		base = g->env->home;
		name += 2;
	}
	if (name[0] == '\0' || ats_path_join(base, name, pl.path, sizeof(pl.path)) < 0)
		return -1;
	pl.root = fs_root_of(g->env, pl.path);
	if (pl.root == NULL)
		return -1;
	pl.rel = ats_path_below(pl.root->path, pl.path);
	fd = fs_beneath(pl.root->fd, pl.rel, flags, 0);
	if (fd < 0 && errno == EXDEV && fs_resolve(g->env, &pl, &to, NULL) == 0)
		fd = fs_beneath_plain(to.root->fd, to.rel, flags, 0);
	return fd;
}

static bool
exists_at(const struct gitrepo *g, const char *base, const char *name, int flags)
{
	int fd ATS_CLEANUP_FD = open_at(g, base, name, O_PATH | flags);

	return fd >= 0;
}

/* A regular file's text. Returns owned, with a NUL behind it; or NULL. */
static char *
read_at(const struct gitrepo *g, const char *base, const char *name, size_t *ret_n)
{
	int fd ATS_CLEANUP_FD = open_at(g, base, name, READ_FLAGS);
	char *text = NULL, *whole;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	if (fs_read_all(fd, CONFIG_MAX, &text, ret_n, NULL) < 0)
		return NULL;
	whole = realloc(text, *ret_n + 1);
	if (whole == NULL) {
		free(text);
		return NULL;
	}
	whole[*ret_n] = '\0';
	return whole;
}

static struct ignore_rules *
rules_at(const struct gitrepo *g, const char *base, const char *name)
{
	int fd ATS_CLEANUP_FD = open_at(g, base, name, READ_FLAGS);

	return fd >= 0 ? ignore_read_fd(fd) : NULL;
}

/* ---- the user's configuration -------------------------------------------------------------- */
static void
config_at(const struct gitrepo *g, const char *base, const char *name, char *ret, bool *ret_has)
{
	size_t n = 0;
	char *text = read_at(g, base, name, &n);

	if (text != NULL && gitrepo_config_value(text, n, ret, PATH_BYTES))
		*ret_has = true;
	free(text);
}

struct gitrepo *
gitrepo_new(const struct tool_env *env, const struct tool_root *root)
{
	struct gitrepo *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->env = env;
	g->root = root;
	config_at(g, "/", "~/.config/git/config", g->user, &g->has_user);
	config_at(g, "/", "~/.gitconfig", g->user, &g->has_user);
	if (!g->has_user)
		memcpy(g->user, "~/.config/git/ignore", sizeof("~/.config/git/ignore"));
	return g;
}

void
gitrepo_free(struct gitrepo *g)
{
	free(g);
}

/* ---- one repository ------------------------------------------------------------------------ */
static void
cut_line(char *text)
{
	text[strcspn(text, "\r\n")] = '\0';
}

/* The directory that .git is, or that the file .git names. False: it is no such thing. */
static bool
find_git_dir(const struct gitrepo *g, const char *top, char ret[PATH_BYTES])
{
	static const char head[] = "gitdir: ";
	size_t n = 0;
	char *text = read_at(g, top, ".git", &n);
	bool found = text == NULL;

	if (text == NULL) {
		found = ats_path_join(top, ".git", ret, PATH_BYTES) == 0;
	} else if (strncmp(text, head, sizeof(head) - 1) == 0) {
		cut_line(text);
		found = text[sizeof(head) - 1] != '\0' &&
		    ats_path_join(top, text + sizeof(head) - 1, ret, PATH_BYTES) == 0;
	}
	free(text);
	return found;
}

/* Of a linked worktree: what it has in common with its repository. */
static void
find_common_dir(const struct gitrepo *g, const char *git, char ret[PATH_BYTES])
{
	size_t n = 0;
	char *text = read_at(g, git, "commondir", &n);

	if (text != NULL)
		cut_line(text);
	if (text == NULL || text[0] == '\0' || ats_path_join(git, text, ret, PATH_BYTES) < 0)
		memcpy(ret, git, strlen(git) + 1);
	free(text);
}

void
gitrepo_read(const struct gitrepo *g, const char *dir, struct gitrepo_rules *ret)
{
	char top[PATH_BYTES], git[PATH_BYTES], common[PATH_BYTES], value[PATH_BYTES];
	bool has = false;

	memset(ret, 0, sizeof(*ret));
	if (ats_path_join(g->root->path, dir[0] != '\0' ? dir : ".", top, sizeof(top)) < 0 ||
	    !find_git_dir(g, top, git))
		return;
	find_common_dir(g, git, common);
	/* A file stands for what may lie out of the roots: git was right to write it. */
	ret->is_valid = !exists_at(g, top, ".git", O_DIRECTORY) ||
	    (exists_at(g, git, "HEAD", O_NOFOLLOW) &&
	    exists_at(g, common, "objects", O_DIRECTORY) &&
	    exists_at(g, common, "refs", O_DIRECTORY));
	ret->exclude = rules_at(g, common, "info/exclude");
	memcpy(value, g->user, sizeof(value));
	config_at(g, common, "config", value, &has);
	ret->user = rules_at(g, top, value);
}
