/* SPDX-License-Identifier: Apache-2.0
 *
 * The place of the host's tools in a box. Runs in the launcher; names in the state directory are
 * ours. */
#include "hands/init/tools_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/path.h"
#include "hands/init/roles.h"

#define BACKLOG 16

/* ---- the directory and its socket -------------------------------------------------- */
/* By a name in the working directory: a state directory may be deeper than an address is long,
 * and there may be no /proc. */
static int
bind_in(int dir, int sock)
{
	const struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = RELAY_SOCKET };
	ATS_CLEANUP_FD int was = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (was < 0 || fchdir(dir) < 0)
		return -1;
	(void)unlink(RELAY_SOCKET);	/* an earlier box's */
	rc = bind(sock, (const struct sockaddr *)&at, sizeof(at));
	/* Who asks is looked at when it has connected. */
	if (rc == 0)
		rc = chmod(RELAY_SOCKET, 0666);
	return fchdir(was) < 0 ? -1 : rc;
}

static int
listen_in(int dir, int *ret_sock)
{
	ATS_CLEANUP_FD int sock =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sock < 0 || bind_in(dir, sock) < 0 || listen(sock, BACKLOG) < 0)
		return -1;
	*ret_sock = ats_steal_fd(&sock);
	return 0;
}

static int
make_dir(const struct box *b, int *ret_fd, struct ats_err *err)
{
	char path[PATH_MAX + 16];
	ATS_CLEANUP_FD int fd = -1;

	(void)snprintf(path, sizeof(path), "%.4000s/" STATE_TOOLS, b->state);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return ats_err_sys(err, "mkdir %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ats_err_sys(err, "open %s", path);
	if (geteuid() == 0 && fchown(fd, b->front_uid, b->front_gid) < 0)
		return ats_err_sys(err, "chown %s", path);
	if (fchmod(fd, 0755) < 0)
		return ats_err_sys(err, "chmod %s", path);
	*ret_fd = ats_steal_fd(&fd);
	return 0;
}

/* ---- this program ------------------------------------------------------------------ */
/* Where it lies, if what lies there is what runs. */
static bool
find_self(char path[PATH_MAX], struct stat *ret_st)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char named[PATH_MAX];
	struct stat self;

	if (n > 0)
		path[n] = '\0';
	else if (realpath((const char *)getauxval(AT_EXECFN), named) != NULL)
		(void)snprintf(path, PATH_MAX, "%s", named);	/* an image without /proc */
	else
		return false;
	if (stat(path, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
		return false;
	return n <= 0 || (stat("/proc/self/exe", &self) == 0 && self.st_dev == ret_st->st_dev &&
	    self.st_ino == ret_st->st_ino);
}

static bool
may_run(const struct box *b, const struct stat *st)
{
	if (st->st_uid == b->worker_uid)
		return (st->st_mode & S_IXUSR) != 0;
	return (st->st_mode & S_IXOTH) != 0;
}

static bool
may_pass(const struct box *b, const char *path)
{
	char above[PATH_MAX];
	struct stat st;

	for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		(void)snprintf(above, sizeof(above), "%.*s", (int)(p - path), path);
		if (stat(above, &st) < 0 || !may_run(b, &st))
			return false;
	}
	return true;
}

static void
place_self(struct box *b)
{
	static const char *const seen[] = { "/usr", "/opt", "/bin", "/sbin", "/nix/store" };
	bool view = box_has_namespaces(b);
	char path[PATH_MAX];
	struct stat st;

	if (!find_self(path, &st) || !may_run(b, &st) || (!view && !may_pass(b, path))) {
		ats_log(ATS_LOG_WARN, "tools cannot run this program: agents in the sandbox get "
		    "no MCP server of the host's tools", "remedy=\"install it in /usr/local/bin, "
		    "mode 755\"");
		return;
	}
	for (size_t i = 0; view && i < ATS_ARRAY_LEN(seen); i++)
		if (ats_path_is_within(seen[i], path))
			view = false;
	(void)snprintf(b->hands, sizeof(b->hands), "%s", view ? BOX_HANDS : path);
	if (view)
		(void)snprintf(b->exe, sizeof(b->exe), "%s", path);
}

int
tools_place_make(struct init_plan *plan, struct ats_err *err)
{
	struct box *b = &plan->box;
	ATS_CLEANUP_FD int dir = -1;
	int rc = make_dir(b, &dir, err);

	if (rc < 0 || plan->probe)
		return rc;
	if (!box_has_relay(b)) {
		ats_log(ATS_LOG_WARN, "commands have no Unix sockets at this level: they cannot "
		    "ask for tools of the host", "level=%s", box_level(b));
		return 0;
	}
	if (listen_in(dir, &plan->relay) < 0) {
		ats_log(ATS_LOG_WARN, "no socket for those who ask for tools of the host",
		    "why=\"%s\"", strerror(errno));
		return 0;
	}
	place_self(b);
	return 0;
}
