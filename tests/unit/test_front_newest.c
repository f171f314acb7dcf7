/* SPDX-License-Identifier: Apache-2.0
 *
 * The newest output of a command that runs, which is all that is known of it when its
 * sandbox is lost. */
#include "hands/front/front.h"

#include "common/json.h"
#include "hands/front/capture.h"
#include "tests/lib/front_rig.h"

START_TEST(capture_newest_is_valid_whole_and_bounded)
{
	static const struct {
		const char *fill;	/* repeated before */
		size_t times;
		const char *end, *newest_ends;
	} rows[] = {
		{ "", 0, "", "" },
		{ "", 0, "one\ntwo", "one\ntwo" },
		{ "", 0, "a\xe4\xbd", "a" },	/* the rest of it is on its way */
		{ "", 0, "a\xff", "a\xef\xbf\xbd" },
		{ "\xe4\xbd\xa0", 30000, "end", "\xe4\xbd\xa0" "end" },
		{ "\xff", 100000, "end", "\xef\xbf\xbd" "end" },
		{ "line\n", 100000, "end", "line\nend" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct capture c;
		struct ats_buf out, again;
		size_t n = strlen(rows[i].newest_ends);

		capture_init(&c);
		for (size_t k = 0; k < rows[i].times; k++)
			ck_assert_int_eq(
			    capture_add(&c, rows[i].fill, strlen(rows[i].fill)), 0);
		ck_assert_int_eq(capture_add(&c, rows[i].end, strlen(rows[i].end)), 0);
		ats_buf_init(&out, CALL_NEWEST);
		ats_buf_init(&again, 4 * CALL_NEWEST);
		ck_assert_int_eq(capture_newest(&c, CALL_NEWEST, &out), 0);
		ck_assert_uint_ge(out.len, n);
		ck_assert(n == 0 || memcmp(out.data + out.len - n, rows[i].newest_ends, n) == 0);
		if (rows[i].times == 0)
			ck_assert_uint_eq(out.len, n);
		else
			ck_assert_uint_gt(out.len, 4000);
		if (out.len > 0)
			ck_assert_int_eq(ats_utf8_repair(&again, out.data, out.len), 0);
		ck_assert_uint_eq(again.len, out.len);
		ck_assert(out.len == 0 || memcmp(again.data, out.data, out.len) == 0);
		ats_buf_done(&out);
		ats_buf_done(&again);
		capture_done(&c);
	}
}
END_TEST

/* It prints once, early, and then nothing: what it printed is told all the same. */
START_TEST(bash_that_falls_silent_has_told_what_it_printed)
{
	struct rig *r = rig_new(true);
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];

	call_tool(r, 40, "Bash", "{\"command\":\"x\"}", ",\"progress\":true");
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_int_eq(write(w->out, "one\ntwo \xe4\xbd\xa0\n", 12), 12);
	turn(r);
	expect(r, ATS_FRAME_EVENT_PROGRESS, 40, &fr);
	ck_assert_str_eq(fr.json, "{\"message\":\"two \xe4\xbd\xa0\",\"done\":12}");
	ck_assert_str_eq(fr.payload, "one\ntwo \xe4\xbd\xa0\n");
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_newest", capture_newest_is_valid_whole_and_bounded,
    bash_that_falls_silent_has_told_what_it_printed)
