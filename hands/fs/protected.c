/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that a program on the host would execute or trust, which tools therefore never
 * write, whether they exist or not. Called with resolved paths, in workers of the write
 * profile. The box protects the same names against shells (hands/protected.def); this is the
 * file tools' own wall. Names are compared without case: some file systems do not tell .GIT
 * from .git. */
#include "hands/fs/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/fd.h"

enum kind { PROTECT_GIT, PROTECT_HG, PROTECT_JJ, PROTECT_FISH, PROTECT_TREE, PROTECT_HOME };

#define PROTECTED(kind, dir, name) { kind, dir, name },
static const struct { enum kind kind; const char *dir, *name; } rows[] = {
#include "hands/protected.def"
};
#undef PROTECTED

/* The components before the one looked at: the first n bytes of rel, with a slash behind. */
struct above {
	int rootfd;
	const char *rel;
	size_t n;
};

static bool
same(const char *name, size_t n, const char *want)
{
	return strlen(want) == n && strncasecmp(name, want, n) == 0;
}

/* Whether the last ones are these ("a/b/"). */
static bool
ends_in(const struct above *a, const char *dir)
{
	size_t n = strlen(dir);

	return a->n >= n && strncasecmp(a->rel + a->n - n, dir, n) == 0 &&
	    (a->n == n || a->rel[a->n - n - 1] == '/');
}

static bool
has(int fd, const char *name)
{
	return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The directory that holds the component looked at, or -1. */
static int
open_above(const struct above *a, size_t n)
{
	char path[4096];

	if (n >= sizeof(path))
		return -1;
	(void)snprintf(path, sizeof(path), "%.*s", (int)n, a->rel);
	return fs_beneath_plain(a->rootfd, n > 0 ? path : ".", O_PATH | O_DIRECTORY, 0);
}

/* Neither HEAD, which tools write, nor the directory's name: what shells cannot take away
 * (view_protect). A linked work tree's has commondir. */
static bool
is_repository(const struct above *a, size_t n)
{
	int fd ATS_CLEANUP_FD = open_above(a, n);

	return fd >= 0 && ((has(fd, "objects") && has(fd, "refs")) || has(fd, "commondir"));
}

/* Below .git at any depth (submodules and worktrees have their own inside it), directly below
 * NAME.git, and below what is a repository. */
static bool
in_git(const struct above *a)
{
	if (a->n > 5 && strncasecmp(a->rel + a->n - 5, ".git/", 5) == 0)
		return true;
	for (size_t i = 0; i < a->n; i++)
		if ((i == 0 || a->rel[i - 1] == '/') && strncasecmp(a->rel + i, ".git/", 5) == 0)
			return true;
	for (size_t i = 0; i <= a->n; i++)
		if ((i == 0 || a->rel[i - 1] == '/') && is_repository(a, i))
			return true;
	return false;
}

/* By these git takes a directory for a repository: the first, with the next two or the last. */
static const char *const parts[] = { "HEAD", "objects", "refs", "commondir" };

static const char *
part(const char *p, size_t n)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(parts); i++)
		if (same(p, n, parts[i]))
			return parts[i];
	return NULL;
}

/* Whether the component makes what holds it a repository, which has a config, hooks or the like
 * already: written before, as nobody's. */
static const char *
makes_repository(const char *p, size_t n, const struct above *a)
{
	const char *it = part(p, n);
	bool is[ATS_ARRAY_LEN(parts)], any = false;
	int fd ATS_CLEANUP_FD = -1;

	if (it != NULL)
		fd = open_above(a, a->n);
	if (fd < 0 || has(fd, it))	/* it is there: nothing becomes of it */
		return NULL;
	for (size_t i = 0; i < ATS_ARRAY_LEN(parts); i++)
		is[i] = parts[i] == it || has(fd, parts[i]);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		any = any || (rows[i].kind == PROTECT_GIT &&
		    (has(fd, rows[i].name) || same(p, n, rows[i].name)));
	return any && is[0] && ((is[1] && is[2]) || is[3]) ? it : NULL;
}

static const char *
check(const char *p, size_t n, const struct above *a)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		if (same(p, n, rows[i].name) &&
		    (rows[i].kind == PROTECT_GIT ? in_git(a) : rows[i].dir[0] == '\0' ||
			ends_in(a, rows[i].dir)))
			return rows[i].name;
	/* a .git file would point git at any directory */
	return p[n] == '\0' && same(p, n, ".git") ? ".git" : makes_repository(p, n, a);
}

const char *
fs_protected(int rootfd, const char *rel)
{
	struct above a = { .rootfd = rootfd, .rel = rel };

	for (const char *p = rel; *p != '\0';) {
		size_t n = strcspn(p, "/");
		const char *hit;

		a.n = (size_t)(p - rel);
		hit = n > 0 ? check(p, n, &a) : NULL;
		if (hit != NULL)
			return hit;
		p += n + (p[n] == '/');
	}
	return NULL;
}

static bool
counts_in_repository(const char *p, size_t n)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		if (rows[i].kind == PROTECT_GIT && same(p, n, rows[i].name))
			return true;
	return part(p, n) != NULL;
}

ssize_t
fs_repository_at(const char *rel)
{
	for (const char *p = rel; *p != '\0';) {
		size_t n = strcspn(p, "/");

		if (n > 0 && counts_in_repository(p, n))
			return p > rel ? p - rel - 1 : 0;
		p += n + (p[n] == '/');
	}
	return -1;
}
