/* SPDX-License-Identifier: Apache-2.0
 *
 * What atsctl top shows, as text. */
#ifndef ATS_CTL_TOP_SCREEN_H
#define ATS_CTL_TOP_SCREEN_H

#include <stdio.h>

#include "common/json.h"

/* Writes status (of ats/status) and ended (of ats/calls.ended) as lines: sums, calls that are not
 * answered, calls that ended. columns: of the terminal, for which columns of the tables are left
 * out, or 0. Texts of brain cannot steer a terminal. */
void top_screen(FILE *f, struct ats_slice status, struct ats_slice ended, unsigned columns);
/* Writes text to f cut to so many rows and columns, each line followed by what clears its rest, and
 * in the last row, where there is room, which key ends it. */
void top_fit(FILE *f, const char *text, size_t n, unsigned rows, unsigned columns);

#endif
