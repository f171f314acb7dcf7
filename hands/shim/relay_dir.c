/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to the host by a directory that both share (proto/relaydir.h). Runs in the shim; what
 * stands in the directory may be anybody's. The volume may hang: an alarm, which nobody handles,
 * ends the shim then, so that neither a call nor its own end waits for ever. */
#include "hands/shim/shim.h"

#include "common/clock.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/fd.h"
#include "proto/relaydir.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define VOLUME_S 5u		/* for what is done at once with files */
#define POLL_MS 250		/* where nothing tells of changes, while calls wait */

struct relay_dir {
	struct shim *s;
	int dir, watch;		/* watch: -1 where there is none */
	char start[24];		/* of our ids, of this start alone */
	struct event *changed, *poll;
};

static void
name_of(const struct relay_dir *r, const struct shim_call *c, enum ats_relaydir_kind kind,
    char name[ATS_RELAYDIR_NAME])
{
	char id[64];

	(void)snprintf(id, sizeof(id), "%s-%" PRIu64, r->start, c->number);
	ats_relaydir_name(kind, id, name);
}

/* ---- answers --------------------------------------------------------------------------- */
/* 1: there is one, whole in out. 0: none yet. */
static int
read_answer(const struct relay_dir *r, const char *name, struct ats_buf *out, struct ats_err *err)
{
	ATS_CLEANUP_FD int fd =
	    openat(r->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *to;

	if (fd < 0)
		return errno == ENOENT ? 0 : ats_err_sys(err, "open");
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ats_err_set(err, ATS_E_NOTFILE, "not a regular file");
	if (st.st_size > ATS_RELAYDIR_RESPONSE_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "longer than %u bytes",
		    ATS_RELAYDIR_RESPONSE_MAX);
	if (ats_buf_reserve(out, (size_t)st.st_size, &to) < 0)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	if (ats_fd_read_all(fd, to, (size_t)st.st_size) < 0)
		return ats_err_set(err, ATS_E_SYS, "it cannot be read");
	ats_buf_commit(out, (size_t)st.st_size);
	return 1;
}

static void
answer(struct relay_dir *r, struct shim_call *c, const struct ats_buf *text)
{
	static const char paused[] = "The user was asked to complete this elsewhere. There is no "
	    "result yet.";
	enum ats_relaydir_answer a;
	struct ats_slice said;
	struct ats_err err = { 0 };
	char why[600];

	if (ats_relaydir_response_read(text->data, text->len, &a, &said, &err) < 0) {
		(void)snprintf(why, sizeof(why), "The host's answer cannot be read: %s. Whether "
		    "the tool ran is not known.", err.text);
		shim_call_text(r->s, c, true, why, strlen(why));
	} else if (a == ATS_RELAYDIR_PAUSED) {
		shim_call_text(r->s, c, false, paused, sizeof(paused) - 1);
	} else {
		shim_call_raw(r->s, c, a == ATS_RELAYDIR_ERROR, said);
	}
}

static void
give_up(struct relay_dir *r, struct shim_call *c)
{
	static const char late[] = "The host did not answer in time; whether the tool ran is not "
	    "known.";
	static const char never[] = "The host did not take the call in time; the tool was not "
	    "started.";
	char name[ATS_RELAYDIR_NAME];
	bool taken;

	name_of(r, c, ATS_RELAYDIR_REQUEST, name);
	taken = unlinkat(r->dir, name, 0) < 0;
	if (taken)
		shim_call_text(r->s, c, true, late, sizeof(late) - 1);
	else
		shim_call_text(r->s, c, true, never, sizeof(never) - 1);
}

/* True: the call has ended. */
static bool
look_at(struct relay_dir *r, struct shim_call *c, uint64_t now)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	struct ats_err err = { 0 };
	char name[ATS_RELAYDIR_NAME], why[600];
	int rc;

	ats_buf_init(&text, ATS_RELAYDIR_RESPONSE_MAX);
	name_of(r, c, ATS_RELAYDIR_RESPONSE, name);
	rc = read_answer(r, name, &text, &err);
	if (rc != 0)
		(void)unlinkat(r->dir, name, 0);
	if (rc > 0) {
		answer(r, c, &text);
	} else if (rc < 0) {
		(void)snprintf(why, sizeof(why), "The host's answer cannot be read: %s. Whether "
		    "the tool ran is not known.", err.text);
		shim_call_text(r->s, c, true, why, strlen(why));
	} else if (now >= c->until_ms) {
		give_up(r, c);
	} else {
		return false;
	}
	return true;
}

static void
look(struct relay_dir *r)
{
	static const struct timeval tv = { 0, POLL_MS * 1000 };
	uint64_t now = ats_clock_ms();
	struct shim_call *next;

	(void)alarm(VOLUME_S);
	for (struct shim_call *c = r->s->calls; c != NULL; c = next) {
		next = c->next;
		(void)look_at(r, c, now);
	}
	(void)alarm(0);
	if (r->s->calls == NULL)
		(void)evtimer_del(r->poll);
	else if (evtimer_add(r->poll, &tv) < 0)
		shim_end(r->s, "out of memory");
}

