/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks, without system calls where the kernel has a vdso. Linked into every process. */
#include "common/clock.h"

#include <time.h>

uint64_t
ats_clock_us(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

uint64_t
ats_clock_ms(void)
{
	return ats_clock_us() / 1000u;
}

int64_t
ats_clock_wall_ms(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + (int64_t)ts.tv_nsec / 1000000;
}
