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

/* ---- over a lost link ------------------------------------------------------------------ */

#define EXEC(window, more) \
	"{\"argv\":[\"prog\"],\"ctx\":" CTX ",\"session\":\"" SESSION                      \
	"\",\"window\":" window more "}"

static struct fake_worker *
begin(struct rig *r, uint64_t call, const char *json)
{
	static char strings[8192];
	struct job_head h;

	send_frame(r, ATS_FRAME_CALL_EXEC, call, json, NULL, 0);
	return shell_job(r, &h, strings, sizeof(strings));
}

static void
print(struct rig *r, const struct fake_worker *w, const char *text)
{
	ck_assert_int_eq(write(w->out, text, strlen(text)), (ssize_t)strlen(text));
	turn(r);
}

static void
attach_again(struct rig *r, const char *running)
{
	struct frame fr;

	reconnect(r);
	expect(r, ATS_FRAME_HELLO, 0, &fr);
	say_hello(r);
	expect(r, ATS_FRAME_READY, 0, &fr);
	ck_assert_msg(strstr(fr.json, running) != NULL, "%s", fr.json);
}

static void
resume(struct rig *r, uint64_t call, uint64_t out, uint64_t window)
{
	char json[256];

	(void)snprintf(json, sizeof(json),
	    "{\"out\":%" PRIu64 ",\"err\":0,\"out_window\":%" PRIu64 ",\"err_window\":0}", out,
	    window);
	send_frame(r, ATS_FRAME_RESUME, call, json, NULL, 0);
}

static void
expect_nothing(struct rig *r)
{
	struct frame fr;

	for (int i = 0; i < 20; i++)
		ck_assert_msg(next_frame(r, &fr) == 0, "%s", fr.json);
}

START_TEST(exec_resumed_sends_again_what_the_peer_has_not)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = 3 << 8 };
	struct fake_worker *w = begin(r, 70, EXEC("100", ""));
	struct frame fr;

	print(r, w, "0123456789");
	expect_stdout(r, 70, 0, "0123456789");
	attach_again(r, "\"running\":[70]");
	print(r, w, "abc");
	expect_nothing(r);		/* it was not resumed */
	resume(r, 70, 4, 96);
	expect_stdout(r, 70, 4, "456789abc");
	attach_again(r, "\"running\":[70]");
	print(r, w, "def");
	shell_exit(r, w, &e);		/* it ends before it is resumed */
	expect_nothing(r);
	resume(r, 70, 13, 87);
	expect_stdout(r, 70, 13, "def");
	expect(r, ATS_FRAME_RESULT, 70, &fr);
	/* until it is acknowledged it can be had again, after the output */
	attach_again(r, "\"running\":[70]");
	expect_nothing(r);
	resume(r, 70, 13, 87);
	expect_stdout(r, 70, 13, "def");
	expect(r, ATS_FRAME_RESULT, 70, &fr);
	ck_assert(strstr(fr.json, "\"exit_code\":3") != NULL);
	send_frame(r, ATS_FRAME_ACK, 70, "{}", NULL, 0);
	attach_again(r, "\"running\":[]");
	rig_free(r);
}
END_TEST

START_TEST(exec_resumed_before_what_was_acknowledged_has_a_gap)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w = begin(r, 71, EXEC("8", ""));
	struct frame fr;

	print(r, w, "0123456789ab");
	expect_stdout(r, 71, 0, "01234567");
	send_frame(r, ATS_FRAME_WINDOW, 71, "{\"stream\":\"stdout\",\"bytes\":4}", NULL, 0);
	expect_stdout(r, 71, 8, "89ab");
	attach_again(r, "\"running\":[71]");
	resume(r, 71, 1, 8);
	expect(r, ATS_FRAME_EVENT_GAP, 71, &fr);
	ck_assert_str_eq(fr.json, "{\"stream\":\"stdout\",\"from\":1,\"to\":4}");
	expect_stdout(r, 71, 4, "456789ab");
	rig_free(r);
}
END_TEST

