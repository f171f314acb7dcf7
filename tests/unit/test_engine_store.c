/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal on a directory of its own. */
#include "brain/engine/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/engine/sessions.h"
#include "brain/engine/store_made.h"
#include "common/map.h"
#include "tests/lib/unit.h"

static char dir[64];

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static struct store *
open_store(void)
{
	struct store *st = NULL;

	if (dir[0] == '\0') {
		strcpy(dir, "/tmp/ats-store.XXXXXX");
		(void)unit_tmp(dir);
	}
	ck_assert_int_eq(store_open(dir, &st, NULL), 0);
	return st;
}

static void
forget(struct store *st)
{
	store_close(st);
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	dir[0] = '\0';
}

static void
sent(struct store *st, uint64_t id, const char *key, int64_t created)
{
	struct store_call c = { .id = id, .session = "s-1", .sandbox = "b-1", .key = key,
		.tool = "Bash", .digest = "d", .boot = "boot", .path = "/p",
		.created_ms = created, .deadline_ms = 99 };

	ck_assert_int_eq(store_call_sent(st, &c, NULL), 0);
}

START_TEST(store_next_id_is_never_given_twice)
{
	struct store *st = open_store();
	uint64_t a = store_next_id(st), b = store_next_id(st), c;

	ck_assert_uint_eq(b, a + 1);
	sent(st, b + 5000000, "k", 1);
	store_close(st);
	st = open_store();
	c = store_next_id(st);
	ck_assert_uint_gt(c, b + 5000000);
	forget(st);
}
END_TEST

START_TEST(store_call_goes_from_sent_to_done_and_survives_reopening)
{
	struct store *st = open_store();
	struct outcome o = { .kind = OUTCOME_DONE, .is_error = true, .code = ATS_E_TIMEOUT,
		.payload = { "te\0xt", 5 }, .blocks = { "[1]", 3 }, .output = { "{}", 2 },
		.exit_kind = "timeout", .exit_code = 15, .has_exit_code = true, .t = { .us = {
		[ATS_TIMING_QUEUE] = 1, [ATS_TIMING_RUN] = 2, [ATS_TIMING_TOTAL] = 3 } } };
	struct store_call c;
	int i;

	sent(st, 7, "k", 1);
	ck_assert_int_eq(store_call_by_key(st, "s-1", "k", &c, NULL), 1);
	ck_assert_int_eq(c.state, STORE_DISPATCHED);
	ck_assert_str_eq(c.boot, "boot");
	ck_assert_str_eq(c.path, "/p");
	ck_assert_int_eq(store_call_done(st, 7, &o, NULL, NULL), 0);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(store_call_by_id(st, 7, &c, NULL), 1);
		ck_assert_int_eq(c.state, STORE_DONE);
		ck_assert_int_eq(c.outcome.code, ATS_E_TIMEOUT);
		ck_assert(c.outcome.is_error);
		ck_assert_uint_eq(c.outcome.payload.n, 5);
		ck_assert_mem_eq(c.outcome.payload.p, "te\0xt", 5);
		ck_assert_mem_eq(c.outcome.blocks.p, "[1]", 3);
		ck_assert_str_eq(c.outcome.exit_kind, "timeout");
		ck_assert_uint_eq(c.outcome.exit_code, 15);
		ck_assert_uint_eq(c.outcome.t.us[ATS_TIMING_TOTAL], 3);
		store_close(st);
		st = open_store();
	}
	ck_assert_int_eq(store_call_by_key(st, "s-2", "k", &c, NULL), 0);
	ck_assert_int_eq(store_call_by_id(st, 8, &c, NULL), 0);
	ck_assert_int_eq(store_call_drop(st, 7, NULL), 0);
	ck_assert_int_eq(store_call_by_id(st, 7, &c, NULL), 0);
	forget(st);
}
END_TEST

