/* SPDX-License-Identifier: Apache-2.0
 *
 * The saved copy that lies beside a file while it is written in place
 * (".ats-HASH.save"), and what is made of it when its writer was killed. Runs in workers of
 * the write profile; a copy may be anybody's making, the file's later content too.
 *
 * It is the old content, the new content, and a trailer with the hash of both: a copy
 * without that was not finished, so the file had not been touched. A file of which each byte
 * is the old or the new one of its place was torn by the writer, and gets the old content
 * again; any other was written by somebody since, and stays. */
#include "hands/fs/replace.h"

#include "common/digest.h"
#include "common/fault.h"
#include "common/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BLOCK 65536u
#define TRAILER_FMT "\nats-save 1 %020" PRIu64 " %020" PRIu64 " %04o %s\n"
#define TRAILER_LEN 124u
#define SAVED_MAX (UINT64_C(512) << 20)	/* of each content; more than a tool writes */

struct saved {
	int fd;
	uint64_t old_n, new_n;
	unsigned mode;		/* of the file */
};
enum state { OF_OTHERS, WHOLE, TORN };

/* ---- making it --------------------------------------------------------------------- */
int
saved_make(int dirfd, const char *name, mode_t mode, struct ats_slice old,
    struct ats_slice with, int *ret_fd, struct ats_err *err)
{
	char temp[64], sha[ATS_SHA256_HEX], end[TRAILER_LEN + 1];
	struct ats_sha256 *h = ats_sha256_new();
	int rc;

	*ret_fd = -1;
	if (h == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "Not enough memory.");
	ats_sha256_add(h, old.p, old.n);
	ats_sha256_add(h, with.p, with.n);
	ats_sha256_finish(h, sha);
	(void)snprintf(
	    end, sizeof(end), TRAILER_FMT, (uint64_t)old.n, (uint64_t)with.n, mode & 07777,
	    sha);
	replace_temp_name(name, "save", temp);
	rc = replace_temp_make(dirfd, temp, 0600, ret_fd, err);
	if (rc < 0)
		return rc;
	if (ats_fd_write_all(*ret_fd, old.p, old.n) < 0 ||
	    ats_fd_write_all(*ret_fd, with.p, with.n) < 0) {
		rc = ats_err_sys(err, "cannot save the old content beside it");
	} else {
		rc = replace_write(*ret_fd, end, TRAILER_LEN, err);
	}
	if (rc < 0) {
		(void)unlinkat(dirfd, temp, 0);
		ats_fd_close(ret_fd);
	}
	return rc;
}

void
saved_remove(int dirfd, const char *name)
{
	char temp[64];

	replace_temp_name(name, "save", temp);
	(void)unlinkat(dirfd, temp, 0);
}

/* ---- looking at one that was left -------------------------------------------------- */
/* 1: all n bytes; 0: the file has fewer; -1: an error. */
static int
read_at(int fd, char *buf, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = pread(fd, buf + done, n - done, (off_t)(at + done));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k == 0 ? 0 : -1;
		done += (size_t)k;
	}
	return 1;
}

static size_t
part(uint64_t from, uint64_t end)
{
	return end - from < BLOCK ? (size_t)(end - from) : BLOCK;
}

/* Whether it was finished: then its file may have been touched. */
static bool
is_whole(struct saved *s, char *buf)
{
	char end[TRAILER_LEN + 1] = "", want[TRAILER_LEN + 1], sha[ATS_SHA256_HEX];
	struct ats_sha256 *h;
	struct stat st;
	uint64_t n;
	bool ok = true;

	if (fstat(s->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)TRAILER_LEN)
		return false;
	n = (uint64_t)st.st_size - TRAILER_LEN;
	if (read_at(s->fd, end, TRAILER_LEN, n) != 1 ||
	    sscanf(end, "\nats-save 1 %20" SCNu64 " %20" SCNu64 " %4o", &s->old_n, &s->new_n,
		&s->mode) != 3 ||
	    s->old_n > SAVED_MAX || s->new_n > SAVED_MAX || s->old_n + s->new_n != n)
		return false;
	h = ats_sha256_new();
	if (h == NULL)
		return false;
	for (uint64_t at = 0; ok && at < n; at += BLOCK) {
		ok = read_at(s->fd, buf, part(at, n), at) == 1;
		if (ok)
			ats_sha256_add(h, buf, part(at, n));
	}
	ats_sha256_finish(h, sha);
	(void)snprintf(want, sizeof(want), TRAILER_FMT, s->old_n, s->new_n, s->mode, sha);
	return ok && memcmp(end, want, TRAILER_LEN) == 0;
}

/* p: a part of one of the contents, which may end before this byte. */
static bool
same_byte(const char *p, size_t have, size_t i, char c)
{
	return i < have && p[i] == c;
}

