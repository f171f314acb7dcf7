/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of a call went, when hands says what it likes; and the calls that ended last. */
#include "brain/engine/observe.h"

#include "brain/engine/engine.h"
#include "brain/engine/sessions.h"
#include "common/clock.h"
#include "common/map.h"
#include "tests/lib/unit.h"

static const uint64_t huge = UINT64_C(9007199254740991);	/* the most a frame may say */

/* Asked 10 ms ago, sent after 2, its result here 3 ms ago. */
static struct call
a_call(void)
{
	uint64_t now = ats_clock_us();

	return (struct call){ .created_us = now - 10000, .sent_us = now - 8000,
		.result_us = now - 3000 };
}

static uint64_t
sum(const struct outcome *o)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ATS_TIMINGS; i++)
		if (i != ATS_TIMING_TOTAL && i != ATS_TIMING_SETUP)
			n += o->t.us[i];
	return n;
}

START_TEST(observe_hops_add_up_to_no_more_than_the_total)
{
	struct call c = a_call();
	struct outcome o = { .here_us = 1000,
		.t = { .us = { [ATS_TIMING_QUEUE] = 100, [ATS_TIMING_SETUP] = 60,
			   [ATS_TIMING_RUN] = 700 } } };

	c.policy_us = 200;
	c.journal_us = 300;
	c.queued_us = 1500;
	observe_hops(&c, &o);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_QUEUE], 100);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_SETUP], 60);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_RUN], 700);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_WORKER], 200);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_WIRE], 4000);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_ENGINE_QUEUE], 1500);
	ck_assert_uint_ge(o.t.us[ATS_TIMING_TOTAL], 10000);
	ck_assert_uint_le(sum(&o), o.t.us[ATS_TIMING_TOTAL]);
}
END_TEST

START_TEST(observe_hops_of_hands_are_within_what_the_engine_saw)
{
	static const struct {
		uint64_t queue, setup, run, here;
	} says[] = {
		{ huge, huge, huge, huge }, { 0, 0, huge, 0 }, { 0, huge, 0, 0 }, { huge, 0, 0, 1 },
		{ 4000, 4000, 4000, 5 }, { 0, 0, 0, huge }, { 1, 2, 3, 0 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(says); i++) {
		struct call c = a_call();
		struct outcome o = { .here_us = says[i].here,
			.t = { .us = { [ATS_TIMING_QUEUE] = says[i].queue,
				   [ATS_TIMING_SETUP] = says[i].setup,
				   [ATS_TIMING_RUN] = says[i].run } } };

		observe_hops(&c, &o);
		ck_assert_uint_le(sum(&o), o.t.us[ATS_TIMING_TOTAL]);
		ck_assert_uint_le(o.t.us[ATS_TIMING_SETUP], o.t.us[ATS_TIMING_QUEUE]);
		ck_assert_uint_le(o.t.us[ATS_TIMING_QUEUE] + o.t.us[ATS_TIMING_RUN] +
		    o.t.us[ATS_TIMING_WORKER] + o.t.us[ATS_TIMING_WIRE], 5000);
	}
}
END_TEST

START_TEST(observe_hops_of_a_call_of_the_engine_before_have_no_wire)
{
	struct call c = a_call();
	struct outcome o = { .here_us = huge, .t = { .us = { [ATS_TIMING_RUN] = huge } } };

	(void)snprintf(c.resumed_boot, sizeof(c.resumed_boot), "boot");
	observe_hops(&c, &o);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_WIRE], 0);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_RUN], UINT64_C(7) * 86400 * 1000000);
}
END_TEST

START_TEST(observe_sent_leaves_out_what_has_its_own_name)
{
	struct call c = { .created_us = ats_clock_us() - 5000, .policy_us = 1000,
		.approval_us = 1500, .hooks_us = 500, .journal_us = 500 };
	struct outcome o = { 0 };

	observe_sent(&c);
	ck_assert_uint_eq(c.queued_us, c.sent_us - c.created_us - 3500);
	c.journal_us += 4000;		/* the commit after it ended */
	observe_hops(&c, &o);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_ENGINE_QUEUE], c.queued_us);
}
END_TEST

