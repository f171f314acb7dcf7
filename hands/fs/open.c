/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening files and directories beneath the roots, by one openat2(2) when no link leads
 * about, and what its errors mean in words. Runs in tool workers; paths are hostile and
 * may change under us: the descriptor that was checked is the one that is used. */
#include "hands/fs/file.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/path.h"
#include "hands/fs/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RACES_MAX 16
#define OPEN_READ (O_RDONLY | O_NONBLOCK | O_NOCTTY)

const char *
fs_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFREG:
		return "a regular file";
	default:
		return "no regular file";
	}
}

int
fs_open_error(const struct tool_env *env, const struct fs_place *pl, int errnum,
    struct ats_err *err)
{
	char near[4096];

	switch (errnum) {
	case ENOENT:
		/* The name itself: an entry that leads to nothing. */
		if (fs_nearest(env, pl, near, sizeof(near)) &&
		    strcmp(near, pl->path) == 0)
			return ats_err_set(err, ATS_E_NOENT,
			    "%.400s is a symbolic link to something that does not exist "
			    "here.", pl->path);
		if (fs_nearest(env, pl, near, sizeof(near)))
			return ats_err_set(err, ATS_E_NOENT,
			    "%.220s does not exist. Did you mean %.220s?", pl->path,
			    near);
		return ats_err_set(err, ATS_E_NOENT, "%.400s does not exist.", pl->path);
	case ENOTDIR:
		return ats_err_set(err, ATS_E_NOENT,
		    "%.400s does not exist: a part of the path is not a directory.",
		    pl->path);
	case EISDIR:
		return ats_err_set(
		    err, ATS_E_NOTFILE, "%.400s is a directory.", pl->path);
	case ENXIO:
		return ats_err_set(err, ATS_E_NOTFILE,
		    "%.400s is a socket or a device, not a regular file.", pl->path);
	case ELOOP:
		return ats_err_set(err, ATS_E_INVAL,
		    "%.400s: too many levels of symbolic links.", pl->path);
	case ENAMETOOLONG:
		return ats_err_set(
		    err, ATS_E_INVAL, "%.400s: a name is too long.", pl->path);
	case EAGAIN:
		return ats_err_set(err, ATS_E_BUSY,
		    "%.400s: directories are being renamed; try again.", pl->path);
	case EXDEV:
		return ats_err_set(err, ATS_E_ESCAPES,
		    "%.400s leads out of the directories that tools may use.", pl->path);
	case EROFS:
		return ats_err_set(
		    err, ATS_E_PERM, "%.400s is on a read-only file system.", pl->path);
	default:
		errno = errnum;
		return ats_err_sys(err, "%.400s", pl->path);
	}
}

/* Opens the place through links that stay inside. Returns the fd or -ATS_E_*. */
static int
open_resolved(const struct tool_env *env, const struct fs_place *pl, int flags,
    struct ats_err *err)
{
	int fd;

	if (fs_hides(env))
		return fs_open_seen(env, pl, flags, err);
	fd = fs_beneath(pl->root->fd, pl->rel, flags, 0);
	/* EXDEV: an absolute link, or one to another root. */
	for (int i = 0; fd < 0 && i < RACES_MAX; i++) {
		struct fs_place at;
		int rc;

		if (errno != EXDEV &&
		    !(errno == ENOENT && i == 0 &&
			strstr(pl->path, "\xef\xbf\xbd") != NULL) &&
		    !(errno == ELOOP && i > 0))
			break;
		rc = fs_resolve(env, pl, &at, err);
		if (rc < 0)
			return rc;
		fd = fs_beneath_plain(at.root->fd, at.rel, flags, 0);
	}
	if (fd < 0)
		return fs_open_error(env, pl, errno, err);
	return fd;
}

int
fs_open_file(const struct tool_env *env, const struct fs_place *pl, int *ret_fd,
    struct stat *ret_st, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = open_resolved(env, pl, OPEN_READ, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return ats_err_sys(err, "%.400s", pl->path);
	if (!S_ISREG(st.st_mode))
		return ats_err_set(err, ATS_E_NOTFILE,
		    "%.400s is %s, not a regular file.", pl->path, fs_kind(st.st_mode));
	*ret_st = st;
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

int
fs_open_dir(const struct tool_env *env, const struct fs_place *pl, int *ret_fd,
    struct ats_err *err)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
	int fd;

	if (fs_hides(env)) {
		fd = fs_open_seen(env, pl, flags, err);
		if (fd >= 0)
			*ret_fd = fd;
		return fd < 0 ? fd : 0;
	}
	fd = fs_beneath(pl->root->fd, pl->rel, flags, 0);
	if (fd < 0 && errno == ENOTDIR) {
		fd = fs_beneath(pl->root->fd, pl->rel, O_PATH, 0);
		if (fd >= 0) {
			(void)close(fd);
			return ats_err_set(err, ATS_E_INVAL, "%.400s is not a directory.",
			    pl->path);
		}
		errno = ENOTDIR;
	}
	if (fd < 0 && (errno == EXDEV || errno == ENOENT))
		fd = open_resolved(env, pl, flags, err);
	else if (fd < 0)
		return fs_open_error(env, pl, errno, err);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int
fs_read_sized(int fd, size_t size, size_t max_bytes, char **ret, size_t *ret_len,
    struct ats_err *err)
{
	size_t cap = (size < max_bytes ? size : max_bytes) + 1, len = 0;
	char *p = ats_malloc_read(cap + 1);

	/* One byte more than expected: a short read of a regular file is its end. */
	while (p != NULL) {
		ssize_t n = ats_fd_read(fd, p + len, cap - len);
		char *grown;

		if (n < 0) {
			free(p);
			return ats_err_sys(err, "cannot read the file");
		}
		len += (size_t)n;
		if (len > max_bytes) {
			free(p);
			return ats_err_set(err, ATS_E_TOOBIG,
			    "The file has more than %zu bytes.", max_bytes);
		}
		if (n == 0 || (len < cap && len >= size)) {
			p[len] = '\0';
			*ret = p;
			*ret_len = len;
			return 0;
		}
		if (len < cap)
			continue;
		cap = cap * 2 < max_bytes + 1 ? cap * 2 : max_bytes + 1;
		grown = ats_realloc(p, cap + 1);
		if (grown == NULL)
			free(p);
		p = grown;
	}
	return ats_err_set(err, ATS_E_NOMEM, "Not enough memory for the file.");
}

int
fs_read_all(int fd, size_t max_bytes, char **ret, size_t *ret_len, struct ats_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ats_err_sys(err, "cannot read the file");
	if (st.st_size > 0 && (uint64_t)st.st_size > max_bytes)
		return ats_err_set(err, ATS_E_TOOBIG,
		    "The file has %llu bytes; at most %zu are possible.",
		    (unsigned long long)st.st_size, max_bytes);
	return fs_read_sized(
	    fd, st.st_size > 0 ? (size_t)st.st_size : 4096, max_bytes, ret, ret_len, err);
}