START_TEST(store_keeps_what_a_person_was_asked_also_in_an_older_journal)
{
	static const char older[] = "ALTER TABLE calls DROP COLUMN input;"
				    "ALTER TABLE calls DROP COLUMN hooks;"
				    "ALTER TABLE calls DROP COLUMN permitted;"
				    "ALTER TABLE calls DROP COLUMN asked;"
				    "ALTER TABLE calls DROP COLUMN timings;";
	struct store *st = open_store();
	struct store_call ask = { .id = 9, .session = "s-1", .sandbox = "b-1", .key = "k",
		.tool = "Bash", .digest = "d", .boot = "", .asked = "sha", .permitted = true };
	struct store_call c;
	char path[128];
	sqlite3 *db;

	sent(st, 7, "old", 1);
	store_close(st);
	(void)snprintf(path, sizeof(path), "%s/journal.db", dir);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, older, NULL, NULL, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
	st = open_store();
	ck_assert_int_eq(store_call_by_id(st, 7, &c, NULL), 1);
	ck_assert_ptr_null(c.asked);
	ck_assert(!c.permitted);
	ck_assert_int_eq(store_call_sent(st, &ask, NULL), 0);
	ck_assert_int_eq(store_call_by_id(st, 9, &c, NULL), 1);
	ck_assert_str_eq(c.asked, "sha");
	ck_assert(c.permitted);
	forget(st);
}
END_TEST

START_TEST(store_large_payload_lies_beside_and_is_known_by_its_digest)
{
	struct store *st = open_store();
	static char big[STORE_INLINE_MAX + 1];
	struct outcome o = { .payload = { big, sizeof(big) } };
	struct store_call c;
	char path[128];

	memset(big, 'x', sizeof(big));
	sent(st, 7, "k", 1);
	ck_assert_int_eq(store_call_done(st, 7, &o, NULL, NULL), 0);
	ck_assert_int_eq(store_call_by_id(st, 7, &c, NULL), 1);
	ck_assert(!c.payload_lost);
	ck_assert_uint_eq(c.outcome.payload.n, sizeof(big));
	ck_assert_mem_eq(c.outcome.payload.p, big, sizeof(big));
	(void)snprintf(path, sizeof(path), "%s/results/c-7", dir);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(store_call_by_id(st, 7, &c, NULL), 1);
	ck_assert(c.payload_lost);
	ck_assert_uint_eq(c.payload_len, sizeof(big));
	ck_assert_uint_eq(strlen(c.payload_sha256), 64);
	forget(st);
}
END_TEST

static int
count_open(void *ctx, const struct store_call *c)
{
	unsigned *n = ctx;

	ck_assert_uint_eq(c->id, 10 + (*n)++);
	return 0;
}

START_TEST(store_calls_open_gives_what_has_no_answer_in_order)
{
	struct store *st = open_store();
	struct outcome o = { .kind = OUTCOME_UNKNOWN };
	unsigned n = 0;

	sent(st, 11, NULL, 1);
	sent(st, 10, NULL, 1);
	sent(st, 9, "k", 1);
	ck_assert_int_eq(store_call_done(st, 9, &o, NULL, NULL), 0);
	ck_assert_int_eq(store_calls_open(st, count_open, &n, NULL), 0);
	ck_assert_uint_eq(n, 2);
	forget(st);
}
END_TEST

START_TEST(store_session_comes_back_for_its_owner_only)
{
	struct store *st = open_store();
	struct session *s = session_new("s-1", 1, "/ws", "k", 2), *again;

	session_cwd_set(s, "/ws/a");
	ck_assert_int_eq(session_shell_add(s, "bash_1"), 0);
	ck_assert_int_eq(session_read_put(s, "/ws/f", 1, 2, "", true), 0);
	ck_assert_int_eq(store_session_save(st, s, NULL), 0);
	ck_assert(!s->dirty && !s->dirty_reads);
	again = session_new("s-1", 1, "/ws", "k", 2);
	ck_assert_int_eq(store_session_load(st, again, NULL), 0);
	ck_assert_str_eq(again->cwd, "/ws/a");
	ck_assert_uint_eq(again->nshells, 1);
	ck_assert_uint_eq(session_read_find(again, "/ws/f")->mtime_ns, 2);
	session_free(again);
	again = session_new("s-1", 2, "/ws", "k", 2);
	ck_assert_int_eq(store_session_load(st, again, NULL), 0);
	ck_assert_str_eq(again->cwd, "/ws");
	session_free(again);
	again = session_new("s-1", 1, "/ws", "k", 2);
	ck_assert_int_eq(store_session_load(st, again, NULL), 0);
	ck_assert_str_eq(again->cwd, "/ws");
	session_free(again);
	session_free(s);
	forget(st);
}
END_TEST

/* A session reads more files than it may remember, for as long as it lives: the journal holds
 * what it remembers and no more. */
