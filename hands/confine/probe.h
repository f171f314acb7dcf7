/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-hands --probe: what this machine gives, found by building a box and throwing it
 * away. */
#ifndef ATS_HANDS_CONFINE_PROBE_H
#define ATS_HANDS_CONFINE_PROBE_H

/* Prints one JSON object on stdout: level, layers with state, reason and remedy. Returns
 * the exit status: 0 everything is on, 1 something is missing. */
int probe_print(void);

#endif
