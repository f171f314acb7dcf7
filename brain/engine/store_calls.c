/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls in the journal: sent before they are, done before they are acknowledged. Runs in
 * the engine. Payloads over STORE_INLINE_MAX lie in files of their own, by call id; the row
 * holds length and digest. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/sessions.h"
#include "brain/engine/store_db.h"
#include "common/digest.h"
#include "common/fd.h"
#include "common/log.h"

/* Columns of SELECT * FROM calls. */
enum column {
	COL_ID, COL_SESSION, COL_SANDBOX, COL_KEY, COL_TOOL, COL_DIGEST, COL_BOOT, COL_STATE,
	COL_ATTEMPT, COL_CREATED, COL_DEADLINE, COL_KIND, COL_IS_ERROR, COL_CODE, COL_BLOCKS,
	COL_OUTPUT, COL_EXIT_KIND, COL_EXIT_CODE, COL_QUEUE_US, COL_RUN_US, COL_TOTAL_US,
	COL_PAYLOAD, COL_PAYLOAD_LEN, COL_PAYLOAD_SHA, COL_PATH, COL_TIMINGS, COL_ASKED,
	COL_PERMITTED, COL_HOOKS, COL_INPUT
};

int
store_call_sent(struct store *st, const struct store_call *c, struct ats_err *err)
{
	sqlite3_stmt *q;
	int rc = store_ready(st, err);

	if (rc < 0)
		return rc;
	q = st->stmt[STORE_STMT_CALL_SENT];
	store_bind_u64(q, 1, c->id);
	store_bind_str(q, 2, c->session);
	store_bind_str(q, 3, c->sandbox);
	store_bind_str(q, 4, c->key);
	store_bind_str(q, 5, c->tool);
	store_bind_str(q, 6, c->digest);
	store_bind_str(q, 7, c->boot);
	store_bind_u64(q, 8, c->attempt);
	(void)sqlite3_bind_int64(q, 9, c->created_ms);
	(void)sqlite3_bind_int64(q, 10, c->deadline_ms);
	store_bind_str(q, 11, c->path);
	store_bind_str(q, 12, c->asked);
	store_bind_u64(q, 13, c->permitted);
	store_bind_u64(q, 14, c->hooks);
	store_bind_slice(q, 15, c->input);
	return store_run(st, STORE_STMT_CALL_SENT, "call", err);
}

int
store_call_hooks(struct store *st, uint64_t id, unsigned hooks, struct ats_err *err)
{
	int rc = store_ready(st, err);

	if (rc < 0)
		return rc;
	store_bind_u64(st->stmt[STORE_STMT_CALL_HOOKS], 1, id);
	store_bind_u64(st->stmt[STORE_STMT_CALL_HOOKS], 2, hooks);
	return store_run(st, STORE_STMT_CALL_HOOKS, "hooks", err);
}

static void
result_name(uint64_t id, char out[32])
{
	(void)snprintf(out, 32, "c-%llu", (unsigned long long)id);
}

