/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a pattern by recursive descent. Where it does not know a construct it gives up: no
 * words, no newline-free form, and the search goes line by line with the pattern as it is.
 * Runs in read workers; the pattern is the model's. */
#include "hands/match/regex_syntax.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hands/match/regex_reader.h"

#define DEPTH_MAX 40

static void read_alternation(struct regex_reader *r, struct words_node *ret);

void
regex_emit(struct regex_reader *r, const char *text, size_t n)
{
	if (r->rc == 0)
		r->rc = ats_buf_add(&r->s->line, text, n);
}

void
regex_emit_str(struct regex_reader *r, const char *text)
{
	regex_emit(r, text, strlen(text));
}

void
regex_give_up(struct regex_reader *r)
{
	r->gave_up = true;
	r->p = r->end;
}

static void
node_char(struct regex_reader *r, struct words_node *ret, const char *text, size_t n)
{
	if (n > 1 && r->s->fold)
		words_unknown(ret);	/* case of non-ASCII: PCRE2 knows it, we do not */
	else
		words_text(ret, text, n, r->s->fold);
}

static void
newline(struct regex_reader *r)
{
	if (!r->s->newline)
		r->s->newline_at = (size_t)(r->p - r->begin);
	r->s->newline = true;
}

/* ---- escapes ---------------------------------------------------------------------------- */
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
		newline(r);
	if (v > 0xff)
		r->s->utf = true;
	if (v < 0x80)
		node_char(r, ret, &c, 1);
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

static void
read_escape(struct regex_reader *r, struct words_node *ret)
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
			newline(r);
		r->s->keep_cr = r->s->keep_cr || c == 'r';
		node_char(r, ret, control, 1);
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
			newline(r);
		node_char(r, ret, &c, 1);
		if ((unsigned char)c >= 0x80)
			words_unknown(ret);
		regex_emit(r, r->p, 2);
		r->p += 2;
	}
}

/* ---- groups -------------------------------------------------------------------------------- */
enum group { GROUP_PLAIN, GROUP_LOOK, GROUP_ATOMIC, GROUP_FLAGS, GROUP_UNKNOWN };

/* r->p is at "(?". Moves behind the group's head, which it emits. */
static enum group
read_group_head(struct regex_reader *r)
{
	const char *q = r->p + 2;
	enum group kind = GROUP_UNKNOWN;
	size_t left = (size_t)(r->end - q);

	if (left > 0 && *q == ':') {
		kind = GROUP_PLAIN;
		q++;
	} else if (left > 0 && *q == '>') {
		kind = GROUP_ATOMIC;
		q++;
	} else if (left > 0 && (*q == '=' || *q == '!')) {
		kind = GROUP_LOOK;
		q++;
	} else if (left > 1 && *q == '<' && (q[1] == '=' || q[1] == '!')) {
		kind = GROUP_LOOK;
		q += 2;
	} else if (left > 1 && (*q == '<' || (*q == 'P' && q[1] == '<'))) {
		kind = GROUP_PLAIN;
		while (q < r->end && *q != '>')
			q++;
		q += q < r->end;
	} else if (left > 1 && (*q == 'i' || *q == 'm') && (q[1] == ')' || q[1] == ':')) {
		/* At the very start (?i) is the -i flag; elsewhere words cannot know case. */
		if (*q == 'i' && r->p == r->begin && q[1] == ')')
			r->s->fold = r->arena.fold = true;
		else if (*q == 'i' && !r->s->fold)
			r->no_tail = r->arena.off = true;
		kind = q[1] == ')' ? GROUP_FLAGS : GROUP_PLAIN;
		q += 2;
	}
	regex_emit(r, r->p, (size_t)(q - r->p));
	r->p = q;
	return kind;
}

