/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a command: quotes, escapes, variables, and what is substituted. Linked into vault
 * and engine; models write the commands. */
#include <string.h>

#include "brain/policy/rules_lex.h"

void
lex_begin_word(struct lex *x)
{
	if (x->part == NULL)
		x->part = x->p;
	if (x->in_word)
		return;
	x->in_word = true;
	x->quoted = false;
	x->word = x->c->next;
}

void
lex_put(struct lex *x, char ch)
{
	lex_begin_word(x);
	if (x->c->arena_end - x->c->next < 2)
		x->c->overflow = true;
	else
		*x->c->next++ = ch;
}

/* p is behind an opening parenthesis or brace; returns the place of the one that closes it, or
 * end. */
static const char *
find_close(struct command *c, const char *p, const char *end, char open, char close)
{
	const char *start = p;
	unsigned depth = 1;
	char quote = '\0';

	for (; p < end; p++) {
		if (*p == '\\' && quote != '\'')
			p++;
		else if (quote != '\0')
			quote = *p == quote ? '\0' : quote;
		else if (*p == '\'' || *p == '"')
			quote = *p;
		else if (*p == open)
			depth++;
		else if (*p == close && --depth == 0)
			break;
	}
	if (p > end)
		p = end;
	if ((size_t)(p - start) > c->budget)
		c->overflow = true;
	else
		c->budget -= (size_t)(p - start);
	return p;
}

/* A backslash in backticks is one of theirs before these, $ and another. */
static void
add_backticks(struct command *c, const char *p, size_t n)
{
	char *to;
	size_t len = 0;

	if (memchr(p, '\\', n) == NULL) {
		command_add_text(c, p, n, false);
		return;
	}
	to = command_room(c, n);
	if (to == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\\' && i + 1 < n && memchr("$`\\", p[i + 1], 3) != NULL)
			i++;
		to[len++] = p[i];
	}
	command_add_text(c, to, len, false);
}

/* At $( or a backtick: puts what is in it on the list and returns the place behind. */
static const char *
substitution(struct command *c, const char *p, const char *end)
{
	const char *in = p + (*p == '$' ? 2 : 1), *close = in;

	if (*p == '$')
		close = find_close(c, in, end, '(', ')');
	else
		while (close < end && *close != '`')
			close += *close == '\\' && end - close > 1 ? 2 : 1;
	if (*p == '`')
		add_backticks(c, in, (size_t)(close - in));
	else
		command_add_text(c, in, (size_t)(close - in), false);
	c->unclear = true;
	return close < end ? close + 1 : end;
}

static bool
at_substitution(const char *p, const char *end)
{
	return *p == '`' || (*p == '$' && end - p > 1 && p[1] == '(');
}

void
lex_substitutions(struct command *c, const char *p, const char *end)
{
	while (p < end && !c->overflow && !c->nomem)
		p = at_substitution(p, end) ? substitution(c, p, end) : p + 1;
}

/* The value of a variable; without quotes blanks in it are between words. */
static void
put_value(struct lex *x, const char *value, bool quoted)
{
	for (; *value != '\0' && !x->c->overflow; value++) {
		if (!quoted && strchr(" \t\n", *value) != NULL)
			lex_end_word(x);
		else
			lex_put(x, *value);
	}
}

static bool
in_name(char ch)
{
	return ch != '\0' && strchr(LETTERS DIGITS, ch) != NULL;
}

void
lex_expand(struct lex *x, bool quoted)
{
	struct command *c = x->c;
	const char *name = x->p + 1, *after = name;
	size_t n;

	if (at_substitution(x->p, x->end)) {
		lex_put(x, *x->p);
		x->p = substitution(c, x->p, x->end);
		return;
	}
	if (name < x->end && *name == '{') {
		name++;
		after = find_close(c, name, x->end, '{', '}');
		n = (size_t)(after - name);
		lex_substitutions(c, name, after);
		after += after < x->end;
	} else {
		while (after < x->end && in_name(*after))
			after++;
		n = (size_t)(after - name);
	}
	for (size_t i = 0; i < c->nvars; i++) {
		if (c->vars[i].name_n != n || memcmp(c->vars[i].name, name, n) != 0)
			continue;
		put_value(x, c->vars[i].value, quoted);
		x->p = after;
		return;
	}
	for (lex_put(x, '$'); ++x->p < after;)
		lex_put(x, *x->p);
}

static void
double_quote(struct lex *x)
{
	for (x->p++; x->p < x->end && *x->p != '"' && !x->c->overflow;) {
		if (*x->p == '$' || *x->p == '`') {
			lex_expand(x, true);
			continue;
		}
		if (*x->p == '\\' && x->end - x->p > 1 && x->p[1] == '\n') {
			x->p += 2;
			continue;
		}
		if (*x->p == '\\' && x->end - x->p > 1 && memchr("$`\"\\", x->p[1], 4) != NULL)
			x->p++;
		lex_put(x, *x->p++);
	}
}

static unsigned
number(struct lex *x, unsigned base, unsigned digits)
{
	static const char all[] = "0123456789abcdef";
	const char *d;
	unsigned v = 0;

	for (; digits > 0 && x->p < x->end && *x->p != '\0'; digits--, x->p++) {
		d = strchr(all, *x->p >= 'A' && *x->p <= 'F' ? *x->p | 0x20 : *x->p);
		if (d == NULL || (unsigned)(d - all) >= base)
			break;
		v = v * base + (unsigned)(d - all);
	}
	return v;
}

/* An escape of $'...', which can stand for any byte; p is behind the backslash. */
static char
ansi_escape(struct lex *x)
{
	static const char from[] = "abeEfnrtv", to[] = "\a\b\033\033\f\n\r\t\v";
	const char *f;
	char ch = *x->p;

	if (ch >= '0' && ch <= '7')
		return (char)number(x, 8, 3);
	x->p++;
	if (ch == 'x' || ch == 'u' || ch == 'U')
		return (char)number(x, 16, ch == 'x' ? 2 : ch == 'u' ? 4 : 8);
	f = memchr(from, ch, sizeof(from) - 1);
	return f == NULL ? ch : to[f - from];
}

static void
ansi_quote(struct lex *x)
{
	for (x->p += 2; x->p < x->end && *x->p != '\'' && !x->c->overflow;) {
		if (*x->p == '\\' && x->end - x->p > 1) {
			x->p++;
			lex_put(x, ansi_escape(x));
		} else {
			lex_put(x, *x->p++);
		}
	}
}

void
lex_quote(struct lex *x)
{
	lex_begin_word(x);
	x->quoted = true;
	if (*x->p == '"')
		double_quote(x);
	else if (*x->p == '$')
		ansi_quote(x);
	else
		for (x->p++; x->p < x->end && *x->p != '\''; x->p++)
			lex_put(x, *x->p);
	if (x->p < x->end)
		x->p++;
	else
		x->c->unclear = true;
}
