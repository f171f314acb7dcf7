/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts remembered names back. Runs in the shell zygote and its monitors, outside of the tools'
 * Landlock domain, with their user id. The names are a tool's work or the user's, and other tools
 * may run meanwhile: everything is done beneath descriptors of directories, nothing is followed. */
#include "hands/confine/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/keep_private.h"

struct keep *
keep_new(struct ats_err *err)
{
	struct keep *k = mmap(NULL, sizeof(*k), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (k != MAP_FAILED)
		return k;
	(void)ats_err_sys(err, "keep: mmap");
	return NULL;
}

static int
make_file(const struct snapshot *s, const struct item *it, int at, const char *name)
{
	ATS_CLEANUP_FD int fd = openat(at, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || ats_fd_write_all(fd, s->bytes + it->data, it->len) < 0)
		return -1;
	return fchmod(fd, it->mode & 07777);
}

static int
make_item(const struct snapshot *s, const struct item *it, int dirfd)
{
	const char *name;
	ATS_CLEANUP_FD int at = keep_open_parent(dirfd, s->names + it->rel, &name);

	if (at < 0)
		return -1;
	if (S_ISDIR(it->mode))
		return mkdirat(at, name, 0700);	/* what is in it comes first */
	if (!it->whole)
		return S_ISREG(it->mode) ? -1 : 0;
	return S_ISLNK(it->mode) ? symlinkat(s->bytes + it->data, at, name) :
	    make_file(s, it, at, name);
}

/* A directory that a tool renamed within its own. */
static int
bring_back(const struct item *it, int at, const char *name)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = -1;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;

	while (d != NULL && rc < 0 && (e = readdir(d)) != NULL)
		if (fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode) && st.st_ino == it->ino && st.st_dev == it->dev)
			rc = renameat2(at, e->d_name, at, name, RENAME_NOREPLACE);
	if (d != NULL)
		(void)closedir(d);
	else if (fd >= 0)
		(void)close(fd);
	return rc;
}

/* One that is gone: brought back between two commands it may have been removed by the second.
 * Another takes its place, for what is remembered below it. */
static int
make_shallow(struct item *it, int at, const char *name)
{
	struct stat st;

	if (mkdirat(at, name, it->mode & 07777) < 0 ||
	    fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	keep_note_stat(it, &st);
	return 0;
}

/* The modes of directories that were made, when all is in them. */
static bool
set_modes(const struct snapshot *s, const struct item *it, int at)
{
	bool done = true;

	for (uint32_t i = it->span; i-- > 0;)
		if (S_ISDIR(it[i].mode))
			done = keep_set_mode(at, s->names + it[i].rel, it[i].mode) == 0 && done;
	return done;
}

/* False: some of it could not be made. What was too much to be remembered lies beside. */
static bool
make_all(const struct snapshot *s, struct item *it, int at)
{
	bool done = true;

	for (uint32_t i = 0; i < it->span; i++) {
		it[i].unsure = true;
		if (it[i].mode == 0 || make_item(s, &it[i], at) == 0)
			continue;
		if (S_ISREG(it[i].mode) && !it[i].whole)
			it[i].mode = 0;
		else
			done = false;
	}
	return set_modes(s, it, at) && done;
}

/* False: it is not as it was, and not gone either. */
static bool
put_back(struct snapshot *s, struct item *it, int at)
{
	const char *name;
	ATS_CLEANUP_FD int parent = keep_open_parent(at, s->names + it->rel, &name);
	mode_t mode = 0;
	bool done = true;

	if (parent < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
	if (keep_move_aside(parent, name) < 0 && errno != ENOENT)
		return false;
	keep_unlock(parent, &mode);
	if (it->shallow)
		done = bring_back(it, parent, name) == 0 || make_shallow(it, parent, name) == 0;
	else
		done = make_all(s, it, at);
	keep_lock(parent, mode);
	if (done)
		ats_log(ATS_LOG_WARN, "a protected name was changed and put back", "name=%s", name);
	return done;
}

unsigned
keep_restore(struct keep *k, const char **ret_stays)
{
	struct snapshot *s = &k->of[k->current];
	unsigned n = 0;

	for (uint32_t i = 0; k->taken && i < s->nitems;) {
		uint32_t dir = s->items[i].dir;
		ATS_CLEANUP_FD int at = keep_open_dir(s->dirs.v[dir].path);
		bool is_shut = at < 0 && errno == EACCES;

		for (; i < s->nitems && s->items[i].dir == dir; i += s->items[i].span) {
			struct item *it = &s->items[i];
			const char *rel = s->names + it->rel;

			if (is_shut)
				*ret_stays = rel;
			/* A repository that is made stays: what is in it is its maker's. */
			if (at < 0 || (it->mode == 0 && strcmp(rel, ".git") == 0) ||
			    keep_is_same(s, it, at))
				continue;
			if (!put_back(s, it, at))
				*ret_stays = rel;
			n++;
		}
	}
	if (n > 0)
		(void)clock_gettime(CLOCK_REALTIME, &s->taken);
	return n;
}

bool
keep_is_whole(const struct keep *k)
{
	return !k->of[k->current].in_part;
}

bool
keep_has_contents(const struct keep *k)
{
	return !k->of[k->current].no_content;
}

bool
keep_has(const struct keep *k, size_t dir, const char *name)
{
	const struct snapshot *s = &k->of[k->current];

	for (uint32_t i = 0; k->taken && i < s->nitems; i += s->items[i].span)
		if (s->items[i].dir == dir && s->items[i].mode != 0 &&
		    strcmp(s->names + s->items[i].rel, name) == 0)
			return true;
	return false;
}