static void
read_group(struct regex_reader *r, struct words_node *ret)
{
	enum group kind = GROUP_PLAIN;

	words_text(ret, "", 0, false);
	if (r->end - r->p > 1 && r->p[1] == '*') {
		regex_give_up(r);
		return;
	}
	if (r->end - r->p > 1 && r->p[1] == '?') {
		kind = read_group_head(r);
	} else {
		regex_emit(r, r->p, 1);
		r->p++;
	}
	if (kind == GROUP_UNKNOWN || ++r->depth > DEPTH_MAX) {
		regex_give_up(r);
		return;
	}
	if (kind != GROUP_FLAGS) {
		read_alternation(r, ret);
		if (r->p < r->end && *r->p == ')') {
			regex_emit(r, r->p, 1);
			r->p++;
		} else {
			regex_give_up(r);
		}
	}
	r->depth--;
	r->imprecise = r->imprecise || kind == GROUP_LOOK || kind == GROUP_ATOMIC;
	if (kind == GROUP_LOOK) {
		r->s->end = true;	/* what it says about a place may differ behind a return */
		words_text(ret, "", 0, false);
	}
}

/* ---- atoms, quantifiers, sequences ----------------------------------------------------------- */
/* {n}, {n,} or {n,m}: returns the byte behind it, or NULL when it is plain text. */
static const char *
read_counts(const char *p, const char *end, unsigned *ret_min, unsigned *ret_max)
{
	unsigned v[2] = { 0, 0 };
	const char *q = p + 1;
	bool comma = false;

	if (q >= end || *q < '0' || *q > '9')
		return NULL;
	for (; q < end && *q != '}'; q++) {
		if (*q == ',' && !comma)
			comma = true;
		else if (*q >= '0' && *q <= '9' && v[comma] < 100000)
			v[comma] = v[comma] * 10 + (unsigned)(*q - '0');
		else
			return NULL;
	}
	if (q >= end)
		return NULL;
	*ret_min = v[0];
	*ret_max = !comma ? v[0] : q[-1] == ',' ? WORDS_MANY : v[1];
	return q + 1;
}

static void
read_atom(struct regex_reader *r, struct words_node *ret)
{
	unsigned ignored;
	size_t n;

	switch (*r->p) {
	case '\\':
		read_escape(r, ret);
		return;
	case '[':
		regex_read_class(r, ret);
		return;
	case '(':
		read_group(r, ret);
		return;
	case '*': case '+': case '?':
		regex_give_up(r);		/* with nothing to repeat: PCRE2 complains */
		return;
	case '.':
		r->s->wild = true;
		words_unknown(ret);
		break;
	case '^': case '$':
		r->s->end = r->s->end || *r->p == '$';
		r->imprecise = true;
		words_text(ret, "", 0, false);
		break;
	default:
		n = 1;
		if (*r->p == '{' && read_counts(r->p, r->end, &ignored, &ignored) != NULL) {
			regex_give_up(r);
			return;
		}
		while ((unsigned char)*r->p >= 0xc0 && r->p + n < r->end &&
		    ((unsigned char)r->p[n] & 0xc0) == 0x80)
			n++;
		if (*r->p == '\n')
			newline(r);
		r->s->keep_cr = r->s->keep_cr || *r->p == '\r';
		node_char(r, ret, r->p, n);
		regex_emit(r, r->p, n);
		r->p += n;
		return;
	}
	regex_emit(r, r->p, 1);
	r->p++;
}

/* Reads what may follow an atom and applies it. */
static void
read_quantifier(struct regex_reader *r, struct words_node *node)
{
	unsigned min = 1, max = 1;
	const char *q = r->p;
	bool lazy = false;

	if (q < r->end && *q == '{') {
		q = read_counts(q, r->end, &min, &max);
		if (q == NULL)
			return;
	} else if (q < r->end && strchr("*+?", *q) != NULL && *q != '\0') {
		min = *q == '+';
		max = *q == '?' ? 1 : WORDS_MANY;
		q++;
	} else {
		return;
	}
	if (q < r->end && (*q == '?' || *q == '+')) {
		lazy = *q == '?';
		r->imprecise = r->imprecise || *q == '+';
		q++;
	}
	regex_emit(r, r->p, (size_t)(q - r->p));
	r->p = q;
	r->min = min;
	r->max = max;
	words_repeat(node, min, max, lazy);
}

