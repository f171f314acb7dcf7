/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a directory: getdents64 with a large buffer, rules when their files are there, then
 * what passes the filters, sorted if wanted. Names are anybody's. */
#include "hands/match/walk_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/path.h"
#include "hands/fs/dent.h"
#include "hands/fs/hidden.h"
#include "hands/match/gitrepo.h"

#define RAW_BYTES (64u << 10)
#define NAMES_MAX (1u << 30)		/* bytes of one directory's names */

struct list {
	struct walk_entry *e;
	size_t n, cap;
	char *names;
	size_t names_len, names_cap;
	bool git, gitignore, dotignore;	/* files of those names are here */
};

int
walk_reader_init(struct walk_reader *r)
{
	r->path = malloc(WALK_PATH_MAX + 512);
	r->raw = malloc(RAW_BYTES);
	return r->path != NULL && r->raw != NULL ? 0 : -ATS_E_NOMEM;
}

void
walk_reader_done(struct walk_reader *r)
{
	free(r->path);
	free(r->raw);
}

size_t
walk_dir_path(struct walk_reader *r, const struct walk_dir *d, const struct walk_entry *e)
{
	memcpy(r->path, d->path, d->path_len);
	memcpy(r->path + d->path_len, d->names + e->name, (size_t)e->len + 1);
	return d->path_len + e->len;
}

bool
walk_is_vcs(const char *name, size_t n)
{
	static const char *const names[] = { ".git", ".hg", ".svn", ".bzr", ".jj", ".sl" };

	if (n < 3 || n > 4 || name[0] != '.')
		return false;
	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++)
		if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
			return true;
	return false;
}

/* ---- entries ---------------------------------------------------------------------------- */
static uint64_t
sort_key(const char *name, size_t n)
{
	uint64_t key = 0;

	for (size_t i = 0; i < 8; i++)
		key = key << 8 | (i < n ? (unsigned char)name[i] : 0);
	return key;
}

static int
list_add(struct list *l, const char *name, size_t n, uint8_t kind)
{
	if (l->n == l->cap) {
		size_t cap = l->cap != 0 ? l->cap * 2 : 64;
		struct walk_entry *e = realloc(l->e, cap * sizeof(*e));

		if (e == NULL)
			return -ATS_E_NOMEM;
		l->e = e;
		l->cap = cap;
	}
	if (l->names_cap - l->names_len < n + 1) {
		size_t cap = l->names_cap != 0 ? l->names_cap * 2 : 2048;
		char *names = cap <= NAMES_MAX ? realloc(l->names, cap) : NULL;

		if (names == NULL)
			return -ATS_E_NOMEM;
		l->names = names;
		l->names_cap = cap;
	}
	l->e[l->n++] = (struct walk_entry){
		.key = sort_key(name, n), .name = (uint32_t)l->names_len,
		.len = (uint16_t)n, .kind = kind,
	};
	memcpy(l->names + l->names_len, name, n + 1);
	l->names_len += n + 1;
	return 0;
}

