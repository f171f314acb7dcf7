/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in the vault, in whose directory the log is; its texts are of the vault, names and
 * arguments of anybody, as JSON strings. */
#include "brain/vault/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/json.h"
#include "common/log.h"

#define NAME "audit.jsonl"
#define LINE_MAX_BYTES (7u << 20)	/* arguments of 1 MiB, escaped */
#define COMPLAIN_MS 60000		/* that it cannot be written is logged so often */

struct audit {
	int dir, fd;
	uint64_t max_bytes;
	off_t size;
	uint64_t complained_ms;
};

struct audit *
audit_new(const char *dir, uint64_t max_bytes)
{
	struct audit *a = ats_calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->fd = -1;
	a->max_bytes = max_bytes;
	a->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->dir < 0) {
		free(a);
		return NULL;
	}
	return a;
}

void
audit_free(struct audit *a)
{
	if (a == NULL)
		return;
	ats_fd_close(&a->fd);
	ats_fd_close(&a->dir);
	free(a);
}

/* A line that was torn by a crash is ended, so that the next one can be read. */
static int
end_torn(int fd, off_t size)
{
	char last = '\n';

	if (size > 0 && pread(fd, &last, 1, size - 1) != 1)
		return -1;
	return last == '\n' || ats_fd_write_all(fd, "\n", 1) == 0 ? 0 : -1;
}

static int
open_file(struct audit *a, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = -1;
	struct stat st;

	if (a->fd >= 0)
		return 0;
	fd = openat(a->dir, NAME,
	    O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, NAME);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 0077) != 0 ||
	    st.st_nlink != 1)
		return ats_err_set(err, ATS_E_PERM, NAME " in the state directory is not a file of "
		    "ours alone; move it away");
	if (end_torn(fd, st.st_size) < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, NAME);
	a->size = st.st_size;
	a->fd = ats_steal_fd(&fd);
	return 0;
}

/* One that cannot be rotated goes on: a long log is better than none. */
static void
rotate(struct audit *a)
{
	char from[32], to[32];

	for (int i = AUDIT_KEPT; i > 0; i--) {
		(void)snprintf(to, sizeof(to), NAME ".%d", i);
		(void)snprintf(from, sizeof(from), i > 1 ? NAME ".%d" : NAME, i - 1);
		if (renameat(a->dir, from, a->dir, to) < 0 && errno != ENOENT) {
			ats_log(ATS_LOG_WARN, "the audit log cannot be rotated", "errno=%d", errno);
			return;
		}
	}
	ats_fd_close(&a->fd);
}

#define PUT_STR(w, wire, v)                                                              \
	if ((v) != NULL && (v)[0] != '\0')                                               \
		ats_json_w_str(w, wire, v)
#define PUT_U64(w, wire, v)                                                              \
	if ((v) != 0)                                                                    \
		ats_json_w_u64(w, wire, v)
#define PUT_NUM(w, wire, v) ats_json_w_u64(w, wire, v)
#define PUT_RAW(w, wire, v)                                                              \
	if ((v).n > 0)                                                                   \
		ats_json_w_raw(w, wire, (v).p, (v).n)

static int
write_line(const struct audit_line *l, struct ats_buf *out)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
#define AUDIT(member, wire, type, doc)                                                   \
	PUT_##type(&w, wire, l->member);
#include "proto/audit.def"
#undef AUDIT
	ats_json_w_end(&w);
	return ats_json_w_line(&w);
}

static int
append(struct audit *a, const struct ats_buf *line, struct ats_err *err)
{
	ssize_t put;
	int rc;

	if (a->fd >= 0 && a->size > 0 && (uint64_t)a->size + line->len > a->max_bytes)
		rotate(a);
	rc = open_file(a, err);
	if (rc < 0)
		return rc;
	put = ats_fd_write(a->fd, line->data, line->len);
	if (put == (ssize_t)line->len) {
		a->size += put;
		return 0;
	}
	if (put >= 0)
		errno = ENOSPC;
	rc = ats_err_sys(err, NAME);
	/* Half a line must not stand before the next one; where it cannot be cut, the next open
	 * ends it. */
	if (put > 0 && ftruncate(a->fd, a->size) < 0)
		ats_fd_close(&a->fd);
	return rc;
}

int
audit_write(struct audit *a, const struct audit_line *line, struct ats_err *err)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct audit_line full = *line;
	struct ats_err why = { 0 };
	int rc;

	full.time = (uint64_t)ats_clock_wall_ms();
	ats_buf_init(&out, LINE_MAX_BYTES);
	rc = write_line(&full, &out);
	if (rc < 0)
		rc = ats_err_set(&why, -rc, NAME ": %s", ats_err_text(rc));
	else
		rc = append(a, &out, &why);
	if (rc == 0) {
		a->complained_ms = 0;
		return 0;
	}
	if (a->complained_ms == 0 || ats_clock_ms() - a->complained_ms > COMPLAIN_MS) {
		ats_log(ATS_LOG_ERROR, "the audit log cannot be written: no call of a gateway runs",
		    "why=\"%s\"", why.text);
		a->complained_ms = ats_clock_ms();
	}
	return ats_err_set(err, why.code, "%s", why.text);
}