/* TORN: a mixture of both contents and neither of them. */
static enum state
look(const struct saved *s, int fd, uint64_t size, char *buf)
{
	char *o = buf, *w = buf + BLOCK, *f = buf + 2 * BLOCK;
	bool is_old = size == s->old_n, is_new = size == s->new_n;

	if (size > (s->old_n > s->new_n ? s->old_n : s->new_n) ||
	    size < (s->old_n < s->new_n ? s->old_n : s->new_n))
		return OF_OTHERS;
	for (uint64_t at = 0; at < size; at += BLOCK) {
		size_t n = part(at, size);
		size_t on = at < s->old_n ? part(at, s->old_n) : 0;
		size_t wn = at < s->new_n ? part(at, s->new_n) : 0;

		if (read_at(fd, f, n, at) != 1 || read_at(s->fd, o, on, at) != 1 ||
		    read_at(s->fd, w, wn, s->old_n + at) != 1)
			return OF_OTHERS;
		for (size_t i = 0; i < n; i++) {
			bool a = same_byte(o, on, i, f[i]), b = same_byte(w, wn, i, f[i]);

			is_old = is_old && a;
			is_new = is_new && b;
			if (!a && !b)
				return OF_OTHERS;
		}
	}
	return is_old || is_new ? WHOLE : TORN;
}

static int
put_back(const struct saved *s, int fd, char *buf)
{
	for (uint64_t at = 0; at < s->old_n; at += BLOCK) {
		size_t n = part(at, s->old_n);

		if (read_at(s->fd, buf, n, at) != 1)
			return -1;
		for (size_t done = 0; done < n;) {
			ssize_t k = pwrite(fd, buf + done, n - done, (off_t)(at + done));

			if (k < 0 && errno == EINTR)
				continue;
			if (k <= 0)
				return -1;
			done += (size_t)k;
		}
	}
	return ftruncate(fd, (off_t)s->old_n) < 0 || fsync(fd) < 0 ? -1 : 0;
}

int
saved_peek(int dirfd, const char *name, int fd, uint64_t size, char **ret, size_t *ret_n,
    struct ats_err *err)
{
	struct saved s = { .fd = -1 };
	char temp[64], *buf, *old = NULL;
	int rc = 0;

	replace_temp_name(name, "save", temp);
	s.fd = fs_beneath_plain(dirfd, temp, O_RDONLY | O_NONBLOCK, 0);
	if (s.fd < 0)
		return 0;
	buf = ats_malloc(3u * BLOCK);
	if (buf == NULL)
		rc = ats_err_set(err, ATS_E_NOMEM, "Not enough memory.");
	else if (is_whole(&s, buf) && look(&s, fd, size, buf) == TORN)
		rc = 1;
	if (rc == 1) {
		old = ats_malloc((size_t)s.old_n + 1);
		if (old == NULL)
			rc = ats_err_set(err, ATS_E_NOMEM, "Not enough memory.");
		else if (read_at(s.fd, old, (size_t)s.old_n, 0) != 1)
			rc = 0;		/* it went meanwhile */
	}
	if (rc == 1) {
		*ret = old;
		*ret_n = (size_t)s.old_n;
	} else {
		free(old);
	}
	free(buf);
	ats_fd_close(&s.fd);
	return rc;
}

/* The file's lock is held, and the copy's. */
static int
recover(struct saved *s, int fd, const struct stat *st, char *buf)
{
	enum state state = OF_OTHERS;

	if (is_whole(s, buf))
		state = look(s, fd, (uint64_t)st->st_size, buf);
	if (state == TORN && put_back(s, fd, buf) < 0)
		return -1;
	/* Writing had cleared these, and the writer did not come to set them again. */
	if (state != OF_OTHERS && (s->mode & 07000) != 0 &&
	    (st->st_mode & 0777) == (s->mode & 0777))
		(void)fchmod(fd, s->mode);
	return 0;
}

int
saved_recover(int dirfd, const char *name, int fd, struct stat *st, struct ats_err *err)
{
	struct saved s = { .fd = -1 };
	char temp[64], *buf;
	int rc = 0;

	replace_temp_name(name, "save", temp);
	s.fd = fs_beneath_plain(dirfd, temp, O_RDONLY | O_NONBLOCK, 0);
	if (s.fd < 0)
		return 0;
	buf = ats_malloc(3u * BLOCK);
	if (flock(s.fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		/* a living writer's, under another name of the directory: not ours to judge */
	} else if (buf == NULL) {
		rc = ats_err_set(err, ATS_E_NOMEM, "Not enough memory.");
	} else {
		if (recover(&s, fd, st, buf) < 0)
			rc = ats_err_sys(err,
			    "An earlier write of the file was interrupted, and its old "
			    "content, which is at the start of the %s beside it, cannot "
			    "be put back", temp);
		if (rc == 0)
			(void)unlinkat(dirfd, temp, 0);
		if (rc == 0 && fstat(fd, st) < 0)
			rc = ats_err_sys(err, "cannot look at the file");
	}
	free(buf);
	ats_fd_close(&s.fd);
	return rc;
}
