/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch over protected names. Runs in the shell zygote, woken by the kernel, and in each
 * monitor at the begin and the end of its call, so that a call's result never comes before. */
#include "hands/confine/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/apply.h"
#include "hands/confine/guard_private.h"
#include "hands/confine/made.h"
#include "hands/confine/scan.h"

#define NEW_MS 100
#define RETRY_MS 20	/* how often what could not be put back is tried while calls run */
#define ROUNDS_MAX 4	/* ... and at the end of one */
#define SLOW_MS 1000	/* how often names are put back below directories that are not watched */

/* A monitor may be killed at any moment: the kernel takes its lock back. (Not a robust mutex:
 * monitors come from a bare clone, and glibc has told the kernel nothing of theirs.) What a
 * killed one left is whole: each change is one store. */
void
guard_enter(struct guard *g)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	while (fcntl(g->lock, F_SETLKW, &whole) < 0 && errno == EINTR)
		;
}

void
guard_leave(struct guard *g)
{
	struct flock whole = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	int saved = errno;

	(void)fcntl(g->lock, F_SETLK, &whole);
	errno = saved;
}

bool
guard_any_busy(const struct guard *g)
{
	for (size_t i = 0; i < GUARD_CALLS_MAX; i++)
		if (g->busy[i])
			return true;
	return false;
}

/* Repositories that calls made: what was there when the workspace was looked through is the
 * user's. A work tree becomes one itself when its .git is made useless, which tools can. */
static unsigned
settle_made(struct guard *g)
{
	unsigned moved = 0;

	if ((g->git & GUARD_GIT) == 0)
		moved = made_settle(g->from.workspace, g->from.config_is_open, &g->stays);
	for (size_t d = 0; d < g->dirs.n; d++) {
		const struct protect_dir *dir = &g->dirs.v[d];

		if ((dir->kind == PROTECT_TREE || dir->kind == PROTECT_LINKED) &&
		    made_is_bare(dir->path) && !guard_is_bare(g, d))
			moved += made_settle_bare(dir->path, g->from.config_is_open, &g->stays);
	}
	return moved;
}

/* A call's processes have ended: what it made must be gone. Otherwise nothing is taken for the
 * user's any more, and the box ends. */
static void
undo_call(struct guard *g, unsigned call)
{
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		guard_undo(g);
		(void)atomic_fetch_add(&g->moved, settle_made(g));
		if (g->stays == NULL)
			return;
	}
	if (g->failed != 0)
		return;
	g->failed = call + 1;
	ats_log(ATS_LOG_ERROR, "a protected name cannot be put back: the box ends", "name=%s",
	    g->stays);
}

struct guard *
guard_new(const struct protect_from *from, guard_protect protect, struct ats_err *err)
{
	struct guard *g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (g == MAP_FAILED) {
		(void)ats_err_sys(err, "guard: mmap");
		return NULL;
	}
	g->from = *from;
	g->protect = protect;
	/* Closing another descriptor of it would give the lock up: from here on there is none. */
	g->lock = memfd_create("guard", MFD_CLOEXEC);
	if (g->lock < 0 || ats_fd_raise(&g->lock, CONFINE_FD_MIN) < 0) {
		(void)ats_err_sys(err, "guard: lock");
		return NULL;
	}
	g->keep = keep_new(err);
	if (g->keep == NULL || guard_open_events(g, err) < 0)
		return NULL;
	guard_find(g, -1);
	if (protect != NULL && protect(&g->dirs, NULL, err) < 0)
		return NULL;
	return g;
}

bool
guard_is_whole(const struct guard *g)
{
	return g->dirs.whole && keep_is_whole(g->keep);
}

int
guard_refuse(struct ats_err *err)
{
	return ats_err_set(err, ATS_E_CONFINE,
	    "No command runs in this workspace: it cannot be looked through as a whole for "
	    "repositories and sockets to protect. It has more than %u entries, %u repositories, "
	    "%u sockets or %u protected names, is deeper than %u or one of these than %u, or has "
	    "a directory its owner cannot read. Have them removed outside and try again; where "
	    "it was so from the start, run `atsctl shutdown` before, or open a smaller one. "
	    "File tools work.", SCAN_ENTRIES_MAX,
	    PROTECT_DIRS_MAX, SCAN_SOCKETS_MAX, KEEP_ITEMS_MAX, SCAN_DEPTH_MAX, KEEP_DEPTH_MAX);
}

bool
guard_is_watched(const struct guard *g)
{
	return g->is_watched;
}

