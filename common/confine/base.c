/* SPDX-License-Identifier: Apache-2.0
 *
 * The seccomp tables that daemons share. Columns: action, system call, argument tests.
 * Calls newer than libseccomp 2.5.4 stand as numbers (the same on every architecture). */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/socket.h>

#include "common/confine/seccomp.h"

#define NO ATS_SECCOMP_ERRNO(EPERM)
#define GONE ATS_SECCOMP_ERRNO(ENOSYS)
#define DENY(name) ATS_SECCOMP_CALL(NO, name)
#define NO_FAMILY(n) ATS_SECCOMP_IF(NO, "socket", ATS_SECCOMP_ARG_EQ(0, (n)))
#define OTHERS(name, i, own) ATS_SECCOMP_IF(NO, name, ATS_SECCOMP_ARG_NE(i, own))
#define NO_IOCTL(cmd) ATS_SECCOMP_IF(NO, "ioctl", ATS_SECCOMP_ARG_EQ(1, (cmd)))

static const struct ats_seccomp_rule base_rules[] = {
	/* Large kernel surfaces that nobody here has a use for. */
	DENY("bpf"), DENY("perf_event_open"), DENY("userfaultfd"),
	DENY("io_uring_setup"), DENY("io_uring_enter"), DENY("io_uring_register"),
	DENY("add_key"), DENY("request_key"), DENY("keyctl"),
	DENY("fanotify_init"), DENY("fanotify_mark"),
	/* The machine itself. */
	DENY("kexec_load"), DENY("kexec_file_load"),
	DENY("init_module"), DENY("finit_module"), DENY("delete_module"),
	DENY("swapon"), DENY("swapoff"), DENY("acct"), DENY("iopl"), DENY("ioperm"),
	DENY("quotactl"), ATS_SECCOMP_NR(NO, 443 /* quotactl_fd */),
	DENY("clock_settime"), DENY("settimeofday"), DENY("reboot"),
	/* Around the file permissions, and into other processes. */
	DENY("open_by_handle_at"), DENY("kcmp"),
	ATS_SECCOMP_NR(NO, 438 /* pidfd_getfd */),
	ATS_SECCOMP_NR(NO, 440 /* process_madvise */),
	/* Dead calls. */
	DENY("uselib"), DENY("nfsservctl"), DENY("lookup_dcookie"), DENY("_sysctl"),
	DENY("create_module"), DENY("get_kernel_syms"), DENY("query_module"),
	DENY("afs_syscall"), DENY("tuxcall"), DENY("security"), DENY("vserver"),
	DENY("getpmsg"), DENY("putpmsg"), DENY("sysfs"),
	/* Sockets: UNIX 1, INET 2, INET6 10 and the route family of NETLINK 16 remain. */
	NO_FAMILY(0), NO_FAMILY(3), NO_FAMILY(4), NO_FAMILY(5), NO_FAMILY(6), NO_FAMILY(7),
	NO_FAMILY(8), NO_FAMILY(9), NO_FAMILY(11), NO_FAMILY(12), NO_FAMILY(13),
	NO_FAMILY(14), NO_FAMILY(15),
	ATS_SECCOMP_IF(NO, "socket", ATS_SECCOMP_ARG_EQ(0, AF_NETLINK),
	    ATS_SECCOMP_ARG_NE(2, 0)),
	ATS_SECCOMP_IF(NO, "socket", ATS_SECCOMP_ARG_GT(0, AF_NETLINK)),
	ATS_SECCOMP_IF(NO, "socketpair", ATS_SECCOMP_ARG_NE(0, AF_UNIX)),
	/* Typing into another's terminal: TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD. */
	NO_IOCTL(0x5412), NO_IOCTL(0x541c), NO_IOCTL(0x541d), NO_IOCTL(0x5423),
};

const struct ats_seccomp_table ats_seccomp_base = {
	"base", ATS_SECCOMP_ALLOW, base_rules, ATS_ARRAY_LEN(base_rules)
};

