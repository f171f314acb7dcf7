/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a name as it is remembered? Runs where keep.c does; what is there is a tool's work. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/confine/keep_private.h"

#define TICK_MS 20

int
keep_open(int dirfd, const char *rel, uint64_t flags)
{
	const struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, dirfd, rel, &how, sizeof(how));
}

/* The directory of the last name of rel, owned, and that name. */
int
keep_open_parent(int dirfd, const char *rel, const char **ret_name)
{
	char parent[4096];
	const char *slash = strrchr(rel, '/');

	*ret_name = slash != NULL ? slash + 1 : rel;
	(void)snprintf(parent, sizeof(parent), "%.*s", slash != NULL ? (int)(slash - rel) : 1,
	    slash != NULL ? rel : ".");
	return keep_open(dirfd, parent, O_PATH | O_DIRECTORY);
}

int
keep_stat(int dirfd, const char *rel, struct stat *ret)
{
	const char *name;
	ATS_CLEANUP_FD int at = keep_open_parent(dirfd, rel, &name);

	return at < 0 ? -1 : fstatat(at, name, ret, AT_SYMLINK_NOFOLLOW);
}

/* Before Linux 6.13 two changes within a tick have the same time: such a file or link is read,
 * the entries of such a directory are counted. */
static bool
is_young(const struct snapshot *s, const struct item *it)
{
	int64_t ms = (s->taken.tv_sec - it->changed.tv_sec) * 1000 +
	    (s->taken.tv_nsec - it->changed.tv_nsec) / 1000000;

	return ms < TICK_MS && (it->whole || S_ISDIR(it->mode));
}

static bool
has_content(const struct snapshot *s, const struct item *it, int at)
{
	ATS_CLEANUP_FD int fd =
	    keep_open(at, s->names + it->rel, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	char buf[4096];
	size_t done = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = ats_fd_read(fd, buf, sizeof(buf))) > 0) {
		if ((size_t)n > it->len - done ||
		    memcmp(buf, s->bytes + it->data + done, (size_t)n) != 0)
			return false;
		done += (size_t)n;
	}
	return n == 0 && done == it->len;
}

/* Whether a directory has as many entries as are remembered; each is looked at by itself. False
 * with errno EACCES: it is shut. */
static bool
has_entries(const struct snapshot *s, const struct item *it, int at)
{
	const char *rel = s->names + it->rel;
	int fd = keep_open(at, rel, O_RDONLY | O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = strlen(rel);
	long entries = -2;	/* . and .. */

	if (d == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return false;
	}
	while (readdir(d) != NULL)
		entries++;
	(void)closedir(d);
	errno = 0;
	for (const struct item *i = it + 1; i < s->items + s->nitems; i++) {
		const char *below = s->names + i->rel;

		if (i->span != 0 || strncmp(below, rel, n) != 0 || below[n] != '/')
			break;
		entries -= i->mode != 0 && strchr(below + n + 1, '/') == NULL;
	}
	return entries == 0;
}

static bool
has_target(const struct snapshot *s, const struct item *it, int at)
{
	const char *name;
	ATS_CLEANUP_FD int parent = keep_open_parent(at, s->names + it->rel, &name);
	char target[PATH_MAX];
	ssize_t n = parent < 0 ? -1 : readlinkat(parent, name, target, sizeof(target));

	return n >= 0 && (size_t)n == it->len && memcmp(target, s->bytes + it->data, it->len) == 0;
}

static bool
has_the_same(const struct snapshot *s, const struct item *it, int at)
{
	if (S_ISDIR(it->mode))
		return has_entries(s, it, at);
	if (S_ISREG(it->mode))
		return it->whole && has_content(s, it, at);
	return !S_ISLNK(it->mode) || has_target(s, it, at);
}

/* Not by times: by content. */
static bool
is_equal(const struct snapshot *s, const struct item *it, int at)
{
	struct stat st;

	return keep_stat(at, s->names + it->rel, &st) == 0 && st.st_mode == it->mode &&
	    has_the_same(s, it, at);
}

static bool
is_same(const struct snapshot *s, const struct item *it, int at)
{
	struct stat st;

	if (it->unsure && it->mode != 0 && !it->shallow)
		return is_equal(s, it, at);

	if (keep_stat(at, s->names + it->rel, &st) < 0)
		return it->mode == 0;
	if (it->shallow)
		return S_ISDIR(st.st_mode) && st.st_ino == it->ino && st.st_dev == it->dev;
	if (st.st_mode != it->mode || st.st_ino != it->ino || st.st_dev != it->dev ||
	    (st.st_size != it->size && !S_ISDIR(st.st_mode)) ||
	    st.st_ctim.tv_sec != it->changed.tv_sec || st.st_ctim.tv_nsec != it->changed.tv_nsec)
		return false;
	/* What is in a directory that is shut nobody remembered: its time must do. */
	return !is_young(s, it) || has_the_same(s, it, at) ||
	    (S_ISDIR(it->mode) && errno == EACCES);
}

bool
keep_is_same(const struct snapshot *s, const struct item *it, int at)
{
	for (uint32_t i = 0; i < it->span; i++)
		if (!is_same(s, &it[i], at))
			return false;
	return true;
}
