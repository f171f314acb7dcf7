/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands behind a backslash outside of brackets. Part of regex_syntax; runs in read workers,
 * the pattern is the model's. */
#include "hands/match/regex_reader.h"

#include <string.h>

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

unsigned
regex_read_hex(const char *p, const char *end, const char **ret_end)
{
	unsigned v = 0;
	const char *q = p + 1;
	int limit = 2;
	bool braces = q < end && *q == '{';

	if (braces) {
		q++;
		limit = 8;
	}
	for (; q < end && limit > 0 && hex(*q) >= 0; limit--)
		v = v * 16 + (unsigned)hex(*q++);
	if (braces && q < end && *q == '}')
		q++;
	*ret_end = q;
	return v;
}

static void
read_hex_atom(struct regex_reader *r, struct words_node *ret)
{
	const char *q;
	unsigned v = regex_read_hex(r->p + 1, r->end, &q);
	char c = (char)v;

	if (v == '\n')
		regex_newline(r);
	if (v > 0xff)
		r->s->utf = true;
	if (v < 0x80)
		regex_node_char(r, ret, &c, 1);
	else
		words_unknown(ret);
	if (v == '\r')
		r->s->keep_cr = true;
	regex_emit(r, r->p, (size_t)(q - r->p));
	r->p = q;
}

/* \p or \P; newline is not a letter, number, mark or symbol. */
static void
read_property(struct regex_reader *r, struct words_node *ret)
{
	const char *q = r->p + 2;

	r->s->utf = true;
	words_unknown(ret);
	if (r->p[1] == 'P' || q >= r->end)
		r->s->line_safe = false;
	else if (*q == '{' && (r->end - q < 2 || strchr("^CZXAcs ", q[1]) != NULL))
		r->s->line_safe = false;
	else if (*q == 'C' || *q == 'Z')
		r->s->line_safe = false;
	if (q < r->end && *q == '{')
		while (q < r->end && *q != '}')
			q++;
	q = q < r->end ? q + 1 : r->end;
	regex_emit(r, r->p, (size_t)(q - r->p));
	r->p = q;
}

/* \Q text \E */
static void
read_quoted(struct regex_reader *r, struct words_node *ret)
{
	const char *q = r->p + 2, *e = q;

	while (e < r->end && !(e[0] == '\\' && r->end - e > 1 && e[1] == 'E'))
		e++;
	if (e == r->end || memchr(q, '\n', (size_t)(e - q)) != NULL) {
		regex_give_up(r);
		return;
	}
	/* A quantifier would bind to the last character only; rare enough to know nothing. */
	words_unknown(ret);
	regex_emit(r, r->p, (size_t)(e + 2 - r->p));
	r->p = e + 2;
}

/* Escapes that are one replacement each. Columns: letter, newline-free form (NULL: as it is),
 * what it is: C a class of characters, W a class that may hold a return or non-ASCII,
 * 0 an assertion, E one about the end, L not line-safe. */
static const struct escape {
	char letter;
	const char *form;
	char what;
} escapes[] = {
	{ 'd', NULL, 'C' }, { 'w', NULL, 'C' }, { 'h', NULL, 'W' }, { 'S', NULL, 'W' },
	{ 's', "[^\\S\\n]", 'W' }, { 'W', "[^\\w\\n]", 'W' }, { 'D', "[^\\d\\n]", 'W' },
	{ 'H', "[^\\h\\n]", 'W' }, { 'V', NULL, 'W' }, { 'v', NULL, 'L' }, { 'R', NULL, 'L' },
	{ 'X', NULL, 'L' }, { 'C', NULL, 'L' }, { 'o', NULL, 'L' }, { 'c', NULL, 'L' },
	{ 'b', NULL, '0' }, { 'B', NULL, 'E' }, { 'K', NULL, '0' },
	{ 'A', "^", '0' }, { 'z', "$", 'E' }, { 'Z', "$", 'E' },
};

static bool
read_simple_escape(struct regex_reader *r, struct words_node *ret, char c)
{
	const struct escape *e = NULL;

	for (size_t i = 0; i < ATS_ARRAY_LEN(escapes); i++)
		if (escapes[i].letter == c)
			e = &escapes[i];
	if (e == NULL)
		return false;
	if (e->what == 'L' && (c == 'o' || c == 'c')) {
		regex_give_up(r);		/* their arguments are not worth reading */
		return true;
	}
	r->s->line_safe = r->s->line_safe && e->what != 'L';
	r->s->wild = r->s->wild || e->what == 'W' || e->what == 'L';
	r->s->end = r->s->end || e->what == 'E';
	r->s->classes = r->s->classes || strchr("dwbB", c) != NULL;
	if (e->what == '0' || e->what == 'E') {
		r->imprecise = true;
		words_text(ret, "", 0, false);
	} else {
		words_unknown(ret);
	}
	if (e->form != NULL)
		regex_emit_str(r, e->form);
	else
		regex_emit(r, r->p, 2);
	r->p += 2;
	return true;
}

void
regex_read_escape(struct regex_reader *r, struct words_node *ret)
{
	static const char controls[] = "t\tr\rf\fe\033a\an\n";
	const char *control = NULL;
	char c;

	if (r->end - r->p < 2) {
		regex_give_up(r);
		return;
	}
	c = r->p[1];
	for (const char *k = controls; *k != '\0'; k += 2)
		if (*k == c)
			control = k + 1;
	if (control != NULL) {
		if (c == 'n')
			regex_newline(r);
		r->s->keep_cr = r->s->keep_cr || c == 'r';
		regex_node_char(r, ret, control, 1);
		regex_emit(r, r->p, 2);
		r->p += 2;
	} else if (read_simple_escape(r, ret, c)) {
		return;
	} else if (c == 'x') {
		read_hex_atom(r, ret);
	} else if (c == 'p' || c == 'P') {
		read_property(r, ret);
	} else if (c == 'Q') {
		read_quoted(r, ret);
	} else if (c >= '1' && c <= '9' && !(r->end - r->p > 2 && hex(r->p[2]) >= 0)) {
		words_unknown(ret);	/* a back-reference */
		regex_emit(r, r->p, 2);
		r->p += 2;
	} else if ((unsigned char)c < 0x80 && (hex(c) >= 0 || ((c | 0x20) >= 'a' &&
	    (c | 0x20) <= 'z'))) {
		regex_give_up(r);
	} else {
		if (c == '\n')	/* escaped, it is itself all the same */
			regex_newline(r);
		regex_node_char(r, ret, &c, 1);
		if ((unsigned char)c >= 0x80)
			words_unknown(ret);
		regex_emit(r, r->p, 2);
		r->p += 2;
	}
}
