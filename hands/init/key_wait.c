/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a key. Runs in the launcher, before there is a box or a connection. Its input:
 * signals, and that a file is there. */
#include "hands/init/key_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/path.h"

#define LOOK_MS 1000	/* where inotify's instances are used up by others of this user */

/* What cannot be looked at is for keys_read to explain. */
static bool
is_there(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno != ENOENT;
	return !S_ISREG(st.st_mode) || st.st_size > 0;
}

static int
watch(const char *path, int *ret_fd, struct ats_err *err)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);

	if (n >= sizeof(dir))
		return ats_err_set(err, ATS_E_TOOBIG, "--key-file: the path is too long");
	(void)snprintf(dir, sizeof(dir), "%.*s", n == 0 ? 1 : (int)n, n == 0 ? "." : path);
	if (access(dir, F_OK) < 0)
		return ats_err_sys(err, "--key-wait: %s, where the key is to come", dir);
	*ret_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (*ret_fd >= 0 && inotify_add_watch(*ret_fd, dir, IN_CREATE | IN_MOVED_TO |
		IN_CLOSE_WRITE) < 0)
		ats_fd_close(ret_fd);
	if (*ret_fd < 0)
		ats_log(ATS_LOG_WARN, "no inotify for the key's directory: looked at once a second",
		    NULL);
	return 0;
}

/* True: we are to end. */
static bool
read_signals(int signals)
{
	struct signalfd_siginfo si;
	bool end = false;

	while (read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		end |= si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT ||
		    si.ssi_signo == SIGQUIT || si.ssi_signo == SIGHUP;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return end;
}

static int
wait_at(const char *path, int limit_s, int signals, int events, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + (uint64_t)limit_s * 1000, now;
	struct pollfd p[2] = { { .fd = signals, .events = POLLIN },
		{ .fd = events, .events = POLLIN } };
	char drop[4096];

	while (!is_there(path)) {
		now = ats_clock_ms();
		if (now >= end)
			return ats_err_set(err, ATS_E_TIMEOUT, "no key came to %s in %d s "
			    "(--key-wait), so nothing was connected to and nothing run; remedy: "
			    "start it again, and give it one in that time (\"ats-hands take-key "
			    "%s\"; ats-kubernetes up does)", path, limit_s, path);
		now = end - now;
		if (events < 0 && now > LOOK_MS)
			now = LOOK_MS;
		if (poll(p, ATS_ARRAY_LEN(p), (int)(now < INT_MAX ? now : INT_MAX)) <= 0)
			continue;
		if (p[0].revents != 0 && read_signals(signals))
			return 1;
		while (p[1].revents != 0 && read(events, drop, sizeof(drop)) > 0)
			;
	}
	return 0;
}

int
key_wait(const char *path, int limit_s, int signals, struct ats_err *err)
{
	int events = -1, rc;

	if (is_there(path))
		return 0;
	rc = watch(path, &events, err);
	if (rc == 0) {
		ats_log(ATS_LOG_INFO, "waits for its key", "file=%s limit_s=%d", path, limit_s);
		rc = wait_at(path, limit_s, signals, events, err);
	}
	ats_fd_close(&events);
	return rc;
}

int
key_workspace(const char *root, const char *path, struct ats_err *err)
{
	const char *rel = ats_path_below(root, path);
	int at, next, rc = 0;

	if (rel == NULL)
		return ats_err_set(err, ATS_E_INVAL, "the workspace %s that came with the key is "
		    "not %s (--workspace) or below it", path, root);
	at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return ats_err_sys(err, "workspace %s", root);
	while (rc == 0 && *rel != '\0' && strcmp(rel, ".") != 0) {
		char name[NAME_MAX + 1];
		size_t n = strcspn(rel, "/");

		if (n >= sizeof(name)) {
			rc = ats_err_set(err, ATS_E_TOOBIG, "workspace %s", path);
			break;
		}
		(void)snprintf(name, sizeof(name), "%.*s", (int)n, rel);
		rel += n + (rel[n] == '/');
		if (mkdirat(at, name, 0755) < 0 && errno != EEXIST) {
			rc = ats_err_sys(err, "mkdir of %s in the way to %s", name, path);
			break;
		}
		next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			rc = ats_err_sys(err, "%s in the way to %s", name, path);
		ats_fd_close(&at);
		at = next;
	}
	ats_fd_close(&at);
	return rc;
}
