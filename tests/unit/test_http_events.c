/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/unit.h"

#include <stdio.h>

#include "brain/http/events.h"

struct heard {
	unsigned n;
	char text[256];
};

static void
hear(void *ctx, uint64_t number, const char *data, size_t n)
{
	struct heard *h = ctx;
	size_t at = strlen(h->text);

	h->n++;
	(void)snprintf(h->text + at, sizeof(h->text) - at, "%llu=%.*s ",
	    (unsigned long long)number, (int)(n < 8 ? n : 8), data);
}

START_TEST(what_came_after_is_told_in_order)
{
	struct heard h = { 0 };
	struct events e;

	events_init(&e);
	events_keep(&e, 2, 1, "", 0);
	events_keep(&e, 3, 1, "other", 5);
	events_keep(&e, 2, 2, "b", 1);
	events_keep(&e, 2, 3, "c", 1);
	events_after(&e, 2, 1, hear, &h);
	ck_assert_str_eq(h.text, "2=b 3=c ");
	ck_assert(events_have(&e, 3) && !events_have(&e, 4));
	events_after(&e, 2, 3, hear, &h);
	ck_assert_uint_eq(h.n, 2);
	events_done(&e);
}
END_TEST

START_TEST(the_oldest_go_by_number_and_by_bytes)
{
	static char large[HTTP_EVENTS_BYTES];
	struct heard h = { 0 };
	struct events e;

	events_init(&e);
	for (uint64_t i = 1; i <= HTTP_EVENTS + 3; i++)
		events_keep(&e, 1, i, "x", 1);
	ck_assert_uint_eq(e.n, HTTP_EVENTS);
	events_after(&e, 1, HTTP_EVENTS + 1, hear, &h);
	ck_assert_uint_eq(h.n, 2);
	events_keep(&e, 7, 1, large, sizeof(large) - 1);
	ck_assert_uint_eq(e.n, 2);
	ck_assert_uint_le(e.bytes, HTTP_EVENTS_BYTES);
	events_keep(&e, 7, 2, large, sizeof(large));
	ck_assert_uint_eq(e.n, 1);
	events_done(&e);
	ck_assert_uint_eq(e.bytes, 0);
}
END_TEST

START_TEST(ids_are_read_as_they_are_written_and_nothing_else_is)
{
	static const char *const bad[] = { "", "-", "1", "1-", "-1", "1-1-", "1-1 ", " 1-1", "g-1",
		"1-A", "0x1-1", "12345678901234567-1", "1-12345678901234567", "1--1" };
	uint64_t s, n;
	char id[EVENTS_ID];

	events_id(UINT64_MAX, UINT64_MAX, id);
	ck_assert_int_eq(events_id_read(id, &s, &n), 0);
	ck_assert(s == UINT64_MAX && n == UINT64_MAX);
	events_id(2, 0, id);
	ck_assert_str_eq(id, "2-0");
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++)
		ck_assert_msg(events_id_read(bad[i], &s, &n) == -ATS_E_INVAL, "%s", bad[i]);
}
END_TEST

ATS_UNIT_MAIN("http_events", what_came_after_is_told_in_order,
    the_oldest_go_by_number_and_by_bytes, ids_are_read_as_they_are_written_and_nothing_else_is)
