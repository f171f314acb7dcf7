/* SPDX-License-Identifier: Apache-2.0
 *
 * Lexical paths, opening beneath a directory, and the places of our own files. Anybody
 * may control the paths; the environment is read by ats_places_find only, in atsctl and
 * in ats-brain's main. */
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

/* Appends the components of path to out[0..*len), which holds "/a/b" or "" for root. */
static int
append(char *out, size_t size, size_t *len, const char *path)
{
	while (*path != '\0') {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (*len > 0 && out[--*len] != '/')
				continue;
		} else if (n > 0 && !(n == 1 && path[0] == '.')) {
			if (*len + 1 + n + 1 > size)
				return -ATS_E_TOOBIG;
			out[(*len)++] = '/';
			memcpy(out + *len, path, n);
			*len += n;
		}
		path += n;
		while (*path == '/')
			path++;
	}
	return 0;
}

int
ats_path_join(const char *cwd, const char *path, char *out, size_t size)
{
	size_t len = 0;
	int rc = 0;

	if (path == NULL || *path == '\0' || size < 2)
		return -ATS_E_INVAL;
	if (*path != '/') {
		if (cwd == NULL || *cwd != '/')
			return -ATS_E_INVAL;
		rc = append(out, size, &len, cwd);
	}
	if (rc == 0)
		rc = append(out, size, &len, path);
	if (rc < 0)
		return rc;
	if (len == 0)
		out[len++] = '/';
	out[len] = '\0';
	return 0;
}

const char *
ats_path_below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	if (n > 0 && dir[n - 1] == '/')	/* "/" itself */
		n--;
	if (strncmp(dir, path, n) != 0)
		return NULL;
	if (path[n] == '\0')
		return ".";
	if (path[n] != '/')
		return NULL;
	path += n;
	while (*path == '/')
		path++;
	return *path == '\0' ? "." : path;
}

bool
ats_path_is_within(const char *dir, const char *path)
{
	return ats_path_below(dir, path) != NULL;
}

int
ats_path_open_beneath(
    int dirfd, const char *rel, int flags, mode_t mode, struct ats_err *err)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	long fd;
	int tries = 0;

	do {	/* EAGAIN: a rename raced with the walk; the kernel asks to try again */
		fd = syscall(SYS_openat2, dirfd, rel, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < 32)));
	if (fd < 0)
		return ats_err_sys(err, "%s", rel);
	return (int)fd;
}

static bool
is_own_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int
fill(char out[ATS_PATH_MAX], const char *base, const char *rest, struct ats_err *err)
{
	int n = snprintf(out, ATS_PATH_MAX, "%s%s", base, rest);

	if (n < 0 || n >= ATS_PATH_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "%.64s...: path too long", base);
	return 0;
}

static const char *
env_dir(const char *name)
{
	const char *v = getenv(name);

	return v != NULL && v[0] == '/' ? v : NULL;
}

static int
find_runtime(char out[ATS_PATH_MAX], struct ats_err *err)
{
	const char *xdg = env_dir("XDG_RUNTIME_DIR");
	char dir[64];

	if (xdg != NULL && is_own_dir(xdg))
		return fill(out, xdg, "/ats", err);
	(void)snprintf(dir, sizeof(dir), "/run/user/%lu", (unsigned long)geteuid());
	if (is_own_dir(dir))
		return fill(out, dir, "/ats", err);
	(void)snprintf(dir, sizeof(dir), "/tmp/ats-%lu", (unsigned long)geteuid());
	return fill(out, dir, "", err);
}

static int
find_home(const char *xdg_name, const char *below_home, char out[ATS_PATH_MAX],
    struct ats_err *err)
{
	const char *xdg = env_dir(xdg_name), *home = env_dir("HOME");

	if (xdg != NULL)
		return fill(out, xdg, "/ats", err);
	if (home == NULL)
		return ats_err_set(err, ATS_E_NOENT,
		    "HOME is not an absolute path; set it or %s", xdg_name);
	return fill(out, home, below_home, err);
}

int
ats_places_find(struct ats_places *ret, struct ats_err *err)
{
	int rc = find_runtime(ret->runtime, err);

	ret->system = false;
	if (rc == 0)
		rc = find_home("XDG_CONFIG_HOME", "/.config/ats", ret->config, err);
	if (rc == 0)
		rc = find_home("XDG_STATE_HOME", "/.local/state/ats", ret->state, err);
	return rc;
}

static int
make_parents(const char *dir, struct ats_err *err)
{
	char part[ATS_PATH_MAX];
	size_t n = strlen(dir);

	if (dir[0] != '/' || n >= sizeof(part))
		return ats_err_set(err, ATS_E_INVAL, "%.64s: not an absolute path", dir);
	memcpy(part, dir, n + 1);
	for (char *p = strchr(part + 1, '/');; p = strchr(p + 1, '/')) {
		if (p != NULL)
			*p = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return ats_err_sys(err, "%s", part);
		if (p == NULL)
			return 0;
		*p = '/';
	}
}

static int
make_place(const char *dir, unsigned closed, struct ats_err *err)
{
	ATS_CLEANUP_FD int fd = -1;
	struct stat st;
	int rc = make_parents(dir, err);

	if (rc < 0)
		return rc;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, "%s", dir);
	if (st.st_uid != geteuid())
		return ats_err_set(err, ATS_E_PERM, "%s: belongs to uid %lu, not to us",
		    dir, (unsigned long)st.st_uid);
	if ((st.st_mode & closed) != 0)
		return ats_err_set(err, ATS_E_PERM,
		    "%s: open to others (mode %03o); chmod %03o it", dir,
		    (unsigned)st.st_mode & 0777, (unsigned)st.st_mode & 0777 & ~closed);
	return 0;
}

int
ats_places_make(const char *dir, struct ats_err *err)
{
	return make_place(dir, 077, err);
}

int
ats_places_make_shared(const char *dir, struct ats_err *err)
{
	return make_place(dir, 022, err);
}

void
ats_places_system(struct ats_places *ret)
{
	(void)snprintf(ret->runtime, sizeof(ret->runtime), "/run/ats");
	(void)snprintf(ret->config, sizeof(ret->config), "/etc/ats");
	(void)snprintf(ret->state, sizeof(ret->state), "/var/lib/ats");
	ret->system = true;
}

int
ats_places_open_lock(const char *path, int *ret_fd, struct ats_err *err)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	ATS_CLEANUP_FD int fd = open(path, flags, 0600);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return ats_err_set(err, ATS_E_PERM,
		    "%s: is a symbolic link where our lock file should be; remove it", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return ats_err_sys(err, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return ats_err_set(err, ATS_E_PERM,
		    "%s: is not a file of ours but should be our lock file; remove it", path);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}
