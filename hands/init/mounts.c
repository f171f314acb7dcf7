/* SPDX-License-Identifier: Apache-2.0
 *
 * Mounts of a pid 1 that was given none. Runs in the launcher, first of all; its input is the
 * image's root directory. */
#include "hands/init/mounts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"

#define QUIET (MS_NOSUID | MS_NODEV)

/* Usable means: test is there, and can be written to where that is asked. */
struct place {
	const char *path, *test;
	bool writable;
	const char *type, *data;
	unsigned long flags;
};
static const struct place places[] = {
	{ "/proc", "/proc/self/stat", false, "proc", NULL, QUIET | MS_NOEXEC },
	{ "/dev", "/dev/null", true, "tmpfs", "mode=755,size=64k", MS_NOSUID | MS_NOEXEC },
	{ "/dev/shm", "/dev/shm", true, "tmpfs", "mode=1777", QUIET | MS_NOEXEC },
	{ "/tmp", "/tmp", true, "tmpfs", "mode=1777", QUIET },
	{ "/run", "/run", true, "tmpfs", "mode=755", QUIET },
};

static const struct node {
	const char *path;
	unsigned minor_number;	/* of the memory devices, major 1 */
} nodes[] = { { "/dev/null", 3 }, { "/dev/zero", 5 }, { "/dev/full", 7 },
	{ "/dev/random", 8 }, { "/dev/urandom", 9 } };

static const char *const links[][2] = { { "/proc/self/fd", "/dev/fd" },
	{ "/proc/self/fd/0", "/dev/stdin" }, { "/proc/self/fd/1", "/dev/stdout" },
	{ "/proc/self/fd/2", "/dev/stderr" } };

static bool
put_nodes(void)
{
	bool all = mknod("/dev/tty", S_IFCHR | 0666, makedev(5, 0)) == 0;

	for (size_t i = 0; i < ATS_ARRAY_LEN(nodes); i++)
		all = mknod(nodes[i].path, S_IFCHR | 0666,
		    makedev(1, nodes[i].minor_number)) == 0 && all;
	for (size_t i = 0; i < ATS_ARRAY_LEN(links); i++)
		all = symlink(links[i][0], links[i][1]) == 0 && all;
	return all;
}

static bool
put(const struct place *p)
{
	/* It may be there; whether it is a directory the mount says. */
	(void)mkdir(p->path, 0755);
	if (mount(p->type, p->path, p->type, p->flags, p->data) < 0)
		return false;
	if (strcmp(p->path, "/dev") != 0 || put_nodes())
		return true;
	/* Worse than nothing: a user namespace's nodes cannot be opened. */
	(void)umount2(p->path, MNT_DETACH);
	return false;
}

void
mounts_complete(void)
{
	mode_t old;

	if (getpid() != 1)
		return;
	old = umask(0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(places); i++) {
		const struct place *p = &places[i];

		if (access(p->test, p->writable ? W_OK : F_OK) < 0 && put(p))
			ats_log(ATS_LOG_INFO, "mounted what was missing", "path=%s", p->path);
	}
	(void)umask(old);
}
