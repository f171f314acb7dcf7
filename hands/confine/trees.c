/* SPDX-License-Identifier: Apache-2.0
 *
 * The read-only parts of the private root. Runs in init, once, before any peer's byte. The
 * paths are the host's configuration; what is there was made by the user's own programs, or
 * by tools of an earlier box where a grant overlaps a workspace. */
#include "hands/confine/trees.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/path.h"
#include "hands/confine/mnt.h"
#include "hands/init/roles.h"

#define RO (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define MASKED_MAX 512			/* of one pattern */

static const char *const tools_places[] = { "tmp", &BOX_HOME[1], "dev/shm" };

int
trees_init(struct trees *t, struct ats_err *err)
{
	memset(t, 0, sizeof(*t));
	t->v = calloc(TREES_MAX, sizeof(t->v[0]));
	return t->v == NULL ? ats_err_set(err, ATS_E_NOMEM, "view: out of memory") : 0;
}

void
trees_done(struct trees *t)
{
	for (size_t i = 0; i < t->n; i++) {
		ats_fd_close(&t->v[i].fd);
		free(t->v[i].link);
	}
	free(t->v);
	t->v = NULL;
	t->n = 0;
}

/* Returns owned in *ret_fd, -1 when there is nothing to be seen. */
static int
open_path(const char *path, bool beneath_tools, int *ret_fd, struct ats_err *err)
{
	const struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = beneath_tools ? RESOLVE_NO_SYMLINKS : 0 };

	*ret_fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	if (*ret_fd < 0 && errno == ELOOP)
		return ats_err_set(err, ATS_E_ESCAPES,
		    "%s: a symbolic link has taken the place of a directory", path);
	return *ret_fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 :
	    ats_err_sys(err, "open %s", path);
}

int
trees_take(struct trees *t, const char *path, bool beneath_tools, struct ats_err *err)
{
	struct tree *e = &t->v[t->n];
	ATS_CLEANUP_FD int at = -1;
	struct stat st;
	ssize_t len;
	int rc = open_path(path, beneath_tools, &at, err);

	if (rc < 0 || at < 0)
		return rc;
	if (fstat(at, &st) < 0)
		return ats_err_sys(err, "stat %s", path);
	if (t->n == TREES_MAX || strlen(path) > sizeof(e->path))
		return ats_err_set(
		    err, ATS_E_TOOBIG, "view: too many or too long: %s", path);
	(void)snprintf(e->path, sizeof(e->path), "%s", path + 1);
	e->fd = -1;
	e->is_dir = S_ISDIR(st.st_mode);
	t->n++;
	if (S_ISLNK(st.st_mode)) {
		e->link = calloc(1, PATH_MAX + 1);
		len = e->link == NULL ? -1 : readlinkat(at, "", e->link, PATH_MAX);
		return len < 0 ? ats_err_sys(err, "readlink %s", path) : 0;
	}
	rc = mnt_clone_at(at, path, true, &e->fd, err);
	return rc < 0 ? rc : mnt_set(e->fd, RO, err);
}

/* The place of tools that it lies below, or NULL. */
static const char *
place_above(const char *rel)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(tools_places); i++)
		if (ats_path_is_within(tools_places[i], rel) &&
		    strcmp(tools_places[i], rel) != 0)
			return tools_places[i];
	return NULL;
}

int
trees_way(struct trees *t, const char *rel, struct ats_err *err)
{
	const char *above = place_above(rel), *below, *slash;
	char *first;
	int rc;

	if (above == NULL)
		return 0;
	below = ats_path_below(above, rel);
	slash = strchr(below, '/');
	if (slash == NULL)
		return 0;	/* directly below: a mount point itself */
	if (t->nways == TREES_WAYS_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "view: too many places below /%s", above);
	first = t->ways[t->nways];
	(void)snprintf(first, sizeof(t->ways[0]), "%s/%.*s", above, (int)(slash - below), below);
	if (mnt_is_root(first))
		return 0;
	rc = mnt_mkdirs(first, err);
	if (rc == 0)
		rc = mnt_fs("tmpfs", first, MS_NOSUID | MS_NODEV, "size=64k,mode=755", err);
	if (rc == 0)
		t->nways++;
	return rc;
}

