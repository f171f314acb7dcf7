/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that each filter is asked about: every number up to 600 with nothing as its
 * arguments, the other entries of this processor, and what rules tell apart by arguments. */
#ifndef ATS_TESTS_LIB_CALL_LIST_H
#define ATS_TESTS_LIB_CALL_LIST_H

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/lib/call_probe.h"

#define LIST_NUMBERS 601
/* The kernel asks no filter about these two; they end whoever is not probed. */
#define SYS_uretprobe 335
#define SYS_uprobe 336
#define HIGH(n) (0x100000000ul | (unsigned long)(n))	/* the kernel reads the low 32 bits */
#define ROW(call, a, b, c) { SYS_##call, { a, b, c, 0 }, #call " " #a " " #b " " #c }
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define ROW4(call, a, b, c, d) { SYS_##call, { a, b, c, d }, #call " " #a " " #b " " #c " " #d }

static const struct probe_call list_arguments[] = {
	/* other entries: x32, and the 32-bit table by int 0x80 */
	{ PROBE_X32 + 0, { 0 }, "x32 read" }, { PROBE_X32 + 39, { 0 }, "x32 getpid" },
	{ PROBE_X32 + 520, { 0 }, "x32 execve" }, { PROBE_X32 + 467, { 0 }, "x32 467" },
	{ PROBE_I386 + 20, { 0 }, "i386 getpid" }, { PROBE_I386 + 3, { 0 }, "i386 read" },
	{ PROBE_I386 + 102, { 0 }, "i386 socketcall" }, { PROBE_I386 + 11, { 0 }, "i386 execve" },
	{ PROBE_I386 + 120, { 0 }, "i386 clone" },
	{ 1000, { 0 }, "1000" }, { 0x3fffffff, { 0 }, "0x3fffffff" },

	ROW(ioctl, 0, 0x5401, 0), ROW(ioctl, 0, 0x5412, 0), ROW(ioctl, 0, 0x541c, 0),
	ROW(ioctl, 0, 0x541d, 0), ROW(ioctl, 0, 0x5423, 0), ROW(ioctl, 0, HIGH(0x5412), 0),
	ROW(ioctl, 0, HIGH(0x541c), 0), ROW(ioctl, 0, HIGH(0x541d), 0),
	ROW(ioctl, 0, HIGH(0x5423), 0), ROW(ioctl, 0, 0xffffffff00005412ul, 0),

	ROW(socket, AF_UNIX, SOCK_STREAM, 0), ROW(socket, AF_UNIX, SOCK_DGRAM, 0),
	ROW(socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), ROW(socket, AF_UNIX, SOCK_RAW, 0),
	ROW(socket, AF_INET, SOCK_STREAM, 0), ROW(socket, AF_INET, SOCK_DGRAM, 17),
	ROW(socket, AF_INET6, SOCK_STREAM, 6), ROW(socket, AF_INET6, SOCK_DGRAM, 58),
	ROW(socket, AF_INET, SOCK_DGRAM, 59), ROW(socket, AF_INET, SOCK_STREAM, 132),
	ROW(socket, AF_INET, SOCK_STREAM, 262), ROW(socket, AF_INET, SOCK_STREAM, HIGH(262)),
	ROW(socket, HIGH(AF_INET), SOCK_STREAM, HIGH(262)),
	ROW(socket, AF_INET6, SOCK_STREAM, 262), ROW(socket, AF_INET, SOCK_RAW, 1),
	ROW(socket, AF_INET, SOCK_RAW | SOCK_CLOEXEC, 255),
	ROW(socket, HIGH(AF_INET), HIGH(SOCK_RAW), 1), ROW(socket, AF_INET6, SOCK_RAW, 58),
	ROW(socket, AF_INET, SOCK_PACKET, 0x300), ROW(socket, AF_INET, SOCK_DCCP, 33),
	ROW(socket, AF_NETLINK, SOCK_RAW, 0), ROW(socket, AF_NETLINK, SOCK_DGRAM, 0),
	ROW(socket, AF_NETLINK, SOCK_RAW, 9), ROW(socket, AF_NETLINK, SOCK_RAW, 15),
	ROW(socket, HIGH(AF_NETLINK), SOCK_RAW, 9), ROW(socket, AF_NETLINK, SOCK_RAW, HIGH(9)),
	ROW(socket, AF_PACKET, SOCK_RAW, 0), ROW(socket, AF_KEY, SOCK_RAW, 2),
	ROW(socket, AF_ALG, SOCK_SEQPACKET, 0), ROW(socket, AF_VSOCK, SOCK_STREAM, 0),
	ROW(socket, HIGH(AF_VSOCK), SOCK_STREAM, 0), ROW(socket, AF_BLUETOOTH, SOCK_RAW, 1),
	ROW(socket, 3, SOCK_DGRAM, 0), ROW(socket, 4, SOCK_DGRAM, 0), ROW(socket, 5, SOCK_DGRAM, 0),
	ROW(socket, 6, SOCK_DGRAM, 0), ROW(socket, 7, SOCK_DGRAM, 0), ROW(socket, 8, SOCK_DGRAM, 0),
	ROW(socket, 9, SOCK_DGRAM, 0), ROW(socket, 11, SOCK_DGRAM, 0),
	ROW(socket, 12, SOCK_DGRAM, 0), ROW(socket, 13, SOCK_DGRAM, 0),
	ROW(socket, 14, SOCK_DGRAM, 0), ROW(socket, AF_INET, SOCK_PACKET, 1),
	ROW(socket, AF_TIPC, SOCK_STREAM, 0), ROW(socket, AF_RXRPC, SOCK_DGRAM, 0),
	ROW(socket, AF_XDP, SOCK_RAW, 0), ROW(socket, AF_SMC, SOCK_STREAM, 0),
	ROW(socket, AF_QIPCRTR, SOCK_DGRAM, 0), ROW(socket, AF_CAN, SOCK_RAW, 1),
	ROW(socketpair, AF_UNIX, SOCK_STREAM, 0), ROW(socketpair, AF_UNIX, SOCK_SEQPACKET, 0),
	ROW(socketpair, AF_UNIX, SOCK_DGRAM, 0), ROW(socketpair, AF_UNIX, SOCK_RAW, 0),
	ROW(socketpair, AF_UNIX, HIGH(SOCK_DGRAM | SOCK_NONBLOCK), 0),
	ROW(socketpair, AF_INET, SOCK_STREAM, 0), ROW(socketpair, AF_TIPC, SOCK_STREAM, 0),

	ROW(personality, 0, 0, 0), ROW(personality, 8, 0, 0), ROW(personality, 0x20000, 0, 0),
	ROW(personality, 0x40000, 0, 0), ROW(personality, 0xffffffff, 0, 0),
	ROW(personality, HIGH(8), 0, 0), ROW(personality, 0x400000, 0, 0),
	ROW(personality, 0x100000, 0, 0), ROW(personality, 0x440000, 0, 0),
	ROW(personality, 4, 0, 0),

	ROW(clone, SIGCHLD, 0, 0), ROW(clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0),
	ROW(clone, 0x3d0f00 /* a thread */, 0, 0), ROW(clone, CLONE_NEWUSER | SIGCHLD, 0, 0),
	ROW(clone, CLONE_NEWNS | SIGCHLD, 0, 0), ROW(clone, CLONE_NEWPID | SIGCHLD, 0, 0),
	ROW(clone, CLONE_NEWNET | SIGCHLD, 0, 0), ROW(clone, CLONE_NEWIPC | SIGCHLD, 0, 0),
	ROW(clone, CLONE_NEWUTS | SIGCHLD, 0, 0), ROW(clone, CLONE_NEWCGROUP | SIGCHLD, 0, 0),
	ROW(clone, HIGH(CLONE_NEWUSER | SIGCHLD), 0, 0),
	ROW(clone, CLONE_PIDFD | CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0),
	ROW(unshare, 0, 0, 0), ROW(unshare, CLONE_FILES, 0, 0), ROW(unshare, CLONE_FS, 0, 0),
	ROW(unshare, CLONE_NEWUSER, 0, 0), ROW(unshare, CLONE_NEWNS, 0, 0),
	ROW(unshare, CLONE_NEWPID, 0, 0), ROW(unshare, CLONE_NEWNET, 0, 0),
	ROW(unshare, CLONE_NEWIPC, 0, 0), ROW(unshare, CLONE_NEWUTS, 0, 0),
	ROW(unshare, CLONE_NEWCGROUP, 0, 0), ROW(unshare, 0x80 /* time */, 0, 0),
	ROW(unshare, HIGH(CLONE_NEWUSER), 0, 0), ROW(unshare, CLONE_FILES | CLONE_NEWNS, 0, 0),

	ROW(mknod, 0, S_IFREG, 0), ROW(mknod, 0, S_IFIFO, 0), ROW(mknod, 0, S_IFSOCK, 0),
	ROW(mknod, 0, S_IFCHR, 0), ROW(mknod, 0, S_IFBLK, 0), ROW(mknod, 0, HIGH(S_IFBLK), 0),
	ROW(mknodat, 0, 0, S_IFIFO), ROW(mknodat, 0, 0, S_IFCHR), ROW(mknodat, 0, 0, S_IFBLK),
	ROW(mknodat, 0, 0, HIGH(S_IFCHR | 0600)),

	ROW(chmod, 0, 0777, 0), ROW(chmod, 0, 04755, 0), ROW(chmod, 0, 02755, 0),
	ROW(chmod, 0, HIGH(S_ISUID), 0), ROW(chmod, 0, 01777, 0), ROW(fchmod, 0, 0644, 0),
	ROW(fchmod, 0, S_ISUID, 0), ROW(fchmod, 0, S_ISGID, 0), ROW(fchmodat, 0, 0, 0755),
	ROW(fchmodat, 0, 0, S_ISUID), ROW(fchmodat, 0, 0, S_ISGID),
	ROW4(fchmodat2, 0, 0, 0755, 0), ROW4(fchmodat2, 0, 0, S_ISUID, 0),
	ROW4(fchmodat2, 0, 0, HIGH(S_ISGID), 0), ROW(creat, 0, 0666, 0), ROW(creat, 0, S_ISUID, 0),
	ROW(creat, 0, S_ISGID, 0), ROW(open, 0, O_CREAT, 0666), ROW(open, 0, O_CREAT, S_ISUID),
	ROW(open, 0, O_CREAT, S_ISGID), ROW(open, 0, O_RDWR, S_ISUID),
	ROW(open, 0, O_TMPFILE, 0600), ROW(open, 0, O_TMPFILE, S_ISUID),
	ROW4(openat, 0, 0, O_CREAT, 0666), ROW4(openat, 0, 0, O_CREAT | O_EXCL, 04755),
	ROW4(openat, 0, 0, O_CREAT, HIGH(S_ISGID)), ROW4(openat, 0, 0, O_RDWR, S_ISUID),
	ROW4(openat, 0, 0, O_TMPFILE, S_ISUID), ROW4(openat, 0, 0, O_TMPFILE, S_ISGID),
	ROW4(openat, 0, 0, O_DIRECTORY, S_ISUID), ROW(mkdir, 0, S_ISUID | 0777, 0),
	ROW(mknod, 0, S_IFREG | S_ISUID, 0), ROW(mknod, 0, S_IFIFO | S_ISGID, 0),
	ROW(mknodat, 0, 0, S_IFREG | S_ISUID), ROW(mknodat, 0, 0, S_IFREG | S_ISGID),

	ROW4(mmap, 0, 4096, 3, 2), ROW4(mmap, 0, 4096, 5, 2), ROW4(mmap, 0, 4096, 7, 0x22),
	ROW4(mmap, 0, 4096, 5, 1), ROW4(mmap, 0, 4096, HIGH(5), 2),
	ROW(mprotect, 0, 4096, 3), ROW(mprotect, 0, 4096, 5), ROW(mprotect, 0, 4096, HIGH(4)),
	ROW(fcntl, 0, F_GETFL, 0), ROW(fcntl, 0, F_SETFD, 0), ROW(fcntl, 0, F_SETPIPE_SZ, 0),
	ROW(fcntl, 0, F_SETOWN, 0), ROW(fcntl, 0, F_SETSIG, 0), ROW(fcntl, 0, F_NOTIFY, 0),
	ROW(fcntl, 0, F_SETLEASE, 0), ROW(fcntl, 0, HIGH(F_SETLEASE), 0),
	ROW(fcntl, 0, 1040 /* F_SETDELEG */, 0), ROW(fcntl, 0, F_SETLK, 0),
	ROW(fcntl, 0, F_ADD_SEALS, 0),

	ROW4(prlimit64, 0, 7, 0, 0), ROW4(prlimit64, 0, 7, 1, 0), ROW4(prlimit64, 2, 7, 0, 0),
	ROW4(prlimit64, 2, 7, 1, 0), ROW4(prlimit64, HIGH(0), 7, 1, 0),
	ROW(setpriority, 0, 0, 1), ROW(setpriority, 0, 2, 1), ROW(setpriority, 2, HIGH(0), 1),
	ROW(setpriority, 1, 0, 1), ROW(setpriority, 2, 0, 1),
	ROW(ioprio_set, 1, 0, 0), ROW(ioprio_set, 1, 2, 0), ROW(ioprio_set, 3, 0, 0),
	ROW(sched_setscheduler, 0, 0, 0), ROW(sched_setscheduler, 2, 0, 0),
	ROW(sched_setparam, 2, 0, 0), ROW(sched_setattr, 2, 0, 0),
	ROW(sched_setaffinity, 0, 0, 0), ROW(sched_setaffinity, 2, 0, 0),

	ROW(prctl, 0x1 /* pdeathsig */, 9, 0), ROW(prctl, 0xf /* name */, 0, 0),
	ROW(prctl, 0x4 /* dumpable */, 1, 0), ROW(prctl, 0x23 /* mm */, 0, 0),
	ROW(prctl, 0x53564d41 /* vma name */, 0, 0), ROW(prctl, 0x16 /* seccomp */, 2, 0),
	ROW(seccomp, 1, 0, 0), ROW(ptrace, 0, 0, 0), ROW(ptrace, 0x4206, 1, 0),
	ROW(tgkill, 1234, 1234, 6), ROW(tgkill, 1, 1, 6), ROW(kill, 0, 0, 0),
	ROW(pidfd_send_signal, 77, 9, 0), ROW(pidfd_send_signal, 77, 15, 0),
	ROW(pidfd_send_signal, 78, 9, 0), ROW(pidfd_send_signal, HIGH(77), 9, 0),
	ROW(setsockopt, 0, 1, 76), ROW(setsockopt, 0, 1, 16), ROW(getsockopt, 0, 1, 77),
	ROW(getsockopt, 0, 1, HIGH(77)), ROW(getsockopt, 0, 1, 17),
};

/* All of it; returns how many. */
static inline size_t
list_make(struct probe_call out[PROBE_CALLS_MAX])
{
	size_t n = 0;

	for (long nr = 0; nr < LIST_NUMBERS; nr++)
		if (nr != SYS_uretprobe && nr != SYS_uprobe)
			out[n++] = (struct probe_call){ .nr = nr };
	memcpy(out + n, list_arguments, sizeof list_arguments);
	return n + sizeof list_arguments / sizeof list_arguments[0];
}

/* A line's first columns. */
static inline void
list_label(const struct probe_call *c, char *out, size_t size)
{
	char *name;

	if (c->text != NULL) {
		(void)snprintf(out, size, "%s", c->text);
		return;
	}
	name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)c->nr);
	(void)snprintf(out, size, "%ld %s", c->nr, name != NULL ? name : "-");
	free(name);
}

