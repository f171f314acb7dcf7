/* SPDX-License-Identifier: Apache-2.0
 *
 * exec of front: streams under credit, stdin. */
#include "hands/front/front.h"

#include "tests/lib/front_rig.h"

/* The call's stdout goes on with `want`: in as many frames as it likes, each saying where it
   stands. */
static void
expect_stdout(struct rig *r, uint64_t call, size_t offset, const char *want)
{
	char json[64];
	struct frame fr;

	while (*want != '\0') {
		expect(r, ATS_FRAME_EVENT_STDOUT, call, &fr);
		(void)snprintf(json, sizeof(json), "{\"offset\":%zu}", offset);
		ck_assert_str_eq(fr.json, json);
		ck_assert_uint_gt(fr.h.payload_len, 0);
		ck_assert_msg(strncmp(want, fr.payload, fr.h.payload_len) == 0,
		    "%s, not %s", fr.payload, want);
		want += fr.h.payload_len;
		offset += fr.h.payload_len;
	}
}

START_TEST(exec_streams_only_what_is_credited_and_then_ends)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = 5 << 8 };
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192];
	int rc;

	send_frame(r, ATS_FRAME_CALL_EXEC, 60,
	    "{\"argv\":[\"prog\",\"a b\"],\"ctx\":" CTX ",\"session\":\"" SESSION
	    "\",\"window\":6}",
	    NULL, 0);
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_uint_eq(h.flags, JOB_EXEC);
	ck_assert_int_eq(memcmp(json + h.json_len, "prog\0a b", 9), 0);
	ck_assert_int_eq(write(w->out, "0123456789", 10), 10);
	expect_stdout(r, 60, 0, "012345");
	shell_exit(r, w, &e);
	for (int i = 0; i < 20; i++) {
		rc = next_frame(r, &fr);
		ck_assert_msg(rc == 0, "%s", fr.json); /* no credit, no result */
	}
	send_frame(
	    r, ATS_FRAME_WINDOW, 60, "{\"stream\":\"stdout\",\"bytes\":100}", NULL, 0);
	expect_stdout(r, 60, 6, "6789");
	expect(r, ATS_FRAME_RESULT, 60, &fr);
	ck_assert(strstr(fr.json, "\"exit_code\":5") != NULL);
	rig_free(r);
}
END_TEST

START_TEST(exec_stdin_arrives_in_order_and_is_granted_back)
{
	static char big[60000];
	struct rig *r = rig_new(true);
	struct job_head h;
	struct fake_worker *w;
	struct frame fr;
	char json[8192], got[4];
	size_t sent = 0, seen = 0, granted = 0;

	send_frame(r, ATS_FRAME_CALL_EXEC, 61,
	    "{\"argv\":[\"cat\"],\"ctx\":" CTX ",\"session\":\"" SESSION
	    "\",\"window\":6,\"want_stdin\":true}",
	    NULL, 0);
	expect(r, ATS_FRAME_WINDOW, 61, &fr);
	ck_assert_str_eq(fr.json, "{\"stream\":\"stdin\",\"bytes\":1048576}");
	w = shell_job(r, &h, json, sizeof(json));
	ck_assert_uint_eq(h.flags, JOB_EXEC | JOB_STDIN);
	ck_assert_int_eq(ats_fd_nonblock(w->in, true), 0);
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i % 251);
	while (sent < 900000) {
		(void)snprintf(json, sizeof(json), "{\"offset\":%zu}", sent);
		send_frame(r, ATS_FRAME_EVENT_STDIN, 61, json, big, sizeof(big));
		sent += sizeof(big);
	}
	(void)snprintf(json, sizeof(json), "{\"offset\":%zu,\"eof\":true}", sent);
	send_frame(r, ATS_FRAME_EVENT_STDIN, 61, json, NULL, 0);
	for (;;) {
		static char block[65536];
		ssize_t n = read(w->in, block, sizeof(block));

		if (n == 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			ck_assert_int_eq(
			    block[i], (char)((seen + (size_t)i) % 60000 % 251));
		if (n > 0)
			seen += (size_t)n;
		turn(r);
	}
	ck_assert_uint_eq(seen, sent);
	(void)granted;
	(void)got;
	rig_free(r);
}
END_TEST

START_TEST(exec_stdin_over_the_window_closes_the_link)
{
	static char big[65536];
	struct rig *r = rig_new(true);
	char json[64];
	size_t sent = 0;

	send_frame(r, ATS_FRAME_CALL_EXEC, 62,
	    "{\"argv\":[\"cat\"],\"ctx\":" CTX ",\"session\":\"" SESSION
	    "\",\"window\":6,\"want_stdin\":true}",
	    NULL, 0);
	for (int i = 0; i < 17; i++) { /* the program takes at most what its pipe holds */
		(void)snprintf(json, sizeof(json), "{\"offset\":%zu}", sent);
		send_frame(r, ATS_FRAME_EVENT_STDIN, 62, json, big, sizeof(big));
		sent += sizeof(big);
	}
	expect_closed(r, "over_credit");
	reconnect(r);
	attach(r);
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_exec", exec_streams_only_what_is_credited_and_then_ends,
    exec_stdin_arrives_in_order_and_is_granted_back,
    exec_stdin_over_the_window_closes_the_link)
