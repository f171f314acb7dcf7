/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters, histograms and their text for Prometheus. */
#include "proto/metrics.h"

#include "tests/lib/unit.h"

static struct ats_metrics m;

/* Borrowed until the next call. */
static const char *
text_of(enum ats_metric_owner owner)
{
	static struct ats_buf out;

	ats_buf_done(&out);
	ats_buf_init(&out, 1 << 20);
	ck_assert_int_eq(ats_metrics_write(&m, owner, &out), 0);
	return out.data;
}

/* The whole line, which must be there once. */
static void
has_line(const char *text, const char *line)
{
	char whole[256];
	const char *at;

	(void)snprintf(whole, sizeof(whole), "\n%s\n", line);
	at = strstr(text, whole);
	ck_assert_msg(at != NULL, "no line %s", line);
	ck_assert_msg(strstr(at + 1, whole) == NULL, "twice: %s", line);
}

START_TEST(metrics_counter_of_two_labels_is_a_line_a_pair)
{
	const char *text;

	memset(&m, 0, sizeof(m));
	ats_metric_add(&m, ATS_METRIC_CALLS, ATS_TOOL_read, ATS_LABEL_OUTCOME_OK, 2);
	ats_metric_add(&m, ATS_METRIC_CALLS, ATS_TOOL_read, ATS_LABEL_OUTCOME_OK, 1);
	ats_metric_add(&m, ATS_METRIC_CALLS, ATS_LABEL_TOOL_GATEWAY, ATS_LABEL_OUTCOME_UNKNOWN, 7);
	text = text_of(ATS_METRIC_ENGINE);
	has_line(text, "# TYPE ats_calls_total counter");
	has_line(text, "ats_calls_total{tool=\"Read\",outcome=\"ok\"} 3");
	has_line(text, "ats_calls_total{tool=\"Read\",outcome=\"error\"} 0");
	has_line(text, "ats_calls_total{tool=\"gateway\",outcome=\"unknown\"} 7");
	has_line(text, "ats_calls_total{tool=\"exec\",outcome=\"unknown\"} 0");
}
END_TEST

START_TEST(metrics_value_that_no_label_has_is_counted_nowhere)
{
	static const struct ats_metrics none;

	memset(&m, 0, sizeof(m));
	ats_metric_add(&m, ATS_METRIC_CALLS, ATS_LABEL_TOOL_N, 0, 1);
	ats_metric_add(&m, ATS_METRIC_CALLS, 0, ATS_LABEL_OUTCOME_N, 1);
	ats_metric_add(&m, ATS_METRIC_CLIENTS, 1, 0, 1);
	ats_metric_set(&m, ATS_METRIC_SANDBOXES, UINT32_MAX, 0, 1);
	ats_metric_time(&m, ATS_METRIC_HOP_TIME, ATS_LABEL_HOP_N, 1);
	ats_metric_time(&m, ATS_METRIC_CLIENTS, 0, 1);	/* no histogram */
	ck_assert_mem_eq(&m, &none, sizeof(m));
}
END_TEST

START_TEST(metrics_gauge_is_what_was_set_last)
{
	memset(&m, 0, sizeof(m));
	ats_metric_set(&m, ATS_METRIC_HTTP_CONNS, 0, 0, 9);
	ats_metric_set(&m, ATS_METRIC_HTTP_CONNS, 0, 0, 4);
	has_line(text_of(ATS_METRIC_HTTP), "ats_http_connections 4");
	ck_assert_ptr_null(strstr(text_of(ATS_METRIC_HTTP), "ats_calls_total"));
	ck_assert_ptr_null(strstr(text_of(ATS_METRIC_ENGINE), "ats_http_"));
}
END_TEST

