/* SPDX-License-Identifier: Apache-2.0 */
#include "common/buf.h"

#include <stdint.h>
#include <string.h>

#include "tests/lib/unit.h"

START_TEST(add_up_to_the_cap_keeps_a_nul_behind)
{
	struct ats_buf b;

	ats_buf_init(&b, 10);
	ck_assert_str_eq(b.data, "");
	ck_assert_int_eq(ats_buf_add(&b, "01234", 5), 0);
	ck_assert_int_eq(ats_buf_add_str(&b, "56789"), 0);
	ck_assert_str_eq(b.data, "0123456789");
	ck_assert_int_eq(ats_buf_add_char(&b, 'x'), -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_buf_addf(&b, "%d", 7), -ATS_E_TOOBIG);
	ck_assert_str_eq(b.data, "0123456789");
	ck_assert_int_eq(ats_buf_add(&b, NULL, 0), 0);
	ats_buf_done(&b);
}
END_TEST

START_TEST(reserve_of_absurd_sizes_fails)
{
	struct ats_buf b;
	char *p;

	ats_buf_init(&b, SIZE_MAX);
	ck_assert_int_eq(ats_buf_reserve(&b, SIZE_MAX, &p), -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_buf_reserve(&b, SIZE_MAX / 2, &p), -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_buf_add_str(&b, "abc"), 0);
	ck_assert_int_eq(ats_buf_reserve(&b, SIZE_MAX - 2, &p), -ATS_E_TOOBIG);
	ck_assert_str_eq(b.data, "abc");
	ats_buf_done(&b);
}
END_TEST

START_TEST(consume_and_add_as_a_queue_keeps_order)
{
	struct ats_buf b;
	uint32_t in = 0, out = 0, v;

	ats_buf_init(&b, 4096);
	for (int round = 0; round < 20000; round++) {
		while (b.len + sizeof(in) <= (size_t)(round * 37 % 4096)) {
			ck_assert_int_eq(ats_buf_add(&b, &in, sizeof(in)), 0);
			in++;
		}
		for (int k = 0; k < round % 11 && b.len > 0; k++) {
			memcpy(&v, b.data, sizeof(v));
			ck_assert_uint_eq(v, out);
			out++;
			ats_buf_consume(&b, sizeof(v));
		}
		ck_assert_int_eq(b.data[b.len], 0);
	}
	ck_assert_uint_gt(out, 1000);
	ats_buf_done(&b);
}
END_TEST

START_TEST(steal_gives_the_content_and_empties)
{
	struct ats_buf b;
	size_t n = 99;
	char *p;

	ats_buf_init(&b, 100);
	p = ats_buf_steal(&b, &n);
	ck_assert_str_eq(p, "");
	ck_assert_uint_eq(n, 0);
	free(p);
	ck_assert_int_eq(ats_buf_addf(&b, "%s-%03d", "ab", 7), 0);
	ats_buf_consume(&b, 1);
	p = ats_buf_steal(&b, &n);
	ck_assert_str_eq(p, "b-007");
	ck_assert_uint_eq(n, 5);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_uint_eq(b.max, 100);
	free(p);
}
END_TEST

START_TEST(reset_truncate_done_are_harmless_on_anything)
{
	struct ats_buf b = { 0 }, big;
	char *p;

	ats_buf_done(NULL);
	ats_buf_done(&b);
	ats_buf_reset(&b);
	ats_buf_truncate(&b, 5);
	ats_buf_commit(&b, 0);
	ats_buf_consume(&b, 0);
	ck_assert_int_eq(ats_buf_add_char(&b, 'x'), -ATS_E_TOOBIG);
	ats_buf_init(&big, 1 << 20);
	ck_assert_int_eq(ats_buf_reserve(&big, 200000, &p), 0);
	memset(p, 'y', 200000);
	ats_buf_commit(&big, 200000);
	ats_buf_truncate(&big, 3);
	ck_assert_str_eq(big.data, "yyy");
	ats_buf_reset(&big);
	ck_assert_uint_eq(big.cap, 0);
	ck_assert_int_eq(ats_buf_add_char(&big, 'x'), 0);
	ats_buf_done(&big);
	ats_buf_done(&big);
}
END_TEST

START_TEST(take_moves_the_memory_and_not_the_cap)
{
	struct ats_buf from, to;
	const char *where;
	size_t cap;

	ats_buf_init(&from, 4096);
	ats_buf_init(&to, 10);
	ck_assert_int_eq(ats_buf_add(&from, "0123456789012345", 16), 0);
	ats_buf_consume(&from, 16);
	where = from.base;
	cap = from.cap;
	ats_buf_take(&to, &from);
	ck_assert_ptr_null(from.base);
	ck_assert_uint_eq(from.max, 4096);
	ck_assert_ptr_eq(to.base, where);
	ck_assert_uint_eq(to.cap, cap);
	ck_assert_int_eq(ats_buf_add(&to, "01234567890", 11), -ATS_E_TOOBIG);
	ck_assert_int_eq(ats_buf_add(&to, "0123456789", 10), 0);
	ck_assert_str_eq(to.data, "0123456789");
	ck_assert_int_eq(ats_buf_add_char(&from, 'x'), 0);
	ats_buf_done(&from);
	ats_buf_done(&to);
}
END_TEST

ATS_UNIT_MAIN("buf", add_up_to_the_cap_keeps_a_nul_behind, reserve_of_absurd_sizes_fails,
    consume_and_add_as_a_queue_keeps_order, steal_gives_the_content_and_empties,
    reset_truncate_done_are_harmless_on_anything, take_moves_the_memory_and_not_the_cap)
