/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of the self-test that only shells can make: these calls would end a file worker. Run
 * in a child of a monitor, which is confined as a command is. As in selftest_checks.c one passes
 * when the kernel refuses, and nothing would do harm if it succeeded. */
#include "hands/confine/selftest_private.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/confine/caps.h"
#include "hands/confine/view.h"

static bool
no_caps(const struct selftest *s)
{
	(void)s;
	return ats_caps_verify_empty(false, NULL) == 0 &&
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

static bool
no_core_file(const struct selftest *s)
{
	struct rlimit core;

	(void)s;
	return getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0;
}

static bool
no_userns(const struct selftest *s)
{
	(void)s;
	return unshare(CLONE_NEWUSER) < 0 && errno == EPERM;
}

static bool
no_mount(const struct selftest *s)
{
	(void)s;
	return mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0 && errno == EPERM &&
	    syscall(SYS_fsopen, "tmpfs", 0) < 0;
}

static bool
no_ptrace_parent(const struct selftest *s)
{
	(void)s;
	return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) < 0;
}

static bool
no_signal_parent(const struct selftest *s)
{
	(void)s;
	return kill(getppid(), SIGCONT) < 0;
}

/* The shell, its monitor and what the two just left behind; without a view nothing at all. */
static bool
no_other_pids(const struct selftest *s)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	unsigned n = 0;

	if (d == NULL)
		return !box_has_namespaces(s->z->box);
	while ((e = readdir(d)) != NULL)
		n += isdigit((unsigned char)e->d_name[0]) != 0;
	(void)closedir(d);
	return n > 0 && n <= 4;
}

static int
connect_to(const struct sockaddr_un *to, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = -1, why;

	if (fd >= 0)
		rc = connect(fd, (const struct sockaddr *)to, len);
	why = errno;
	if (fd >= 0)
		(void)close(fd);
	errno = why;
	return rc;
}

static bool
no_host_sockets(const struct selftest *s)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	(void)s;
	for (size_t i = 0; selftest_host_sockets[i] != NULL; i++) {
		(void)snprintf(to.sun_path, sizeof to.sun_path, "%s", selftest_host_sockets[i]);
		if (connect_to(&to, sizeof to) == 0)
			return false;
	}
	return true;
}

/* The monitor listens there, outside the domain: only a refusal counts. */
static bool
no_abstract_socket(const struct selftest *s)
{
	return s->abstract_len > 0 && connect_to(&s->abstract, s->abstract_len) < 0 &&
	    errno == EPERM;
}

static bool
no_bind(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	(void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	rc = bind(fd, (const struct sockaddr *)&at, sizeof at);
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 && rc < 0;
}

/* No namespace keeps the host's apart: what listens in a place of ours, by another's doing, and
 * what has an abstract name. */
static bool
only_own_sockets(const struct selftest *s)
{
	return socket(AF_UNIX, SOCK_DGRAM, 0) < 0 && errno == EPERM &&
	    (s->path.sun_path[0] == '\0' ||
		connect_to(&s->path, sizeof s->path) < 0) &&
	    s->abstract_len > 0 && connect_to(&s->abstract, s->abstract_len) < 0 &&
	    errno == EPERM && no_bind("") && no_bind("/usr/ats-selftest") &&
	    no_bind("/run/ats-selftest");
}

static bool
no_odd_sockets(const struct selftest *s)
{
	(void)s;
	return socket(AF_PACKET, SOCK_RAW, 0) < 0 &&
	       socket(40 /* VSOCK */, SOCK_STREAM, 0) < 0 &&
	       socket(AF_INET, SOCK_RAW, 1) < 0 &&
	       socket(AF_INET, SOCK_STREAM, 262) < 0 /* MPTCP */ &&
	       socket(AF_NETLINK, SOCK_RAW, 9 /* audit */) < 0;
}

static bool
no_inet(const struct selftest *s)
{
	(void)s;
	return socket(AF_INET, SOCK_STREAM, 0) < 0 && socket(AF_INET6, SOCK_DGRAM, 0) < 0;
}

static bool
no_kernel_surfaces(const struct selftest *s)
{
	(void)s;
	return syscall(SYS_bpf, 0, NULL, 0) < 0 && errno != EFAULT && errno != EINVAL &&
	       syscall(SYS_io_uring_setup, 0, NULL) < 0 && errno != EFAULT &&
	       errno != EINVAL && syscall(SYS_keyctl, 0, -3, 0) < 0 && errno == EPERM &&
	       syscall(SYS_userfaultfd, 0) < 0 && errno == EPERM;
}

/* A descriptor that is none: whoever got past the filter learns that. */
static bool
no_setuid_files(const struct selftest *s)
{
	(void)s;
	return fchmod(-1, 04755) < 0 && errno == EPERM && fchmod(-1, 02755) < 0 &&
	    errno == EPERM && openat(-1, "x", O_WRONLY | O_CREAT, 04755) < 0 &&
	    errno == EPERM && syscall(SYS_openat2, -1, "x", NULL, 0) < 0 && errno == ENOSYS;
}

static bool
no_typing(const struct selftest *s)
{
	char c = 'x';

	(void)s;
	return ioctl(0, TIOCSTI, &c) < 0 && errno == EPERM;
}

/* One that exists: nothing can be written to it, or made in it, and .git stays in its place. */
static bool
is_protected(const char *path, bool is_git)
{
	char inside[4096 + 64];
	struct statx sx;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &sx) < 0 ||
	    S_ISLNK(sx.stx_mode))
		return true;
	if (is_git && S_ISDIR(sx.stx_mode))
		return (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	if (!S_ISDIR(sx.stx_mode))
		return selftest_no_open(path, O_WRONLY);
	(void)snprintf(inside, sizeof inside, "%.4100s/.ats-selftest", path);
	if (selftest_no_open(inside, O_WRONLY | O_CREAT | O_EXCL))
		return true;
	(void)unlink(inside);
	return false;
}

static bool
names_protected(const struct selftest *s)
{
	char path[4096 + 64];

	(void)snprintf(path, sizeof path, "%s/.git", s->z->box->workspace);
	if (!is_protected(path, true))
		return false;
	for (size_t i = 0; i < PROTECT_NAMES_MAX && protect_names[i] != NULL; i++) {
		if ((s->z->box->facts & BOX_GIT_CONFIG) != 0 &&
		    strcmp(protect_names[i], ".git/config") == 0)
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", s->z->box->workspace,
		    protect_names[i]);
		if (!is_protected(path, false))
			return false;
	}
	return true;
}

#define S (1u << ATS_PROFILE_SHELL)
const struct check selftest_shell_checks[] = {
	{ "caps", S, 0, no_caps },
	{ "core", S, 0, no_core_file },
	{ "userns", S, 0, no_userns },
	{ "mount", S, 0, no_mount },
	{ "ptrace", S, ON_WALL, no_ptrace_parent },
	{ "signal", S, ON_SCOPES, no_signal_parent },
	{ "other-pids", S, ON_WALL, no_other_pids },
	{ "host-sockets", S, ON_WALL, no_host_sockets },
	{ "abstract-socket", S, ON_VIEW | ON_SCOPES, no_abstract_socket },
	{ "sockets", S, 0, no_odd_sockets },
	{ "own-sockets", S, ON_OWN, only_own_sockets },
	{ "surfaces", S, 0, no_kernel_surfaces },
	{ "tty", S, 0, no_typing },
	{ "network", S, ON_BARE | ON_NO_NET, no_inet },
	{ "setuid-files", S, 0, no_setuid_files },
	{ "protected-names", S, ON_VIEW, names_protected },
	{ .name = NULL },
};
#undef S
