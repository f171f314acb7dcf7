/* SPDX-License-Identifier: Apache-2.0
 *
 * A command's own Unix sockets in the file system. Runs in monitors, outside of the command's
 * Landlock domain; the names and all that they lead to are the command's, which may change it
 * at any moment: it decides where a file is made and which of the box's sockets is meant, never
 * whether something else is reached. */
#include "hands/confine/own_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "hands/confine/apply.h"
#include "hands/confine/mnt.h"
#include "hands/init/roles.h"

#define PREFIX "/proc/self/fd/"
#define KEY_MAX 48		/* a letter of its type, device, inode */
#define LOOK_AGAIN_MS 500	/* where there was no room; a look takes its time */
#define YOUNG_S 1		/* a file may be there before its socket is */

/* ---- names ----------------------------------------------------------------------- */
/* The directory of a name (owned in *ret_dir) and its last part, in a place that commands may
 * write. */
static int
find(const struct own_place *p, const char *name, pid_t pid, int *ret_dir, char last[NAME_MAX + 1])
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	char full[PATH_MAX + OWN_ADDRESS + 1], link[64], *slash;
	ssize_t n = 0;

	if (name[0] != '/') {
		(void)snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
		n = readlink(link, full, PATH_MAX);
		if (n <= 0 || n >= PATH_MAX)
			return n < 0 ? -errno : -ENAMETOOLONG;
		full[n++] = '/';
	}
	(void)snprintf(full + n, sizeof full - (size_t)n, "%s", name);
	slash = strrchr(full, '/');
	if (slash[1] == '\0' || strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0)
		return -EISDIR;
	(void)snprintf(last, NAME_MAX + 1, "%s", slash + 1);
	slash[1] = '\0';
	for (size_t i = 0; i < p->n; i++) {
		size_t len = strlen(p->at[i].path);
		const char *rest = full + len;
		int fd;

		if (strncmp(full, p->at[i].path, len) != 0 || *rest != '/')
			continue;
		rest += strspn(rest, "/");
		fd = (int)syscall(SYS_openat2, p->at[i].fd, *rest != '\0' ? rest : ".", &how,
		    sizeof how);
		if (fd < 0)
			return -errno;
		*ret_dir = fd;
		return 0;
	}
	return -EPERM;
}

static char
letter(int sock)
{
	socklen_t len = sizeof(int);
	int type = 0;

	(void)getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &len);
	return type == SOCK_SEQPACKET ? 'q' : 's';
}

/* By whatever is there now. */
static int
key_of(int dir, const char *last, char type, char key[KEY_MAX])
{
	struct stat st;

	if (fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ECONNREFUSED;
	(void)snprintf(key, KEY_MAX, "%c%llx-%llx", type, (unsigned long long)st.st_dev,
	    (unsigned long long)st.st_ino);
	return 0;
}

static bool
is_key(const char *s)
{
	return (s[0] == 's' || s[0] == 'q') && strlen(s) < KEY_MAX &&
	    s[1 + strspn(s + 1, "0123456789abcdef-")] == '\0';
}

static void
address(const struct own_place *p, const char *key, char path[OWN_ADDRESS])
{
	(void)snprintf(path, OWN_ADDRESS, PREFIX "%d/%.48s", p->dir, key);
}

int
own_place_address(const struct own_place *p, int sock, const char *name, pid_t pid,
    char ret_path[OWN_ADDRESS])
{
	char key[KEY_MAX], last[NAME_MAX + 1];
	ATS_CLEANUP_FD int dir = -1;
	int rc;

	if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) {
		const char *told = strrchr(name, '/') + 1;

		if (!is_key(told))
			return -EPERM;
		address(p, told, ret_path);
		return 0;
	}
	if (strcmp(name, p->relay) == 0) {	/* nothing on its way is a command's */
		(void)snprintf(ret_path, OWN_ADDRESS, PREFIX "%d/" RELAY_SOCKET, p->tools);
		return 0;
	}
	rc = find(p, name, pid, &dir, last);
	if (rc == 0)
		rc = key_of(dir, last, letter(sock), key);
	if (rc == 0)
		address(p, key, ret_path);
	return rc;
}

/* ---- connecting to and binding what is ours ---------------------------------------- */
static void
fill(struct sockaddr_un *ret, const char *path)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	(void)snprintf(ret->sun_path, sizeof ret->sun_path, "%s", path);
}

