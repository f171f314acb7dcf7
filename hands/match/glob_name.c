/* SPDX-License-Identifier: Apache-2.0
 *
 * A wildcard and one name. Runs in read workers; patterns come from the model or from a
 * .gitignore, names from any file system. No recursion over input: stars are matched by
 * going back to the last one only, which is enough. */
#include <ctype.h>
#include <string.h>

#include "hands/match/glob_private.h"

/* The next byte or character. A byte that is no UTF-8 is unlike any character. */
static uint32_t
take(const char **p, const char *end, unsigned how)
{
	unsigned char c = (unsigned char)**p;
	unsigned n = c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 ? 3 : 2;
	uint32_t v = c & (0x7fu >> n);

	(*p)++;
	if (c < 0x80 || (how & GLOB_BY_CHARACTER) == 0)
		return c;
	if (c < 0xc2 || c >= 0xf8 || end - *p < (long)n - 1)
		return 0x110000u + c;
	for (unsigned i = 0; i < n - 1; i++) {
		if (((unsigned char)(*p)[i] & 0xc0) != 0x80)
			return 0x110000u + c;
		v = v << 6 | ((unsigned char)(*p)[i] & 0x3f);
	}
	*p += n - 1;
	return v;
}

/* As git has them: ASCII only, and neither VT nor FF is a space. False: no such class. */
static bool
named_class(const char *name, size_t n, uint32_t c, bool *ret_hit)
{
	static const struct {
		const char *name;
		int (*is)(int);
	} classes[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
		{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
		{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(classes); i++)
		if (strlen(classes[i].name) == n && memcmp(classes[i].name, name, n) == 0) {
			*ret_hit |= c < 0x80 && classes[i].is((int)c) != 0 &&
			    (classes[i].is != isspace || (c != '\v' && c != '\f'));
			return true;
		}
	return false;
}

/* The first "]" decides, whatever follows: what a class spans is its own text's matter. */
const char *
glob_named_end(const char *p, const char *pe)
{
	const char *q;

	if (pe - p < 2 || p[1] != ':')
		return p;
	q = memchr(p + 2, ']', (size_t)(pe - p) - 2);
	if (q == NULL)
		return NULL;
	return q > p + 2 && q[-1] == ':' ? q + 1 : p;
}

/* The same; NULL also when the name is unknown: the pattern matches nothing then. */
static const char *
match_named(const char *p, const char *pe, uint32_t c, bool *hit)
{
	const char *q = glob_named_end(p, pe);

	if (q == NULL || q == p)
		return q;
	return named_class(p + 2, (size_t)(q - p) - 4, c, hit) ? q : NULL;
}

const char *
glob_name_class(const char *p, const char *pe, uint32_t c, unsigned how, bool *ret_hit)
{
	bool negated = false, hit = false, first = true;

	if (p < pe && (*p == '!' || *p == '^')) {
		negated = true;
		p++;
	}
	for (; p < pe && (first || *p != ']'); first = false) {
		uint32_t lo, hi;

		if (*p == '[') {
			const char *q = match_named(p, pe, c, &hit);

			if (q == NULL)
				return NULL;
			if (q > p) {
				p = q;
				continue;
			}
		}
		if (*p == '\\' && pe - p > 1)
			p++;
		lo = hi = take(&p, pe, how);
		if (pe - p > 1 && *p == '-' && p[1] != ']') {
			p++;
			if (*p == '\\' && pe - p > 1)
				p++;
			hi = take(&p, pe, how);
		}
		hit |= c == lo || (c > lo && c <= hi);	/* the first even if it is the larger */
	}
	if (p >= pe)
		return NULL;
	*ret_hit = hit != negated;
	return p + 1;
}

bool
glob_name_match(const char *pattern, size_t pn, const char *name, size_t nn, unsigned how)
{
	const char *p = pattern, *pe = pattern + pn, *s = name, *se = name + nn;
	const char *star = NULL, *star_s = NULL;

	for (;;) {
		bool hit = false;
		const char *next = NULL, *behind = s + 1;

		if (p < pe && *p == '*') {
			while (p < pe && *p == '*')
				p++;
			if (p == pe)
				return true;
			star = p;
			star_s = s;
			continue;
		}
		if (s == se)
			return p == pe;
		if (p < pe && *p == '?') {
			hit = true;
			next = p + 1;
			behind = s;
			(void)take(&behind, se, how);
		} else if (p < pe && *p == '[') {
			behind = s;
			next = glob_name_class(p + 1, pe, take(&behind, se, how), how, &hit);
			if (next == NULL)
				return false;
		} else if (p < pe && *p == '\\') {
			hit = pe - p > 1 && p[1] == *s;
			next = p + 2;
		} else if (p < pe) {
			hit = *p == *s;
			next = p + 1;
		}
		if (hit) {
			p = next;
			s = behind;
		} else if (star != NULL) {
			p = star;
			(void)take(&star_s, se, how);
			s = star_s;
		} else {
			return false;
		}
	}
}

bool
glob_segment(const char *pattern, size_t pn, const char *name, size_t nn)
{
	return glob_name_match(pattern, pn, name, nn, 0);
}

bool
glob_has_magic(const char *pattern, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strchr("*?[\\", pattern[i]) != NULL && pattern[i] != '\0')
			return true;
	return false;
}
