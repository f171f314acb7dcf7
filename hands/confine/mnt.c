/* SPDX-License-Identifier: Apache-2.0
 *
 * Small steps with mounts. Runs in init, the shell zygote and monitors, while they still
 * have CAP_SYS_ADMIN over their mount namespace. Paths below the workspace are a tool's
 * work: they are opened without following symlinks. */
#include "hands/confine/mnt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

#define BUSY_TRIES 200			/* a millisecond each */

static int
clone_tree(const char *path, unsigned flags, int *ret_fd, struct ats_err *err)
{
	int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);

	if (fd < 0)
		return ats_err_sys(err, "open_tree(%s)", path);
	*ret_fd = fd;
	return 0;
}

int
mnt_clone(const char *path, int *ret_fd, struct ats_err *err)
{
	return clone_tree(path, AT_RECURSIVE, ret_fd, err);
}

int
mnt_clone_one(const char *path, int *ret_fd, struct ats_err *err)
{
	return clone_tree(path, 0, ret_fd, err);
}

int
mnt_open_dir(const char *path, int *ret_fd, struct ats_err *err)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS };
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

	if (fd < 0 && errno == ELOOP)
		return ats_err_set(err, ATS_E_ESCAPES,
		    "%s: a symbolic link has taken the place of a directory", path);
	if (fd < 0)
		return ats_err_sys(err, "open %s", path);
	*ret_fd = (int)fd;
	return 0;
}

int
mnt_clone_at(int at, const char *path, bool recursive, int *ret_fd, struct ats_err *err)
{
	int fd = open_tree(at, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    (recursive ? AT_RECURSIVE : 0u));

	if (fd < 0)
		return ats_err_sys(err, "open_tree(%s)", path);
	*ret_fd = fd;
	return 0;
}

int
mnt_clone_dir(const char *path, bool recursive, int *ret_fd, struct ats_err *err)
{
	ATS_CLEANUP_FD int at = -1;
	int rc = mnt_open_dir(path, &at, err);

	return rc < 0 ? rc : mnt_clone_at(at, path, recursive, ret_fd, err);
}

int
mnt_set(int tree, uint64_t attrs, struct ats_err *err)
{
	struct mount_attr a = { .attr_set = attrs };

	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof a) < 0)
		return ats_err_sys(err, "mount_setattr");
	return 0;
}

int
mnt_idmap(int tree, int userns, struct ats_err *err)
{
	struct mount_attr a = { .attr_set = (uint64_t)MOUNT_ATTR_IDMAP,
		.userns_fd = (unsigned)userns };

	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof a) < 0)
		return ats_err_sys(err, "mount_setattr(MOUNT_ATTR_IDMAP)");
	return 0;
}

/* A copy of a shared mount is one of its peers: what is mounted in one would be mounted in all. */
static int
make_private(int tree, struct ats_err *err)
{
	struct mount_attr a = { .propagation = MS_PRIVATE };

	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof a) < 0)
		return ats_err_sys(err, "mount_setattr(MS_PRIVATE)");
	return 0;
}

/* It is private already. */
static int
attach(int *tree, const char *path, struct ats_err *err)
{
	if (move_mount(*tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return ats_err_sys(err, "move_mount(%s)", path);
	ats_fd_close(tree);
	return 0;
}

int
mnt_put(int *tree, const char *path, struct ats_err *err)
{
	return make_private(*tree, err) < 0 ? -ATS_E_SYS : attach(tree, path, err);
}

bool
mnt_is_root(const char *path)
{
	struct statx sx;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &sx) ==
		   0 &&
	       (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

int
mnt_mkdirs(const char *rel, struct ats_err *err)
{
	char path[4096];
	size_t n = strlen(rel);

	if (n == 0 || n >= sizeof path)
		return ats_err_set(err, ATS_E_TOOBIG, "mkdir: path too long");
	memcpy(path, rel, n + 1);
	for (char *p = path + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return ats_err_sys(err, "mkdir %s", path);
		if (c == '\0')
			return 0;
		*p = c;
	}
}

int
mnt_touch(const char *rel, struct ats_err *err)
{
	ATS_CLEANUP_FD int fd = open(rel, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd < 0 ? ats_err_sys(err, "create %s", rel) : 0;
}

int
mnt_fs(const char *type, const char *path, unsigned long flags, const char *data,
    struct ats_err *err)
{
	if (mount(type, path, type, flags, data) < 0)
		return ats_err_sys(err, "mount(%s on %s)", type, path);
	return 0;
}

static int
readonly(int dirfd, const char *path, unsigned flags, uint64_t propagation,
    struct ats_err *err)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_RDONLY, .propagation = propagation };

	/* A file that was open for writing when its last user closed it or ended may be let go
	 * a moment later; the kernel then says busy, and no event tells when it is over. */
	for (int tries = 0; mount_setattr(dirfd, path, flags, &a, sizeof a) < 0; tries++) {
		if (errno != EBUSY || tries == BUSY_TRIES)
			return ats_err_sys(err, "mount_setattr(%s)", path);
		(void)poll(NULL, 0, 1);
	}
	return 0;
}

int
mnt_readonly(int dirfd, const char *path, unsigned flags, struct ats_err *err)
{
	return readonly(dirfd, path, flags, 0, err);
}

int
mnt_protect(const char *path, struct ats_err *err)
{
	ATS_CLEANUP_FD int tree = -1;
	ATS_CLEANUP_FD int at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (at < 0)
		return errno == ENOENT || errno == ENOTDIR
			   ? 0
			   : ats_err_sys(err, "open %s", path);
	tree = open_tree(at, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    AT_RECURSIVE);
	if (tree < 0)
		return ats_err_sys(err, "open_tree(%s)", path);
	/* Private, too, see make_private. */
	if (readonly(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, MS_PRIVATE, err) < 0)
		return ats_err_wrap(err, "%s", path);
	if (move_mount(
		tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return ats_err_sys(err, "move_mount(%s)", path);
	return 1;
}

int
mnt_cover(const char *from, const char *to, struct ats_err *err)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
	    MOUNT_ATTR_NODEV, .propagation = MS_PRIVATE };
	ATS_CLEANUP_FD int tree = -1;
	int rc;

	if (access(to, F_OK) < 0)
		return 0;
	rc = mnt_clone_one(from, &tree, err);
	if (rc == 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &a, sizeof a) < 0)
		rc = ats_err_sys(err, "mount_setattr(%s)", to);
	return rc < 0 ? rc : attach(&tree, to, err);
}

int
mnt_mask(const char *path, struct ats_err *err)
{
	ATS_CLEANUP_FD int null = -1;
	struct stat st;
	int rc;

	if (lstat(path, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return mnt_fs("tmpfs", path, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		    "size=4k,mode=755", err);
	if (!S_ISREG(st.st_mode) && !S_ISSOCK(st.st_mode))
		return 0;
	rc = mnt_clone_one("/dev/null", &null, err);
	return rc < 0 ? rc : mnt_put(&null, path, err);
}
