/* SPDX-License-Identifier: Apache-2.0
 *
 * Small steps with mounts, by descriptors (open_tree, mount_setattr, move_mount:
 * Linux 5.12). Errors name the call and the path. */
#ifndef ATS_HANDS_CONFINE_MNT_H
#define ATS_HANDS_CONFINE_MNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* A detached copy of what is mounted at path; recursive. Returns owned in *ret_fd. */
ATS_NODISCARD int mnt_clone(const char *path, int *ret_fd, struct ats_err *err);
/* The same without what is mounted below. */
ATS_NODISCARD int mnt_clone_one(const char *path, int *ret_fd, struct ats_err *err);
/* An O_PATH descriptor of a directory; no component of path may be a symbolic link, since
 * another sandbox may write where it lies (-ATS_E_ESCAPES). Returns owned. */
ATS_NODISCARD int mnt_open_dir(const char *path, int *ret_fd, struct ats_err *err);
/* Like mnt_clone and mnt_clone_one, of what at is; path is for the message. at must belong to
 * this mount namespace. */
ATS_NODISCARD int mnt_clone_at(int at, const char *path, bool recursive, int *ret_fd,
    struct ats_err *err);
/* The same of a directory that mnt_open_dir opens. */
ATS_NODISCARD int mnt_clone_dir(const char *path, bool recursive, int *ret_fd,
    struct ats_err *err);
/* attrs: MOUNT_ATTR_* to set, on the whole tree. */
ATS_NODISCARD int mnt_set(int tree, uint64_t attrs, struct ats_err *err);
ATS_NODISCARD int mnt_idmap(int tree, int userns, struct ats_err *err);
/* Puts it at path (relative to the working directory); the descriptor is closed. */
ATS_NODISCARD int mnt_put(int *tree, const char *path, struct ats_err *err);
/* Whether something is mounted there. */
bool mnt_is_root(const char *path);
/* Makes directories of a relative path, 0755. Existing ones are fine. */
ATS_NODISCARD int mnt_mkdirs(const char *rel, struct ats_err *err);
/* An empty file or directory to mount on. */
ATS_NODISCARD int mnt_touch(const char *rel, struct ats_err *err);
ATS_NODISCARD int mnt_fs(const char *type, const char *path, unsigned long flags,
    const char *data, struct ats_err *err);
/* Makes the mount at path (or of dirfd with AT_EMPTY_PATH) read-only; flags are those of
 * mount_setattr(2). Waits a little for writers that are just leaving. */
ATS_NODISCARD int mnt_readonly(int dirfd, const char *path, unsigned flags,
    struct ats_err *err);
/* Remounts what is at an absolute path read-only over itself. A path that does not exist
 * is 0, a done one 1. */
ATS_NODISCARD int mnt_protect(const char *path, struct ats_err *err);
/* Binds the file from over the file to, read-only. Absent: 0. */
ATS_NODISCARD int mnt_cover(const char *from, const char *to, struct ats_err *err);
/* Covers a file or socket with /dev/null, a directory with an empty read-only one.
 * Absent: 0. */
ATS_NODISCARD int mnt_mask(const char *path, struct ats_err *err);

#endif
