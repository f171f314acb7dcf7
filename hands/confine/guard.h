/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch over protected names. Where there is a view, those that exist are read-only mounts
 * in it, and new ones are mounted over as soon as they are the user's; elsewhere they are put
 * back when a tool changed them (see keep.h). A name that does not exist can be made by a tool
 * in both cases, and is moved aside at once: renamed to NAME.quarantine beside it. Only while a
 * shell call runs: what appears at other times is the user's. A repository that a tool makes
 * is looked for when nothing runs, and from then on protected as the others are. */
#ifndef ATS_HANDS_CONFINE_GUARD_H
#define ATS_HANDS_CONFINE_GUARD_H

#include <stdint.h>

#include "hands/confine/protect.h"

#define GUARD_CALLS_MAX 256
#define GUARD_IDLE_MS 250	/* without a call, before the workspace is looked through */

struct guard;

/* A call's own note of how things were when it began. */
struct guard_mark {
	unsigned moved, call;
};
/* Mounts over what exists in these directories; what is done already is left. absent: while
 * tools run, the names that were not there before; NULL: none runs, repositories are complete. */
typedef int (*guard_protect)(const struct protect_dirs *dirs,
    const bool (*absent)[PROTECT_NAMES_MAX], struct ats_err *err);

/* Made once by the shell zygote, for what from names (borrowed for ever); looks through it.
 * protect: NULL where nothing can be mounted. Never freed: its children share it. Where
 * inotify's limits are reached it looks by itself (guard_is_watched). NULL with err set. */
struct guard *guard_new(const struct protect_from *from, guard_protect protect,
    struct ats_err *err);
/* Whether all of the workspace was looked at, the last time, and all that is to be put back is
 * remembered. Otherwise no call begins, and this is why. */
bool guard_is_whole(const struct guard *g);
int guard_refuse(struct ats_err *err);
/* Whether the kernel tells of each name that is made; otherwise it is seen
 * within a second, or when a call ends. */
bool guard_is_watched(const struct guard *g);
/* Whether what is to be put back can be, with its content. */
bool guard_has_contents(const struct guard *g);
/* For poll: readable when guard_turn has something to do; may be -1. */
int guard_fd(const struct guard *g);
/* For poll: after so many ms without anything else guard_idle has something to do; or -1. */
int guard_wait(const struct guard *g);
/* The zygote's turns; guard_turn also before it forgets a call that ended. */
void guard_turn(struct guard *g);
/* Leaves off when calls becomes readable. */
void guard_idle(struct guard *g, int calls);
/* In the zygote: the call of that number (below GUARD_CALLS_MAX) is over, nothing of it runs.
 * False: it left what cannot be put back, the box must end. */
ATS_NODISCARD bool guard_forget(struct guard *g, unsigned call);

enum guard_outcome {
	GUARD_SAME,
	GUARD_MOVED,	/* names were moved aside or put back, for this call or for one beside it */
	GUARD_STAYS	/* one could not be: the box ends */
};
/* In a monitor, before its call comes: what guard_begin reads is in its page tables then. */
void guard_warm(const struct guard *g);
/* In a monitor: the call begins, or may not, since the box ends or not all is looked at; and it
 * ended, nothing of it runs any more. */
ATS_NODISCARD int guard_begin(struct guard *g, unsigned call, struct guard_mark *ret,
    struct ats_err *err);
enum guard_outcome guard_end(struct guard *g, const struct guard_mark *mark);

#endif
