/* SPDX-License-Identifier: Apache-2.0
 *
 * A container as the common engines make it by default, without an engine: namespaces but
 * no user namespace, 14 capabilities, a system call filter, /proc masked and partly
 * read-only, a small /dev, the machine's own files as the image. For tests; needs root.
 *
 *   container [-u UID] COMMAND...
 *
 * COMMAND is not process 1: a process that only reaps is, as with an engine's own init.
 * Exit status: the command's, 128 + signal, or 120 where no container could be had. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <net/if.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define NO_CONTAINER 120
#define NEW_CALLS 463	/* from here on newer than the profile: ENOSYS */

static void
must(int ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "container: %s: %s\n", what, strerror(errno));
	_exit(NO_CONTAINER);
}

/* ---- files -------------------------------------------------------------------------- */
static const char *const readonly[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
	"/proc/sysrq-trigger" };
static const char *const masked[] = { "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys",
	"/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
	"/proc/scsi", "/proc/interrupts" };
#define HARMLESS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static void
proc_and_sys(void)
{
	struct stat st;

	must(mount("proc", "/proc", "proc", HARMLESS, NULL) == 0, "/proc");
	for (size_t i = 0; i < N(readonly); i++)
		if (mount(readonly[i], readonly[i], NULL, MS_BIND | MS_REC, NULL) == 0)
			must(mount(NULL, readonly[i], NULL,
				 MS_REMOUNT | MS_BIND | MS_RDONLY | HARMLESS, NULL) == 0,
			    readonly[i]);
	for (size_t i = 0; i < N(masked); i++)
		if (stat(masked[i], &st) == 0)
			must((S_ISDIR(st.st_mode)
				? mount("tmpfs", masked[i], "tmpfs", MS_RDONLY, NULL)
				: mount("/dev/null", masked[i], NULL, MS_BIND, NULL)) == 0,
			    masked[i]);
	must(mount("sysfs", "/sys", "sysfs", MS_RDONLY | HARMLESS, NULL) == 0, "/sys");
}

static void
dev(void)
{
	static const struct { const char *name; unsigned minor, major; } nodes[] = {
		{ "null", 3, 1 }, { "zero", 5, 1 }, { "full", 7, 1 }, { "random", 8, 1 },
		{ "urandom", 9, 1 }, { "tty", 0, 5 } };
	static const char *const links[][2] = { { "/proc/self/fd", "fd" },
		{ "/proc/self/fd/0", "stdin" }, { "/proc/self/fd/1", "stdout" },
		{ "/proc/self/fd/2", "stderr" }, { "pts/ptmx", "ptmx" } };

	must(mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755,size=64k") == 0 &&
	    chdir("/dev") == 0, "/dev");	/* main goes back */
	(void)umask(0);
	for (size_t i = 0; i < N(nodes); i++)
		must(mknod(nodes[i].name, S_IFCHR | 0666,
			 makedev(nodes[i].major, nodes[i].minor)) == 0, nodes[i].name);
	(void)umask(022);
	for (size_t i = 0; i < N(links); i++)
		must(symlink(links[i][0], links[i][1]) == 0, links[i][1]);
	must(mkdir("shm", 0755) == 0 && mkdir("pts", 0755) == 0 &&
	    mount("devpts", "pts", "devpts", MS_NOSUID | MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=0620") == 0 &&
	    mount("shm", "shm", "tmpfs", HARMLESS, "mode=1777,size=64m") == 0,
	    "/dev/pts, /dev/shm");
}

static void
loopback(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	must(ioctl(s, SIOCSIFFLAGS, &r) == 0, "lo");
	(void)close(s);
}

/* ---- privilege ---------------------------------------------------------------------- */
static const int kept[] = { CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL,
	CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_NET_RAW, CAP_SYS_CHROOT,
	CAP_MKNOD, CAP_AUDIT_WRITE, CAP_SETFCAP };

/* The calls that the default profile leaves out when none of their capabilities is there. */
static const char *const refused[] = { "acct", "add_key", "bpf", "clock_adjtime",
	"clock_settime", "delete_module", "fanotify_init", "finit_module", "fsconfig",
	"fsmount", "fsopen", "fspick", "get_mempolicy", "init_module", "io_uring_enter",
	"io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp", "kexec_file_load",
	"kexec_load", "keyctl", "lookup_dcookie", "mbind", "mount", "mount_setattr", "move_mount",
	"move_pages", "nfsservctl", "open_by_handle_at", "open_tree", "perf_event_open",
	"pidfd_getfd", "pivot_root", "process_madvise", "quotactl", "quotactl_fd", "reboot",
	"request_key", "set_mempolicy", "setdomainname", "sethostname", "setns", "settimeofday",
	"swapoff", "swapon", "syslog", "umount2", "unshare", "uselib", "userfaultfd", "ustat",
	"vhangup" };
/* What libseccomp cannot say in a filter that allows: numbers from one on, a list of values. */
static void
odd_filter(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NEW_CALLS, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 8, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x20000, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x20008, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { N(f), f };

	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p) == 0, "the odd filter");
}

