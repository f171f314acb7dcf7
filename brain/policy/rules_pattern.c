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

bool
command_pattern_match(const struct command_pattern *p, const char *s, size_t n)
{
	size_t at = 0, i = 0, star = SIZE_MAX, from = 0;

	for (;;) {
		bool more = i < n;

		if (at == p->n && (!more || (p->open && strchr(" \t\n", s[i]) != NULL)))
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
			return false;
		at = star;
		i = ++from;
	}
}
