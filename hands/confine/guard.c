/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch over protected names. Runs in the shell zygote, woken by the kernel, and in each
 * monitor at the begin and the end of its call, so that a call's result never comes before.
 * The names are a tool's work or the user's: nothing is followed or opened. */
#include "hands/confine/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/apply.h"
#include "hands/confine/keep.h"
#include "hands/confine/made.h"
#include "hands/confine/mnt.h"

#define EVENTS (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR)
#define TICK_NS 20000000u
#define NEW_MS 100
#define RETRY_MS 20	/* how often what could not be put back is tried while calls run */
#define ROUNDS_MAX 4	/* ... and at the end of one */
#define SLOW_MS 1000	/* how often names are put back below directories that are not watched */

struct guard {		/* shared memory: zygote and monitors */
	int lock;		/* a file; its record lock ends with its process */
	struct protect_from from;
	int events, wake, poll;	/* inotify; calls begin (without mounts); both */
	guard_protect protect;	/* or NULL */
	struct keep *keep;	/* what cannot be mounted over: all, or symbolic links */
	atomic_uint moved;
	const char *stays;	/* a name that could not be moved aside or put back, or NULL */
	unsigned failed;	/* the number of the call that it outlived, from 1: the box ends */
	bool busy[GUARD_CALLS_MAX];
	bool is_due;		/* a call ended since the workspace was looked through */
	int calls;		/* readable: a call waits for the zygote; or -1 */
	bool left_off;		/* for it; the workspace is looked through later */
	bool has_git, is_new;	/* .git; it was made by the call that ended */
	struct protect_dirs dirs;
	uint64_t seen[PROTECT_DIRS_MAX];	/* its change time then; 0: look anyway */
	bool absent[PROTECT_DIRS_MAX][PROTECT_NAMES_MAX];
};

/* A monitor may be killed at any moment: the kernel takes its lock back. (Not a robust mutex:
 * monitors come from a bare clone, and glibc has told the kernel nothing of theirs.) What a
 * killed one left is whole: each change is one store. */
static void
enter(struct guard *g)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	while (fcntl(g->lock, F_SETLKW, &whole) < 0 && errno == EINTR)
		;
}

static void
leave(struct guard *g)
{
	struct flock whole = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	int saved = errno;

	(void)fcntl(g->lock, F_SETLK, &whole);
	errno = saved;
}

static bool
any_busy(const struct guard *g)
{
	for (size_t i = 0; i < GUARD_CALLS_MAX; i++)
		if (g->busy[i])
			return true;
	return false;
}

