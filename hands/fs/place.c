/* SPDX-License-Identifier: Apache-2.0
 *
 * From a name an agent gave to a place below a root, lexically, and from there through
 * the symlinks to the place that is meant. Runs in tool workers; names and links are
 * hostile. What comes out is a string; it is trusted by nobody: every open starts again
 * at the root's descriptor and the kernel keeps it beneath (see fs_beneath). */
#include "hands/fs/file.h"

#include "common/fd.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX 40u	/* as the kernel's own limit */
#define RACES_MAX 16	/* a link that appears between two looks, so often */

static int
open_how(int dirfd, const char *rel, int flags, mode_t mode, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = (flags & O_CREAT) != 0 ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int tries = 0;
	long fd;

	do {	/* EAGAIN: a rename somewhere raced with the walk */
		fd = syscall(SYS_openat2, dirfd, rel, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < 64)));
	return (int)fd;
}

int
fs_beneath(int dirfd, const char *rel, int flags, mode_t mode)
{
	return open_how(dirfd, rel, flags, mode, 0);
}

int
fs_beneath_plain(int dirfd, const char *rel, int flags, mode_t mode)
{
	/* With O_DIRECTORY a link would be ENOTDIR by O_NOFOLLOW; so it is ELOOP always.
	 */
	return open_how(dirfd, rel,
	    (flags & O_DIRECTORY) != 0 ? flags : flags | O_NOFOLLOW, mode,
	    RESOLVE_NO_SYMLINKS);
}

const struct tool_root *
fs_root_of(const struct tool_env *env, const char *path)
{
	const struct tool_root *best = NULL;

	for (size_t i = 0; i < env->nroots; i++) {
		const struct tool_root *r = &env->roots[i];

		if (ats_path_is_within(r->path, path) &&
		    (best == NULL || strlen(r->path) > strlen(best->path)))
			best = r;
	}
	return best;
}

static int
outside(const struct tool_env *env, const char *asked, const char *leads_to,
    struct ats_err *err)
{
	char roots[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < env->nroots && n < sizeof(roots); i++) {
		int k = snprintf(roots + n, sizeof(roots) - n, "%s%s", i > 0 ? ", " : "",
		    env->roots[i].path);

		n += k > 0 ? (size_t)k : 0;
	}
	if (leads_to != NULL)
		return ats_err_set(err, ATS_E_ESCAPES,
		    "%.160s leads through a symbolic link to "
		    "%.160s, which is outside the directories that tools may use "
		    "(%.120s).",
		    asked, leads_to, roots);
	return ats_err_set(err, ATS_E_ESCAPES,
	    "%.200s is outside the directories that tools "
	    "may use (%.200s).",
	    asked, roots);
}

/* path is in ret already. */
static int
place_finish(const struct tool_env *env, struct fs_place *ret)
{
	ret->root = fs_root_of(env, ret->path);
	if (ret->root == NULL)
		return -ATS_E_ESCAPES;
	ret->rel = ats_path_below(ret->root->path, ret->path);
	return 0;
}

int
fs_place(const struct tool_env *env, const char *name, struct fs_place *ret,
    struct ats_err *err)
{
	const char *base = env->cwd;
	int rc;

	if (name[0] == '~' && (name[1] == '/' || name[1] == '\0') && env->home != NULL) {
		base = env->home;
		name += 1;
		while (*name == '/')
			name++;
		if (*name == '\0')
			name = ".";
	}
	rc = ats_path_join(base, name, ret->path, sizeof(ret->path));
	if (rc == -ATS_E_TOOBIG)
		return ats_err_set(err, ATS_E_TOOBIG,
		    "The path is longer than %zu bytes.", sizeof(ret->path) - 1);
	if (rc < 0)
		return ats_err_set(err, ATS_E_INVAL, "The path is empty.");
	if (place_finish(env, ret) < 0)
		return outside(env, ret->path, NULL, err);
	return 0;
}

struct walk {
	const struct tool_env *env;
	char cur[4096];		/* absolute without a slash at the end; "" is / */
	char rest[2 * 4096];	/* still to be walked */
	unsigned links;
};

static void
walk_pop(struct walk *w)
{
	char *slash = strrchr(w->cur, '/');

	if (slash != NULL)
		*slash = '\0';
}

