/* SPDX-License-Identifier: Apache-2.0 */
#include "common/frame.h"

#include <string.h>

#include "tests/lib/unit.h"

static int
get(uint32_t len, uint16_t zero, uint32_t json_len, struct ats_frame_head *ret)
{
	unsigned char raw[ATS_FRAME_HEAD];
	struct ats_frame_head h = { .len = len, .type = 3, .kind = 9, .json_len = json_len };
	struct ats_err err;

	h.call = 0x0123456789abcdefu;
	ats_frame_head_put(&h, raw);
	raw[6] = (unsigned char)(zero >> 8);
	raw[7] = (unsigned char)zero;
	return ats_frame_head_get(raw, ret, &err);
}

START_TEST(head_comes_back_as_it_was_put)
{
	struct ats_frame_head h;

	ck_assert_int_eq(get(20 + 7 + 5, 0, 7, &h), 0);
	ck_assert_uint_eq(h.len, 32);
	ck_assert_uint_eq(h.type, 3);
	ck_assert_uint_eq(h.kind, 9);
	ck_assert_uint_eq(h.call, 0x0123456789abcdefu);
	ck_assert_uint_eq(h.json_len, 7);
	ck_assert_uint_eq(h.payload_len, 5);
}
END_TEST

START_TEST(put_is_big_endian)
{
	static const unsigned char want[] = { 0, 0, 1, 2, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6,
		0, 0, 0, 7 };
	struct ats_frame_head h = { .len = 258, .type = 4, .kind = 5, .call = 6, .json_len = 7 };
	unsigned char raw[ATS_FRAME_HEAD];

	ats_frame_head_put(&h, raw);
	ck_assert_mem_eq(raw, want, sizeof(want));
}
END_TEST

START_TEST(get_refuses_what_contradicts)
{
	static const struct {
		uint32_t len;
		uint16_t zero;
		uint32_t json;
		int want;
	} t[] = {
		{ 20, 0, 0, 0 }, { ATS_FRAME_MAX, 0, ATS_FRAME_MAX - 20, 0 },
		{ 0, 0, 0, -ATS_E_PROTO }, { 19, 0, 0, -ATS_E_PROTO },
		{ ATS_FRAME_MAX + 1, 0, 0, -ATS_E_TOOBIG }, { UINT32_MAX, 0, 0, -ATS_E_TOOBIG },
		{ 20, 1, 0, -ATS_E_PROTO }, { 20, 0x100, 0, -ATS_E_PROTO },
		{ 20, 0, 1, -ATS_E_PROTO }, { 30, 0, UINT32_MAX, -ATS_E_PROTO },
	};
	struct ats_frame_head h;

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++)
		ck_assert_msg(get(t[i].len, t[i].zero, t[i].json, &h) == t[i].want, "row %zu", i);
}
END_TEST

ATS_UNIT_MAIN("frame", head_comes_back_as_it_was_put, put_is_big_endian,
    get_refuses_what_contradicts)
