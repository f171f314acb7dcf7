/* SPDX-License-Identifier: Apache-2.0
 *
 * Comments in configuration files. Runs in atsctl and in ats-brain before it has
 * children; the user's own file is the input. */
#include "common/json.h"

#include <string.h>

/* Length of the comment at s, 0 if there is none, or n + 1 if it does not end. */
static size_t
comment_len(const char *s, size_t n)
{
	const char *p;

	if (n < 2 || s[0] != '/')
		return 0;
	if (s[1] == '/') {
		p = memchr(s, '\n', n);
		return p != NULL ? (size_t)(p - s) : n;
	}
	if (s[1] != '*')
		return 0;
	p = memmem(s + 2, n - 2, "*/", 2);
	return p != NULL ? (size_t)(p - s) + 2 : n + 1;
}

static size_t
string_len(const char *s, size_t n)
{
	size_t i = 1;

	while (i < n && s[i] != '"')
		i += s[i] == '\\' ? 2 : 1;
	return i < n ? i + 1 : n;
}

int
ats_json_uncomment(struct ats_buf *out, const char *s, size_t n)
{
	size_t was = out->len, run;
	char *to;
	int rc = ats_buf_reserve(out, n, &to);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i += run) {
		run = comment_len(s + i, n - i);
		if (run > n - i) {
			ats_buf_truncate(out, was);
			return -ATS_E_JSON;
		}
		if (run > 0) {
			for (size_t k = 0; k < run; k++)
				to[i + k] = s[i + k] == '\n' ? '\n' : ' ';
			continue;
		}
		run = s[i] == '"' ? string_len(s + i, n - i) : 1;
		memcpy(to + i, s + i, run);
	}
	ats_buf_commit(out, n);
	return 0;
}
