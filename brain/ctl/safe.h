/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a hostile author for a person who decides on them: what cannot be seen, or changes
 * how the rest is seen, is shown as an escape, and nothing is left out. Pure. */
#ifndef ATS_CTL_SAFE_H
#define ATS_CTL_SAFE_H

#include <stdint.h>

#include "common/json.h"

/* Whether a code point is one that a terminal obeys, that has no shape of its own, or that
 * looks like a plain blank without being one: controls (C0, C1), marks of direction, joiners and
 * other formats, selectors, tags, fillers, odd spaces, overlays, private use. */
bool safe_is_hidden(uint32_t cp);
/* Appends one line of text: hidden characters (line breaks, too) as \uXXXX, a backslash as \\,
 * bytes that are not UTF-8 as \xNN. -ATS_E_NOMEM, -ATS_E_TOOBIG. */
ATS_NODISCARD int safe_text(struct ats_buf *out, const char *s, size_t n);
/* Appends a value of JSON that was scanned, a member a line, each level two blanks further in.
 * It is the same value still: what is escaped is escaped as JSON does. No line break at the end.
 * -ATS_E_NOMEM, -ATS_E_TOOBIG. */
ATS_NODISCARD int safe_json(struct ats_buf *out, struct ats_slice json);

#endif
