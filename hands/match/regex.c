/* SPDX-License-Identifier: Apache-2.0
 *
 * Five ways to search, by what regex_syntax.c found out:
 *   EXACT   the pattern is its words: literal scan only, PCRE2 is not even started
 *   WORDS   literal scan, then PCRE2 on the line that holds the word
 *   BUFFER  PCRE2 on the whole text, with the newline-free form of the pattern
 *   LINES   PCRE2 on each line
 *   TAIL    PCRE2 on each line that ends in what must stand before the pattern's $
 * PCRE2 works on bytes; on characters when the pattern needs it, or when it could tell the
 * difference and the text is not ASCII. Programs are compiled when first needed.
 * Runs in read workers; pattern is the model's, text anybody's. */
#include "hands/match/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hands/match/literal.h"
#include "hands/match/regex_syntax.h"
#include "hands/match/regex_tail.h"

#define LINE_STEPS 2000000u		/* of PCRE2's match limit, for one line */
#define TEXT_STEPS 10000000u
#define HEAP_KIB 65536u
#define JIT_STACK_MIN (32u << 10)
#define JIT_STACK_MAX (4u << 20)

enum form { FORM_AS_IS, FORM_LINE_SAFE };
enum way { WAY_EXACT, WAY_WORDS, WAY_BUFFER, WAY_LINES, WAY_TAIL };

struct program {
	pcre2_code *code;
	bool jit;
};
struct regex {
	char *pattern;
	unsigned flags;
	struct regex_syntax syntax;
	struct literal *words;		/* or NULL */
	struct regex_tail tail;
	enum way way;
	pthread_mutex_t lock;		/* of programs while one is made */
	struct program programs[2][2];	/* form, utf */
};
struct regex_run {
	struct regex *re;
	enum way way;			/* for this text */
	bool utf, returns;		/* this text: work on characters; has returns */
	const struct program *made[2][2];
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

/* ---- compiling ------------------------------------------------------------------------- */
static uint32_t
options(const struct regex *re, enum form form, bool utf)
{
	uint32_t o = PCRE2_NEVER_BACKSLASH_C | PCRE2_DUPNAMES;

	if ((re->flags & REGEX_IGNORE_CASE) != 0)
		o |= PCRE2_CASELESS;
	if ((re->flags & REGEX_MULTILINE) != 0)
		o |= PCRE2_MULTILINE | PCRE2_DOTALL;
	else if (form == FORM_LINE_SAFE)
		o |= PCRE2_MULTILINE;
	if (utf)
		o |= PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF;
	return o;
}

static int
complain(const struct regex *re, int code, size_t at, struct ats_err *err)
{
	char what[200];
	size_t n = strlen(re->pattern), from = at > 60 ? at - 60 : 0;

	if (pcre2_get_error_message(code, (PCRE2_UCHAR *)what, sizeof(what)) < 0)
		what[0] = '\0';
	if (at > n)
		at = n;
	return ats_err_set(err, ATS_E_INVAL,
	    "invalid regular expression: %s, at byte %zu, marked by <HERE>: %s%.*s<HERE>%.60s%s",
	    what, at + 1, from > 0 ? "..." : "", (int)(at - from), re->pattern + from,
	    re->pattern + at, n - at > 60 ? "..." : "");
}

static int
make_program(struct regex *re, enum form form, bool utf, struct program *ret,
    struct ats_err *err)
{
	const char *text = form == FORM_LINE_SAFE ? re->syntax.line.data : re->pattern;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	int code = 0;
	size_t at = 0;