/* A socket of the other type is told so where one is bound; nothing hears of it. */
static bool
is_dead(const struct own_place *p, const char *key)
{
	int s = socket(AF_UNIX, (key[0] == 's' ? SOCK_SEQPACKET : SOCK_STREAM) | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	char path[OWN_ADDRESS];
	struct sockaddr_un to;
	bool dead;

	address(p, key, path);
	fill(&to, path);
	dead = s >= 0 && connect(s, (const struct sockaddr *)&to, sizeof to) < 0 &&
	    errno == ECONNREFUSED;
	ats_fd_close(&s);
	return dead;
}

/* Removes what nobody has bound any more. How many are left. */
static unsigned
look(const struct own_place *p)
{
	int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	time_t now = time(NULL);
	const struct dirent *e;
	struct stat st;
	unsigned n = 0;

	if (d == NULL) {
		ats_fd_close(&fd);
		return OWN_SOCKETS_MAX;
	}
	while ((e = readdir(d)) != NULL) {
		if (!is_key(e->d_name))
			continue;
		if (fstatat(p->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    now - st.st_ctime > YOUNG_S && is_dead(p, e->d_name))
			(void)unlinkat(p->dir, e->d_name, 0);
		else
			n++;
	}
	(void)closedir(d);
	return n;
}

int
own_place_open(struct own_place *p, const struct box *b, struct ats_err *err)
{
	const char *const paths[OWN_PLACES] = { b->workspace, b->home, b->tmp, b->git_dir };
	int rc = 0;

	*p = (struct own_place){ .dir = -1, .tools = -1 };
	if (!box_has_own_sockets(b))
		return 0;
	for (size_t i = 0; rc == 0 && i < OWN_PLACES; i++) {
		if (paths[i][0] == '\0')
			continue;
		p->at[p->n].path = paths[i];
		rc = mnt_open_dir(paths[i], &p->at[p->n].fd, err);
		if (rc == 0 && ats_fd_raise(&p->at[p->n++].fd, CONFINE_FD_MIN) < 0)
			rc = ats_err_sys(err, "dup");
	}
	if (rc == 0)
		rc = mnt_open_dir(b->sockets, &p->dir, err);
	if (rc == 0 && ats_fd_raise(&p->dir, CONFINE_FD_MIN) < 0)
		rc = ats_err_sys(err, "dup");
	if (rc == 0)
		rc = mnt_open_dir(b->tools, &p->tools, err);
	if (rc == 0 && ats_fd_raise(&p->tools, CONFINE_FD_MIN) < 0)
		rc = ats_err_sys(err, "dup");
	(void)snprintf(p->relay, sizeof p->relay, "%.4000s/" RELAY_SOCKET, b->tools);
	if (rc < 0)
		return ats_err_wrap(err, "sockets");
	(void)look(p);	/* an earlier box's */
	return 0;
}

static bool
has_room(struct own_place *p)
{
	uint64_t now = ats_clock_ms();
	unsigned n, room;

	if (p->left == 0 && p->full_ms != 0 && now - p->full_ms < LOOK_AGAIN_MS)
		return false;
	if (p->left == 0) {
		n = look(p);
		room = n < OWN_SOCKETS_MAX ? OWN_SOCKETS_MAX - n : 0;
		p->left = room < OWN_LOOK_EVERY ? room : OWN_LOOK_EVERY;
		p->full_ms = room == 0 ? now : 0;
	}
	if (p->left == 0)
		return false;
	p->left--;
	return true;
}

static int
bind_key(const struct own_place *p, int sock, const char *key)
{
	char path[OWN_ADDRESS];
	struct sockaddr_un to;

	address(p, key, path);
	fill(&to, path);
	/* Left by one that is gone, whose inode's number was given again. */
	(void)unlinkat(p->dir, key, 0);
	if (bind(sock, (const struct sockaddr *)&to, sizeof to) < 0)
		return -errno;
	/* The umask is the command's. */
	return fchmodat(p->dir, key, 0700, 0) < 0 ? -errno : 0;
}

int
own_place_bind(struct own_place *p, int sock, const char *name, pid_t pid)
{
	struct sockaddr_un at;
	socklen_t len = sizeof at;
	char key[KEY_MAX], last[NAME_MAX + 1];
	ATS_CLEANUP_FD int dir = -1;
	int rc;

	if (getsockname(sock, (struct sockaddr *)&at, &len) < 0 || len > sizeof at.sun_family)
		return -EINVAL;
	rc = find(p, name, pid, &dir, last);
	if (rc < 0)
		return rc;
	if (!has_room(p))
		return -ENOSPC;
	if (mknodat(dir, last, S_IFSOCK | 0777, 0) < 0)
		return errno == EEXIST ? -EADDRINUSE : -errno;
	rc = key_of(dir, last, letter(sock), key);
	if (rc == 0)
		rc = bind_key(p, sock, key);
	if (rc < 0)
		(void)unlinkat(dir, last, 0);
	return rc;
}
