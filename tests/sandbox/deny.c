/* SPDX-License-Identifier: Apache-2.0
 *
 * deny NUMBER[/MASK] ERRNO PROGRAM ARG...: runs a program to which one system call always fails,
 * or with MASK (hexadecimal) when its first argument has one of these bits. ERRNO 0: nothing is
 * done, and the call says that it was. For tests that each confinement step fails closed. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const char *mask = argc > 1 ? strchr(argv[1], '/') : NULL;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argc > 1 ? (unsigned)atoi(argv[1]) : 0, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
		    mask != NULL ? (unsigned)strtoul(mask + 1, NULL, 16) : 0, 0, mask != NULL),
		BPF_STMT(BPF_RET | BPF_K,
		    SECCOMP_RET_ERRNO | (argc > 2 ? (unsigned)atoi(argv[2]) : 0)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof f / sizeof f[0], f };

	if (argc < 4 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p) < 0)
		return 1;
	execv(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
