/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers and zygotes that were taken over: each is ended alone, and what others do goes on.
 * (Single bad answers: test_front_tools.c; any bytes at all: tests/fuzz/fuzz_worker.c.) */
#include "hands/front/front.h"

#include "tests/lib/front_rig.h"

#define FLOOD_TURNS 200

static struct fake_worker *
begin_read(struct rig *r, uint64_t id)
{
	call_tool(r, id, "Read", "{\"file_path\":\"a\"}", "");
	return read_job(r, id, ATS_PROFILE_READ);
}

static void
is_answered(struct rig *r, uint64_t id)
{
	struct fake_worker *w = begin_read(r, id);
	struct frame fr;

	reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "hi", 2);
	expect(r, ATS_FRAME_RESULT, id, &fr);
	ck_assert_str_eq(fr.payload, "hi");
	gone(r, w, 0);
	turn(r);
}

/* As much as the socket takes; front reads it in the next turns. */
static void
flood(struct fake_worker *w, const void *bytes, size_t n)
{
	for (int i = 0; i < 64; i++)
		if (send(w->sock, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return;
}

START_TEST(worker_that_floods_does_not_hold_up_another_call)
{
	static const char json[] = "{\"message\":\"again\",\"done\":1}";
	struct reply_head h = { .what = REPLY_PROGRESS, .json_len = sizeof json - 1 };
	char one[sizeof h + sizeof json];
	struct rig *r = rig_new(true);
	struct fake_worker *bad = begin_read(r, 1), *good = begin_read(r, 2);
	struct frame fr;

	memcpy(one, &h, sizeof h);
	memcpy(one + sizeof h, json, sizeof json);
	for (int i = 0; i < FLOOD_TURNS; i++) {
		flood(bad, one, sizeof h + h.json_len);
		if (i == FLOOD_TURNS / 2)
			reply(good, REPLY_RESULT, "{\"outcome\":\"done\"}", "hi", 2);
		turn(r);
	}
	expect(r, ATS_FRAME_RESULT, 2, &fr);
	ck_assert_str_eq(fr.payload, "hi");
	send_frame(r, ATS_FRAME_CANCEL, 1, "{}", NULL, 0);
	expect(r, ATS_FRAME_RESULT, 1, &fr);
	ck_assert(strstr(fr.json, "\"code\":\"cancelled\"") != NULL);
	is_answered(r, 3);
	rig_free(r);
}
END_TEST

START_TEST(worker_that_announces_more_than_may_be_is_killed_before_it_sends)
{
	const struct reply_head h[] = { { REPLY_RESULT, WORKER_JSON_MAX + 1, 0, 0 },
		{ REPLY_RESULT, 0, WORKER_PAYLOAD_MAX + 1, 0 },
		{ REPLY_RESULT, UINT32_MAX, UINT32_MAX, 0 } };
	struct rig *r = rig_new(true);

	for (size_t i = 0; i < ATS_ARRAY_LEN(h); i++) {
		struct fake_worker *bad = begin_read(r, 1 + 2 * i);
		struct frame fr;

		ck_assert_int_eq(ats_fd_write_all(bad->sock, &h[i], sizeof h[i]), 0);
		expect(r, ATS_FRAME_RESULT, 1 + 2 * i, &fr);
		ck_assert(strstr(fr.json, "\"is_error\":true") != NULL);
		turn(r);
		ck_assert_uint_eq(r->last_killed, bad->serial);
		gone(r, bad, SIGKILL);
		is_answered(r, 2 + 2 * i);
	}
	rig_free(r);
}
END_TEST

START_TEST(worker_that_speaks_after_its_result_has_one_result)
{
	static const char again[] = "{\"outcome\":\"done\",\"is_error\":true}";
	struct rig *r = rig_new(true);
	struct fake_worker *bad = begin_read(r, 1);
	struct frame fr;

	reply(bad, REPLY_RESULT, "{\"outcome\":\"done\"}", "hi", 2);
	reply(bad, REPLY_RESULT, again, "evil", 4);
	flood(bad, again, sizeof again);
	expect(r, ATS_FRAME_RESULT, 1, &fr);
	ck_assert_str_eq(fr.payload, "hi");
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(next_frame(r, &fr), 0);
	is_answered(r, 2);
	rig_free(r);
}
END_TEST

/* Those that are kept would be seen at the test's end. */
START_TEST(worker_that_passes_descriptors_with_everything_leaves_none)
{
	struct reply_head h = { .what = REPLY_PROGRESS, .json_len = 2 };
	struct rig *r = rig_new(true);
	struct fake_worker *bad = begin_read(r, 1);
	int fd = STDERR_FILENO;

	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(ats_fd_send(bad->sock, &h, sizeof h, &fd, 1), sizeof h);
		ck_assert_int_eq(ats_fd_send(bad->sock, "{}", 2, &fd, 1), 2);
		turn(r);
	}
	gone(r, bad, SIGKILL);
	turn(r);
	is_answered(r, 2);
	rig_free(r);
}
END_TEST

START_TEST(worker_that_speaks_before_it_has_a_job_gets_none)
{
	struct rig *r = rig_new(true);
	struct fake_worker *w = NULL;

	turn(r);
	for (unsigned i = 0; i < r->nw; i++)
		if (r->w[i].profile == ATS_PROFILE_READ && r->w[i].sock >= 0 &&
		    !r->w[i].used) {
			w = &r->w[i];
			reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "evil", 4);
			w->used = true;		/* not to be asked for its job */
		}
	ck_assert_ptr_nonnull(w);
	turn(r);
	is_answered(r, 1);
	rig_free(r);
}
END_TEST

