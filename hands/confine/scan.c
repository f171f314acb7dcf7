/* SPDX-License-Identifier: Apache-2.0
 *
 * The scan of the workspace. Runs in the shell zygote, before it serves and when it is idle.
 * Everything it sees is a tool's or the user's work: no symlink is followed, no other mount
 * entered, no file opened. */
#include "hands/confine/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

#define STEP 1024	/* entries, between looks at the clock */

struct scan {
	const struct scan_ops *ops;
	struct ats_err *err;
	uint64_t until_ms;
	unsigned entries, sockets;
	bool cut;	/* something was not looked at */
	char path[4096];
};

static int walk(struct scan *s, int parent, const char *name, size_t len, unsigned depth);

/* For the entry that comes next. */
static bool
spent(struct scan *s)
{
	s->entries++;
	if (s->entries > SCAN_ENTRIES_MAX || s->sockets > SCAN_SOCKETS_MAX)
		s->cut = true;
	else if (s->entries % STEP == 0)
		s->cut = s->cut || ats_clock_ms() > s->until_ms ||
		    (s->ops->stop != NULL && s->ops->stop(s->ops->arg));
	return s->cut;
}

/* As readdir tells it, or where the file system does not. */
static unsigned char
type_of(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return e->d_type;
	return (unsigned char)IFTODT(st.st_mode);
}

static bool
has(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool
scan_is_bare(int dir)
{
	return has(dir, "HEAD") &&
	    ((has(dir, "objects") && has(dir, "refs")) || has(dir, "commondir"));
}

/* s->path is the directory that holds the name. */
static int
on_repository(struct scan *s, int dir, const struct dirent *e, unsigned depth)
{
	enum scan_repository kind = type_of(dir, e) == DT_DIR ? SCAN_WORK_TREE : SCAN_LINKED;

	if (s->ops->repository == NULL)
		return 0;
	if (strcmp(e->d_name, "HEAD") == 0) {
		if (!scan_is_bare(dir))
			return 0;
		kind = SCAN_BARE;
	} else if (depth == 0) {
		return 0;
	}
	return s->ops->repository(s->ops->arg, s->path, kind, s->err);
}

static int
on_entry(struct scan *s, int dir, const struct dirent *e, size_t len, unsigned depth)
{
	size_t n = strlen(e->d_name);
	unsigned char type = type_of(dir, e);
	int rc = 0;

	if (strcmp(e->d_name, ".git") == 0 || strcmp(e->d_name, "HEAD") == 0)
		return on_repository(s, dir, e, depth);
	if (type != DT_SOCK && type != DT_DIR)
		return 0;
	if (len + n + 2 > sizeof s->path || depth == SCAN_DEPTH_MAX) {
		s->cut = true;
		return 0;
	}
	s->path[len] = '/';
	memcpy(s->path + len + 1, e->d_name, n + 1);
	if (type == DT_DIR)
		rc = walk(s, dir, e->d_name, len + 1 + n, depth + 1);
	else if (++s->sockets <= SCAN_SOCKETS_MAX && s->ops->socket != NULL)
		rc = s->ops->socket(s->ops->arg, s->path, s->err);
	s->path[len] = '\0';
	return rc;
}

/* What is closed for us is closed for tools, unless it is ours: the owner opens it again. */
static bool
is_open_to_tools(int parent, const char *name, int error)
{
	struct stat st;

	if (error == ENOENT || error == ENOTDIR || error == ELOOP)
		return false;	/* gone meanwhile, or a link in its place */
	if (error != EACCES && error != EPERM)
		return true;	/* it may be anything */
	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid();
}

static int
walk(struct scan *s, int parent, const char *name, size_t len, unsigned depth)
{
	int rc = 0,
	    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (d == NULL) {
		s->cut = s->cut || fd >= 0 || is_open_to_tools(parent, name, errno);
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	while (rc >= 0 && !spent(s) && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = on_entry(s, fd, e, len, depth);
	(void)closedir(d);
	return rc;
}

int
scan_workspace(const char *workspace, const struct scan_ops *ops, bool *ret_whole,
    struct ats_err *err)
{
	static struct scan s;
	int rc;

	s = (struct scan){ .ops = ops, .err = err,
		.until_ms = ats_clock_ms() + SCAN_MS_MAX };
	(void)snprintf(s.path, sizeof s.path, "%s", workspace);
	rc = walk(&s, AT_FDCWD, workspace, strlen(s.path), 0);
	if (ret_whole != NULL)
		*ret_whole = !s.cut && s.sockets <= SCAN_SOCKETS_MAX;
	return rc < 0 ? rc : 0;
}
