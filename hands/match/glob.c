/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole patterns, as people write them: alternatives of their braces. Runs in read workers;
 * patterns come from the model, names from any file system. */
#include <stdlib.h>
#include <string.h>

#include "hands/match/glob_private.h"

struct alternative {
	struct glob_seq seq;
	const char *tail;	/* every match ends in these plain bytes */
	size_t ntail;
};
struct glob {
	struct alternative *alts;
	size_t nalts;
	char *text;		/* all alternatives, each with a NUL */
	unsigned how;		/* GLOB_BRACKET_NAMES, GLOB_BY_CHARACTER */
};

/* The plain bytes that end the pattern. A bracket may be part of a name: then none. */
static void
find_tail(struct alternative *a, const char *text, bool bracket_names)
{
	size_t n = strlen(text), at = n;

	while (at > 0 && strchr("*?]/\\", text[at - 1]) == NULL)
		at--;
	if (at > 0 && text[at - 1] == '\\')
		at++;			/* the escaped byte may be a wildcard */
	if (bracket_names && strchr(text, '[') != NULL)
		at = n;
	if (at > n)
		at = n;
	a->tail = text + at;
	a->ntail = n - at;
}

static int
make_alternatives(struct glob *g, const char *text, size_t count, unsigned flags)
{
	int rc = 0;

	g->alts = calloc(count, sizeof(*g->alts));
	if (g->alts == NULL)
		return -ATS_E_NOMEM;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct alternative *a = &g->alts[g->nalts++];
		const char *p = text;

		text += strlen(text) + 1;
		if ((flags & GLOB_ANYWHERE) != 0)
			if (strchr(p + 3, '/') != NULL)
				p += 3;	/* it has a slash of its own: drop our prefix */
		while (*p == '/' || (p[0] == '.' && p[1] == '/'))
			p++;
		find_tail(a, p, (g->how & GLOB_BRACKET_NAMES) != 0);
		rc = glob_seq_init(&a->seq, p, strlen(p));
	}
	return rc;
}

int
glob_new(const char *pattern, unsigned flags, struct glob **ret, struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	ATS_CLEANUP_BUF struct ats_buf start = { 0 };
	struct glob *g;
	size_t count = 0;
	int rc;

	rc = glob_braces_check(pattern, err);
	if (rc < 0)
		return rc;
	ats_buf_init(&text, 4u << 20);
	ats_buf_init(&start, 1u << 20);
	rc = ats_buf_addf(&start, "%s%s", (flags & GLOB_ANYWHERE) != 0 ? "**/" : "", pattern);
	if (rc == 0)
		rc = glob_braces_expand(start.data, &text, &count);
	if (rc == -ATS_E_TOOBIG)
		return ats_err_set(err, ATS_E_INVAL,
		    "invalid glob pattern: its braces give more than %u alternatives: "
		    "\"%.200s\"", GLOB_ALTERNATIVES_MAX, pattern);
	g = rc == 0 ? calloc(1, sizeof(*g)) : NULL;
	if (g == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	g->how = (flags & GLOB_BRACKET_NAMES) | GLOB_BY_CHARACTER;
	g->text = ats_buf_steal(&text, NULL);
	rc = g->text != NULL ? make_alternatives(g, g->text, count, flags) : -ATS_E_NOMEM;
	if (rc < 0) {
		glob_free(g);
		return rc == -ATS_E_TOOBIG ?
		    ats_err_set(err, ATS_E_INVAL, "invalid glob pattern: too many slashes") :
		    ats_err_set(err, ATS_E_NOMEM, "out of memory");
	}
	*ret = g;
	return 0;
}

void
glob_free(struct glob *g)
{
	if (g == NULL)
		return;
	for (size_t i = 0; i < g->nalts; i++)
		glob_seq_done(&g->alts[i].seq);
	free(g->alts);
	free(g->text);
	free(g);
}

bool
glob_match(const struct glob *g, const char *path, size_t n)
{
	for (size_t i = 0; i < g->nalts; i++) {
		const struct alternative *a = &g->alts[i];

		if (a->ntail > n || memcmp(path + n - a->ntail, a->tail, a->ntail) != 0)
			continue;
		if (glob_seq_match_how(&a->seq, path, n, g->how))
			return true;
	}
	return false;
}

bool
glob_may_descend(const struct glob *g, const char *dir, size_t n)
{
	for (size_t i = 0; i < g->nalts; i++)
		if (n == 0 || glob_seq_may_descend(&g->alts[i].seq, dir, n, g->how))
			return true;
	return false;
}
