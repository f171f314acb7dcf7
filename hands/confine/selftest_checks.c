/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of the self-test. Run in a worker of each profile. One passes when the kernel
 * refuses, as an errno or by not showing the thing; nothing it tries would do harm if it
 * succeeded. File workers cannot try system calls that would kill them. */
#include "hands/confine/selftest_private.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
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
#include "common/confine/sanitize.h"
#include "hands/confine/view.h"

/* True: refused. */
static bool
no_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

	if (fd < 0)
		return true;
	(void)close(fd);
	return false;
}

static bool
not_root(const struct selftest *s)
{
	return getuid() != 0 && geteuid() == s->z->box->worker_uid;
}

static bool
no_write_outside(const struct selftest *s)
{
	(void)s;
	return no_open("/ats-selftest", O_WRONLY | O_CREAT | O_EXCL) &&
	    no_open("/usr/ats-selftest", O_WRONLY | O_CREAT | O_EXCL) &&
	    no_open("/etc/ats-selftest", O_WRONLY | O_CREAT | O_EXCL) &&
	    no_open("/run/ats/spill/ats-selftest", O_WRONLY | O_CREAT | O_EXCL);
}

/* A mask is a device, the thing itself a file. */
static bool
masked(const char *path)
{
	struct stat st;

	return no_open(path, O_RDONLY) || (stat(path, &st) == 0 && S_ISCHR(st.st_mode));
}

static bool
no_credentials(const struct selftest *s)
{
	(void)s;
	return masked("/etc/shadow") && masked("/etc/gshadow") &&
	    masked("/etc/ssh/ssh_host_ed25519_key");
}

static bool
no_parent_memory(const struct selftest *s)
{
	(void)s;
	return no_open("/proc/1/environ", O_RDONLY) && no_open("/proc/1/mem", O_RDONLY);
}

static bool
no_sysctl(const struct selftest *s)
{
	(void)s;
	return no_open("/proc/sys/kernel/core_pattern", O_WRONLY) &&
	    no_open("/proc/sysrq-trigger", O_WRONLY) && masked("/proc/kmsg") &&
	    masked("/proc/kcore");
}

static bool
no_devices(const struct selftest *s)
{
	static const char *const paths[] = { "/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse",
		"/dev/net/tun", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/loop-control",
		"/dev/uinput" };

	(void)s;
	for (size_t i = 0; i < ATS_ARRAY_LEN(paths); i++)
		if (!no_open(paths[i], O_RDONLY))
			return false;
	return true;
}

/* A file without a name leaves nothing behind, where there can be one. */
static bool
no_write_in_workspace(const struct selftest *s)
{
	const char *ws = s->z->box->workspace;
	char path[4096 + 32];

	if (!no_open(ws, O_WRONLY | O_TMPFILE))
		return false;
	(void)snprintf(path, sizeof path, "%s/.ats-selftest-%d", ws, (int)getpid());
	return errno != EOPNOTSUPP || no_open(path, O_WRONLY | O_CREAT | O_EXCL);
}

/* Each line of mountinfo: the sixth word are the mount's own options, of which this one is first.
 * What a read worker may not do Landlock refuses as well, but for the cut of a file that is opened
 * to be read. */
static bool
only_read_only_mounts(const struct selftest *s)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	unsigned word = 0, letter = 0, mounts = 0;
	char text[8192];
	bool all = true;
	ssize_t n;

	(void)s;
	while (all && (n = read(fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; all && i < n; i++) {
			if (word == 5 && letter < 2)
				all = text[i] == "ro"[letter];
			letter = text[i] == ' ' || text[i] == '\n' ? 0 : letter + 1;
			word = text[i] == '\n' ? 0 : word + (text[i] == ' ');
			mounts += text[i] == '\n';
		}
	if (fd >= 0)
		(void)close(fd);
	return all && mounts > 0;
}

static bool
no_state_directory(const struct selftest *s)
{
	return no_open(s->z->box->state, O_RDONLY | O_DIRECTORY);
}

/* Two soft answers of the allow list; without it the kernel gives others. (A sanitizer may
 * call prctl.) */
static bool
file_filter(const struct selftest *s)
{
	(void)s;
	if (!ATS_SANITIZED && (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) >= 0 || errno != EPERM))
		return false;
	return ioctl(-1, FIONREAD, NULL) < 0 && errno == ENOTTY;
}

