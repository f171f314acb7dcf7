/* SPDX-License-Identifier: Apache-2.0
 *
 * What guard.c, guard_look.c and guard_find.c share: the state of the watch, which the zygote
 * and its monitors have in common. Who calls has entered, or has not, as it says. */
#ifndef ATS_HANDS_CONFINE_GUARD_PRIVATE_H
#define ATS_HANDS_CONFINE_GUARD_PRIVATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "hands/confine/guard.h"
#include "hands/confine/keep.h"

enum guard_git {
	GUARD_GIT = 1,	/* it has a .git */
	GUARD_BARE = 2	/* it is a repository itself */
};
struct guard {		/* shared memory: zygote and monitors */
	int lock;		/* a file; its record lock ends with its process */
	struct protect_from from;
	int events, wake, poll;	/* inotify, or -1; calls begin; both */
	bool is_open;		/* one that is there could not be mounted over */
	bool is_watched;	/* events tells of all of dirs */
	guard_protect protect;	/* or NULL */
	struct keep *keep;	/* what cannot be mounted over: all, or symbolic links */
	atomic_uint moved;
	const char *stays;	/* a name that could not be moved aside or put back, or NULL */
	unsigned failed;	/* the number of the call that it outlived, from 1: the box ends */
	bool busy[GUARD_CALLS_MAX];
	bool is_due;		/* a call ended since the workspace was looked through */
	int calls;		/* readable: a call waits for the zygote; or -1 */
	bool left_off;		/* for it; the workspace is looked through later */
	unsigned git;		/* of enum guard_git: what the workspace was */
	bool is_new;		/* that was made by the call that ended */
	struct protect_dirs dirs;
	uint64_t seen[PROTECT_DIRS_MAX];	/* its change time then; 0: look anyway */
	bool absent[PROTECT_DIRS_MAX][PROTECT_NAMES_MAX];
};

/* Lets one process in at a time; leave keeps errno. */
void guard_enter(struct guard *g);
void guard_leave(struct guard *g);
bool guard_any_busy(const struct guard *g);

/* ---- guard_look.c; entered ---------------------------------------------------------- */
/* What is there and was not: moved aside, or from now on the user's. False: nothing can have
 * been made since the last look. */
bool guard_look(struct guard *g, bool move);
/* Moves aside what was made and puts back what was changed; stays: what could not be. */
void guard_undo(struct guard *g);
/* A tool may run: what it made or changed is undone. Or none does: what is there is the user's. */
void guard_settle(struct guard *g);

/* ---- guard_find.c; not entered, but git ------------------------------------------ */
/* What of enum guard_git the workspace is now. */
unsigned guard_git(const struct guard *g);
/* Whether the d-th directory was a repository itself when it was looked through. */
bool guard_is_bare(const struct guard *g, size_t d);
/* Looks through the workspace; leaves off when calls becomes readable, if it is not -1. What is
 * found counts when no tool ran meanwhile. */
void guard_find(struct guard *g, int calls);
ATS_NODISCARD int guard_open_events(struct guard *g, struct ats_err *err);
/* Takes what the kernel told. Whether any of it is about a protected name. */
bool guard_read_events(struct guard *g);

#endif
