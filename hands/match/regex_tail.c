/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes an atom of a pattern stands for is PCRE2's to say: each is asked for. Runs in
 * read workers; the pattern is the model's. */
#include "hands/match/regex_tail.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#define ATOM_MAX 256u

static bool
ask(const char *text, size_t n, bool fold, bool ret[128])
{
	char pattern[ATOM_MAX + 16];
	int len = snprintf(pattern, sizeof(pattern), "\\A(?:%.*s)\\z", (int)n, text), code;
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_code *re;
	PCRE2_SIZE at;

	re = n <= ATOM_MAX && data != NULL ? pcre2_compile((PCRE2_SPTR)pattern, (size_t)len,
	    fold ? PCRE2_CASELESS : 0, &code, &at, NULL) : NULL;
	for (int c = 0; re != NULL && c < 128; c++) {
		char subject = (char)c;

		/* No line holds a newline, whatever a class may say. */
		ret[c] = c != '\n' && pcre2_match(re, (PCRE2_SPTR)&subject, 1, 0, 0, data,
		    NULL) > 0;
	}
	pcre2_match_data_free(data);
	pcre2_code_free(re);
	return re != NULL;
}

/* Lines of programs end in these, mostly. */
static bool
is_worth_it(const struct regex_tail *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const char *p = ";,){}";

		while (*p != '\0' && !t->has[i][(unsigned char)*p])
			p++;
		if (*p == '\0')
			return true;
	}
	return false;
}

bool
regex_tail_make(const char *pattern, const struct regex_syntax *s, struct regex_tail *ret)
{
	ret->n = 0;
	for (size_t k = s->ntail; k-- > 0;) {
		const struct regex_atom *a = &s->tail[k];
		size_t first = ret->n;

		if (a->min == 0 || first == REGEX_TAIL_MAX)
			break;
		if (!ask(pattern + a->at, a->n, s->fold, ret->has[first]))
			break;
		for (ret->n++; ret->n < REGEX_TAIL_MAX && ret->n - first < a->min; ret->n++)
			memcpy(ret->has[ret->n], ret->has[first], sizeof(ret->has[first]));
		if (a->min != a->max)
			break;		/* what stands before it is in no fixed place */
	}
	return is_worth_it(ret);
}
