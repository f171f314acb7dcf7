/* SPDX-License-Identifier: Apache-2.0
 *
 * One look at the protected names: what was made is moved aside, what was changed is put back, or
 * all of it is the user's. Runs in the shell zygote and in monitors. The names are a tool's work
 * or the user's: nothing is followed, and only the directories that hold them are opened. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/guard_private.h"
#include "hands/confine/mnt.h"

#define TICK_NS 20000000u
#define PROTECT_TRIES 5	/* at names that change while they are mounted over */

static void
move_aside(struct guard *g, int at, const char *name)
{
	switch (keep_put_aside(at, name, "it is protected")) {
	case KEEP_GONE: break;
	case KEEP_MOVED: (void)atomic_fetch_add(&g->moved, 1); break;
	case KEEP_STAYS: g->stays = name; break;
	}
}

/* Of a directory, in ns: an entry that is made changes it, and no tool can undo that. 0: before
 * Linux 6.13 two changes within a tick have the same time, nothing follows from a young one. */
static uint64_t
settled_time(const struct stat *st)
{
	uint64_t changed =
	    (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec;
	struct timespec t;

	if (clock_gettime(CLOCK_REALTIME, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec > changed + TICK_NS ?
	    changed : 0;
}

/* What keep remembers is put back by it, and by nobody else. */
static void
look_at_name(struct guard *g, size_t d, size_t i, int at, bool move)
{
	const char *name = protect_name(&g->dirs, d, i);
	struct stat st;
	bool is_there;

	if (name == NULL)
		return;
	is_there = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!move)
		g->absent[d][i] = !is_there;
	else if (is_there != g->absent[d][i] || keep_has(g->keep, d, name))
		return;		/* as it was, or keep's */
	else if (is_there)
		move_aside(g, at, name);
	else
		g->absent[d][i] = true;
}

static bool
look_at(struct guard *g, size_t d, bool move)
{
	ATS_CLEANUP_FD int at = -1;
	struct stat st;
	uint64_t changed;

	if (move)
		at = keep_open_dir(g->dirs.v[d].path);
	else
		(void)!mnt_open_dir(g->dirs.v[d].path, &at, NULL);
	if (move && at < 0 && errno == EACCES)
		g->stays = g->dirs.v[d].path;
	if (at < 0 || fstat(at, &st) < 0)
		return true;
	changed = settled_time(&st);
	if (changed != 0 && changed == g->seen[d])
		return false;
	g->seen[d] = changed;
	for (size_t i = 0; i < PROTECT_NAMES_MAX; i++)
		look_at_name(g, d, i, at, move);
	if (g->stays != NULL)
		g->seen[d] = 0;
	return true;
}

bool
guard_look(struct guard *g, bool move)
{
	bool any = false;

	for (size_t d = 0; d < g->dirs.n; d++)
		any = look_at(g, d, move) || any;
	return any;
}

void
guard_warm(const struct guard *g)
{
	const volatile uint64_t *seen = g->seen;
	const struct stat st = { 0 };

	(void)seen[0];
	(void)settled_time(&st);
	(void)guard_is_whole(g);
}

void
guard_undo(struct guard *g)
{
	g->stays = NULL;
	(void)guard_look(g, true);
	(void)atomic_fetch_add(&g->moved, keep_restore(g->keep, &g->stays));
}

/* What the user exchanges at this moment cannot be mounted over, what is there next can. */
static int
protect(struct guard *g, bool busy, struct ats_err *err)
{
	int rc = -ATS_E_SYS;

	for (unsigned i = 0; rc < 0 && i < PROTECT_TRIES; i++)
		rc = g->protect(&g->dirs,
		    busy ? (const bool (*)[PROTECT_NAMES_MAX])g->absent : NULL, err);
	return rc;
}

void
guard_settle(struct guard *g)
{
	bool busy = guard_any_busy(g);
	struct ats_err err = { 0 };

	if (g->failed != 0)
		return;
	if (busy) {
		guard_undo(g);
	} else {
		(void)guard_look(g, false);
		keep_take(g->keep, &g->dirs, g->protect != NULL);
	}
	if (g->protect == NULL)
		return;
	g->is_open = protect(g, busy, &err) < 0;
	if (g->is_open)
		ats_log(ATS_LOG_WARN, "a protected name is not read-only: no call begins",
		    "step=\"%s\"", err.text);
}
