/* SPDX-License-Identifier: Apache-2.0
 *
 * Tries one forbidden thing, named by argv[1]; prints "refused ERRNO" or "done". Built static
 * by the sandbox tests and run inside a box. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char **args;

static long
inet_connect(int type)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((unsigned short)atoi(args[0])),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, type, 0);

	return s < 0 ? -1 : connect(s, (struct sockaddr *)&a, sizeof a);
}

static long
unix_connect(int abstract)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(a.sun_path + abstract, args[0], sizeof a.sun_path - 2);
	return connect(s, (struct sockaddr *)&a,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (unsigned)abstract +
		strlen(args[0])));
}

static long t_tcp(void) { return inet_connect(SOCK_STREAM); }
static long t_packet(void) { return socket(AF_PACKET, SOCK_RAW, 0); }
static long t_raw(void) { return socket(AF_INET, SOCK_RAW, 1); }
static long t_vsock(void) { return socket(40, SOCK_STREAM, 0); }
static long t_alg(void) { return socket(38, SOCK_SEQPACKET, 0); }
static long t_mptcp(void) { return socket(AF_INET, SOCK_STREAM, 262); }
static long t_netlink(void) { return socket(AF_NETLINK, SOCK_RAW, 9); }
static long t_abstract(void) { return unix_connect(1); }
static long t_unix(void) { return unix_connect(0); }
static long t_userns(void) { return unshare(CLONE_NEWUSER); }
static long t_mntns(void) { return unshare(CLONE_NEWNS); }
static long t_clone(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
}
static long t_clone3(void) { return syscall(SYS_clone3, NULL, 0); }
static long t_mount(void) { return mount("tmpfs", "/tmp", "tmpfs", 0, NULL); }
static long t_umount(void) { return umount2("/proc", MNT_DETACH); }
static long t_fsopen(void) { return syscall(SYS_fsopen, "tmpfs", 0); }
static long t_open_tree(void) { return syscall(SYS_open_tree, AT_FDCWD, "/", 1); }
static long t_chroot(void) { return chroot("/tmp"); }
static long t_setns(void) { return setns(open("/proc/1/ns/mnt", O_RDONLY), 0); }
static long t_ptrace(void) { return ptrace(PTRACE_SEIZE, getppid() > 1 ? 1 : 1, NULL, NULL); }
static long t_vm_read(void)
{
	char b[8];
	struct iovec l = { b, 8 }, r = { (void *)0x400000, 8 };

	return process_vm_readv(1, &l, 1, &r, 1, 0);
}
static long t_kill1(void) { return kill(1, SIGCONT); }
static long t_pidfd_getfd(void) { return syscall(438, syscall(434, 1, 0), 0, 0); }
static long t_setuid(void) { return setuid(0); }
static long t_bpf(void) { return syscall(SYS_bpf, 0, NULL, 0); }
static long t_uring(void) { return syscall(SYS_io_uring_setup, 1, NULL); }
static long t_keyctl(void) { return syscall(SYS_keyctl, 0, -3, 0); }
static long t_perf(void) { return syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0); }
static long t_uffd(void) { return syscall(SYS_userfaultfd, 0); }
static long t_handle(void) { return syscall(SYS_open_by_handle_at, 0, NULL, 0); }
static long t_sti(void) { char c = 0; return ioctl(0, TIOCSTI, &c); }
static long t_sti_high(void)
{
	char c = 0;

	return syscall(SYS_ioctl, 0, 0x100000000ul | TIOCSTI, &c);
}
static long t_persona(void) { return personality(0x0400000); }
static long t_mknod(void) { return mknod("/tmp/ats-node", S_IFBLK | 0600, 0x100); }
static long t_nice(void) { return setpriority(PRIO_PROCESS, 0, -5); }
static long t_new_call(void) { return syscall(470); }
static long t_open(void) { return open(args[0], O_RDONLY | O_NONBLOCK); }
static long t_write(void) { return open(args[0], O_WRONLY | O_CREAT | O_NONBLOCK, 0600); }
/* What a debugger does to a child of its own. */
static long
t_debug(void)
{
	static volatile long word = 0x5eed;
	long here = 0;
	struct iovec to = { &here, sizeof here }, from = { (void *)&word, sizeof word };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		word = 0x600d;
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(1);
		raise(SIGSTOP);
		_exit(word == 0xbee5 ? 0 : 2);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	if (ptrace(PTRACE_PEEKDATA, pid, (void *)&word, NULL) != 0x600d ||
	    process_vm_readv(pid, &to, 1, &from, 1, 0) != sizeof here || here != 0x600d)
		return -1;
	here = 0xbee5;
	if (process_vm_writev(pid, &to, 1, &from, 1, 0) != sizeof here ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
static long
t_interfaces(void)
{
	struct ifaddrs *list = NULL;
	int n = 0;

	if (getifaddrs(&list) < 0)
		return -1;
	for (struct ifaddrs *i = list; i != NULL; i = i->ifa_next)
		n += strcmp(i->ifa_name, "lo") == 0;
	return n > 0 ? 0 : -1;
}
static long t_no_random(void) { return personality(ADDR_NO_RANDOMIZE); }
static long t_ask_persona(void) { return personality(0xffffffff); }
static long t_core(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_CORE, &r) == 0 && r.rlim_max == 0 ? (errno = EPERM, -1) : 0;
}

static const struct { const char *name; long (*run)(void); } tries[] = {
#define T(n) { #n, t_##n }
	T(tcp), T(packet), T(raw), T(vsock), T(alg), T(mptcp), T(netlink), T(abstract),
	T(unix), T(userns), T(mntns), T(clone), T(clone3), T(mount), T(umount), T(fsopen),
	T(open_tree), T(chroot), T(setns), T(ptrace), T(vm_read), T(kill1), T(pidfd_getfd),
	T(setuid), T(bpf), T(uring), T(keyctl), T(perf), T(uffd), T(handle), T(sti),
	T(sti_high), T(persona), T(mknod), T(nice), T(new_call), T(open), T(write), T(core),
	T(debug), T(interfaces), T(no_random), T(ask_persona),
};

int
main(int argc, char **argv)
{
	args = argv + 2;
	for (size_t i = 0; argc > 1 && i < sizeof tries / sizeof tries[0]; i++) {
		if (strcmp(tries[i].name, argv[1]) != 0)
			continue;
		if (tries[i].run() < 0)
			printf("refused %s\n", strerrorname_np(errno));
		else
			printf("done\n");
		return 0;
	}
	return 2;
}
