/* SPDX-License-Identifier: Apache-2.0
 *
 * Head and tail of outputs: caps, cuts on characters, repair across reads. */
#include "hands/front/capture.h"

#include "common/json.h"
#include "tests/lib/unit.h"

static void
add(struct capture *c, const char *s)
{
	ck_assert_int_eq(capture_add(c, s, strlen(s)), 0);
}

static char *
text_of(const struct capture *c, bool *ret_cut)
{
	struct ats_buf out;

	ats_buf_init(&out, 4u << 20);
	ck_assert_int_eq(capture_text(c, CAPTURE_CHARS, "/f", &out, ret_cut), 0);
	return ats_buf_steal(&out, NULL);
}

static size_t
chars(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

START_TEST(capture_text_split_characters_are_put_together)
{
	struct capture c;
	bool cut;
	char *s;

	capture_init(&c);
	add(&c, "a\xe2");
	add(&c, "\x80\x94");
	add(&c, "b");
	s = text_of(&c, &cut);
	ck_assert(!cut);
	ck_assert_str_eq(s, "a\xe2\x80\x94"
			    "b");
	free(s);
	capture_done(&c);
}
END_TEST

START_TEST(capture_text_at_the_cap_is_whole_and_one_more_is_cut)
{
	struct capture c;
	bool cut;
	char *s;

	capture_init(&c);
	for (int i = 0; i < 30000; i++)
		add(&c, "\xe4\xbd\xa0");
	s = text_of(&c, &cut);
	ck_assert(!cut);
	ck_assert_uint_eq(chars(s), 30000);
	free(s);
	add(&c, "x");
	s = text_of(&c, &cut);
	ck_assert(cut);
	ck_assert(strstr(s, "cut: 90001 bytes") != NULL);
	ck_assert(strstr(s, "Read /f") != NULL);
	ck_assert_int_eq(s[strlen(s) - 1], 'x');
	free(s);
	capture_done(&c);
}
END_TEST

START_TEST(capture_text_of_endless_output_keeps_both_ends)
{
	struct capture c;
	bool cut;
	char *s, line[32];

	capture_init(&c);
	for (int i = 0; i < 400000; i++) {
		(void)snprintf(line, sizeof(line), "%d\xe4\xbd\xa0\n", i);
		add(&c, line);
	}
	s = text_of(&c, &cut);
	ck_assert(cut);
	ck_assert(strncmp(s, "0\xe4\xbd\xa0\n1", 6) == 0);
	ck_assert(strstr(s, "399999\xe4\xbd\xa0\n") != NULL);
	ck_assert_uint_lt(chars(s), 30200);
	ck_assert_uint_gt(chars(s), 30000);
	ck_assert(strstr(s, "\xef\xbf\xbd") == NULL);
	ck_assert_int_eq(ats_json_scan("1", 1, NULL), 0);
	ck_assert_uint_le(c.head.cap, 2 * CAPTURE_SIDE);
	free(s);
	capture_done(&c);
}
END_TEST

/* Wherever head and tail end in a character: what is shown is whole. */
START_TEST(capture_text_of_endless_wide_characters_is_cut_between_them)
{
	for (int shift = 0; shift < 4; shift++) {
		struct capture c;
		bool cut;
		char *s;

		capture_init(&c);
		for (int i = 0; i < shift; i++)
			add(&c, "a");
		for (int i = 0; i < 40000; i++)
			add(&c, "\xf0\x9f\x98\x80");
		for (int i = 0; i < shift; i++)
			add(&c, "z");
		s = text_of(&c, &cut);
		ck_assert(cut);
		ck_assert_msg(strstr(s, "\xef\xbf\xbd") == NULL, "shift %d", shift);
		for (size_t at = 0, k; s[at] != '\0'; at += k) {
			k = ats_utf8_seq(s + at, strlen(s + at) < 4 ? strlen(s + at) : 4);
			ck_assert_msg(k > 0, "shift %d, byte %zu", shift, at);
		}
		free(s);
		capture_done(&c);
	}
}
END_TEST

START_TEST(capture_text_of_random_bytes_is_valid_utf8)
{
	struct capture c;
	bool cut;
	char *s, block[4096];
	unsigned seed = 7;

	for (int round = 0; round < 8; round++) {
		size_t at = 0, n;

		capture_init(&c);
		for (int k = 0; k < (round + 1) * 9; k++) {
			for (size_t i = 0; i < sizeof(block); i++) {
				seed = seed * 1103515245 + 12345;
				block[i] = (char)(seed >> 16);
				if (block[i] == '\0')
					block[i] = 'z';
			}
			ck_assert_int_eq(capture_add(&c, block, sizeof(block)), 0);
		}
		s = text_of(&c, &cut);
		while (s[at] != '\0') {
			n = ats_utf8_seq(s + at, strlen(s + at) < 4 ? strlen(s + at) : 4);
			ck_assert_uint_gt(n, 0);
			at += n;
		}
		free(s);
		capture_done(&c);
	}
}
END_TEST

START_TEST(capture_last_line_is_the_newest_that_is_not_empty)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{ "", "" },
		{ "a", "a" },
		{ "a\n", "a" },
		{ "a\nb\n\n", "b" },
		{ "10%\r20%\r", "20%" },
		{ "x\nab\xff\n", "ab\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct capture c;
		char out[64];

		capture_init(&c);
		add(&c, rows[i].in);
		ck_assert_str_eq(capture_last_line(&c, out, sizeof(out)), rows[i].want);
		capture_done(&c);
	}
}
END_TEST

START_TEST(capture_last_line_longer_than_the_room_is_cut_on_a_character)
{
	struct capture c;
	char out[8];

	capture_init(&c);
	add(&c, "\xe4\xbd\xa0\xe4\xbd\xa0\xe4\xbd\xa0");
	ck_assert_str_eq(
	    capture_last_line(&c, out, sizeof(out)), "\xe4\xbd\xa0\xe4\xbd\xa0");
	capture_done(&c);
}
END_TEST

ATS_UNIT_MAIN("front_capture", capture_text_split_characters_are_put_together,
    capture_text_at_the_cap_is_whole_and_one_more_is_cut,
    capture_text_of_endless_output_keeps_both_ends,
    capture_text_of_endless_wide_characters_is_cut_between_them,
    capture_text_of_random_bytes_is_valid_utf8,
    capture_last_line_is_the_newest_that_is_not_empty,
    capture_last_line_longer_than_the_room_is_cut_on_a_character)
