/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts ats-hands as the spawner does and times exec to its hello and to its ready.
 * usage: handsstart ATS-HANDS DIR ROUNDS; DIR is an empty folder.
 * Prints {"hello_ms":..,"ready_ms":..} (medians). */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/bench/bench.h"

#define HEAD 20u

static void
read_all(int fd, unsigned char *p, size_t n)
{
	while (n > 0) {
		ssize_t r = read(fd, p, n);

		if (r <= 0)
			bench_die("hands closed the link");
		p += r;
		n -= (size_t)r;
	}
}

static uint32_t
get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads one frame; its JSON lands in json, NUL-terminated. */
static void
read_frame(int fd, char *json, size_t size)
{
	unsigned char head[HEAD];
	uint32_t n;

	read_all(fd, head, HEAD);
	n = get32(head) - HEAD;
	if (n >= size)
		bench_die("a frame too large");
	read_all(fd, (unsigned char *)json, n);
	json[n] = '\0';
}

static void
send_hello(int fd, const char *theirs)
{
	static const char key[] = "\"digest\":\"";
	unsigned char head[HEAD] = { 0 };
	const char *digest = strstr(theirs, key);
	char json[512];
	uint32_t n, len;

	if (digest == NULL)
		bench_die("no digest in hello");
	n = (uint32_t)snprintf(json, sizeof(json), "{\"version_min\":1,\"version_max\":1,"
	    "\"digest\":\"%.64s\",\"role\":\"brain\",\"epoch\":1}", digest + sizeof(key) - 1);
	len = n + HEAD;
	for (int i = 0; i < 4; i++) {
		head[i] = (unsigned char)(len >> (24 - 8 * i));
		head[16 + i] = (unsigned char)(n >> (24 - 8 * i));
	}
	head[4] = 4;		/* CONTROL hello */
	head[5] = 1;
	bench_write_all(fd, head, HEAD);
	bench_write_all(fd, json, n);
}

static int
listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, 4) != 0)
		bench_die("listen");
	return fd;
}

static void
once(char *hands, const char *dir, int round, struct samples *hello, struct samples *ready)
{
	char state[256], path[300], ws[256], json[70000];
	char *env[] = { NULL };
	int link[2], sock;
	uint64_t t;
	pid_t pid;

	snprintf(ws, sizeof(ws), "%s/ws", dir);
	snprintf(state, sizeof(state), "%s/sb%d", dir, round);
	(void)mkdir(ws, 0700);
	(void)mkdir(state, 0700);
	snprintf(path, sizeof(path), "%s/home", state);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/spill", state);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/l.sock", state);
	sock = listen_at(path);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0)
		bench_die("socketpair");
	t = bench_ns();
	pid = fork();
	if (pid == 0) {
		char *argv[] = { hands, "--link-fd", "3", "--listen-fd", "4", "--workspace", ws,
			"--state-dir", state, "--sandbox", "b-000000000000", NULL };
		int a = fcntl(link[1], F_DUPFD, 20), b = fcntl(sock, F_DUPFD, 20);

		dup2(a, 3);
		dup2(b, 4);
		close_range(5, ~0u, 0);
		execve(hands, argv, env);
		_exit(127);
	}
	close(link[1]);
	close(sock);
	read_frame(link[0], json, sizeof(json));
	samples_add(hello, (double)(bench_ns() - t) / 1e6);
	send_hello(link[0], json);
	read_frame(link[0], json, sizeof(json));
	samples_add(ready, (double)(bench_ns() - t) / 1e6);
	/* Its end is waited for: it is not what is measured. */
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	close(link[0]);
}

int
main(int argc, char **argv)
{
	struct samples hello = { 0 }, ready = { 0 };

	if (argc != 4)
		return 2;
	for (int i = 0; i < atoi(argv[3]); i++)
		once(argv[1], argv[2], i, &hello, &ready);
	printf("{\"hello_ms\":%.2f,\"ready_ms\":%.2f}\n", samples_quantile(&hello, 0.5),
	    samples_quantile(&ready, 0.5));
	return 0;
}
