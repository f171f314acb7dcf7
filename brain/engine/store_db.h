/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the journal's files: the database and its prepared statements. */
#ifndef ATS_ENGINE_STORE_DB_H
#define ATS_ENGINE_STORE_DB_H

#include <sqlite3.h>
#include <stdint.h>

#include "brain/engine/store.h"

enum store_stmt {
#define STATEMENT(name, sql) STORE_STMT_##name,
#include "brain/engine/store.def"
#undef STATEMENT
	STORE_STMT_COUNT
};

struct store {
	sqlite3 *db;			/* NULL: not open now, tried again at most once a second */
	sqlite3_stmt *stmt[STORE_STMT_COUNT];
	sqlite3_stmt *reading;		/* its row is borrowed by the caller */
	char *blob;			/* owned: a payload that was read from its file */
	bool damaged;			/* a statement found it so: replaced before the next */
	bool unread;			/* what an engine before this one wrote was never seen */
	int results_fd;			/* directory of large payloads, or -1 */
	uint64_t next_id;
	uint64_t generation;		/* counts the files that were opened */
	uint64_t tried_ms;
	char why[160];			/* it did not open then */
	char failed[160];		/* the last write of a call failed; "": it did not */
	char dir[4096];
};

/* Prepares all statements of a database that is open; SQLite's code, with some of them prepared
 * where it is not SQLITE_OK. */
ATS_NODISCARD int store_db_prepare(struct store *st);
/* Statements and database, whatever is there of them. */
void store_db_close(struct store *st);
/* Ends what was being read, opens the database again if it must. */
ATS_NODISCARD int store_ready(struct store *st, struct ats_err *err);
/* The error of the last SQLite call, rc; says so in st->damaged and st->failed. */
int store_error(struct store *st, int rc, const char *what, struct ats_err *err);
/* Steps a statement that gives no rows and resets it. */
ATS_NODISCARD int store_run(struct store *st, enum store_stmt id, const char *what,
    struct ats_err *err);
ATS_NODISCARD int store_begin(struct store *st, struct ats_err *err);
/* Commits; any failure rolls back. rc: what happened since begin, negative rolls back. */
ATS_NODISCARD int store_end(struct store *st, int rc, struct ats_err *err);
void store_bind_str(sqlite3_stmt *s, int i, const char *text);
void store_bind_slice(sqlite3_stmt *s, int i, struct ats_slice v);
void store_bind_u64(sqlite3_stmt *s, int i, uint64_t v);
/* After the commit of store_session_write. */
void store_session_saved(const struct store *st, struct session *s);
/* The session's rows, in the transaction that is open. */
ATS_NODISCARD int store_session_write(struct store *st, struct session *s,
    struct ats_err *err);

#endif