/* In a view only: elsewhere Landlock keeps /proc from file workers. */
static bool
own_status(const struct selftest *s)
{
	static const char *const wanted[] = { "CapEff:\t0000000000000000\n",
		"CapPrm:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n" };
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	(void)s;
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < ATS_ARRAY_LEN(wanted); i++)
		if (strstr(text, wanted[i]) == NULL)
			return false;
	return true;
}

/* Interfaces of the network namespace: one, lo. */
static bool
only_loopback(const struct selftest *s)
{
	char text[8192], *line, *save = NULL;
	int fd = open("/proc/self/net/dev", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	unsigned others = 0;

	(void)s;
	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	for (line = strtok_r(text, "\n", &save); line != NULL;
	    line = strtok_r(NULL, "\n", &save))
		others += strchr(line, ':') != NULL && strstr(line, "lo:") == NULL;
	return others == 0;
}

static const char *const host_sockets[] = { "/run/dbus/system_bus_socket",
	"/run/systemd/private", "/run/systemd/journal/socket", "/run/docker.sock",
	"/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
	"/run/snapd.socket", "/tmp/.X11-unix/X0" };

static bool
no_host_socket_names(const struct selftest *s)
{
	struct stat st;

	(void)s;
	for (size_t i = 0; i < ATS_ARRAY_LEN(host_sockets); i++)
		if (stat(host_sockets[i], &st) == 0 && S_ISSOCK(st.st_mode))
			return false;
	return true;
}

/* ---- shells only: these calls would end a file worker ------------------------------- */
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
	for (size_t i = 0; i < ATS_ARRAY_LEN(host_sockets); i++) {
		(void)snprintf(to.sun_path, sizeof to.sun_path, "%s", host_sockets[i]);
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
		return no_open(path, O_WRONLY);
	(void)snprintf(inside, sizeof inside, "%.4100s/.ats-selftest", path);
	if (no_open(inside, O_WRONLY | O_CREAT | O_EXCL))
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

#define R (1u << ATS_PROFILE_READ)
#define W (1u << ATS_PROFILE_WRITE)
#define S (1u << ATS_PROFILE_SHELL)
const struct check selftest_checks[] = {
	{ "uid", R | W | S, 0, not_root },
	{ "write-outside", R | W | S, ON_WALL, no_write_outside },
	{ "credentials", R | W | S, ON_WALL, no_credentials },
	{ "parent-memory", R | W | S, ON_WALL, no_parent_memory },
	{ "sysctl", R | W | S, ON_WALL, no_sysctl },
	{ "devices", R | W | S, ON_WALL, no_devices },
	{ "workspace", R, ON_WALL, no_write_in_workspace },
	{ "read-only", R, ON_VIEW, only_read_only_mounts },
	{ "state", R | W | S, ON_WALL, no_state_directory },
	{ "filter", R | W, 0, file_filter },
	{ "status", R | W | S, ON_VIEW, own_status },
	{ "network", R | W, ON_VIEW, only_loopback },
	{ "host-sockets", R | W, ON_VIEW, no_host_socket_names },
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
	{ "network", S, ON_VIEW | ON_NO_NET, only_loopback },
	{ "network", S, ON_BARE | ON_NO_NET, no_inet },
	{ "setuid-files", S, 0, no_setuid_files },
	{ "protected-names", S, ON_VIEW, names_protected },
};
const size_t selftest_nchecks = ATS_ARRAY_LEN(selftest_checks);
#undef R
#undef W
#undef S
