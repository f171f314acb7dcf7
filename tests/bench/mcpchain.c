/* SPDX-License-Identifier: Apache-2.0
 *
 * The floor of our own shape: an MCP client's line goes through the same hops as in ATS, with
 * nothing in them but the hand-over:
 *   stdin -> brain (this process) -> socketpair -> hands -> fresh confined worker -> back
 * With the argument "relay" one more process stands before brain, as atsctl mcp does. With
 * "replace" as well a worker does not read the file but replaces it: write, fsync, rename.
 * Hands keeps a pool of prefaulted workers, confined once by inheritance (Landlock and a
 * 60-rule seccomp filter), used once each and replaced when nothing is waiting. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/bench/bench.h"

#define POOL 8

struct worker {
	pid_t pid;
	int fd;
};

static char io[1 << 17];
static bool replaces;

static void
confine(void)
{
	static const char *const paths[] = { "/usr", "/etc", "/tmp", "/root", "/home", "/var" };
	struct landlock_ruleset_attr attr = { .handled_access_fs = (1ull << 13) - 1 };
	struct sock_filter f[128];
	unsigned short k = 0;
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (size_t i = 0; fd >= 0 && i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct landlock_path_beneath_attr b = {
			.allowed_access = replaces ? attr.handled_access_fs :
			    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
			.parent_fd = open(paths[i], O_PATH | O_CLOEXEC),
		};
		if (b.parent_fd >= 0) {
			syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &b, 0);
			close(b.parent_fd);
		}
	}
	if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) != 0)
		fprintf(stderr, "mcpchain: no Landlock here, the floor is a little too low\n");
	f[k++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	for (unsigned i = 0; i < 60; i++) {
		f[k++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1000 + i, 0, 1);
		f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
	}
	f[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { k, f };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
		bench_die("seccomp");
}

/* io holds what the file is to hold. */
static void
replace(const char *path, size_t n)
{
	char tmp[4096 + 8];
	int fd;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, io + 8, n) != (ssize_t)n || fsync(fd) < 0 ||
	    rename(tmp, path) < 0)
		bench_die("replace");
	close(fd);
}

static void
worker_main(int fd)
{
	char path[4096];
	ssize_t n;
	int file;
	uint64_t head;

	for (size_t i = 0; i < sizeof(io); i += 4096)
		((volatile char *)io)[i] = 0;
	file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)!read(file, io, 16);
	close(file);
	n = read(fd, path, sizeof(path) - 1);
	if (n <= 0)
		_exit(0);
	path[n] = '\0';
	file = open(path, O_RDONLY | O_CLOEXEC);
	n = file >= 0 ? read(file, io + 8, 65536) : 0;
	head = n > 0 ? (uint64_t)n : 0;
	if (replaces && head > 0) {
		replace(path, (size_t)head);
		head = 500;		/* its answer is not the file */
	}
	memcpy(io, &head, 8);
	bench_write_all(fd, io, 8 + (size_t)head);
	_exit(0);
}

static struct worker
worker_new(const struct worker pool[POOL])
{
	int s[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) != 0)
		bench_die("socketpair");
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < POOL; i++)
			if (pool[i].fd >= 0)
				close(pool[i].fd);
		close(s[0]);
		worker_main(s[1]);
	}
	close(s[1]);
	return (struct worker){ pid, s[0] };
}

/* Reads one length-prefixed answer into io; returns its whole size, 0 at EOF. */
static size_t
read_answer(int fd)
{
	size_t got = 0;
	uint64_t head = 0;

	while (got < 8 || got < 8 + head) {
		ssize_t r = read(fd, io + got, sizeof(io) - got);

		if (r <= 0)
			return 0;
		got += (size_t)r;
		memcpy(&head, io, 8);
	}
	return got;
}