START_TEST(exec_resumed_with_what_cannot_be_ends_the_link_only)
{
	static const struct {
		uint64_t call, out, window;
		bool twice;
		const char *code;
	} wrong[] = {
		{ 72, 11, 10, false, "bad_field" },	/* more than was sent */
		{ 72, 0, 101, false, "bad_field" },	/* more credit than ever */
		{ 72, UINT64_MAX, 0, false, "bad_field" },
		{ 72, 10, 90, true, "out_of_state" },
		{ 73, 0, 10, false, "out_of_state" },	/* no call */
		{ 74, 0, 10, false, "out_of_state" },	/* not an exec */
	};
	struct rig *r = rig_new(true);
	struct fake_worker *w = begin(r, 72, EXEC("100", ""));

	call_tool(r, 74, "Bash", "{\"command\":\"x\"}", ",\"keep\":true");
	print(r, w, "0123456789");
	expect_stdout(r, 72, 0, "0123456789");
	for (size_t i = 0; i < ATS_ARRAY_LEN(wrong); i++) {
		attach_again(r, "72");
		resume(r, wrong[i].call, wrong[i].out, wrong[i].window);
		if (wrong[i].twice)
			resume(r, wrong[i].call, wrong[i].out, wrong[i].window);
		expect_closed(r, wrong[i].code);
	}
	attach_again(r, "72");
	send_frame(r, ATS_FRAME_WINDOW, 72, "{\"stream\":\"stdout\",\"bytes\":4}", NULL, 0);
	expect_closed(r, "out_of_state");	/* credit before it was resumed */
	attach_again(r, "72");
	resume(r, 72, 10, 90);
	print(r, w, "x");
	expect_stdout(r, 72, 10, "x");
	rig_free(r);
}
END_TEST

START_TEST(exec_runs_on_without_a_link_until_memory_and_file_are_full)
{
	static char block[60000];
	struct rig *r = rig_new(true);
	struct fake_worker *w = begin(r, 75, EXEC("60000", ""));
	uint64_t put = 0, got = 0;
	unsigned full = 0;
	struct job_exit e = { .status = 0 };
	struct frame fr;
	char json[128];

	ats_fd_close(&r->brain);
	ck_assert_int_eq(ats_fd_nonblock(w->out, true), 0);
	turn(r);
	while (full < 10) {	/* then the program waits: nothing is lost */
		ssize_t n;

		for (size_t i = 0; i < sizeof(block); i++)
			block[i] = (char)((put + i) % 251);
		n = write(w->out, block, sizeof(block));
		put += n > 0 ? (uint64_t)n : 0;
		full = n > 0 ? 0 : full + 1;
		turn(r);
	}
	ck_assert_uint_gt(put, SPILL_FIRST + (1u << 20));
	ck_assert_uint_lt(put, SPILL_FIRST + (2u << 20));
	ck_assert_int_eq(faccessat(r->spill_fd, "exec-75.stdout", F_OK, 0), 0);
	shell_exit(r, w, &e);
	attach_again(r, "\"running\":[75]");
	resume(r, 75, 0, 60000);
	while (got < (2u << 20)) {
		expect(r, ATS_FRAME_EVENT_STDOUT, 75, &fr);
		(void)snprintf(json, sizeof(json), "{\"offset\":%" PRIu64 "}", got);
		ck_assert_str_eq(fr.json, json);
		for (size_t i = 0; i < fr.h.payload_len; i++, got++)
			if (fr.payload[i] != (char)(got % 251))
				ck_abort_msg("byte %" PRIu64 " is another", got);
		(void)snprintf(json, sizeof(json), "{\"stream\":\"stdout\",\"bytes\":%u}",
		    fr.h.payload_len);
		send_frame(r, ATS_FRAME_WINDOW, 75, json, NULL, 0);
	}
	/* now the peer wants no more */
	send_frame(r, ATS_FRAME_CANCEL, 75, "{\"why\":\"cancelled\"}", NULL, 0);
	expect(r, ATS_FRAME_EVENT_GAP, 75, &fr);
	(void)snprintf(json, sizeof(json), "\"to\":%" PRIu64 "}", put);
	ck_assert_msg(strstr(fr.json, json) != NULL, "%s", fr.json);
	expect(r, ATS_FRAME_RESULT, 75, &fr);
	ck_assert_int_lt(faccessat(r->spill_fd, "exec-75.stdout", F_OK, 0), 0);
	rig_free(r);
}
END_TEST

