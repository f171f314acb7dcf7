/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the audit log while the vault writes and rotates it. Process: atsctl; the vault wrote
 * the lines, and agents some of the texts in them. */
#include "brain/ctl/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

#define READ_BYTES (64u << 10)

static bool
is_same(struct ats_slice object, const char *name, const char *want)
{
	struct ats_json_val v;
	struct ats_buf b;
	bool same;

	if (want == NULL)
		return true;
	if (!ats_json_get(object, name, &v))
		return false;
	ats_buf_init(&b, 4096);
	same = ats_json_to_str(&v, &b) == 0 && strcmp(b.data, want) == 0;
	ats_buf_done(&b);
	return same;
}

int
audit_wants(const struct audit_filter *f, struct ats_slice line)
{
	struct ats_json_val v;
	uint64_t time;
	int rc = ats_json_scan(line.p, line.n, NULL);

	if (rc < 0)
		return rc;
	if (ats_json_type(line) != ATS_JSON_OBJECT || !ats_json_get(line, "time", &v) ||
	    ats_json_to_u64(&v, &time) < 0)
		return -ATS_E_FIELD;
	return time >= f->since_ms && is_same(line, "session", f->session) &&
	    is_same(line, "tool", f->tool);
}

static void
name_of(const struct audit *a, unsigned age, char *out, size_t size)
{
	if (age == 0)
		(void)snprintf(out, size, "%s/audit.jsonl", a->dir);
	else
		(void)snprintf(out, size, "%s/audit.jsonl.%u", a->dir, age);
}

/* 1, 0 when there is none. */
static int
open_one(const struct audit *a, unsigned age, struct audit_file *f, struct ats_err *err)
{
	char path[ATS_PATH_MAX + 32];
	struct stat st;

	name_of(a, age, path, sizeof(path));
	*f = (struct audit_file){ .age = age };
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0)
		return errno == ENOENT ? 0 : ats_err_sys(err, "%s", path);
	if (fstat(f->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		ats_fd_close(&f->fd);
		return ats_err_set(err, ATS_E_NOTFILE, "%s: not a regular file", path);
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return 1;
}

static bool
is_file(const struct audit_file *a, const struct audit_file *b)
{
	return a->fd >= 0 && b->fd >= 0 && a->dev == b->dev && a->ino == b->ino;
}

static void
close_next(struct audit *a)
{
	while (a->nnext > 0)
		ats_fd_close(&a->next[--a->nnext].fd);
}

/* Opens the files that follow the one that is read, from the newest on: one that is rotated
 * meanwhile is found again under its next name, and known by its inode; none is passed over. */
static int
open_next(struct audit *a, struct ats_err *err)
{
	struct audit_file f;
	int rc;

	for (unsigned age = 0; age < AUDIT_FILES; age++) {
		rc = open_one(a, age, &f, err);
		if (rc < 0) {
			close_next(a);
			return rc;
		}
		if (is_file(&f, &a->now)) {
			ats_fd_close(&f.fd);
			break;
		}
		if (a->nnext > 0 && is_file(&f, &a->next[a->nnext - 1]))
			ats_fd_close(&f.fd);
		else if (rc > 0)
			a->next[a->nnext++] = f;
	}
	return 0;
}

static void
go_on(struct audit *a)
{
	ats_fd_close(&a->now.fd);
	a->now = a->next[--a->nnext];
	a->checked = false;
	/* What is torn at the end of a file stays so when another has followed. */
	ats_buf_reset(&a->in);
	a->skipping = false;
}

int
audit_open(struct audit *a, const char *dir, struct ats_err *err)
{
	int rc;

	*a = (struct audit){ .now.fd = -1 };
	(void)snprintf(a->dir, sizeof(a->dir), "%s", dir);
	ats_buf_init(&a->in, AUDIT_LINE_MAX);
	rc = open_next(a, err);
	if (rc == 0 && a->nnext == 0)
		rc = ats_err_set(err, ATS_E_NOENT, "%s/audit.jsonl: no audit log yet", dir);
	if (rc == 0)
		go_on(a);
	return rc;
}

void
audit_close(struct audit *a)
{
	close_next(a);
	ats_fd_close(&a->now.fd);
	ats_buf_done(&a->in);
}

/* Bytes read, 0 at the end of this file. */
static ssize_t
fill(struct audit *a)
{
	char *to;
	ssize_t n;

	if (ats_buf_reserve(&a->in, READ_BYTES, &to) < 0) {
		/* the beginning of a line that no vault of ours wrote */
		ats_buf_reset(&a->in);
		a->skipping = true;
		if (ats_buf_reserve(&a->in, READ_BYTES, &to) < 0)
			return -ATS_E_NOMEM;
	}
	n = ats_fd_read(a->now.fd, to, READ_BYTES);
	if (n < 0)
		return -ATS_E_SYS;
	ats_buf_commit(&a->in, (size_t)n);
	return n;
}

/* At the end of a file. 1: more may come, 0: nothing for now. What was written between its end
 * and its rotation is read before the next is begun. */
static int
at_end(struct audit *a)
{
	int rc;

	if (a->nnext > 0 && a->checked) {
		go_on(a);
		return 1;
	}
	rc = a->nnext > 0 ? 0 : open_next(a, NULL);
	a->checked = a->nnext > 0;
	return rc < 0 ? rc : a->nnext > 0;
}

int
audit_next(struct audit *a, struct ats_slice *ret_line)
{
	size_t scanned = 0;
	bool too_long;
	const char *nl;
	ssize_t n;

	ats_buf_consume(&a->in, a->used);
	a->used = 0;
	for (;;) {
		nl = memchr(a->in.data + scanned, '\n', a->in.len - scanned);
		if (nl != NULL)
			break;
		scanned = a->in.len;
		n = fill(a);
		if (n == 0)
			n = at_end(a);
		if (n <= 0)
			return (int)n;
		scanned = scanned < a->in.len ? scanned : 0;
	}
	a->now.line++;
	*ret_line = (struct ats_slice){ a->in.data, (size_t)(nl - a->in.data) };
	a->used = ret_line->n + 1;
	too_long = a->skipping;
	a->skipping = false;
	return too_long ? -ATS_E_TOOBIG : 1;
}

void
audit_where(const struct audit *a, char *out, size_t size)
{
	size_t n;

	name_of(a, a->now.age, out, size);
	n = strlen(out);
	(void)snprintf(out + n, size - n, ":%llu", (unsigned long long)a->now.line);
}
