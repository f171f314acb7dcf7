/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding one of a few literal words in memory, as fast as the memory comes. */
#ifndef ATS_HANDS_MATCH_LITERAL_H
#define ATS_HANDS_MATCH_LITERAL_H

#include <stdint.h>

#include "common/buf.h"

#define LITERAL_WORDS_MAX 64u

struct literal;			/* immutable: threads share one */

/* words: 1 to LITERAL_WORDS_MAX, none empty; copied. fold: ASCII letters match in either
 * case. Returns owned, or NULL when out of memory or a word is empty. */
struct literal *literal_new(const struct ats_slice *words, size_t n, bool fold);
void literal_free(struct literal *l);
/* The first occurrence in [p, end), or NULL. When several words begin there, *ret_len is
 * the length of the one that was listed first. */
const char *literal_find(const struct literal *l, const char *p, const char *end,
    size_t *ret_len);
/* How seldom the word's rarest byte is in source text: 0 (everywhere) to 255. */
unsigned literal_rarity(const char *word, size_t n, bool fold);
/* Newlines in n bytes. */
uint64_t literal_count_lines(const char *p, size_t n);
/* Whether a byte above 0x7f is there. */
bool literal_has_high(const char *p, size_t n);

#endif