/* Which file changed is not asked: what there is now counts. */
static void
on_changed(evutil_socket_t fd, short what, void *arg)
{
	struct relay_dir *r = arg;
	char events[4096];

	(void)what;
	while (ats_fd_read(fd, events, sizeof(events)) > 0)
		continue;
	look(r);
}

static void
on_poll(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	look(arg);
}

/* ---- calls ----------------------------------------------------------------------------- */
static int
publish(struct relay_dir *r, const struct shim_call *c, const struct ats_buf *text)
{
	char name[ATS_RELAYDIR_NAME], temp[ATS_RELAYDIR_NAME], id[64];
	ATS_CLEANUP_FD int fd = -1;

	name_of(r, c, ATS_RELAYDIR_REQUEST, name);
	(void)snprintf(id, sizeof(id), "%s-%" PRIu64, r->start, c->number);
	if (ats_relaydir_temp(ATS_RELAYDIR_REQUEST, id, temp) < 0)
		return -1;
	fd = openat(r->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	if (ats_fd_write_all(fd, text->data, text->len) == 0 &&
	    renameat(r->dir, temp, r->dir, name) == 0)
		return 0;
	(void)unlinkat(r->dir, temp, 0);
	return -1;
}

static void
call(struct shim *s, struct shim_call *c, const struct ats_spec *spec, struct ats_slice args)
{
	static const char failed[] = "The call could not be written to the relay directory; the "
	    "tool was not started.";
	struct relay_dir *r = s->host;
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	char id[64];
	int rc;

	c->until_ms = ats_clock_ms() + (spec->timeout_ms != 0 ?
	    spec->timeout_ms + ATS_RELAYDIR_EXTRA_MS : ATS_RELAYDIR_WAIT_MS);
	(void)snprintf(id, sizeof(id), "%s-%" PRIu64, r->start, c->number);
	ats_buf_init(&text, ATS_RELAYDIR_REQUEST_MAX);
	rc = ats_relaydir_request_write(&text, spec->name, id, args);
	(void)alarm(VOLUME_S);
	if (rc == 0)
		rc = publish(r, c, &text);
	(void)alarm(0);
	if (rc < 0)
		shim_call_text(s, c, true, failed, sizeof(failed) - 1);
	look(r);
}

/* Where it was taken its answer is waited for, and removed. */
static void
cancel(struct shim *s, struct shim_call *c)
{
	struct relay_dir *r = s->host;
	char name[ATS_RELAYDIR_NAME];
	bool gone;

	name_of(r, c, ATS_RELAYDIR_REQUEST, name);
	(void)alarm(VOLUME_S);
	gone = unlinkat(r->dir, name, 0) == 0;
	(void)alarm(0);
	if (gone)
		shim_call_drop(s, c);
}

/* ---- life ------------------------------------------------------------------------------ */
static void
close_dir(struct shim *s)
{
	struct relay_dir *r = s->host;
	char name[ATS_RELAYDIR_NAME];

	if (r == NULL)
		return;
	(void)alarm(VOLUME_S);
	for (const struct shim_call *c = s->calls; c != NULL; c = c->next) {
		name_of(r, c, ATS_RELAYDIR_REQUEST, name);
		(void)unlinkat(r->dir, name, 0);
	}
	(void)alarm(0);
	if (r->changed != NULL)
		event_free(r->changed);
	if (r->poll != NULL)
		event_free(r->poll);
	ats_fd_close(&r->watch);
	ats_fd_close(&r->dir);
	free(r);
	s->host = NULL;
}

static int
arm(struct relay_dir *r, const char *path)
{
	if (ats_id_new("c", r->start, sizeof(r->start)) < 0)
		return -1;
	r->poll = evtimer_new(r->s->base, on_poll, r);
	r->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (r->watch < 0 || inotify_add_watch(r->watch, path, IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
		return r->poll == NULL ? -1 : 0;	/* slower */
	r->changed = event_new(r->s->base, r->watch, EV_READ | EV_PERSIST, on_changed, r);
	return r->poll == NULL || r->changed == NULL || event_add(r->changed, NULL) < 0 ? -1 : 0;
}

static int
open_dir(struct shim *s, const char *path)
{
	struct relay_dir *r = ats_calloc(1, sizeof(*r));

	if (r != NULL) {
		*r = (struct relay_dir){ .s = s, .dir = -1, .watch = -1 };
		s->host = r;
		(void)alarm(VOLUME_S);
		r->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (r == NULL || r->dir < 0 || arm(r, path) < 0) {
		(void)fprintf(stderr, "ats-hands: shim: the relay directory %s: %s\n", path,
		    strerror(r == NULL ? ENOMEM : errno));
		return -1;
	}
	(void)alarm(0);
	return 0;
}

const struct shim_way shim_by_directory = { "directory", open_dir, call, cancel, close_dir };
