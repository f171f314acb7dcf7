/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of fs_replace, private to hands/fs. */
#ifndef ATS_HANDS_FS_REPLACE_H
#define ATS_HANDS_FS_REPLACE_H

#include "hands/fs/file.h"

/* The name of the temporary or saved copy of name: ".ats-HASH.suffix". */
void replace_temp_name(const char *name, const char *suffix, char out[64]);
/* Makes and locks it, after taking away one that a dead writer left. -ATS_E_PERM when nothing
 * can be made in the directory, -ATS_E_BUSY when a living writer has it. */
ATS_NODISCARD int replace_temp_make(int dirfd, const char *temp, mode_t mode, int *ret_fd,
    struct ats_err *err);
/* Writes at the descriptor's position and syncs. */
ATS_NODISCARD int replace_write(int fd, const char *content, size_t n, struct ats_err *err);
/* Gives fd the owner, mode, ACL and xattrs of old_fd. Returns 1 when that is not possible. */
ATS_NODISCARD int replace_copy_meta(int old_fd, const struct stat *old, int fd,
    struct ats_err *err);
/* Overwrites the inode. On error it has its old content again. old: of the inode, which name
 * must still be. */
ATS_NODISCARD int replace_in_place(int dirfd, const char *name, const struct stat *old,
    const char *content, size_t n, struct stat *ret_st, struct ats_err *err);
/* The copy beside a file that is written in place: its mode, old and new content. Locked while
 * *ret_fd is open. -ATS_E_PERM when nothing can be made there. */
ATS_NODISCARD int saved_make(int dirfd, const char *name, mode_t mode,
    struct ats_slice old, struct ats_slice with, int *ret_fd, struct ats_err *err);
void saved_remove(int dirfd, const char *name);
/* Before the content of a locked file (fd, st) is looked at: when a writer that was killed in
 * the middle left it torn, its old content is put back; the copy is removed. *st is renewed. */
ATS_NODISCARD int saved_recover(int dirfd, const char *name, int fd, struct stat *st,
    struct ats_err *err);
/* For a check, which locks and changes nothing: 1 and the content (owned) that a torn file
 * would get again, 0 when the file counts as it is. */
ATS_NODISCARD int saved_peek(int dirfd, const char *name, int fd, uint64_t size, char **ret,
    size_t *ret_n, struct ats_err *err);

#endif
