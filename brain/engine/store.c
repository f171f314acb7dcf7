/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal's file: its schema, how it is opened, and what becomes of one that is damaged, of
 * another format, or on a full disk. Runs in the engine. The file is ours. */
#include "brain/engine/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/engine/store_db.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"

#define RETRY_MS 1000
/* user_version of the database: goes up when an older engine would misread it. */
#define STORE_FORMAT 1
#define STORE_FORMAT_TEXT "1"
#define ASIDE "journal.db.damaged-"	/* and the time in seconds */
/* Ids begin at the time in seconds times this, so that a journal that was lost cannot give
 * an id again that some hands still keeps: 1024 calls a second on average. */
#define IDS_A_SECOND 1024

/* Before anything is read: shared memory with others would be a file, which a full disk refuses. */
static const char alone[] = "PRAGMA locking_mode=EXCLUSIVE;";
static const char schema[] =
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=NORMAL;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA wal_autocheckpoint=4000;"	/* each costs two fsyncs: 16 MiB apart */
    "PRAGMA trusted_schema=OFF;"
    "CREATE TABLE IF NOT EXISTS sessions(id TEXT PRIMARY KEY, uid INTEGER, sandbox TEXT,"
    " workspace TEXT, key TEXT, cwd TEXT, shells TEXT) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS reads(session TEXT, path TEXT, size INTEGER, mtime INTEGER,"
    " sha256 TEXT, seq INTEGER, PRIMARY KEY(session, path)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS calls(id INTEGER PRIMARY KEY, session TEXT, sandbox TEXT,"
    " key TEXT, tool TEXT, digest TEXT, boot TEXT, state INTEGER, attempt INTEGER,"
    " created INTEGER, deadline INTEGER, kind INTEGER, is_error INTEGER, code INTEGER,"
    " blocks BLOB, output BLOB, exit_kind TEXT, exit_code INTEGER, queue_us INTEGER,"
    " run_us INTEGER, total_us INTEGER, payload BLOB, payload_len INTEGER, payload_sha TEXT,"
    " path TEXT, timings BLOB, asked TEXT, permitted INTEGER,"
    " hooks INTEGER, input BLOB);"
    "CREATE TABLE IF NOT EXISTS made(sandbox TEXT, id TEXT, script TEXT, url TEXT, used INTEGER,"
    " PRIMARY KEY(sandbox, id)) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX IF NOT EXISTS calls_key ON calls(session, key)"
    " WHERE key IS NOT NULL;";

/* The first write of a new log syncs its header and its directory, which may take tens of
 * milliseconds of a start. That guards a log that is written over, which this never is: it is
 * new, or recovered and appended to. What it would keep through a loss of power,
 * synchronous=NORMAL does not keep either. */
static const char first_write[] = "PRAGMA synchronous=OFF;"
				  "BEGIN IMMEDIATE;"
				  "PRAGMA user_version=" STORE_FORMAT_TEXT "; COMMIT;";
static const char after_first_write[] = "PRAGMA synchronous=NORMAL;";

/* What an older journal may lack, in the order in which it came. */
static const struct {
	const char *name, *sql;
} columns[] = {
	{ "timings", "ALTER TABLE calls ADD COLUMN timings BLOB;" },
	{ "asked", "ALTER TABLE calls ADD COLUMN asked TEXT;" },
	{ "permitted", "ALTER TABLE calls ADD COLUMN permitted INTEGER;" },
	{ "hooks", "ALTER TABLE calls ADD COLUMN hooks INTEGER;" },
	{ "input", "ALTER TABLE calls ADD COLUMN input BLOB;" },
};

/* Without room for it the journal is still there to be read: it has the calls that run, the
 * answers that are asked for again, and what each session has read. */
static int
write_first(sqlite3 *db)
{
	int rc = sqlite3_exec(db, first_write, NULL, NULL, NULL);

	if (rc != SQLITE_OK && sqlite3_get_autocommit(db) == 0)
		(void)sqlite3_exec(db, "ROLLBACK;", NULL, NULL, NULL);
	if (rc == SQLITE_OK || rc == SQLITE_FULL)
		rc = sqlite3_exec(db, after_first_write, NULL, NULL, NULL);
	return rc;
}

