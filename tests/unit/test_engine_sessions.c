/* SPDX-License-Identifier: Apache-2.0
 *
 * One session: its memory of files, shells, notices; the cache of answers. */
#include "brain/engine/sessions.h"

#include <sys/resource.h>

#include "brain/engine/cache.h"
#include "common/confine/sanitize.h"
#include "common/map.h"
#include "tests/lib/unit.h"

START_TEST(session_new_refuses_what_does_not_fit)
{
	char longer[5000];

	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ck_assert_ptr_null(session_new(longer, 1, "/ws", "k", 4));
	ck_assert_ptr_null(session_new("s-1", 1, longer, "k", 4));
	session_free(NULL);
}
END_TEST

START_TEST(session_read_put_over_the_cap_forgets_the_oldest)
{
	struct session *s = session_new("s-1", 1, "/ws", "k", 3);

	ck_assert_int_eq(session_read_put(s, "a", 1, 1, "", true), 0);
	ck_assert_int_eq(session_read_put(s, "b", 1, 1, "", true), 0);
	ck_assert_int_eq(session_read_put(s, "c", 1, 1, "", true), 0);
	ck_assert_int_eq(session_read_put(s, "a", 2, 1, "", true), 0);
	ck_assert_int_eq(session_read_put(s, "d", 1, 1, "", true), 0);
	ck_assert_ptr_null(session_read_find(s, "b"));
	ck_assert_uint_eq(session_read_find(s, "a")->size, 2);
	ck_assert_uint_eq(ats_map_count(s->reads), 3);
	session_free(s);
}
END_TEST

START_TEST(session_read_put_of_what_is_known_is_not_dirty)
{
	struct session *s = session_new("s-1", 1, "/ws", "k", 3);

	ck_assert_int_eq(session_read_put(s, "a", 1, 1, "", false), 0);
	ck_assert(!s->dirty_reads);
	ck_assert_int_eq(session_read_put(s, "a", 1, 1, "", true), 0);
	ck_assert(!s->dirty_reads);
	ck_assert_int_eq(session_read_put(s, "a", 1, 2, "", true), 0);
	ck_assert(s->dirty_reads);
	session_free(s);
}
END_TEST

START_TEST(session_shell_add_is_bounded_and_counts_once)
{
	struct session *s = session_new("s-1", 1, "/ws", "k", 3);
	char id[24];
	int i;

	for (i = 0; i < SESSION_SHELLS_MAX; i++) {
		(void)snprintf(id, sizeof(id), "bash_%d", i);
		ck_assert_int_eq(session_shell_add(s, id), 0);
		ck_assert_int_eq(session_shell_add(s, id), 0);
	}
	ck_assert_uint_eq(s->nshells, SESSION_SHELLS_MAX);
	ck_assert_int_eq(session_shell_add(s, "one_more"), -ATS_E_FULL);
	session_shell_del(s, "bash_0");
	session_shell_del(s, "bash_0");
	ck_assert_uint_eq(s->nshells, SESSION_SHELLS_MAX - 1);
	ck_assert_str_eq(s->shells[0], "bash_1");
	session_free(s);
}
END_TEST

START_TEST(session_notice_add_is_bounded)
{
	struct session *s = session_new("s-1", 1, "/ws", "k", 3);
	int i;

	session_notice_add(s, "one");
	session_notice_add(s, "two");
	ck_assert_str_eq(s->notice, "one\ntwo");
	for (i = 0; i < 10000; i++)
		session_notice_add(s, "more");
	ck_assert_uint_lt(strlen(s->notice), 4096);
	session_free(s);
}
END_TEST

static void
put(struct cache *c, const char *key, const char *text)
{
	struct outcome o = { .payload = { text, strlen(text) }, .exit_kind = "exit" };
	char digest[65] = "";

	cache_put(c, key, digest, 1, &o);
}

START_TEST(cache_keeps_the_newest_within_its_bounds)
{
	struct cache *c = cache_new(3, 1 << 20);
	struct cache_hit hit;

	put(c, "a", "1");
	put(c, "b", "2");
	put(c, "c", "3");
	put(c, "a", "4");
	put(c, "d", "5");
	ck_assert(!cache_get(c, "b", &hit));
	ck_assert(cache_get(c, "a", &hit));
	ck_assert(hit.kept);
	ck_assert_mem_eq(hit.outcome.payload.p, "4", 1);
	ck_assert_str_eq(hit.outcome.exit_kind, "exit");
	cache_free(c);
}
END_TEST

