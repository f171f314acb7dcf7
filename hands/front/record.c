/* SPDX-License-Identifier: Apache-2.0
 *
 * Records between two fronts. Runs in both; the other end is a front of another version, or a
 * file that somebody called one. Nothing is allocated before the table allows it. */
#include "hands/front/record.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "proto/rows.h"

#define JSON_MAX (48u << 10)
#define CHUNK (64u << 10)	/* of a payload, a datagram */

struct record_head {
	uint32_t id, json_len, payload_len, nfds;
};
struct record_row {
	struct ats_shape shape;
	uint32_t nfds, payload;
};

#define FIELD(frame, member, type, req, max, doc)                                        \
	ATS_ROW(struct record_##frame, member, #member, type, req, 0, max, doc)
#define RECORD(name, wire, nfds, payload, doc)                                           \
	static const struct ats_field fields_##name[] = {
#define END(name) ATS_ROW_LAST };                                                        \
	ATS_SHAPE_CHECK(fields_##name);
#include "hands/front/record.def"
#undef RECORD
#undef FIELD
#undef END
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
static const struct record_row rows[RECORD_COUNT] = {
#define RECORD(name, wire, n, bytes, doc)                                                \
	[RECORD_ID_##name] = { .shape = ATS_SHAPE(wire, fields_##name,                    \
				   struct record_##name, doc), .nfds = (n), .payload = (bytes) },
#include "hands/front/record.def"
};
#undef RECORD
#undef FIELD
#undef END

static void
close_fds(struct records *r)
{
	for (size_t i = r->taken; i < r->nfds; i++)
		(void)close(r->fds[i]);
	r->nfds = r->taken = 0;
}

void
records_init(struct records *r, int sock, uint64_t ms)
{
	*r = (struct records){ .sock = sock, .until_us = ats_clock_us() + ms * 1000 };
	ats_buf_init(&r->json, sizeof(struct record_head) + JSON_MAX);
	ats_buf_init(&r->arena, 4 * JSON_MAX);
	ats_buf_init(&r->payload, 16u << 20);
}

void
records_done(struct records *r)
{
	close_fds(r);
	ats_buf_done(&r->json);
	ats_buf_done(&r->arena);
	ats_buf_done(&r->payload);
}

int
record_wrong(struct records *r, const char *what)
{
	return ats_err_set(&r->err, ATS_E_PROTO, "%s: what was said of it contradicts itself",
	    what);
}

static int
wait_for(struct records *r, short events)
{
	uint64_t now = ats_clock_us();
	struct pollfd p = { .fd = r->sock, .events = events };
	int rc;

	if (now >= r->until_us)
		return ats_err_set(&r->err, ATS_E_TIMEOUT, "the other front is silent");
	rc = poll(&p, 1, (int)((r->until_us - now) / 1000) + 1);
	return rc < 0 && errno != EINTR ? ats_err_sys(&r->err, "poll") : 0;
}

/* ---- out --------------------------------------------------------------------------- */
static int
put(struct records *r, const char *p, size_t n, const int *fds, size_t nfds)
{
	ssize_t rc;

	while ((rc = ats_fd_send(r->sock, p, n, fds, nfds)) == -ATS_E_AGAIN)
		if (wait_for(r, POLLOUT) < 0)
			return -r->err.code;
	if (rc == -ATS_E_EOF)
		return ats_err_set(&r->err, ATS_E_EOF, "the other front is gone");
	return rc < 0 ? ats_err_sys(&r->err, "send") : 0;
}

static int
put_payload(struct records *r, const struct ats_slice *parts, size_t nparts)
{
	int rc = 0;

	for (size_t i = 0; i < nparts; i++)
		for (size_t at = 0; rc == 0 && at < parts[i].n; at += CHUNK)
			rc = put(r, parts[i].p + at,
			    parts[i].n - at < CHUNK ? parts[i].n - at : CHUNK, NULL, 0);
	return rc;
}

int
record_send(struct records *r, enum record_id id, const void *msg,
    const struct ats_slice *parts, size_t nparts, const int *fds, size_t nfds)
{
	const struct record_row *row = &rows[id];
	struct record_head h = { .id = id, .nfds = (uint32_t)nfds };
	size_t total = 0;
	char *p;
	int rc;

	for (size_t i = 0; i < nparts; i++)
		total += parts[i].n;
	if (total > row->payload || nfds > row->nfds)
		return ats_err_set(&r->err, ATS_E_TOOBIG, "%s: too much of it", row->shape.name);
	ats_buf_reset(&r->json);
	if (ats_buf_reserve(&r->json, sizeof(h), &p) < 0)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	ats_buf_commit(&r->json, sizeof(h));
	rc = ats_msg_encode(&row->shape, msg, &r->json, &r->err);
	if (rc < 0)
		return rc;
	h.json_len = (uint32_t)(r->json.len - sizeof(h));
	h.payload_len = (uint32_t)total;
	memcpy(r->json.data, &h, sizeof(h));
	rc = put(r, r->json.data, r->json.len, fds, nfds);
	return rc < 0 ? rc : put_payload(r, parts, nparts);
}

/* ---- in ---------------------------------------------------------------------------- */
/* One datagram, of at most size bytes. */
static int
take(struct records *r, char *p, size_t size, size_t *ret_n)
{
	ssize_t n;

	while ((n = ats_fd_recv(r->sock, p, size, r->fds, ATS_FD_PASS_MAX, &r->nfds)) ==
	    -ATS_E_AGAIN)
		if (wait_for(r, POLLIN) < 0)
			return -r->err.code;
	if (n == 0 || n == -ATS_E_EOF)
		return ats_err_set(&r->err, ATS_E_EOF, "the other front is gone");
	if (n < 0)
		return ats_err_set(&r->err, ATS_E_PROTO, "the other front sends no records");
	*ret_n = (size_t)n;
	return 0;
}

static int
take_head(struct records *r, struct record_head *h)
{
	size_t n;
	char *p;
	int rc;

	close_fds(r);
	ats_buf_reset(&r->json);
	if (ats_buf_reserve(&r->json, sizeof(*h) + JSON_MAX, &p) < 0)
		return ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
	rc = take(r, p, sizeof(*h) + JSON_MAX, &n);
	if (rc < 0)
		return rc;
	ats_buf_commit(&r->json, n);
	if (n < sizeof(*h))
		return ats_err_set(&r->err, ATS_E_PROTO, "the other front sends no records");
	memcpy(h, p, sizeof(*h));
	if (h->id >= RECORD_COUNT)
		return ats_err_set(&r->err, ATS_E_VERSION, "record %u of the other front is "
		    "unknown", h->id);
	if (h->json_len != n - sizeof(*h) || h->nfds != r->nfds ||
	    h->nfds > rows[h->id].nfds || h->payload_len > rows[h->id].payload)
		return ats_err_set(&r->err, ATS_E_PROTO, "%s: not of its size",
		    rows[h->id].shape.name);
	return 0;
}

static int
take_payload(struct records *r, size_t want)
{
	struct ats_buf *b = &r->payload;
	size_t n, nfds = r->nfds;
	int fds[ATS_FD_PASS_MAX], rc = 0;
	char *p;

	memcpy(fds, r->fds, sizeof(fds));
	ats_buf_reset(b);
	while (rc == 0 && b->len < want) {
		if (ats_buf_reserve(b, CHUNK, &p) < 0)
			rc = ats_err_set(&r->err, ATS_E_NOMEM, "no memory");
		else if ((rc = take(r, p, CHUNK, &n)) == 0) {
			ats_buf_commit(b, n);
			if (r->nfds > 0 || b->len > want)
				rc = ats_err_set(&r->err, ATS_E_PROTO, "more than was announced");
			close_fds(r);
		}
	}
	memcpy(r->fds, fds, sizeof(fds));
	r->nfds = nfds;
	return rc;
}

int
record_any(struct records *r, union record_any *ret)
{
	struct record_head h;
	int rc = take_head(r, &h);

	if (rc == 0) {
		r->id = (enum record_id)h.id;
		rc = take_payload(r, h.payload_len);
	}
	memset(ret, 0, sizeof(*ret));
	return rc < 0 ? rc : ats_msg_decode(&rows[h.id].shape, r->json.data + sizeof(h),
	    h.json_len, 0, ret, &r->arena, &r->err);
}

int
record_next(struct records *r, enum record_id id, union record_any *ret)
{
	int rc = record_any(r, ret);

	if (rc < 0 || r->id == id)
		return rc;
	if (r->id == RECORD_ID_STOP)
		return ats_err_set(&r->err, ATS_E_CANCELLED, "the old front goes on");
	return ats_err_set(&r->err, ATS_E_PROTO, "%s where %s belongs", rows[r->id].shape.name,
	    rows[id].shape.name);
}

int
record_fd(struct records *r, bool wanted)
{
	if (!wanted || r->taken == r->nfds)
		return -1;
	/* It is of the same open file as the other front's, and so as it was. */
	return r->fds[r->taken++];
}

bool
record_has_fds(const struct records *r, unsigned n)
{
	return r->nfds == n;
}
