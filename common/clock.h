/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATS_COMMON_CLOCK_H
#define ATS_COMMON_CLOCK_H

#include <stdint.h>

uint64_t ats_clock_us(void);		/* CLOCK_MONOTONIC, microseconds */
uint64_t ats_clock_ms(void);
int64_t ats_clock_wall_ms(void);	/* CLOCK_REALTIME, milliseconds since 1970 */

#endif
