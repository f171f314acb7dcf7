/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and opening files as agents name them: beneath the roots only, by descriptor. */
#ifndef ATS_HANDS_FS_FILE_H
#define ATS_HANDS_FS_FILE_H

#include "hands/tools/tool.h"

#include <sys/stat.h>
#include <sys/types.h>

struct fs_place {
	char path[4096];	/* absolute, normalised, as asked */
	const struct tool_root *root;
	const char *rel;	/* below root->fd; "." for the root; points into path */
};
/* Lexical: ~, relative and absolute names to a place. Fails (err text for the model, code
 * ATS_E_ESCAPES) when no root holds it. */
ATS_NODISCARD int fs_place(const struct tool_env *env, const char *name,
    struct fs_place *ret, struct ats_err *err);
/* The root that holds a normalised absolute path, the longest one, or NULL. */
const struct tool_root *fs_root_of(const struct tool_env *env, const char *path);
/* The same place with every symlink of its path followed, the last name's too; names that do
 * not exist stay as they are. A name that holds U+FFFD and does not exist stands for the one
 * entry that is shown so (file names need not be UTF-8). -ATS_E_ESCAPES when it leads out.
 * The answer is a string: open it with fs_beneath_plain only. */
ATS_NODISCARD int fs_resolve(const struct tool_env *env, const struct fs_place *pl,
    struct fs_place *ret, struct ats_err *err);
/* openat2 beneath dirfd; plain: no symlink at all. Returns the fd (CLOEXEC) or -1 and errno. */
int fs_beneath(int dirfd, const char *rel, int flags, mode_t mode);
int fs_beneath_plain(int dirfd, const char *rel, int flags, mode_t mode);
/* Opens for reading beneath the root: O_NONBLOCK | O_NOCTTY, then fstat: only a regular file
 * (-ATS_E_NOTFILE else, the text says what it is). Symlinks are followed while they stay
 * inside any root, absolute ones included; one that leaves is -ATS_E_ESCAPES and the text
 * names its target. -ATS_E_NOENT's text names the nearest existing name, if there is one. */
ATS_NODISCARD int fs_open_file(const struct tool_env *env, const struct fs_place *pl,
    int *ret_fd, struct stat *ret_st, struct ats_err *err);
/* A directory (O_RDONLY | O_DIRECTORY). -ATS_E_INVAL when it is something else. */
ATS_NODISCARD int fs_open_dir(const struct tool_env *env, const struct fs_place *pl,
    int *ret_fd, struct ats_err *err);
/* A file that is to be written: resolved, known to be neither protected nor in a read-only
 * root, its parent opened, and itself opened and locked (flock) when it exists. For a check
 * (check_only): opened for reading, not locked, and known to be writable by its mode. */
struct fs_target {
	struct fs_place at;	/* resolved */
	int dirfd;		/* O_PATH, or -1: the parent does not exist yet */
	char name[256];
	int fd;			/* O_RDWR, locked (check: O_RDONLY); -1: does not exist */
	struct stat st;		/* of fd */
	size_t made;		/* parents that fs_target_make_parent made */
	int turn;		/* a locked directory (fs_target_make_parent), or -1 */
};
#define FS_TARGET_NONE { .fd = -1, .dirfd = -1, .turn = -1 }
/* Two workers on one file take turns here; waits no longer than the call's deadline.
 * -ATS_E_DENIED protected or read-only, -ATS_E_NOTFILE, -ATS_E_ESCAPES, -ATS_E_BUSY. */
ATS_NODISCARD int fs_target_open(const struct tool_env *env, const struct fs_place *pl,
    struct fs_target *ret, struct ats_err *err);
/* Before a file is made: its parents are there, and its names are still not protected. Where one
 * of them counts in a repository, no other worker changes that until t is done. As
 * fs_target_open; -ATS_E_BUSY also when a link or something else took the place of a parent. */
ATS_NODISCARD int fs_target_make_parent(const struct tool_env *env, struct fs_target *t,
    struct ats_err *err);
/* After a failed write: removes the parents that were made, as far as they are empty. */
void fs_target_unmake_parent(const struct fs_target *t);
void fs_target_done(struct fs_target *t);
/* Whether tools may write a resolved place: not hidden, not read-only, not protected. */
ATS_NODISCARD int fs_may_write(const struct fs_place *at, struct ats_err *err);
/* Waits for flock(2) of fd, no longer than the call's deadline. 0 or an errno, EWOULDBLOCK when
 * others have it; a file system without locks is no error. */
ATS_NODISCARD int fs_lock(const struct tool_env *env, int fd);
/* "Did you mean" for a place that does not exist: writes the nearest existing path beside it
 * into out, or returns false. */
bool fs_nearest(const struct tool_env *env, const struct fs_place *pl, char *out, size_t size);
/* The one entry of a directory whose repaired name (U+FFFD) is name; false: none or several. */
bool fs_repaired_entry(int dirfd, const char *name, char ret_name[256]);
/* What a mode is, in words: "a directory", "a FIFO" ... */
const char *fs_kind(mode_t mode);
/* An error for errno of an open of the place, with a text for the model. */
int fs_open_error(const struct tool_env *env, const struct fs_place *pl, int errnum,
    struct ats_err *err);
/* fs_read_all for a file whose size is known: one read(2) when it is right. */
ATS_NODISCARD int fs_read_sized(int fd, size_t size, size_t max_bytes, char **ret,
    size_t *ret_len, struct ats_err *err);
/* Reads up to max_bytes; -ATS_E_TOOBIG when the file has more. Returns owned. */
ATS_NODISCARD int fs_read_all(int fd, size_t max_bytes, char **ret, size_t *ret_len,
    struct ats_err *err);
/* Replaces dirfd/name by content: temporary beside it, fsync, rename; keeps mode, owner, xattrs
 * of old_fd (or -1: new file, 0666 & ~umask; -ATS_E_EXISTS when it appeared meanwhile).
 * nlink > 1, or metadata that only the inode itself can keep: in place with a saved copy
 * beside it until done, *ret_in_place = true. A temporary that a killed worker left is reused.
 * ret_st is the new file's. On any error the old file is whole. */
ATS_NODISCARD int fs_replace(int dirfd, const char *name, int old_fd, const char *content,
    size_t n, struct stat *ret_st, bool *ret_in_place, struct ats_err *err);
/* Whether the names of a path below the directory rootfd are protected against tools
 * (.git/hooks, .mcp.json ...); returns the protected name or NULL. */
const char *fs_protected(int rootfd, const char *rel);
/* The first name in rel by which a directory becomes a repository, or which is protected in one:
 * the length of the path of the directory that holds it, 0 for the root; -1: none. */
ATS_NODISCARD ssize_t fs_repository_at(const char *rel);

#endif
