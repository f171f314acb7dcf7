/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers protected names as they are. Runs where keep.c does; the names are the user's,
 * but other tools may run meanwhile. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/path.h"
#include "hands/confine/keep_private.h"
#include "hands/confine/mnt.h"

void
keep_note_stat(struct item *it, const struct stat *st)
{
	it->mode = st->st_mode;
	it->dev = st->st_dev;
	it->ino = st->st_ino;
	it->size = st->st_size;
	it->changed = st->st_ctim;
}

static struct item *
add_item(struct snapshot *s, size_t dir, const char *rel)
{
	size_t n = strlen(rel) + 1;
	struct item *it = &s->items[s->nitems];

	if (s->nitems == KEEP_ITEMS_MAX || KEEP_NAMES_BYTES - s->nnames < n) {
		s->in_part = true;
		return NULL;
	}
	*it = (struct item){ .dir = (uint32_t)dir, .rel = s->nnames };
	memcpy(s->names + s->nnames, rel, n);
	s->nnames += (uint32_t)n;
	s->nitems++;
	return it;
}

static void
take_file(struct snapshot *s, struct item *it, int at, const char *name)
{
	ATS_CLEANUP_FD int fd = -1;
	size_t room = KEEP_BYTES_MAX - s->nbytes, size = (size_t)it->size;

	if (size <= room && size <= KEEP_FILE_MAX)
		fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	it->whole = fd >= 0 && ats_fd_read_all(fd, s->bytes + s->nbytes, size) == 0;
	if (!it->whole) {
		s->no_content = true;
		return;
	}
	it->data = s->nbytes;
	it->len = (uint32_t)size;
	s->nbytes += (uint32_t)size;
}

static void
take_link(struct snapshot *s, struct item *it, int at, const char *name)
{
	size_t room = KEEP_BYTES_MAX - s->nbytes;
	ssize_t n = readlinkat(at, name, s->bytes + s->nbytes, room);

	it->whole = n >= 0 && (size_t)n + 1 < room;
	if (!it->whole) {
		s->no_content = true;
		return;
	}
	s->bytes[s->nbytes + (size_t)n] = '\0';
	it->data = s->nbytes;
	it->len = (uint32_t)n;
	s->nbytes += (uint32_t)n + 1;
}

static void take_dir(struct snapshot *s, size_t dir, int at, const char *name, char *rel,
    size_t len, unsigned depth);

/* By errno, of a directory. One that is shut must be opened by who changes what is in it, and
 * that is noticed. */
static void
note_unread(struct snapshot *s)
{
	if (errno == EACCES)
		s->no_content = true;
	else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		s->in_part = true;
}

/* rel[0..len): its path below the directory; the buffer is used for those below. */
static void
take(struct snapshot *s, size_t dir, int at, const char *name, char *rel, size_t len,
    bool shallow, unsigned depth)
{
	struct item *it = add_item(s, dir, rel);
	struct stat st;

	if (it == NULL || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	keep_note_stat(it, &st);
	it->shallow = shallow && S_ISDIR(st.st_mode);
	if (S_ISREG(st.st_mode))
		take_file(s, it, at, name);
	else if (S_ISLNK(st.st_mode))
		take_link(s, it, at, name);
	else if (S_ISDIR(st.st_mode) && !it->shallow)
		take_dir(s, dir, at, name, rel, len, depth);
}

static void
take_dir(struct snapshot *s, size_t dir, int at, const char *name, char *rel, size_t len,
    unsigned depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (d == NULL) {
		note_unread(s);
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		size_t n = strlen(e->d_name);

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (depth == KEEP_DEPTH_MAX || len + n + 2 > 4096 || s->nitems == KEEP_ITEMS_MAX) {
			s->in_part = true;
			break;
		}
		rel[len] = '/';
		memcpy(rel + len + 1, e->d_name, n + 1);
		take(s, dir, fd, e->d_name, rel, len + 1 + n, false, depth + 1);
		rel[len] = '\0';
	}
	(void)closedir(d);
}

static void
take_name(struct snapshot *s, size_t dir, int at, const char *name, bool shallow)
{
	char rel[4096];
	uint32_t first = s->nitems;

	(void)snprintf(rel, sizeof(rel), "%s", name);
	take(s, dir, at, name, rel, strlen(rel), shallow, 0);
	if (s->nitems > first)
		s->items[first].span = s->nitems - first;
}

/* Nothing of a tool runs, and all is equal: times tell again. */
static void
make_sure(struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nitems; i++) {
		struct item *it = &s->items[i];
		ATS_CLEANUP_FD int at = -1;
		struct stat st;

		if (it->unsure && mnt_open_dir(s->dirs.v[it->dir].path, &at, NULL) == 0 &&
		    keep_stat(at, s->names + it->rel, &st) == 0) {
			keep_note_stat(it, &st);
			it->unsure = false;
		}
	}
}

