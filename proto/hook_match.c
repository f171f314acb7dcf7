/* SPDX-License-Identifier: Apache-2.0
 *
 * Matchers of hooks. Runs in ats-brain at its start, in the engine, and in hands' read workers:
 * there a matcher is a repository's, and names are a client's everywhere. No pattern is compiled
 * to machine code, and what one may take is bounded. */
#include "proto/hooks.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#define NAME_MAX_BYTES 512u
#define STEPS_MAX 100000u
#define HEAP_KIB 1024u

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    c == '_' || c == '-';
}

static bool
is_all(const char *m)
{
	return m == NULL || m[0] == '\0' || strcmp(m, "*") == 0;
}

/* Words, and what may stand between them. */
static bool
is_list(const char *m)
{
	for (; *m != '\0'; m++)
		if (!is_word(*m) && *m != '|' && *m != ',' && *m != ' ')
			return false;
	return true;
}

static bool
is_in_list(const char *m, const char *name)
{
	size_t n = strlen(name);

	while (*m != '\0') {
		size_t len = strcspn(m, "|,"), from = 0, to = len;

		while (from < to && m[from] == ' ')
			from++;
		while (to > from && m[to - 1] == ' ')
			to--;
		if (to - from == n && n > 0 && memcmp(m + from, name, n) == 0)
			return true;
		m += len + (m[len] != '\0');
	}
	return false;
}

static pcre2_code *
compile(const char *m, int *ret_code, PCRE2_SIZE *ret_at)
{
	pcre2_compile_context *ctx = pcre2_compile_context_create(NULL);
	pcre2_code *re = NULL;

	*ret_code = PCRE2_ERROR_NOMEMORY;
	*ret_at = 0;
	if (ctx != NULL && pcre2_set_max_pattern_length(ctx, ATS_HOOK_MATCHER_MAX) == 0 &&
	    pcre2_set_parens_nest_limit(ctx, 32) == 0)
		re = pcre2_compile((PCRE2_SPTR)m, PCRE2_ZERO_TERMINATED,
		    PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, ret_code, ret_at, ctx);
	pcre2_compile_context_free(ctx);
	return re;
}

int
ats_hook_matcher_check(const char *matcher, struct ats_err *err)
{
	PCRE2_UCHAR why[120];
	PCRE2_SIZE at;
	pcre2_code *re;
	int code;

	if (is_all(matcher))
		return 0;
	if (strlen(matcher) > ATS_HOOK_MATCHER_MAX)
		return ats_err_set(err, ATS_E_INVAL, "a matcher has at most %u bytes",
		    ATS_HOOK_MATCHER_MAX);
	if (is_list(matcher))
		return 0;
	re = compile(matcher, &code, &at);
	if (re != NULL) {
		pcre2_code_free(re);
		return 0;
	}
	if (pcre2_get_error_message(code, why, sizeof(why)) < 0)
		why[0] = '\0';
	return ats_err_set(err, ATS_E_INVAL, "\"%.80s\" is no regular expression: %s, at byte %zu",
	    matcher, (const char *)why, (size_t)at);
}

static bool
finds(const pcre2_code *re, const char *name)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_match_context *ctx = pcre2_match_context_create(NULL);
	int rc = PCRE2_ERROR_NOMEMORY;

	if (data != NULL && ctx != NULL && pcre2_set_match_limit(ctx, STEPS_MAX) == 0 &&
	    pcre2_set_depth_limit(ctx, STEPS_MAX) == 0 && pcre2_set_heap_limit(ctx, HEAP_KIB) == 0)
		rc = pcre2_match(re, (PCRE2_SPTR)name, strlen(name), 0, 0, data, ctx);
	pcre2_match_data_free(data);
	pcre2_match_context_free(ctx);
	return rc != PCRE2_ERROR_NOMATCH;
}

bool
ats_hook_matches(const char *matcher, const char *name)
{
	PCRE2_SIZE at;
	pcre2_code *re;
	bool found;
	int code;

	if (is_all(matcher))
		return true;
	if (is_list(matcher))
		return is_in_list(matcher, name);
	if (strlen(name) > NAME_MAX_BYTES)
		return true;
	re = compile(matcher, &code, &at);
	if (re == NULL)
		return true;
	found = finds(re, name);
	pcre2_code_free(re);
	return found;
}
