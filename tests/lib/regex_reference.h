/* SPDX-License-Identifier: Apache-2.0
 *
 * What hands/match/regex.c must say, done in the plainest way: each line alone, without its
 * newline and the return before it, under PCRE2 as it is. Shared by the unit test and the
 * fuzz target. */
#ifndef ATS_TESTS_LIB_REGEX_REFERENCE_H
#define ATS_TESTS_LIB_REGEX_REFERENCE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <string.h>

#include "hands/match/regex.h"

/* Matches of each line at most; returns how many matching lines, -1 when it cannot tell (a
 * pattern that is no pattern, or too many steps). starts[i]: offset of the i-th first match. */
static inline int
reference_lines(const char *pattern, uint32_t options, const char *text, size_t n,
    struct regex_span *spans, int max)
{
	int code, count = 0;
	size_t at = 0;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern), options, &code, &at,
	    NULL);
	pcre2_match_data *data = re != NULL ? pcre2_match_data_create(1, NULL) : NULL;

	if (data == NULL) {
		pcre2_code_free(re);
		return -1;
	}
	/* With JIT too: 10.42's has errors of its own, as (?>;|[ab]+?)fo on "abfo". */
	(void)pcre2_jit_compile(re, PCRE2_JIT_COMPLETE);
	for (at = 0; at < n && count >= 0;) {
		const char *nl = memchr(text + at, '\n', n - at);
		size_t end = nl != NULL ? (size_t)(nl - text) : n, next = end + 1;
		int rc;

		if (end > at && text[end - 1] == '\r')
			end--;
		rc = pcre2_match(re, (PCRE2_SPTR)text + at, end - at, 0, 0, data, NULL);
		if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
			count = -1;
		} else if (rc >= 0 && count < max) {
			PCRE2_SIZE *o = pcre2_get_ovector_pointer(data);

			spans[count].start = at + (o[0] < o[1] ? o[0] : o[1]);
			spans[count++].end = at + o[1];
		}
		at = next;
	}
	pcre2_match_data_free(data);
	pcre2_code_free(re);
	return count;
}

/* The same from regex.c: the first match of each line. -2: refused, -1: too many steps. */
static inline int
regex_lines(const char *pattern, unsigned flags, const char *text, size_t n,
    struct regex_span *spans, int max)
{
	struct regex *re = NULL;
	struct regex_run *run;
	struct regex_span m;
	int count = 0, rc;
	size_t at = 0;

	if (regex_new(pattern, flags, &re, NULL) < 0)
		return -2;
	run = regex_run_new(re);
	rc = run != NULL ? regex_begin(run, text, n) : -1;
	while (rc == 0 && at < n) {
		const char *nl;

		rc = regex_find(run, text, n, at, &m);
		if (rc <= 0)
			break;
		if (count < max)
			spans[count++] = m;
		nl = memchr(text + m.start, '\n', n - m.start);
		at = nl != NULL ? (size_t)(nl - text) + 1 : n;
		rc = 0;
	}
	regex_run_free(run);
	regex_free(re);
	return rc < 0 ? -1 : count;
}

#endif