START_TEST(cache_of_a_large_answer_keeps_its_digest_only)
{
	struct cache *c = cache_new(100, 16000);
	static char text[2000];
	struct cache_hit hit;
	char key[16];
	int i;

	memset(text, 'x', sizeof(text) - 1);
	put(c, "big", text);
	ck_assert(cache_get(c, "big", &hit));
	ck_assert(!hit.kept);
	text[900] = '\0';
	for (i = 0; i < 50; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		put(c, key, text);
	}
	ck_assert(!cache_get(c, "big", &hit));
	ck_assert(!cache_get(c, "0", &hit));
	ck_assert(cache_get(c, "49", &hit));
	cache_free(c);
}
END_TEST

static size_t
resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long all, here;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%lu %lu", &all, &here), 2);
	(void)fclose(f);
	return here * (size_t)sysconf(_SC_PAGESIZE);
}

/* A key that is put again and again leaves holes; what keeps their memory is forgotten then. */
START_TEST(cache_of_holes_keeps_within_its_bytes)
{
	enum { MOST = 4 << 20, N = 20000 };
	struct cache *c = cache_new(N, MOST);
	size_t before = resident();
	static char text[8000];
	struct cache_hit hit;
	char key[32];

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < N; i++) {
		(void)snprintf(key, sizeof(key), "%d", i);
		put(c, key, "small");
		put(c, "same", text);
	}
	if (!ATS_SANITIZED)	/* they keep what is freed, and more for each block */
		ck_assert_uint_le(resident() - before, MOST + (2 << 20));
	ck_assert(!cache_get(c, "0", &hit));
	(void)snprintf(key, sizeof(key), "%d", N - 1);
	ck_assert(cache_get(c, key, &hit));
	ck_assert_mem_eq(hit.outcome.payload.p, "small", 5);
	ck_assert(cache_get(c, "same", &hit));
	ck_assert_uint_eq(hit.outcome.payload.n, sizeof(text) - 1);
	/* Small ones that follow have all of the room. */
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(key, sizeof(key), "then %d", i);
		put(c, key, "small");
	}
	ck_assert(cache_get(c, "then 0", &hit));
	cache_free(c);
	if (!ATS_SANITIZED)
		ck_assert_uint_le(resident(), before + (2 << 20));
}
END_TEST

/* Large answers, of about one size, one after the other: each takes the memory of one that was
 * forgotten, and has what was put. */
START_TEST(cache_of_large_answers_gets_no_new_memory)
{
	enum { MOST = 4 << 20, ROOM = 200 << 10, N = 100 };
	struct cache *c = cache_new(N, MOST);
	static char text[ROOM];
	struct rusage before, after;
	struct cache_hit hit;
	char key[32];

	for (int i = 0; i < N; i++) {
		size_t n = ROOM - 1 - (size_t)(i % 7) * 5000;

		memset(text, 'a' + i % 26, n);
		text[n] = '\0';
		(void)snprintf(key, sizeof(key), "%d", i);
		if (i == N / 2)
			ck_assert_int_eq(getrusage(RUSAGE_SELF, &before), 0);
		put(c, key, text);
		ck_assert(cache_get(c, key, &hit));
		ck_assert_uint_eq(hit.outcome.payload.n, n);
		ck_assert_mem_eq(hit.outcome.payload.p, text, n);
	}
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &after), 0);
	if (!ATS_SANITIZED)	/* each page that is new is a fault */
		ck_assert_int_le(after.ru_minflt - before.ru_minflt, N / 2 * (ROOM / 4096) / 4);
	cache_free(c);
}
END_TEST

ATS_UNIT_MAIN("engine_sessions", session_new_refuses_what_does_not_fit,
    session_read_put_over_the_cap_forgets_the_oldest,
    session_read_put_of_what_is_known_is_not_dirty,
    session_shell_add_is_bounded_and_counts_once, session_notice_add_is_bounded,
    cache_keeps_the_newest_within_its_bounds, cache_of_a_large_answer_keeps_its_digest_only,
    cache_of_holes_keeps_within_its_bytes, cache_of_large_answers_gets_no_new_memory)
