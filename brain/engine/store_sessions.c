/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions and what they have read, in the journal. Runs in the engine; paths and numbers
 * were checked when they entered the session. */
#include <stdio.h>
#include <string.h>

#include "brain/engine/sandbox.h"
#include "brain/engine/sessions.h"
#include "brain/engine/store_db.h"
#include "common/clock.h"

static int
write_head(struct store *st, const struct session *s, struct ats_err *err)
{
	sqlite3_stmt *q = st->stmt[STORE_STMT_SESSION_SAVE];
	char shells[SESSION_SHELLS_MAX * (SESSION_SHELL_ID_MAX + 1) + 1];
	size_t i, n = 0;

	for (i = 0; i < s->nshells; i++)
		n += (size_t)snprintf(shells + n, sizeof(shells) - n, "%s,", s->shells[i]);
	shells[n] = '\0';
	store_bind_str(q, 1, s->id);
	store_bind_u64(q, 2, s->uid);
	store_bind_str(q, 3, s->box == NULL ? NULL : s->box->id);
	store_bind_str(q, 4, s->workspace);
	store_bind_str(q, 5, s->key);
	store_bind_str(q, 6, s->cwd);
	store_bind_str(q, 7, shells);
	return store_run(st, STORE_STMT_SESSION_SAVE, "session", err);
}

static int
write_read(struct store *st, const struct session *s, const struct session_read *r,
    uint64_t seq, struct ats_err *err)
{
	sqlite3_stmt *q = st->stmt[STORE_STMT_READ_SAVE];

	store_bind_str(q, 1, s->id);
	store_bind_str(q, 2, r->path);
	store_bind_u64(q, 3, r->size);
	store_bind_u64(q, 4, r->mtime_ns);
	store_bind_str(q, 5, r->sha256);
	store_bind_u64(q, 6, seq);
	return store_run(st, STORE_STMT_READ_SAVE, "read", err);
}

int
store_session_write(struct store *st, struct session *s, struct ats_err *err)
{
	uint64_t seq = (uint64_t)ats_clock_wall_ms();
	const struct session_read *r;
	int rc = s->dirty || s->row_of != st->generation ? write_head(st, s, err) : 0;

	if (rc < 0 || !s->dirty_reads)
		return rc;
	/* First: one that was read again since has a new row. */
	TAILQ_FOREACH(r, &s->forgotten, link) {
		store_bind_str(st->stmt[STORE_STMT_READ_DROP], 1, s->id);
		store_bind_str(st->stmt[STORE_STMT_READ_DROP], 2, r->path);
		rc = store_run(st, STORE_STMT_READ_DROP, "read", err);
		if (rc < 0)
			return rc;
	}
	/* Newest last: what is dirty stands at the end. */
	TAILQ_FOREACH_REVERSE(r, &s->order, session_read_list, link) {
		if (!r->dirty)
			continue;
		rc = write_read(st, s, r, seq, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
store_session_saved(const struct store *st, struct session *s)
{
	session_saved(s);
	s->row_of = st->generation;
}

int
store_session_save(struct store *st, struct session *s, struct ats_err *err)
{
	int rc = store_begin(st, err);

	if (rc < 0)
		return rc;
	rc = store_end(st, store_session_write(st, s, err), err);
	if (rc == 0)
		store_session_saved(st, s);
	return rc;
}

static void
load_shells(struct session *s, const char *text)
{
	char id[SESSION_SHELL_ID_MAX + 1];
	size_t n;

	while (text != NULL && *text != '\0') {
		n = strcspn(text, ",");
		if (n > 0 && n < sizeof(id)) {
			memcpy(id, text, n);
			id[n] = '\0';
			(void)(session_shell_add(s, id) < 0);
		}
		text += n + (text[n] == ',');
	}
}

static int
load_reads(struct store *st, struct session *s, struct ats_err *err)
{
	sqlite3_stmt *q = st->stmt[STORE_STMT_READS_LOAD];
	const char *path, *sha;
	int rc;

	store_bind_str(q, 1, s->id);
	store_bind_u64(q, 2, s->reads_max);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		path = (const char *)sqlite3_column_text(q, 0);
		sha = (const char *)sqlite3_column_text(q, 3);
		if (path == NULL || sha == NULL) {
			rc = SQLITE_CORRUPT;
			break;
		}
		(void)(session_read_put(s, path, (uint64_t)sqlite3_column_int64(q, 1),
		    (uint64_t)sqlite3_column_int64(q, 2), sha, false) < 0);
	}
	(void)sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : store_error(st, rc, "reads", err);
}

int
store_session_load(struct store *st, struct session *s, struct ats_err *err)
{
	sqlite3_stmt *q;
	bool ours = false, found = false;
	const char *cwd, *workspace;
	int rc = store_ready(st, err);

	if (rc < 0)
		return rc;
	q = st->stmt[STORE_STMT_SESSION_LOAD];
	store_bind_str(q, 1, s->id);
	rc = sqlite3_step(q);
	if (rc == SQLITE_ROW) {
		found = true;
		workspace = (const char *)sqlite3_column_text(q, 1);
		ours = (uint64_t)sqlite3_column_int64(q, 0) == s->uid && workspace != NULL &&
		    strcmp(workspace, s->workspace) == 0;
		cwd = (const char *)sqlite3_column_text(q, 2);
		if (ours && cwd != NULL)
			session_cwd_set(s, cwd);
		s->row_of = ours ? st->generation : 0;
		if (ours)
			load_shells(s, (const char *)sqlite3_column_text(q, 3));
	}
	(void)sqlite3_reset(q);
	s->dirty = false;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return store_error(st, rc, "session", err);
	if (!found)
		return 0;
	return ours ? load_reads(st, s, err) : store_session_drop(st, s->id, err);
}

int
store_session_drop(struct store *st, const char *id, struct ats_err *err)
{
	static const enum store_stmt all[] = {
		STORE_STMT_SESSION_DROP, STORE_STMT_READS_DROP, STORE_STMT_CALLS_FORGET,
	};
	int rc = store_begin(st, err);
	size_t i;

	if (rc < 0)
		return rc;
	for (i = 0; rc == 0 && i < ATS_ARRAY_LEN(all); i++) {
		store_bind_str(st->stmt[all[i]], 1, id);
		rc = store_run(st, all[i], "session drop", err);
	}
	return store_end(st, rc, err);
}
