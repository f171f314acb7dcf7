/* SPDX-License-Identifier: Apache-2.0
 *
 * File types by name: types.def. */
#ifndef ATS_HANDS_MATCH_TYPES_H
#define ATS_HANDS_MATCH_TYPES_H

#include <stddef.h>

#include "common/err.h"

struct type_row;
/* The type, or NULL with a text that names those it could have been. */
const struct type_row *type_find(const char *name, struct ats_err *err);
bool type_matches(const struct type_row *t, const char *file_name, size_t n);

#endif