static const struct ats_seccomp_rule noexec_rules[] = {
	/* A daemon that tries this is not ours any more. */
	ATS_SECCOMP_CALL(ATS_SECCOMP_KILL, "execve"),
	ATS_SECCOMP_CALL(ATS_SECCOMP_KILL, "execveat"),
	/* No processes; threads stay possible (SQLite, resolver). */
	DENY("fork"), DENY("vfork"), ATS_SECCOMP_CALL(GONE, "clone3"),
	ATS_SECCOMP_IF(NO, "clone", ATS_SECCOMP_ARG_MASK(0, CLONE_THREAD, 0)),
	DENY("ptrace"), DENY("process_vm_readv"), DENY("process_vm_writev"),
	/* pidfd_send_signal is its user's to refuse: the vault needs it once. */
	DENY("kill"), DENY("tkill"), DENY("rt_sigqueueinfo"),
	DENY("rt_tgsigqueueinfo"), DENY("pidfd_open"),
	/* Namespaces and mounts. */
	DENY("unshare"), DENY("setns"), DENY("chroot"), DENY("pivot_root"),
	DENY("mount"), DENY("umount2"), DENY("open_tree"), DENY("move_mount"),
	DENY("fsopen"), DENY("fsconfig"), DENY("fsmount"), DENY("fspick"),
	ATS_SECCOMP_NR(NO, 442 /* mount_setattr */),
	ATS_SECCOMP_NR(NO, 457 /* statmount */), ATS_SECCOMP_NR(NO, 458 /* listmount */),
	/* Other processes of the same user: their limits and their share of the machine. The
	 * two priorities are a group's or a user's when argument 0 says so. */
	OTHERS("prlimit64", 0, 0), OTHERS("setpriority", 0, 0), OTHERS("setpriority", 1, 0),
	OTHERS("ioprio_set", 0, 1), OTHERS("ioprio_set", 1, 0),
	OTHERS("sched_setscheduler", 0, 0), OTHERS("sched_setparam", 0, 0),
	OTHERS("sched_setattr", 0, 0), OTHERS("sched_setaffinity", 0, 0),
	DENY("move_pages"), DENY("migrate_pages"),
	/* What is shared by number or name. */
	DENY("shmget"), DENY("shmat"), DENY("shmctl"), DENY("semget"), DENY("semop"),
	DENY("semctl"), DENY("semtimedop"), DENY("msgget"), DENY("msgsnd"), DENY("msgrcv"),
	DENY("msgctl"), DENY("mq_open"), DENY("mq_unlink"),
	/* Identities. */
	DENY("setuid"), DENY("setgid"), DENY("setreuid"), DENY("setregid"),
	DENY("setresuid"), DENY("setresgid"), DENY("setfsuid"), DENY("setfsgid"),
	DENY("setgroups"), DENY("capset"),
	/* The rest of the machine. */
	DENY("sethostname"), DENY("setdomainname"), DENY("syslog"), DENY("mknod"),
	DENY("mknodat"), DENY("personality"), DENY("adjtimex"), DENY("clock_adjtime"),
	DENY("vhangup"), DENY("name_to_handle_at"),
};

static const struct ats_seccomp_rule local_rules[] = {
	ATS_SECCOMP_IF(ATS_SECCOMP_ERRNO(EAFNOSUPPORT), "socket", ATS_SECCOMP_ARG_NE(0, AF_UNIX)),
	DENY("listen"), DENY("bind"), DENY("pidfd_send_signal"), DENY("symlink"),
	DENY("symlinkat"),
};

const struct ats_seccomp_table ats_seccomp_local = {
	"local", ATS_SECCOMP_ALLOW, local_rules, ATS_ARRAY_LEN(local_rules)
};

const struct ats_seccomp_table ats_seccomp_noexec = {
	"noexec", ATS_SECCOMP_ALLOW, noexec_rules, ATS_ARRAY_LEN(noexec_rules)
};
