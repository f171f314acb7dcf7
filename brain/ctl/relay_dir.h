/* SPDX-License-Identifier: Apache-2.0
 *
 * A relay directory from the host's side: which requests there are, taking them, putting
 * answers. The other side can put anything there, at any time: nothing is followed, nothing that
 * is no plain file of its owner is read, nothing waits for it, and its texts become no part of a
 * message. Process: atsctl relay. */
#ifndef ATS_CTL_RELAY_DIR_H
#define ATS_CTL_RELAY_DIR_H

#include <dirent.h>
#include <sys/types.h>

#include "common/buf.h"
#include "proto/relaydir.h"

#define RELAY_OWNERS 3u
#define RELAY_PUBLISHED 1024u		/* answers that are remembered until they are fetched */
#define RELAY_KEEP_MS 900000u		/* one that nobody fetched is removed then */

struct relay_published {
	char id[ATS_RELAYDIR_ID_MAX + 1];
	uint64_t at_ms;
};
struct relay_dir {
	int fd, watch;
	uid_t owners[RELAY_OWNERS];	/* whose requests count */
	size_t nowners;
	mode_t mode;			/* of what we write */
	char events[4096] __attribute__((aligned(8)));
	size_t nevents, event;
	DIR *list;			/* owned */
	bool listing;			/* it is gone through now */
	bool again;			/* what the hints did not name may be there */
	uint64_t began_ms, took_ms, ended_ms;	/* the last listing */
	struct relay_published *published;	/* owned, a ring of RELAY_PUBLISHED */
	size_t newest;
};
/* path: a directory that is there. owner: one more whose files count, beside ours and the
 * directory's, or (uid_t)-1. The watch is armed then. */
ATS_NODISCARD int relay_dir_open(struct relay_dir *d, const char *path, uid_t owner,
    struct ats_err *err);
void relay_dir_close(struct relay_dir *d);
/* Removes requests, answers and their temporaries of an earlier time. -ATS_E_SYS. */
ATS_NODISCARD int relay_dir_sweep(struct relay_dir *d, struct ats_err *err);
/* The id of a request that may be there: 1; 0 nothing until the watch or the time tells more;
 * -ATS_E_AGAIN when there is more to look at, but others shall have their turn first. */
int relay_dir_next(struct relay_dir *d, char ret_id[ATS_RELAYDIR_ID_MAX + 1]);
/* Until relay_dir_next is to be called again without an event. */
int relay_dir_wait_ms(const struct relay_dir *d);
/* Reads a request into out and removes it. 0; -ATS_E_NOENT it is not there; -ATS_E_NOTFILE,
 * _PERM, _TOOBIG or _SYS: it was removed unread, err says why, for the other side;
 * -ATS_E_BUSY: it cannot be removed, and is left alone. */
ATS_NODISCARD int relay_dir_take(struct relay_dir *d, const char *id, struct ats_buf *out,
    struct ats_err *err);
/* Publishes an answer. What was there by that name is replaced. */
ATS_NODISCARD int relay_dir_answer(struct relay_dir *d, const char *id, const char *text,
    size_t n, struct ats_err *err);
/* Removes answers that nobody fetched. */
void relay_dir_forget_old(struct relay_dir *d);
/* Whether it was removed. */
bool relay_dir_is_gone(const struct relay_dir *d);
/* Writes a file whole: by a temporary beside it and a rename. */
ATS_NODISCARD int relay_put(int dir, const char *name, const char *temp, mode_t mode,
    const char *text, size_t n, struct ats_err *err);

#endif
