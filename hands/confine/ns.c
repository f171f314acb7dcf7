/* SPDX-License-Identifier: Apache-2.0
 *
 * Namespaces of the box. Runs in the launcher and in init, before any peer's byte. */
#include "hands/confine/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"

pid_t
ns_fork(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

pid_t
ns_fork_into(unsigned long flags, int cgroup)
{
	struct clone_args a = { .flags = flags | CLONE_INTO_CGROUP, .exit_signal = SIGCHLD,
		.cgroup = (unsigned)cgroup };

	return (pid_t)syscall(SYS_clone3, &a, sizeof a);
}

unsigned long
ns_flags(enum box_situation s, bool net_host)
{
	const unsigned long all = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
	    CLONE_NEWCGROUP | (net_host ? 0 : CLONE_NEWNET);

	if (s == BOX_ROOT)
		return all;
	return s == BOX_USER ? all | CLONE_NEWUSER : 0;
}

static const char chroot_why[] =
    "the root directory is a chroot, where no user namespace can be made";
static const char chroot_remedy[] =
    "enter it with pivot_root (unshare -m, bind mount, pivot_root)";

static bool
in_chroot(void)
{
	struct statx sx;

	return statx(AT_FDCWD, "/", 0, 0, &sx) == 0 &&
	    (sx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
	    (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0;
}

/* Whether the file below proc begins with that digit; not there: no. */
static bool
sysctl_is(const char *proc, const char *name, char digit)
{
	char path[256], c = '\0';
	int fd;

	(void)snprintf(path, sizeof path, "%s/sys/%s", proc, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, &c, 1) != 1)
			c = '\0';
		(void)close(fd);
	}
	return c == digit;
}

/* What keeps an ordinary user from namespaces, in the order in which the kernel asks. */
static const struct {
	const char *file;
	char digit;
	const char *why, *remedy;
} userns_knobs[] = {
	{ "user/max_user_namespaces", '0', "user.max_user_namespaces is 0",
	    "sysctl user.max_user_namespaces=10000" },
	{ "kernel/unprivileged_userns_clone", '0', "kernel.unprivileged_userns_clone is 0",
	    "sysctl kernel.unprivileged_userns_clone=1" },
	{ "kernel/apparmor_restrict_unprivileged_userns", '1',
	    "AppArmor keeps user namespaces from programs without a profile",
	    "install packaging/apparmor/ats-hands in /etc/apparmor.d and run apparmor_parser -r "
	    "on it, or sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
};

int
ns_explain_at(const char *proc, enum box_situation s, int errnum, struct ats_err *err)
{
	const char *why = "refused by this system or an outer seccomp filter";
	const char *remedy = s == BOX_ROOT ?
	    "give the container CAP_SYS_ADMIN, or set min_level to uid+landlock" :
	    "allow user namespaces, or set min_level to landlock";
	int code = ATS_E_UNAVAILABLE;
	size_t i = 0;

	while (s == BOX_USER && i < ATS_ARRAY_LEN(userns_knobs) &&
	    !sysctl_is(proc, userns_knobs[i].file, userns_knobs[i].digit))
		i++;
	if (errnum == EPERM && in_chroot()) {
		why = chroot_why;
		remedy = chroot_remedy;
	} else if (s == BOX_USER && i < ATS_ARRAY_LEN(userns_knobs)) {
		why = userns_knobs[i].why;
		remedy = userns_knobs[i].remedy;
	} else if (errnum == ENOSPC || errnum == EUSERS) {
		code = ATS_E_FULL;	/* it may pass */
		why = "the limit of namespaces is reached";
		remedy = "raise user.max_*_namespaces";
	}
	return ats_err_set(err, code, "clone(%s): %s: %s; remedy: %s",
	    s == BOX_USER ? "CLONE_NEWUSER and others" : "CLONE_NEWNS and others",
	    strerror(errnum), why, remedy);
}

int
ns_explain(enum box_situation s, int errnum, struct ats_err *err)
{
	return ns_explain_at("/proc", s, errnum, err);
}

int
ns_explain_proc(int errnum, struct ats_err *err)
{
	if (errnum == EPERM)
		return ats_err_set(err, ATS_E_UNAVAILABLE, "mount(proc): %s: parts of the present "
		    "/proc are covered, or it is not there; remedy: podman run --security-opt "
		    "unmask=ALL, a unit without ProtectKernelTunables= and ProtectProc=, or "
		    "min_level uid+landlock (root) or landlock", strerror(errnum));
	return ats_err_set(err, ATS_E_UNAVAILABLE, "mount(proc): %s", strerror(errnum));
}

static int
put(const char *path, const char *text, struct ats_err *err)
{
	ATS_CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return ats_err_sys(err, "write %s", path);
	return 0;
}

int
ns_write_maps(uid_t uid, gid_t gid, struct ats_err *err)
{
	char text[64];
	int rc = put("/proc/self/setgroups", "deny", err);

	if (rc == 0) {
		(void)snprintf(text, sizeof text, "%u %u 1\n", gid, gid);
		rc = put("/proc/self/gid_map", text, err);
	}
	if (rc == 0) {
		(void)snprintf(text, sizeof text, "%u %u 1\n", uid, uid);
		rc = put("/proc/self/uid_map", text, err);
	}
	if (rc < 0 && (errno == EPERM || errno == EACCES))
		return ns_explain(BOX_USER, errno, err);
	if (rc < 0 && errno == ENOENT)
		return ats_err_set(err, ATS_E_UNAVAILABLE, "uid map: /proc is not mounted; remedy: "
		    "mount -t proc proc /proc");
	return rc;
}

/* Lines of a map that exchanges a and b. */
static void
swap_map(unsigned a, unsigned b, char *out, size_t size)
{
	unsigned lo = a < b ? a : b, hi = a < b ? b : a;
	int n = 0;

	if (lo == hi) {
		(void)snprintf(out, size, "0 0 4294967294\n");
		return;
	}
	if (lo > 0)
		n = snprintf(out, size, "0 0 %u\n", lo);
	n += snprintf(out + n, size - (size_t)n, "%u %u 1\n", lo, hi);
	if (hi - lo > 1)
		n += snprintf(out + n, size - (size_t)n, "%u %u %u\n", lo + 1, lo + 1,
		    hi - lo - 1);
	(void)snprintf(out + n, size - (size_t)n, "%u %u 1\n%u %u %u\n", hi, lo, hi + 1,
	    hi + 1, 4294967294u - hi - 1);
}

/* Whoever was killed before has nobody that kills it: it goes by itself. */
static int __attribute__((noreturn))
wait_for_kill(void *parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != *(const pid_t *)parent)
		_exit(1);
	for (;;)
		(void)pause();
}

int
ns_idmap(uid_t disk_uid, gid_t disk_gid, uid_t box_uid, gid_t box_gid, int *ret_fd,
    struct ats_err *err)
{
	static char stack[4096] __attribute__((aligned(16)));
	char path[64], map[256];
	pid_t own = getpid();
	int fd = -1, rc;
	/* It only is there: our memory need not be copied for it. */
	pid_t pid = clone(wait_for_kill, stack + sizeof stack, CLONE_NEWUSER | CLONE_VM | SIGCHLD,
	    &own);

	if (pid < 0 && errno == EPERM && in_chroot())
		return ats_err_set(err, ATS_E_UNAVAILABLE, "idmap: %s, %s", chroot_why,
		    chroot_remedy);
	if (pid < 0)
		return ats_err_sys(err, "idmap: clone(CLONE_NEWUSER)");
	(void)snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
	swap_map(disk_uid, box_uid, map, sizeof map);
	rc = put(path, map, err);
	if (rc == 0) {
		(void)snprintf(path, sizeof path, "/proc/%d/gid_map", pid);
		swap_map(disk_gid, box_gid, map, sizeof map);
		rc = put(path, map, err);
	}
	if (rc == 0) {
		(void)snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			rc = ats_err_sys(err, "idmap: open %s", path);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (rc == 0)
		*ret_fd = fd;
	return rc;
}

int
ns_loopback_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	ATS_CLEANUP_FD int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0 || ioctl(s, SIOCGIFFLAGS, &ifr) < 0)
		return -ATS_E_SYS;
	ifr.ifr_flags = (short)(ifr.ifr_flags | IFF_UP);
	return ioctl(s, SIOCSIFFLAGS, &ifr) < 0 ? -ATS_E_SYS : 0;
}

