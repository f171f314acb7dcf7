/* SPDX-License-Identifier: Apache-2.0
 *
 * Making, entering and removing a box's control group (cgroups(7)). Runs in the launcher and
 * in init's first moments, with the rights of whoever started hands; the files are the
 * kernel's. No tool can reach them: a view has no cgroup file system, and Landlock grants
 * none. */
#include "hands/confine/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/confine/cgroup_find.h"
#include "hands/confine/ns.h"

#define PREFIX "ats-box-"
#define HOST_GROUP "ats-host"	/* of us, where our own group must hold no process */
#define TEXT_MAX 65536
#define OWN_MIB 64		/* of hands' own processes, which are in the group too: a single
				 * tool reaches its RLIMIT_DATA before the group is full */
#define MAKE_ROUNDS 20
#define MOVE_ROUNDS 8		/* for processes that fork meanwhile */
#define END_ROUNDS 100		/* of 5 ms, for the kernel to let go of the dead */

/* ---- files ------------------------------------------------------------------------- */
static size_t
read_at(int dir, const char *name, char *out, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && have < size - 1) {
		n = read(fd, out + have, size - 1 - have);
		have += n > 0 ? (size_t)n : 0;
	}
	ats_fd_close(&fd);
	out[have] = '\0';
	return have;
}

static bool
write_at(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int saved = errno;

	ats_fd_close(&fd);
	errno = saved;
	return ok;
}

static bool
write_number(int dir, const char *name, uint64_t n)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	return write_at(dir, name, text);
}

static int
open_dir(int at, const char *path)
{
	return openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

bool
cgroups_count(int fd, const char *key, uint64_t *ret)
{
	char text[1024];
	size_t len = strlen(key);
	ssize_t n = pread(fd, text, sizeof text - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0) {
			*ret = strtoull(line + len, NULL, 10);
			return true;
		}
	}
	return false;
}

/* ---- groups that were left behind ---------------------------------------------------- */
/* The dead are gone from a group a moment after they were waited for. */
static bool
remove_group(int parent, const char *name, int rounds)
{
	for (int i = 0; unlinkat(parent, name, AT_REMOVEDIR) < 0; i++) {
		if (errno != EBUSY || i >= rounds)
			return errno == ENOENT;
		(void)poll(NULL, 0, 5);
	}
	return true;
}

/* Its launcher and init are dead, and what they guarded must be. */
static void
kill_all(int dir)
{
	char text[TEXT_MAX];

	if (write_at(dir, "cgroup.kill", "1"))
		return;
	(void)read_at(dir, "cgroup.procs", text, sizeof text);
	for (char *p = text; *p != '\0'; p += *p == '\n') {
		long pid = strtol(p, &p, 10);

		if (pid > 1)
			(void)kill((pid_t)pid, SIGKILL);
		else if (*p != '\n')
			break;
	}
}

static void
sweep(int parent)
{
	int fd = open_dir(parent, ".");
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (d == NULL)
		ats_fd_close(&fd);
	while (d != NULL && (e = readdir(d)) != NULL) {
		ATS_CLEANUP_FD int dir = -1;

		if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0)
			continue;
		dir = open_dir(parent, e->d_name);
		if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0)
			continue;
		if (!remove_group(parent, e->d_name, 0)) {
			kill_all(dir);
			(void)remove_group(parent, e->d_name, 2);
		}
	}
	if (d != NULL)
		(void)closedir(d);
}

/* ---- making ------------------------------------------------------------------------ */
static void
because(struct cgroups *g, const char *what)
{
	if (g->why[0] == '\0')
		(void)snprintf(g->why, sizeof g->why, "%.90s: %.60s", what, strerror(errno));
}

