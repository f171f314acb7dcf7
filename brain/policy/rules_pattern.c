/* SPDX-License-Identifier: Apache-2.0
 *
 * The pattern of Bash(...): text in which * stands for any characters, and an end that may be
 * open at a word's boundary. Linked into vault and engine; the configuration writes patterns,
 * models the commands. */
#include <stdint.h>
#include <string.h>

#include "brain/policy/rules_private.h"
#include "common/fault.h"

struct command_pattern {
	bool open;			/* more words may follow */
	size_t n;
	char s[];
};

struct command_pattern *
command_pattern_new(const char *spec)
{
	size_t n = strlen(spec);
	struct command_pattern *p = ats_malloc(sizeof(*p) + n + 1);

	if (p == NULL)
		return NULL;
	memcpy(p->s, spec, n + 1);
	p->n = n;
	p->open = n > 2 && p->s[n - 1] == '*' && (p->s[n - 2] == ':' || p->s[n - 2] == ' ');
	if (p->open)
		p->n -= 2;
	return p;
}

void
command_pattern_free(struct command_pattern *p)
{
	free(p);
}

/* A match that begins at *at. False, and *at is where the next one is to be tried, or behind n:
 * once a star is reached, what does not follow here follows from no later place. */
static bool
match_from(const struct command_pattern *p, const char *s, size_t n, const unsigned char *marks,
    size_t *at_s)
{
	size_t at = 0, i = *at_s, star = SIZE_MAX, from = 0;

	for (;;) {
		bool more = i < n, end = marks == NULL ? !more : (marks[i] & COMMAND_TO) != 0;

		if (at == p->n && (end || (p->open && more && strchr(" \t\n", s[i]) != NULL)))
			return true;
		if (at < p->n && p->s[at] == '*') {
			star = ++at;		/* first it stands for nothing */
			from = i;
			continue;
		}
		if (at < p->n && more) {
			bool literal = p->s[at] == '\\' && at + 1 < p->n && p->s[at + 1] == '*';

			if (s[i] == p->s[at + literal]) {
				at += 1 + literal;
				i++;
				continue;
			}
		}
		if (star == SIZE_MAX || from == n)
			break;
		at = star;
		i = ++from;
	}
	*at_s = star == SIZE_MAX ? *at_s + 1 : n + 1;
	return false;
}

bool
command_pattern_match(const struct command_pattern *p, const char *s, size_t n,
    const unsigned char *marks)
{
	size_t at = 0;

	if (marks == NULL)
		return match_from(p, s, n, NULL, &at);
	while (at <= n) {
		if ((marks[at] & COMMAND_FROM) == 0)
			at++;
		else if (match_from(p, s, n, marks, &at))
			return true;
	}
	return false;
}
