/* SPDX-License-Identifier: Apache-2.0
 *
 * A command of bash taken apart into what it may start. Linked into vault and engine; models
 * write the commands. It is read as bash reads it as far as quotes, operators, substitutions,
 * here-documents and plain variables go, never run; what is nested is put on a list instead of
 * called, and the bytes that are looked at have a limit. No reader of commands sees all that a
 * shell can be made to do: what must hold is held by the sandbox. */
#include <string.h>

#include "brain/policy/rules_lex.h"
#include "common/fault.h"

#define ENTRIES_MAX 65536u	/* of each array */

bool
command_grow(struct command *c, void *array, size_t n, size_t *max, size_t size)
{
	void **at = array, *more;
	size_t want = *max == 0 ? 32 : *max * 2;

	if (n < *max)
		return true;
	if (want > ENTRIES_MAX) {
		c->overflow = true;
		return false;
	}
	more = ats_realloc(*at, want * size);
	if (more == NULL) {
		c->nomem = true;
		return false;
	}
	*at = more;
	*max = want;
	return true;
}

void
command_add_text(struct command *c, const char *p, size_t n, bool top)
{
	if (n > 0 && command_grow(c, &c->todo, c->ntodo, &c->todo_max, sizeof(*c->todo)))
		c->todo[c->ntodo++] = (struct command_text){ { p, n }, top };
}

char *
command_room(struct command *c, size_t n)
{
	if ((size_t)(c->arena_end - c->next) < n + 2) {
		c->overflow = true;
		return NULL;
	}
	c->arena_end -= n;
	return c->arena_end;
}

bool
command_is_assignment(const char *word, size_t *ret_n)
{
	size_t n = strspn(word, LETTERS DIGITS);

	*ret_n = n;
	if (n == 0 || strchr(DIGITS, word[0]) != NULL)
		return false;
	if (word[n] == '[')
		n += strcspn(word + n, "]") + 1;
	return n <= strlen(word) && word[n + (word[n] == '+')] == '=';
}

/* ---- words ---------------------------------------------------------------------------- */

static void
add_doc(struct lex *x, bool string)
{
	if (x->ndocs == HEREDOCS)
		x->c->overflow = true;
	else
		x->docs[x->ndocs++] = (struct heredoc){ .word = x->word, .string = string,
			.strip = x->strip, .quoted = x->quoted };
}

void
lex_end_word(struct lex *x)
{
	struct command *c = x->c;

	if (c->arena_end - c->next < 2)
		c->overflow = true;
	if (!x->in_word || c->overflow)
		return;
	*c->next++ = '\0';
	x->in_word = false;
	if (x->next == TO_DOC || x->next == TO_STRING)
		add_doc(x, x->next == TO_STRING);
	else if (x->next == PLAIN &&
		 command_grow(c, &c->words, c->nwords, &c->words_max, sizeof(*c->words)))
		c->words[c->nwords++] = (struct command_word){ x->word, NULL };
	x->next = PLAIN;
}

/* NAME=VALUE: what a later $NAME stands for. brief: for one program alone, which a shell that the
 * program is may see. */
static void
remember(struct command *c, const char *word, size_t n, bool brief)
{
	const char *value = word + n + 1;
	size_t i = 0, old;
	char *both;

	while (i < c->nvars && (c->vars[i].name_n != n || memcmp(c->vars[i].name, word, n) != 0))
		i++;
	if (i == COMMAND_VARS || word[n] == '[' || (brief && i < c->nvars))
		return;
	if (word[n] == '+') {
		value++;
		old = i < c->nvars ? strlen(c->vars[i].value) : 0;
		both = command_room(c, old + strlen(value) + 1);
		if (both == NULL)
			return;
		if (old > 0)
			memcpy(both, c->vars[i].value, old);
		memcpy(both + old, value, strlen(value) + 1);
		value = both;
	}
	c->vars[i] = (struct command_var){ word, value, n };
	if (i == c->nvars)
		c->nvars++;
}

static void
remember_all(struct command *c)
{
	static const char *const words[] = { "export", "declare", "typeset", "local", "readonly" };
	size_t n, i = 0;
	bool declares = false;

	while (i < c->nwords && command_is_assignment(c->words[i].s, &n))
		i++;
	c->unclear = c->unclear || i > 0;
	for (size_t k = 0; k < i; k++) {
		(void)command_is_assignment(c->words[k].s, &n);
		remember(c, c->words[k].s, n, i < c->nwords);
	}
	for (size_t k = 0; i < c->nwords && k < ATS_ARRAY_LEN(words); k++)
		declares = declares || strcmp(c->words[i].s, words[k]) == 0;
	for (; declares && i < c->nwords; i++)
		if (command_is_assignment(c->words[i].s, &n))
			remember(c, c->words[i].s, n, false);
}

/* Where a run of parts may begin (COMMAND_FROM) or end (COMMAND_TO). */
static void
mark(struct lex *x, const char *at, unsigned char what)
{
	struct command *c = x->c;

	if (x->top)
		c->marks[at - c->text.data] |= what;
}

static void
add_part(struct lex *x)
{
	struct command *c = x->c;
	const char *end = x->p;

	while (end > x->part && strchr(" \t\r\n", end[-1]) != NULL)
		end--;
	mark(x, x->part, COMMAND_FROM);
	mark(x, end, COMMAND_TO);
	if (command_grow(c, &c->parts, c->nparts, &c->parts_max, sizeof(*c->parts)))
		c->parts[c->nparts++] = (struct ats_slice){ x->part, (size_t)(end - x->part) };
}

