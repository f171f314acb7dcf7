/* SPDX-License-Identifier: Apache-2.0
 *
 * Attacks on processes of the host ($TARGET), and for privilege. */
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "attack.h"

#define PIDFD_GETFD 438

static pid_t
target(void)
{
	return (pid_t)number("TARGET");
}

static void *
address(void)
{
	return (void *)strtoul(word("ADDRESS"), NULL, 0);
}

/* ---- signals: the target writes down what arrives ------------------------------------- */
void
attack_signals(void)
{
	union sigval v = { 0 };
	int fd = (int)syscall(SYS_pidfd_open, target(), 0);

	(void)kill(target(), SIGUSR1);
	(void)syscall(SYS_tkill, target(), SIGUSR2);
	(void)syscall(SYS_tgkill, target(), target(), SIGUSR2);
	(void)sigqueue(target(), SIGHUP, v);
	if (fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, fd, SIGURG, NULL, 0);
}

void
attack_signal_groups(void)
{
	(void)signal(SIGWINCH, SIG_IGN);
	(void)signal(SIGCONT, SIG_IGN);
	(void)kill(-target(), SIGWINCH);	/* it leads a group */
	(void)killpg(target(), SIGCONT);
	(void)kill(-1, SIGWINCH);
}

void
attack_async_owner(void)
{
	struct f_owner_ex o = { F_OWNER_PID, target() };
	int p[2];

	if (pipe(p) < 0)
		return;
	(void)fcntl(p[0], F_SETOWN, target());
	(void)fcntl(p[0], F_SETSIG, SIGUSR1);
	(void)fcntl(p[0], F_SETFL, O_ASYNC);
	(void)!write(p[1], "x", 1);
	(void)fcntl(p[0], F_SETOWN_EX, &o);
	(void)!write(p[1], "x", 1);
}

/* ---- memory, descriptors -------------------------------------------------------------- */
void
attack_trace(void)
{
	long rc = ptrace(PTRACE_SEIZE, target(), NULL, NULL);

	if (must_fail(rc, "PTRACE_SEIZE")) {
		(void)ptrace(PTRACE_INTERRUPT, target(), NULL, NULL);
		(void)waitpid(target(), NULL, __WALL);
		(void)ptrace(PTRACE_DETACH, target(), NULL, NULL);
		return;
	}
	rc = ptrace(PTRACE_ATTACH, target(), NULL, NULL);
	if (must_fail(rc, "PTRACE_ATTACH")) {
		(void)waitpid(target(), NULL, __WALL);
		(void)ptrace(PTRACE_DETACH, target(), NULL, NULL);
	}
}

void
attack_vm_read(void)
{
	char b[100] = "";
	struct iovec l = { b, 99 }, r = { address(), 99 };

	if (process_vm_readv(target(), &l, 1, &r, 1, 0) > 0)
		(void)puts(b);
	else
		REFUSED("process_vm_readv: %s", strerror(errno));
}

void
attack_vm_write(void)
{
	struct iovec l = { (char[]){ 'x' }, 1 }, r = { (char *)address() + 100, 1 };

	(void)must_fail(process_vm_writev(target(), &l, 1, &r, 1, 0), "process_vm_writev");
}

void
attack_mem_file(void)
{
	char path[64], b[100] = "";
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/mem", target());
	fd = open(path, O_RDWR);
	if (must_fail(fd, path) && pread(fd, b, 99, (off_t)(uintptr_t)address()) > 0)
		(void)puts(b);
	(void)snprintf(path, sizeof path, "/proc/%d/maps", target());
	must_not_open(path, O_RDONLY);
}

void
attack_steal_fd(void)
{
	int p = (int)syscall(SYS_pidfd_open, target(), 0);
	int fd = (int)syscall(PIDFD_GETFD, p, (int)number("SECRET_FD"), 0);

	if (!must_fail(fd, "pidfd_getfd"))
		return;
	(void)lseek(fd, 0, SEEK_SET);
	print_from(fd);
}