bool
guard_has_contents(const struct guard *g)
{
	return keep_has_contents(g->keep);
}

int
guard_fd(const struct guard *g)
{
	return g->poll;
}

int
guard_wait(const struct guard *g)
{
	if (guard_any_busy(g) && g->stays != NULL)
		return RETRY_MS;
	if (guard_any_busy(g))
		return g->protect == NULL || !g->is_watched ? SLOW_MS : -1;
	return g->is_due ? GUARD_IDLE_MS : -1;
}

void
guard_turn(struct guard *g)
{
	uint64_t begins;
	bool is_new, is_due;

	/* What was not told of, and is the user's, is mounted over when a call begins. */
	is_due = read(g->wake, &begins, sizeof(begins)) > 0 && g->protect != NULL;
	if (!guard_read_events(g) && !is_due)
		return;
	guard_enter(g);
	guard_settle(g);
	is_new = !guard_any_busy(g) && guard_git(g) != g->git;
	guard_leave(g);
	if (is_new)
		guard_find(g, -1);
}

void
guard_idle(struct guard *g, int calls)
{
	bool busy, due;

	guard_enter(g);
	busy = guard_any_busy(g);
	due = g->is_due;
	if (busy)
		guard_settle(g);
	guard_leave(g);
	if (busy || !due)
		return;
	guard_find(g, calls);
}

bool
guard_forget(struct guard *g, unsigned call)
{
	bool is_new, failed;

	guard_enter(g);
	if (g->busy[call]) {	/* its monitor was killed */
		undo_call(g, call);
		guard_settle(g);
		g->busy[call] = false;
		g->is_due = true;
	}
	failed = g->failed == call + 1;
	is_new = !guard_any_busy(g) && guard_git(g) != g->git;
	guard_leave(g);
	if (is_new && !failed)
		guard_find(g, -1);
	return !failed;
}

/* Enters. A repository that the last call made is the zygote's to protect first; it does not
 * take long, unless other calls run. */
static void
wait_for_new(struct guard *g)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	guard_enter(g);
	for (unsigned i = 0; i < NEW_MS && g->is_new && !guard_any_busy(g); i++) {
		guard_leave(g);
		(void)nanosleep(&ms, NULL);
		guard_enter(g);
	}
}

static int
may_begin(struct guard *g, struct ats_err *err)
{
	if (g->failed != 0)
		return ats_err_set(err, ATS_E_CONFINE,
		    "a protected name cannot be put back: the sandbox ends");
	if (guard_is_whole(g) && !g->is_open)
		return 0;
	/* The zygote tries it again: nothing else may tell it that the reason is gone. */
	g->is_due = g->is_due || !g->dirs.whole;
	if (eventfd_write(g->wake, 1) < 0)
		errno = 0;
	if (!guard_is_whole(g))
		return guard_refuse(err);
	return ats_err_set(err, ATS_E_CONFINE,
	    "No command runs: a name that programs on the host execute or trust could not be "
	    "made read-only. hands.log names it; try again. File tools work.");
}

int
guard_begin(struct guard *g, unsigned call, struct guard_mark *ret, struct ats_err *err)
{
	int rc;

	wait_for_new(g);
	/* What the user made a moment ago is the user's, also when the zygote did not come to
	 * see it yet. Beside another call it could be that call's. */
	if (g->failed == 0 && !guard_any_busy(g) &&
	    (guard_look(g, false) || g->protect == NULL || !keep_is_whole(g->keep)))
		keep_take(g->keep, &g->dirs, g->protect != NULL);
	rc = may_begin(g, err);
	if (rc < 0) {
		guard_leave(g);
		return rc;
	}
	ret->call = call;
	ret->moved = atomic_load(&g->moved);
	g->busy[call] = true;
	guard_leave(g);
	if ((g->protect == NULL || !g->is_watched) && eventfd_write(g->wake, 1) < 0)
		errno = 0;	/* then the end of the call is when names are put back */
	return 0;
}

enum guard_outcome
guard_end(struct guard *g, const struct guard_mark *mark)
{
	bool failed;

	guard_enter(g);
	undo_call(g, mark->call);
	failed = g->failed != 0;
	g->busy[mark->call] = false;
	g->is_due = !failed;
	g->is_new = guard_git(g) != g->git;
	guard_leave(g);
	if (failed)
		return GUARD_STAYS;
	return atomic_load(&g->moved) != mark->moved ? GUARD_MOVED : GUARD_SAME;
}
