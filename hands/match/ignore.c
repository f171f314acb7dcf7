/* SPDX-License-Identifier: Apache-2.0
 *
 * Ignore rules. A tree has thousands of files for each rule file, so rules are sorted into
 * lists by the last byte (or the first) that a name must have; most names meet two or three
 * rules of a hundred. Runs in read workers; anybody may have written the files. */
#include "hands/match/ignore.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/fd.h"
#include "common/path.h"
#include "hands/match/glob.h"

struct rule {
	const char *p;
	size_t n;
	bool negated, dir_only;
	bool path;		/* has a slash: matched against the whole path */
	bool plain;		/* no wildcard */
	bool suffix;		/* star, then plain */
	size_t head;		/* path rules: plain bytes before what seq matches */
	struct glob_seq seq;	/* path rules that are not plain */
	int32_t next;		/* lower rule of the same list, -1 at the end */
};
struct ignore_rules {
	struct rule *rules;
	int32_t count;
	int32_t by_tail[256], by_head[256], others;	/* highest rule of each list, or -1 */
	char *text;
};

/* git: blanks at the end go, unless the first of them is escaped. */
static void
trim(char *line)
{
	char *blank = NULL;

	for (char *p = line; *p != '\0'; p++) {
		if (*p == ' ') {
			if (blank == NULL)
				blank = p;
			continue;
		}
		if (*p == '\\' && *++p == '\0')
			return;
		blank = NULL;
	}
	if (blank != NULL)
		*blank = '\0';
}

static void
list_rule(struct ignore_rules *r, int32_t index)
{
	struct rule *u = &r->rules[index];
	unsigned char head = (unsigned char)u->p[0];
	unsigned char tail = (unsigned char)u->p[u->n - 1];
	int32_t *list = &r->others;

	if (strchr("*?]\\/", tail) == NULL && (u->n < 2 || u->p[u->n - 2] != '\\'))
		list = &r->by_tail[tail];
	else if (!u->path && strchr("*?[\\", head) == NULL)
		list = &r->by_head[head];
	u->next = *list;
	*list = index;
}

/* git compares the bytes before the first wildcard, then matches the rest as if it were all:
 * in "a/b**" and "a/b**" followed by a slash the stars begin that rest, and so match slashes. */
static size_t
head_of(const char *p, size_t n)
{
	size_t at = 0, stars;

	while (at < n && strchr("*?[\\", p[at]) == NULL)
		at++;
	for (stars = at; stars < n && p[stars] == '*'; stars++)
		;
	if (at == 0 || p[at - 1] == '/' || stars < at + 2)
		return 0;
	if (stars < n && p[stars] != '/' && !(n - stars > 1 && memcmp(p + stars, "\\/", 2) == 0))
		return 0;
	return at;
}

static int
add_rule(struct ignore_rules *r, char *line)
{
	struct rule *u = &r->rules[r->count];

	memset(u, 0, sizeof(*u));
	if (*line == '!') {
		u->negated = true;
		line++;
	}
	u->p = line;
	u->n = strlen(line);
	if (u->n > 0 && line[u->n - 1] == '/') {
		u->dir_only = true;
		u->n--;
	}
	u->path = memchr(u->p, '/', u->n) != NULL;
	if (u->n > 0 && u->p[0] == '/') {
		u->p++;
		u->n--;
	}
	if (u->n == 0)
		return 0;
	u->plain = !glob_has_magic(u->p, u->n);
	u->suffix = !u->path && u->p[0] == '*' && !glob_has_magic(u->p + 1, u->n - 1);
	if (u->path && !u->plain) {
		int rc;

		u->head = head_of(u->p, u->n);
		rc = glob_seq_init(&u->seq, u->p + u->head, u->n - u->head);
		if (rc < 0)
			return rc == -ATS_E_TOOBIG ? 0 : rc;
	}
	list_rule(r, r->count++);
	return 0;
}

static int
add_lines(struct ignore_rules *r, char *text, size_t n)
{
	size_t at = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	int rc = 0;

	while (rc == 0 && at < n && r->count < (int32_t)IGNORE_RULES_MAX) {
		char *line = text + at, *end = memchr(line, '\n', n - at);

		/* To git the file's end is a newline too: a return before it goes as well. */
		if (end == NULL)
			end = text + n;
		if (end > line && end[-1] == '\r')
			end[-1] = '\0';
		*end = '\0';
		at = (size_t)(end - text) + 1;
		if (*line == '#' || *line == '\0')
			continue;
		trim(line);
		rc = add_rule(r, line);
	}
	return rc;
}

