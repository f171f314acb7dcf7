/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks on the kernel's surface: calls that a tool has no use for, and ways around the
 * filter that refuses them. Where a refusal by the call itself would tell nothing, the call
 * must not be reached at all. */
#include <sched.h>
#include <signal.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/swap.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "attack.h"

/* ---- namespaces and mounts ------------------------------------------------------------ */
void
attack_userns_unshare(void)
{
	(void)must_fail(unshare(CLONE_NEWUSER), "unshare(user)");
	(void)must_fail(unshare(CLONE_NEWUSER | CLONE_FS), "unshare(user, fs)");
}

static void
cloned(long pid, const char *what)
{
	if (pid == 0)
		_exit(0);
	if (must_fail(pid, what))
		(void)waitpid((pid_t)pid, NULL, 0);
}

void
attack_userns_clone(void)
{
	uint64_t args[11] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };

	cloned(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), "clone(user)");
	cloned(syscall(SYS_clone3, args, sizeof args), "clone3(user)");
	args[0] = CLONE_NEWUSER | CLONE_NEWNS;
	cloned(syscall(SYS_clone3, args, 64), "clone3(user, mount)");
}

void
attack_other_ns(void)
{
	static const struct { const char *name; int flag; } spaces[] = {
		{ "mount", CLONE_NEWNS }, { "pid", CLONE_NEWPID }, { "net", CLONE_NEWNET },
		{ "ipc", CLONE_NEWIPC }, { "uts", CLONE_NEWUTS }, { "cgroup", CLONE_NEWCGROUP },
		{ "time", 0x80 } };

	for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
		must_not_reach(unshare(spaces[i].flag), spaces[i].name);
}

void
attack_mount_old(void)
{
	must_not_reach(mount("tmpfs", "/tmp", "tmpfs", 0, NULL), "mount");
	must_not_reach(mount(".", "/tmp", NULL, MS_BIND, NULL), "bind mount");
	must_not_reach(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL), "remount");
	must_not_reach(umount2("/proc", MNT_DETACH), "umount");
}

void
attack_mount_new(void)
{
	uint64_t attr[4] = { 0 };

	must_not_reach(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
	must_not_reach(syscall(SYS_fspick, AT_FDCWD, "/", 0), "fspick");
	must_not_reach(syscall(SYS_open_tree, AT_FDCWD, ".", 1), "open_tree");
	must_not_reach(syscall(SYS_move_mount, AT_FDCWD, ".", AT_FDCWD, "/tmp", 0), "move_mount");
	must_not_reach(syscall(442, AT_FDCWD, "/", 0, attr, sizeof attr), "mount_setattr");
	must_not_reach(syscall(467, AT_FDCWD, ".", 1, attr, sizeof attr), "open_tree_attr");
}

static void
write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	(void)!write(fd, text, strlen(text));
	(void)close(fd);
}

/* Root in a user namespace of its own takes away what lies over other things. */
void
attack_peel(void)
{
	static const char *const over[] = { "/tmp", "/home", "/proc/sys", "/proc", "/etc/shadow" };
	char map[64];
	int fd, uid = (int)getuid(), gid = (int)getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		REFUSED("unshare: %s", strerror(errno));
		return;
	}
	write_to("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof map, "0 %d 1", uid);
	write_to("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof map, "0 %d 1", gid);
	write_to("/proc/self/gid_map", map);
	for (size_t i = 0; i < 3 * sizeof over / sizeof over[0]; i++)
		(void)umount2(over[i % (sizeof over / sizeof over[0])], MNT_DETACH);
	(void)mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
	fd = open(outside("canary"), O_RDONLY);
	print_from(fd);
	(void)must_fail(open(outside("made"), O_CREAT | O_WRONLY, 0600), "a file made outside");
}

void
attack_roots(void)
{
	must_not_reach(chroot("."), "chroot");
	must_not_reach(syscall(SYS_pivot_root, ".", "."), "pivot_root");
}

void
attack_join_ns(void)
{
	static const char *const spaces[] = { "mnt", "pid", "net", "user", "ipc" };
	char path[64];

	for (size_t i = 0; i < 5; i++) {
		int fd;

		(void)snprintf(path, sizeof path, "/proc/%s/ns/%s",
		    i % 2 == 0 ? word("TARGET") : "1", spaces[i]);
		fd = open(path, O_RDONLY);
		must_not_reach(setns(fd, 0), path);
		(void)close(fd);
	}
	must_not_reach(setns((int)syscall(SYS_pidfd_open, (int)number("TARGET"), 0), CLONE_NEWNS),
	    "setns of a pidfd");
}

/* ---- interfaces ----------------------------------------------------------------------- */
void
attack_uring(void)
{
	char params[256] = { 0 };

	must_not_reach(syscall(SYS_io_uring_setup, 1, params), "io_uring_setup");
	must_not_reach(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0), "io_uring_enter");
	must_not_reach(syscall(SYS_io_uring_register, -1, 0, NULL, 0), "io_uring_register");
}

