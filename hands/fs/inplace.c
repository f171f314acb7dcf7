/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing into an inode that must stay the same one: hard links, owners that cannot be
 * given away, directories in which nothing can be made. Not crash-atomic, so a copy of
 * the old content lies beside it (saved.c) until the new content is on the disk.
 * Runs in workers of the write profile. */
#include "hands/fs/replace.h"

#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define OLD_MAX (64u << 20)

static bool
same_inode(int dirfd, const char *name, int fd)
{
	struct stat a, b;

	return fstatat(dirfd, name, &a, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &b) == 0 &&
	    a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int
write_at_start(int fd, const char *p, size_t n)
{
	for (size_t done = 0; done < n; ) {
		ssize_t k = pwrite(fd, p + done, n - done, (off_t)done);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		done += (size_t)k;
	}
	return ftruncate(fd, (off_t)n) < 0 || fsync(fd) < 0 ? -1 : 0;
}

struct old_content {
	char *p;
	size_t n;
	bool is_only_copy;	/* the file itself could not be restored */
};

/* The file's blocks are there before the first byte of it is touched. */
static int
overwrite(int fd, const struct stat *old, const char *content, size_t n,
    struct old_content *saved, struct ats_err *err)
{
	int rc;

	if (n > 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)n) < 0 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return ats_err_sys(
		    err, "no room for the new content; the file is untouched");
	if (write_at_start(fd, content, n) < 0) {
		rc = ats_err_sys(err, "cannot write");
		saved->is_only_copy = write_at_start(fd, saved->p, saved->n) < 0;
		if (saved->is_only_copy)
			return ats_err_set(err, -rc,
			    "cannot write the file, nor restore it; its old content is "
			    "at the start of the .ats-*.save file beside it, and the next "
			    "change of the file puts it back");
		return ats_err_wrap(err, "the old content was restored");
	}
	/* Writing may have cleared setuid and setgid. */
	if ((old->st_mode & 07000) != 0)
		(void)fchmod(fd, old->st_mode & 07777);
	return 0;
}

int
replace_in_place(int dirfd, const char *name, const struct stat *old, const char *content,
    size_t n, struct stat *ret_st, struct ats_err *err)
{
	struct old_content saved = { NULL, 0, false };
	int fd = -1, save_fd = -1, rc;

	fd = fs_beneath_plain(dirfd, name, O_RDWR | O_NONBLOCK, 0);
	if (fd < 0)
		return ats_err_sys(err, "cannot open the file for writing in place");
	rc = same_inode(dirfd, name, fd)
		 ? 0
		 : ats_err_set(err, ATS_E_CHANGED,
		       "the file was "
		       "replaced by another program meanwhile; nothing was written");
	if (rc == 0)
		rc = fs_read_sized(
		    fd, (size_t)old->st_size, OLD_MAX, &saved.p, &saved.n, err);
	if (rc == 0)
		rc = saved_make(dirfd, name, old->st_mode,
		    (struct ats_slice){ saved.p, saved.n },
		    (struct ats_slice){ content, n }, &save_fd, err);
	if (rc == -ATS_E_PERM)
		rc = 0;		/* no place for a copy; the one in memory must do */
	if (rc == 0)
		rc = overwrite(fd, old, content, n, &saved, err);
	if (rc == 0 && fstat(fd, ret_st) < 0)
		rc = ats_err_sys(err, "cannot look at the file");
	if (save_fd >= 0 && !saved.is_only_copy)
		saved_remove(dirfd, name);
	ats_fd_close(&save_fd);
	ats_fd_close(&fd);
	free(saved.p);
	return rc;
}
