/* SPDX-License-Identifier: Apache-2.0
 *
 * What is attacked: a process of the host that has a secret in its memory, environment,
 * descriptors, sockets, shared memory and keyring, listens everywhere, and writes down what
 * reaches it. One for each check.
 *
 *   target OUT WORKSPACE    (secret in $TARGET_SECRET)
 *   target leak OUT COMMAND...      COMMAND inherits 7 (a file), 8 (OUT), 9 (a socket to us)
 *   target pty COMMAND...           COMMAND has a terminal; says so when one typed into it
 *
 * Writes OUT/target.env (where everything is) when it is ready, OUT/got with a line for each
 * signal and message. Ends after two minutes. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#define SECRET_FD 20
#define PROTO_MPTCP 262
#define PEERS_MAX 32

static char secret[128];
static int got_fd;

static void
got(const char *what, const char *text, size_t n)
{
	(void)dprintf(got_fd, "%s %.*s\n", what, (int)n, text);
}

static void
on_signal(int sig)
{
	char line[] = "signal 00\n";
	int saved = errno;

	line[7] = (char)('0' + sig / 10);
	line[8] = (char)('0' + sig % 10);
	(void)!write(got_fd, line, sizeof line - 1);
	errno = saved;
}

/* ---- sockets ------------------------------------------------------------------------- */
static int
loopback(int family, int type, int proto, int *ret_port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *a = family == AF_INET ? (void *)&four : (void *)&six;
	socklen_t n = family == AF_INET ? sizeof four : sizeof six;
	int s = socket(family, type | SOCK_CLOEXEC, proto), five = 5;

	*ret_port = 0;
	if (s < 0 || bind(s, a, n) < 0)
		return -1;
	if (proto == 0 && type == SOCK_STREAM)
		(void)setsockopt(s, IPPROTO_TCP, 23 /* TCP_FASTOPEN */, &five, sizeof five);
	if (type == SOCK_STREAM && listen(s, 16) < 0)
		return -1;
	(void)getsockname(s, a, &n);
	*ret_port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
	return s;
}

static int
local(const char *dir, const char *name, int type)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof a;

	if (dir == NULL)
		n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
		    (size_t)snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "%s", name));
	else
		(void)snprintf(a.sun_path, sizeof a.sun_path, "%s/%s", dir, name);
	if (bind(s, (struct sockaddr *)&a, n) < 0)
		return -1;
	if (dir != NULL)
		(void)chmod(a.sun_path, 0777);
	return type == SOCK_STREAM && listen(s, 16) < 0 ? -1 : s;
}

static void
send_secret_fd(int s)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec one = { "x", 1 };
	struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = SECRET_FD;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	(void)sendmsg(s, &m, MSG_NOSIGNAL);
}

/* A peer is told the secret at once; what it says is written down; "fd?" gets a descriptor. */
static void
serve(struct pollfd *p, int listeners, int datagrams)
{
	int n = listeners + datagrams;
	char b[2048];
	ssize_t r;

	for (;;) {
		if (poll(p, (nfds_t)n, -1) < 0)
			continue;
		for (int i = 0; i < n; i++) {
			if (p[i].revents == 0)
				continue;
			if (i < listeners) {
				int s = accept4(p[i].fd, NULL, NULL, SOCK_CLOEXEC);

				if (s >= 0)
					(void)send(s, secret, strlen(secret), MSG_NOSIGNAL);
				if (s >= 0 && n < PEERS_MAX)
					p[n++] = (struct pollfd){ .fd = s, .events = POLLIN };
				continue;
			}
			r = recv(p[i].fd, b, sizeof b, 0);
			if (r > 0)
				got(i < listeners + datagrams ? "datagram" : "stream", b,
				    (size_t)r);
			if (r == 3 && memcmp(b, "fd?", 3) == 0)
				send_secret_fd(p[i].fd);
			if (r <= 0 && i >= listeners + datagrams) {
				(void)close(p[i].fd);
				p[i--] = p[--n];
			}
		}
	}
}

/* ---- the target ---------------------------------------------------------------------- */
static void
take_signals(void)
{
	static const int sigs[] = { SIGUSR1, SIGUSR2, SIGHUP, SIGURG, SIGIO, SIGINT, SIGTERM,
		SIGWINCH, SIGCONT };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < sizeof sigs / sizeof sigs[0]; i++)
		(void)sigaction(sigs[i], &sa, NULL);
}

static void
take_memory(FILE *env, const char *out)
{
	int shm = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666), fd;
	char name[64], path[4096];
	void *m = shmat(shm, NULL, 0);
	long key;

	if (m != (void *)-1)
		(void)strcpy(m, secret);
	(void)shmctl(shm, IPC_RMID, NULL);
	(void)snprintf(name, sizeof name, "target:%d", getpid());
	key = syscall(SYS_add_key, "user", name, secret, strlen(secret), -4 /* user's */);
	if (key > 0)
		(void)syscall(SYS_keyctl, 15 /* SET_TIMEOUT */, key, 120);
	(void)snprintf(path, sizeof path, "%s/canary", out);
	fd = open(path, O_RDONLY);
	if (dup2(fd, SECRET_FD) < 0)
		exit(2);
	(void)fprintf(env, "SHM=%d\nKEY=%ld\nKEYNAME=%s\nADDRESS=%p\nSECRET_FD=%d\n", shm, key,
	    name, (void *)secret, SECRET_FD);
}

