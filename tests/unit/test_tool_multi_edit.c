/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/tools/multi_edit.c, edit_text.c, and edit_retry.c over several steps. */
#include "tests/lib/tool_env.h"

#include "hands/tools/edit_text.h"

extern const struct tool tool_multi_edit;

#define EDITS_MAX 8

struct row {
	const char *file;	/* NULL: does not exist */
	struct ats_in_edits edits[EDITS_MAX];
	const char *want;	/* NULL: unchanged */
	int code;
	const char *text;	/* part of the result's */
};

static const char *
multi(struct fake_env *f, const char *path, const struct ats_in_edits *edits)
{
	struct ats_in_multi_edit in = { .file_path = path, .edits = edits };

	while (in.n_edits < EDITS_MAX && edits[in.n_edits].old_string != NULL)
		in.n_edits++;
	return fake_run(f, &tool_multi_edit, &in);
}

static const struct row rows[] = {
	{ "one two three", { { "one", "1", 0, 0 }, { "three", "3", 0, 0 } }, "1 two 3", 0,
	    "2 edits, 2 replacements" },
	/* each works on the result of the one before */
	{ "a", { { "a", "b", 0, 0 }, { "b", "c", 0, 0 }, { "c", "dd", 0, 0 } }, "dd", 0, NULL },
	{ "x x", { { "x", "yy", true, true }, { "yy yy", "z", 0, 0 } }, "z", 0,
	    "3 replacements" },
	{ "a\r\nb\r\nc\r\n", { { "a\nb", "A\nB", 0, 0 }, { "B\nc", "B\nX\nc", 0, 0 } },
	    "A\r\nB\r\nX\r\nc\r\n", 0, NULL },
	{ "\xef\xbb\xbf" "a b", { { "a", "1", 0, 0 }, { "b", "2", 0, 0 } },
	    "\xef\xbb\xbf" "1 2", 0, NULL },
	/* all or nothing, and the edit is named */
	{ "one two", { { "one", "1", 0, 0 }, { "x", "y", 0, 0 } }, NULL, ATS_E_NO_MATCH,
	    "edits[1]: old_string was not found" },
	{ "one two one", { { "two", "2", 0, 0 }, { "one", "1", 0, 0 } }, NULL, ATS_E_AMBIGUOUS,
	    "edits[1]: old_string is in 2 places" },
	{ "one two", { { "one", "1", 0, 0 }, { "two", "two", 0, 0 } }, NULL, ATS_E_INVAL,
	    "edits[1]: old_string and new_string are the same" },
	{ "one two", { { "one", "1", 0, 0 }, { "", "y", 0, 0 } }, NULL, ATS_E_INVAL,
	    "edits[1]: old_string is empty" },
	{ "a b", { { "a", "c", 0, 0 }, { "c", "a", 0, 0 } }, NULL, ATS_E_INVAL, "together" },
	/* creating */
	{ NULL, { { "", "one two\n", 0, 0 }, { "two", "2", 0, 0 } }, "one 2\n", 0, "Created" },
	{ "full", { { "", "one", 0, 0 }, { "one", "2", 0, 0 } }, NULL, ATS_E_EXISTS, NULL },
	{ NULL, { { "", "one", 0, 0 }, { "two", "2", 0, 0 } }, NULL, ATS_E_NO_MATCH,
	    "edits[1]" },
	{ NULL, { { "x", "one", 0, 0 } }, NULL, ATS_E_NOENT, NULL },
};

START_TEST(multi_edit_makes_all_edits_or_none)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		struct fake_env f;

		fake_start(&f);
		if (r->file != NULL) {
			fake_put_str(&f, "ws/f", r->file);
			fake_read(&f, "f", 0, 0);
		}
		multi(&f, "f", r->edits);
		ck_assert_msg(f.res.code == r->code, "row %zu: %s", i, f.res.text.data);
		if (r->text != NULL)
			ck_assert_msg(strstr(f.res.text.data, r->text) != NULL, "row %zu: %s", i,
			    f.res.text.data);
		if (r->want != NULL || r->file != NULL)
			fake_expect_str(&f, "ws/f", r->want != NULL ? r->want : r->file);
		fake_expect_entries(&f, "ws", r->want != NULL || r->file != NULL);
		fake_stop(&f);
	}
}
END_TEST

