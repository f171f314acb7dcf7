/* SPDX-License-Identifier: Apache-2.0
 *
 * The form of a pattern, and its braces. Runs in read workers; patterns come from
 * the model. No recursion over input. */
#include <string.h>

#include "hands/match/glob_private.h"

static int
bad(struct ats_err *err, const char *pattern, const char *at, const char *what)
{
	return ats_err_set(err, ATS_E_INVAL, "invalid glob pattern: %s at byte %zu of \"%.200s\"",
	    what, (size_t)(at - pattern) + 1, pattern);
}

/* p is at a '['. Returns the byte behind the class, or NULL with *ret_bad_range. */
static const char *
skip_class(const char *p, const char **ret_bad_range)
{
	const char *q = p + 1;
	bool first = true;

	if (*q == '!' || *q == '^')
		q++;
	for (; *q != '\0' && (first || *q != ']'); first = false) {
		unsigned char lo;

		if (*q == '[') {
			const char *e = glob_named_end(q, q + strlen(q));

			if (e == NULL)
				return NULL;
			if (e > q) {
				q = e;
				continue;
			}
		}
		if (*q == '\\' && q[1] != '\0')
			q++;
		lo = (unsigned char)*q++;
		if (*q == '-' && q[1] != ']' && q[1] != '\0') {
			q++;
			if (*q == '\\' && q[1] != '\0')
				q++;
			if ((unsigned char)*q < lo)
				*ret_bad_range = q;
			q++;
		}
	}
	return *q == ']' ? q + 1 : NULL;
}

int
glob_braces_check(const char *pattern, struct ats_err *err)
{
	const char *open[32], *bad_range = NULL;
	size_t depth = 0;

	for (const char *p = pattern; *p != '\0';) {
		if (*p == '\\') {
			if (p[1] == '\0')
				return bad(err, pattern, p, "a backslash at the end");
			p += 2;
		} else if (*p == '[') {
			const char *e = skip_class(p, &bad_range);

			if (e == NULL)
				return bad(err, pattern, p, "[ without ]");
			if (bad_range != NULL)
				return bad(err, pattern, bad_range, "a range that runs backwards");
			p = e;
		} else if (*p == '{') {
			if (depth == ATS_ARRAY_LEN(open))
				return bad(err, pattern, p, "braces nested too deep");
			open[depth++] = p++;
		} else {
			if (*p == '}' && depth > 0)
				depth--;
			p++;
		}
	}
	if (depth > 0)
		return bad(err, pattern, open[depth - 1], "{ without }");
	return 0;
}

/* The next byte that is neither escaped nor in a class: steps over one unit. */
static const char *
step(const char *p)
{
	const char *ignored = NULL, *e;

	if (*p == '\\')
		return p + 2;
	if (*p == '[') {
		e = skip_class(p, &ignored);
		return e != NULL ? e : p + 1;
	}
	return p + 1;
}

static const char *
next_brace(const char *p)
{
	while (*p != '\0' && *p != '{')
		p = step(p);
	return *p != '\0' ? p : NULL;
}

/* Replaces the first brace group of pattern by each of its members, in order, into out. */
static int
expand_one(const char *pattern, const char *brace, struct ats_buf *out)
{
	const char *p = brace + 1, *member = p, *close = p;
	size_t depth = 1;
	int rc = 0;

	while (depth > 0) {			/* checked: there is one */
		depth += *close == '{';
		depth -= *close == '}';
		if (depth > 0)
			close = step(close);
	}
	while (rc == 0 && p <= close) {
		if (depth == 0 && (*p == ',' || p == close)) {
			rc = ats_buf_add(out, pattern, (size_t)(brace - pattern));
			if (rc == 0)
				rc = ats_buf_add(out, member, (size_t)(p - member));
			if (rc == 0)
				rc = ats_buf_add(out, close + 1, strlen(close + 1) + 1);
			member = p + 1;
		}
		depth += *p == '{';
		depth -= *p == '}' && p != close;
		p = step(p);
	}
	return rc;
}

/* Expands until no brace is left; *ret_count alternatives, each with a NUL, in *text. */
int
glob_braces_expand(const char *pattern, struct ats_buf *text, size_t *ret_count)
{
	struct ats_buf next;
	bool again = true;
	size_t count = 1;
	int rc = ats_buf_add(text, pattern, strlen(pattern) + 1);

	ats_buf_init(&next, text->max);
	while (rc == 0 && again) {
		again = false;
		count = 0;
		for (size_t at = 0; rc == 0 && at < text->len; count++) {
			const char *p = text->data + at, *brace = next_brace(p);

			at += strlen(p) + 1;
			if (brace == NULL) {
				rc = ats_buf_add(&next, p, strlen(p) + 1);
			} else {
				rc = expand_one(p, brace, &next);
				again = true;
			}
		}
		if (count > GLOB_ALTERNATIVES_MAX)
			rc = -ATS_E_TOOBIG;
		if (rc == 0) {
			struct ats_buf swap = *text;

			*text = next;
			next = swap;
			ats_buf_truncate(&next, 0);
		}
	}
	ats_buf_done(&next);
	*ret_count = count;
	return rc;
}
