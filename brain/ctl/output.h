/* SPDX-License-Identifier: Apache-2.0
 *
 * What people see: aligned text, colours only on a terminal and without NO_COLOR, and
 * JSON. Texts of brain are shown with control and direction characters taken out. */
#ifndef ATS_CTL_OUTPUT_H
#define ATS_CTL_OUTPUT_H

#include <stdio.h>

#include "brain/ctl/ctl.h"
#include "common/json.h"

/* Whether colours may be written to f. */
bool out_colored(FILE *f);
/* Writes s with control (C0, DEL, C1) and bidirectional control characters as '?'. */
void out_safe(FILE *f, const char *s, size_t n);
/* The answer of a method: with --json the object itself (pretty on a terminal, else one
 * line), otherwise aligned "key value" lines and tables for arrays of objects. */
void out_result(const struct ctl *c, const char *json, size_t n);
/* Human form of one object, whatever c->json says. */
void out_object(struct ats_slice object);

#define OUT_COLS_MAX 16
struct out_table {
	size_t ncols, ncells, cap;
	char **cells;		/* owned, rows after each other */
	bool head;		/* the first row names the columns */
};
void out_table_init(struct out_table *t, size_t ncols);
void out_table_done(struct out_table *t);
/* Adds the next cell (copied). Missing memory loses the cell only. */
void out_table_cell(struct out_table *t, const char *s, size_t n);
/* One cell of two texts. */
void out_table_line(struct out_table *t, const char *before, const char *s);
/* On a terminal the last cell of a row is folded at words, below its beginning, and a table
 * with a head that is too wide all the same is printed as a "name value" line for each cell. */
void out_table_print(const struct out_table *t, FILE *f);

#endif
