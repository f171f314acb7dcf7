/* SPDX-License-Identifier: Apache-2.0
 *
 * Replacing a file's content so that a crash, a full disk or a kill leaves the old file
 * or the new one, whole. Runs in workers of the write profile; the directory's other
 * entries are hostile.
 *
 * The temporary's name depends on the target's name only: a killed worker leaves at most
 * one, and the next writer of that file takes it away. It is locked while it lives, so
 * that a living writer's is told from a dead one's. */
#include "hands/fs/replace.h"

#include "common/clock.h"
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES_MAX 8
#define LOCK_MAX_US 1000000u
#define LOCK_STEP_MS 2

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1u
#endif

void
replace_temp_name(const char *name, const char *suffix, char out[64])
{
	uint64_t h = 0xcbf29ce484222325u;	/* FNV-1a */

	for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++)
		h = (h ^ *p) * 0x100000001b3u;
	(void)snprintf(out, 64, ".ats-%016llx.%s", (unsigned long long)h, suffix);
}

/* Whether a temporary that is there was left by a dead writer; then it is removed. One of a
 * sandbox that was just killed may still be dying: its lock goes with it, and tells nobody. */
static bool
took_stale_away(int dirfd, const char *temp, uint64_t give_up_us)
{
	int fd ATS_CLEANUP_FD = fs_beneath_plain(dirfd, temp, O_RDONLY | O_NONBLOCK, 0);
	struct stat locked, now;

	if (fd < 0)
		return errno == ENOENT ||
		       (errno == ELOOP && unlinkat(dirfd, temp, 0) == 0);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		if (ats_clock_us() >= give_up_us)
			return false;
		(void)poll(NULL, 0, LOCK_STEP_MS);
	}
	/* Its writer may have lived, and the name may be the next one's by now. */
	if (fstat(fd, &locked) < 0 ||
	    fstatat(dirfd, temp, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    locked.st_ino != now.st_ino || locked.st_dev != now.st_dev)
		return true;
	return unlinkat(dirfd, temp, 0) == 0 || errno == ENOENT;
}

int
replace_temp_make(
    int dirfd, const char *temp, mode_t mode, int *ret_fd, struct ats_err *err)
{
	uint64_t give_up_us = ats_clock_us() + LOCK_MAX_US;
	int fd = -1;

	for (int i = 0; i < TRIES_MAX && fd < 0; i++) {
		fd = fs_beneath_plain(dirfd, temp, O_RDWR | O_CREAT | O_EXCL, mode);
		if (fd < 0 && errno != EEXIST)
			return ats_err_sys(err, "cannot make a temporary file");
		if (fd < 0 && !took_stale_away(dirfd, temp, give_up_us))
			break;
	}
	if (fd < 0)
		return ats_err_set(
		    err, ATS_E_BUSY, "another writer of this file is at work");
	(void)flock(fd, LOCK_EX | LOCK_NB);
	*ret_fd = fd;
	return 0;
}

/* Gives the temporary a name that nothing has. */
static int
rename_new(int dirfd, const char *temp, const char *name, struct ats_err *err)
{
	int fd;

	if (syscall(SYS_renameat2, dirfd, temp, dirfd, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST)
		return ats_err_set(
		    err, ATS_E_EXISTS, "the file was made by another meanwhile");
	if (errno != EINVAL && errno != ENOSYS)
		return ats_err_sys(err, "cannot name the new file");
	/* A file system without NOREPLACE: claim the name first. */
	fd = fs_beneath_plain(dirfd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return ats_err_sys(err, "cannot name the new file");
	(void)close(fd);
	if (renameat(dirfd, temp, dirfd, name) < 0)
		return ats_err_sys(err, "cannot name the new file");
	return 0;
}

static int
rename_over(int dirfd, const char *temp, const char *name, const struct stat *old,
    struct ats_err *err)
{
	struct stat now;

	/* Another program may have put a new file there since it was opened. */
	if (fstatat(dirfd, name, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
	    now.st_ino != old->st_ino || now.st_dev != old->st_dev ||
	    now.st_size != old->st_size || now.st_mtim.tv_sec != old->st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != old->st_mtim.tv_nsec)
		return ats_err_set(err, ATS_E_CHANGED,
		    "the file was changed by another program "
		    "meanwhile; nothing was written");
	if (renameat(dirfd, temp, dirfd, name) < 0)
		return ats_err_sys(err, "cannot replace the file");
	return 0;
}

int
replace_write(int fd, const char *content, size_t n, struct ats_err *err)
{
	int rc = ats_fd_write_all(fd, content, n);

	if (rc == -ATS_E_NOSPC)
		return ats_err_set(err, ATS_E_NOSPC,
		    "no space left on the device; the old content is untouched");
	if (rc < 0)
		return ats_err_set(err, -rc, "cannot write: %s", strerror(errno));
	if (fsync(fd) < 0)
		return ats_err_sys(err, "cannot write to the disk");
	return 0;
}

/* Writing clears setuid and setgid; the kernel may also refuse them silently. 1: lost. */
static int
restore_special_bits(int fd, const struct stat *old, struct ats_err *err)
{
	struct stat st;

	if (fchmod(fd, old->st_mode & 07777) < 0 || fstat(fd, &st) < 0 ||
	    st.st_mode != old->st_mode)
		return 1;
	return fsync(fd) < 0 ? ats_err_sys(err, "cannot write to the disk") : 0;
}

/* 0, 1 when only writing in place can keep what the old file has, or negative. */
static int
by_rename(int dirfd, const char *name, int old_fd, const struct stat *old,
    const char *content, size_t n, struct stat *ret_st, struct ats_err *err)
{
	char temp[64];
	int fd ATS_CLEANUP_FD = -1;
	int rc;

	replace_temp_name(name, "tmp", temp);
	rc = replace_temp_make(
	    dirfd, temp, old != NULL ? old->st_mode & 0777 : 0666, &fd, err);
	if (rc == -ATS_E_PERM && old != NULL)
		return 1;		/* a directory in which nothing can be made */
	if (rc < 0)
		return rc;
	if (old != NULL)
		rc = replace_copy_meta(old_fd, old, fd, err);
	if (rc == 0)
		rc = replace_write(fd, content, n, err);
	if (rc == 0 && old != NULL && (old->st_mode & 07000) != 0)
		rc = restore_special_bits(fd, old, err);
	if (rc == 0)
		rc = old != NULL ? rename_over(dirfd, temp, name, old, err) :
		    rename_new(dirfd, temp, name, err);
	if (rc != 0)
		(void)unlinkat(dirfd, temp, 0);
	if (rc == 0 && fstat(fd, ret_st) < 0)
		return ats_err_sys(err, "cannot look at the new file");
	return rc;
}

int
fs_replace(int dirfd, const char *name, int old_fd, const char *content, size_t n,
    struct stat *ret_st, bool *ret_in_place, struct ats_err *err)
{
	struct stat old;
	int rc = 1;

	*ret_in_place = false;
	if (old_fd < 0)
		return by_rename(dirfd, name, -1, NULL, content, n, ret_st, err);
	if (fstat(old_fd, &old) < 0)
		return ats_err_sys(err, "cannot look at the file");
	if (old.st_nlink <= 1)
		rc = by_rename(dirfd, name, old_fd, &old, content, n, ret_st, err);
	if (rc <= 0)
		return rc;
	rc = replace_in_place(dirfd, name, &old, content, n, ret_st, err);
	if (rc == 0)
		*ret_in_place = true;
	return rc;
}