START_TEST(zygote_that_sends_nonsense_keeps_its_calls_apart)
{
	static const int fds[4] = { STDERR_FILENO, STDERR_FILENO, STDERR_FILENO,
		STDERR_FILENO };
	struct zygote_msg m = { .what = 99 };
	struct rig *r = rig_new(true);
	struct fake_worker *w = begin_read(r, 1);
	struct frame fr;
	int sock = r->zygote[ATS_PROFILE_READ];

	memset(m.step, 'x', sizeof m.step);
	ck_assert_int_gt(ats_fd_send(sock, &m, sizeof m, fds, 4), 0);
	ck_assert_int_gt(ats_fd_send(sock, &m, sizeof m - 1, NULL, 0), 0);
	m.what = ZYGOTE_WORKER;
	ck_assert_int_gt(ats_fd_send(sock, &m, sizeof m, fds, 4), 0);	/* one is right */
	ck_assert_int_gt(ats_fd_send(sock, &m, sizeof m, NULL, 0), 0);
	m.what = ZYGOTE_GONE;
	m.serial = 12345;
	ck_assert_int_gt(ats_fd_send(sock, &m, sizeof m, fds, 1), 0);
	m.what = ZYGOTE_WANT;
	ck_assert_int_gt(ats_fd_send(sock, &m, sizeof m, NULL, 0), 0);
	turn(r);
	reply(w, REPLY_RESULT, "{\"outcome\":\"done\"}", "hi", 2);
	expect(r, ATS_FRAME_RESULT, 1, &fr);
	ck_assert_str_eq(fr.payload, "hi");
	is_answered(r, 2);
	rig_free(r);
}
END_TEST

/* By the kernel, when memory ends: nobody but the zygote has heard of it. */
START_TEST(worker_killed_before_it_announces_itself_is_made_again)
{
	struct rig *r = rig_new(true);
	uint64_t call = 0;

	turn(r);
	while (call < 4)		/* all that are ready */
		(void)begin_read(r, ++call);
	r->stillborn = 9;
	is_answered(r, 5);
	ck_assert_uint_eq(r->stillborn, 0);
	rig_free(r);
}
END_TEST

ATS_UNIT_MAIN("front_hostile", worker_killed_before_it_announces_itself_is_made_again,
    worker_that_floods_does_not_hold_up_another_call,
    worker_that_announces_more_than_may_be_is_killed_before_it_sends,
    worker_that_speaks_after_its_result_has_one_result,
    worker_that_passes_descriptors_with_everything_leaves_none,
    worker_that_speaks_before_it_has_a_job_gets_none,
    zygote_that_sends_nonsense_keeps_its_calls_apart)
