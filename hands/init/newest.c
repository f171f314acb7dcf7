/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening the newest file of ats-hands. Runs in the launcher; init is trusted, the file is of
 * whoever may write there, which must not be a tool. */
#include "hands/init/newest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/path.h"

static bool
is_this(const char *path)
{
	struct stat there, self;

	return stat(path, &there) == 0 && stat("/proc/self/exe", &self) == 0 &&
	    there.st_dev == self.st_dev && there.st_ino == self.st_ino;
}

/* By the name that it was started by: a link that will lead to another file is followed then. */
void
newest_find(struct newest *n)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	char cwd[PATH_MAX];
	ssize_t len;

	n->init = -1;
	n->path[0] = '\0';
	if (name != NULL && name[0] == '/')
		(void)snprintf(n->path, sizeof(n->path), "%s", name);
	else if (name != NULL && getcwd(cwd, sizeof(cwd)) != NULL &&
	    ats_path_join(cwd, name, n->path, sizeof(n->path)) < 0)
		n->path[0] = '\0';
	if (n->path[0] != '\0' && (is_this(n->path) || access("/proc/self/exe", F_OK) < 0))
		return;
	len = readlink("/proc/self/exe", n->path, sizeof(n->path) - 1);
	n->path[len > 0 ? len : 0] = '\0';
}

/* The place in which tools write that has the path, or NULL. */
static const char *
writable_by(const struct box *b, const char *path)
{
	const char *const places[] = { b->workspace, b->git_dir, b->state };

	for (size_t i = 0; i < ATS_ARRAY_LEN(places); i++)
		if (places[i][0] != '\0' && ats_path_is_within(places[i], path))
			return places[i];
	return NULL;
}

int
newest_check(const struct box *b, const struct stat *st, const char *path, uid_t ours,
    struct ats_err *err)
{
	const char *in = writable_by(b, path);
	bool same = b->worker_uid == ours;	/* then a wall keeps tools from it, or nothing */

	if (!S_ISREG(st->st_mode))
		return ats_err_set(err, ATS_E_PERM, "%s is no regular file", path);
	if (st->st_uid != 0 && st->st_uid != ours)
		return ats_err_set(err, ATS_E_PERM, "%s belongs to user %u; the next front must "
		    "be a file of root's or of user %u", path, (unsigned)st->st_uid,
		    (unsigned)ours);
	if ((st->st_mode & S_IWOTH) != 0 ||
	    ((st->st_mode & S_IWGRP) != 0 && st->st_gid != 0 && (!same || st->st_uid != ours)) ||
	    (!same && st->st_uid == b->worker_uid))
		return ats_err_set(err, ATS_E_PERM, "%s may be written by others (mode %03o); "
		    "remedy: chmod go-w", path, (unsigned)st->st_mode & 0777);
	if (in != NULL)
		return ats_err_set(err, ATS_E_PERM, "%s lies where tools write, in %s: one of them "
		    "may have put it there; remedy: install ats-hands elsewhere", path, in);
	if (same && b->situation == BOX_NONE && st->st_uid == ours)
		return ats_err_set(err, ATS_E_PERM, "%s may be written by tools: nothing keeps "
		    "them from your files; remedy: let it be root's", path);
	return 0;
}

/* What the descriptor is of, without links. */
static int
real_path(int fd, const char *path, char ret[PATH_MAX], struct ats_err *err)
{
	char name[40];
	ssize_t n;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, ret, PATH_MAX - 1);
	if (n > 0) {
		ret[n] = '\0';
		return 0;
	}
	return realpath(path, ret) == NULL ? ats_err_sys(err, "%s", path) : 0;
}

static int
open_newest(const struct newest *n, int *ret_fd, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = -1, rc;
	char real[PATH_MAX];
	struct stat st;

	if (n->path[0] == '\0')
		return ats_err_set(err, ATS_E_NOENT, "it is not known where ats-hands was started "
		    "from");
	fd = open(n->path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, "%s", n->path);
	rc = real_path(fd, n->path, real, err);
	if (rc == 0)
		rc = newest_check(n->box, &st, real, geteuid(), err);
	if (rc == 0)
		*ret_fd = ats_steal_fd(&fd);
	return rc;
}

void
newest_poll(const struct newest *n, struct pollfd *p)
{
	*p = (struct pollfd){ .fd = n->init, .events = POLLIN };
}

void
newest_turn(struct newest *n, const struct pollfd *p)
{
	struct newest_msg m = { 0 };
	struct ats_err err = { 0 };
	int fd ATS_CLEANUP_FD = -1;
	char asked;

	if (p->revents == 0 || n->init < 0)
		return;
	if (recv(n->init, &asked, 1, MSG_DONTWAIT) != 1) {
		if (errno != EAGAIN || (p->revents & POLLHUP) != 0)
			ats_fd_close(&n->init);	/* init is gone */
		return;
	}
	if (open_newest(n, &fd, &err) < 0) {
		m.code = err.code;
		(void)snprintf(m.text, sizeof(m.text), "%.459s", err.text);
	}
	if (ats_fd_send(n->init, &m, sizeof(m), &fd, fd >= 0 ? 1 : 0) < 0)
		ats_log(ATS_LOG_WARN, "init does not take the next front", NULL);
}
