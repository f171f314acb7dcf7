/* SPDX-License-Identifier: Apache-2.0
 *
 * The one form of a call's arguments that is shown to a person, hashed and executed: canonical
 * JSON as in RFC 8785 (JCS), and stricter. Two parsers that read the same bytes differently
 * would let one thing be approved and another run; so what they could disagree on is refused:
 *  - all that common/json refuses: members named twice (compared without their escapes), invalid
 *    UTF-8, NaN, depth over ATS_JSON_DEPTH, and lone surrogates, as RFC 8785 3.2.2.2 demands:
 *    escaping them would be canonical here, and something else to a reader that replaces them;
 *  - whole numbers beyond +-2^53 that are written without an exponent, here or in canonical form
 *    (which has one from 1e21 on);
 *  - more than 17 significant digits, what overflows, and what would become 0 and is not.
 * Pure. Who controls the input: anybody. */
#ifndef ATS_POLICY_CANON_H
#define ATS_POLICY_CANON_H

#include "common/buf.h"
#include "common/digest.h"
#include "proto/brain.h"

#define POLICY_CANON_MAX ATS_GATEWAY_ARGS_MAX	/* bytes, of the text and of its canonical form */

/* Appends the canonical form of a text, which need not be scanned, to out; on failure nothing.
 * Of a canonical form it is the same bytes again. -ATS_E_JSON, -ATS_E_UTF8, -ATS_E_TOOBIG,
 * -ATS_E_NOMEM; err says where and why. */
ATS_NODISCARD int policy_canon(struct ats_slice json, struct ats_buf *out, struct ats_err *err);
/* What a grant is bound to: SHA-256 of a canonical form, in lower-case hex. */
void policy_sha256(struct ats_slice canon, char ret_hex[ATS_SHA256_HEX]);

/* ---- private to canon*.c ---------------------------------------------------------- */
#define CANON_NUMBER_MAX 40	/* bytes of a number in canonical form */
/* Writes a JSON number as ECMAScript does (no NUL). Returns its length or -ATS_E_JSON. */
ATS_NODISCARD int canon_number(struct ats_slice token, char ret[CANON_NUMBER_MAX],
    struct ats_err *err);

#endif
