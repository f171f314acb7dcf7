/* SPDX-License-Identifier: Apache-2.0
 *
 * The pattern of Read(...) and Edit(...), as a line of a .gitignore: what matches a directory
 * matches all beneath it. Linked into vault and engine; the configuration writes patterns, models
 * the paths. All ways to match are followed at once, one character after the other: the time is
 * the product of both lengths at most. Paths are compared as they are written: what a link in the
 * workspace leads to is not known here. */
#include <string.h>

#include "brain/policy/rules_private.h"
#include "common/fault.h"
#include "common/path.h"

enum token_kind {
	LITERAL,	/* one character */
	ANY,		/* one, but no slash */
	CLASS,		/* one of a set, no slash */
	STAR,		/* any number, no slash */
	DIRS,		/* no or any directories: goes on behind the next token, too */
	IN_DIRS		/* characters of these directories */
};
struct token {
	unsigned char kind;
	unsigned char literal;
	unsigned char set[32];		/* a bit a character */
};
struct path_pattern {
	enum { WORKSPACE, HOME, ROOT, NAME } base;	/* NAME: in any directory */
	size_t n;
	struct token t[];
};

static int
bad(struct ats_err *err, const char *why)
{
	return ats_err_set(err, ATS_E_INVAL, "the pattern of files %s", why);
}

/* s is behind a [; returns the place behind the ], or NULL. */
static const char *
read_class(const char *s, struct token *t)
{
	bool not = *s == '!' || *s == '^';
	const char *start;

	t->kind = CLASS;
	for (start = s += not; *s != '\0' && (*s != ']' || s == start); s++) {
		unsigned lo, hi;

		if (*s == '\\' && s[1] != '\0')
			s++;
		lo = hi = (unsigned char)*s;
		if (s[1] == '-' && s[2] != ']' && s[2] != '\0') {
			s += 2;
			hi = (unsigned char)*s;
		}
		for (; lo <= hi; lo++)
			t->set[lo / 8] = (unsigned char)(t->set[lo / 8] | 1u << lo % 8);
	}
	for (unsigned i = 0; not && i < sizeof(t->set); i++)
		t->set[i] = (unsigned char)~t->set[i];
	t->set['/' / 8] = (unsigned char)(t->set['/' / 8] & ~(1u << '/' % 8));
	return *s == ']' ? s + 1 : NULL;
}

static int
read_tokens(struct path_pattern *p, const char *s, struct ats_err *err)
{
	bool start = true;

	while (*s != '\0') {
		struct token *t = &p->t[p->n++];

		if (start && strncmp(s, "**/", 3) == 0) {
			t->kind = DIRS;
			p->t[p->n++].kind = IN_DIRS;
			s += 3;
			continue;
		}
		start = *s == '/';
		if (*s == '*') {
			t->kind = STAR;
			while (*s == '*')
				s++;
		} else if (*s == '?') {
			t->kind = ANY;
			s++;
		} else if (*s == '[') {
			s = read_class(s + 1, t);
			if (s == NULL)
				return bad(err, "has a [ without its ]; \\[ is the character");
		} else {
			if (*s == '\\' && *++s == '\0')
				return bad(err, "ends in a backslash");
			t->literal = (unsigned char)*s++;
		}
	}
	return 0;
}

/* Where a pattern begins, and the rest of it. */
static const char *
read_base(const char *s, struct path_pattern *p)
{
	if (strncmp(s, "//", 2) == 0) {
		p->base = ROOT;
		return s + 2;
	}
	if (strncmp(s, "~/", 2) == 0) {
		p->base = HOME;
		return s + 2;
	}
	p->base = WORKSPACE;
	if (*s == '/')
		return s + 1;
	if (strncmp(s, "./", 2) == 0)
		return s + 2;
	if (strncmp(s, "**/", 3) == 0 && strchr(s + 3, '/') == NULL && strcmp(s + 3, "**") != 0)
		s += 3;
	if (strchr(s, '/') == NULL && strcmp(s, "**") != 0)
		p->base = NAME;
	return s;
}

static bool
has_component(const char *s, const char *name)
{
	size_t n = strlen(name);

	while (*s != '\0') {
		if (strcspn(s, "/") == n && strncmp(s, name, n) == 0)
			return true;
		s += strcspn(s, "/");
		s += *s == '/';
	}
	return false;
}

