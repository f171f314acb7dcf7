/* SPDX-License-Identifier: Apache-2.0
 *
 * The relay directory's files. Process: atsctl relay, confined to this directory. Whoever is on
 * the other side, a sandbox, controls everything in it; wakes are hints, the listing is the
 * truth. */
#include "brain/ctl/relay_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"

#define SLICE 1024u		/* entries of a listing, or hints, a turn */
#define LISTING_MS 1000u	/* between two listings without a hint */
#define SPARE 9u		/* a listing is followed by so many times its own length */
#define SWEEP_MAX 4000000u	/* entries: no sandbox keeps us from getting ready */

/* A handle of its own: the listing has a position. */
static int
open_list(struct relay_dir *d)
{
	int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -ATS_E_SYS;
	d->list = fdopendir(fd);
	if (d->list == NULL)
		(void)close(fd);
	return d->list != NULL ? 0 : -ATS_E_SYS;
}

static int
arm(struct relay_dir *d)
{
	char path[64];

	/* this directory, whatever its name means by now */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", d->fd);
	d->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return d->watch >= 0 && inotify_add_watch(d->watch, path, IN_MOVED_TO | IN_ONLYDIR) >= 0 ?
	    0 : -ATS_E_SYS;
}

static void
add_owner(struct relay_dir *d, uid_t uid)
{
	for (size_t i = 0; i < d->nowners; i++) {
		if (d->owners[i] == uid)
			return;
	}
	d->owners[d->nowners++] = uid;
}

int
relay_dir_open(struct relay_dir *d, const char *path, uid_t owner, struct ats_err *err)
{
	struct stat st;

	*d = (struct relay_dir){ .watch = -1 };
	d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0 || fstat(d->fd, &st) < 0)
		return ats_err_sys(err, "%s", path);
	add_owner(d, geteuid());
	add_owner(d, st.st_uid);
	if (owner != (uid_t)-1)
		add_owner(d, owner);
	d->mode = d->nowners > 1 ? 0644 : 0600;
	d->published = ats_calloc(RELAY_PUBLISHED, sizeof(*d->published));
	if (d->published == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "%s: out of memory", path);
	if (arm(d) < 0 || open_list(d) < 0)
		return ats_err_sys(err, "%s: watching it", path);
	d->again = true;
	return 0;
}

void
relay_dir_close(struct relay_dir *d)
{
	ats_fd_close(&d->fd);
	ats_fd_close(&d->watch);
	if (d->list != NULL)
		(void)closedir(d->list);
	d->list = NULL;
	free(d->published);
	d->published = NULL;
}

int
relay_dir_sweep(struct relay_dir *d, struct ats_err *err)
{
	char id[ATS_RELAYDIR_ID_MAX + 1];
	const struct dirent *e;

	rewinddir(d->list);
	errno = 0;
	for (size_t n = 0; n < SWEEP_MAX && (e = readdir(d->list)) != NULL; n++) {
		if (ats_relaydir_kind(e->d_name, id) != ATS_RELAYDIR_OTHER)
			(void)unlinkat(d->fd, e->d_name, 0);
		errno = 0;
	}
	return errno == 0 ? 0 : ats_err_sys(err, "listing it");
}

/* One that cannot have an answer, as no id makes its name, only takes our time. */
static bool
is_request(struct relay_dir *d, const char *name, char id[ATS_RELAYDIR_ID_MAX + 1])
{
	if (ats_relaydir_kind(name, id) != ATS_RELAYDIR_REQUEST)
		return false;
	if (id[0] == '\0')
		(void)unlinkat(d->fd, name, 0);
	return id[0] != '\0';
}

/* 1 with an id, 0 without more hints, -ATS_E_AGAIN after a turn full of them. */
static int
next_hint(struct relay_dir *d, char ret_id[ATS_RELAYDIR_ID_MAX + 1])
{
	for (unsigned i = 0; i < SLICE; i++) {
		struct inotify_event e;
		ssize_t n;

		if (d->nevents - d->event < sizeof(e)) {
			n = ats_fd_read(d->watch, d->events, sizeof(d->events));
			d->nevents = n > 0 ? (size_t)n : 0;
			d->event = 0;
			if (n <= 0)
				return 0;
		}
		memcpy(&e, d->events + d->event, sizeof(e));
		if (e.mask & IN_Q_OVERFLOW)
			d->again = true;
		d->event += sizeof(e) + e.len;
		if (e.len > 0 && is_request(d, d->events + d->event - e.len, ret_id))
			return 1;
	}
	return -ATS_E_AGAIN;
}

/* When the next listing may begin: sooner when something may have been missed, but a full
 * directory must not keep us busy. */
static uint64_t
listing_due(const struct relay_dir *d)
{
	uint64_t pause = d->took_ms * SPARE;

	if (!d->again && pause < LISTING_MS)
		pause = LISTING_MS;
	return d->ended_ms + pause;
}

static int
next_entry(struct relay_dir *d, char ret_id[ATS_RELAYDIR_ID_MAX + 1])
{
	const struct dirent *e;

	for (unsigned i = 0; i < SLICE; i++) {
		e = readdir(d->list);
		if (e == NULL) {
			d->listing = false;
			d->ended_ms = ats_clock_ms();
			d->took_ms = d->ended_ms - d->began_ms;
			return 0;
		}
		if (is_request(d, e->d_name, ret_id))
			return 1;
	}
	return -ATS_E_AGAIN;
}

