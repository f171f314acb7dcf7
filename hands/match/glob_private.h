/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by glob.c (whole patterns), glob_braces.c, glob_seq.c (paths) and glob_name.c. */
#ifndef ATS_HANDS_MATCH_GLOB_PRIVATE_H
#define ATS_HANDS_MATCH_GLOB_PRIVATE_H

#include <stdint.h>

#include "common/buf.h"
#include "hands/match/glob.h"

/* What how may hold, besides GLOB_BRACKET_NAMES. */
/* ? and classes take a whole UTF-8 character; git: a byte. */
#define GLOB_BY_CHARACTER 0x100u

/* Whether one component's name matches. */
bool glob_name_match(const char *pattern, size_t pn, const char *name, size_t nn,
    unsigned how);
/* p is at a '[' in a class. Returns the byte behind "[:name:]", p when it is no such thing,
 * or NULL when no ']' follows. */
const char *glob_named_end(const char *p, const char *pe);
/* p is behind the '['. Returns the byte behind the ']', or NULL when there is none. */
const char *glob_name_class(const char *p, const char *pe, uint32_t c, unsigned how,
    bool *ret_hit);
/* Whether path, not empty, matches; as glob_seq_match otherwise. */
bool glob_seq_match_how(const struct glob_seq *s, const char *path, size_t n, unsigned how);
/* Whether something below the directory could match. */
bool glob_seq_may_descend(const struct glob_seq *s, const char *dir, size_t n, unsigned how);

/* Whether a pattern is well formed: -ATS_E_INVAL with a text that shows where it is not. */
ATS_NODISCARD int glob_braces_check(const char *pattern, struct ats_err *err);
/* Of a pattern that was checked: *ret_count alternatives without braces, each with a NUL, are
 * added to text. -ATS_E_NOMEM, or -ATS_E_TOOBIG over GLOB_ALTERNATIVES_MAX. */
ATS_NODISCARD int glob_braces_expand(const char *pattern, struct ats_buf *text,
    size_t *ret_count);

#endif
