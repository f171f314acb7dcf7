/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits of a box as numbers: the rows of proto/limits.def, with what was asked for put in.
 * Pure. */
#ifndef ATS_HANDS_CONFINE_BUDGET_H
#define ATS_HANDS_CONFINE_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct budget {			/* units are in the names */
#define LIMIT(name, normal, check, least, most, whose, what, then) uint64_t name;
#include "proto/limits.def"
#undef LIMIT
};
#define BUDGET_WORD 256		/* bytes of budget_to_word, with its NUL */

/* Takes NAME=VALUE, name_len bytes of name. Returns 1, 0 when it is no limit's name, or
 * -ATS_E_INVAL with a text that says what is possible. */
ATS_NODISCARD int budget_take(struct budget *b, const char *text, size_t name_len,
    struct ats_err *err);
/* Fills in what was not asked for (0), from the column check or default. memory_mib becomes
 * half of the machine's then; cpu_s and disk_mib stay 0, which is no limit. */
void budget_complete(struct budget *b, bool check);
/* All numbers as one word of argv without a colon, and back; returns the bytes read or
 * -ATS_E_INVAL. */
void budget_to_word(const struct budget *b, char out[BUDGET_WORD]);
ATS_NODISCARD int budget_from_word(struct budget *ret, const char *word);

#endif
