/* SPDX-License-Identifier: Apache-2.0
 *
 * The file that the next front is started from: what lies now where this program was started
 * from. Only the launcher sees that, the box has another view or may not open it; so the launcher
 * opens it, when init asks, and looks whether a tool could have put it there. */
#ifndef ATS_HANDS_INIT_NEWEST_H
#define ATS_HANDS_INIT_NEWEST_H

#include <limits.h>
#include <poll.h>
#include <stdint.h>

#include "hands/confine/box.h"

struct newest {
	char path[PATH_MAX];	/* "": not known */
	int init;		/* SEQPACKET to init, or -1; owned */
	const struct box *box;	/* that stands */
};

/* launcher -> init, which asked with one byte: the descriptor comes along, O_PATH. */
struct newest_msg {
	int32_t code;		/* 0, or ATS_E_* */
	char text[460];
};

/* Where this program was started from; before the working directory changes. */
void newest_find(struct newest *n);
/* Whether a file may become front: root's or ours, and not a tool's to write. what: how it is
 * called. -ATS_E_PERM with a text. Pure but for the path. */
struct stat;
ATS_NODISCARD int newest_check(const struct box *b, const struct stat *st, const char *path,
    uid_t ours, struct ats_err *err);
void newest_poll(const struct newest *n, struct pollfd *p);
void newest_turn(struct newest *n, const struct pollfd *p);

#endif