/* The names of one directory begin at item *i, which is moved past them. */
static bool
dir_is_same(const struct snapshot *s, uint32_t *i)
{
	uint32_t dir = s->items[*i].dir;
	ATS_CLEANUP_FD int at = -1;
	bool same = mnt_open_dir(s->dirs.v[dir].path, &at, NULL) == 0;

	for (; *i < s->nitems && s->items[*i].dir == dir; *i += s->items[*i].span)
		same = same && keep_is_same(s, &s->items[*i], at);
	return same;
}

static bool
all_is_same(const struct snapshot *s, const struct protect_dirs *dirs)
{
	bool same = s->dirs.n == dirs->n;

	for (size_t d = 0; same && d < dirs->n; d++)
		same = s->dirs.v[d].kind == dirs->v[d].kind &&
		    strcmp(s->dirs.v[d].path, dirs->v[d].path) == 0;
	for (uint32_t i = 0; same && i < s->nitems;)
		same = dir_is_same(s, &i);
	return same;
}

/* What the link at name leads to, below the workspace; "" if that is elsewhere. */
static void
target_of(const struct snapshot *s, int at, const char *name, char ret_rel[PATH_MAX])
{
	ATS_CLEANUP_FD int fd = openat(at, name, O_PATH | O_CLOEXEC);
	char link[64], real[PATH_MAX];
	const char *below = NULL;
	ssize_t n = -1;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		n = readlink(link, real, sizeof(real) - 1);
	if (n > 0) {
		real[n] = '\0';
		below = ats_path_below(s->dirs.v[0].path, real);
	}
	(void)snprintf(ret_rel, PATH_MAX, "%s",
	    below != NULL && strcmp(below, ".") != 0 ? below : "");
}

static void
take_one(struct snapshot *s, size_t dir, int at, const char *name, bool links_only)
{
	ATS_CLEANUP_FD int top = -1;
	char target[PATH_MAX];
	struct stat st;
	bool is_link = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);

	if (links_only && !is_link)
		return;
	take_name(s, dir, at, name, strcmp(name, ".git") == 0);
	if (links_only || !is_link)
		return;
	target_of(s, at, name, target);
	if (target[0] != '\0' && mnt_open_dir(s->dirs.v[0].path, &top, NULL) == 0)
		take_name(s, 0, top, target, false);
}

static void
take_names(struct snapshot *s, size_t dir, bool links_only)
{
	const struct protect_dir *d = &s->dirs.v[dir];
	ATS_CLEANUP_FD int at = -1;

	if (mnt_open_dir(d->path, &at, NULL) < 0) {
		note_unread(s);
		return;
	}
	if (d->kind == PROTECT_TREE || d->kind == PROTECT_LINKED)
		take_one(s, dir, at, ".git", links_only);
	for (size_t i = 0; i < PROTECT_NAMES_MAX; i++) {
		const char *name = protect_name(&s->dirs, dir, i);

		if (name != NULL)
			take_one(s, dir, at, name, links_only);
	}
}

void
keep_take(struct keep *k, const struct protect_dirs *dirs, bool links_only)
{
	struct snapshot *now = &k->of[k->current], *next = &k->of[!k->current];
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &t);
	if (k->taken && !links_only && !now->in_part && all_is_same(now, dirs)) {
		make_sure(now);
		now->taken = t;
		return;
	}
	next->nitems = next->nnames = next->nbytes = 0;
	next->in_part = next->no_content = false;
	next->taken = t;
	next->dirs.n = dirs->n;
	next->dirs.config_is_open = dirs->config_is_open;
	memcpy(next->dirs.v, dirs->v, dirs->n * sizeof(dirs->v[0]));
	for (size_t d = 0; d < dirs->n; d++)
		take_names(next, d, links_only);
	if (next->in_part && !now->in_part)
		ats_log(ATS_LOG_WARN, "protected names are too many to be put back: no shell runs",
		    NULL);
	if (next->no_content && !now->no_content)
		ats_log(ATS_LOG_WARN, "protected files are too large to be put back", NULL);
	k->current = !k->current;
	k->taken = true;
}