/* Each descriptor that was inherited is asked for another one, and told something. */
void
attack_leaked_socket(void)
{
	for (int s = 3; s < 1024; s++) {
		char control[CMSG_SPACE(sizeof(int))], b[8];
		struct iovec one = { b, sizeof b };
		struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = control,
			.msg_controllen = sizeof control };
		struct timeval second = { 1, 0 };
		struct cmsghdr *c = NULL;
		int fd;

		if (send(s, "fd?", 3, MSG_NOSIGNAL) != 3)
			continue;
		ESCAPED("descriptor %d takes messages", s);
		(void)setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
		while (c == NULL && recvmsg(s, &m, 0) > 0) {
			c = CMSG_FIRSTHDR(&m);
			m.msg_controllen = sizeof control;
		}
		if (c == NULL)
			continue;
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
		(void)lseek(fd, 0, SEEK_SET);
		print_from(fd);
	}
	REFUSED("looked at all of them");
}

/* ---- what it may use ------------------------------------------------------------------ */
void
attack_limits_of_target(void)
{
	struct rlimit r = { 64, 64 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	(void)must_fail(prlimit(target(), RLIMIT_NOFILE, &r, NULL), "prlimit");
	(void)must_fail(setpriority(PRIO_PROCESS, (id_t)target(), 7), "setpriority");
	(void)must_fail(sched_setaffinity(target(), sizeof one, &one), "sched_setaffinity");
}

void
attack_class_of_target(void)
{
	struct sched_param zero = { 0 };
	struct { uint32_t size, policy; uint64_t rest[6]; } attr = { 48, SCHED_BATCH, { 0 } };
	char path[64];
	int fd;

	(void)must_fail(sched_setscheduler(target(), SCHED_BATCH, &zero), "sched_setscheduler");
	(void)must_fail(syscall(SYS_sched_setattr, target(), &attr, 0), "sched_setattr");
	(void)must_fail(syscall(SYS_ioprio_set, 1, target(), 3 << 13), "ioprio_set");
	(void)must_fail(syscall(SYS_ioprio_set, 1, target(), 2 << 13 | 7), "ioprio_set");
	(void)snprintf(path, sizeof path, "/proc/%d/oom_score_adj", target());
	fd = open(path, O_WRONLY);
	if (must_fail(fd, path))
		(void)!write(fd, "900", 3);
}

void
attack_advise_target(void)
{
	void *page = (void *)((uintptr_t)address() & ~(uintptr_t)4095);
	struct iovec v = { page, 4096 };
	int fd = (int)syscall(SYS_pidfd_open, target(), 0), status = 0;
	struct { void *list; size_t size; } robust;

	(void)must_fail(syscall(440, fd, &v, 1, 20 /* MADV_COLD */, 0), "process_madvise");
	(void)must_fail(syscall(SYS_kcmp, target(), getpid(), 2, 0, 0), "kcmp");
	(void)must_fail(syscall(SYS_move_pages, target(), 1, &page, NULL, &status, 0),
	    "move_pages");
	(void)must_fail(syscall(448 /* process_mrelease */, fd, 0), "process_mrelease");
	(void)must_fail(syscall(SYS_get_robust_list, target(), &robust.list, &robust.size),
	    "get_robust_list");
}

/* Programs of processes above, pids as arguments. Busy means: it could be reached. */
void
attack_exe_write(void)
{
	char path[64];

	for (char **p = arguments; *p != NULL; p++) {
		int fd;

		(void)snprintf(path, sizeof path, "/proc/%s/exe", *p);
		fd = open(path, O_WRONLY);
		if (fd >= 0 || errno == ETXTBSY)
			ESCAPED("%s can be written", path);
		else
			REFUSED("%s: %s", path, strerror(errno));
		(void)close(fd);
	}
}

/* Off its session, its parent and its descriptors; writes a beat to the workspace. */
void
attack_orphan(void)
{
	if (fork() != 0) {
		(void)wait(NULL);
		return;
	}
	(void)setsid();
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	if (fork() != 0)
		_exit(0);
	for (int fd = 0; fd < 64; fd++)
		(void)close(fd);
	for (int i = 0; i < 100; i++) {
		int fd = open("beat", O_CREAT | O_WRONLY | O_APPEND, 0600);

		(void)!write(fd, "x", 1);
		(void)close(fd);
		(void)usleep(50000);
	}
	_exit(0);
}

/* ---- privilege ------------------------------------------------------------------------ */
static uint64_t
capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	(void)syscall(SYS_capget, &h, d);
	return (d[0].effective | d[0].permitted | d[0].inheritable) |
	    (uint64_t)(d[1].effective | d[1].permitted | d[1].inheritable) << 32;
}