START_TEST(multi_edit_diff_is_of_the_whole)
{
	static const struct ats_in_edits edits[EDITS_MAX] = { { "9\n", "9\nnine\n", 0, 0 },
		{ "2\n3\n", "2\nthree\n", 0, 0 }, { "nine\n", "NINE\n", 0, 0 },
		{ "2\nthree\n", "2\nTHREE\n", 0, 0 } };
	static const char want[] = "@@ -1,9 +1,10 @@\n 1\n 2\n-3\n+THREE\n 4\n 5\n 6\n"
	    " 7\n 8\n 9\n+NINE";
	struct fake_env f;
	const char *got;

	fake_start(&f);
	fake_put_str(&f, "ws/f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	multi(&f, "f", edits);
	fake_expect_code(&f, ATS_E_NOT_READ);
	fake_read(&f, "f", 0, 0);
	got = multi(&f, "f", edits);
	fake_expect_code(&f, 0);
	fake_expect_str(&f, "ws/f", "1\n2\nTHREE\n4\n5\n6\n7\n8\n9\nNINE\n");
	ck_assert_ptr_nonnull(strstr(got, "@@"));
	ck_assert_str_eq(strstr(got, "@@"), want);
	fake_edit(&f, "f", "THREE", "3", false);	/* a chain needs no read */
	fake_expect_code(&f, 0);
	fake_stop(&f);
}
END_TEST

static unsigned seed = 7;

static unsigned
rnd(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

/* The changes that the diff is made of lead from the first text to the last. */
START_TEST(edit_text_random_steps_compose)
{
	printf("# seed %u\n", seed);
	for (int round = 0; round < 3000; round++) {
		struct change c = { .old = NULL };
		struct edit_text t;
		struct ats_err err;
		char text[64], pair[2][4];
		size_t at = 0, to = 0;

		for (unsigned i = 0; i < 40; i++)
			text[i] = (char)('a' + rnd(3));
		c.old = text;
		c.old_n = 40;
		ck_assert_int_eq(edit_text_open(&t, &c, &err), 0);
		for (int k = 0; k < 5; k++) {
			struct edit_step s;

			for (int j = 0; j < 2; j++) {
				unsigned n = j == 0 ? 1 + rnd(3) : rnd(4);

				for (unsigned i = 0; i < n; i++)
					pair[j][i] = (char)('a' + rnd(3));
				pair[j][n] = '\0';
			}
			s = edit_step_make(pair[0], pair[1], rnd(2));
			(void)!edit_text_apply(&t, &s, &err);
		}
		for (size_t i = 0; i < t.nedits; i++) {
			const struct match_edit *e = &t.edits[i];

			ck_assert(e->old_start >= at && e->old_end >= e->old_start);
			ck_assert_uint_eq(e->old_start - at, e->new_start - to);
			ck_assert(memcmp(text + at, t.text.p + to, e->old_start - at) == 0);
			at = e->old_end;
			to = e->new_end;
		}
		ck_assert_uint_eq(40 - at, t.text.n - to);
		ck_assert(memcmp(text + at, t.text.p + to, 40 - at) == 0);
		edit_text_done(&t);
	}
}
END_TEST

START_TEST(multi_edit_retry_takes_the_sequence_back)
{
	static const size_t which[] = { 0, 1, 2, 3 };

	for (size_t i = 0; i < ATS_ARRAY_LEN(which); i++) {
		const struct row *r = &rows[which[i]];
		struct tool_read seen;
		struct fake_env f;

		fake_start(&f);
		fake_put_str(&f, "ws/f", r->file);
		fake_read(&f, "f", 0, 0);
		seen = f.reads[0];
		seen.sha256 = strdup(seen.sha256);
		seen.path = strdup(seen.path);
		multi(&f, "f", r->edits);
		fake_expect_code(&f, 0);
		/* the result is lost: the engine knows only the old state */
		fake_forget(&f);
		f.reads[f.env.nreads++] = seen;
		f.env.attempt = 1;
		multi(&f, "f", r->edits);
		ck_assert_msg(!f.res.is_error && strstr(f.res.text.data, "already") != NULL,
		    "row %zu: %s", i, f.res.text.data);
		fake_expect_str(&f, "ws/f", r->want);
		/* not done yet: it is done now */
		fake_put_str(&f, "ws/f", r->file);
		f.env.attempt = 0;
		fake_read(&f, "f", 0, 0);
		f.env.attempt = 2;
		multi(&f, "f", r->edits);
		fake_expect_code(&f, 0);
		fake_expect_str(&f, "ws/f", r->want);
		/* half of it, or another's work */
		fake_put_str(&f, "ws/f", "something else");
		multi(&f, "f", r->edits);
		fake_expect_code(&f, ATS_E_CHANGED);
		fake_expect_str(&f, "ws/f", "something else");
		fake_stop(&f);
	}
}
END_TEST

START_TEST(multi_edit_created_file_is_known_again)
{
	static const struct ats_in_edits edits[EDITS_MAX] = { { "", "one two\n", 0, 0 },
		{ "two", "2", 0, 0 } };
	struct fake_env f;

	fake_start(&f);
	multi(&f, "f", edits);
	fake_expect_code(&f, 0);
	fake_forget(&f);
	f.env.attempt = 1;
	ck_assert_ptr_nonnull(strstr(multi(&f, "f", edits), "already"));
	fake_put_str(&f, "ws/f", "one two\n");
	multi(&f, "f", edits);
	fake_expect_code(&f, ATS_E_EXISTS);
	multi(&f, ".git/config", edits);
	fake_expect_code(&f, ATS_E_DENIED);
	fake_expect_entries(&f, "ws", 1);
	fake_stop(&f);
}
END_TEST

/* Many ways back: the work ends, and the answer is "not to be known". */
START_TEST(multi_edit_retry_is_bounded)
{
	struct ats_in_edits edits[EDITS_MAX] = { 0 };
	struct fake_env f;
	char *big = malloc(20001);

	memset(big, 'a', 20000);
	big[20000] = '\0';
	for (int i = 0; i < EDITS_MAX; i++)
		edits[i] = (struct ats_in_edits){ "x\n", "a", 0, 0 };
	fake_start(&f);
	fake_put_str(&f, "ws/f", "x\n");
	fake_read(&f, "f", 0, 0);
	fake_put_str(&f, "ws/f", big);
	f.env.attempt = 1;
	multi(&f, "f", edits);
	fake_expect_code(&f, ATS_E_CHANGED);
	fake_stop(&f);
	free(big);
}
END_TEST

ATS_UNIT_MAIN("tool_multi_edit", multi_edit_makes_all_edits_or_none,
    multi_edit_diff_is_of_the_whole, edit_text_random_steps_compose,
    multi_edit_retry_takes_the_sequence_back, multi_edit_created_file_is_known_again,
    multi_edit_retry_is_bounded)
