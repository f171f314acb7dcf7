/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one value of a git configuration: core.excludesFile. Runs in read workers; the text
 * is anybody's. */
#include "hands/match/gitrepo.h"

#include <string.h>
#include <strings.h>

struct config {
	const char *p, *end;
	bool in_core;
};
struct value {
	char *p;		/* NULL: nobody wants it */
	size_t n, size;
	size_t kept;		/* without blanks at the end */
	bool bad;
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool
is_name(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	    c == '.';
}

static void
skip_blanks(struct config *c)
{
	while (c->p < c->end && is_blank(*c->p))
		c->p++;
}

static void
skip_line(struct config *c)
{
	const char *nl = memchr(c->p, '\n', (size_t)(c->end - c->p));

	c->p = nl != NULL ? nl + 1 : c->end;
}

static bool
take_name(struct config *c, const char *want)
{
	const char *start = c->p;

	while (c->p < c->end && is_name(*c->p))
		c->p++;
	return (size_t)(c->p - start) == strlen(want) &&
	    strncasecmp(start, want, strlen(want)) == 0;
}

/* [core] or [core "of something"], which is another one. */
static void
take_section(struct config *c)
{
	c->p++;
	c->in_core = take_name(c, "core");
	if (c->p < c->end && *c->p == ']') {
		c->p++;
		return;
	}
	c->in_core = false;
	while (c->p < c->end && *c->p != '\n' && *c->p != ']') {
		/* A bracket may stand in the quotes, a quote behind a backslash. */
		if (*c->p++ != '"')
			continue;
		while (c->p < c->end && *c->p != '\n' && *c->p != '"')
			c->p += c->p[0] == '\\' && c->end - c->p > 1 && c->p[1] != '\n' ? 2 : 1;
		c->p += c->p < c->end && *c->p == '"';
	}
	c->p += c->p < c->end && *c->p == ']';
}

static void
add_char(struct value *v, char c, bool is_kept)
{
	if (v->p == NULL)
		return;
	if (v->n + 1 >= v->size || c == '\0') {
		v->bad = true;
		return;
	}
	v->p[v->n++] = c;
	if (is_kept)
		v->kept = v->n;
}

/* p is at a backslash. */
static void
take_escape(struct config *c, struct value *v)
{
	static const char pairs[] = "t\tn\nb\b\\\\\"\"";

	c->p++;
	if (c->p < c->end && *c->p == '\r' && c->end - c->p > 1 && c->p[1] == '\n')
		c->p++;
	if (c->p == c->end || *c->p == '\n') {		/* the value goes on */
		c->p += c->p < c->end;
		return;
	}
	for (size_t i = 0; pairs[i] != '\0'; i += 2)
		if (pairs[i] == *c->p) {
			add_char(v, pairs[i + 1], true);
			c->p++;
			return;
		}
	v->bad = true;
}

/* Behind the "=": to the end of the line. */
static void
take_value(struct config *c, struct value *v)
{
	bool quoted = false;

	skip_blanks(c);
	while (c->p < c->end && *c->p != '\n' && !v->bad) {
		if (*c->p == '\\') {
			take_escape(c, v);
		} else if (*c->p == '"') {
			quoted = !quoted;
			c->p++;
		} else if (!quoted && (*c->p == '#' || *c->p == ';')) {
			break;
		} else {
			if (!is_blank(*c->p) || quoted || v->n > 0)
				add_char(v, *c->p, quoted || !is_blank(*c->p));
			c->p++;
		}
	}
	v->bad = v->bad || quoted;
	skip_line(c);
}

/* Behind the name. False: git refuses the whole file. */
static bool
take_setting(struct config *c, char *ret, size_t size)
{
	struct value v = { .p = ret, .size = size };

	skip_blanks(c);
	if (c->p == c->end || *c->p != '=') {
		skip_line(c);		/* a name alone is a true */
		return ret == NULL;
	}
	c->p++;
	take_value(c, &v);
	if (ret != NULL)
		ret[v.kept] = '\0';
	return !v.bad;
}

bool
gitrepo_config_value(const char *text, size_t n, char *ret, size_t size)
{
	struct config c = { .p = text, .end = text + n };
	bool found = false;

	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		c.p += 3;
	while (c.p < c.end) {
		skip_blanks(&c);
		if (c.p < c.end && *c.p == '[') {
			take_section(&c);
		} else if (c.p < c.end && is_name(*c.p)) {
			bool is_wanted = take_name(&c, "excludesFile") && c.in_core;

			if (!take_setting(&c, is_wanted ? ret : NULL, size))
				return false;
			found = found || is_wanted;
		} else {
			skip_line(&c);
		}
	}
	return found;
}