/* One of another format must not be written, nor be taken for a damaged one. */
static bool
is_newer(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	bool newer = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0) > STORE_FORMAT;

	(void)sqlite3_finalize(s);
	return newer;
}

static int
add_columns(sqlite3 *db)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < ATS_ARRAY_LEN(columns) && rc == SQLITE_OK; i++) {
		rc = sqlite3_table_column_metadata(db, NULL, "calls", columns[i].name, NULL, NULL,
		    NULL, NULL, NULL);
		if (rc == SQLITE_ERROR)
			rc = sqlite3_exec(db, columns[i].sql, NULL, NULL, NULL);
	}
	return rc;
}

static int
open_db(struct store *st, const char *path, struct ats_err *err)
{
	int rc;

	rc = sqlite3_open_v2(path, &st->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(st->db, 3000);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(st->db, alone, NULL, NULL, NULL);
	if (rc == SQLITE_OK && is_newer(st->db)) {
		(void)ats_err_set(err, ATS_E_VERSION, "journal: %.300s was written by a newer "
		    "ats-engine: install that, or take another state directory", path);
		store_db_close(st);
		return SQLITE_MISMATCH;
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(st->db, schema, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = write_first(st->db);
	if (rc == SQLITE_OK)
		rc = add_columns(st->db);
	if (rc == SQLITE_OK)
		rc = store_db_prepare(st);
	if (rc == SQLITE_OK)
		return 0;
	(void)store_error(st, rc, "open", err);
	store_db_close(st);
	return rc;
}

/* Of those put aside before, none stays: what damages one journal may damage the next, and
 * the disk is not ours to fill. */
static void
forget_aside(int dir_fd)
{
	DIR *d = fdopendir(fcntl(dir_fd, F_DUPFD_CLOEXEC, 0));
	const struct dirent *e;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, ASIDE, strlen(ASIDE)) == 0)
			(void)unlinkat(dir_fd, e->d_name, 0);
	(void)closedir(d);
}

/* A file that cannot be read must not keep the engine down. Closed; its log is part of it, a
 * new file must not find it. */
static int
put_aside(const struct store *st)
{
	static const char *const parts[] = { "-wal", "-shm", "-journal", "" };
	int dir_fd ATS_CLEANUP_FD = open(st->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char from[32], to[64];
	int rc = -1;

	if (dir_fd < 0)
		return -1;
	forget_aside(dir_fd);
	for (size_t i = 0; i < ATS_ARRAY_LEN(parts); i++) {
		(void)snprintf(from, sizeof(from), "journal.db%s", parts[i]);
		(void)snprintf(to, sizeof(to), ASIDE "%lld%s",
		    (long long)ats_clock_wall_ms() / 1000, parts[i]);
		rc = renameat(dir_fd, from, dir_fd, to);
		if (rc < 0 && errno == ENOENT)
			rc = 0;
		if (rc < 0)
			break;
	}
	ats_log(ATS_LOG_ERROR, rc < 0 ? "the journal is damaged and cannot be put aside" :
	    "the journal is damaged; it is put aside and a new one is begun", "as=%s/%s",
	    st->dir, to);
	return rc;
}

static void
first_id(struct store *st)
{
	uint64_t by_time = (uint64_t)ats_clock_wall_ms() / 1000 * IDS_A_SECOND;
	uint64_t by_rows = 0;
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(st->db, "SELECT max(id) FROM calls", -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		by_rows = (uint64_t)sqlite3_column_int64(s, 0) + 1;
	else
		(void)store_error(st, rc, "ids", NULL);
	(void)sqlite3_finalize(s);
	if (st->next_id < by_time)
		st->next_id = by_time;
	if (st->next_id < by_rows)
		st->next_id = by_rows;
}

static int
open_all(struct store *st, struct ats_err *err)
{
	char path[4128];
	struct ats_err why = { 0 };
	int rc;

	st->tried_ms = ats_clock_ms();
	(void)snprintf(path, sizeof(path), "%s/journal.db", st->dir);
	rc = open_db(st, path, &why);
	if (rc != SQLITE_OK && st->damaged && put_aside(st) == 0)
		rc = open_db(st, path, &why);
	st->damaged = false;
	st->generation++;
	if (rc == SQLITE_OK)
		st->unread = false;
	if (rc != SQLITE_OK) {
		(void)snprintf(st->why, sizeof(st->why), "%.*s", (int)sizeof(st->why) - 1,
		    why.text);
		return ats_err_set(err, rc == SQLITE_FULL ? ATS_E_NOSPC :
		    rc == SQLITE_MISMATCH ? ATS_E_VERSION : ATS_E_SYS, "%s", st->why);
	}
	first_id(st);
	(void)snprintf(path, sizeof(path), "%s/results", st->dir);
	if (st->results_fd < 0) {
		(void)mkdir(path, 0700);
		st->results_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	return 0;
}

/* What an engine before this one left; what cannot be looked at may be there. */
static bool
has_journal(const struct store *st)
{
	static const char *const parts[] = { "", "-wal" };
	char path[4128];
	struct stat sb;

	for (size_t i = 0; i < ATS_ARRAY_LEN(parts); i++) {
		(void)snprintf(path, sizeof(path), "%s/journal.db%s", st->dir, parts[i]);
		if (stat(path, &sb) == 0 ? sb.st_size > 0 : errno != ENOENT)
			return true;
	}
	return false;
}

int
store_open(const char *dir, struct store **ret, struct ats_err *err)
{
	struct store *st = calloc(1, sizeof(*st));
	int rc;

	if (st == NULL || strlen(dir) >= sizeof(st->dir)) {
		free(st);
		return ats_err_set(err, ATS_E_NOMEM, "journal");
	}
	memcpy(st->dir, dir, strlen(dir) + 1);
	st->results_fd = -1;
	st->next_id = (uint64_t)ats_clock_wall_ms() / 1000 * IDS_A_SECOND;
	st->unread = has_journal(st);
	*ret = st;
	/* A full disk is no reason to serve nothing: pure calls need no journal. */
	rc = open_all(st, err);
	if (rc == -ATS_E_VERSION) {
		store_close(st);
		*ret = NULL;
		return rc;
	}
	if (rc < 0 && err != NULL)
		ats_log(ATS_LOG_ERROR, "no journal for now", "why=\"%s\"", err->text);
	return 0;
}

void
store_close(struct store *st)
{
	if (st == NULL)
		return;
	store_db_close(st);
	ats_fd_close(&st->results_fd);
	free(st->blob);
	free(st);
}

bool
store_is_unread(const struct store *st)
{
	return st->unread;
}

uint64_t
store_next_id(struct store *st)
{
	return st->next_id++;
}

bool
store_id_given(const struct store *st, uint64_t id)
{
	return id < st->next_id;
}

/* What was found in it by a statement, at the next one: then nobody holds a row of it. */
static int
replace(struct store *st, struct ats_err *err)
{
	store_db_close(st);
	st->damaged = false;
	if (put_aside(st) < 0)
		return ats_err_set(err, ATS_E_SYS, "the journal is damaged and stays");
	return open_all(st, err);
}

int
store_ready(struct store *st, struct ats_err *err)
{
	if (st->reading != NULL) {
		(void)sqlite3_reset(st->reading);
		st->reading = NULL;
	}
	free(st->blob);
	st->blob = NULL;
	if (st->damaged)
		return replace(st, err);
	if (st->db != NULL)
		return 0;
	if (ats_clock_ms() - st->tried_ms < RETRY_MS)
		return ats_err_set(err, ATS_E_NOSPC, "%s", st->why);
	return open_all(st, err);
}

const char *
store_trouble(const struct store *st)
{
	return st->failed;
}