int
relay_dir_next(struct relay_dir *d, char ret_id[ATS_RELAYDIR_ID_MAX + 1])
{
	int rc = next_hint(d, ret_id);

	if (rc != 0)
		return rc;
	if (!d->listing && ats_clock_ms() < listing_due(d))
		return 0;
	if (!d->listing) {
		rewinddir(d->list);
		d->listing = true;
		d->again = false;
		d->began_ms = ats_clock_ms();
	}
	return next_entry(d, ret_id);
}

int
relay_dir_wait_ms(const struct relay_dir *d)
{
	uint64_t now = ats_clock_ms(), due = listing_due(d);

	return d->listing || due <= now ? 0 : (int)(due - now);
}

static bool
is_owner(const struct relay_dir *d, uid_t uid)
{
	for (size_t i = 0; i < d->nowners; i++) {
		if (d->owners[i] == uid)
			return true;
	}
	return false;
}

/* What is said goes to the other side: not a byte of any file, nor a path. */
static int
check(const struct relay_dir *d, int fd, struct ats_err *err)
{
	struct stat st;

	if (fd < 0)
		return ats_err_set(
		    err, ATS_E_NOTFILE, "the request is not a file that can be read");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1)
		return ats_err_set(err, ATS_E_NOTFILE, "the request is not a plain file");
	if (!is_owner(d, st.st_uid))
		return ats_err_set(err, ATS_E_PERM, "the request's file belongs to another user");
	if (st.st_size > (off_t)ATS_RELAYDIR_REQUEST_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "the request has more than %u bytes",
		    ATS_RELAYDIR_REQUEST_MAX);
	return 0;
}

static int
read_whole(int fd, struct ats_buf *out, struct ats_err *err)
{
	char *to;
	ssize_t n;

	do {
		if (ats_buf_reserve(out, 65536, &to) < 0)
			return ats_err_set(err, ATS_E_TOOBIG, "the request has more than %u bytes",
			    ATS_RELAYDIR_REQUEST_MAX);
		n = ats_fd_read(fd, to, 65536);
		if (n < 0)
			return ats_err_set(err, ATS_E_SYS, "the request cannot be read");
		ats_buf_commit(out, (size_t)n);
	} while (n > 0);
	return 0;
}

int
relay_dir_take(struct relay_dir *d, const char *id, struct ats_buf *out, struct ats_err *err)
{
	int ATS_CLEANUP_FD fd = -1;
	char name[ATS_RELAYDIR_NAME];
	int rc;

	ats_relaydir_name(ATS_RELAYDIR_REQUEST, id, name);
	fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return -ATS_E_NOENT;
	rc = check(d, fd, err);
	/* First of all it goes: whatever happens now, it is not run a second time. */
	if (unlinkat(d->fd, name, 0) < 0)
		return errno == ENOENT ? -ATS_E_NOENT : -ATS_E_BUSY;
	return rc < 0 ? rc : read_whole(fd, out, err);
}

int
relay_put(int dir, const char *name, const char *temp, mode_t mode, const char *text, size_t n,
    struct ats_err *err)
{
	int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool bad;

	if (fd < 0)
		return ats_err_sys(err, "%s", temp);
	bad = ats_fd_write_all(fd, text, n) < 0 || fchmod(fd, mode) < 0;
	bad = close(fd) < 0 || bad;
	if (!bad && renameat(dir, temp, dir, name) == 0)
		return 0;
	(void)ats_err_sys(err, "%s", name);
	(void)unlinkat(dir, temp, 0);
	return -ATS_E_SYS;
}

static void
unlink_answer(const struct relay_dir *d, struct relay_published *p)
{
	char name[ATS_RELAYDIR_NAME];

	if (p->id[0] == '\0')
		return;
	ats_relaydir_name(ATS_RELAYDIR_RESPONSE, p->id, name);
	(void)unlinkat(d->fd, name, 0);
	p->id[0] = '\0';
}

int
relay_dir_answer(struct relay_dir *d, const char *id, const char *text, size_t n,
    struct ats_err *err)
{
	char name[ATS_RELAYDIR_NAME], temp[ATS_RELAYDIR_NAME];
	struct relay_published *p;
	int rc;

	ats_relaydir_name(ATS_RELAYDIR_RESPONSE, id, name);
	if (ats_relaydir_temp(ATS_RELAYDIR_RESPONSE, id, temp) < 0)
		return ats_err_sys(err, "getrandom");
	rc = relay_put(d->fd, name, temp, d->mode, text, n, err);
	if (rc < 0)
		return rc;
	d->newest = (d->newest + 1) % RELAY_PUBLISHED;
	p = &d->published[d->newest];
	unlink_answer(d, p);
	(void)snprintf(p->id, sizeof(p->id), "%s", id);
	p->at_ms = ats_clock_ms();
	return 0;
}

void
relay_dir_forget_old(struct relay_dir *d)
{
	uint64_t now = ats_clock_ms();

	for (size_t i = 1; i <= RELAY_PUBLISHED; i++) {	/* from the oldest on */
		struct relay_published *p = &d->published[(d->newest + i) % RELAY_PUBLISHED];

		if (p->id[0] != '\0' && now - p->at_ms < RELAY_KEEP_MS)
			return;
		unlink_answer(d, p);
	}
}

bool
relay_dir_is_gone(const struct relay_dir *d)
{
	struct stat st;

	return fstat(d->fd, &st) < 0 || st.st_nlink == 0;
}
