/* SPDX-License-Identifier: Apache-2.0
 *
 * Plan files are the host's alone: which paths mean one, and opening one. Process: an agent
 * runtime; names are a model's, paths in a delta brain's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/client/ctx.h"
#include "common/fd.h"

#define LINKS_MAX 16u		/* that lead nowhere yet; more may be anything */
#define OPEN_FLAGS (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_CLOEXEC)

/* Fills real with the longest part of a normal path that exists, without links; its length in
 * at, 0 for the root. */
static size_t
resolve_part(const char *at, char real[ATS_PATH_MAX])
{
	char part[ATS_PATH_MAX], *found;
	size_t len = strlen(at);

	for (;;) {
		(void)snprintf(part, sizeof(part), "%.*s", len == 0 ? 1 : (int)len, at);
		found = realpath(part, NULL);
		if (found != NULL || len == 0)
			break;
		while (at[--len] != '/')
			;
	}
	(void)snprintf(real, ATS_PATH_MAX, "%s", found == NULL ? "/" : found);
	free(found);
	return strcmp(at, "/") == 0 ? 1 : len;
}

/* Whether what follows at[0..len) is a link to what is not there; then at becomes what it names. */
static bool
follow(char at[ATS_PATH_MAX], size_t len, const char *real)
{
	char link[ATS_PATH_MAX], to[2 * ATS_PATH_MAX];
	size_t end = len + 1 + strcspn(at + len + 1, "/");
	ssize_t n;

	(void)snprintf(link, sizeof(link), "%.*s", (int)end, at);
	n = readlink(link, to, ATS_PATH_MAX - 1);
	if (n <= 0)
		return false;
	(void)snprintf(to + n, sizeof(to) - (size_t)n, "%s", at + end);
	if (ats_path_join(real, to, at, ATS_PATH_MAX) < 0)
		at[0] = '\0';
	return true;
}

void
plan_resolve(const char *path, char out[ATS_PATH_MAX])
{
	char at[ATS_PATH_MAX], real[ATS_PATH_MAX];
	size_t len;
	int n;

	out[0] = '\0';
	if (ats_path_join("/", path, at, sizeof(at)) < 0)
		return;
	for (unsigned links = 0; links < LINKS_MAX && at[0] == '/'; links++) {
		len = resolve_part(at, real);
		if (at[len] != '\0' && follow(at, len, real))
			continue;
		n = snprintf(out, ATS_PATH_MAX, "%s%s", at[len] != '\0' && real[1] == '\0' ? "" :
		    real, at + len);
		if (n >= ATS_PATH_MAX)
			out[0] = '\0';
		return;
	}
}

int
plan_set(struct plan *p, const char *dir, const char *workspace)
{
	if (dir == NULL)
		return 0;
	if (dir[0] != '/' || ats_path_join("/", dir, p->path, sizeof(p->path)) < 0)
		return ATS_ERR_ARG;
	plan_resolve(p->path, p->real);
	if (p->real[0] == '\0' || ats_path_is_within(p->path, workspace) ||
	    ats_path_is_within(p->real, workspace))
		return ATS_ERR_ARG;
	return 0;
}

bool
plan_holds(const struct plan *p, const char *path)
{
	char real[ATS_PATH_MAX];

	if (p->path[0] == '\0')
		return false;
	if (ats_path_is_within(p->path, path) || ats_path_is_within(p->real, path))
		return true;
	plan_resolve(path, real);
	/* What cannot be resolved may be anything. */
	return real[0] == '\0' || ats_path_is_within(p->real, real);
}

bool
plan_is_meant(const struct plan *p, const char *cwd, const char *raw)
{
	const char *home = getenv("HOME");
	char path[ATS_PATH_MAX];

	if (p->path[0] == '\0')
		return false;
	if (raw[0] == '~' && (raw[1] == '/' || raw[1] == '\0')) {
		if (home == NULL || home[0] != '/')
			return false;
		cwd = home;
		raw += raw[1] == '\0' ? 1 : 2;
		while (*raw == '/')
			raw++;
		if (*raw == '\0')
			raw = ".";
	}
	return ats_path_join(cwd, raw, path, sizeof(path)) == 0 && plan_holds(p, path);
}

/* One plain file name. */
static bool
is_plain(const char *name, size_t n)
{
	if (name == NULL || n == 0 || n > 255 || (n == 1 && name[0] == '.') ||
	    (n == 2 && name[0] == '.' && name[1] == '.'))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == '/' || name[i] == 0x7f)
			return false;
	return true;
}

int
ats_plan_open(const struct ats_ctx *c, const char *name, size_t n, int flags, unsigned mode)
{
	int ATS_CLEANUP_FD dir = -1, ATS_CLEANUP_FD fd = -1;
	char text[256];
	struct stat st;

	if (c->plan.path[0] == '\0' || (flags & ~OPEN_FLAGS) != 0 || !is_plain(name, n))
		return ATS_ERR_PLAN;
	memcpy(text, name, n);
	text[n] = '\0';
	dir = open(c->plan.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return ATS_ERR_SYSTEM;
	/* O_NONBLOCK: a FIFO must not hold the runtime. */
	fd = ats_path_open_beneath(dir, text, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	    (flags & O_CREAT) != 0 ? (mode_t)mode : 0, NULL);
	if (fd < 0) {
		fd = -1;
		return errno == ELOOP || errno == EXDEV || errno == EISDIR || errno == ENXIO ?
		    ATS_ERR_PLAN : ATS_ERR_SYSTEM;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ATS_ERR_PLAN;
	if (ats_fd_nonblock(fd, false) < 0)
		return ATS_ERR_SYSTEM;
	return ats_steal_fd(&fd);
}
