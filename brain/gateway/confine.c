/* SPDX-License-Identifier: Apache-2.0
 *
 * Confinement of ats-gateway. Runs in it, once, before a byte of an upstream is read. */
#include "brain/gateway/confine.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/confine/daemon.h"
#include "common/confine/landlock.h"
#include "proto/gateway_config.h"

#define DNS 53

#define YES(name) ATS_SECCOMP_CALL(ATS_SECCOMP_ALLOW, name)
#define YES_IF(name, ...) ATS_SECCOMP_IF(ATS_SECCOMP_ALLOW, name, __VA_ARGS__)
#define NO_EXEC(name) YES_IF(name, ATS_SECCOMP_ARG_MASK(2, PROT_EXEC, 0))
/* Not raw, and no protocol that Landlock does not know the ports of (MPTCP). */
#define SOCKET(family, type, protocol)                                                   \
	YES_IF("socket", ATS_SECCOMP_ARG_EQ(0, family), ATS_SECCOMP_ARG_MASK(1, 0xf, type), \
	    ATS_SECCOMP_ARG_EQ(2, protocol))

/* What libcurl, OpenSSL, libevent and the C library's resolver call, threads among it. The rest
 * answers ENOSYS: libraries know that from old kernels. */
static const struct ats_seccomp_rule http_rules[] = {
	/* memory */
	YES("brk"), NO_EXEC("mmap"), NO_EXEC("mprotect"), YES("munmap"), YES("mremap"),
	YES("madvise"),
	YES("mlock"), YES("munlock"),
	/* descriptors */
	YES("read"), YES("write"), YES("readv"), YES("writev"), YES("pread64"), YES("pwrite64"),
	YES("close"), YES("close_range"), YES("lseek"), YES("dup"), YES("dup3"), YES("fcntl"),
	YES_IF("ioctl", ATS_SECCOMP_ARG_EQ(1, FIONBIO)),
	YES_IF("ioctl", ATS_SECCOMP_ARG_EQ(1, FIONREAD)),
	YES("pipe2"), YES("eventfd2"), YES("splice"), YES("tee"),
	YES("openat"), YES("fstat"), YES("newfstatat"), YES("statx"), YES("readlinkat"),
	YES("faccessat"), YES("faccessat2"), YES("getdents64"), YES("statfs"), YES("fstatfs"),
#ifdef __x86_64__
	YES("open"), YES("stat"), YES("lstat"), YES("access"), YES("readlink"), YES("poll"),
	YES("select"), YES("pipe"), YES("getdents"), YES("epoll_wait"), YES("epoll_create"),
	YES("time"), YES("arch_prctl"), YES("dup2"), YES("eventfd"),
#endif
	/* waiting */
	YES("ppoll"), YES("pselect6"), YES("epoll_create1"), YES("epoll_ctl"),
	YES("epoll_pwait"), YES("epoll_pwait2"), YES("timerfd_create"), YES("timerfd_settime"),
	YES("futex"), YES("nanosleep"), YES("clock_nanosleep"), YES("sched_yield"),
	YES("restart_syscall"),
	/* sockets: TCP and UDP to elsewhere, and the routes that getaddrinfo(3) asks for */
	SOCKET(AF_INET, SOCK_STREAM, 0), SOCKET(AF_INET, SOCK_STREAM, IPPROTO_TCP),
	SOCKET(AF_INET6, SOCK_STREAM, 0), SOCKET(AF_INET6, SOCK_STREAM, IPPROTO_TCP),
	SOCKET(AF_INET, SOCK_DGRAM, 0), SOCKET(AF_INET, SOCK_DGRAM, IPPROTO_UDP),
	SOCKET(AF_INET6, SOCK_DGRAM, 0), SOCKET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP),
	YES_IF("socket", ATS_SECCOMP_ARG_EQ(0, AF_NETLINK), ATS_SECCOMP_ARG_EQ(2, 0)),
	YES_IF("socketpair", ATS_SECCOMP_ARG_EQ(0, AF_UNIX)),
	YES("connect"), YES("bind"), YES("sendto"), YES("recvfrom"), YES("sendmsg"),
	YES("recvmsg"), YES("sendmmsg"), YES("recvmmsg"), YES("shutdown"), YES("getsockname"),
	YES("getpeername"), YES("getsockopt"), YES("setsockopt"),
	/* itself */
	YES("exit"), YES("exit_group"), YES("getpid"), YES("gettid"), YES("getuid"),
	YES("geteuid"), YES("getgid"), YES("getegid"), YES("getrandom"), YES("uname"),
	YES("sysinfo"), YES("getrusage"), YES("sched_getaffinity"), YES("set_robust_list"),
	YES("rseq"), YES("membarrier"), YES("getcpu"), YES("clock_gettime"),
	YES("clock_getres"), YES("gettimeofday"),
	YES_IF("prlimit64", ATS_SECCOMP_ARG_EQ(0, 0)), YES("getrlimit"),
	/* a thread's name */
	YES_IF("prctl", ATS_SECCOMP_ARG_EQ(0, 15)),
	YES_IF("clone", ATS_SECCOMP_ARG_MASK(0, CLONE_THREAD, CLONE_THREAD)),
	YES("rt_sigaction"), YES("rt_sigprocmask"), YES("rt_sigreturn"), YES("sigaltstack"),
};

