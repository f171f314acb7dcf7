/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of workspaces and view grants. Runs in the vault, where a client of vault.sock (the user,
 * by peer uid) chooses the path and so may have planted symbolic links, and in ats-http before it
 * listens. Everything is decided on the resolved path. Makes no descriptor and works under
 * Landlock. */
#include "common/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_TEXT                                                                      \
	"%s: %s belongs to the system and cannot be given to a sandbox; work on a copy in a "    \
	"project directory"

/* realpath into out; absent files are resolved as far as they exist. */
static int
resolve(const char *path, char out[ATS_PATH_MAX])
{
	char *real = realpath(path, NULL);
	size_t n = real != NULL ? strlen(real) : 0;
	int saved = errno;

	if (real == NULL || n >= ATS_PATH_MAX) {
		free(real);
		errno = real == NULL ? saved : ENAMETOOLONG;
		return -1;
	}
	memcpy(out, real, n + 1);
	free(real);
	return 0;
}

static void
resolve_home(const char *path, char out[ATS_PATH_MAX])
{
	/* "/" as a home (system users) is refused anyway, and everything lies in it. */
	if (path == NULL || path[0] != '/' || resolve(path, out) < 0 ||
	    strcmp(out, "/") == 0)
		out[0] = '\0';
}

int
ats_homes_find(struct ats_homes *ret, const struct ats_places *places, struct ats_err *err)
{
	const char *own[3] = { places->runtime, places->state, places->config };
	const struct passwd *pw = getpwuid(getuid());

	memset(ret, 0, sizeof(*ret));
	resolve_home(pw != NULL ? pw->pw_dir : NULL, ret->home[0]);
	resolve_home(getenv("HOME"), ret->home[1]);
	for (size_t i = 0; i < ATS_ARRAY_LEN(own); i++) {
		if (resolve(own[i], ret->own[i]) == 0)
			continue;
		/* The configuration's may be missing, and all when only that is looked at. */
		if (errno != ENOENT)
			return ats_err_sys(err, "%s", own[i]);
		memcpy(ret->own[i], own[i], strlen(own[i]) + 1);
	}
	return 0;
}

/* Files there are doors to the host's processes and devices, not a project. */
static int
check_kernel_tree(const char *real, const char *asked, struct ats_err *err)
{
	static const char *const trees[] = { "/proc", "/sys", "/dev" };

	if (ats_path_is_within("/dev/shm", real) && strcmp(real, "/dev/shm") != 0)
		return 0;
	for (size_t i = 0; i < ATS_ARRAY_LEN(trees); i++) {
		if (ats_path_is_within(trees[i], real))
			return ats_err_set(err, ATS_E_INVAL,
			    "%s: %s is the kernel's and cannot be given to a sandbox; name a "
			    "project directory", asked, trees[i]);
	}
	return 0;
}

/* Below these there are projects: of a user's runtime directory, on a stick, and the system
 * that NixOS is built from. */
static bool
is_project_place(const char *real)
{
	const char *below = ats_path_below("/run/user", real);

	/* not /run/user/UID itself: the sockets of the session are there */
	return ats_path_is_within("/run/media", real) || ats_path_is_within("/etc/nixos", real) ||
	    (below != NULL && strchr(below, '/') != NULL);
}

/* What the system is made of, and what a sandbox's own view has in these places: a command
 * in it would rule the machine, or the box could not be built. Only for workspaces. */
static int
check_system(const char *real, const char *asked, struct ats_err *err)
{
	static const char *const trees[] = { "/etc", "/boot", "/run" };
	static const char *const dirs[] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64",
		"/libx32", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32",
		"/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/include", "/usr/share",
		"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/var/lib",
		"/var/cache", "/var/log", "/var/spool", "/nix", "/nix/store" };
	static const char *const holders[] = { "/home", "/var/home", "/opt", "/var", "/usr/local",
		"/tmp" };

	for (size_t i = 0; i < ATS_ARRAY_LEN(holders); i++)
		if (strcmp(real, holders[i]) == 0)
			return ats_err_set(err, ATS_E_INVAL,
			    "%s: %s as a whole cannot be given to a sandbox; name a project "
			    "directory inside it", asked, real);
	for (size_t i = 0; i < ATS_ARRAY_LEN(dirs); i++)
		if (strcmp(real, dirs[i]) == 0)
			return ats_err_set(err, ATS_E_INVAL, SYSTEM_TEXT, asked, real);
	for (size_t i = 0; i < ATS_ARRAY_LEN(trees); i++)
		if (ats_path_is_within(trees[i], real) && !is_project_place(real))
			return ats_err_set(err, ATS_E_INVAL, SYSTEM_TEXT, asked, trees[i]);
	return 0;
}