struct ignore_rules *
ignore_parse(const char *text, size_t n)
{
	struct ignore_rules *r;
	size_t lines = 1;

	if (n > IGNORE_FILE_MAX)
		n = IGNORE_FILE_MAX;
	for (const char *p = text; (p = memchr(p, '\n', n - (size_t)(p - text))) != NULL; p++)
		lines++;
	if (lines > IGNORE_RULES_MAX)
		lines = IGNORE_RULES_MAX;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return NULL;
	memset(r->by_tail, 0xff, sizeof(r->by_tail));
	memset(r->by_head, 0xff, sizeof(r->by_head));
	r->others = -1;
	r->rules = calloc(lines, sizeof(*r->rules));
	r->text = malloc(n + 1);
	if (r->rules == NULL || r->text == NULL) {
		ignore_free(r);
		return NULL;
	}
	memcpy(r->text, text, n);
	r->text[n] = '\0';
	if (add_lines(r, r->text, n) < 0 || r->count == 0) {
		ignore_free(r);
		return NULL;
	}
	return r;
}

struct ignore_rules *
ignore_read_fd(int fd)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return NULL;
	ats_buf_init(&text, IGNORE_FILE_MAX);
	while (text.len < IGNORE_FILE_MAX) {
		size_t want = text.len == 0 && st.st_size < 65536 ? (size_t)st.st_size : 65536;
		char *p = NULL;
		ssize_t got;

		if (want > IGNORE_FILE_MAX - text.len)
			want = IGNORE_FILE_MAX - text.len;
		if (ats_buf_reserve(&text, want, &p) < 0)
			return NULL;
		got = ats_fd_read(fd, p, want);
		if (got <= 0)
			break;
		ats_buf_commit(&text, (size_t)got);
		if ((size_t)text.len >= (size_t)st.st_size)
			break;
	}
	return ignore_parse(text.data, text.len);
}

struct ignore_rules *
ignore_read(int dirfd, const char *name)
{
	ATS_CLEANUP_FD int fd = ats_path_open_beneath(dirfd, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0, NULL);

	return fd >= 0 ? ignore_read_fd(fd) : NULL;
}

void
ignore_dir_done(struct ignore_dir *d)
{
	ignore_free(d->git);
	ignore_free(d->dot);
	ignore_free(d->exclude);
	ignore_free(d->user);
}

void
ignore_free(struct ignore_rules *r)
{
	if (r == NULL)
		return;
	for (int32_t i = 0; r->rules != NULL && i < r->count; i++)
		glob_seq_done(&r->rules[i].seq);
	free(r->rules);
	free(r->text);
	free(r);
}

static bool
rule_matches(const struct rule *u, const char *path, size_t n, size_t name_at)
{
	const char *name = path + name_at;
	size_t nn = n - name_at;

	if (u->path) {
		if (u->plain)
			return u->n == n && memcmp(u->p, path, n) == 0;
		if (u->head > n || memcmp(u->p, path, u->head) != 0)
			return false;
		return glob_seq_match(&u->seq, path + u->head, n - u->head);
	}
	if (u->plain)
		return u->n == nn && memcmp(u->p, name, nn) == 0;
	if (u->suffix)
		return u->n - 1 <= nn && memcmp(u->p + 1, name + nn - (u->n - 1), u->n - 1) == 0;
	return glob_segment(u->p, u->n, name, nn);
}

enum ignore_verdict
ignore_match(const struct ignore_rules *r, const char *path, size_t n, size_t name_at,
    bool is_dir)
{
	const int32_t lists[3] = {
		r->by_tail[(unsigned char)path[n - 1]],
		r->by_head[(unsigned char)path[name_at]],
		r->others,
	};
	int32_t best = -1;

	for (size_t k = 0; k < 3; k++) {
		for (int32_t i = lists[k]; i > best; i = r->rules[i].next) {
			const struct rule *u = &r->rules[i];

			if (u->dir_only && !is_dir)
				continue;
			if (rule_matches(u, path, n, name_at)) {
				best = i;
				break;
			}
		}
	}
	if (best < 0)
		return IGNORE_NONE;
	return r->rules[best].negated ? IGNORE_NO : IGNORE_YES;
}

bool
ignore_decide(const struct ignore_dir *d, const char *path, size_t n, size_t name_at,
    bool is_dir)
{
	enum ignore_verdict git = IGNORE_NONE, exclude = IGNORE_NONE, user = IGNORE_NONE;
	bool beyond = false;		/* a repository was met: what lies above does not count */

	for (; d != NULL; d = d->up) {
		const char *p = path + d->base;
		size_t pn = n - d->base, at = name_at - d->base;
		enum ignore_verdict v;

		if (d->dot != NULL) {
			v = ignore_match(d->dot, p, pn, at, is_dir);
			if (v != IGNORE_NONE)
				return v == IGNORE_YES;
		}
		if (beyond)
			continue;
		if (git == IGNORE_NONE && d->git != NULL)
			git = ignore_match(d->git, p, pn, at, is_dir);
		if (exclude == IGNORE_NONE && d->exclude != NULL)
			exclude = ignore_match(d->exclude, p, pn, at, is_dir);
		if (user == IGNORE_NONE && d->user != NULL)
			user = ignore_match(d->user, p, pn, at, is_dir);
		beyond = d->repository;
	}
	if (!beyond)
		return false;		/* no repository: .gitignore means nothing to git */
	if (git == IGNORE_NONE)
		git = exclude != IGNORE_NONE ? exclude : user;
	return git == IGNORE_YES;
}
