/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the per-user brain, or starts one. Process: atsctl, maybe many at once: whoever
 * holds RUNTIME/start.lock starts, the others find it running. RUNTIME/brain.lock is held
 * by a brain as long as it lives. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/leave.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/fd.h"

#define READY_MS 30000u
#define OLD_BRAIN_MS 15000u
#define LOCK_POLL_MS 20		/* flock has no timeout of its own */
#define ANSWER_S 60
#define LOG_MAX (8 << 20)

const char *const *
brain_environment(void)
{
	static const char *const names[] = { ATS_BRAIN_ENVIRONMENT, "REMOTE_TOOLS_URL" };
	static const char *env[ATS_ARRAY_LEN(names) + 1];
	size_t n = 0;

	for (char **e = environ; *e != NULL; e++) {
		for (size_t i = 0; i < ATS_ARRAY_LEN(names) && n < ATS_ARRAY_LEN(names);
		     i++) {
			size_t len = strlen(names[i]);

			if (strncmp(*e, names[i], len) == 0 && (*e)[len] == '=')
				env[n++] = *e;
		}
	}
	env[n] = NULL;
	return env;
}

static int
join(char out[ATS_PATH_MAX], const char *dir, const char *name, struct ats_err *err)
{
	int n = snprintf(out, ATS_PATH_MAX, "%s/%s", dir, name);

	if (n < 0 || n >= ATS_PATH_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "%.64s...: path too long", dir);
	return 0;
}

int
brain_program(const char *name, char out[ATS_PATH_MAX], struct ats_err *err)
{
	char self[ATS_PATH_MAX], beside[64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash != NULL) {
			*slash = '\0';
			if (join(out, self, name, NULL) == 0 && access(out, X_OK) == 0)
				return 0;
			(void)snprintf(beside, sizeof(beside), "../libexec/ats/%s", name);
			if (join(out, self, beside, NULL) == 0 && access(out, X_OK) == 0)
				return 0;
		}
	}
	if (join(out, ATS_LIBEXECDIR, name, NULL) == 0 && access(out, X_OK) == 0)
		return 0;
	return ats_err_set(err, ATS_E_NOENT,
	    "%s is neither beside atsctl, nor in ../libexec/ats from there, nor in %s; "
	    "install it there", name,
	    ATS_LIBEXECDIR);
}

/* Connects with a bound on waiting for answers. */
static int
try_connect(const char *path, int *ret_fd, struct ats_err *err)
{
	struct timeval tv = { .tv_sec = ANSWER_S };
	int fd, rc = ats_fd_unix_connect(path, SOCK_SEQPACKET, &fd, err);

	if (rc < 0)
		return rc;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	*ret_fd = fd;
	return 0;
}

static int
open_lock(const char *dir, const char *name, struct ats_err *err)
{
	char path[ATS_PATH_MAX];
	int fd, rc = join(path, dir, name, err);

	if (rc < 0)
		return rc;
	rc = ats_places_open_lock(path, &fd, err);
	return rc < 0 ? rc : fd;
}

/* A brain that is ending, or starting by other means, holds its lock: waits until it
 * answers (1) or is gone (0). */
static int
await_old_brain(struct ctl *c, int *ret_fd, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + OLD_BRAIN_MS;
	int fd = open_lock(c->places.runtime, "brain.lock", err);
	int rc = fd < 0 ? fd : -ATS_E_BUSY, left;

	while (rc == -ATS_E_BUSY && ats_clock_ms() < end) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			rc = 0;
		else if (try_connect(c->vault_path, ret_fd, NULL) == 0)
			rc = 1;
		else if ((left = leave_poll(c->leave, NULL, LOCK_POLL_MS, err)) < 0)
			rc = left;
	}
	if (fd >= 0)
		(void)close(fd);
	if (rc == -ATS_E_BUSY)
		return ats_err_set(err, ATS_E_BUSY,
		    "a brain holds %s/brain.lock but does not answer; end it and try again",
		    c->places.runtime);
	return rc;
}

static int
open_log(const char *state, char path[ATS_PATH_MAX], struct ats_err *err)
{
	char old[ATS_PATH_MAX];
	struct stat st;
	int fd, rc = join(path, state, "brain.log", err);

	if (rc == 0)
		rc = join(old, state, "brain.log.1", err);
	if (rc < 0)
		return rc;
	if (lstat(path, &st) == 0 && st.st_size > LOG_MAX)
		(void)rename(path, old);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? ats_err_sys(err, "%s", path) : fd;
}

/* Reads the one line of --ready-fd. */
static int
await_ready(struct leave *leave, int fd, const char *log, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + READY_MS, now;
	char line[512];
	size_t n = 0;
	ssize_t got;
	int rc;

	while (n < sizeof(line) - 1 && (now = ats_clock_ms()) < end) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		rc = leave_poll(leave, &p, (int)(end - now), err);
		if (rc < 0)
			return rc;
		if (p.revents == 0)
			continue;
		got = ats_fd_read(fd, line + n, sizeof(line) - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
		if (line[n - 1] == '\n')
			break;
	}
	while (n > 0 && line[n - 1] == '\n')
		n--;
	line[n] = '\0';
	if (strcmp(line, "ready") == 0)
		return 0;
	if (n > 0)
		return ats_err_set(
		    err, ATS_E_SYS, "brain did not start: %s; see %s", line, log);
	return ats_err_set(err, ATS_E_SYS, "brain %s; see %s", ats_clock_ms() >= end ?
	    "was not ready in time" : "ended while it started", log);
}