START_TEST(observe_hops_of_a_call_that_was_never_sent_are_all_waiting)
{
	struct call c = a_call();
	struct outcome o = { 0 };

	c.sent_us = c.result_us = 0;
	c.asked_us = c.created_us + 1000;	/* and nobody has answered */
	observe_hops(&c, &o);
	ck_assert_uint_ge(o.t.us[ATS_TIMING_APPROVAL], 9000);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_ENGINE_QUEUE], 1000);
	ck_assert_uint_eq(o.t.us[ATS_TIMING_RUN], 0);
}
END_TEST

static void
end_one(struct engine *e, uint64_t id)
{
	struct session s = { .uid = 7, .id = "s-1" };
	struct call c = { .e = e, .id = id, .session = &s,
		.tool = &ats_tool_rows[ATS_TOOL_read] };
	struct outcome o = { .kind = OUTCOME_DONE, .payload = { "abc", 3 },
		.t = { .us = { [ATS_TIMING_TOTAL] = id } } };

	observe_ended(e, &c, &o);
}

START_TEST(observe_recent_has_the_newest_and_forgets_the_oldest)
{
	struct observed v = { .next = 0 };
	struct engine e = { .observed = &v };
	const struct ended_call *c;
	size_t pos = 0, n = 0;

	ck_assert_ptr_null(observe_each(&e, &pos));
	for (uint64_t id = 1; id <= OBSERVE_RECENT + 3; id++)
		end_one(&e, id);
	ck_assert_ptr_null(observe_find(&e, 3));
	c = observe_find(&e, 4);
	ck_assert_ptr_nonnull(c);
	ck_assert_str_eq(c->tool, "Read");
	ck_assert_str_eq(c->session, "s-1");
	ck_assert_uint_eq(c->uid, 7);
	ck_assert_uint_eq(c->t.us[ATS_TIMING_TOTAL], 4);
	for (pos = 0; (c = observe_each(&e, &pos)) != NULL; n++)
		ck_assert_uint_eq(c->id, OBSERVE_RECENT + 3 - n);
	ck_assert_uint_eq(n, OBSERVE_RECENT);
}
END_TEST

START_TEST(observe_ended_counts_by_tool_and_outcome)
{
	struct observed v = { .next = 0 };
	struct engine e = { .observed = &v };
	struct call c = { .e = &e, .input_len = 5 };
	struct outcome o = { .kind = OUTCOME_NOT_STARTED, .is_error = true, .code = ATS_E_DENIED };
	struct ats_buf out;

	ats_buf_init(&out, 1 << 20);
	observe_ended(&e, &c, &o);	/* an exec that policy refused */
	o.code = ATS_E_FULL;
	observe_ended(&e, &c, &o);
	o.kind = OUTCOME_UNKNOWN;
	observe_ended(&e, &c, &o);
	c.validate = true;
	observe_ended(&e, &c, &o);	/* a check is no call */
	ck_assert_int_eq(ats_metrics_write(&v.metrics, ATS_METRIC_ENGINE, &out), 0);
	ck_assert_ptr_nonnull(
	    strstr(out.data, "ats_calls_total{tool=\"exec\",outcome=\"error\"} 1\n"));
	ck_assert_ptr_nonnull(
	    strstr(out.data, "ats_calls_total{tool=\"exec\",outcome=\"not_started\"} 1\n"));
	ck_assert_ptr_nonnull(
	    strstr(out.data, "ats_calls_total{tool=\"exec\",outcome=\"unknown\"} 1\n"));
	ck_assert_ptr_nonnull(strstr(out.data, "ats_call_input_bytes_total{tool=\"exec\"} 15\n"));
	ats_buf_done(&out);
}
END_TEST

ATS_UNIT_MAIN("engine_observe", observe_hops_add_up_to_no_more_than_the_total,
    observe_hops_of_hands_are_within_what_the_engine_saw,
    observe_hops_of_a_call_of_the_engine_before_have_no_wire,
    observe_sent_leaves_out_what_has_its_own_name,
    observe_hops_of_a_call_that_was_never_sent_are_all_waiting,
    observe_recent_has_the_newest_and_forgets_the_oldest,
    observe_ended_counts_by_tool_and_outcome)
