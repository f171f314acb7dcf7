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
#include "common/json.h"

#define TEXT_MAX (2u << 20)
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

static void
add_part(struct lex *x)
{
	struct command *c = x->c;
	const char *end = x->p;

	while (end > x->part && strchr(" \t\r\n", end[-1]) != NULL)
		end--;
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
		end_part(x);
		x->p++;
		read_docs(x);
		break;
	case '(':
	case ')':
		x->c->unclear = true;
		end_part(x);
		x->p++;
		break;
	case '&':
		if (x->end - x->p > 1 && x->p[1] == '>') {
			redirection(x);
			break;
		}
		/* FALLTHROUGH */
	case ';':
	case '|':
		end_part(x);
		x->p++;
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
		/* FALLTHROUGH */
	default:
		lex_put(x, *x->p);
		x->p++;
		break;
	}
}

static void
read_text(struct command *c, const struct command_text *t)
{
	struct lex x = { .c = c, .p = t->s.p, .end = t->s.p + t->s.n, .top = t->top };

	if (t->s.n > c->budget) {
		c->overflow = true;
		return;
	}
	c->budget -= t->s.n;
	while (x.p < x.end && !c->overflow && !c->nomem)
		step(&x);
	end_part(&x);
	read_docs(&x);
}

/* ats/exec: the words are known, and no shell reads them. */
static void
read_argv(struct command *c, struct ats_slice array)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	struct ats_buf word;
	size_t n;

	ats_json_iter_init(&it, array);
	while (ats_json_next(&it, &key, &v) &&
	       command_grow(c, &c->words, c->nwords, &c->words_max, sizeof(*c->words))) {
		ats_buf_init(&word, TEXT_MAX);
		if (ats_json_to_str(&v, &word) == 0) {
			n = strlen(word.data) + 1;
			if ((size_t)(c->arena_end - c->next) < n) {
				c->overflow = true;
			} else {
				memcpy(c->next, word.data, n);
				c->words[c->nwords++] = (struct command_word){ c->next, NULL };
				c->next += n;
			}
		}
		ats_buf_done(&word);
	}
	if (c->nwords == 0)
		return;
	command_add_views(c);
	/* What allows is compared with the words as they are, if blanks alone are between them. */
	for (size_t i = 0; i < c->nwords; i++)
		if (c->words[i].s[0] == '\0' ||
		    c->words[i].s[strspn(c->words[i].s, LETTERS DIGITS "%+,-./:=@")] != '\0')
			c->unclear = true;
	if (!c->overflow && !c->nomem &&
	    command_grow(c, &c->parts, c->nparts, &c->parts_max, sizeof(*c->parts)))
		c->parts[c->nparts++] = (struct ats_slice){ c->words[0].at,
			strlen(c->words[0].at) };
	c->nwords = 0;
}

void
command_read(struct ats_slice args, struct command *ret)
{
	bool argv = ats_json_type(args) == ATS_JSON_ARRAY;
	struct command *c = ret;
	struct ats_json_val v;
	size_t room;

	if (!argv && !ats_json_get(args, "command", &v) && ats_json_get(args, "argv", &v) &&
	    v.type == ATS_JSON_ARRAY) {
		args = v.raw;
		argv = true;
	}
	*c = (struct command){ .vars = { { "IFS", " ", 3 } }, .nvars = 1 };
	ats_buf_init(&c->text, TEXT_MAX);
	if (!argv) {
		int rc = ats_json_get(args, "command", &v) ? ats_json_to_str(&v, &c->text)
							  : -ATS_E_FIELD;

		c->nomem = rc == -ATS_E_NOMEM;
		c->overflow = rc == -ATS_E_TOOBIG;
		if (rc < 0)		/* no command: it is refused where it should run */
			return;
	}
	room = 8 * (argv ? args.n : c->text.len) + 4096;
	c->arena = c->next = ats_malloc(room);
	c->nomem = c->arena == NULL;
	if (c->nomem)
		return;
	c->arena_end = c->arena + room;
	c->budget = room + 65536;
	if (argv)
		read_argv(c, args);
	else
		command_add_text(c, c->text.data, c->text.len, true);
	for (size_t i = 0; i < c->ntodo && !c->overflow && !c->nomem; i++) {
		struct command_text t = c->todo[i];

		read_text(c, &t);
	}
}

void
command_done(struct command *c)
{
	ats_buf_done(&c->text);
	free(c->views);
	free(c->parts);
	free(c->todo);
	free(c->words);
	free(c->arena);
}