void
attack_bpf(void)
{
	unsigned attr[32] = { 2, 4, 4, 1 };

	must_not_reach(syscall(SYS_bpf, 0, attr, 48), "bpf(a map)");
	must_not_reach(syscall(SYS_bpf, 5, attr, sizeof attr), "bpf(a program)");
}

void
attack_perf(void)
{
	struct { uint32_t type, size; uint64_t rest[14]; } attr = { 1, 120, { 0 } };

	must_not_reach(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf of itself");
	must_not_reach(syscall(SYS_perf_event_open, &attr, (int)number("TARGET"), -1, -1, 0),
	    "perf of another");
}

void
attack_keys(void)
{
	must_not_reach(syscall(SYS_add_key, "user", "attack", "v", 1, 12345678), "add_key");
	must_not_reach(syscall(SYS_request_key, "user", "attack", NULL, 0), "request_key");
	must_not_reach(syscall(SYS_keyctl, 9999, 0, 0), "keyctl");
}

void
attack_keyring_of_target(void)
{
	char b[200] = "";
	long found = syscall(SYS_keyctl, 10 /* search */, -4, "user", word("KEYNAME"), 0);

	if (syscall(SYS_keyctl, 11 /* read */, number("KEY"), b, sizeof b - 1) > 0 ||
	    (found > 0 && syscall(SYS_keyctl, 11, found, b, sizeof b - 1) > 0))
		(void)puts(b);
	else
		REFUSED("%s", strerror(errno));
}

void
attack_shm_of_target(void)
{
	char *m = shmat((int)number("SHM"), NULL, SHM_RDONLY);

	if (m != (void *)-1)
		(void)puts(m);
	else
		REFUSED("shmat: %s", strerror(errno));
}

/* A name that two calls, or a tool and the host, could meet at. */
void
attack_ipc(void)
{
	char b[128] = "";
	int fd = open(word("SHM_FILE"), O_RDONLY);

	(void)must_fail(fd, "a file of /dev/shm");
	if (fd >= 0 && read(fd, b, sizeof b - 1) > 0)
		(void)puts(b);
	(void)must_fail(syscall(SYS_mq_open, "/", 0, 0, NULL), "mq_open");
}

void
attack_fault_fd(void)
{
	must_not_reach(syscall(SYS_userfaultfd, 1 | O_CLOEXEC), "userfaultfd(user mode only)");
	must_not_reach(syscall(SYS_userfaultfd, O_CLOEXEC), "userfaultfd");
}

void
attack_persona(void)
{
	static const struct { const char *name; unsigned long flag; } flags[] = {
		{ "read implies exec", READ_IMPLIES_EXEC }, { "page zero", MMAP_PAGE_ZERO },
		{ "legacy layout", ADDR_COMPAT_LAYOUT }, { "3 GiB", ADDR_LIMIT_3GB },
		{ "sticky timeouts", STICKY_TIMEOUTS } };

	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		(void)must_fail(syscall(SYS_personality, flags[i].flag), flags[i].name);
}

/* A text file, which the loader would call no program. */
void
attack_modules(void)
{
	int fd = open(arguments[0], O_RDONLY);

	must_not_reach(syscall(SYS_finit_module, fd, "", 0), "finit_module");
	must_not_reach(syscall(SYS_init_module, "x", 1, ""), "init_module");
	must_not_reach(syscall(SYS_delete_module, "no_such_module", O_NONBLOCK), "delete_module");
	must_not_reach(syscall(SYS_kexec_load, 0, 0, NULL, 0), "kexec_load");
	must_not_reach(syscall(SYS_kexec_file_load, -1, -1, 0, "", 0), "kexec_file_load");
}

void
attack_ports(void)
{
#ifdef __x86_64__
	(void)must_fail(ioperm(0x80, 1, 1), "ioperm");
	(void)must_fail(iopl(3), "iopl");
#else
	ABSENT("no ports on this machine");
#endif
}

/* Nothing here would change anything if it worked: wrong magic, the time as it is. */
void
attack_system(void)
{
	struct timex t = { 0 };
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	must_not_reach(syscall(SYS_reboot, 0, 0, 0, NULL), "reboot");
	must_not_reach(swapon("/no/such/file", 0), "swapon");
	must_not_reach(swapoff("/no/such/file"), "swapoff");
	must_not_reach(acct("/no/such/file"), "acct");
	must_not_reach(syscall(SYS_clock_settime, 99, &now), "clock_settime");
	must_not_reach(syscall(SYS_settimeofday, (void *)1, NULL), "settimeofday");
	must_not_reach(syscall(SYS_clock_adjtime, 99, &t), "clock_adjtime");
	must_not_reach(syscall(SYS_sethostname, NULL, 5), "sethostname");
	must_not_reach(syscall(SYS_setdomainname, NULL, 5), "setdomainname");
}

void
attack_admin(void)
{
	must_not_reach(syscall(SYS_quotactl, 0x80000700, "/dev/none", 0, NULL), "quotactl");
	must_not_reach(syscall(443 /* quotactl_fd */, -1, 0, 0, NULL), "quotactl_fd");
	must_not_reach(syscall(SYS_lookup_dcookie, 0ul, NULL, 0), "lookup_dcookie");
	must_not_reach(syscall(SYS_migrate_pages, 0, 0, NULL, NULL), "migrate_pages");
	must_not_reach(syscall(SYS_vhangup), "vhangup");
}

void
attack_fanotify(void)
{
	must_not_reach(syscall(SYS_fanotify_init, 0, O_RDONLY), "fanotify_init");
	must_not_reach(syscall(SYS_fanotify_init, 0x200 /* by name */, O_RDONLY),
	    "fanotify_init(unprivileged)");
}

void
attack_kernel_log(void)
{
	char b[64];

	must_not_open("/dev/kmsg", O_WRONLY);
	must_not_open("/dev/kmsg", O_RDONLY);
	must_not_open("/proc/kmsg", O_RDONLY);
	must_not_reach(syscall(SYS_syslog, 3, b, sizeof b), "syslog");
}

/* ---- around the filter ---------------------------------------------------------------- */
#ifdef __x86_64__
static long
int80(long nr, long a, long b, long c)
{
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory",
	    "r8", "r9", "r10", "r11");
	return rc;
}
#endif

