/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of words while a pattern is read: exactly what a part matches, when that is a small
 * set, or words one of which is in all it matches. Private to regex_syntax.c. */
#ifndef ATS_HANDS_MATCH_REGEX_WORDS_H
#define ATS_HANDS_MATCH_REGEX_WORDS_H

#include "hands/match/literal.h"

#define WORDS_MANY 0xffffffffu	/* no upper limit of a quantifier */

struct words_set {
	unsigned n;
	struct ats_slice w[LITERAL_WORDS_MAX];
};
struct words_node {
	bool exact_known, need_known;
	struct words_set exact;		/* in the order they are tried */
	struct words_set need;
};
struct words_seq {
	bool whole;			/* cur is all of the sequence so far */
	bool need_known;
	struct words_set cur;		/* how what follows may be preceded */
	struct words_set need;
};
struct words_arena {
	char *base;
	size_t len, cap;
	bool off;			/* no memory, or words make no sense here */
	bool fold;
};

void words_arena_init(struct words_arena *a);
void words_arena_done(struct words_arena *a);
void words_unknown(struct words_node *ret);
/* text is borrowed for the arena's life. */
void words_text(struct words_node *ret, const char *text, size_t n, bool fold);
void words_bytes(struct words_node *ret, const char *bytes, size_t n, bool fold);
void words_repeat(struct words_node *node, unsigned min, unsigned max, bool lazy);
void words_seq_init(struct words_seq *s);
void words_seq_add(struct words_arena *a, struct words_seq *s, const struct words_node *node);
void words_seq_finish(struct words_arena *a, const struct words_seq *s,
    struct words_node *ret);
void words_either(struct words_arena *a, struct words_node *ret,
    const struct words_node *other);
/* Copies the best words of the whole pattern to one block, *ret_block (owned by the caller,
 * NULL when there are none). */
ATS_NODISCARD int words_choose(const struct words_arena *a, const struct words_node *all,
    struct ats_slice *ret_words, size_t *ret_n, bool *ret_exact, char **ret_block);

#endif
