/* SPDX-License-Identifier: Apache-2.0
 *
 * Grants and approvals: each is good once, for exactly what it was given for. */
#include "brain/policy/approvals.h"
#include "tests/lib/unit.h"

static const char sha_a[] = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
static const char sha_b[] = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8b";
static struct ats_err err;

START_TEST(grant_is_consumed_once)
{
	struct grants *g = grants_new(4);
	struct grant_key key = { "git__push", sha_a, "s-1", 7 };
	uint64_t made = 0, used = 0;

	ck_assert_int_eq(grants_consume(g, &key, 0, &used), -ATS_E_DENIED);
	ck_assert_int_eq(grants_make(g, &key, 100, 0, &made), 0);
	ck_assert_int_eq(grants_consume(g, &key, 99, &used), 0);
	ck_assert_uint_eq(used, made);
	ck_assert_int_eq(grants_consume(g, &key, 99, &used), -ATS_E_DENIED);
	ck_assert_uint_eq(grants_count(g), 0);
	/* two yeses are two calls, and have two numbers */
	ck_assert_int_eq(grants_make(g, &key, 100, 0, &made), 0);
	ck_assert_int_eq(grants_make(g, &key, 100, 0, &used), 0);
	ck_assert_uint_ne(made, used);
	ck_assert_int_eq(grants_consume(g, &key, 1, &used), 0);
	ck_assert_int_eq(grants_consume(g, &key, 1, &used), 0);
	ck_assert_int_eq(grants_consume(g, &key, 1, &used), -ATS_E_DENIED);
	grants_free(g);
}
END_TEST

START_TEST(grant_is_for_nothing_else)
{
	static const struct grant_key others[] = {
		{ "git__pull", sha_a, "s-1", 7 }, { "git__push", sha_b, "s-1", 7 },
		{ "git__push", sha_a, "s-2", 7 }, { "git__push", sha_a, "s-1", 8 },
		{ "git__push", "", "s-1", 7 }, { "git__pus", sha_a, "s-1", 7 },
		{ "git__push", "44136FA355B3678A1146AD16F7E8649E94FB4FC21FE77E8310C060F61CAAFF8A",
		    "s-1", 7 },
	};
	struct grants *g = grants_new(4);
	struct grant_key key = { "git__push", sha_a, "s-1", 7 };
	uint64_t nr = 0;

	ck_assert_int_eq(grants_make(g, &key, 100, 0, &nr), 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(others); i++)
		ck_assert_int_eq(grants_consume(g, &others[i], 1, &nr), -ATS_E_DENIED);
	ck_assert_int_eq(grants_consume(g, &key, 1, &nr), 0);
	key.sha256 = "no digest";
	ck_assert_int_eq(grants_make(g, &key, 100, 0, &nr), -ATS_E_INVAL);
	grants_free(g);
}
END_TEST

START_TEST(grant_ends_at_its_time_and_with_its_session)
{
	struct grants *g = grants_new(2);
	struct grant_key key = { "git__push", sha_a, "s-1", 7 };
	uint64_t nr = 0;

	ck_assert_int_eq(grants_make(g, &key, 100, 0, &nr), 0);
	ck_assert_int_eq(grants_consume(g, &key, 100, &nr), -ATS_E_DENIED);
	ck_assert_int_eq(grants_make(g, &key, 100, 0, &nr), 0);
	ck_assert_int_eq(grants_make(g, &key, 300, 0, &nr), 0);
	ck_assert_int_eq(grants_make(g, &key, 300, 99, &nr), -ATS_E_FULL);
	ck_assert_int_eq(grants_make(g, &key, 300, 100, &nr), 0);	/* one has expired */
	ck_assert_uint_eq(grants_session_closed(g, "s-2"), 0);
	ck_assert_uint_eq(grants_session_closed(g, "s-1"), 2);
	ck_assert_int_eq(grants_consume(g, &key, 100, &nr), -ATS_E_DENIED);
	grants_free(g);
}
END_TEST

static struct approval *
add(struct approvals *a, uint64_t call, int64_t expires)
{
	struct approval_ask ask = { "s-1", "git", "git__push", { "{}", 2 }, call, 7, expires,
		NULL };
	struct approval *p = NULL;

	ck_assert_msg(approvals_add(a, &ask, 1, &p, &err) == 0, "%s", err.text);
	return p;
}

static int
say_yes(struct approvals *a, const char *id, const char *sha256, int64_t now_ms, struct grants *g,
    struct approval **ret, uint64_t *ret_grant)
{
	return approvals_approve(a, &(const struct approval_yes){ .id = id, .shown_sha256 = sha256,
		.now_ms = now_ms, .grant_until_ms = now_ms + 50 }, g, ret, ret_grant, NULL);
}