static int
target(const char *out, const char *ws)
{
	struct pollfd p[PEERS_MAX] = { { 0 } };
	char name[64], path[4096], ready[4096];
	int tcp4, tcp6, mptcp, udp4, udp6, n = 0;
	FILE *env;

	(void)snprintf(path, sizeof path, "%s/got", out);
	got_fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	(void)snprintf(path, sizeof path, "%s/target.env.new", out);
	env = fopen(path, "we");
	if (got_fd < 0 || env == NULL || chdir(out) < 0 || setpgid(0, 0) < 0)
		return 2;
	take_signals();
	take_memory(env, out);
	(void)snprintf(name, sizeof name, "target-%d", getpid());
	p[n++].fd = loopback(AF_INET, SOCK_STREAM, 0, &tcp4);
	p[n++].fd = loopback(AF_INET6, SOCK_STREAM, 0, &tcp6);
	p[n++].fd = loopback(AF_INET, SOCK_STREAM, PROTO_MPTCP, &mptcp);
	p[n++].fd = local(NULL, name, SOCK_STREAM);
	p[n++].fd = local(out, "sock", SOCK_STREAM);
	p[n++].fd = local(ws, ".host.sock", SOCK_STREAM);
	p[n++].fd = loopback(AF_INET, SOCK_DGRAM, 0, &udp4);
	p[n++].fd = loopback(AF_INET6, SOCK_DGRAM, 0, &udp6);
	(void)strcat(name, "-d");
	p[n++].fd = local(NULL, name, SOCK_DGRAM);
	name[strlen(name) - 2] = '\0';
	p[n++].fd = local(out, "dsock", SOCK_DGRAM);
	p[n++].fd = local(ws, ".host.dsock", SOCK_DGRAM);
	for (int i = 0; i < PEERS_MAX; i++)
		p[i].events = POLLIN;
	(void)fprintf(env, "TARGET=%d\nTCP4=%d\nTCP6=%d\nMPTCP=%d\nUDP4=%d\nUDP6=%d\nABSTRACT=%s\n",
	    getpid(), tcp4, tcp6, mptcp, udp4, udp6, name);
	(void)fclose(env);
	(void)snprintf(ready, sizeof ready, "%s/target.env", out);
	if (rename(path, ready) < 0)
		return 2;
	(void)alarm(120);
	serve(p, 6, n - 6);
	return 0;
}

/* ---- ways to start a command ---------------------------------------------------------- */
static int
leak(const char *out, char **argv)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char path[4096];
	int s = socket(AF_UNIX, SOCK_STREAM, 0), f, d;

	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s/sock", out);
	(void)snprintf(path, sizeof path, "%s/canary", out);
	if (connect(s, (struct sockaddr *)&a, sizeof a) < 0)
		return 2;
	s = fcntl(s, F_DUPFD, 60);
	f = fcntl(open(path, O_RDWR), F_DUPFD, 60);
	d = fcntl(open(out, O_RDONLY | O_DIRECTORY), F_DUPFD, 60);
	if (s < 0 || f < 0 || d < 0 || dup2(f, 7) < 0 || dup2(d, 8) < 0 || dup2(s, 9) < 0)
		return 2;
	for (int i = 10; i < 256; i++)
		(void)close(i);
	(void)execvp(argv[0], argv);
	return 127;
}

static void
pass_on(int from, int ms)
{
	struct pollfd p = { .fd = from, .events = POLLIN };
	char b[4096];
	ssize_t n;

	while (poll(&p, 1, ms) > 0 && (n = read(from, b, sizeof b)) > 0)
		(void)!write(STDOUT_FILENO, b, (size_t)n);
}

static int
pty(char **argv)
{
	struct termios t;
	char b[256] = "";
	int master, slave, status = 0;
	pid_t p;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0 || tcgetattr(slave, &t) < 0)
		return 2;
	cfmakeraw(&t);
	(void)tcsetattr(slave, TCSANOW, &t);
	(void)fcntl(master, F_SETFD, FD_CLOEXEC);
	p = fork();
	if (p == 0) {
		(void)login_tty(slave);
		(void)execvp(argv[0], argv);
		_exit(127);
	}
	while (waitpid(p, &status, WNOHANG) == 0)
		pass_on(master, 50);
	pass_on(master, 50);
	(void)fcntl(slave, F_SETFL, O_NONBLOCK);
	if (read(slave, b, sizeof b - 1) > 0 && strstr(b, "TYPED") != NULL)
		(void)puts("escaped: typed into the terminal of the launcher");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int
main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "leak") == 0)
		return leak(argv[2], argv + 3);
	if (argc > 2 && strcmp(argv[1], "pty") == 0)
		return pty(argv + 2);
	if (argc != 3 || getenv("TARGET_SECRET") == NULL)
		return 2;
	(void)snprintf(secret, sizeof secret, "%s", getenv("TARGET_SECRET"));
	return target(argv[1], argv[2]);
}
