/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/fs/diff.c, with the edits as the matcher makes them. */
#include "hands/fs/diff.h"
#include "tests/lib/unit.h"

#define EOF_MARK "\\ No newline at end of file\n"

START_TEST(diff_unified_shows_each_line_once)
{
	static const struct {
		const char *old, *what, *with, *want;
	} rows[] = {
		{ "a\nb\nc\n", "b", "B", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" },
		{ "x x\n", "x", "xy", "@@ -1,1 +1,1 @@\n-x x\n+xy xy\n" },
		/* lines that are side by side: all that was there, then all that is there
		 */
		{ "x\nx\nc\nx\n", "x", "y",
		    "@@ -1,4 +1,4 @@\n-x\n-x\n+y\n+y\n c\n-x\n+y\n" },
		{ "x\nx", "x", "y",
		    "@@ -1,2 +1,2 @@\n-x\n-x\n" EOF_MARK "+y\n+y\n" EOF_MARK },
		/* the last edit stands behind the last byte of a line that does not end
		 */
		{ "x x", "x", "xy",
		    "@@ -1,1 +1,1 @@\n-x x\n" EOF_MARK "+xy xy\n" EOF_MARK },
		{ "a\nx x", "x", "x\n",
		    "@@ -1,2 +1,3 @@\n a\n-x x\n" EOF_MARK "+x\n+ x\n" },
		{ "x\nx", "\nx", "",
		    "@@ -1,2 +1,1 @@\n-x\n-x\n" EOF_MARK "+x\n" EOF_MARK },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].old);
		struct match_set set;
		struct match_edit *edits;
		struct ats_buf now, out;

		ats_buf_init(&now, 4096);
		ats_buf_init(&out, 4096);
		ck_assert_int_eq(match_find(rows[i].old, n, rows[i].what,
				     strlen(rows[i].what), true, &set),
		    0);
		ck_assert_int_eq(match_apply(rows[i].old, n, &set, rows[i].with,
				     strlen(rows[i].with), &now, &edits),
		    0);
		ck_assert_int_eq(diff_unified(&(struct diff_texts){ rows[i].old, n,
						  now.data, now.len },
				     edits, set.n, 4096, &out),
		    0);
		ck_assert_msg(
		    strcmp(out.data, rows[i].want) == 0, "%zu: %s", i, out.data);
		free(edits);
		match_set_done(&set);
		ats_buf_done(&now);
		ats_buf_done(&out);
	}
}
END_TEST

ATS_UNIT_MAIN("diff", diff_unified_shows_each_line_once)
