/* SPDX-License-Identifier: Apache-2.0
 *
 * In which line a mistake of the configuration stands. What checks a value knows its name, not its
 * place: it is looked for in the text. Runs in ats-brain's main; the text is the user's. */
#include <stdio.h>
#include <string.h>

#include "brain/vault/config.h"

/* Past the member of that name after p, or NULL. A word in a comment or a string is none: no colon
 * follows it. */
static const char *
find_member(const char *p, const char *name, size_t n)
{
	for (; (p = strchr(p, '"')) != NULL; p++) {
		const char *end = p + 1 + n;

		if (strncmp(p + 1, name, n) != 0 || *end != '"')
			continue;
		end += 1 + strspn(end + 1, " \t\r\n");
		if (*end == ':')
			return end;
	}
	return NULL;
}

/* Of a name with dots, each in the one before; 0: it is not there. */
static unsigned
line_of(const char *text, const char *name, size_t n)
{
	const char *at = text;
	unsigned line = 1;

	while (n > 0) {
		const char *dot = memchr(name, '.', n);
		size_t part = dot != NULL ? (size_t)(dot - name) : n;

		at = find_member(at, name, part);
		if (at == NULL)
			return 0;
		name += part + (dot != NULL);
		n -= part + (dot != NULL);
	}
	for (const char *p = text; p < at; p++)
		line += *p == '\n';
	return line;
}

void
config_add_line(const char *file, const char *text, struct ats_err *err)
{
	size_t n = strlen(file);
	struct ats_err old;
	const char *what;
	unsigned line;

	if (strncmp(err->text, file, n) != 0 || strncmp(err->text + n, ": ", 2) != 0)
		return;
	old = *err;
	what = old.text + n + 2;
	/* "name" in quotes, or a name before a colon */
	if (strchr(what, '"') != NULL) {
		const char *name = strchr(what, '"') + 1;

		line = line_of(text, name, strcspn(name, "\""));
	} else {
		line = line_of(text, what, strcspn(what, ": "));
	}
	if (line > 0)
		(void)ats_err_set(err, old.code, "%s: line %u: %s", file, line, what);
}
