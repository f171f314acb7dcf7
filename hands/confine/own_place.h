/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a command's own Unix sockets are. The name that a command binds becomes a socket file
 * that nothing listens on; the socket itself is bound in a directory of the box that Landlock
 * keeps from commands, to a name made of the file's device and inode. Only names in that
 * directory are ever connected to: whatever a command puts in a file's place while it is looked
 * at, links, a host's socket, another inode of that number, what is reached is a socket that
 * was bound here, or none. */
#ifndef ATS_HANDS_CONFINE_OWN_PLACE_H
#define ATS_HANDS_CONFINE_OWN_PLACE_H

#include <stddef.h>
#include <sys/types.h>

#include "hands/confine/box.h"

#define OWN_PLACES 4u
#define OWN_SOCKETS_MAX 1024u	/* that live in a box; each monitor looks every OWN_LOOK_EVERY */
#define OWN_LOOK_EVERY 128u

struct own_place {
	int dir;		/* b->sockets, O_PATH; -1: no sockets */
	int tools;		/* b->tools, O_PATH, which only front writes */
	char relay[4096 + 16];	/* the one path beside these that is connected to: its socket */
	struct {
		const char *path;	/* the box's */
		int fd;			/* O_PATH */
	} at[OWN_PLACES];	/* where commands may write */
	size_t n;
	unsigned left;		/* binds until the dead are looked for */
	uint64_t full_ms;	/* there was no room, at that time */
};

/* Opens what box_has_own_sockets() has; descriptors from CONFINE_FD_MIN, for the process's life. */
ATS_NODISCARD int own_place_open(struct own_place *p, const struct box *b, struct ats_err *err);
/* Both for a socket of AF_UNIX that streams or is SOCK_SEQPACKET, a name with its NUL, and the
 * process whose working directory a relative one begins at. 0 or a negative errno. bind leaves
 * no file when it fails. */
ATS_NODISCARD int own_place_bind(struct own_place *p, int sock, const char *name, pid_t pid);
/* What connect(2) takes instead of name; the name that getsockname(2) tells serves as well. */
#define OWN_ADDRESS 108
ATS_NODISCARD int own_place_address(const struct own_place *p, int sock, const char *name,
    pid_t pid, char ret_path[OWN_ADDRESS]);

#endif