/* Before 6.14 kernel.pid_max is one number for the machine: never touched there. */
static bool
pid_max_is_ours(void)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	return uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	    (major > 6 || (major == 6 && minor >= 14));
}

bool
ns_pid_max(const char *proc, unsigned value)
{
	char path[64], text[16];

	if (!pid_max_is_ours())
		return false;
	(void)snprintf(path, sizeof path, "%s/sys/kernel/pid_max", proc);
	(void)snprintf(text, sizeof text, "%u", value);
	return put(path, text, NULL) == 0;
}

/* What a user has once for all programs: half is left to those of the host. Best effort. */
static void
leave_half(const char *name, const char *theirs)
{
	char path[64], text[32] = "";
	ATS_CLEANUP_FD int fd = open(theirs, O_RDONLY | O_CLOEXEC);
	long all = 0;

	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
		all = strtol(text, NULL, 10);
	if (all < 2)
		return;
	(void)snprintf(path, sizeof path, "/proc/sys/user/%s", name);
	(void)snprintf(text, sizeof text, "%ld", all / 2);
	(void)!put(path, text, NULL);
}

void
ns_tune(struct box *b)
{
	b->facts |= BOX_IPC_UTS;
	/* With the host's network it would be the host's loopback. */
	if ((b->facts & BOX_NET_HOST) == 0) {
		b->facts |= BOX_NETNS;
		if (ns_loopback_up() == 0)
			b->facts |= BOX_LOOPBACK;
	}
	if (sethostname("sandbox", 7) < 0)
		b->facts &= ~(uint32_t)BOX_IPC_UTS;
	if (ns_pid_max("/proc", (unsigned)b->budget.box_processes))
		b->facts |= BOX_PID_MAX;
	/* Per user namespace: in root's box it would be the host's. */
	if (b->situation != BOX_USER)
		return;
	if (put("/proc/sys/user/max_user_namespaces", "0", NULL) == 0)
		b->facts |= BOX_NO_USERNS;
	leave_half("max_inotify_instances", "/proc/sys/fs/inotify/max_user_instances");
	leave_half("max_inotify_watches", "/proc/sys/fs/inotify/max_user_watches");
}
