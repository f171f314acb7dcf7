/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that were not found: the entry that is meant by a name shown with U+FFFD, and the
 * nearest name for "did you mean". Runs in tool workers; names are hostile, so both look
 * at a bounded number of entries only. */
#include "hands/fs/file.h"

#include "common/fd.h"
#include "common/json.h"
#include "common/path.h"
#include "hands/fs/dent.h"
#include "hands/fs/hidden.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES_MAX 20000u	/* looked at in one directory */
#define FOLD_MAX 256u

/* Calls fn for each entry but . and .., until it returns false. */
static void
each_entry(int dirfd, bool (*fn)(void *ctx, const char *name), void *ctx)
{
	_Alignas(8) char buf[16384];
	unsigned seen = 0;

	for (;;) {
		long n = syscall(SYS_getdents64, dirfd, buf, sizeof(buf));

		if (n <= 0)
			return;
		for (long at = 0; at < n; ) {
			const struct dent *d =
			    (const struct dent *)(const void *)(buf + at);

			at += d->len;
			if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
				continue;
			if (++seen > ENTRIES_MAX || !fn(ctx, d->name))
				return;
		}
	}
}

struct repaired {
	const char *want;
	char found[256];
	unsigned count;
};

static bool
is_repaired(void *ctx, const char *name)
{
	struct repaired *r = ctx;
	struct ats_buf b;

	ats_buf_init(&b, 4096);
	if (ats_utf8_repair(&b, name, strlen(name)) == 0 && b.len == strlen(r->want) &&
	    memcmp(b.data, r->want, b.len) == 0) {
		r->count++;
		(void)snprintf(r->found, sizeof(r->found), "%s", name);
	}
	ats_buf_done(&b);
	return r->count < 2;
}

bool
fs_repaired_entry(int dirfd, const char *name, char ret_name[256])
{
	struct repaired r = { .want = name };

	each_entry(dirfd, is_repaired, &r);
	if (r.count != 1)
		return false;
	memcpy(ret_name, r.found, sizeof(r.found));
	return true;
}

/* Folds what people and models confuse: case, kinds of spaces, quotes and dashes,
 * combining marks (an NFD name loses them; the base letters stay). Cuts at FOLD_MAX. */
static size_t
fold(const char *s, char out[FOLD_MAX])
{
	size_t n = 0, len = strlen(s);

	for (size_t i = 0; i < len && n < FOLD_MAX; ) {
		unsigned k = ats_utf8_seq(s + i, len - i);
		const unsigned char *u = (const unsigned char *)s + i;

		if (k == 2 && ((u[0] == 0xcc) || (u[0] == 0xcd && u[1] < 0xb0)))
			;			/* U+0300..U+036F */
		else if (k == 2 && u[0] == 0xc2 && u[1] == 0xa0)
			out[n++] = ' ';
		else if (k == 3 && u[0] == 0xe2 && u[1] == 0x80)
			out[n++] = u[2] <= 0x8a || u[2] == 0xaf ? ' '
				   : u[2] <= 0x95		? '-'
								: '\'';
		else if (k <= 1)
			out[n++] = (char)tolower(u[0]);
		else
			for (unsigned j = 0; j < k && n < FOLD_MAX; j++)
				out[n++] = s[i + j];
		i += k == 0 ? 1 : k;
	}
	return n;
}

/* Levenshtein distance, at most limit + 1. */
static unsigned
distance(const char *a, size_t na, const char *b, size_t nb, unsigned limit)
{
	unsigned row[FOLD_MAX + 1];

	if ((na > nb ? na - nb : nb - na) > limit)
		return limit + 1;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned diag = row[0], best = row[0] = (unsigned)i;

		for (size_t j = 1; j <= nb; j++) {
			unsigned cost = diag + (a[i - 1] != b[j - 1]);

			diag = row[j];
			if (row[j] + 1 < cost)
				cost = row[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			row[j] = cost;
			if (cost < best)
				best = cost;
		}
		if (best > limit)
			return limit + 1;
	}
	return row[nb];
}

struct nearest {
	char want[FOLD_MAX], best[256];
	size_t want_len, stem_len;
	unsigned score;		/* the lower the nearer */
	struct fs_hidden hidden;
};

static size_t
stem(const char *s, size_t n)
{
	for (size_t i = n; i > 1; i--)
		if (s[i - 1] == '.')
			return i - 1;
	return n;
}

static bool
is_nearer(void *ctx, const char *name)
{
	struct nearest *c = ctx;
	char f[FOLD_MAX];
	size_t n = fold(name, f);
	unsigned score =
	    distance(c->want, c->want_len, f, n, c->score > 0 ? c->score - 1 : 0);

	/* the same stem with another suffix: main.js for main.ts */
	if (score >= c->score && c->score > 2 && c->stem_len > 1 &&
	    stem(f, n) == c->stem_len && memcmp(f, c->want, c->stem_len) == 0)
		score = 2;
	if (score < c->score &&
	    !fs_hidden_match(&c->hidden, name, strlen(name), 0, false) &&
	    !fs_hidden_match(&c->hidden, name, strlen(name), 0, true)) {
		c->score = score;
		(void)snprintf(c->best, sizeof(c->best), "%s", name);
	}
	return c->score > 0;
}

bool
fs_nearest(const struct tool_env *env, const struct fs_place *pl, char *out, size_t size)
{
	struct nearest c = { .best = "" };
	int fd ATS_CLEANUP_FD = -1;
	struct fs_place dir = *pl;
	char *slash = strrchr(dir.path, '/');

	if (slash == NULL || slash[1] == '\0')
		return false;
	if (fs_is_hidden(pl, false) || fs_is_hidden(pl, true))
		return false;
	c.want_len = fold(slash + 1, c.want);
	c.stem_len = stem(c.want, c.want_len);
	c.score = c.want_len / 4 > 3 ? (unsigned)(c.want_len / 4) + 1 : 3;
	slash[slash == dir.path] = '\0';
	dir.root = fs_root_of(env, dir.path);
	if (dir.root == NULL)
		return false;
	dir.rel = ats_path_below(dir.root->path, dir.path);
	fd = fs_beneath(dir.root->fd, ats_path_below(dir.root->path, dir.path),
	    O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return false;
	fs_hidden_below(env, &dir, "", &c.hidden);
	each_entry(fd, is_nearer, &c);
	if (c.best[0] == '\0')
		return false;
	return (size_t)snprintf(out, size, "%s%s%s", dir.path,
	    dir.path[1] == '\0' ? "" : "/", c.best) < size;
}
