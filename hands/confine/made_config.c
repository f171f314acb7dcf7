/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a git configuration one that git itself wrote into a new repository? Runs where made.c does;
 * the text is a tool's. An allow list of whole lines, far less than git would read: a line that is
 * not understood is a line that is not allowed. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/err.h"
#include "hands/confine/made.h"

#define LINE_MAX_BYTES 1024

static const struct {
	const char *section, *key;
	bool has_name;		/* [section "name"] */
} allowed[] = {
	{ "core", "repositoryformatversion", false }, { "core", "filemode", false },
	{ "core", "bare", false }, { "core", "logallrefupdates", false },
	{ "core", "ignorecase", false }, { "core", "precomposeunicode", false },
	{ "core", "symlinks", false }, { "core", "sharedrepository", false },
	{ "extensions", "objectformat", false }, { "extensions", "partialclone", false },
	{ "lfs", "repositoryformatversion", false },
	{ "user", "name", false }, { "user", "email", false },
	{ "init", "defaultbranch", false }, { "pull", "rebase", false },
	{ "remote", "url", true }, { "remote", "pushurl", true }, { "remote", "fetch", true },
	{ "remote", "tagopt", true }, { "remote", "promisor", true },
	{ "remote", "partialclonefilter", true },
	{ "branch", "remote", true }, { "branch", "merge", true }, { "branch", "rebase", true },
	{ "submodule", "url", true }, { "submodule", "active", true },
};

struct section {
	char word[32];		/* "": none yet, or not understood */
	bool has_name;
};

static const char *
skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

/* [word] or [word "name"], and nothing behind it. */
static bool
take_section(const char *p, struct section *ret)
{
	size_t n = strspn(++p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	if (n == 0 || n >= sizeof(ret->word))
		return false;
	memcpy(ret->word, p, n);
	ret->word[n] = '\0';
	p += n;
	ret->has_name = *p == ' ';
	if (ret->has_name) {
		if (p[1] != '"')
			return false;
		p += 2;
		p += strcspn(p, "\"\\[]");
		if (*p++ != '"')
			return false;
	}
	return *p == ']' && *skip_blanks(p + 1) == '\0';
}

static bool
key_is_plain(const char *p, const struct section *s, bool inner)
{
	size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	const char *value = skip_blanks(p + n);

	if (n == 0 || *value++ != '=')
		return false;
	value = skip_blanks(value);
	if (inner && !s->has_name && strcasecmp(s->word, "core") == 0 && n == 8 &&
	    strncasecmp(p, "worktree", n) == 0)
		return strncmp(value, "../", 3) == 0;
	for (size_t i = 0; i < ATS_ARRAY_LEN(allowed); i++)
		if (allowed[i].has_name == s->has_name &&
		    strcasecmp(allowed[i].section, s->word) == 0 &&
		    strlen(allowed[i].key) == n && strncasecmp(allowed[i].key, p, n) == 0)
			return true;
	return false;
}

/* A backslash could join it with the next one. */
static bool
line_is_plain(const char *line, size_t n, struct section *s, bool inner)
{
	char text[LINE_MAX_BYTES];
	const char *p;

	if (n >= sizeof(text) || (n > 0 && line[n - 1] == '\\'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)line[i]) && line[i] != '\t')
			return false;
	memcpy(text, line, n);
	text[n] = '\0';
	p = skip_blanks(text);
	if (*p == '\0' || *p == '#' || *p == ';')
		return true;
	return *p == '[' ? take_section(p, s) : key_is_plain(p, s, inner);
}

bool
made_config_is_plain(const char *text, size_t n, bool inner)
{
	struct section s = { .word = "" };

	while (n > 0) {
		const char *nl = memchr(text, '\n', n);
		size_t len = nl != NULL ? (size_t)(nl - text) : n;

		if (!line_is_plain(text, len, &s, inner))
			return false;
		len += nl != NULL;
		text += len;
		n -= len;
	}
	return true;
}