static int
check_place(const struct ats_homes *h, const char *real, const char *asked, struct ats_err *err)
{
	if (strcmp(real, "/") == 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "%s: the root directory cannot be given to a sandbox; name a project "
		    "directory", asked);
	for (size_t i = 0; i < ATS_ARRAY_LEN(h->home); i++) {
		if (h->home[i][0] == '\0')
			continue;
		if (strcmp(real, h->home[i]) == 0)
			return ats_err_set(err, ATS_E_INVAL,
			    "%s: a home directory cannot be given to a sandbox; name a "
			    "directory inside it", asked);
		if (ats_path_is_within(real, h->home[i]))
			return ats_err_set(err, ATS_E_INVAL,
			    "%s: contains the home directory; name a directory inside it",
			    asked);
	}
	for (size_t i = 0; i < ATS_ARRAY_LEN(h->own); i++) {
		if (h->own[i][0] == '\0')
			continue;
		if (ats_path_is_within(real, h->own[i]))
			return ats_err_set(err, ATS_E_INVAL,
			    "%s: contains brain's own directory %s; name another", asked,
			    h->own[i]);
		if (ats_path_is_within(h->own[i], real))
			return ats_err_set(err, ATS_E_INVAL,
			    "%s: lies in brain's own directory %s; name another", asked,
			    h->own[i]);
	}
	return check_kernel_tree(real, asked, err);
}

static int
resolve_checked(const struct ats_homes *h, const char *path, char real[ATS_PATH_MAX],
    struct stat *ret_st, struct ats_err *err)
{
	if (path[0] != '/')
		return ats_err_set(err, ATS_E_INVAL, "%s: not an absolute path", path);
	if (strlen(path) >= ATS_PATH_MAX)
		return ats_err_set(err, ATS_E_INVAL, "the path is over %d bytes",
		    ATS_PATH_MAX - 1);
	if (resolve(path, real) < 0)
		return ats_err_sys(err, "%s", path);
	if (stat(real, ret_st) < 0)
		return ats_err_sys(err, "%s", path);
	return check_place(h, real, path, err);
}

int
ats_workspace_check(const struct ats_homes *h, const char *path, char real[ATS_PATH_MAX],
    struct ats_err *err)
{
	struct stat st;
	int rc = resolve_checked(h, path, real, &st, err);

	if (rc < 0)
		return rc;
	if (!S_ISDIR(st.st_mode))
		return ats_err_set(err, ATS_E_INVAL, "%s: not a directory", path);
	rc = check_system(real, path, err);
	if (rc < 0)
		return rc;
	if (faccessat(AT_FDCWD, real, R_OK | X_OK, AT_EACCESS) < 0)
		return ats_err_sys(err, "%s: cannot be read and entered", path);
	return 0;
}

int
ats_workspace_check_far(const char *path, char real[ATS_PATH_MAX], struct ats_err *err)
{
	if (path[0] != '/')
		return ats_err_set(err, ATS_E_INVAL, "%s: not an absolute path", path);
	for (const char *p = path; p != NULL; p = strchr(p + 1, '/'))
		if (strncmp(p, "/..", 3) == 0 && (p[3] == '/' || p[3] == '\0'))
			return ats_err_set(err, ATS_E_INVAL,
			    "%s: only the sandbox's side knows what .. is there; name the "
			    "directory itself", path);
	if (ats_path_join("/", path, real, ATS_PATH_MAX) < 0)
		return ats_err_set(err, ATS_E_INVAL, "the path is over %d bytes",
		    ATS_PATH_MAX - 1);
	if (strcmp(real, "/") == 0)
		return ats_err_set(err, ATS_E_INVAL,
		    "%s: the root directory cannot be a workspace; name a project directory",
		    path);
	return 0;
}

int
ats_workspace_check_grant(const struct ats_homes *h, const char *path, char real[ATS_PATH_MAX],
    struct ats_err *err)
{
	struct stat st;

	return resolve_checked(h, path, real, &st, err);
}