/* The first argument is a copy of this program, setuid of somebody else. */
void
attack_become_setuid(void)
{
	char id[16];
	struct stat st;

	(void)snprintf(id, sizeof id, "%d", geteuid());
	if (arguments[1] != NULL) {
		if (strcmp(arguments[1], id) != 0)
			ESCAPED("uid is %s now", id);
		else
			REFUSED("uid is still %s", id);
		return;
	}
	if (stat(arguments[0], &st) < 0 || (st.st_mode & S_ISUID) == 0 || st.st_uid == geteuid())
		ABSENT("no setuid program of another user");
	else if (execl(arguments[0], "setuid", "become_setuid", arguments[0], id, NULL) < 0)
		REFUSED("exec: %s", strerror(errno));
}

void
attack_become_capable(void)
{
	if (arguments[1] != NULL) {
		if (capabilities() != 0)
			ESCAPED("capabilities %#llx", (unsigned long long)capabilities());
		else
			REFUSED("no capability");
		return;
	}
	if (getxattr(arguments[0], "security.capability", NULL, 0) <= 0)
		ABSENT("no program with a capability");
	else if (execl(arguments[0], "capable", "become_capable", arguments[0], "1", NULL) < 0)
		REFUSED("exec: %s", strerror(errno));
}

void
attack_no_privilege(void)
{
	int bounding = 0, ambient = 0;

	for (int i = 0; i < 64; i++) {
		bounding += prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1;
		ambient += prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1;
	}
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		ESCAPED("no_new_privs is off");
	if ((prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) & 0x3) != 0x3)
		ESCAPED("root would have all capabilities");
	if (capabilities() != 0)
		ESCAPED("capabilities %#llx", (unsigned long long)capabilities());
	if (bounding + ambient > 0)
		ESCAPED("bounding set of %d, ambient set of %d", bounding, ambient);
	REFUSED("no more than that");
}

void
attack_root_ids(void)
{
	uid_t r, e, s;

	(void)must_fail(setresuid(0, 0, 0), "setresuid(0)");
	(void)must_fail(setuid(1), "setuid(1)");
	(void)must_fail(setgid(0), "setgid(0)");
	if (getresuid(&r, &e, &s) == 0 && (r == 0 || e == 0 || s == 0))
		ESCAPED("is uid 0");
}

void
attack_filter_on(void)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
		ESCAPED("no filter of system calls");
	else
		REFUSED("a filter is on");
}

void
attack_real_time(void)
{
	struct sched_param one = { 1 }, zero = { 0 };
	int rc = sched_setscheduler(0, SCHED_FIFO, &one);

	if (must_fail(rc, "SCHED_FIFO"))
		(void)sched_setscheduler(0, SCHED_OTHER, &zero);
	(void)must_fail(sched_setscheduler(0, SCHED_RR, &one), "SCHED_RR");
	(void)must_fail(setpriority(PRIO_PROCESS, 0, -10), "a nice of -10");
	(void)must_fail(syscall(SYS_ioprio_set, 1, 0, 1 << 13), "real-time I/O");
}

void
attack_core(void)
{
	struct rlimit r = { 0, 0 };
	int status = 0;
	pid_t p;

	(void)getrlimit(RLIMIT_CORE, &r);
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_CORE, &r);
	p = fork();
	if (p == 0)
		abort();
	(void)waitpid(p, &status, 0);
	if (WCOREDUMP(status) || r.rlim_max != 0)
		ESCAPED("a core of up to %llu bytes", (unsigned long long)r.rlim_max);
	else
		REFUSED("no core");
}
