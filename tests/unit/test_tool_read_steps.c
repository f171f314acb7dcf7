/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/read.c: what shows of its steps, and of what it gives ahead: nothing. */
#include "hands/tools/read_lines.h"
#include "tests/lib/tool_env.h"

static struct ats_buf given;

static int
take_given(void *ctx)
{
	struct fake_env *f = ctx;

	ck_assert_int_eq(ats_buf_add(&given, f->res.text.data, f->res.text.len), 0);
	f->res.has_given = true;
	ats_buf_reset(&f->res.text);
	return 0;
}

/* What is given ahead and the rest are what would have been the text. */
START_TEST(read_gives_text_ahead)
{
	size_t n = 200000;
	char *p = malloc(n), *whole;
	struct fake_env f;

	for (size_t i = 0; i < n; i++)
		p[i] = i % 97 == 96 ? '\n' : (char)('a' + i % 26);
	fake_start(&f);
	ats_buf_init(&given, 1u << 20);
	fake_put(&f, "ws/f", p, n);
	for (uint64_t limit = 0; limit <= 1500; limit += 1500) {
		f.env.give = NULL;
		whole = strdup(fake_read(&f, "f", 0, limit));
		f.env.give = take_given;
		f.env.give_ctx = &f;
		fake_read(&f, "f", 0, limit);
		fake_expect_code(&f, 0);
		ck_assert_uint_gt(given.len, 100000);
		ck_assert_uint_lt(f.res.text.cap, 128u << 10);
		ck_assert_int_eq(ats_buf_add(&given, f.res.text.data, f.res.text.len), 0);
		ck_assert_str_eq(given.data, whole);
		ats_buf_reset(&given);
		free(whole);
	}
	/* What turns out to be no text after some of it was given is refused all the same. */
	p[60000] = '\0';
	fake_put(&f, "ws/f", p, n);
	fake_read(&f, "f", 0, 0);
	fake_expect_code(&f, ATS_E_UTF8);
	ck_assert_uint_gt(given.len, 0);
	ck_assert_ptr_nonnull(strstr(f.res.text.data, "is binary data (200000 bytes)"));
	ats_buf_done(&given);
	free(p);
	fake_stop(&f);
}
END_TEST

/* A NUL behind the bytes that tell text from other data is shown as '?', in a line that came in one
 * step and in one that came in two. */
START_TEST(read_shows_late_nuls)
{
	static const size_t at[] = { 70000, 5 * 16384 - 1, 6 * 16384, 100000 };
	size_t n = 120000;
	char *p = malloc(n), *want = NULL;
	struct fake_env f;

	fake_start(&f);
	for (unsigned with = 0; with < 2; with++) {
		for (size_t i = 0; i < n; i++)
			p[i] = i % 97 == 96 ? '\n' : (char)('a' + i % 26);
		for (size_t i = 0; i < ATS_ARRAY_LEN(at); i++)
			p[at[i]] = with ? '\0' : '?';
		fake_put(&f, "ws/f", p, n);
		if (with)
			ck_assert_str_eq(fake_read(&f, "f", 0, 0), want);
		else
			want = strdup(fake_read(&f, "f", 0, 0));
	}
	ck_assert_uint_eq(f.res.text.len, strlen(want));
	free(want);
	free(p);
	fake_stop(&f);
}
END_TEST

/* The lines behind the page are counted, in steps. */
START_TEST(read_counts_all_lines)
{
	static const struct { const char *end; uint64_t offset; const char *want; } rows[] = {
		{ "", 0, "[Lines 1 to 2000 of 30000 are shown. Go on with offset 2001.]" },
		{ "x", 0, "[Lines 1 to 2000 of 30001 are shown. Go on with offset 2001.]" },
		{ "x", 28001, "[Lines 28001 to 30000 of 30001 are shown. Go on with offset 3" },
	};
	char *p = malloc(30000 * 7 + 2);
	struct fake_env f;

	fake_start(&f);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		for (size_t k = 0; k < 30000; k++)
			memcpy(p + 7 * k, "abcdef\n", 7);
		strcpy(p + 30000 * 7, rows[i].end);
		fake_put_str(&f, "ws/f", p);
		fake_read(&f, "f", rows[i].offset, 0);
		ck_assert_msg(strstr(f.res.text.data, rows[i].want) != NULL, "row %zu: %s", i,
		    f.res.text.data + f.res.text.len - 100);
		ck_assert_uint_eq(strlen(f.reads[0].sha256), 64);
	}
	free(p);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("tool_read_steps", read_gives_text_ahead, read_shows_late_nuls, read_counts_all_lines)