/* The other tables of this processor's kernel: 32 bits and x32. A child that dies of it is
 * what the filter is for. */
void
attack_foreign_call(void)
{
#ifdef __x86_64__
	for (int way = 0; way < 3; way++) {
		pid_t p = fork();
		int status;
		long rc;

		if (p == 0) {
			if (way == 0)
				rc = int80(20 /* getpid */, 0, 0, 0);
			else if (way == 1)
				rc = int80(359 /* socket */, 40 /* vsock */, SOCK_STREAM, 0);
			else
				rc = syscall(0x40000000 | SYS_getpid);
			_exit(rc >= 0 ? 1 : 0);
		}
		(void)waitpid(p, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
			ESCAPED("way %d is served", way);
		else
			REFUSED("way %d", way);
	}
#else
	ABSENT("this machine has one table");
#endif
}

void
attack_unknown_call(void)
{
	for (long nr = 480; nr < 1024; nr += 17)
		if (syscall(nr, -1, -1, -1, -1, -1, -1) >= 0 || errno != ENOSYS)
			ESCAPED("call %ld", nr);
	/* What came after the filter's own library. */
	must_not_reach(syscall(457, NULL, NULL, 0, 0), "statmount");
	must_not_reach(syscall(458, NULL, NULL, 0, 0), "listmount");
}

/* Its requests are counted for the whole machine: who has them all leaves the host none. */
void
attack_async_io(void)
{
	unsigned long context = 0;

	must_not_reach(syscall(SYS_io_setup, 1, &context), "io_setup");
}

/* ---- the terminal --------------------------------------------------------------------- */
/* On stdin, and on the terminal of the session, where there is one. */
static int
terminal(void)
{
	int fd = isatty(0) ? 0 : open("/dev/tty", O_RDWR | O_NOCTTY);

	if (fd < 0)
		REFUSED("no terminal");
	return fd;
}

void
attack_type_in(void)
{
	int fd = terminal();

	if (fd < 0)
		return;
	for (const char *p = "TYPED\n"; *p != '\0'; p++) {
		(void)ioctl(fd, TIOCSTI, p);
		(void)syscall(SYS_ioctl, fd, 1ul << 32 | TIOCSTI, p);
	}
	(void)must_fail(ioctl(fd, TIOCSTI, " "), "TIOCSTI");
}

void
attack_tty_ioctls(void)
{
	int fd = terminal(), discipline = 15;
	char shift = 2;

	if (fd < 0)
		return;
	must_not_reach(ioctl(fd, TIOCLINUX, &shift), "TIOCLINUX");
	must_not_reach(ioctl(fd, TIOCSETD, &discipline), "TIOCSETD");
	must_not_reach(ioctl(fd, TIOCCONS, 0), "TIOCCONS");
}
