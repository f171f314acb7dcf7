/* SPDX-License-Identifier: Apache-2.0
 *
 * Grep's glob and type parameters: which files are searched. */
#ifndef ATS_HANDS_MATCH_FILTER_H
#define ATS_HANDS_MATCH_FILTER_H

#include "hands/fs/file.h"

#define FILTER_GLOBS_MAX 64u

struct filter;			/* immutable: threads share it */
/* globs: patterns with blanks or commas between, ! in front excludes; NULL: none. One with a
 * slash counts from the place searched, or from cwd. type: NULL: any. *ret is NULL when
 * neither is given. err shows where a glob is wrong. */
ATS_NODISCARD int filter_new(const char *globs, const char *type, const struct tool_env *env,
    const struct fs_place *pl, struct filter **ret, struct ats_err *err);
void filter_free(struct filter *f);
/* Paths relative to the root of pl. */
bool filter_enter(const struct filter *f, const char *dir, size_t n);
bool filter_pick(const struct filter *f, const char *path, size_t n);

#endif
