/* SPDX-License-Identifier: Apache-2.0 */
#include "common/map.h"

#include <stdio.h>

#include "tests/lib/unit.h"

static int values[1000];

START_TEST(put_get_del_over_many_rounds_agree_with_an_array)
{
	struct ats_map *m = ats_map_new(1000);
	bool in[1000] = { false };
	unsigned r = 12345;
	size_t count = 0;

	for (int round = 0; round < 50000; round++) {
		r = r * 1103515245u + 12345u;
		size_t k = (r >> 8) % 1000;
		uint64_t key = (uint64_t)k << 32;

		if ((r & 1) != 0) {
			ck_assert_int_eq(ats_map_put(m, key, &values[k]),
			    in[k] ? -ATS_E_EXISTS : 0);
			count += in[k] ? 0 : 1;
			in[k] = true;
		} else {
			ck_assert_ptr_eq(ats_map_del(m, key), in[k] ? &values[k] : NULL);
			count -= in[k] ? 1 : 0;
			in[k] = false;
		}
		ck_assert_uint_eq(ats_map_count(m), count);
	}
	for (size_t k = 0; k < 1000; k++)
		ck_assert_ptr_eq(ats_map_get(m, (uint64_t)k << 32), in[k] ? &values[k] : NULL);
	ats_map_free(m);
}
END_TEST

START_TEST(put_over_the_cap_is_full)
{
	struct ats_map *m = ats_map_new(2);

	ck_assert_int_eq(ats_map_put(m, 1, &values[1]), 0);
	ck_assert_int_eq(ats_map_put(m, 2, &values[2]), 0);
	ck_assert_int_eq(ats_map_put(m, 3, &values[3]), -ATS_E_FULL);
	ck_assert_int_eq(ats_map_put(m, 2, &values[3]), -ATS_E_EXISTS);
	ck_assert_ptr_eq(ats_map_del(m, 1), &values[1]);
	ck_assert_int_eq(ats_map_put(m, 3, &values[3]), 0);
	ats_map_free(m);
}
END_TEST

START_TEST(string_keys_are_copied_and_apart_from_numbers)
{
	struct ats_map *m = ats_map_new(500);
	char key[64];

	for (int i = 0; i < 300; i++) {
		(void)snprintf(key, sizeof(key), "%.*s%d", i % 20, "aaaaaaaaaaaaaaaaaaaa", i);
		ck_assert_int_eq(ats_map_put_str(m, key, &values[i]), 0);
		ck_assert_int_eq(ats_map_put_str(m, key, &values[i]), -ATS_E_EXISTS);
	}
	ck_assert_ptr_null(ats_map_get(m, 0));
	ck_assert_ptr_null(ats_map_get_str(m, ""));
	ck_assert_int_eq(ats_map_put_str(m, "", &values[999]), 0);
	ck_assert_ptr_eq(ats_map_get_str(m, ""), &values[999]);
	ck_assert_ptr_eq(ats_map_get_str(m, "aaaaaaa7"), &values[7]);
	ck_assert_ptr_eq(ats_map_del_str(m, "aaaaaaa7"), &values[7]);
	ck_assert_ptr_null(ats_map_del_str(m, "aaaaaaa7"));
	ats_map_free(m);
}
END_TEST

START_TEST(each_with_removal_visits_all_once)
{
	struct ats_map *m = ats_map_new(1000);
	int seen[1000] = { 0 };
	int *v;

	for (size_t k = 0; k < 1000; k++)
		ck_assert_int_eq(ats_map_put(m, k, &values[k]), 0);
	for (size_t i = 0; (v = ats_map_each(m, &i)) != NULL;) {
		seen[v - values]++;
		ck_assert_ptr_eq(ats_map_del(m, (uint64_t)(v - values)), v);
	}
	for (size_t k = 0; k < 1000; k++)
		ck_assert_int_eq(seen[k], 1);
	ck_assert_uint_eq(ats_map_count(m), 0);
	ats_map_free(m);
	ats_map_free(NULL);
}
END_TEST

ATS_UNIT_MAIN("map", put_get_del_over_many_rounds_agree_with_an_array, put_over_the_cap_is_full,
    string_keys_are_copied_and_apart_from_numbers, each_with_removal_visits_all_once)