static void
end_part(struct lex *x)
{
	struct command *c = x->c;

	lex_end_word(x);
	x->next = PLAIN;
	remember_all(c);
	mark(x, x->p, COMMAND_TO);
	if (x->top && x->part != NULL)
		add_part(x);
	c->shell = false;
	if (c->nwords > 0)
		command_add_views(c);
	for (size_t i = 0; i < x->ndocs; i++)
		x->docs[i].shell = x->docs[i].shell || c->shell;
	c->nwords = 0;
	x->part = NULL;
}

/* ---- redirections --------------------------------------------------------------------------- */

/* At < or >, or the & before it. */
static void
redirection(struct lex *x)
{
	*x->c->next = '\0';		/* there is room: see put */
	if (x->in_word && !x->quoted && x->word[strspn(x->word, DIGITS)] == '\0') {
		x->c->next = x->word;		/* 2 of 2> */
		x->in_word = false;
	}
	lex_end_word(x);
	if (x->part == NULL)
		x->part = x->p;
	x->c->unclear = true;
	x->next = TO_FILE;
	x->strip = false;
	x->p += *x->p == '&';
	if (x->end - x->p >= 3 && memcmp(x->p, "<<<", 3) == 0) {
		x->next = TO_STRING;
		x->p += 3;
		return;
	}
	if (x->end - x->p >= 2 && memcmp(x->p, "<<", 2) == 0) {
		x->next = TO_DOC;
		x->p += 2;
		x->strip = x->p < x->end && *x->p == '-';
		x->p += x->strip;
		return;
	}
	for (x->p++; x->p < x->end && strchr("<>|&", *x->p) != NULL && *x->p != '\0';)
		x->p++;
}

/* The text of a here-document begins at p; leaves p behind its last line. */
static void
read_doc(struct lex *x, const struct heredoc *d)
{
	const char *start = x->p, *line = start, *next;
	size_t n = strlen(d->word);

	for (; line < x->end; line = next) {
		const char *nl = memchr(line, '\n', (size_t)(x->end - line)), *at = line;

		nl = nl == NULL ? x->end : nl;
		next = nl < x->end ? nl + 1 : nl;
		while (d->strip && at < nl && *at == '\t')
			at++;
		if ((size_t)(nl - at) == n && memcmp(at, d->word, n) == 0)
			break;
	}
	x->p = line < x->end ? next : x->end;
	if (d->shell)
		command_add_text(x->c, start, (size_t)(line - start), false);
	else if (!d->quoted)
		lex_substitutions(x->c, start, line);
}

/* What follows a line that has here-documents. */
static void
read_docs(struct lex *x)
{
	for (size_t i = 0; i < x->ndocs; i++) {
		const struct heredoc *d = &x->docs[i];

		if (!d->string)
			read_doc(x, d);
		else if (d->shell)
			command_add_text(x->c, d->word, strlen(d->word), false);
	}
	x->ndocs = 0;
}

/* At what ends a part. */
static void
separator(struct lex *x)
{
	bool line = *x->p == '\n';

	end_part(x);
	x->p++;
	if (line)
		read_docs(x);
	mark(x, x->p, COMMAND_FROM);
}

/* ---- texts ---------------------------------------------------------------------------- */

static void
step(struct lex *x)
{
	switch (*x->p) {
	case '\\':
		if (x->end - x->p > 1 && x->p[1] != '\n') {
			lex_begin_word(x);
			x->quoted = true;
			lex_put(x, x->p[1]);
		}
		x->p += x->end - x->p > 1 ? 2 : 1;
		break;
	case '\'':
	case '"':
		lex_quote(x);
		break;
	case '`':
		lex_expand(x, false);
		break;
	case '$':
		if (x->end - x->p > 1 && x->p[1] == '\'')
			lex_quote(x);
		else if (x->end - x->p > 1 && x->p[1] == '"')
			x->p++;
		else
			lex_expand(x, false);
		break;
	case ' ':
	case '\t':
		lex_end_word(x);
		x->p++;
		break;
	case '\n':
		separator(x);
		break;
	case '(':
	case ')':
		x->c->unclear = true;
		separator(x);
		break;
	case '&':
		if (x->end - x->p > 1 && x->p[1] == '>')
			redirection(x);
		else
			separator(x);
		break;
	case ';':
	case '|':
		separator(x);
		break;
	case '<':
	case '>':
		redirection(x);
		break;
	case '#':
		if (!x->in_word) {
			x->c->unclear = x->c->unclear || x->part != NULL;
			while (x->p < x->end && *x->p != '\n')
				x->p++;
			break;
		}
		__attribute__((fallthrough));
	default:
		lex_put(x, *x->p);
		x->p++;
		break;
	}
}

void
command_read_text(struct command *c, const struct command_text *t)
{
	struct lex x = { .c = c, .p = t->s.p, .end = t->s.p + t->s.n, .top = t->top };

	if (t->s.n > c->budget) {
		c->overflow = true;
		return;
	}
	c->budget -= t->s.n;
	mark(&x, x.p, COMMAND_FROM);
	while (x.p < x.end && !c->overflow && !c->nomem)
		step(&x);
	end_part(&x);
	read_docs(&x);
}