/* Best effort: without the file the row still has length and digest. */
static void
write_result(struct store *st, uint64_t id, struct ats_slice payload)
{
	char name[32];
	int fd;

	result_name(id, name);
	fd = openat(st->results_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (fd < 0)
		return;
	if (ats_fd_write_all(fd, payload.p, payload.n) < 0) {
		ats_log(ATS_LOG_WARN, "a large answer was not kept", "call=%s", name);
		(void)unlinkat(st->results_fd, name, 0);
	}
	(void)close(fd);
}

static void
bind_outcome(sqlite3_stmt *q, uint64_t id, const struct outcome *o, const char *sha)
{
	struct ats_slice inline_payload = o->payload;

	if (o->payload.n > STORE_INLINE_MAX || o->payload.p == NULL)
		inline_payload.p = NULL;
	store_bind_u64(q, 1, id);
	store_bind_u64(q, 2, (uint64_t)o->kind);
	store_bind_u64(q, 3, o->is_error);
	store_bind_u64(q, 4, (uint64_t)o->code);
	store_bind_slice(q, 5, o->blocks);
	store_bind_slice(q, 6, o->output);
	store_bind_str(q, 7, o->exit_kind);
	if (o->has_exit_code)
		store_bind_u64(q, 8, o->exit_code);
	store_bind_u64(q, 9, o->t.us[ATS_TIMING_QUEUE]);
	store_bind_u64(q, 10, o->t.us[ATS_TIMING_RUN]);
	store_bind_u64(q, 11, o->t.us[ATS_TIMING_TOTAL]);
	store_bind_slice(q, 12, inline_payload);
	store_bind_u64(q, 13, o->payload.n);
	store_bind_str(q, 14, sha);
	store_bind_slice(q, 15, (struct ats_slice){ (const char *)o->t.us, sizeof(o->t.us) });
}

int
store_call_done(struct store *st, uint64_t id, const struct outcome *o, struct session *s,
    struct ats_err *err)
{
	char sha[ATS_SHA256_HEX] = "";
	bool changed = s != NULL && (s->dirty || s->dirty_reads);
	int rc;

	if (o->payload.n > STORE_INLINE_MAX) {
		ats_sha256_hex(o->payload.p, o->payload.n, sha);
		write_result(st, id, o->payload);
	}
	rc = changed ? store_begin(st, err) : store_ready(st, err);
	if (rc < 0)
		return rc;
	bind_outcome(st->stmt[STORE_STMT_CALL_DONE], id, o, sha[0] == '\0' ? NULL : sha);
	rc = store_run(st, STORE_STMT_CALL_DONE, "answer", err);
	if (!changed)
		return rc;
	if (rc == 0)
		rc = store_session_write(st, s, err);
	rc = store_end(st, rc, err);
	if (rc == 0)
		store_session_saved(st, s);
	return rc;
}

int
store_call_drop(struct store *st, uint64_t id, struct ats_err *err)
{
	int rc = store_ready(st, err);

	if (rc < 0)
		return rc;
	store_bind_u64(st->stmt[STORE_STMT_CALL_DROP], 1, id);
	return store_run(st, STORE_STMT_CALL_DROP, "call drop", err);
}

static struct ats_slice
column_slice(sqlite3_stmt *q, int i)
{
	struct ats_slice v = { NULL, 0 };

	if (sqlite3_column_type(q, i) == SQLITE_NULL)
		return v;
	v.p = sqlite3_column_blob(q, i);
	v.n = (size_t)sqlite3_column_bytes(q, i);
	if (v.p == NULL)
		v.p = "";
	return v;
}

static const char *
column_str(sqlite3_stmt *q, int i)
{
	return (const char *)sqlite3_column_text(q, i);
}

static uint64_t
column_u64(sqlite3_stmt *q, int i)
{
	return (uint64_t)sqlite3_column_int64(q, i);
}

static void
read_result(struct store *st, struct store_call *c)
{
	char name[32];
	size_t n = 0;

	result_name(c->id, name);
	if (st->results_fd >= 0 && ats_fd_slurp(st->results_fd, name, 16u << 20, &st->blob, &n,
	        NULL) == 0 && n == c->payload_len) {
		c->outcome.payload.p = st->blob;
		c->outcome.payload.n = n;
		return;
	}
	c->payload_lost = true;
	c->outcome.payload.p = NULL;
	c->outcome.payload.n = 0;
}

/* One with another number of hops is of another version: it had three for sure. */
static void
read_timings(sqlite3_stmt *q, struct ats_timings *t)
{
	struct ats_slice all = column_slice(q, COL_TIMINGS);

	if (all.p != NULL && all.n == sizeof(t->us)) {
		memcpy(t->us, all.p, sizeof(t->us));
		return;
	}
	t->us[ATS_TIMING_QUEUE] = column_u64(q, COL_QUEUE_US);
	t->us[ATS_TIMING_RUN] = column_u64(q, COL_RUN_US);
	t->us[ATS_TIMING_TOTAL] = column_u64(q, COL_TOTAL_US);
}

static void
read_outcome(struct store *st, sqlite3_stmt *q, struct store_call *c)
{
	struct outcome *o = &c->outcome;
	const char *sha = column_str(q, COL_PAYLOAD_SHA);

	o->kind = (enum outcome_kind)(column_u64(q, COL_KIND) % 3);
	o->is_error = column_u64(q, COL_IS_ERROR) != 0;
	o->code = sqlite3_column_int(q, COL_CODE);
	o->blocks = column_slice(q, COL_BLOCKS);
	o->output = column_slice(q, COL_OUTPUT);
	o->exit_kind = column_str(q, COL_EXIT_KIND);
	o->has_exit_code = sqlite3_column_type(q, COL_EXIT_CODE) != SQLITE_NULL;
	o->exit_code = column_u64(q, COL_EXIT_CODE);
	read_timings(q, &o->t);
	o->payload = column_slice(q, COL_PAYLOAD);
	c->payload_len = column_u64(q, COL_PAYLOAD_LEN);
	if (sha != NULL) {
		(void)snprintf(c->payload_sha256, sizeof(c->payload_sha256), "%s", sha);
		read_result(st, c);
	}
}

/* SQLITE_OK, or SQLITE_CORRUPT for a row that nobody wrote so. */
static int
read_row(struct store *st, sqlite3_stmt *q, struct store_call *c)
{
	memset(c, 0, sizeof(*c));
	c->id = column_u64(q, COL_ID);
	c->session = column_str(q, COL_SESSION);
	c->sandbox = column_str(q, COL_SANDBOX);
	c->key = column_str(q, COL_KEY);
	c->tool = column_str(q, COL_TOOL);
	c->digest = column_str(q, COL_DIGEST);
	c->boot = column_str(q, COL_BOOT);
	c->state = sqlite3_column_int(q, COL_STATE) == 2 ? STORE_DONE : STORE_DISPATCHED;
	c->attempt = column_u64(q, COL_ATTEMPT);
	c->created_ms = sqlite3_column_int64(q, COL_CREATED);
	c->deadline_ms = sqlite3_column_int64(q, COL_DEADLINE);
	c->path = column_str(q, COL_PATH);
	c->asked = column_str(q, COL_ASKED);
	c->permitted = column_u64(q, COL_PERMITTED) != 0;
	c->hooks = (unsigned)column_u64(q, COL_HOOKS);
	c->input = column_slice(q, COL_INPUT);
	if (c->session == NULL || c->sandbox == NULL || c->tool == NULL || c->digest == NULL ||
	    c->boot == NULL)
		return SQLITE_CORRUPT;
	if (c->state == STORE_DONE)
		read_outcome(st, q, c);
	return SQLITE_OK;
}

static int
read_one(struct store *st, sqlite3_stmt *q, struct store_call *ret, struct ats_err *err)
{
	int rc = sqlite3_step(q);

	st->reading = q;
	if (rc == SQLITE_DONE)
		return 0;
	if (rc == SQLITE_ROW)
		rc = read_row(st, q, ret);
	return rc == SQLITE_OK ? 1 : store_error(st, rc, "look-up", err);
}

int
store_call_by_key(struct store *st, const char *session, const char *key,
    struct store_call *ret, struct ats_err *err)
{
	int rc = store_ready(st, err);

	if (rc < 0)
		return rc;
	store_bind_str(st->stmt[STORE_STMT_CALL_BY_KEY], 1, session);
	store_bind_str(st->stmt[STORE_STMT_CALL_BY_KEY], 2, key);
	return read_one(st, st->stmt[STORE_STMT_CALL_BY_KEY], ret, err);
}

int
store_call_by_id(struct store *st, uint64_t id, struct store_call *ret, struct ats_err *err)
{
	int rc = store_ready(st, err);

	if (rc < 0)
		return rc;
	store_bind_u64(st->stmt[STORE_STMT_CALL_BY_ID], 1, id);
	return read_one(st, st->stmt[STORE_STMT_CALL_BY_ID], ret, err);
}

int
store_calls_open(struct store *st, int (*fn)(void *ctx, const struct store_call *c), void *ctx,
    struct ats_err *err)
{
	struct store_call c;
	sqlite3_stmt *q;
	int rc = store_ready(st, err), ret = 0;

	if (rc < 0)
		return rc;
	q = st->stmt[STORE_STMT_CALLS_OPEN];
	while (ret == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		rc = read_row(st, q, &c);
		if (rc != SQLITE_OK)
			break;
		ret = fn(ctx, &c);
	}
	(void)sqlite3_reset(q);
	if (ret == 0 && rc != SQLITE_DONE)
		return store_error(st, rc, "open calls", err);
	return ret;
}

static void
drop_rows(struct store *st, enum store_stmt which)
{
	sqlite3_stmt *q = st->stmt[which];
	uint64_t ids[1000];
	char name[32];
	size_t i, n = 0;
	int rc = SQLITE_DONE;

	while (n < ATS_ARRAY_LEN(ids) && (rc = sqlite3_step(q)) == SQLITE_ROW)
		ids[n++] = column_u64(q, 0);
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		(void)store_error(st, rc, "prune", NULL);
	(void)sqlite3_reset(q);
	if (n == 0 || store_begin(st, NULL) < 0)
		return;
	for (i = 0; i < n; i++) {
		store_bind_u64(st->stmt[STORE_STMT_CALL_DROP], 1, ids[i]);
		if (store_run(st, STORE_STMT_CALL_DROP, "prune", NULL) < 0)
			break;
		result_name(ids[i], name);
		(void)unlinkat(st->results_fd, name, 0);
	}
	(void)(store_end(st, i < n ? -ATS_E_SYS : 0, NULL) < 0);
}

uint64_t
store_rows(struct store *st)
{
	sqlite3_stmt *q;
	uint64_t n = 0;
	int rc;

	if (store_ready(st, NULL) < 0)
		return 0;
	q = st->stmt[STORE_STMT_CALLS_COUNT];
	rc = sqlite3_step(q);
	if (rc == SQLITE_ROW)
		n = column_u64(q, 0);
	else
		(void)store_error(st, rc, "count", NULL);
	(void)sqlite3_reset(q);
	return n;
}

void
store_prune(struct store *st, int64_t now_ms, uint64_t days, uint64_t max_rows)
{
	uint64_t rows = store_rows(st);

	if (st->db == NULL || st->damaged)
		return;
	(void)sqlite3_bind_int64(st->stmt[STORE_STMT_CALLS_OLD], 1,
	    now_ms - (int64_t)days * 86400000);
	drop_rows(st, STORE_STMT_CALLS_OLD);
	if (rows > max_rows && st->db != NULL && !st->damaged) {
		store_bind_u64(st->stmt[STORE_STMT_CALLS_OVER], 1, rows - max_rows);
		drop_rows(st, STORE_STMT_CALLS_OVER);
	}
}
