/* SPDX-License-Identifier: Apache-2.0
 *
 * File filters. Runs in read workers; the patterns are the model's. */
#include "hands/match/filter.h"

#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "hands/match/glob.h"
#include "hands/match/types.h"

struct filter {
	struct glob *globs[FILTER_GLOBS_MAX];
	bool exclude[FILTER_GLOBS_MAX];
	size_t nglobs, nincludes;
	const struct type_row *type;
	size_t place;		/* bytes of a path before what lies below the place */
	char *cwd;		/* cwd below the root with a slash, or NULL: not there */
	size_t cwd_len;
};

/* The end of the pattern at p: a blank or comma that is in no brackets. */
static const char *
pattern_end(const char *p)
{
	unsigned braces = 0;
	bool class = false;

	for (; *p != '\0'; p++) {
		if (*p == '\\' && p[1] != '\0') {
			p++;
			continue;
		}
		if (class) {
			class = *p != ']';
			continue;
		}
		class = *p == '[' && strchr(p, ']') != NULL;
		braces += *p == '{';
		braces -= *p == '}' && braces > 0;
		if (braces == 0 && strchr(", \t\n", *p) != NULL)
			break;
	}
	return p;
}

/* Cuts what an absolute pattern has in common with the place. */
static const char *
relative(const char *pattern, const char *place)
{
	size_t n = strlen(place);

	if (strncmp(pattern, place, n) == 0 && pattern[n] == '/')
		return pattern + n;	/* its slash still anchors it */
	return pattern;
}

static int
add_glob(struct filter *f, const char *p, size_t n, const struct fs_place *pl,
    struct ats_err *err)
{
	char text[4096 + 8];
	bool exclude = n > 1 && *p == '!';
	const char *pattern;
	int rc;

	p += exclude;
	n -= exclude;
	if (f->nglobs == FILTER_GLOBS_MAX)
		return ats_err_set(err, ATS_E_INVAL, "glob: more than %u patterns",
		    FILTER_GLOBS_MAX);
	memcpy(text, p, n);
	text[n] = '\0';
	/* "dir/" means what is in it; excluded, the directory itself is enough. */
	if (n > 1 && text[n - 1] == '/') {
		if (exclude)
			text[n - 1] = '\0';
		else
			memcpy(text + n, "**", 3);
	}
	pattern = relative(text, pl->path);
	rc = glob_new(pattern, GLOB_ANYWHERE | GLOB_BRACKET_NAMES, &f->globs[f->nglobs], err);
	if (rc < 0)
		return rc;
	f->exclude[f->nglobs++] = exclude;
	f->nincludes += !exclude;
	return 0;
}

int
filter_new(const char *globs, const char *type, const struct tool_env *env,
    const struct fs_place *pl, struct filter **ret, struct ats_err *err)
{
	const char *below = ats_path_below(pl->root->path, env->cwd);
	struct filter *f;
	int rc = 0;

	*ret = NULL;
	if (globs == NULL && type == NULL)
		return 0;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "out of memory");
	f->place = strcmp(pl->rel, ".") == 0 ? 0 : strlen(pl->rel) + 1;
	if (below != NULL && strcmp(below, ".") != 0) {
		f->cwd_len = strlen(below) + 1;
		f->cwd = malloc(f->cwd_len + 1);
		if (f->cwd == NULL)
			rc = ats_err_set(err, ATS_E_NOMEM, "out of memory");
		else
			memcpy(mempcpy(f->cwd, below, f->cwd_len - 1), "/", 2);
	} else if (below != NULL) {
		f->cwd = strdup("");
	}
	for (const char *p = globs; rc == 0 && p != NULL && *p != '\0';) {
		const char *e = pattern_end(p);

		if (e > p)
			rc = add_glob(f, p, (size_t)(e - p), pl, err);
		p = *e != '\0' ? e + 1 : e;
	}
	if (rc == 0 && type != NULL) {
		f->type = type_find(type, err);
		if (f->type == NULL)
			rc = -ATS_E_INVAL;
	}
	if (rc < 0) {
		filter_free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void
filter_free(struct filter *f)
{
	if (f == NULL)
		return;
	for (size_t i = 0; i < f->nglobs; i++)
		glob_free(f->globs[i]);
	free(f->cwd);
	free(f);
}

/* The path as the place and as cwd see it; test is glob_match or glob_may_descend. */
static bool
seen(const struct filter *f, size_t i, const char *path, size_t n,
    bool (*test)(const struct glob *, const char *, size_t))
{
	if (n > f->place && test(f->globs[i], path + f->place, n - f->place))
		return true;
	return f->cwd != NULL && f->cwd_len != f->place && n > f->cwd_len &&
	    memcmp(path, f->cwd, f->cwd_len) == 0 &&
	    test(f->globs[i], path + f->cwd_len, n - f->cwd_len);
}

static bool
excluded(const struct filter *f, const char *path, size_t n)
{
	if (f->nincludes == f->nglobs)
		return false;
	for (size_t i = 0; i < f->nglobs; i++)
		if (f->exclude[i] && seen(f, i, path, n, glob_match))
			return true;
	return false;
}

bool
filter_enter(const struct filter *f, const char *dir, size_t n)
{
	if (excluded(f, dir, n))
		return false;
	for (size_t i = 0; i < f->nglobs; i++)
		if (!f->exclude[i] && seen(f, i, dir, n, glob_may_descend))
			return true;
	return f->nincludes == 0;
}

bool
filter_pick(const struct filter *f, const char *path, size_t n)
{
	const char *name;

	if (f->type != NULL) {
		name = memrchr(path, '/', n);
		name = name != NULL ? name + 1 : path;
		if (!type_matches(f->type, name, n - (size_t)(name - path)))
			return false;
	}
	if (excluded(f, path, n))
		return false;
	for (size_t i = 0; i < f->nglobs; i++)
		if (!f->exclude[i] && seen(f, i, path, n, glob_match))
			return true;
	return f->nincludes == 0;
}