START_TEST(store_session_rows_are_bounded)
{
	struct store *st = open_store();
	struct session *s = session_new("s-1", 1, "/ws", "k", 3), *again;
	char path[32];

	for (unsigned i = 0; i < 50; i++) {
		snprintf(path, sizeof(path), "/ws/%u", i % 7);
		ck_assert_int_eq(session_read_put(s, path, i, i, "", true), 0);
		if (i % 3 != 2)
			continue;
		ck_assert_int_eq(store_session_save(st, s, NULL), 0);
		ck_assert_uint_eq(s->nforgotten, 0);
		again = session_new("s-1", 1, "/ws", "k", 100);
		ck_assert_int_eq(store_session_load(st, again, NULL), 0);
		ck_assert_uint_eq(ats_map_count(again->reads), 3);
		for (unsigned k = i - 2; k <= i; k++) {
			snprintf(path, sizeof(path), "/ws/%u", k % 7);
			ck_assert_uint_eq(session_read_find(again, path)->size, k);
		}
		session_free(again);
	}
	/* nothing is saved any more: what is to be removed is bounded, too */
	for (unsigned i = 0; i < 50; i++) {
		snprintf(path, sizeof(path), "/ws/x%u", i);
		ck_assert_int_eq(session_read_put(s, path, i, i, "", true), 0);
		ck_assert_uint_le(s->nforgotten, 3);
	}
	session_free(s);
	forget(st);
}
END_TEST

START_TEST(store_prune_forgets_the_old_and_the_many_but_nothing_open)
{
	struct store *st = open_store();
	struct outcome o = { .kind = OUTCOME_DONE };
	int64_t day = 86400000;
	struct store_call c;
	uint64_t i;

	for (i = 1; i <= 20; i++) {
		sent(st, i, NULL, (int64_t)i * day);
		if (i != 2)
			ck_assert_int_eq(store_call_done(st, i, &o, NULL, NULL), 0);
	}
	store_prune(st, 11 * day, 7, 1000);
	ck_assert_int_eq(store_call_by_id(st, 1, &c, NULL), 0);
	ck_assert_int_eq(store_call_by_id(st, 2, &c, NULL), 1);
	ck_assert_int_eq(store_call_by_id(st, 3, &c, NULL), 0);
	ck_assert_int_eq(store_call_by_id(st, 4, &c, NULL), 1);
	store_prune(st, 11 * day, 7, 10);
	store_prune(st, 11 * day, 7, 10);
	ck_assert_uint_eq(store_rows(st), 10);
	ck_assert_int_eq(store_call_by_id(st, 20, &c, NULL), 1);
	forget(st);
}
END_TEST

START_TEST(store_open_of_a_place_that_cannot_hold_it_fails_each_write)
{
	struct store *st = NULL;
	struct store_call c = { .id = 1, .session = "s", .sandbox = "b", .tool = "t", .digest = "d",
		.boot = "b" };
	struct ats_err err = { 0 };

	ck_assert_int_eq(store_open("/proc/nowhere", &st, &err), 0);
	ck_assert_int_lt(store_call_sent(st, &c, &err), 0);
	ck_assert_int_ne(err.text[0], '\0');
	ck_assert_uint_eq(store_rows(st), 0);
	store_close(st);
	store_close(NULL);
}
END_TEST

/* Writes over the pages of the closed journal from one share of the file to another; the
 * first, with the header, stays. */
static void
damage(unsigned from, unsigned to)
{
	char path[128], junk[4096];
	struct stat st;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/journal.db", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_gt(st.st_size, 32 * 4096);
	memset(junk, 0xa5, sizeof(junk));
	for (off_t page = 1; page < st.st_size / 4096; page++)
		if (page >= st.st_size / 4096 * from / 100 &&
		    page < st.st_size / 4096 * to / 100)
			ck_assert_int_eq(pwrite(fd, junk, 4096, page * 4096), 4096);
	(void)close(fd);
}

static unsigned
count_aside(void)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL)
		n += strncmp(e->d_name, "journal.db.damaged-", 19) == 0;
	(void)closedir(d);
	return n;
}

static void
fill(struct store *st)
{
	struct outcome o = { .kind = OUTCOME_DONE, .payload = { "text", 4 } };
	char key[32];

	for (uint64_t i = 1; i <= 2000; i++) {
		(void)snprintf(key, sizeof(key), "key-%llu", (unsigned long long)i * 7919 % 2000);
		sent(st, i, key, 1);
		ck_assert_int_eq(store_call_done(st, i, &o, NULL, NULL), 0);
	}
}

