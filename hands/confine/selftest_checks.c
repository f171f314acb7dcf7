/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of the self-test that any worker can make. Run in a worker of each profile. One passes
 * when the kernel refuses, as an errno or by not showing the thing; nothing it tries would do harm
 * if it succeeded. */
#include "hands/confine/selftest_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/confine/sanitize.h"

bool
selftest_no_open(const char *path, int flags)
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
	return selftest_no_open("/ats-selftest", O_WRONLY | O_CREAT | O_EXCL) &&
	    selftest_no_open("/usr/ats-selftest", O_WRONLY | O_CREAT | O_EXCL) &&
	    selftest_no_open("/etc/ats-selftest", O_WRONLY | O_CREAT | O_EXCL) &&
	    selftest_no_open("/run/ats/spill/ats-selftest", O_WRONLY | O_CREAT | O_EXCL);
}

/* A mask is a device, the thing itself a file. */
static bool
masked(const char *path)
{
	struct stat st;

	return selftest_no_open(path, O_RDONLY) || (stat(path, &st) == 0 && S_ISCHR(st.st_mode));
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
	return selftest_no_open("/proc/1/environ", O_RDONLY) &&
	    selftest_no_open("/proc/1/mem", O_RDONLY);
}

static bool
no_sysctl(const struct selftest *s)
{
	(void)s;
	return selftest_no_open("/proc/sys/kernel/core_pattern", O_WRONLY) &&
	    selftest_no_open("/proc/sysrq-trigger", O_WRONLY) && masked("/proc/kmsg") &&
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
		if (!selftest_no_open(paths[i], O_RDONLY))
			return false;
	return true;
}

/* A file without a name leaves nothing behind, where there can be one. */
static bool
no_write_in_workspace(const struct selftest *s)
{
	const char *ws = s->z->box->workspace;
	char path[4096 + 32];

	if (!selftest_no_open(ws, O_WRONLY | O_TMPFILE))
		return false;
	(void)snprintf(path, sizeof path, "%s/.ats-selftest-%d", ws, (int)getpid());
	return errno != EOPNOTSUPP || selftest_no_open(path, O_WRONLY | O_CREAT | O_EXCL);
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
	return selftest_no_open(s->z->box->state, O_RDONLY | O_DIRECTORY);
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

const char *const selftest_host_sockets[] = { "/run/dbus/system_bus_socket",
	"/run/systemd/private", "/run/systemd/journal/socket", "/run/docker.sock",
	"/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
	"/run/snapd.socket", "/tmp/.X11-unix/X0", NULL };

static bool
no_host_socket_names(const struct selftest *s)
{
	struct stat st;

	(void)s;
	for (size_t i = 0; selftest_host_sockets[i] != NULL; i++)
		if (stat(selftest_host_sockets[i], &st) == 0 && S_ISSOCK(st.st_mode))
			return false;
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
	{ "network", S, ON_VIEW | ON_NO_NET, only_loopback },
	{ .name = NULL },
};
#undef R
#undef W
#undef S