static void
move_aside(struct guard *g, int at, const char *name)
{
	if (keep_move_aside(at, name) == 0) {
		(void)atomic_fetch_add(&g->moved, 1);
		ats_log(ATS_LOG_WARN, "a protected name was made and moved aside",
		    "name=%s", name);
	} else if (errno != ENOENT && errno != EBUSY) {
		g->stays = name;
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

/* What is there and was not: moved aside, or from now on the user's. False: nothing can have
 * been made since the last look. */
static bool
look(struct guard *g, bool move)
{
	bool any = false;

	for (size_t d = 0; d < g->dirs.n; d++)
		any = look_at(g, d, move) || any;
	return any;
}

static void
undo(struct guard *g)
{
	g->stays = NULL;
	(void)look(g, true);
	(void)atomic_fetch_add(&g->moved, keep_restore(g->keep, &g->stays));
}

/* A call's processes have ended: what it made must be gone. Otherwise nothing is taken for the
 * user's any more, and the box ends. */
static void
undo_call(struct guard *g, unsigned call)
{
	for (unsigned i = 0; g->failed == 0 && i < ROUNDS_MAX; i++) {
		undo(g);
		if (g->stays == NULL)
			return;
	}
	if (g->failed != 0)
		return;
	g->failed = call + 1;
	ats_log(ATS_LOG_ERROR, "a protected name cannot be put back: the box ends", "name=%s",
	    g->stays);
}

/* A tool may run: what it made or changed is undone. Or none does: what is there is the user's. */
static void
settle(struct guard *g)
{
	bool busy = any_busy(g);
	struct ats_err err = { 0 };

	if (g->failed != 0)
		return;
	if (busy) {
		undo(g);
	} else {
		(void)look(g, false);
		keep_take(g->keep, &g->dirs, g->protect != NULL);
	}
	if (g->protect != NULL &&
	    g->protect(&g->dirs, busy ? (const bool (*)[PROTECT_NAMES_MAX])g->absent : NULL,
		&err) < 0)
		ats_log(ATS_LOG_WARN, "a protected name is not read-only", "step=\"%s\"", err.text);
}

static bool
has_git(const struct guard *g)
{
	char path[4096];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/.git", g->from.workspace) < (int)sizeof(path) &&
	    lstat(path, &st) == 0;
}

static bool
is_wanted(void *arg)
{
	struct guard *g = arg;
	struct pollfd p = { .fd = g->calls, .events = POLLIN };

	g->left_off = any_busy(g) || poll(&p, 1, 0) > 0;
	return g->left_off;
}

/* Looks through the workspace. What is found counts when no tool ran meanwhile. */
static void
find(struct guard *g)
{
	static struct protect_dirs found;

	enter(g);
	g->is_due = false;
	g->left_off = false;
	leave(g);
	protect_find(&g->from, &found);
	enter(g);
	g->is_due = g->is_due || g->left_off;
	if (any_busy(g) || g->is_due || g->failed != 0) {	/* a tool's work may be among it */
		g->is_due = g->failed == 0;
		leave(g);
		return;
	}
	if (!found.whole && (g->dirs.whole || g->dirs.n == 0))
		ats_log(ATS_LOG_WARN,
		    "the workspace cannot be looked through as a whole: no shell runs there", NULL);
	memset(g->seen, 0, sizeof(g->seen));
	memcpy(&g->dirs, &found, offsetof(struct protect_dirs, v) + found.n * sizeof(found.v[0]));
	g->has_git = has_git(g);
	g->is_new = false;
	for (size_t d = 0; g->events >= 0 && d < g->dirs.n; d++)
		if (inotify_add_watch(g->events, g->dirs.v[d].path, EVENTS | IN_DONT_FOLLOW) < 0 &&
		    errno == ENOSPC)
			break;	/* the ends of calls remain */
	settle(g);
	leave(g);
}

static int
open_events(struct guard *g, struct ats_err *err)
{
	struct epoll_event e = { .events = EPOLLIN };

	g->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	g->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	g->poll = epoll_create1(EPOLL_CLOEXEC);
	if (g->wake < 0 || g->poll < 0 || epoll_ctl(g->poll, EPOLL_CTL_ADD, g->wake, &e) < 0 ||
	    (g->events >= 0 && epoll_ctl(g->poll, EPOLL_CTL_ADD, g->events, &e) < 0))
		return ats_err_sys(err, "guard: epoll");
	return 0;
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
	if (g->keep == NULL || open_events(g, err) < 0)
		return NULL;
	find(g);
	if (protect != NULL && protect(&g->dirs, NULL, err) < 0)
		return NULL;
	return g;
}

bool
guard_is_whole(const struct guard *g)
{
	return g->dirs.whole;
}

int
guard_fd(const struct guard *g)
{
	return g->poll;
}

int
guard_wait(const struct guard *g)
{
	if (any_busy(g) && g->stays != NULL)
		return RETRY_MS;
	if (any_busy(g))
		return g->protect == NULL ? SLOW_MS : -1;
	return g->is_due ? GUARD_IDLE_MS : -1;
}

static bool
concerns(const struct inotify_event *e)
{
	if ((e->mask & IN_Q_OVERFLOW) != 0)
		return true;
	if (e->len > 0 && strcmp(e->name, ".git") == 0)
		return true;
	for (size_t i = 0; e->len > 0 && i < PROTECT_NAMES_MAX && protect_names[i] != NULL; i++) {
		const char *slash = strrchr(protect_names[i], '/');

		if (strcmp(slash != NULL ? slash + 1 : protect_names[i], e->name) == 0)
			return true;
	}
	return false;
}

void
guard_turn(struct guard *g)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool any = false, is_new;
	uint64_t begins;
	ssize_t n;

	if (read(g->wake, &begins, sizeof(begins)) < 0)
		begins = 0;

	while (g->events >= 0 && (n = read(g->events, buf, sizeof buf)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e =
			    (const void *)(buf + at);

			any = any || concerns(e);
			at += (ssize_t)(sizeof *e + e->len);
		}
	if (!any)
		return;
	enter(g);
	settle(g);
	is_new = !any_busy(g) && has_git(g) != g->has_git;
	leave(g);
	if (is_new)
		find(g);
}

void
guard_idle(struct guard *g, int calls)
{
	bool busy, due;

	enter(g);
	busy = any_busy(g);
	due = g->is_due;
	if (busy)
		settle(g);
	leave(g);
	if (busy || !due)
		return;
	g->calls = calls;
	g->from.stop = is_wanted;
	g->from.arg = g;
	find(g);
	g->from.stop = NULL;
}

bool
guard_forget(struct guard *g, unsigned call)
{
	bool is_new, failed;

	enter(g);
	if (g->busy[call]) {	/* its monitor was killed */
		undo_call(g, call);
		settle(g);
		g->busy[call] = false;
		g->is_due = true;
	}
	failed = g->failed == call + 1;
	is_new = !any_busy(g) && has_git(g) != g->has_git;
	leave(g);
	if (is_new && !failed)
		find(g);
	return !failed;
}

/* Enters. A repository that the last call made is the zygote's to protect first; it does not
 * take long, unless other calls run. */
static void
wait_for_new(struct guard *g)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	enter(g);
	for (unsigned i = 0; i < NEW_MS && g->is_new && !any_busy(g); i++) {
		leave(g);
		(void)nanosleep(&ms, NULL);
		enter(g);
	}
}

int
guard_begin(struct guard *g, unsigned call, struct guard_mark *ret, struct ats_err *err)
{
	wait_for_new(g);
	if (g->failed != 0) {
		leave(g);
		return ats_err_set(err, ATS_E_CONFINE,
		    "a protected name cannot be put back: the sandbox ends");
	}
	/* What the user made a moment ago is the user's, also when the zygote did not come to
	 * see it yet. Beside another call it could be that call's. */
	if (!any_busy(g) && (look(g, false) || g->protect == NULL))
		keep_take(g->keep, &g->dirs, g->protect != NULL);
	ret->call = call;
	ret->moved = atomic_load(&g->moved);
	g->busy[call] = true;
	leave(g);
	if (g->protect == NULL && eventfd_write(g->wake, 1) < 0)
		errno = 0;	/* then the end of the call is when names are put back */
	return 0;
}

enum guard_outcome
guard_end(struct guard *g, const struct guard_mark *mark)
{
	bool failed;

	enter(g);
	undo_call(g, mark->call);
	failed = g->failed != 0;
	if (!g->has_git)	/* as it was looked through: what is there is a call's */
		(void)atomic_fetch_add(&g->moved, made_settle(g->from.workspace,
		    g->from.config_is_open));
	g->busy[mark->call] = false;
	g->is_due = !failed;
	g->is_new = has_git(g) != g->has_git;
	leave(g);
	if (failed)
		return GUARD_STAYS;
	return atomic_load(&g->moved) != mark->moved ? GUARD_MOVED : GUARD_SAME;
}
