/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths: lexical work on strings, the places of our own files, and opening beneath a
 * directory descriptor (openat2(2) RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS). */
#ifndef ATS_COMMON_PATH_H
#define ATS_COMMON_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

#define ATS_PATH_MAX 4096

/* Joins cwd (absolute) and path unless path is absolute, removes ".", ".." and double
 * slashes lexically. Any bytes but NUL. -ATS_E_TOOBIG, -ATS_E_INVAL (empty, relative
 * cwd). */
ATS_NODISCARD int ats_path_join(
    const char *cwd, const char *path, char *out, size_t size);
/* Whether path is dir or lies beneath it, by whole components of two normalised paths.
 * For messages and table look-ups; access itself is decided by descriptors. */
bool ats_path_is_within(const char *dir, const char *path);
/* The part of path below dir without a leading slash ("." for dir itself), or NULL. */
const char *ats_path_below(const char *dir, const char *path);
/* openat2 beneath dirfd. Returns the fd (CLOEXEC) or -ATS_E_* (ESCAPES when it leads
 * out). */
ATS_NODISCARD int ats_path_open_beneath(
    int dirfd, const char *rel, int flags, mode_t mode, struct ats_err *err);

/* Where brain's own files are. runtime: $XDG_RUNTIME_DIR/ats, /run/user/UID/ats, /tmp/ats-UID;
 * config: $XDG_CONFIG_HOME/ats or ~/.config/ats; state: $XDG_STATE_HOME/ats or
 * ~/.local/state/ats. */
struct ats_places {
	char runtime[ATS_PATH_MAX];
	char config[ATS_PATH_MAX];	/* directory, holds brain.json */
	char state[ATS_PATH_MAX];
	bool system;			/* a brain's for all users of a machine */
};
/* From the environment, which is why only programs that a user starts call it. A negative code
 * with what is missing; *ret is then filled in part. */
ATS_NODISCARD int ats_places_find(struct ats_places *ret, struct ats_err *err);
/* Those of a brain for all users of a machine: /run/ats, /etc/ats, /var/lib/ats. */
void ats_places_system(struct ats_places *ret);
/* As ats_places_make, for a directory that others may enter but not write: what is in it has
 * modes of its own. */
ATS_NODISCARD int ats_places_make_shared(const char *dir, struct ats_err *err);
/* mkdir -p with 0700 at the end; refuses one that is a symlink, is not ours, or is open
 * to others. */
ATS_NODISCARD int ats_places_make(const char *dir, struct ats_err *err);
/* Opens a lock file in one of these, making it (0600); the caller uses flock(2). Never waits,
 * never follows a link; -ATS_E_PERM when something else stands there or it is not ours. The
 * descriptor (CLOEXEC) is owned. */
ATS_NODISCARD int ats_places_open_lock(const char *path, int *ret_fd, struct ats_err *err);

#endif
