/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command has printed, in memory and on disk, to the next front and from the one before.
 * Runs in hands' front; what the other front says is checked. */
#include "hands/front/spill_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fault.h"
#include "common/fd.h"
#include "hands/front/capture.h"
#include "hands/front/record.h"

/* ---- on disk ----------------------------------------------------------------------- */
int
spill_save(const struct spill *s, struct records *r)
{
	const struct record_SPILL m = {
		.name = s->name,
		.ring = s->ring >= 0,
		.total = s->total,
		.stored = s->stored,
		.on_disk = s->on_disk,
		.error = (uint64_t)(s->error < 0 ? -s->error : s->error),
		.finished = s->finished,
		.tail_from = s->tail_from,
		.tail_at = s->tail_at,
		.copied = s->copied,
	};
	const int fds[2] = { s->fd, s->ring };

	return record_send(r, RECORD_ID_SPILL, &m, NULL, 0, fds, s->ring >= 0 ? 2 : 1);
}

/* Positions by which a file is read and written later. */
static bool
is_possible(const struct record_SPILL *m)
{
	if (m->stored > m->total || m->total > INT64_MAX || m->on_disk > SPILL_STORE ||
	    m->name[0] == '\0' || m->name[0] == '.' || strchr(m->name, '/') != NULL)
		return false;
	if (!m->finished)
		return m->tail_from == 0 && m->tail_at == 0 && m->copied == 0;
	return m->tail_from >= SPILL_FIRST && m->tail_at >= SPILL_FIRST &&
	    m->tail_at <= SPILL_FIRST + 4096 && m->tail_from <= INT64_MAX &&
	    m->copied <= SPILL_LAST &&
	    (m->stored <= SPILL_FIRST || m->tail_from + m->copied <= m->stored);
}

static bool
is_file(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Its entry, which counts as the other front has counted. */
static bool
enter(struct spill_store *st, const struct spill *s)
{
	struct spill_file *f = spill_file_find(st, s->name);

	if (f != NULL && f->live)
		return false;
	if (f == NULL) {
		if (st->n == SPILL_FILES)
			return false;
		spill_store_enter(st, s->name);
		f = spill_file_find(st, s->name);
	}
	f->live = true;
	st->bytes += s->on_disk;
	st->bytes -= f->bytes;
	f->bytes = s->on_disk;
	return true;
}

int
spill_load(struct spill_store *st, struct records *r, struct spill **ret)
{
	union record_any rec;
	const struct record_SPILL *m = &rec.SPILL;
	struct spill *s;
	int rc = record_next(r, RECORD_ID_SPILL, &rec);

	if (rc < 0)
		return rc;
	s = is_possible(m) && record_has_fds(r, 1u + m->ring) ? ats_calloc(1, sizeof(*s)) : NULL;
	if (s == NULL)
		return record_wrong(r, "spill");
	memcpy(s->name, m->name, strlen(m->name) + 1);
	s->store = st;
	s->fd = record_fd(r, true);
	s->ring = record_fd(r, m->ring);
	s->total = m->total;
	s->stored = m->stored;
	s->on_disk = m->on_disk;
	s->error = -(int)m->error;
	s->finished = m->finished;
	s->tail_from = m->tail_from;
	s->tail_at = m->tail_at;
	s->copied = m->copied;
	if (!is_file(s->fd) || (m->ring && !is_file(s->ring)) || !enter(st, s)) {
		ats_fd_close(&s->fd);
		ats_fd_close(&s->ring);
		free(s);
		return record_wrong(r, "spill");
	}
	*ret = s;
	return 0;
}

/* ---- in memory --------------------------------------------------------------------- */
int
capture_save(const struct capture *c, struct records *r)
{
	const struct record_CAPTURE m = { .total = c->total, .head = c->head.len };
	const struct ats_slice parts[2] = { { c->head.data, c->head.len },
		{ c->ring, c->ring == NULL ? 0 : CAPTURE_SIDE } };

	return record_send(r, RECORD_ID_CAPTURE, &m, parts, 2, NULL, 0);
}

int
capture_load(struct capture *c, struct records *r)
{
	union record_any rec;
	const char *p;
	size_t n;
	int rc = record_next(r, RECORD_ID_CAPTURE, &rec);

	if (rc < 0)
		return rc;
	n = r->payload.len;
	p = r->payload.data;
	if (rec.CAPTURE.head > n || rec.CAPTURE.head > CAPTURE_SIDE ||
	    rec.CAPTURE.head > rec.CAPTURE.total ||
	    (n != rec.CAPTURE.head && n != rec.CAPTURE.head + CAPTURE_SIDE))
		return record_wrong(r, "capture");
	c->total = rec.CAPTURE.total;
	if (rec.CAPTURE.head > 0)
		rc = ats_buf_add(&c->head, p, rec.CAPTURE.head);
	if (rc == 0 && n > rec.CAPTURE.head) {
		c->ring = ats_malloc(CAPTURE_SIDE);
		rc = c->ring == NULL ? -ATS_E_NOMEM : 0;
	}
	if (rc < 0)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	if (c->ring != NULL)
		memcpy(c->ring, p + rec.CAPTURE.head, CAPTURE_SIDE);
	return 0;
}
