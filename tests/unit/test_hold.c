/* SPDX-License-Identifier: Apache-2.0
 *
 * What a lost link may have swallowed: positions, wrapping, growth. */
#include "common/hold.h"

#include <string.h>

#include "tests/lib/unit.h"

/* Puts the stream's next n bytes in, each its position's; returns how many there was room for. */
static size_t
put(struct ats_hold *h, size_t n)
{
	size_t done = 0, got;
	char *p;

	while (done < n && (got = ats_hold_room(h, n - done, &p)) > 0) {
		for (size_t i = 0; i < got; i++)
			p[i] = (char)((ats_hold_end(h) + i) % 251);
		ats_hold_commit(h, got);
		done += got;
	}
	return done;
}

static void
expect(const struct ats_hold *h, uint64_t from, uint64_t to)
{
	const char *p;
	size_t n;

	while (from < to) {
		n = ats_hold_at(h, from, &p);
		ck_assert_uint_gt(n, 0);
		ck_assert_uint_le(n, to - from);
		for (size_t i = 0; i < n; i++, from++)
			if (p[i] != (char)(from % 251))
				ck_abort_msg("byte %zu is another", (size_t)from);
	}
	ck_assert_uint_eq(ats_hold_at(h, to, &p), 0);
}

START_TEST(hold_wraps_and_grows_with_each_byte_in_its_place)
{
	struct ats_hold h;
	uint64_t base = 0;

	ats_hold_init(&h, 300000);
	for (size_t i = 1; i < 60; i++) {
		(void)put(&h, i * 7919 % 60000);
		expect(&h, base, ats_hold_end(&h));
		base += (ats_hold_end(&h) - base) * (i % 4) / 4;
		ats_hold_drop(&h, base);
		expect(&h, base, ats_hold_end(&h));
	}
	ck_assert_uint_le(h.cap, h.max);
	ats_hold_done(&h);
}
END_TEST

START_TEST(hold_at_its_maximum_takes_nothing_more)
{
	struct ats_hold h;
	const char *p;

	ats_hold_init(&h, 100000);
	ck_assert_uint_eq(put(&h, 200000), 100000);
	ck_assert_uint_eq(put(&h, 1), 0);
	ats_hold_drop(&h, 10);
	ck_assert_uint_eq(put(&h, 20), 10);
	expect(&h, 10, 100010);
	ck_assert_uint_eq(ats_hold_at(&h, 9, &p), 0);
	ats_hold_done(&h);
}
END_TEST

START_TEST(hold_drop_before_and_behind_what_is_held)
{
	struct ats_hold h;

	ats_hold_init(&h, 1000);
	ck_assert_uint_eq(put(&h, 100), 100);
	ats_hold_drop(&h, 50);
	ats_hold_drop(&h, 20);
	ck_assert_uint_eq(h.base, 50);
	expect(&h, 50, 100);
	ats_hold_drop(&h, 500);
	ck_assert_uint_eq(h.base, 500);
	ck_assert_uint_eq(ats_hold_end(&h), 500);
	ck_assert_uint_eq(put(&h, 30), 30);
	expect(&h, 500, 530);
	ats_hold_done(&h);
}
END_TEST

ATS_UNIT_MAIN("hold", hold_wraps_and_grows_with_each_byte_in_its_place,
    hold_at_its_maximum_takes_nothing_more, hold_drop_before_and_behind_what_is_held)
