/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what the host's rules hide. Runs in the shell zygote, once, before it serves. Names are
 * a tool's or the user's work: no symlink is followed, no file opened. Unlike the scan for
 * sockets it looks at everything, or fails: a file that was not found would not be hidden. */
#include "hands/confine/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hands/match/ignore.h"

#define DEPTH_MAX 128

struct denied {
	const struct ignore_rules *rules;
	const struct scan_denied_ops *ops;
	struct ats_err *err;
	size_t root_len;	/* of path: the workspace and a slash */
	unsigned entries, found;
	char path[2 * 4096];
};

static int walk(struct denied *s, int parent, const char *name, size_t len, unsigned depth);

static int
too_much(struct denied *s, const char *what)
{
	return ats_err_set(s->err, ATS_E_CONFINE,
	    "sandbox.deny_read: %s; name directories instead, or a smaller workspace", what);
}

static unsigned char
kind_of(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

/* Whether the rules name it in whatever directory it stands. */
static bool
hidden_anywhere(const struct denied *s, const char *name, size_t n, bool is_dir)
{
	char far[256 + 8];
	int at = snprintf(far, sizeof far, "\1/\1/%s", name) - (int)n;

	return ignore_match(s->rules, name, n, 0, is_dir) == IGNORE_YES &&
	       ignore_match(s->rules, far, (size_t)at + n, (size_t)at, is_dir) == IGNORE_YES;
}

/* The directories that lead to s->path, from the top: one that is mounted over itself later
 * would take a copy of each mount below, those that it shadows included. */
static int
hold_ways(struct denied *s, size_t len)
{
	int rc = 0;

	for (size_t i = s->root_len; rc >= 0 && i < len; i++) {
		if (s->path[i] != '/')
			continue;
		s->path[i] = '\0';
		rc = s->ops->hold(s->path, s->err);
		s->path[i] = '/';
		if (rc > 0 && ++s->found > SCAN_DENIED_MAX)
			rc = too_much(s, "more directories than can be held for shells");
	}
	return rc;
}

/* s->path, whose name begins at len. */
static int
on_hidden(struct denied *s, size_t len, size_t n, bool is_dir)
{
	int rc = 0;

	if (++s->found > SCAN_DENIED_MAX)
		return too_much(s, "more files than can be covered for shells");
	if (!hidden_anywhere(s, s->path + len, n, is_dir))
		rc = hold_ways(s, len);
	return rc < 0 ? rc : s->ops->hide(s->path, s->err);
}

static int
on_entry(struct denied *s, int dir, const struct dirent *e, size_t len, unsigned depth)
{
	size_t n = strlen(e->d_name), end = len + n;
	unsigned char kind = kind_of(dir, e);
	int rc = 0;

	if (kind == DT_LNK)
		return 0;
	if (end + 2 > sizeof s->path)
		return too_much(s, "a path is too long");
	memcpy(s->path + len, e->d_name, n + 1);
	if (ignore_match(s->rules, s->path + s->root_len, end - s->root_len,
		len - s->root_len, kind == DT_DIR) == IGNORE_YES) {
		rc = on_hidden(s, len, n, kind == DT_DIR);
	} else if (kind == DT_DIR) {
		memcpy(s->path + end, "/", 2);
		rc = walk(s, dir, e->d_name, end + 1, depth + 1);
	}
	s->path[len] = '\0';
	return rc;
}

static int
walk(struct denied *s, int parent, const char *name, size_t len, unsigned depth)
{
	int rc = 0,
	    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (d == NULL) {
		rc = errno;
		if (fd >= 0)
			(void)close(fd);
		/* Unreadable for us: for tools, too. Gone, or replaced by a link: as well. */
		return rc == EMFILE || rc == ENFILE || rc == ENOMEM ?
		    too_much(s, "directories could not be read") : 0;
	}
	if (depth > DEPTH_MAX)
		rc = too_much(s, "directories are nested too deeply");
	while (rc >= 0 && (e = readdir(d)) != NULL) {
		if (++s->entries > SCAN_DENIED_ENTRIES_MAX)
			rc = too_much(s, "the workspace has too many files");
		else if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = on_entry(s, fd, e, len, depth);
	}
	(void)closedir(d);
	return rc;
}

int
scan_denied(const char *workspace, const struct ignore_rules *rules,
    const struct scan_denied_ops *ops, struct ats_err *err)
{
	static struct denied s;

	s = (struct denied){ .rules = rules, .ops = ops, .err = err };
	(void)snprintf(s.path, sizeof s.path, "%.4000s/", workspace);
	s.root_len = strlen(s.path);
	return walk(&s, AT_FDCWD, workspace, s.root_len, 0);
}