/* A sweeper may have been faster than our lock: then there is another try. */
static bool
make_group(struct cgroups *g, struct cgroup *c)
{
	struct stat st;

	sweep(c->parent);
	for (int i = 0; i < MAKE_ROUNDS; i++) {
		if (mkdirat(c->parent, g->name, 0755) < 0 && errno != EEXIST)
			break;
		c->dir = open_dir(c->parent, g->name);
		if (c->dir >= 0 && flock(c->dir, LOCK_EX | LOCK_NB) == 0 &&
		    fstatat(c->parent, g->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
		ats_fd_close(&c->dir);
		(void)poll(NULL, 0, 1);
	}
	because(g, "a cgroup cannot be made");
	return false;
}

static void
drop(const struct cgroups *g, struct cgroup *c, int rounds)
{
	ats_fd_close(&c->tasks);
	if (c->dir >= 0)
		(void)remove_group(c->parent, g->name, rounds);
	ats_fd_close(&c->dir);
	ats_fd_close(&c->parent);
}

static uint64_t
memory_bytes(const struct budget *b)
{
	return (b->memory_mib + OWN_MIB) << 20;
}

static bool
set_memory_v1(const struct cgroup *c, const struct budget *b)
{
	if (!write_number(c->dir, "memory.limit_in_bytes", memory_bytes(b)))
		return false;
	/* Swap counts as memory; without swap accounting there is no such file. */
	(void)write_number(c->dir, "memory.memsw.limit_in_bytes", memory_bytes(b));
	return true;
}

static bool
make_v1(struct cgroups *g, struct cgroup *c, const char *path, const struct budget *b)
{
	bool memory = c == &g->memory;

	c->parent = open_dir(AT_FDCWD, path);
	if (c->parent < 0 || !make_group(g, c)) {
		ats_fd_close(&c->parent);
		return false;
	}
	c->tasks = openat(c->dir, "tasks", O_WRONLY | O_CLOEXEC);
	if (c->tasks >= 0 && (memory ? set_memory_v1(c, b) :
		write_number(c->dir, "pids.max", b->box_processes)))
		return true;
	because(g, "its limit cannot be set");
	drop(g, c, 0);
	return false;
}

/* systemd marks what it gave away (systemd.resource-control(5), Delegate=). */
static bool
is_delegated(int dir)
{
	char v[4];

	return (fgetxattr(dir, "user.delegate", v, sizeof v) > 0 ||
	    fgetxattr(dir, "trusted.delegate", v, sizeof v) > 0) && v[0] == '1';
}

static bool
has_controller(int dir, const char *file, const char *controller)
{
	char text[512];
	size_t n = read_at(dir, file, text, sizeof text);

	return cgroup_list_has(text, n, controller, " \n");
}

/* The only process of a container, whose groups nobody else arranges. */
static bool
is_alone(int dir)
{
	char text[64], self[24];
	struct statx sx;

	(void)snprintf(self, sizeof self, "%d\n", (int)getpid());
	(void)read_at(dir, "cgroup.procs", text, sizeof text);
	return strcmp(text, self) == 0 && statx(dir, "", AT_EMPTY_PATH, 0, &sx) == 0 &&
	    (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* A group that gives controllers to groups beneath it must hold no process itself: ours
 * move into a group of their own. */
static bool
move_ours(int dir)
{
	ATS_CLEANUP_FD int host = -1;
	char text[TEXT_MAX];

	if (mkdirat(dir, HOST_GROUP, 0755) < 0 && errno != EEXIST)
		return false;
	host = open_dir(dir, HOST_GROUP);
	for (int i = 0; host >= 0 && i < MOVE_ROUNDS; i++) {
		if (read_at(dir, "cgroup.procs", text, sizeof text) == 0)
			return true;
		for (char *p = text, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
			*end = '\0';
			(void)write_at(host, "cgroup.procs", p);
		}
	}
	return false;
}

static bool
enable(int dir, const char *controller, bool may_move)
{
	char text[32];

	if (has_controller(dir, "cgroup.subtree_control", controller))
		return true;
	if (!has_controller(dir, "cgroup.controllers", controller)) {
		errno = ENODEV;
		return false;
	}
	(void)snprintf(text, sizeof text, "+%s", controller);
	if (write_at(dir, "cgroup.subtree_control", text))
		return true;
	return errno == EBUSY && may_move && (is_delegated(dir) || is_alone(dir)) &&
	    move_ours(dir) && write_at(dir, "cgroup.subtree_control", text);
}

/* Beneath our own group, or beside it where the tree above was given to us. */
static bool
make_v2(struct cgroups *g, const char *path, const struct budget *b)
{
	struct cgroup *c = &g->memory;
	char above[PATH_MAX + 4];

	c->parent = open_dir(AT_FDCWD, path);
	if (c->parent >= 0 && !enable(c->parent, "memory", true)) {
		because(g, "cgroup v2 gives no memory controller to groups beneath ours");
		ats_fd_close(&c->parent);
		(void)snprintf(above, sizeof above, "%s/..", path);
		c->parent = open_dir(AT_FDCWD, above);
		if (c->parent >= 0 &&
		    (!is_delegated(c->parent) || !enable(c->parent, "memory", false)))
			ats_fd_close(&c->parent);
	}
	if (c->parent < 0 || !make_group(g, c)) {
		ats_fd_close(&c->parent);
		return false;
	}
	if (!write_number(c->dir, "memory.max", memory_bytes(b))) {
		because(g, "memory.max cannot be set");
		drop(g, c, 0);
		return false;
	}
	(void)write_at(c->dir, "memory.swap.max", "0");
	g->into = c->dir;
	g->has_pids = enable(c->parent, "pids", false) &&
	    write_number(c->dir, "pids.max", b->box_processes);
	return true;
}

void
cgroups_make(struct cgroups *g, const struct budget *b)
{
	static char cgroup[TEXT_MAX], mounts[4 * TEXT_MAX];
	const struct cgroup none = { -1, -1, -1 };
	char path[PATH_MAX];

	*g = (struct cgroups){ .memory = none, .pids = none, .into = -1, .oom = -1, .forks = -1 };
	(void)snprintf(g->name, sizeof g->name, PREFIX "%d", (int)getpid());
	if (read_at(AT_FDCWD, "/proc/self/cgroup", cgroup, sizeof cgroup) == 0 ||
	    read_at(AT_FDCWD, "/proc/self/mountinfo", mounts, sizeof mounts) == 0) {
		because(g, "/proc/self/cgroup");
		return;
	}
	if (cgroup_find(cgroup, mounts, "memory", path, sizeof path)) {
		g->has_memory = make_v1(g, &g->memory, path, b);
		g->oom = g->has_memory ?
		    openat(g->memory.dir, "memory.oom_control", O_RDONLY | O_CLOEXEC) : -1;
		if (cgroup_find(cgroup, mounts, "pids", path, sizeof path))
			g->has_pids = make_v1(g, &g->pids, path, b);
	} else if (cgroup_find(cgroup, mounts, NULL, path, sizeof path)) {
		g->has_memory = make_v2(g, path, b);
		g->oom = g->has_memory ?
		    openat(g->memory.dir, "memory.events", O_RDONLY | O_CLOEXEC) : -1;
	} else {
		errno = ENOENT;
		because(g, "no cgroup file system is mounted");
	}
	if (g->has_pids)
		g->forks = openat(g->pids.dir >= 0 ? g->pids.dir : g->memory.dir, "pids.events",
		    O_RDONLY | O_CLOEXEC);
}

/* ---- entering ---------------------------------------------------------------------- */
static void
cannot_enter(struct cgroups *g)
{
	because(g, "the cgroup cannot be entered");
	g->has_memory = g->has_pids = false;
	ats_fd_close(&g->oom);
	ats_fd_close(&g->forks);
}

/* Entering at birth: moving a whole process waits for a grace period of the kernel, some 40 ms.
 * Moving oneself as a single task (cgroup v1) does not. */
pid_t
cgroups_fork(struct cgroups *g, unsigned long flags)
{
	pid_t pid;

	if (g->into < 0)
		return ns_fork(flags);
	pid = ns_fork_into(flags, g->into);
	if (pid >= 0)
		return pid;
	cannot_enter(g);
	return ns_fork(flags);
}

void
cgroups_enter(struct cgroups *g)
{
	if ((g->memory.tasks >= 0 && write(g->memory.tasks, "0", 1) != 1) ||
	    (g->pids.tasks >= 0 && write(g->pids.tasks, "0", 1) != 1))
		cannot_enter(g);
	ats_fd_close(&g->memory.tasks);
	ats_fd_close(&g->pids.tasks);
}

void
cgroups_end(struct cgroups *g)
{
	ats_fd_close(&g->oom);
	ats_fd_close(&g->forks);
	g->into = -1;
	drop(g, &g->memory, END_ROUNDS);
	drop(g, &g->pids, END_ROUNDS);
}