/* Asks for every call; returns how often that failed. */
static unsigned
ask_all(struct store *st)
{
	struct store_call c;
	struct ats_err err;
	unsigned failed = 0;
	char key[32];

	for (unsigned i = 0; i < 2000; i++) {
		err = (struct ats_err){ 0 };
		(void)snprintf(key, sizeof(key), "key-%u", i);
		if (store_call_by_key(st, "s-1", key, &c, &err) >= 0)
			continue;
		failed++;
		ck_assert_int_eq(err.code, ATS_E_NOT_STARTED);
	}
	return failed;
}

START_TEST(store_with_damaged_pages_is_replaced_after_at_most_one_error)
{
	static const unsigned shares[][2] = { { 0, 100 }, { 30, 70 }, { 60, 61 }, { 95, 100 } };
	struct outcome o = { .kind = OUTCOME_DONE };
	struct store_call c;
	struct store *st;
	uint64_t before, id;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		st = open_store();
		fill(st);
		store_close(st);
		damage(shares[i][0], shares[i][1]);
		st = open_store();
		before = store_next_id(st);
		ck_assert_uint_le(ask_all(st), 1);
		ck_assert_uint_eq(count_aside(), 1);
		id = store_next_id(st);
		ck_assert_uint_gt(id, before);
		sent(st, id, "new", 1);
		ck_assert_int_eq(store_call_done(st, id, &o, NULL, NULL), 0);
		ck_assert_int_eq(store_call_by_key(st, "s-1", "new", &c, NULL), 1);
		ck_assert_uint_eq(c.id, id);
		ck_assert_uint_eq(ask_all(st), 0);
		store_close(st);
	}
	forget(open_store());
}
END_TEST

static int
count_made(void *ctx, const struct store_made *m)
{
	unsigned *n = ctx;

	ck_assert_str_eq(m->box, "b-1");
	ck_assert_str_eq(m->script, "pod");
	ck_assert_str_eq(m->made.url, m->used ? "unix:/run/1" : "unix:/run/2");
	ck_assert_str_eq(m->made.id, m->used ? "box-1" : "box-2");
	*n += m->used ? 1 : 10;
	return 0;
}

static int
refuse_made(void *ctx, const struct store_made *m)
{
	(void)ctx;
	(void)m;
	return -ATS_E_NOMEM;
}

START_TEST(store_made_is_there_until_it_is_dropped)
{
	struct store_made m = { .box = "b-1", .script = "pod", .used = true };
	struct store *st = open_store();
	unsigned n = 0;

	ck_assert_int_eq(store_made_each(st, refuse_made, NULL, NULL), 0);
	strcpy(m.made.id, "box-1");
	strcpy(m.made.url, "unix:/run/1");
	ck_assert_int_eq(store_made_save(st, &m, NULL), 0);
	strcpy(m.made.id, "box-2");
	strcpy(m.made.url, "unix:/run/2");
	m.used = false;
	ck_assert_int_eq(store_made_save(st, &m, NULL), 0);
	ck_assert_int_eq(store_made_save(st, &m, NULL), 0);
	store_close(st);
	st = open_store();
	ck_assert_int_eq(store_made_each(st, count_made, &n, NULL), 0);
	ck_assert_uint_eq(n, 11);
	ck_assert_int_eq(store_made_each(st, refuse_made, NULL, NULL), -ATS_E_NOMEM);
	ck_assert_int_eq(store_made_drop(st, "b-1", "box-1", NULL), 0);
	ck_assert_int_eq(store_made_drop(st, "b-2", "box-2", NULL), 0);
	n = 0;
	ck_assert_int_eq(store_made_each(st, count_made, &n, NULL), 0);
	ck_assert_uint_eq(n, 10);
	forget(st);
}
END_TEST

ATS_UNIT_MAIN("engine_store", store_next_id_is_never_given_twice,
    store_call_goes_from_sent_to_done_and_survives_reopening,
    store_keeps_what_a_person_was_asked_also_in_an_older_journal,
    store_large_payload_lies_beside_and_is_known_by_its_digest,
    store_calls_open_gives_what_has_no_answer_in_order,
    store_made_is_there_until_it_is_dropped, store_session_comes_back_for_its_owner_only,
    store_session_rows_are_bounded,
    store_prune_forgets_the_old_and_the_many_but_nothing_open,
    store_open_of_a_place_that_cannot_hold_it_fails_each_write,
    store_with_damaged_pages_is_replaced_after_at_most_one_error)