static void
reap(struct ctl *c)
{
	if (c->brain_pid > 0 && waitpid(c->brain_pid, NULL, WNOHANG) != 0)
		c->brain_pid = 0;
}

static int
start(struct ctl *c, struct ats_err *err)
{
	int ATS_CLEANUP_FD log = -1;
	int ATS_CLEANUP_FD ready_r = -1;
	int ATS_CLEANUP_FD ready_w = -1;
	char path[ATS_PATH_MAX], log_path[ATS_PATH_MAX];
	const char *argv[] = { "ats-brain", "--ready-fd", "3", "--runtime",
		c->places.runtime, "--state", c->places.state, NULL };
	int ready[2], rc;

	rc = ats_places_make(c->places.state, err);
	if (rc == 0)
		rc = brain_program("ats-brain", path, err);
	if (rc < 0)
		return rc;
	log = open_log(c->places.state, log_path, err);
	if (log < 0)
		return log;
	if (ats_fd_pipe(ready, 0) < 0)
		return ats_err_sys(err, "pipe");
	ready_r = ready[0];
	ready_w = ready[1];
	const struct ats_child_fd fds[] = { { log, 2 }, { ready_w, 3 } };
	const struct ats_child child = { .path = path, .exec_fd = -1, .argv = argv,
		.env = brain_environment(), .fds = fds, .nfds = ATS_ARRAY_LEN(fds),
		.new_session = true };
	reap(c);
	rc = ats_child_start(&child, &c->brain_pid, NULL, err);
	if (rc < 0)
		return rc;
	ats_fd_close(&ready_w);
	return await_ready(c->leave, ready_r, log_path, err);
}

static int
start_locked(struct ctl *c, int *ret_fd, struct ats_err *err)
{
	int ATS_CLEANUP_FD lock = -1;
	int rc = ats_places_make(c->places.runtime, err);

	if (rc < 0)
		return rc;
	lock = open_lock(c->places.runtime, "start.lock", err);
	if (lock < 0)
		return lock;
	while (flock(lock, c->leave != NULL ? LOCK_EX | LOCK_NB : LOCK_EX) < 0) {
		if (errno != EINTR && errno != EWOULDBLOCK)
			return ats_err_sys(err, "%s/start.lock", c->places.runtime);
		rc = errno == EINTR ? 0 : leave_poll(c->leave, NULL, LOCK_POLL_MS, err);
		if (rc < 0)
			return rc;
	}
	if (try_connect(c->vault_path, ret_fd, NULL) == 0)
		return 0;
	rc = await_old_brain(c, ret_fd, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = start(c, err);
	return rc < 0 ? rc : try_connect(c->vault_path, ret_fd, err);
}

int
brain_peer_check(const struct ctl *c, int fd, const char *path, struct ats_err *err)
{
	uid_t uid;

	if (c->socket != NULL)		/* chosen by name, as of a brain of the system */
		return 0;
	if (ats_fd_peer(fd, &uid, NULL, NULL) < 0)
		return ats_err_sys(err, "%s: peer", path);
	if (uid != geteuid() && uid != 0)
		return ats_err_set(err, ATS_E_PERM,
		    "%s: another user (uid %lu) listens there; remove it, or set XDG_RUNTIME_DIR",
		    path, (unsigned long)uid);
	return 0;
}

static int
find_or_start(struct ctl *c, bool may_start, int *ret_fd, struct ats_err *err)
{
	struct ats_err why = { 0 };
	int rc = 0;

	if (c->vault_path[0] == '\0')
		rc = ctl_find_places(c, err);
	if (rc < 0)
		return rc;
	rc = try_connect(c->vault_path, ret_fd, &why);
	if (rc == 0)
		return 0;
	if (may_start && !c->no_start && c->socket == NULL)
		return start_locked(c, ret_fd, err);
	/* There is one: to start it is no help. */
	if (c->socket != NULL && rc == -ATS_E_PERM)
		return ats_err_set(err, ATS_E_PERM, "%s; members of the socket's group may "
		    "connect, after a new log-in", why.text);
	if (may_start && c->socket != NULL)
		return ats_err_set(err, ATS_E_NOENT,
		    "no brain answers at %s; start it, or leave out --socket", c->socket);
	if (c->socket != NULL)
		return ats_err_set(err, ATS_E_NOENT, "no brain answers at %s", c->socket);
	return ats_err_set(err, ATS_E_NOENT, "no brain runs%s",
	    may_start ? "; leave out --no-start, or start ats-brain"
		      : "; atsctl exec, call or mcp start one");
}

int
brain_connect(struct ctl *c, bool may_start, int *ret_fd, struct ats_err *err)
{
	ATS_CLEANUP_FD int fd = -1;
	int rc = find_or_start(c, may_start, &fd, err);

	if (rc == 0)
		rc = brain_peer_check(c, fd, c->vault_path, err);
	if (rc == 0)
		*ret_fd = ats_steal_fd(&fd);
	return rc;
}