static void
filter(void)
{
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
	const uint64_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
	    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
	int ok = c != NULL && seccomp_attr_set(c, SCMP_FLTATR_CTL_NNP, 0) == 0;

#ifdef __x86_64__
	ok = ok && seccomp_arch_add(c, SCMP_ARCH_X86) == 0 &&
	    seccomp_arch_add(c, SCMP_ARCH_X32) == 0;
#endif
	for (size_t i = 0; ok && i < N(refused); i++) {
		int nr = seccomp_syscall_resolve_name(refused[i]);

		ok = nr == __NR_SCMP_ERROR ||
		    seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), nr, 0) == 0;
	}
	for (uint64_t bit = 1; ok && bit <= spaces; bit <<= 1)
		if (spaces & bit)
			ok = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
			    SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit)) == 0;
	ok = ok && seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
	    seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
		SCMP_A0(SCMP_CMP_EQ, AF_VSOCK)) == 0 &&
	    seccomp_load(c) == 0;
	seccomp_release(c);
	must(ok, "filter");
	odd_filter();
}

static void
privilege(uid_t uid)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };
	uint64_t keep = 0;

	for (size_t i = 0; i < N(kept); i++)
		keep |= 1ull << kept[i];
	for (int i = 0; prctl(PR_CAPBSET_READ, i) >= 0; i++)
		if ((keep & 1ull << i) == 0)
			must(prctl(PR_CAPBSET_DROP, i) == 0, "bounding set");
	filter();		/* no no_new_privs: this process has CAP_SYS_ADMIN still */
	must(setgroups(0, NULL) == 0 && setresgid(uid, uid, uid) == 0 &&
	    setresuid(uid, uid, uid) == 0, "user");
	if (uid != 0)
		return;
	d[0].effective = d[0].permitted = (uint32_t)keep;
	d[1].effective = d[1].permitted = (uint32_t)(keep >> 32);
	must(syscall(SYS_capset, &h, d) == 0, "capset");
}

/* ---- processes ---------------------------------------------------------------------- */
static int
code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void
container(uid_t uid, const char *cwd, char **argv)
{
	int status;
	pid_t p, cmd;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
	proc_and_sys();
	dev();
	loopback();
	cmd = fork();
	must(cmd >= 0, "fork");
	if (cmd == 0) {
		must(chdir(cwd) == 0, cwd);
		privilege(uid);
		(void)execvp(argv[0], argv);
		must(0, argv[0]);
	}
	while ((p = wait(&status)) >= 0)
		if (p == cmd)
			_exit(code(status));
	_exit(NO_CONTAINER);
}

int
main(int argc, char **argv)
{
	char cwd[4096];
	uid_t uid = 0;
	int c, status;
	pid_t p;

	while ((c = getopt(argc, argv, "+u:")) != -1)
		if (c == 'u')
			uid = (uid_t)atoi(optarg);
		else
			return NO_CONTAINER;
	if (optind == argc)
		return NO_CONTAINER;
	must(getcwd(cwd, sizeof cwd) != NULL &&
	    unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
		CLONE_NEWCGROUP) == 0, "namespaces (needs root)");
	p = fork();
	must(p >= 0, "fork");
	if (p == 0)
		container(uid, cwd, argv + optind);
	must(waitpid(p, &status, 0) == p, "wait");
	return code(status);
}
