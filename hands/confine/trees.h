/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-only parts of the host in the private root: the system's directories, and what the
 * host grants (configured paths, toolchains below $HOME). */
#ifndef ATS_HANDS_CONFINE_TREES_H
#define ATS_HANDS_CONFINE_TREES_H

#include "hands/confine/box.h"

#define TREES_MAX (BOX_GRANTS_MAX + 16)
#define TREES_WAYS_MAX 16

struct tree {
	char path[4096];	/* where it goes, relative to the new root */
	char *link;		/* a symlink instead, owned */
	int fd;			/* or -1 */
	bool is_dir;
};
struct trees {
	struct tree *v;		/* owned; TREES_MAX */
	size_t n, nways;
	char ways[TREES_WAYS_MAX][4096];
};
/* -ATS_E_NOMEM. */
ATS_NODISCARD int trees_init(struct trees *t, struct ats_err *err);
void trees_done(struct trees *t);
/* Clones what is at an absolute path, without its users' write, set-user-id and device rights.
 * A symbolic link is made again as it is. Absent: 0. beneath_tools: tools may
 * have changed what is on the way, so that a link there is -ATS_E_ESCAPES. */
ATS_NODISCARD int trees_take(struct trees *t, const char *path, bool beneath_tools,
    struct ats_err *err);
/* Puts them in the new root (the working directory): those that lie below places which tools
 * may write, or the others, which must come before these places are made. */
ATS_NODISCARD int trees_put(struct trees *t, bool below_tools, struct ats_err *err);
/* For what is mounted below a place that tools may write: the first directory on the way to
 * rel becomes a small mount of its own, so that nothing on the way can be renamed or put
 * beside it; trees_seal makes these read-only at the end. */
ATS_NODISCARD int trees_way(struct trees *t, const char *rel, struct ats_err *err);
ATS_NODISCARD int trees_seal(const struct trees *t, struct ats_err *err);
/* In the new root: covers what the absolute pattern names ("*" is one component, whatever it
 * is called). Absent: 0. -ATS_E_TOOBIG when it names more than can be covered. */
ATS_NODISCARD int trees_mask(const char *pattern, struct ats_err *err);

#endif
