/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories that hands makes for itself. Runs in the launcher and in the probe; the names
 * are ours, what lies in them may be a tool's. */
#include "hands/init/scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int
scratch_make(const char *name, char *out, size_t size, struct ats_err *err)
{
	static const char *const places[] = { "/tmp", "/run", "", "/var/tmp", "/dev/shm" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(places); i++) {
		int n = snprintf(out, size, "%s/%s-XXXXXX", places[i], name);

		if (n > 0 && (size_t)n < size && mkdtemp(out) != NULL)
			return 0;
	}
	return ats_err_sys(err, "no place for a directory: not in /tmp, /run, /, /var/tmp "
	    "or /dev/shm; give --state-dir");
}

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