static unsigned char
kind_of(int fd, const struct dent *e)
{
	struct stat st;

	if (e->type != DT_UNKNOWN)
		return e->type;
	if (fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

/* Adds what the filters do not refuse. r->path begins with dir_len bytes of the directory. */
static int
list_wanted(struct list *l, struct walk_reader *r, const struct walk_options *o,
    size_t dir_len, const char *name, size_t n, uint8_t kind)
{
	bool (*want)(void *, const char *, size_t) = kind == WALK_DIR ? o->ops->enter :
	    o->ops->pick;

	if (want != NULL) {
		memcpy(r->path + dir_len, name, n + 1);
		if (!want(o->ctx, r->path, dir_len + n))
			return 0;
	}
	return list_add(l, name, n, kind);
}

static int
list_entry(struct list *l, struct walk_reader *r, const struct walk_options *o, int fd,
    size_t dir_len, const struct dent *e)
{
	size_t n = strlen(e->name);
	unsigned char type;

	if (e->name[0] == '.') {
		if (n == 1 || (n == 2 && e->name[1] == '.'))
			return 0;
		l->gitignore = l->gitignore || strcmp(e->name, ".gitignore") == 0;
		l->dotignore = l->dotignore || strcmp(e->name, ".ignore") == 0;
		l->git = l->git || strcmp(e->name, ".git") == 0;
		if (!o->vcs && walk_is_vcs(e->name, n))
			return 0;
	}
	type = kind_of(fd, e);
	if (type == DT_DIR)
		return list_wanted(l, r, o, dir_len, e->name, n, WALK_DIR);
	if (type == DT_REG)
		return list_wanted(l, r, o, dir_len, e->name, n, WALK_FILE);
	if (type == DT_LNK && o->symlinks)
		return list_wanted(l, r, o, dir_len, e->name, n, WALK_LINK);
	return 0;
}

/* 0, -ATS_E_NOMEM, or -errno-like trouble as *ret_errno. */
static int
list_read(struct list *l, struct walk_reader *r, const struct walk_options *o,
    const struct walk_dir *d, int *ret_errno)
{
	int64_t next = 0;

	memcpy(r->path, d->path, d->path_len);
	/* No entry is behind the largest offset: ext4 and btrfs give it when they have come to
	 * the end, which then need not be asked for. */
	while (next != INT64_MAX) {
		long got = syscall(SYS_getdents64, d->fd, r->raw, RAW_BYTES);

		if (got < 0)
			*ret_errno = errno;
		if (got <= 0)
			return 0;
		for (long at = 0; at < got;) {
			const struct dent *e = (const void *)(r->raw + at);
			int rc = list_entry(l, r, o, d->fd, d->path_len, e);

			if (rc < 0)
				return rc;
			at += e->len;
			next = e->off;
		}
	}
	return 0;
}

static int
by_name(const void *a, const void *b, void *names)
{
	const struct walk_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return strcmp((const char *)names + x->name, (const char *)names + y->name);
}

/* ---- rules ------------------------------------------------------------------------------- */
static bool
in_repository(const struct ignore_dir *d)
{
	while (d != NULL && !d->repository)
		d = d->up;
	return d != NULL;
}

/* The directory, named dir from the root, holds a .git. One that git does not take for a
 * repository counts only where there is no other: people may have mounted half of it. */
static void
load_repository(struct ignore_dir *r, const struct gitrepo *git, const char *dir)
{
	struct gitrepo_rules found = { .is_valid = true };

	if (git != NULL)
		gitrepo_read(git, dir, &found);
	r->repository = found.is_valid || !in_repository(r->up);
	if (r->repository) {
		r->exclude = found.exclude;
		r->user = found.user;
	} else {
		ignore_free(found.exclude);
		ignore_free(found.user);
	}
}

static void
load_rules(struct walk_dir *d, int fd, const struct list *l, const struct walk_options *o)
{
	struct ignore_dir *r = &d->rules;

	r->up = d->parent != NULL ? d->parent->chain : o->above;
	r->base = d->path_len;
	if (l->gitignore)
		r->git = ignore_read(fd, ".gitignore");
	if (l->dotignore)
		r->dot = ignore_read(fd, ".ignore");
	if (l->git)
		load_repository(r, o->git, d->path_len > 0 ? d->path : "");
	d->chain = r->repository || r->git != NULL || r->dot != NULL ? r : r->up;
}

/* ---- directories --------------------------------------------------------------------------- */
static void
unref(struct walk_dir *d)
{
	while (d != NULL && __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		struct walk_dir *parent = d->parent;

		ignore_dir_done(&d->rules);
		free(d);
		d = parent;
	}
}

void
walk_dir_close(struct walk_dir *d)
{
	if (!d->borrowed && d->fd >= 0)
		(void)close(d->fd);
	free(d->entries);
	free(d->names);
	d->fd = -1;
	d->entries = NULL;
	d->names = NULL;
	unref(d);
}

/* Drops what is hidden or ignored. */
static void
filter(struct walk_dir *d, struct walk_reader *r, const struct walk_options *o)
{
	const struct ignore_dir *rules = o->ignore ? d->chain : NULL;
	size_t kept = 0;

	if (o->hidden == NULL && rules == NULL)
		return;
	for (size_t i = 0; i < d->n; i++) {
		const struct walk_entry *e = &d->entries[i];
		size_t n = d->path_len + e->len;
		bool is_dir = e->kind == WALK_DIR;

		memcpy(r->path + d->path_len, d->names + e->name, (size_t)e->len + 1);
		if (o->hidden != NULL &&
		    fs_hidden_match(o->hidden, r->path, n, d->path_len, is_dir))
			continue;
		if (rules != NULL && ignore_decide(rules, r->path, n, d->path_len, is_dir))
			continue;
		d->entries[kept++] = *e;
	}
	d->n = kept;
}

/* Takes fd unless borrowed. path: without the slash. */
static int
make(struct walk_reader *r, const struct walk_options *o, struct walk_dir *parent, int fd,
    bool borrowed, const char *path, size_t n, struct walk_dir **ret)
{
	struct walk_dir *d = calloc(1, sizeof(*d) + n + 2);
	struct list l = { 0 };
	int rc, error = 0;

	if (d == NULL) {
		if (!borrowed)
			(void)close(fd);
		return -ATS_E_NOMEM;
	}
	d->fd = fd;
	d->borrowed = borrowed;
	d->users = d->refs = 1;
	memcpy(d->path, path, n);
	memcpy(d->path + n, "/", 2);
	d->path_len = n > 0 ? n + 1 : 0;
	rc = list_read(&l, r, o, d, &error);
	d->entries = l.e;
	d->names = l.names;
	d->n = l.n;
	d->parent = parent;
	if (parent != NULL)
		__atomic_add_fetch(&parent->refs, 1, __ATOMIC_RELAXED);
	if (rc < 0) {
		walk_dir_close(d);
		return rc;
	}
	if (error != 0)
		o->ops->warn(o->ctx, path, n, error);
	if (o->ignore)
		load_rules(d, fd, &l, o);
	filter(d, r, o);
	if (o->ordered && d->n > 1)
		qsort_r(d->entries, d->n, sizeof(*d->entries), by_name, d->names);
	*ret = d;
	return 0;
}

int
walk_dir_start(struct walk_reader *r, const struct walk_options *o, struct walk_dir **ret)
{
	return make(r, o, NULL, o->start_fd, true, o->start, strlen(o->start), ret);
}

int
walk_dir_open(struct walk_reader *r, const struct walk_options *o, struct walk_dir *parent,
    const struct walk_entry *e, size_t n, struct walk_dir **ret)
{
	int fd = -1;

	if (n >= WALK_PATH_MAX - 256) {
		o->ops->warn(o->ctx, r->path, n, ENAMETOOLONG);
		return -ATS_E_TOOBIG;
	}
	fd = openat(parent->fd, parent->names + e->name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		/* Gone or replaced since it was listed: as if it had not been there. */
		if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR)
			o->ops->warn(o->ctx, r->path, n, errno);
		return -ATS_E_SYS;
	}
	return make(r, o, parent, fd, false, r->path, n, ret);	/* copies the path first */
}

/* ---- what lies above the start -------------------------------------------------------------- */
static struct ignore_dir *
above_one(int root_fd, const char *dir, size_t n, struct ignore_dir *up,
    const struct gitrepo *git)
{
	struct ignore_dir *d = calloc(1, sizeof(*d));
	char path[ATS_PATH_MAX];
	int fd;

	if (d == NULL)
		return up;
	d->up = up;
	memcpy(path, n > 0 ? dir : ".", n > 0 ? n : 1);
	path[n > 0 ? n : 1] = '\0';
	fd = ats_path_open_beneath(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
	if (fd >= 0) {
		d->base = n > 0 ? n + 1 : 0;
		d->git = ignore_read(fd, ".gitignore");
		d->dot = ignore_read(fd, ".ignore");
		if (faccessat(fd, ".git", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			load_repository(d, git, path);
		(void)close(fd);
	}
	return d;
}

struct ignore_dir *
walk_above(int root_fd, const char *start, const struct gitrepo *git)
{
	struct ignore_dir *d = NULL;
	size_t n = strlen(start), at = 0;

	if (n >= ATS_PATH_MAX || strcmp(start, ".") == 0)
		return NULL;
	while (at < n) {
		const char *slash = memchr(start + at, '/', n - at);
		size_t end = slash != NULL ? (size_t)(slash - start) : n;

		d = above_one(root_fd, start, at > 0 ? at - 1 : 0, d, git);
		if (d != NULL && ignore_decide(d, start, end, at, true)) {
			walk_above_free(d);
			return NULL;
		}
		at = end + 1;
	}
	return d;
}

void
walk_above_free(struct ignore_dir *d)
{
	while (d != NULL) {
		struct ignore_dir *up;

		memcpy(&up, &d->up, sizeof(up));	/* const only for its readers */
		ignore_dir_done(d);
		free(d);
		d = up;
	}
}
