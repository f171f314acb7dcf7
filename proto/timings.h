/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of timings.def as an index. */
#ifndef ATS_PROTO_TIMINGS_H
#define ATS_PROTO_TIMINGS_H

#include <stdint.h>

enum ats_timing {
#define TIMING(name, wire, side, doc) ATS_TIMING_##name,
#include "proto/timings.def"
#undef TIMING
	ATS_TIMINGS
};
struct ats_timings {		/* microseconds */
	uint64_t us[ATS_TIMINGS];
};
/* Members of "timings", by enum ats_timing. */
extern const char *const ats_timing_names[ATS_TIMINGS];

#endif
