/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of timings.def. Linked into the engine and the tool that prints docs. Pure. */
#include "proto/timings.h"

const char *const ats_timing_names[ATS_TIMINGS] = {
#define TIMING(name, wire, side, doc) [ATS_TIMING_##name] = wire "_us",
#include "proto/timings.def"
#undef TIMING
};
