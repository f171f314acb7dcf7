/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving a name aside, whatever a tool made of the modes of its directories: it has our user
 * id, so each that it could change is one that we can change back. Runs where keep.c does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "hands/confine/keep_private.h"
#include "hands/confine/mnt.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define TRIES_MAX 64	/* a tool that runs may take back at once what we gave */

/* Since Linux 6.6 for every directory; before that it must be readable. */
static int
set_mode(int dirfd, mode_t mode)
{
	ATS_CLEANUP_FD int fd = -1;

	if (syscall(SYS_fchmodat2, dirfd, "", mode & 07777, AT_EMPTY_PATH) == 0)
		return 0;
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -1 : fchmod(fd, mode & 07777);
}

void
keep_unlock(int dirfd, mode_t *mode)
{
	struct stat st;

	if (fstat(dirfd, &st) < 0 || (st.st_mode & S_IRWXU) == S_IRWXU)
		return;
	if (set_mode(dirfd, st.st_mode | S_IRWXU) == 0 && *mode == 0)
		*mode = st.st_mode;
}

void
keep_lock(int dirfd, mode_t mode)
{
	int saved = errno;

	if (mode != 0)
		(void)set_mode(dirfd, mode);
	errno = saved;
}

int
keep_set_mode(int dirfd, const char *rel, mode_t mode)
{
	ATS_CLEANUP_FD int fd = keep_open(dirfd, rel, O_PATH | O_DIRECTORY);

	return fd < 0 ? -1 : set_mode(fd, mode);
}

static int
rename_aside(int dirfd, const char *name, bool is_first)
{
	char to[256 + 40];
	uint64_t number = 0;

	if (is_first) {
		(void)snprintf(to, sizeof(to), "%.200s.quarantine", name);
	} else {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		(void)snprintf(to, sizeof(to), "%.200s.quarantine.%016llx", name,
		    (unsigned long long)number);
	}
	return renameat2(dirfd, name, dirfd, to, RENAME_NOREPLACE);
}

int
keep_move_aside(int dirfd, const char *name)
{
	mode_t mode = 0;
	int rc = -1;

	for (unsigned i = 0; i < TRIES_MAX; i++) {
		rc = rename_aside(dirfd, name, i == 0);
		if (rc == 0 || (errno != EEXIST && errno != EACCES && errno != EPERM))
			break;
		if (errno != EEXIST)
			keep_unlock(dirfd, &mode);
	}
	keep_lock(dirfd, mode);
	return rc;
}

enum keep_aside
keep_put_aside(int dirfd, const char *name, const char *why)
{
	if (keep_move_aside(dirfd, name) == 0) {
		ats_log(ATS_LOG_WARN, "a name that a tool made was moved aside",
		    "name=%s why=\"%s\"", name, why);
		return KEEP_MOVED;
	}
	if (errno == ENOENT || errno == EBUSY)
		return KEEP_GONE;
	ats_log(ATS_LOG_WARN, "a name that a tool made cannot be moved aside",
	    "name=%s why=\"%s\" errno=%d", name, why, errno);
	return KEEP_STAYS;
}

/* Every directory on the way that its owner, us, may not enter. True: one was. */
static bool
let_in(const char *path)
{
	char part[4096];
	bool any = false;

	for (size_t n = 1; n < sizeof(part); n++) {
		ATS_CLEANUP_FD int at = -1;
		struct stat st;

		if (path[n] != '/' && path[n] != '\0')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)n, path);
		if (mnt_open_dir(part, &at, NULL) < 0 || fstat(at, &st) < 0)
			break;
		if (st.st_uid == geteuid() && (st.st_mode & S_IXUSR) == 0)
			any = set_mode(at, st.st_mode | S_IRWXU) == 0 || any;
		if (path[n] == '\0')
			break;
	}
	return any;
}

int
keep_open_dir(const char *path)
{
	struct stat st;

	for (unsigned i = 0; i < TRIES_MAX; i++) {
		int fd = -1;

		errno = 0;
		if (mnt_open_dir(path, &fd, NULL) == 0 &&
		    (fstatat(fd, ".", &st, 0) == 0 || errno != EACCES))
			return fd;
		if (fd >= 0)
			(void)close(fd);
		if (errno != EACCES || !let_in(path))
			break;
		errno = EACCES;
	}
	return -1;
}