START_TEST(approval_makes_one_grant_for_its_call)
{
	struct approvals *a = approvals_new(2);
	struct grants *g = grants_new(2);
	struct approval *p = add(a, 5, 100), *got = NULL;
	struct grant_key key = { "git__push", sha_a, "s-1", 7 };
	uint64_t nr = 0, used = 0;
	char id[APPROVAL_ID_MAX];

	ck_assert(ats_id_valid(p->id) && p->id[0] == 'a');
	ck_assert_str_eq(p->sha256, sha_a);
	ck_assert_str_eq(p->args.data, "{}");
	ck_assert_ptr_eq(approvals_find(a, p->id), p);
	ck_assert_ptr_eq(approvals_find_call(a, 5), p);
	(void)snprintf(id, sizeof(id), "%s", p->id);
	/* shown was something else, or nothing is known of it: nothing changes */
	ck_assert_int_eq(say_yes(a, id, sha_b, 2, g, &got, &nr),
	    -ATS_E_CHANGED);
	ck_assert_int_eq(say_yes(a, id, "", 2, g, &got, &nr), -ATS_E_CHANGED);
	ck_assert_int_eq(say_yes(a, "a-000000000000", sha_a, 2, g, &got, &nr),
	    -ATS_E_UNKNOWN_ID);
	ck_assert_uint_eq(grants_count(g), 0);
	ck_assert_ptr_null(got);
	ck_assert_int_eq(say_yes(a, id, sha_a, 2, g, &got, &nr), 0);
	ck_assert_ptr_eq(got, p);
	ck_assert_uint_eq(approvals_count(a), 0);
	ck_assert_int_eq(grants_consume(g, &key, 3, &used), 0);
	ck_assert_uint_eq(used, nr);
	/* once */
	approval_free(got);
	ck_assert_int_eq(say_yes(a, id, sha_a, 2, g, &got, &nr),
	    -ATS_E_UNKNOWN_ID);
	ck_assert_int_eq(grants_consume(g, &key, 3, &used), -ATS_E_DENIED);
	approvals_free(a);
	grants_free(g);
}
END_TEST

START_TEST(approval_over_time_or_without_room_is_not_given)
{
	struct approvals *a = approvals_new(2);
	struct grants *g = grants_new(0);
	struct approval *p = add(a, 5, 100), *got = NULL;
	uint64_t nr = 0;

	ck_assert_int_eq(say_yes(a, p->id, sha_a, 100, g, &got, &nr),
	    -ATS_E_TIMEOUT);
	ck_assert_int_eq(say_yes(a, p->id, sha_a, 99, g, &got, &nr),
	    -ATS_E_FULL);
	ck_assert_ptr_eq(approvals_find_call(a, 5), p);		/* it still waits */
	ck_assert_int_eq(approvals_next_ms(a), 100);
	ck_assert_ptr_null(approvals_expired(a, 99));
	ck_assert_ptr_eq(approvals_expired(a, 100), p);
	approval_free(p);
	ck_assert_int_eq(approvals_next_ms(a), INT64_MAX);
	approvals_free(a);
	grants_free(g);
}
END_TEST

START_TEST(approvals_have_a_cap_an_order_and_one_for_a_call)
{
	struct approvals *a = approvals_new(2);
	struct approval *p, *q, *r = NULL;
	struct approval_ask again = { "s-1", "", "Bash", { "{}", 2 }, 5, 7, 100, NULL };
	size_t pos = 0;

	p = add(a, 5, 100);
	ck_assert_int_eq(approvals_add(a, &again, 1, &r, &err), -ATS_E_EXISTS);
	q = add(a, 6, 90);
	again.call = 7;
	ck_assert_int_eq(approvals_add(a, &again, 1, &r, &err), -ATS_E_FULL);
	ck_assert_ptr_null(r);
	ck_assert_ptr_eq(approvals_each(a, &pos), p);
	ck_assert_ptr_eq(approvals_each(a, &pos), q);
	ck_assert_ptr_null(approvals_each(a, &pos));
	ck_assert_int_eq(approvals_next_ms(a), 90);
	approvals_take(a, p);
	approval_free(p);
	ck_assert_ptr_null(approvals_find_call(a, 5));
	approvals_free(a);
}
END_TEST

ATS_UNIT_MAIN("grants", grant_is_consumed_once, grant_is_for_nothing_else,
    grant_ends_at_its_time_and_with_its_session, approval_makes_one_grant_for_its_call,
    approval_over_time_or_without_room_is_not_given,
    approvals_have_a_cap_an_order_and_one_for_a_call)
