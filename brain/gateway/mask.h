/* SPDX-License-Identifier: Apache-2.0
 *
 * The credential in what goes out: as it is, and in the forms that servers echo it in (base64 at
 * any offset, percent-encoded, JSON-escaped, hex). Whoever wants to get it past a mask can: this
 * is against echoes and mistakes, not against an upstream that has it anyway. */
#ifndef ATS_GATEWAY_MASK_H
#define ATS_GATEWAY_MASK_H

#include "common/buf.h"

#define MASK_TEXT "***"
#define MASK_LEAST 4			/* a shorter credential would mask what is none */

struct mask;
/* Copies secret[0..n), in its forms. Returns owned; NULL when out of memory. */
struct mask *mask_new(const char *secret, size_t n);
/* Of another secret from now on, and of the one before it, but of none before that.
 * -ATS_E_NOMEM: as it was. */
ATS_NODISCARD int mask_renew(struct mask *m, const char *secret, size_t n);
void mask_free(struct mask *m);		/* wipes; NULL is fine */
/* Bytes of the longest form: so much must follow a place where bytes are cut afterwards. */
size_t mask_longest(const struct mask *m);
/* Appends s[0..n) to out with MASK_TEXT in place of each form; m NULL: as it is. -ATS_E_NOMEM,
 * -ATS_E_TOOBIG. */
ATS_NODISCARD int mask_apply(const struct mask *m, const char *s, size_t n, struct ats_buf *out);
/* The same, of at most max bytes of out and cut where a character ends: no part of a form is left
 * before the cut. */
ATS_NODISCARD int mask_cut(const struct mask *m, const char *s, size_t n, size_t max,
    struct ats_buf *out);
/* The last bytes of s[0..n), masked, at most max; what was before s may have ended in a form. */
ATS_NODISCARD int mask_tail(const struct mask *m, const char *s, size_t n, size_t max,
    struct ats_buf *out);
/* A quoted, cut and masked copy for a log line, in out[size]; returns out. */
const char *mask_quote(const struct mask *m, char *out, size_t size, const char *s, size_t n);

#endif
