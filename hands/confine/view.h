/* SPDX-License-Identifier: Apache-2.0
 *
 * The private root of the box, and what a call's own mount namespace changes in it. */
#ifndef ATS_HANDS_CONFINE_VIEW_H
#define ATS_HANDS_CONFINE_VIEW_H

#include "hands/confine/box.h"
#include "hands/confine/protect.h"

/* Replaces the root of the calling mount namespace: a read-only tmpfs with /usr /etc /opt
 * and the grants read-only, the workspace at its own path, HOME, /tmp, /dev, /proc of
 * this pid namespace, the spill directory, and that of the host's tools.
 * idmap_ws: a user namespace for mount_setattr, or -1. */
ATS_NODISCARD int view_build(const struct box *b, int idmap_ws, struct ats_err *err);

/* In a mount namespace of the shell zygote or of a monitor: the spill directory is gone. What
 * is mounted in the zygote's workspace later is mounted in its monitors', and not the other
 * way round. */
ATS_NODISCARD int view_shell(const struct box *b, bool is_zygote, struct ats_err *err);
/* An unreadable file in every view. */
#define VIEW_HIDDEN "/run/ats/hidden"
/* Once, in the zygote's: what box.deny names is covered, all of it, by VIEW_HIDDEN or an empty
 * directory (-ATS_E_CONFINE when it is too much); sockets that are in the workspace now are
 * covered as far as a bounded scan sees them. */
ATS_NODISCARD int view_scan(const struct box *b, struct ats_err *err);
/* Protected names that exist become read-only; ".git", and what leads to a repository inside it
 * or to a submodule, cannot be renamed. May be called again: what is done is left. See
 * guard_protect. */
ATS_NODISCARD int view_protect(const struct protect_dirs *dirs,
    const bool (*absent)[PROTECT_NAMES_MAX], struct ats_err *err);
/* A /proc of the caller's pid namespace over the present one, its global files masked. */
ATS_NODISCARD int view_proc(const struct box *b, unsigned pid_max, struct ats_err *err);

#endif