START_TEST(metrics_histogram_counts_up_to_each_bound)
{
	const char *text;

	memset(&m, 0, sizeof(m));
	text = text_of(ATS_METRIC_ENGINE);
	ck_assert_ptr_null(strstr(text, "ats_call_hop_seconds_bucket"));
	ats_metric_time(&m, ATS_METRIC_HOP_TIME, ATS_TIMING_WIRE, 50);
	ats_metric_time(&m, ATS_METRIC_HOP_TIME, ATS_TIMING_WIRE, 51);
	ats_metric_time(&m, ATS_METRIC_HOP_TIME, ATS_TIMING_WIRE, 1500000);
	ats_metric_time(&m, ATS_METRIC_HOP_TIME, ATS_TIMING_WIRE, UINT64_C(700000000));
	text = text_of(ATS_METRIC_ENGINE);
	has_line(text, "# TYPE ats_call_hop_seconds histogram");
	has_line(text, "ats_call_hop_seconds_bucket{hop=\"wire\",le=\"0.00005\"} 1");
	has_line(text, "ats_call_hop_seconds_bucket{hop=\"wire\",le=\"0.0001\"} 2");
	has_line(text, "ats_call_hop_seconds_bucket{hop=\"wire\",le=\"1\"} 2");
	has_line(text, "ats_call_hop_seconds_bucket{hop=\"wire\",le=\"5\"} 3");
	has_line(text, "ats_call_hop_seconds_bucket{hop=\"wire\",le=\"600\"} 3");
	has_line(text, "ats_call_hop_seconds_bucket{hop=\"wire\",le=\"+Inf\"} 4");
	has_line(text, "ats_call_hop_seconds_sum{hop=\"wire\"} 701.500101");
	has_line(text, "ats_call_hop_seconds_count{hop=\"wire\"} 4");
	ck_assert_ptr_null(strstr(text, "hop=\"run\""));
}
END_TEST

START_TEST(metrics_bounds_rise)
{
	for (size_t i = 1; i < ATS_METRIC_BOUNDS; i++)
		ck_assert_uint_gt(ats_metric_bounds_us[i], ats_metric_bounds_us[i - 1]);
}
END_TEST

/* No row needs an escape: each byte is what the format takes as it is. */
START_TEST(metrics_rows_are_plain_text)
{
	static const char *const docs[] = {
#define LABEL(label, name, doc)
#define FIRST(label, n)
#define VALUE(label, value, text) text,
#define END(label)
#define METRIC(name, text, type, owner, l1, l2, doc) doc,
#include "proto/metrics.def"
#undef METRIC
#undef VALUE
	};
	static const char *const names[] = {
#define VALUE(label, value, text)
#define METRIC(name, text, type, owner, l1, l2, doc) text #type,
#include "proto/metrics.def"
#undef METRIC
#undef VALUE
#undef LABEL
#undef FIRST
#undef END
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(docs); i++)
		for (const char *p = docs[i]; *p != '\0'; p++)
			ck_assert_msg(*p >= 0x20 && *p < 0x7f && strchr("\"\\", *p) == NULL, "%s",
			    docs[i]);
	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++) {
		ck_assert_msg(strncmp(names[i], "ats_", 4) == 0, "%s", names[i]);
		ck_assert_msg((strstr(names[i], "_totalCOUNTER") != NULL) ==
		    (strstr(names[i], "COUNTER") != NULL), "%s", names[i]);
		ck_assert_msg((strstr(names[i], "TIMES") == NULL) ||
		    strstr(names[i], "_secondsTIMES") != NULL, "%s", names[i]);
	}
}
END_TEST

START_TEST(metrics_write_without_room_leaves_what_was_there)
{
	struct ats_buf out;

	memset(&m, 0, sizeof(m));
	ats_buf_init(&out, 500);
	ck_assert_int_eq(ats_buf_add_str(&out, "before"), 0);
	ck_assert_int_lt(ats_metrics_write(&m, ATS_METRIC_ENGINE, &out), 0);
	ck_assert_str_eq(out.data, "before");
	ats_buf_done(&out);
}
END_TEST

ATS_UNIT_MAIN("metrics", metrics_counter_of_two_labels_is_a_line_a_pair,
    metrics_value_that_no_label_has_is_counted_nowhere, metrics_gauge_is_what_was_set_last,
    metrics_histogram_counts_up_to_each_bound, metrics_bounds_rise, metrics_rows_are_plain_text,
    metrics_write_without_room_leaves_what_was_there)
