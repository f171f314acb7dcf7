/* SPDX-License-Identifier: Apache-2.0
 *
 * Wildcards over the components of a path. Runs in read workers; patterns come from the
 * model or from a .gitignore, names from any file system. No recursion over input: of
 * several ** only the last one is gone back to. */
#include <stdlib.h>
#include <string.h>

#include "hands/match/glob_private.h"

struct glob_part {
	const char *p;
	size_t n;
	bool any_depth;		/* ** */
	bool plain;		/* no wildcard and no backslash */
	bool ending;		/* a star, and plain bytes behind it */
};

static bool
only_stars(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != '*')
			return false;
	return n > 1;
}

/* Where the component at p ends: a slash in a class or behind a backslash is not its end in
 * the first case and is in the second, where *ret_escaped says so. */
static const char *
part_end(const char *p, const char *end, bool *ret_escaped)
{
	*ret_escaped = false;
	while (p < end && *p != '/') {
		if (*p == '[') {
			bool ignored;
			const char *q = glob_name_class(p + 1, end, 0, 0, &ignored);

			p = q != NULL ? q : p + 1;
		} else if (*p == '\\' && end - p > 1) {
			if (p[1] == '/') {
				*ret_escaped = true;
				return p;
			}
			p += 2;
		} else {
			p++;
		}
	}
	return p;
}

static void
add_part(struct glob_seq *s, const char *p, size_t n)
{
	struct glob_part *part = &s->parts[s->nparts++];

	part->p = p;
	part->n = n;
	part->any_depth = only_stars(p, n);
	if (part->any_depth)
		s->last_any = s->nparts - 1;
	part->plain = !glob_has_magic(p, n);
	/* The star takes whole characters, the rest must begin with one. */
	part->ending = n > 1 && p[0] == '*' && ((unsigned char)p[1] & 0xc0) != 0x80 &&
	    !glob_has_magic(p + 1, n - 1);
}

int
glob_seq_init(struct glob_seq *s, const char *text, size_t n)
{
	const char *p = text, *end = text + n;
	size_t count = 1;

	s->parts = NULL;
	s->nparts = s->last_any = 0;
	for (size_t i = 0; i < n; i++)
		count += text[i] == '/';
	if (count > GLOB_PARTS_MAX)
		return -ATS_E_TOOBIG;
	s->parts = calloc(2 * count, sizeof(*s->parts));
	if (s->parts == NULL)
		return -ATS_E_NOMEM;
	for (;;) {
		bool escaped;
		const char *e = part_end(p, end, &escaped);

		/* Before a slash with a backslash ** stands for one component at least. */
		if (escaped && only_stars(p, (size_t)(e - p)))
			add_part(s, "*", 1);
		add_part(s, p, (size_t)(e - p));
		if (e == end)
			return 0;
		p = e + (escaped ? 2 : 1);
	}
}

void
glob_seq_done(struct glob_seq *s)
{
	free(s->parts);
	s->parts = NULL;
	s->nparts = 0;
}

static bool
part_match(const struct glob_part *p, const char *name, size_t n, unsigned how)
{
	if (p->ending)
		return n >= p->n - 1 && memcmp(name + n - (p->n - 1), p->p + 1, p->n - 1) == 0;
	if (p->plain || (how & GLOB_BRACKET_NAMES) != 0)
		if (p->n == n && memcmp(p->p, name, n) == 0)
			return true;
	return !p->plain && glob_name_match(p->p, p->n, name, n, how);
}

static size_t
component_end(const char *path, size_t at, size_t n)
{
	const char *slash = memchr(path + at, '/', n - at);

	return slash != NULL ? (size_t)(slash - path) : n;
}

/* Whether path[at, n) ends in components that match the parts from part on, behind a ** and
 * without another: each has only one that it can be. */
static bool
match_end(const struct glob_seq *s, size_t part, const char *path, size_t at, size_t n,
    unsigned how)
{
	for (size_t end = n, i = s->nparts; i-- > part;) {
		const char *slash = memrchr(path + at, '/', end - at);
		size_t from = slash != NULL ? (size_t)(slash - path) + 1 : at;

		if (!part_match(&s->parts[i], path + from, end - from, how))
			return false;
		if (from == at)
			return i == part;
		end = from - 1;
	}
	return true;
}

bool
glob_seq_match_how(const struct glob_seq *s, const char *path, size_t n, unsigned how)
{
	size_t part = 0, at = 0, star = SIZE_MAX, star_at = 0;

	if (n == 0)
		return false;
	for (;;) {
		size_t end;

		if (at > n)
			return part == s->nparts;
		if (part < s->nparts && s->parts[part].any_depth) {
			if (part == s->nparts - 1)
				return true;
			if (part >= s->last_any)
				return match_end(s, part + 1, path, at, n, how);
			star = part++;
			star_at = at;
			continue;
		}
		end = component_end(path, at, n);
		if (part < s->nparts &&
		    part_match(&s->parts[part], path + at, end - at, how)) {
			part++;
			at = end + 1;
			continue;
		}
		if (star == SIZE_MAX)
			return false;
		star_at = component_end(path, star_at, n) + 1;
		if (star_at > n)
			return false;
		at = star_at;
		part = star + 1;
	}
}

bool
glob_seq_match(const struct glob_seq *s, const char *path, size_t n)
{
	size_t stars = 0;

	while (n == 0 && stars < s->nparts && s->parts[stars].any_depth)
		stars++;
	/* Behind them a star may stand for nothing; a slash at the end makes an empty name. */
	if (n == 0 && stars + 1 == s->nparts)
		stars += s->parts[stars].n == 0 ? stars > 0 :
		    s->parts[stars].n == 1 && s->parts[stars].p[0] == '*';
	return (n == 0 && stars == s->nparts) || glob_seq_match_how(s, path, n, 0);
}

bool
glob_seq_may_descend(const struct glob_seq *s, const char *dir, size_t n, unsigned how)
{
	size_t part = 0, at = 0;

	for (; at <= n && part < s->nparts; part++) {
		size_t end;

		if (s->parts[part].any_depth)
			return true;
		end = component_end(dir, at, n);
		if (!part_match(&s->parts[part], dir + at, end - at, how))
			return false;
		at = end + 1;
	}
	return at > n && part < s->nparts;
}
