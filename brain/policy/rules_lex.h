/* SPDX-License-Identifier: Apache-2.0
 *
 * A text of bash while rules_bash.c and rules_word.c read it. */
#ifndef ATS_POLICY_RULES_LEX_H
#define ATS_POLICY_RULES_LEX_H

#include "brain/policy/rules_private.h"

#define HEREDOCS 8
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS "0123456789"

/* A here-document whose text is to come, or a here-string. */
struct heredoc {
	const char *word;		/* its end, or the string itself */
	bool string, strip, quoted;
	bool shell;			/* a shell of its line may read it */
};

/* One text while it is read. */
struct lex {
	struct command *c;
	const char *p, *end;
	const char *part;		/* where the part began, or NULL */
	bool top;
	bool in_word, quoted;		/* a word is being written; some of it was quoted */
	char *word;			/* where it began */
	enum { PLAIN, TO_FILE, TO_DOC, TO_STRING } next;	/* what the next word is */
	bool strip;
	struct heredoc docs[HEREDOCS];
	size_t ndocs;
};

/* Of rules_bash.c: the word that is being written, if one is, is whole. */
void lex_end_word(struct lex *x);
/* Of rules_word.c: a word begins at p, even if no character of it comes, as in ''; one more
 * character of it. */
void lex_begin_word(struct lex *x);
void lex_put(struct lex *x, char ch);
/* At a quote ($' is one); leaves p behind the closing one. */
void lex_quote(struct lex *x);
/* At a $ or a backtick: what is substituted is a command, a variable whose value is known, or
 * stays as it is. */
void lex_expand(struct lex *x, bool quoted);
/* Puts the commands that are substituted in a text on the list. */
void lex_substitutions(struct command *c, const char *p, const char *end);

#endif
