/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks on files outside of the workspace that a shell cannot word. */
#include <dirent.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "attack.h"

static void *
swap_forever(void *arg)
{
	(void)arg;
	for (;;)
		(void)renameat2(AT_FDCWD, "race-a", AT_FDCWD, "race-b", RENAME_EXCHANGE);
	return NULL;
}

/* Two names trade places, a file and a link to the outside: looked at as one, opened as the
 * other. */
void
attack_race_open(void)
{
	time_t end = time(NULL) + 2;
	pthread_t t;
	struct stat st;

	(void)close(open("race-a", O_CREAT | O_WRONLY, 0600));
	if (symlink(outside("canary"), "race-b") < 0 ||
	    pthread_create(&t, NULL, swap_forever, NULL) != 0) {
		ABSENT("cannot be set up: %s", strerror(errno));
		return;
	}
	while (time(NULL) < end) {
		int fd = -1;

		if (lstat("race-a", &st) == 0 && S_ISREG(st.st_mode))
			fd = open("race-a", O_RDONLY);
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
			print_from(fd);
			ESCAPED("the race was won");
			_exit(0);
		}
		(void)close(fd);
	}
	REFUSED("never won");
	_exit(0);
}

#define HANDLE_MAX 128
struct handle {
	struct file_handle h;
	unsigned char bytes[HANDLE_MAX];
};

/* On the host: the canary's handle, into the file of the first argument. */
void
attack_handle_make(void)
{
	struct handle f = { .h.handle_bytes = HANDLE_MAX };
	int mount, fd = open(arguments[0], O_CREAT | O_WRONLY, 0644);

	if (name_to_handle_at(AT_FDCWD, outside("canary"), &f.h, &mount, 0) < 0 ||
	    write(fd, &f, sizeof f) != (ssize_t)sizeof f)
		ABSENT("no handle: %s", strerror(errno));
	(void)close(fd);
}

void
attack_handle_open(void)
{
	static const char *const places[] = { ".", "/", "/usr", "/tmp" };
	struct handle f = { 0 };
	int in = open(arguments[0], O_RDONLY);

	if (read(in, &f, sizeof f) != (ssize_t)sizeof f) {
		ABSENT("no handle");
		return;
	}
	for (size_t i = 0; i < 4; i++) {
		int d = open(places[i], O_RDONLY | O_DIRECTORY);
		int fd = open_by_handle_at(d, &f.h, O_RDONLY);

		(void)must_fail(fd, places[i]);
		print_from(fd);
	}
}

/* From a directory that is granted up to its parent, through descriptors only. */
void
attack_own_fd_up(void)
{
	int d = open(".", O_RDONLY | O_DIRECTORY), up = openat(d, "..", O_PATH);
	int out = openat(up, "out/canary", O_RDONLY);

	(void)must_fail(out, "openat through the parent");
	print_from(out);
	out = fchdir(up) < 0 ? -1 : open("out/canary", O_RDONLY);
	(void)must_fail(out, "fchdir to the parent");
	print_from(out);
}

/* A program of the host that opens the file would wait for us to give it back. */
void
attack_lease(void)
{
	static const struct { const char *name; int flags, kind; } ways[] = {
		{ "a lease to write", O_RDWR, F_WRLCK }, { "a lease to read", O_RDONLY, F_RDLCK } };

	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		int fd = open("leased", O_CREAT | ways[i].flags, 0644);

		(void)must_fail(fcntl(fd, F_SETLEASE, ways[i].kind), ways[i].name);
		(void)must_fail(syscall(SYS_fcntl, fd, 1ul << 32 | F_SETLEASE, ways[i].kind),
		    ways[i].name);
		(void)close(fd);
	}
}

/* A watch tells when and which files of others are touched. */
void
attack_watch_outside(void)
{
	int fd = inotify_init1(IN_CLOEXEC);

	(void)must_fail(inotify_add_watch(fd, word("OUT"), IN_ALL_EVENTS), "a watch outside");
}

void
attack_nodes(void)
{
	static const struct { const char *what; mode_t type; unsigned major, minor; } nodes[] = {
		{ "a disk", S_IFBLK, 8, 0 }, { "a virtual disk", S_IFBLK, 254, 0 },
		{ "memory", S_IFCHR, 1, 1 }, { "kmsg", S_IFCHR, 1, 11 } };

	for (size_t i = 0; i < 4; i++) {
		dev_t dev = makedev(nodes[i].major, nodes[i].minor);

		(void)unlink("node");
		(void)must_fail(mknod("node", nodes[i].type | 0600, dev), nodes[i].what);
		(void)must_fail(mknodat(AT_FDCWD, "/tmp/node", nodes[i].type | 0600, dev),
		    nodes[i].what);
	}
}

/* What is made here belongs to the user on the host: with the setuid bit anybody there becomes
 * that user. */
void
attack_setuid_leave(void)
{
	int fd = open("left", O_CREAT | O_WRONLY, 0755);
	struct stat st;

	(void)chmod("left", 04755);
	if (stat("left", &st) == 0 && (st.st_mode & S_ISUID) != 0)
		ESCAPED("chmod u+s");
	(void)fchmod(fd, 04755);
	(void)syscall(452 /* fchmodat2 */, AT_FDCWD, "left", 04755, 0);
	(void)close(open("left2", O_CREAT | O_WRONLY, 04755));
	if (stat("left", &st) == 0 && (st.st_mode & S_ISUID) != 0)
		ESCAPED("fchmod u+s");
	if (stat("left2", &st) == 0 && (st.st_mode & S_ISUID) != 0)
		ESCAPED("open with u+s");
	REFUSED("none is left");
}

/* "r" or "w", then paths that must not open so. */
void
attack_open(void)
{
	int flags = arguments[0][0] == 'w' ? O_WRONLY : O_RDONLY;

	for (char **p = arguments + 1; *p != NULL; p++)
		must_not_open(*p, flags);
}