/* Appends a component to cur. */
static int
walk_push(struct walk *w, const char *name, size_t n)
{
	size_t len = strlen(w->cur);

	if (len + 1 + n >= sizeof(w->cur))
		return ENAMETOOLONG;
	w->cur[len] = '/';
	memcpy(w->cur + len + 1, name, n);
	w->cur[len + 1 + n] = '\0';
	return 0;
}

/* A component that does not exist: the one entry that is shown under this name, if any.
 */
static void
walk_repair(struct walk *w, size_t name_len)
{
	char name[256], found[256];
	struct fs_place dir;
	int fd ATS_CLEANUP_FD = -1;

	if (name_len >= sizeof(name))
		return;
	memcpy(name, w->cur + strlen(w->cur) - name_len, name_len + 1);
	if (strstr(name, "\xef\xbf\xbd") == NULL)
		return;
	walk_pop(w);
	(void)snprintf(
	    dir.path, sizeof(dir.path), "%s", w->cur[0] != '\0' ? w->cur : "/");
	if (place_finish(w->env, &dir) == 0)
		fd = fs_beneath_plain(dir.root->fd, dir.rel, O_RDONLY | O_DIRECTORY, 0);
	if (fd >= 0 && fs_repaired_entry(fd, name, found))
		(void)walk_push(w, found, strlen(found));
	else
		(void)walk_push(w, name, name_len);
}

/* Puts a link's target before the rest. */
static int
walk_follow(struct walk *w, char *target, size_t n)
{
	size_t rest = strlen(w->rest);

	if (++w->links > LINKS_MAX)
		return ELOOP;
	if (n + 1 + rest >= sizeof(w->rest))
		return ENAMETOOLONG;
	memmove(w->rest + n + 1, w->rest, rest + 1);
	memcpy(w->rest, target, n);
	w->rest[n] = '/';
	if (target[0] == '/')
		w->cur[0] = '\0';
	else
		walk_pop(w);
	return 0;
}

/* Looks at cur, whose last component was just appended. Returns 0 or an errno. */
static int
walk_look(struct walk *w, size_t name_len)
{
	int fd ATS_CLEANUP_FD = -1;
	char target[4096];
	struct fs_place pl;
	ssize_t n;

	(void)snprintf(pl.path, sizeof(pl.path), "%s", w->cur);
	if (place_finish(w->env, &pl) < 0 || strcmp(pl.rel, ".") == 0)
		return 0;	/* on the way to a root, or the root: no link of ours */
	fd = fs_beneath_plain(pl.root->fd, pl.rel, O_PATH, 0);
	if (fd < 0 && errno == ENOENT) {
		walk_repair(w, name_len);
		return 0;
	}
	if (fd < 0)
		return errno;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n <= 0)
		return 0;
	return walk_follow(w, target, (size_t)n);
}

static int
walk_all(struct walk *w)
{
	int rc = 0;

	while (rc == 0 && w->rest[0] != '\0') {
		char name[4096];
		size_t n = strcspn(w->rest, "/"), skip = n + (w->rest[n] == '/');

		if (n >= sizeof(name))
			return ENAMETOOLONG;
		memcpy(name, w->rest, n);
		name[n] = '\0';
		memmove(w->rest, w->rest + skip, strlen(w->rest + skip) + 1);
		if (n == 0 || strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			walk_pop(w);
			continue;
		}
		rc = walk_push(w, name, n);
		if (rc == 0)
			rc = walk_look(w, n);
	}
	return rc;
}

int
fs_resolve(const struct tool_env *env, const struct fs_place *pl, struct fs_place *ret,
    struct ats_err *err)
{
	struct fs_place found;
	struct walk w;
	int rc, tries = 0;

	do {	/* ELOOP from a look: a directory became a link since the look before */
		w.env = env;
		w.links = 0;
		(void)snprintf(w.cur, sizeof(w.cur), "%s",
		    strcmp(pl->root->path, "/") == 0 ? "" : pl->root->path);
		(void)snprintf(w.rest, sizeof(w.rest), "%s", pl->rel);
		rc = walk_all(&w);
	} while (rc == ELOOP && w.links <= LINKS_MAX && ++tries < RACES_MAX);
	if (rc != 0)
		return fs_open_error(env, pl, rc, err);
	(void)snprintf(
	    found.path, sizeof(found.path), "%s", w.cur[0] != '\0' ? w.cur : "/");
	if (place_finish(env, &found) < 0)
		return outside(env, pl->path, found.path, err);
	*ret = found;
	ret->rel = ats_path_below(ret->root->path, ret->path);
	return 0;
}
