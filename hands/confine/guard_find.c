/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the directories in which protected names count, and has the kernel tell of changes in
 * them. Runs in the shell zygote. The names are a tool's work or the user's. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "hands/confine/guard_private.h"
#include "hands/confine/made.h"

#define EVENTS (IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR)

unsigned
guard_git(const struct guard *g)
{
	char path[4096];
	struct stat st;
	bool has_git =
	    snprintf(path, sizeof(path), "%s/.git", g->from.workspace) < (int)sizeof(path) &&
	    lstat(path, &st) == 0;

	return (has_git ? GUARD_GIT : 0) | (made_is_bare(g->from.workspace) ? GUARD_BARE : 0);
}

bool
guard_is_bare(const struct guard *g, size_t d)
{
	for (size_t i = 0; i < g->dirs.n; i++)
		if (g->dirs.v[i].kind == PROTECT_GIT &&
		    strcmp(g->dirs.v[i].path, g->dirs.v[d].path) == 0)
			return true;
	return false;
}

static bool
is_wanted(void *arg)
{
	struct guard *g = arg;
	struct pollfd p = { .fd = g->calls, .events = POLLIN };

	g->left_off = guard_any_busy(g) || poll(&p, 1, 0) > 0;
	return g->left_off;
}

/* What cannot be watched is looked at each second, and when calls begin and end. */
static void
watch(struct guard *g)
{
	bool was = g->is_watched;

	g->is_watched = g->events >= 0;
	for (size_t d = 0; g->is_watched && d < g->dirs.n; d++)
		if (inotify_add_watch(g->events, g->dirs.v[d].path, EVENTS | IN_DONT_FOLLOW) < 0 &&
		    errno != ENOENT && errno != ENOTDIR)
			g->is_watched = false;
	if (was && !g->is_watched)
		ats_log(ATS_LOG_WARN,
		    "the limits of inotify are reached: names are noticed late", NULL);
}

void
guard_find(struct guard *g, int calls)
{
	static struct protect_dirs found;

	g->calls = calls;
	g->from.stop = calls >= 0 ? is_wanted : NULL;
	g->from.arg = g;
	guard_enter(g);
	g->is_due = false;
	g->left_off = false;
	guard_leave(g);
	protect_find(&g->from, &found);
	guard_enter(g);
	g->is_due = g->is_due || g->left_off;
	if (guard_any_busy(g) || g->is_due || g->failed != 0) {	/* a tool's work may be among it */
		g->is_due = g->failed == 0;
		guard_leave(g);
		return;
	}
	if (!found.whole && (g->dirs.whole || g->dirs.n == 0))
		ats_log(ATS_LOG_WARN,
		    "the workspace cannot be looked through as a whole: no shell runs there", NULL);
	memset(g->seen, 0, sizeof(g->seen));
	memcpy(&g->dirs, &found, offsetof(struct protect_dirs, v) + found.n * sizeof(found.v[0]));
	g->git = guard_git(g);
	g->is_new = false;
	watch(g);
	guard_settle(g);
	guard_leave(g);
}

int
guard_open_events(struct guard *g, struct ats_err *err)
{
	struct epoll_event e = { .events = EPOLLIN };

	g->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	g->is_watched = true;
	g->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	g->poll = epoll_create1(EPOLL_CLOEXEC);
	if (g->wake < 0 || g->poll < 0 || epoll_ctl(g->poll, EPOLL_CTL_ADD, g->wake, &e) < 0 ||
	    (g->events >= 0 && epoll_ctl(g->poll, EPOLL_CTL_ADD, g->events, &e) < 0))
		return ats_err_sys(err, "guard: epoll");
	return 0;
}

/* With these a directory has a repository, or becomes one. */
static const char *const of_git[] = { ".git", "HEAD", "objects", "refs" };

static bool
concerns(const struct inotify_event *e)
{
	if ((e->mask & IN_Q_OVERFLOW) != 0)
		return true;
	for (size_t i = 0; e->len > 0 && i < ATS_ARRAY_LEN(of_git); i++)
		if (strcmp(e->name, of_git[i]) == 0)
			return true;
	for (size_t i = 0; e->len > 0 && i < PROTECT_NAMES_MAX && protect_names[i] != NULL; i++) {
		const char *slash = strrchr(protect_names[i], '/');

		if (strcmp(slash != NULL ? slash + 1 : protect_names[i], e->name) == 0)
			return true;
	}
	return false;
}

bool
guard_read_events(struct guard *g)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool any = false;
	ssize_t n;

	while (g->events >= 0 && (n = read(g->events, buf, sizeof buf)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e =
			    (const void *)(buf + at);

			any = any || concerns(e);
			at += (ssize_t)(sizeof *e + e->len);
		}
	return any;
}
