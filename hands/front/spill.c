/* SPDX-License-Identifier: Apache-2.0
 *
 * One long output in its bounded file. Runs in hands' front; the bytes are whatever tools
 * print, the names are ours. Writes go to the page cache and never wait for a peer. */
#include "hands/front/spill_private.h"

#include "common/fault.h"
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
spill_new(
    struct spill_store *st, const char *name, struct spill **ret, struct ats_err *err)
{
	struct spill *s;
	int fd, rc;

	if (strlen(name) >= SPILL_NAME || strchr(name, '/') != NULL)
		return ats_err_set(err, ATS_E_INVAL, "spill name");
	rc = spill_store_room(st, name, err);
	if (rc < 0)
		return rc;
	if ((s = ats_calloc(1, sizeof(*s))) == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "no memory");
	/* 0644: the Read tool's worker is another uid where that is possible. */
	fd = openat(
	    st->dirfd, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0) {
		free(s);
		return ats_err_sys(err, "spill file %s", name);
	}
	(void)fchmod(fd, 0644);
	s->store = st;
	s->fd = fd;
	s->ring = -1;
	memcpy(s->name, name, strlen(name) + 1);
	spill_store_enter(st, s->name);
	*ret = s;
	return 0;
}

static int
write_at(int fd, const char *p, size_t n, uint64_t at)
{
	while (n > 0) {
		ssize_t got = pwrite(fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return errno == ENOSPC || errno == EDQUOT ? -ATS_E_NOSPC
								  : -ATS_E_SYS;
		p += got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return 0;
}

static int
ring_open(struct spill *s)
{
	char name[SPILL_NAME + 8];

	s->ring = openat(s->store->dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->ring >= 0)
		return 0;
	(void)snprintf(name, sizeof(name), ".%s.ring", s->name);
	(void)unlinkat(s->store->dirfd, name, 0);
	s->ring =
	    openat(s->store->dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->ring < 0)
		return errno == ENOSPC || errno == EDQUOT ? -ATS_E_NOSPC : -ATS_E_SYS;
	(void)unlinkat(s->store->dirfd, name, 0);
	return 0;
}

/* One run that lies within the first part or within one turn of the ring. */
static int
put_run(struct spill *s, const char *p, size_t n)
{
	uint64_t at = s->stored, end = s->stored + n;
	int rc;

	if (end > s->on_disk && end <= SPILL_FIRST + SPILL_LAST &&
	    !spill_store_grow(s, end - s->on_disk))
		return -ATS_E_FULL;
	if (at < SPILL_FIRST)
		return write_at(s->fd, p, n, at);
	if (s->ring < 0 && (rc = ring_open(s)) < 0)
		return rc;
	return write_at(s->ring, p, n, (at - SPILL_FIRST) % SPILL_LAST);
}

int
spill_add(struct spill *s, const char *p, size_t n)
{
	s->total += n;
	while (n > 0 && s->error == 0 && !s->finished) {
		uint64_t room = s->stored < SPILL_FIRST
				    ? SPILL_FIRST - s->stored
				    : SPILL_LAST - (s->stored - SPILL_FIRST) % SPILL_LAST;
		size_t part = n < room ? n : (size_t)room;

		s->error = put_run(s, p, part);
		if (s->error < 0)
			break;
		s->stored += part;
		p += part;
		n -= part;
	}
	return s->error;
}

/* First position that is still in the ring. */
static uint64_t
tail_start(const struct spill *s)
{
	if (s->stored <= (uint64_t)SPILL_FIRST + SPILL_LAST)
		return SPILL_FIRST;
	return s->stored - SPILL_LAST;
}

uint64_t
spill_lost(const struct spill *s)
{
	uint64_t gap = s->stored > SPILL_FIRST ? tail_start(s) - SPILL_FIRST : 0;

	return gap + (s->total - s->stored);
}

long
spill_read(struct spill *s, uint64_t from, char *out, size_t max, uint64_t *ret_from)
{
	uint64_t end = s->stored, at;
	size_t n;
	ssize_t got;
	int fd = s->fd;

	if (from >= SPILL_FIRST && from < tail_start(s))
		from = tail_start(s);
	*ret_from = from;
	if (from >= end)
		return 0;
	if (from < SPILL_FIRST) {
		at = from;
		end = end < SPILL_FIRST ? end : SPILL_FIRST;
	} else if (s->ring < 0) {
		at = s->tail_at + (from - s->tail_from);
	} else {
		fd = s->ring;
		at = (from - SPILL_FIRST) % SPILL_LAST;
		if (end - from > SPILL_LAST - at)
			end = from + (SPILL_LAST - at);
	}
	n = end - from < max ? (size_t)(end - from) : max;
	do
		got = pread(fd, out, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -(long)ATS_E_SYS : (long)got;
}

/* Room for the marker is taken once, before the tail. */
static int
finish_begin(struct spill *s)
{
	char text[96];
	uint64_t lost = spill_lost(s);
	int n, rc;

	s->finished = true;
	s->tail_from = tail_start(s);
	s->tail_at = SPILL_FIRST;
	if (s->ring < 0 || lost == 0)
		return 0;
	n = snprintf(
	    text, sizeof(text), "\n[... %" PRIu64 " bytes were not kept ...]\n", lost);
	rc = write_at(s->fd, text, (size_t)n, SPILL_FIRST);
	s->tail_at += (uint64_t)n;
	return rc;
}

static int
copy_run(int from, uint64_t from_at, int to, uint64_t to_at, size_t n)
{
	static char block[64u << 10]; /* one loop, one user at a time */

	while (n > 0) {
		loff_t in = (loff_t)from_at, out = (loff_t)to_at;
		ssize_t got = copy_file_range(from, &in, to, &out, n, 0);

		if (got <= 0) { /* not on this file system: by hand */
			size_t part = n < sizeof(block) ? n : sizeof(block);
			int rc;

			got = pread(from, block, part, (off_t)from_at);
			if (got <= 0)
				return -ATS_E_SYS;
			if ((rc = write_at(to, block, (size_t)got, to_at)) < 0)
				return rc;
		}
		from_at += (uint64_t)got;
		to_at += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

bool
spill_finish(struct spill *s)
{
	uint64_t left, at;
	size_t n;
	int rc;

	if (!s->finished && (rc = finish_begin(s)) < 0 && s->error == 0)
		s->error = rc;
	if (s->ring < 0)
		return true;
	left = s->stored - s->tail_from - s->copied;
	at = (s->tail_from + s->copied - SPILL_FIRST) % SPILL_LAST;
	n = left < SPILL_STEP ? (size_t)left : SPILL_STEP;
	if (n > SPILL_LAST - at)
		n = (size_t)(SPILL_LAST - at);
	if (n > 0) {
		rc = copy_run(s->ring, at, s->fd, s->tail_at + s->copied, n);
		if (rc < 0) { /* what is there stays; the rest is lost with the ring */
			s->error = s->error == 0 ? rc : s->error;
			s->stored = s->tail_from + s->copied;
			n = 0;
		}
		s->copied += n;
	}
	if (s->tail_from + s->copied < s->stored)
		return false;
	ats_fd_close(&s->ring);
	return true;
}

uint64_t
spill_total(const struct spill *s)
{
	return s->total;
}

int
spill_error(const struct spill *s)
{
	return s->error;
}

const char *
spill_name(const struct spill *s)
{
	return s->name;
}

void
spill_free(struct spill *s)
{
	struct spill_file *f;

	if (s == NULL)
		return;
	if ((f = spill_file_find(s->store, s->name)) != NULL)
		f->live = false;
	ats_fd_close(&s->fd);
	ats_fd_close(&s->ring);
	free(s);
}

void
spill_drop(struct spill *s)
{
	struct spill_file *f;

	if (s == NULL)
		return;
	if ((f = spill_file_find(s->store, s->name)) != NULL)
		spill_file_forget(s->store, f);
	ats_fd_close(&s->fd);
	ats_fd_close(&s->ring);
	free(s);
}
