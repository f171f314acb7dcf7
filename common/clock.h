/* SPDX-License-Identifier: Apache-2.0
 *
 * The time, as a number. Limits and pauses are of the first two, which no clock setting moves;
 * the third is for people and for what outlives the machine's start. */
#ifndef ATS_COMMON_CLOCK_H
#define ATS_COMMON_CLOCK_H

#include <stdint.h>
#include <sys/time.h>

uint64_t ats_clock_us(void);		/* CLOCK_MONOTONIC, microseconds */
uint64_t ats_clock_ms(void);		/* the same, milliseconds */
int64_t ats_clock_wall_ms(void);	/* CLOCK_REALTIME, milliseconds since 1970 */

/* A pause, as timers take it. */
static inline struct timeval
ats_timeval_us(uint64_t us)
{
	return (struct timeval){ .tv_sec = (time_t)(us / 1000000),
		.tv_usec = (suseconds_t)(us % 1000000) };
}

static inline struct timeval
ats_timeval_ms(uint64_t ms)
{
	return (struct timeval){ .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000) };
}

#endif
