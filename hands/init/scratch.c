/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories that hands makes for itself. Runs in the launcher and in the probe; the names
 * are ours, what lies in them may be a tool's. A lock tells whether its owner lives: a killed
 * one removes nothing, so the next start does. */
#include "hands/init/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

#define LOCK ".lock"
#define SUFFIX "-XXXXXX"
#define SWEEP_MAX 32		/* a start; the next one goes on */

static const char *const places[] = { "/tmp", "/run", "", "/var/tmp", "/dev/shm" };

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)where;
	(void)(kind == FTW_DP ? rmdir(path) : unlink(path));
	return 0;
}

void
scratch_remove(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Ours, and locked by nobody. One without a lock is being made at this moment. */
static bool
is_left_over(int dir, const char *name)
{
	int fd ATS_CLEANUP_FD = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int lock ATS_CLEANUP_FD = -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return false;
	lock = openat(fd, LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
}

static void
sweep(const char *place, const char *name)
{
	DIR *d = opendir(place[0] == '\0' ? "/" : place);
	size_t n = strlen(name), removed = 0;
	struct dirent *e;
	char path[300];

	while (d != NULL && removed < SWEEP_MAX && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, name, n) != 0 || e->d_name[n] != '-' ||
		    strlen(e->d_name) != n + strlen(SUFFIX) ||
		    !is_left_over(dirfd(d), e->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", place, e->d_name);
		scratch_remove(path);
		removed++;
	}
	if (d != NULL)
		(void)closedir(d);
}

/* Held by whoever has the descriptor: by this process and what it forks without an exec. */
static int
hold(const char *path)
{
	char name[96];
	int fd;

	(void)snprintf(name, sizeof(name), "%s/" LOCK, path);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
		ats_fd_close(&fd);
	return fd;
}

int
scratch_make(const char *name, char *out, size_t size, int *ret_lock, struct ats_err *err)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(places); i++) {
		int n = snprintf(out, size, "%s/%s" SUFFIX, places[i], name);

		if (n <= 0 || (size_t)n >= size || mkdtemp(out) == NULL)
			continue;
		*ret_lock = hold(out);
		if (*ret_lock >= 0) {
			sweep(places[i], name);
			return 0;
		}
		scratch_remove(out);
	}
	return ats_err_sys(err, "no place for a directory: not in /tmp, /run, /, /var/tmp "
	    "or /dev/shm; give --state-dir");
}
