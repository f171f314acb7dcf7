/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel ABI PROGRAM ARG...: runs a program to which this kernel says that its Landlock is that
 * old (1 to 7). Only the answer is false; what an older ABI does not know is not asked for. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE_RULESET 444

/* Until the program has ended. */
static void
answer(int fd, int program, int abi)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN },
		{ .fd = (int)syscall(SYS_pidfd_open, program, 0), .events = POLLIN } };
	struct seccomp_notif n;
	struct seccomp_notif_resp r;

	while (poll(p, 2, -1) >= 0 && p[1].revents == 0) {
		memset(&n, 0, sizeof n);
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
			if (errno != EINTR && errno != ENOENT)
				break;
			continue;
		}
		memset(&r, 0, sizeof r);
		r.id = n.id;
		if (n.data.args[2] == 1)	/* LANDLOCK_CREATE_RULESET_VERSION */
			r.val = abi;
		else
			r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CREATE_RULESET, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof f / sizeof f[0], f };
	int fd, self;

	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
	if (fd < 0)
		return 1;
	/* Who answers is no child of the program. */
	self = getpid();
	if (fork() == 0) {
		if (fork() == 0) {
			/* Nobody must wait for its copies to be closed. */
			dup2(fd, 0);
			close_range(1, ~0u, 0);
			answer(0, self, atoi(argv[1]));
		}
		_exit(0);
	}
	(void)wait(NULL);
	close(fd);
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
