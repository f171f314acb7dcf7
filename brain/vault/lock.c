/* SPDX-License-Identifier: Apache-2.0
 *
 * One brain per state directory and per runtime directory: the same user may come by ways
 * that differ in XDG_RUNTIME_DIR (a desktop, ssh, cron) but share the journal and the
 * sandboxes' directories. Runs in ats-brain's main before it has children. */
#include "brain/vault/lock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"

#define ENDING_MS 5000			/* how long an old one may take to be gone */
#define LOOK_MS 10

/* What STATE/brain.lock says: "PID RUNTIME\n". */
struct holder {
	long pid;			/* 0: it says nothing (yet) */
	char runtime[ATS_PATH_MAX];
};

static bool
is_answering(const char *dir)
{
	char path[ATS_PATH_MAX + 16];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/vault.sock", dir);
	if (ats_fd_unix_connect(path, SOCK_SEQPACKET, &fd, NULL) < 0)
		return false;
	(void)close(fd);
	return true;
}

/* 1 taken, 0 another has it. */
static int
try_lock(int fd, const char *path, struct ats_err *err)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return 0;
		if (errno != EINTR)
			return ats_err_sys(err, "%s", path);
	}
	return 1;
}

/* A lock without an answer: its holder ends (or starts) just now. Locks give no event but to
 * a blocking caller, which could not give up. */
static bool
wait_more(uint64_t end)
{
	if (ats_clock_ms() > end)
		return false;
	(void)poll(NULL, 0, LOOK_MS);
	return true;
}

static void
read_holder(int fd, struct holder *h)
{
	char text[ATS_PATH_MAX + 32], *end;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	h->pid = 0;
	h->runtime[0] = '\0';
	if (n <= 0)
		return;
	text[n] = '\0';
	h->pid = strtol(text, &end, 10);
	if (h->pid <= 0 || end[0] != ' ' || end[1] != '/' || text[n - 1] != '\n' ||
	    (size_t)(text + n - end) > sizeof(h->runtime)) {
		h->pid = 0;		/* not whole, or not ours */
		return;
	}
	text[n - 1] = '\0';
	memcpy(h->runtime, end + 1, (size_t)(text + n - (end + 1)));
}

/* A disk that is full costs the next brain the name of this one, nothing else. */
static void
write_holder(int fd, const char *path, const char *runtime)
{
	char text[ATS_PATH_MAX + 32];
	int n = snprintf(text, sizeof(text), "%ld %s\n", (long)getpid(), runtime);

	if (ftruncate(fd, 0) < 0 || ats_fd_write_all(fd, text, (size_t)n) < 0)
		ats_log(ATS_LOG_WARN, "cannot say who holds the lock", "path=%s error=\"%s\"",
		    path, strerror(errno));
}

static int
refuse(const struct ats_places *places, const struct holder *h, bool answers,
    struct ats_err *err)
{
	static const char own[] =
	    "give this one a state directory of its own (--state, XDG_STATE_HOME)";

	if (h->pid == 0)
		return ats_err_set(err, ATS_E_BUSY,
		    "state directory %s is in use by another brain; end it, or %s",
		    places->state, own);
	if (strcmp(h->runtime, places->runtime) == 0)
		return ats_err_set(err, ATS_E_BUSY, "another brain runs on %s (pid %ld)%s",
		    h->runtime, h->pid, answers ? "" : " but does not answer; end it");
	return ats_err_set(err, ATS_E_BUSY,
	    "state directory %s is in use by the brain at %s (pid %ld)%s, or %s",
	    places->state, h->runtime, h->pid,
	    answers ? "; use its XDG_RUNTIME_DIR" : ", which does not answer; end it", own);
}

static int
take_state(const struct ats_places *places, int *ret_fd, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + ENDING_MS;
	char path[ATS_PATH_MAX + 16];
	int fd ATS_CLEANUP_FD = -1;
	struct holder h;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/brain.lock", places->state);
	rc = ats_places_open_lock(path, &fd, err);
	if (rc < 0)
		return rc;
	while ((rc = try_lock(fd, path, err)) == 0) {
		read_holder(fd, &h);
		if (h.pid != 0 && is_answering(h.runtime))
			return refuse(places, &h, true, err);
		if (!wait_more(end))
			return refuse(places, &h, false, err);
	}
	if (rc < 0)
		return rc;
	write_holder(fd, path, places->runtime);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

static int
take_runtime(const char *dir, int *ret_fd, struct ats_err *err)
{
	uint64_t end = ats_clock_ms() + ENDING_MS;
	char path[ATS_PATH_MAX + 16];
	int fd ATS_CLEANUP_FD = -1;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/brain.lock", dir);
	rc = ats_places_open_lock(path, &fd, err);
	if (rc < 0)
		return rc;
	while ((rc = try_lock(fd, path, err)) == 0) {
		if (is_answering(dir) || !wait_more(end))
			return ats_err_set(err, ATS_E_BUSY, "another brain runs on %s", dir);
	}
	if (rc < 0)
		return rc;
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

int
locks_take(const struct ats_places *places, struct locks *ret, struct ats_err *err)
{
	int rc = take_state(places, &ret->state, err);

	if (rc < 0)
		return rc;
	rc = take_runtime(places->runtime, &ret->runtime, err);
	if (rc < 0)
		ats_fd_close(&ret->state);
	return rc;
}
