/* SPDX-License-Identifier: Apache-2.0
 *
 * A state directory that workers reach. Runs in the launcher, as root; all names are ours, and
 * only root may write where they are made. */
#include "hands/init/bare_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/digest.h"
#include "common/fd.h"
#include "common/log.h"

static bool
others_pass(const char *path)
{
	char above[PATH_MAX];
	struct stat st;

	for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		(void)snprintf(above, sizeof(above), "%.*s", (int)(p - path), path);
		if (stat(above, &st) < 0 || (st.st_mode & S_IXOTH) == 0)
			return false;
	}
	return true;
}

/* A directory of root's that others pass and do not write; its descriptor or -1. */
static int
make(int at, const char *name)
{
	struct stat st;
	int fd;

	if (mkdirat(at, name, 0711) < 0 && errno != EEXIST)
		return -1;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == 0 && (st.st_mode & 022) == 0 &&
	    fchmod(fd, 0711) == 0)
		return fd;
	if (fd >= 0) {
		(void)close(fd);
		errno = EPERM;
	}
	return -1;
}

int
bare_state(char state[PATH_MAX], struct ats_err *err)
{
	static const char *const places[] = { "/var/lib/ats-hands", "/run/ats-hands-state" };
	char hex[ATS_SHA256_HEX], path[64];

	if (others_pass(state))
		return 0;
	ats_sha256_hex(state, strlen(state), hex);
	hex[16] = '\0';
	for (size_t i = 0; i < ATS_ARRAY_LEN(places); i++) {
		ATS_CLEANUP_FD int top = make(AT_FDCWD, places[i]);
		ATS_CLEANUP_FD int own = top >= 0 ? make(top, hex) : -1;

		(void)snprintf(path, sizeof(path), "%s/%.16s", places[i], hex);
		if (own < 0 || !others_pass(path))
			continue;
		ats_log(ATS_LOG_INFO, "tools cannot reach the state directory: home and tmp are "
		    "elsewhere", "path=%s", path);
		(void)snprintf(state, PATH_MAX, "%s", path);
		return 0;
	}
	return ats_err_sys(err, "state directory %s: others cannot pass what is above it, and "
	    "neither /var/lib/ats-hands nor /run/ats-hands-state can be made", state);
}