int
trees_seal(const struct trees *t, struct ats_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->nways; i++)
		rc = mnt_readonly(AT_FDCWD, t->ways[i], 0, err);
	return rc;
}

/* The directory that is to hold it. */
static int
make_parent(const char *rel, struct ats_err *err)
{
	char parent[4096];
	const char *slash = strrchr(rel, '/');

	if (slash == NULL)
		return 0;
	(void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - rel), rel);
	return mnt_mkdirs(parent, err);
}

static int
put_one(struct trees *t, struct tree *e, struct ats_err *err)
{
	int rc = trees_way(t, e->path, err);

	if (rc == 0)
		rc = e->link == NULL && e->is_dir ? mnt_mkdirs(e->path, err) :
		    make_parent(e->path, err);
	if (rc < 0)
		return rc;
	if (e->link != NULL)
		return symlink(e->link, e->path) < 0 && errno != EEXIST ?
		    ats_err_sys(err, "symlink %s", e->path) : 0;
	if (!e->is_dir && access(e->path, F_OK) < 0 && mknod(e->path, S_IFREG | 0444, 0) < 0)
		return ats_err_sys(err, "create %s", e->path);
	return mnt_put(&e->fd, e->path, err);
}

int
trees_put(struct trees *t, bool below_tools, struct ats_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->n; i++)
		if ((place_above(t->v[i].path) != NULL) == below_tools)
			rc = put_one(t, &t->v[i], err);
	return rc;
}

/* ---- masks ------------------------------------------------------------------------- */
static int mask_below(char path[PATH_MAX], size_t len, const char *rest, unsigned *left,
    struct ats_err *err);

/* The file itself, where path is a link: the view holds that by its own name as well. */
static int
mask_one(const char *path, struct ats_err *err)
{
	char real[PATH_MAX];

	if (realpath(path, real) == NULL)
		return errno == ENOMEM ? ats_err_sys(err, "%s", path) : 0;
	return mnt_mask(real, err);
}

static int
mask_each(char path[PATH_MAX], size_t len, const char *rest, unsigned *left,
    struct ats_err *err)
{
	DIR *d;
	const struct dirent *e;
	int rc = 0;

	path[len] = '\0';
	d = opendir(len > 0 ? path : "/");
	if (d == NULL)		/* out of reach for tools as well */
		return errno == EMFILE || errno == ENOMEM ? ats_err_sys(err, "%s", path) : 0;
	while (rc == 0 && (e = readdir(d)) != NULL) {
		int n;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		n = snprintf(path + len, PATH_MAX - len, "/%s", e->d_name);
		if (n > 0 && (size_t)n < PATH_MAX - len)
			rc = mask_below(path, len + (size_t)n, rest, left, err);
	}
	(void)closedir(d);
	return rc;
}

/* path[0..len): what the pattern has named so far; rest begins with a slash or is empty. */
static int
mask_below(char path[PATH_MAX], size_t len, const char *rest, unsigned *left,
    struct ats_err *err)
{
	size_t n;

	while (rest[0] == '/') {
		n = strcspn(rest + 1, "/");
		if (n == 1 && rest[1] == '*')
			return mask_each(path, len, rest + 2, left, err);
		if (len + n + 2 > PATH_MAX)
			return 0;
		memcpy(path + len, rest, n + 1);
		len += n + 1;
		rest += n + 1;
	}
	path[len] = '\0';
	if (access(path, F_OK) < 0)
		return 0;
	if ((*left)-- == 0)
		return ats_err_set(err, ATS_E_TOOBIG, "mask: more than %d files", MASKED_MAX);
	return mask_one(path, err);
}

int
trees_mask(const char *pattern, struct ats_err *err)
{
	unsigned left = MASKED_MAX;
	char path[PATH_MAX];
	int rc = mask_below(path, 0, pattern, &left, err);

	return rc < 0 ? ats_err_wrap(err, "mask %s", pattern) : 0;
}