	if (context == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	(void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	ret->code = pcre2_compile((PCRE2_SPTR)text, strlen(text), options(re, form, utf), &code,
	    &at, context);
	pcre2_compile_context_free(context);
	if (ret->code == NULL)
		return complain(re, code, at, err);
	/* Fails where memory cannot be made executable: the interpreter is used then. */
	ret->jit = pcre2_jit_compile(ret->code, PCRE2_JIT_COMPLETE) == 0;
	return 0;
}

static int
program_get(struct regex *re, enum form form, bool utf, const struct program **ret,
    struct ats_err *err)
{
	struct program *p = &re->programs[form][utf];
	int rc = 0;

	(void)pthread_mutex_lock(&re->lock);
	if (p->code == NULL)
		rc = make_program(re, form, utf, p, err);
	(void)pthread_mutex_unlock(&re->lock);
	*ret = p;
	return rc;
}

static int
choose_way(struct regex *re, struct ats_err *err)
{
	const struct regex_syntax *s = &re->syntax;
	const struct program *ignored;

	re->way = WAY_LINES;
	if (s->nwords > 0) {
		re->words = literal_new(s->words, s->nwords, s->fold);
		if (re->words == NULL)
			return ats_err_set(err, ATS_E_NOMEM, "out of memory");
		re->way = s->exact ? WAY_EXACT : WAY_WORDS;
	} else if ((re->flags & REGEX_MULTILINE) == 0 &&
	    regex_tail_make(re->pattern, s, &re->tail)) {
		re->way = WAY_TAIL;
	} else if (s->line_safe && (re->flags & REGEX_MULTILINE) == 0 &&
	    program_get(re, FORM_LINE_SAFE, s->utf, &ignored, NULL) == 0) {
		re->way = WAY_BUFFER;
	}
	/* Whatever way is taken, a wrong pattern must be told: only plain words cannot be. */
	if (re->way != WAY_EXACT)
		return program_get(re, FORM_AS_IS, s->utf, &ignored, err);
	return 0;
}

int
regex_new(const char *pattern, unsigned flags, struct regex **ret, struct ats_err *err)
{
	struct regex *re = calloc(1, sizeof(*re));
	int rc;

	if (re == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	(void)pthread_mutex_init(&re->lock, NULL);
	re->flags = flags;
	re->pattern = strdup(pattern);
	rc = re->pattern == NULL ? -ATS_E_NOMEM : regex_syntax_read(&re->syntax, pattern,
	    strlen(pattern), (flags & REGEX_IGNORE_CASE) != 0);
	if (rc < 0)
		rc = ats_err_set(err, ATS_E_NOMEM, "out of memory");
	else
		rc = choose_way(re, err);
	if (rc == 0 && re->syntax.newline && (flags & REGEX_MULTILINE) == 0)
		rc = ats_err_set(err, ATS_E_INVAL, "the regular expression names a newline "
		    "(byte %zu), but lines are searched one by one: set multiline to true to "
		    "let a match span lines", re->syntax.newline_at + 1);
	if (rc < 0) {
		regex_free(re);
		return rc;
	}
	*ret = re;
	return 0;
}

void
regex_free(struct regex *re)
{
	if (re == NULL)
		return;
	for (int f = 0; f < 2; f++)
		for (int u = 0; u < 2; u++)
			pcre2_code_free(re->programs[f][u].code);
	literal_free(re->words);
	regex_syntax_done(&re->syntax);
	(void)pthread_mutex_destroy(&re->lock);
	free(re->pattern);
	free(re);
}

bool
regex_names_returns(const struct regex *re)
{
	return re->syntax.keep_cr;
}

/* ---- running ---------------------------------------------------------------------------- */
struct regex_run *
regex_run_new(struct regex *re)
{
	struct regex_run *run = calloc(1, sizeof(*run));

	if (run == NULL)
		return NULL;
	run->re = re;
	if (re->way == WAY_EXACT)
		return run;
	run->data = pcre2_match_data_create(1, NULL);
	run->context = pcre2_match_context_create(NULL);
	run->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
	if (run->data == NULL || run->context == NULL || run->stack == NULL) {
		regex_run_free(run);
		return NULL;
	}
	pcre2_jit_stack_assign(run->context, NULL, run->stack);
	(void)pcre2_set_match_limit(run->context,
	    (re->flags & REGEX_MULTILINE) != 0 ? TEXT_STEPS : LINE_STEPS);
	(void)pcre2_set_heap_limit(run->context, HEAP_KIB);
	return run;
}

void
regex_run_free(struct regex_run *run)
{
	if (run == NULL)
		return;
	pcre2_match_data_free(run->data);
	pcre2_match_context_free(run->context);
	pcre2_jit_stack_free(run->stack);
	free(run);
}

int
regex_begin(struct regex_run *run, const char *text, size_t n)
{
	const struct regex_syntax *s = &run->re->syntax;

	run->way = run->re->way;
	if (run->way == WAY_EXACT || run->way == WAY_TAIL || (run->way == WAY_WORDS &&
	    (run->re->flags & REGEX_MULTILINE) == 0))
		return 0;			/* decided for each line */
	run->utf = s->utf || ((s->wild || s->classes) && literal_has_high(text, n));
	run->returns = !s->keep_cr && memchr(text, '\r', n) != NULL;
	if (run->way == WAY_BUFFER && run->returns && (s->wild || s->end))
		run->way = WAY_LINES;
	return 0;
}

static int
run_program(struct regex_run *run, enum form form, const char *p, size_t n, size_t from,
    struct regex_span *ret)
{
	const struct program **made = &run->made[form][run->utf];
	PCRE2_SIZE *at;
	int rc;

	if (*made == NULL) {
		rc = program_get(run->re, form, run->utf, made, NULL);
		if (rc < 0)
			return rc;
	}
	if ((*made)->jit)
		rc = pcre2_jit_match((*made)->code, (PCRE2_SPTR)p, n, from, 0, run->data,
		    run->context);
	else
		rc = pcre2_match((*made)->code, (PCRE2_SPTR)p, n, from, 0, run->data,
		    run->context);
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (rc < 0) {
		ret->start = ret->end = from;
		return rc == PCRE2_ERROR_NOMEMORY ? -ATS_E_NOMEM : -ATS_E_TOOBIG;
	}
	at = pcre2_get_ovector_pointer(run->data);
	/* \K in a look-ahead can put the start behind the end. */
	ret->start = at[0] < at[1] ? at[0] : at[1];
	ret->end = at[1];
	return 1;
}

/* The line around at, without its newline and the return before that. */
static void
line_around(const struct regex_run *run, const char *text, size_t n, size_t at, size_t *ret_start,
    size_t *ret_end, size_t *ret_next)
{
	const char *nl = memrchr(text, '\n', at);
	size_t start = nl != NULL ? (size_t)(nl - text) + 1 : 0, end;

	nl = memchr(text + at, '\n', n - at);
	end = nl != NULL ? (size_t)(nl - text) : n;
	*ret_next = nl != NULL ? end + 1 : n + 1;
	if (end > start && text[end - 1] == '\r' && !run->re->syntax.keep_cr)
		end--;
	*ret_start = start;
	*ret_end = end;
}

/* Searches the line around at, from `from` on when that is inside of it. */
static int
find_in_line(struct regex_run *run, const char *text, size_t n, size_t at, size_t from,
    size_t *ret_next, struct regex_span *ret)
{
	size_t start, end;
	int rc;

	line_around(run, text, n, at, &start, &end, ret_next);
	if (from < start)
		from = start;
	if (from > end)
		return 0;
	rc = run_program(run, FORM_AS_IS, text + start, end - start, from - start, ret);
	if (rc != 0) {
		ret->start += start;
		ret->end += start;
	}
	return rc;
}

/* Whether the line must be searched by characters. */
static void
choose_utf(struct regex_run *run, const char *line, size_t n)
{
	const struct regex_syntax *s = &run->re->syntax;

	run->utf = s->utf || ((s->wild || s->classes) && literal_has_high(line, n));
}

static int
find_tail(struct regex_run *run, const char *text, size_t n, size_t from,
    struct regex_span *ret)
{
	size_t next = from;

	while (next < n) {
		const char *nl = memchr(text + next, '\n', n - next);
		size_t end = nl != NULL ? (size_t)(nl - text) : n, at = next, start;
		int rc;

		next = end + 1;
		if (end > at && text[end - 1] == '\r')
			end--;
		if (!regex_tail_fits(&run->re->tail, text, end))
			continue;
		line_around(run, text, n, at, &start, &end, &next);
		choose_utf(run, text + start, end - start);
		rc = find_in_line(run, text, n, at, from, &next, ret);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
find_words(struct regex_run *run, const char *text, size_t n, size_t from,
    struct regex_span *ret)
{
	const struct regex_syntax *s = &run->re->syntax;

	while (from < n) {
		size_t len = 0, next = 0, start, end;
		const char *p = literal_find(run->re->words, text + from, text + n, &len);
		int rc;

		if (p == NULL)
			return 0;
		run->utf = s->utf;
		if (s->wild || s->classes) {
			line_around(run, text, n, (size_t)(p - text), &start, &end, &next);
			choose_utf(run, text + start, end - start);
		}
		rc = find_in_line(run, text, n, (size_t)(p - text), from, &next, ret);
		if (rc != 0)
			return rc;
		from = next;
	}
	return 0;
}

static int
find_exact(struct regex_run *run, const char *text, size_t n, size_t from,
    struct regex_span *ret)
{
	size_t len = 0;
	const char *p = literal_find(run->re->words, text + from, text + n, &len);

	if (p == NULL)
		return 0;
	ret->start = (size_t)(p - text);
	ret->end = ret->start + len;
	return 1;
}

static int
find_lines(struct regex_run *run, const char *text, size_t n, size_t from,
    struct regex_span *ret)
{
	while (from <= n && n > 0 && !(from == n && text[n - 1] == '\n')) {
		size_t next = 0;
		int rc = find_in_line(run, text, n, from, from, &next, ret);

		if (rc != 0)
			return rc;
		from = next;
	}
	return 0;
}

int
regex_find(struct regex_run *run, const char *text, size_t n, size_t from,
    struct regex_span *ret)
{
	bool multiline = (run->re->flags & REGEX_MULTILINE) != 0;
	size_t ignored;
	int rc;

	if (from > n)
		return 0;
	if (run->way == WAY_EXACT)
		return find_exact(run, text, n, from, ret);
	if (multiline && run->way == WAY_WORDS &&
	    literal_find(run->re->words, text + from, text + n, &ignored) == NULL)
		return 0;
	if (!multiline && run->way == WAY_WORDS)
		return find_words(run, text, n, from, ret);
	if (!multiline && run->way == WAY_TAIL)
		return find_tail(run, text, n, from, ret);
	if (!multiline && run->way == WAY_LINES)
		return find_lines(run, text, n, from, ret);
	rc = run_program(run, multiline ? FORM_AS_IS : FORM_LINE_SAFE, text, n, from, ret);
	if (rc > 0 && ret->start == n && (n == 0 || text[n - 1] == '\n'))
		return 0;
	return rc;
}