static void
hands_main(int link)
{
	struct worker pool[POOL];
	char job[4096];
	unsigned next = 0;

	confine();
	for (int i = 0; i < POOL; i++)
		pool[i].fd = -1;
	for (;;) {
		struct pollfd p = { .fd = link, .events = POLLIN };
		struct timespec idle = { 0, 200000 };
		int missing = 0;
		ssize_t n;
		size_t size;

		for (int i = 0; i < POOL; i++)
			missing += pool[i].fd < 0;
		if (missing == POOL || (missing > 0 && ppoll(&p, 1, &idle, NULL) == 0)) {
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
			for (int i = 0; i < POOL; i++)
				if (pool[i].fd < 0)
					pool[i] = worker_new(pool);
			continue;
		}
		n = read(link, job, sizeof(job));
		if (n <= 0)
			break;
		while (pool[next % POOL].fd < 0)
			next++;
		bench_write_all(pool[next % POOL].fd, job, (size_t)n);
		size = read_answer(pool[next % POOL].fd);
		bench_write_all(link, io, size);
		close(pool[next % POOL].fd);
		pool[next % POOL].fd = -1;
	}
	_exit(0);
}

static size_t
escape(char *d, const char *s, size_t n)
{
	char *q = d;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '\n' || c == '\t' || c == '"' || c == '\\') {
			*q++ = '\\';
			*q++ = c == '\n' ? 'n' : c == '\t' ? 't' : (char)c;
		} else {
			*q++ = c < 0x20 ? ' ' : (char)c;
		}
	}
	return (size_t)(q - d);
}

static void
brain_main(int link)
{
	static char in[1 << 17], out[1 << 18];
	size_t n = 0;
	ssize_t r;

	while ((r = read(0, in + n, sizeof(in) - n - 1)) > 0) {
		char *nl;

		n += (size_t)r;
		in[n] = '\0';
		while ((nl = memchr(in, '\n', n)) != NULL) {
			char *id = strstr(in, "\"id\":"), *path = strstr(in, "\"path\":\"");
			size_t size = 0, len;

			*nl = '\0';
			if (id != NULL) {
				if (path != NULL && path < nl) {
					path += 8;
					bench_write_all(link, path, strcspn(path, "\""));
					size = read_answer(link);
				}
				len = (size_t)sprintf(out,
				    "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"content\":"
				    "[{\"type\":\"text\",\"text\":\"", atol(id + 5));
				if (size > 8)
					len += escape(out + len, io + 8, size - 8);
				len += (size_t)sprintf(out + len, "\"}]}}\n");
				bench_write_all(1, out, len);
			}
			n -= (size_t)(nl + 1 - in);
			memmove(in, nl + 1, n);
		}
	}
}

/* As atsctl mcp: lines in, lines out, over a Unix socket to brain. */
static void
relay_main(int sock)
{
	static char b[1 << 17];
	struct pollfd p[2] = { { 0, POLLIN, 0 }, { sock, POLLIN, 0 } };

	for (;;) {
		if (poll(p, 2, -1) < 0)
			continue;
		for (int i = 0; i < 2; i++) {
			ssize_t n;

			if (p[i].revents == 0)
				continue;
			n = read(p[i].fd, b, sizeof(b));
			if (n <= 0)
				_exit(0);
			bench_write_all(i == 0 ? sock : 1, b, (size_t)n);
		}
	}
}

int
main(int argc, char **argv)
{
	int link[2], up[2];

	replaces = argc > 2 && strcmp(argv[2], "replace") == 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, up) != 0)
		bench_die("socketpair");
	if (fork() == 0) {
		close(link[0]);
		close(up[0]);
		close(up[1]);
		close(0);
		close(1);
		hands_main(link[1]);
	}
	close(link[1]);
	if (argc > 1 && strcmp(argv[1], "relay") == 0) {
		if (fork() == 0) {
			close(up[0]);
			dup2(up[1], 0);
			dup2(up[1], 1);
			brain_main(link[0]);
			_exit(0);
		}
		close(up[1]);
		close(link[0]);
		relay_main(up[0]);
	}
	close(up[0]);
	close(up[1]);
	brain_main(link[0]);
	return 0;
}
