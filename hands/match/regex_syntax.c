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

void
regex_node_char(struct regex_reader *r, struct words_node *ret, const char *text, size_t n)
{
	if (n > 1 && r->s->fold)
		words_unknown(ret);	/* case of non-ASCII: PCRE2 knows it, we do not */
	else
		words_text(ret, text, n, r->s->fold);
}

void
regex_newline(struct regex_reader *r)
{
	if (!r->s->newline)
		r->s->newline_at = (size_t)(r->p - r->begin);
	r->s->newline = true;
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
		regex_read_escape(r, ret);
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
			regex_newline(r);
		r->s->keep_cr = r->s->keep_cr || *r->p == '\r';
		regex_node_char(r, ret, r->p, n);
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