/* dir/ and dir and all in it are the same here. */
static void
trim_end(char *s)
{
	size_t n = strlen(s);

	for (;;) {
		if (n > 0 && s[n - 1] == '/')
			s[--n] = '\0';
		else if (n >= 3 && strcmp(s + n - 3, "/**") == 0)
			s[n -= 3] = '\0';
		else
			break;
	}
	if (strcmp(s, "**") == 0)
		*s = '\0';
}

int
path_pattern_new(const char *spec, struct path_pattern **ret, struct ats_err *err)
{
	char text[POLICY_RULE_MAX + 1], *at;
	struct path_pattern *p;
	size_t n = strlen(spec);
	int rc;

	if (n >= sizeof(text))
		return bad(err, "is too long");
	if (*spec == '!')
		return bad(err, "begins with !: give what is not meant a rule of another list");
	if (has_component(spec, "..") || (has_component(spec, ".") && strncmp(spec, "./", 2) != 0))
		return bad(err, "has . or .. in it; write //abs, ~/in/home or in/workspace");
	p = ats_calloc(1, sizeof(*p) + (n + 4) * sizeof(p->t[0]));
	if (p == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "rule");
	memcpy(text, spec, n + 1);
	if (n > 1 && text[n - 1] == '/' && strchr(text, '/') == text + n - 1)
		text[n - 1] = '\0';		/* name/ is one in any directory, too */
	at = text + (read_base(text, p) - text);
	if (p->base == NAME) {
		p->t[p->n++].kind = DIRS;
		p->t[p->n++].kind = IN_DIRS;
	} else {
		trim_end(at);
	}
	rc = read_tokens(p, at, err);
	if (rc < 0) {
		path_pattern_free(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void
path_pattern_free(struct path_pattern *p)
{
	free(p);
}

/* ---- matching ------------------------------------------------------------------------------ */

/* A place in the pattern and those that are reached from it without a character. */
static void
reach(const struct path_pattern *p, bool *at, size_t i)
{
	for (; !at[i]; i++) {
		at[i] = true;
		if (i == p->n || (p->t[i].kind != STAR && p->t[i].kind != DIRS))
			return;
		if (p->t[i].kind == DIRS) {
			at[i + 1] = true;	/* IN_DIRS */
			i++;
		}
	}
}

static bool
takes(const struct token *t, unsigned char c)
{
	switch ((enum token_kind)t->kind) {
	case LITERAL:
		return t->literal == c;
	case ANY:
	case STAR:
		return c != '/';
	case CLASS:
		return (t->set[c / 8] >> c % 8 & 1) != 0;
	case IN_DIRS:
		return true;
	default:
		return false;
	}
}

static bool
match(const struct path_pattern *p, const char *s)
{
	bool sets[2][POLICY_RULE_MAX + 8] = { { false } }, *now = sets[0], *then = sets[1], *swap;

	reach(p, now, 0);
	for (; *s != '\0'; s++) {
		if (*s == '/' && now[p->n])
			return true;		/* a directory that it is in */
		memset(then, 0, sizeof(sets[0]));
		for (size_t i = 0; i < p->n; i++) {
			if (!now[i] || !takes(&p->t[i], (unsigned char)*s))
				continue;
			if (p->t[i].kind == STAR) {
				reach(p, then, i);
			} else if (p->t[i].kind != IN_DIRS) {
				reach(p, then, i + 1);
			} else {
				then[i] = true;
				if (*s == '/')
					reach(p, then, i + 1);
			}
		}
		swap = now;
		now = then;
		then = swap;
	}
	return now[p->n];
}

bool
path_pattern_match(const struct path_pattern *p, const struct policy_call *call,
    const char *path, bool anywhere)
{
	const char *base = p->base == ROOT || (p->base == NAME && anywhere) ? "/" :
	    p->base == HOME ? call->home : call->workspace;
	const char *below = base == NULL ? NULL : ats_path_below(base, path);

	if (below == NULL)
		return false;
	if (p->n == 0)
		return true;
	return strcmp(below, ".") != 0 && match(p, below);
}