/* An atom that is one character, of which kind ever. */
static bool
is_one_character(const char *p, size_t n)
{
	if (*p == '[')
		return true;
	if (*p == '\\')
		return n == 2 && (unsigned char)p[1] < 0x80 &&
		    (strchr("dwsSWDhHt", p[1]) != NULL || !isalnum((unsigned char)p[1]));
	return n == 1 && (unsigned char)*p < 0x80 && strchr("^(", *p) == NULL;
}

/* Keeps the atoms that may turn out to stand before the end of the pattern. */
static void
note_atom(struct regex_reader *r, const char *p, size_t n)
{
	struct regex_syntax *s = r->s;

	if (r->depth > 0)
		return;
	if (r->at_end)
		r->no_tail = true;	/* something behind a $ */
	r->at_end = n == 1 && *p == '$';
	if (r->at_end)
		return;
	if (!is_one_character(p, n)) {
		s->ntail = 0;
		return;
	}
	if (s->ntail == REGEX_TAIL_MAX)
		memmove(s->tail, s->tail + 1, --s->ntail * sizeof(*s->tail));
	s->tail[s->ntail++] = (struct regex_atom){
		.at = (size_t)(p - r->begin), .n = n, .min = r->min, .max = r->max,
	};
}

static void
read_sequence(struct regex_reader *r, struct words_node *ret)
{
	struct words_seq seq;

	words_seq_init(&seq);
	while (r->p < r->end && *r->p != '|' && *r->p != ')') {
		struct words_node node = { 0 };
		const char *atom = r->p, *behind;

		read_atom(r, &node);
		behind = r->p;
		r->min = r->max = 1;
		if (r->p < r->end)
			read_quantifier(r, &node);
		note_atom(r, atom, (size_t)(behind - atom));
		words_seq_add(&r->arena, &seq, &node);
	}
	words_seq_finish(&r->arena, &seq, ret);
}

static void
read_alternation(struct regex_reader *r, struct words_node *ret)
{
	read_sequence(r, ret);
	while (r->p < r->end && *r->p == '|') {
		struct words_node other = { 0 };

		regex_emit(r, r->p, 1);
		r->p++;
		r->no_tail = r->no_tail || r->depth == 0;
		read_sequence(r, &other);
		words_either(&r->arena, ret, &other);
	}
}

int
regex_syntax_read(struct regex_syntax *s, const char *pattern, size_t n, bool fold)
{
	struct regex_reader r = { .begin = pattern, .p = pattern, .end = pattern + n, .s = s };
	struct words_node all = { 0 };
	int rc = 0;

	memset(s, 0, sizeof(*s));
	ats_buf_init(&s->line, 1u << 20);
	s->line_safe = true;
	s->fold = fold;
	for (size_t i = 0; i < n; i++)
		s->utf = s->utf || (unsigned char)pattern[i] >= 0x80;
	words_arena_init(&r.arena);
	r.arena.fold = fold;
	read_alternation(&r, &all);
	if (r.p < r.end || r.gave_up || r.rc == -ATS_E_TOOBIG)
		r.gave_up = true;	/* an unpaired ) too */
	if (r.gave_up) {
		s->line_safe = false;
		s->wild = s->classes = s->end = true;
		/* What was not read may hold anything, also what only works on characters. */
		s->keep_cr = s->keep_cr || memmem(pattern, n, "\\r", 2) != NULL;
		s->utf = s->utf || memmem(pattern, n, "\\p", 2) != NULL ||
		    memmem(pattern, n, "\\P", 2) != NULL || memmem(pattern, n, "\\x{", 3) ||
		    memmem(pattern, n, "\\X", 2) != NULL || memmem(pattern, n, "\\N{", 3);
	} else {
		rc = words_choose(&r.arena, &all, s->words, &s->nwords, &s->exact,
		    &s->arena);
		s->exact = s->exact && !r.imprecise;
		if (s->newline)
			s->line_safe = false;
	}
	if (r.gave_up || r.no_tail || !r.at_end || s->keep_cr)
		s->ntail = 0;
	words_arena_done(&r.arena);
	return r.rc == -ATS_E_NOMEM ? r.rc : rc;
}

void
regex_syntax_done(struct regex_syntax *s)
{
	ats_buf_done(&s->line);
	free(s->arena);
	s->arena = NULL;
	s->nwords = 0;
}
