/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal's statements: prepared once, bound, stepped; transactions and errors. Runs in the
 * engine. What is bound came from clients and sandboxes, and is never part of the SQL. */
#include "brain/engine/store_db.h"

#include <errno.h>
#include <stdio.h>

static const char *const sql[] = {
#define STATEMENT(name, text) [STORE_STMT_##name] = text,
#include "brain/engine/store.def"
#undef STATEMENT
};

static bool
is_damage(int rc)
{
	return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

int
store_error(struct store *st, int rc, const char *what, struct ats_err *err)
{
	int code = ATS_E_SYS;
	const char *why;

	if (is_damage(rc)) {
		st->damaged = true;
		return ats_err_set(err, ATS_E_NOT_STARTED,
		    "the journal was damaged and is replaced (%s: %s)", what,
		    sqlite3_errstr(rc));
	}
	if (rc == SQLITE_FULL)
		code = ATS_E_NOSPC;
	else if (rc == SQLITE_NOMEM)
		code = ATS_E_NOMEM;
	else if (st->db != NULL && (rc & 0xff) == SQLITE_IOERR &&
	    (sqlite3_system_errno(st->db) == ENOSPC || sqlite3_system_errno(st->db) == EDQUOT))
		code = ATS_E_NOSPC;
	why = code == ATS_E_NOSPC ? "no space left on the device" :
	    st->db != NULL	  ? sqlite3_errmsg(st->db) :
				    sqlite3_errstr(rc);
	(void)snprintf(st->failed, sizeof(st->failed), "%.150s", why);
	return ats_err_set(err, code, "journal: %s: %s", what, why);
}

int
store_db_prepare(struct store *st)
{
	int i, rc = SQLITE_OK;

	for (i = 0; rc == SQLITE_OK && i < STORE_STMT_COUNT; i++)
		rc = sqlite3_prepare_v3(st->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
		    &st->stmt[i], NULL);
	return rc;
}

void
store_db_close(struct store *st)
{
	int i;

	st->reading = NULL;
	for (i = 0; i < STORE_STMT_COUNT; i++) {
		(void)sqlite3_finalize(st->stmt[i]);
		st->stmt[i] = NULL;
	}
	(void)sqlite3_close(st->db);
	st->db = NULL;
}

void
store_bind_str(sqlite3_stmt *s, int i, const char *text)
{
	(void)(text == NULL ? sqlite3_bind_null(s, i) :
			      sqlite3_bind_text(s, i, text, -1, SQLITE_STATIC));
}

void
store_bind_slice(sqlite3_stmt *s, int i, struct ats_slice v)
{
	(void)(v.p == NULL ? sqlite3_bind_null(s, i) :
			     sqlite3_bind_blob64(s, i, v.p, v.n, SQLITE_STATIC));
}

void
store_bind_u64(sqlite3_stmt *s, int i, uint64_t v)
{
	(void)sqlite3_bind_int64(s, i, (sqlite3_int64)v);
}

int
store_run(struct store *st, enum store_stmt id, const char *what, struct ats_err *err)
{
	int rc = sqlite3_step(st->stmt[id]);
	int ret = 0;

	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		ret = store_error(st, rc, what, err);
	else if (id == STORE_STMT_CALL_SENT || id == STORE_STMT_COMMIT)
		st->failed[0] = '\0';
	(void)sqlite3_reset(st->stmt[id]);
	(void)sqlite3_clear_bindings(st->stmt[id]);
	return ret;
}

int
store_begin(struct store *st, struct ats_err *err)
{
	int rc = store_ready(st, err);

	return rc < 0 ? rc : store_run(st, STORE_STMT_BEGIN, "begin", err);
}

int
store_end(struct store *st, int rc, struct ats_err *err)
{
	if (rc == 0)
		rc = store_run(st, STORE_STMT_COMMIT, "commit", err);
	/* A full disk may have rolled back already. */
	if (rc < 0 && sqlite3_get_autocommit(st->db) == 0 &&
	    store_run(st, STORE_STMT_ROLLBACK, "rollback", NULL) < 0)
		store_db_close(st);
	return rc;
}
