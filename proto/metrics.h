/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters, gauges and histograms of metrics.def in one flat array: counting is an addition.
 * A process that counts has one struct ats_metrics. Linked into engine and ats-http. */
#ifndef ATS_PROTO_METRICS_H
#define ATS_PROTO_METRICS_H

#include "common/buf.h"
#include "proto/timings.h"
#include "proto/tools.h"

/* Buckets of durations: those of ats_metric_bounds_us, and one for all that is longer. */
#define ATS_METRIC_BOUNDS 17
extern const uint64_t ats_metric_bounds_us[ATS_METRIC_BOUNDS];

/* A label's values: ATS_LABEL_OUTCOME_OK ..., of which there are ATS_LABEL_OUTCOME_N. */
#define METRIC(name, text, type, owner, l1, l2, doc)
#define LABEL(label, name, doc) enum ats_label_##label {
#define FIRST(label, n) ATS_LABEL_##label##_FIRST = (n) - 1,
#define VALUE(label, value, text) ATS_LABEL_##label##_##value,
#define END(label) ATS_LABEL_##label##_N };
#include "proto/metrics.def"
#undef METRIC
#undef LABEL
#undef FIRST
#undef VALUE
#undef END

#define LABEL(label, name, doc)
#define FIRST(label, n)
#define VALUE(label, value, text)
#define END(label)
enum ats_metric {
#define METRIC(name, text, type, owner, l1, l2, doc) ATS_METRIC_##name,
#include "proto/metrics.def"
#undef METRIC
	ATS_METRICS
};
/* The buckets, the sum in microseconds. */
#define ATS_METRIC_CELLS_COUNTER 1
#define ATS_METRIC_CELLS_GAUGE 1
#define ATS_METRIC_CELLS_TIMES (ATS_METRIC_BOUNDS + 2)
enum ats_metric_cell {
#define METRIC(name, text, type, owner, l1, l2, doc)                                     \
	ATS_METRIC_CELL_##name,                                                          \
	    ATS_METRIC_LAST_##name = ATS_METRIC_CELL_##name +                            \
	    ATS_METRIC_CELLS_##type * ATS_LABEL_##l1##_N * ATS_LABEL_##l2##_N - 1,
#include "proto/metrics.def"
#undef METRIC
	ATS_METRIC_CELLS
};
#undef LABEL
#undef FIRST
#undef VALUE
#undef END

struct ats_metrics {
	uint64_t cell[ATS_METRIC_CELLS];
};
enum ats_metric_owner { ATS_METRIC_ENGINE, ATS_METRIC_HTTP };

/* One more, n more, or the value now. l1 and l2: values of its labels, 0 for NONE; others are a
 * bug and counted nowhere. */
void ats_metric_add(struct ats_metrics *m, enum ats_metric id, unsigned l1, unsigned l2,
    uint64_t n);
void ats_metric_set(struct ats_metrics *m, enum ats_metric id, unsigned l1, unsigned l2,
    uint64_t value);
/* One duration of a TIMES, in microseconds. */
void ats_metric_time(struct ats_metrics *m, enum ats_metric id, unsigned l1, uint64_t us);
/* Appends all metrics of this owner in the text format 0.0.4 of Prometheus: names and help of the
 * table, each series of it; of TIMES those that have been counted. 0 or negative with what was
 * there before. */
ATS_NODISCARD int ats_metrics_write(const struct ats_metrics *m, enum ats_metric_owner owner,
    struct ats_buf *out);

#endif