START_TEST(exec_stdin_goes_on_from_what_came)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w = begin(r, 76, EXEC("100", ",\"want_stdin\":true"));
	char got[8] = "";
	struct frame fr;

	send_frame(r, ATS_FRAME_EVENT_STDIN, 76, "{\"offset\":0}", "abc", 3);
	attach_again(r, "\"running\":[76]");
	send_frame(r, ATS_FRAME_RESUME, 76,
	    "{\"out\":0,\"err\":0,\"out_window\":9,\"err_window\":9,\"in\":2}", NULL, 0);
	expect_closed(r, "bad_field");	/* it said that it sent less than came */
	attach_again(r, "\"running\":[76]");
	send_frame(r, ATS_FRAME_RESUME, 76,
	    "{\"out\":0,\"err\":0,\"out_window\":9,\"err_window\":9,\"in\":7}", NULL, 0);
	expect(r, ATS_FRAME_RESUMED, 76, &fr);
	ck_assert_str_eq(fr.json, "{\"in\":3,\"in_window\":1048573}");
	send_frame(r, ATS_FRAME_EVENT_STDIN, 76, "{\"offset\":3,\"eof\":true}", "defg", 4);
	/* its end is said on each link */
	attach_again(r, "\"running\":[76]");
	send_frame(r, ATS_FRAME_RESUME, 76,
	    "{\"out\":0,\"err\":0,\"out_window\":9,\"err_window\":9,\"in\":7}", NULL, 0);
	expect(r, ATS_FRAME_RESUMED, 76, &fr);
	send_frame(r, ATS_FRAME_EVENT_STDIN, 76, "{\"offset\":7,\"eof\":true}", NULL, 0);
	ck_assert_int_eq(read(w->in, got, 7), 7);
	ck_assert_str_eq(got, "abcdefg");
	ck_assert_int_eq(read(w->in, got, 1), 0);
	rig_free(r);
}
END_TEST

START_TEST(exec_of_another_engine_is_cancelled_and_tells_its_result)
{
	struct rig *r = rig_new(true);
	struct job_exit e = { .status = SIGTERM };
	struct fake_worker *w = begin(r, 77, EXEC("100", ""));
	struct frame fr;

	print(r, w, "not told");
	attach_again(r, "\"running\":[77]");
	send_frame(r, ATS_FRAME_CANCEL, 77, "{\"why\":\"cancelled\"}", NULL, 0);
	shell_exit(r, w, &e);
	ck_assert_int_eq(next_frame(r, &fr), 1);	/* and no output before it */
	ck_assert_uint_eq(fr.h.type, ats_frame_rows[ATS_FRAME_RESULT].type);
	/* the same for one that has ended meanwhile */
	attach_again(r, "\"running\":[77]");
	expect_nothing(r);
	send_frame(r, ATS_FRAME_CANCEL, 77, "{\"why\":\"cancelled\"}", NULL, 0);
	expect(r, ATS_FRAME_RESULT, 77, &fr);
	send_frame(r, ATS_FRAME_ACK, 77, "{}", NULL, 0);
	attach_again(r, "\"running\":[]");
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_exec", exec_streams_only_what_is_credited_and_then_ends,
    exec_stdin_arrives_in_order_and_is_granted_back,
    exec_stdin_over_the_window_closes_the_link, exec_resumed_sends_again_what_the_peer_has_not,
    exec_resumed_before_what_was_acknowledged_has_a_gap,
    exec_resumed_with_what_cannot_be_ends_the_link_only,
    exec_runs_on_without_a_link_until_memory_and_file_are_full, exec_stdin_goes_on_from_what_came,
    exec_of_another_engine_is_cancelled_and_tells_its_result)