const struct ats_seccomp_table confine_http_table = {
	.name = "gateway-http",
	.def = ATS_SECCOMP_ERRNO(ENOSYS),
	.rules = http_rules,
	.n = ATS_ARRAY_LEN(http_rules),
};

static int
restrict_http(const struct ats_gw_config *c, const char *ca, struct ats_err *err)
{
	const struct ats_landlock_path paths[] = {
		/* names */
		{ "/etc/resolv.conf", -1, ATS_LL_READ, true },
		{ "/run/systemd/resolve", -1, ATS_LL_READ, true },
		{ "/run/NetworkManager", -1, ATS_LL_READ, true },
		{ "/etc/hosts", -1, ATS_LL_READ, true },
		{ "/etc/nsswitch.conf", -1, ATS_LL_READ, true },
		{ "/etc/gai.conf", -1, ATS_LL_READ, true },
		{ "/etc/host.conf", -1, ATS_LL_READ, true },
		{ "/etc/services", -1, ATS_LL_READ, true },
		/* certificates; links lead from the first to the others */
		{ "/etc/ssl/certs", -1, ATS_LL_READ, true },
		{ "/etc/pki", -1, ATS_LL_READ, true },
		{ "/etc/ca-certificates", -1, ATS_LL_READ, true },
		{ "/usr/share/ca-certificates", -1, ATS_LL_READ, true },
		{ "/usr/local/share/ca-certificates", -1, ATS_LL_READ, true },
		{ ca, -1, ATS_LL_READ, true },
	};
	const struct ats_landlock_port ports[] = {
		{ c->url.port, ATS_LL_CONNECT_TCP },
		{ DNS, ATS_LL_CONNECT_TCP },
	};
	const struct ats_landlock_rules ll = {
		.fs = ATS_LL_FS_ALL,
		.net = ATS_LL_NET_ALL,
		.scope = ATS_LL_SCOPE_ALL,
		.paths = paths,
		.npaths = ATS_ARRAY_LEN(paths) - (ca == NULL),
		.ports = ports,
		.nports = ATS_ARRAY_LEN(ports),
	};

	return ats_confine_reach(&ll, err);
}

int
confine_gateway(const struct ats_gw_config *c, const char *ca, struct ats_err *err)
{
	static const struct ats_seccomp_table *const http[] = { &confine_http_table };
	static const struct ats_seccomp_table *const programs[] = { &ats_seccomp_base };
	int rc = ats_confine_daemon(0, err);

	if (rc == 0 && c->has_url)
		rc = restrict_http(c, ca, err);
	if (rc < 0)
		return rc;
	return ats_seccomp_install(c->has_url ? http : programs, 1, err);
}