struct list_filter {
	const char *name;
	void (*load)(void *ctx);	/* in a child that has no_new_privs */
	void *ctx;
};

/* The table of answers, owned: a line a call, a column a filter. */
static inline char *
list_ask(const struct list_filter *filters, size_t n)
{
	static struct probe_call calls[PROBE_CALLS_MAX];
	static int answers[16][PROBE_CALLS_MAX];
	size_t ncalls = list_make(calls), size = 1u << 20, used = 0;
	char *text = calloc(1, size), label[160];

	ck_assert_ptr_nonnull(text);
	ck_assert_uint_le(n, 16);
	used += (size_t)snprintf(text, size, "call");
	for (size_t f = 0; f < n; f++) {
		probe_calls(calls, ncalls, filters[f].load, filters[f].ctx, answers[f]);
		used += (size_t)snprintf(text + used, size - used, "\t%s", filters[f].name);
	}
	for (size_t i = 0; i < ncalls; i++) {
		list_label(&calls[i], label, sizeof label);
		used += (size_t)snprintf(text + used, size - used, "\n%s", label);
		for (size_t f = 0; f < n; f++)
			used += (size_t)snprintf(text + used, size - used, "\t%s",
			    probe_word(answers[f][i]));
	}
	(void)snprintf(text + used, size - used, "\n");
	return text;
}

#endif
