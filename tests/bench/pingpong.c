/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts a program that echoes and times one line of SIZE bytes through it and back, over pipes.
 * usage: pingpong ROUNDS SIZE PROGRAM [ARG ...]
 * Prints {"median_us":..,"p90_us":..}. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/bench/bench.h"

#define WARMUP 50

static void
read_all(int fd, char *p, size_t n)
{
	while (n > 0) {
		ssize_t r = read(fd, p, n);

		if (r <= 0)
			bench_die("the program ended");
		p += r;
		n -= (size_t)r;
	}
}

int
main(int argc, char **argv)
{
	struct samples us = { 0 };
	static char line[1 << 16], back[sizeof(line)];
	int in[2], out[2], rounds = argc > 3 ? atoi(argv[1]) : 0;
	size_t size = argc > 3 ? (size_t)atoi(argv[2]) : 0;
	pid_t pid;

	if (rounds < 1 || size < 1 || size > sizeof(line))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	if (pipe(in) != 0 || pipe(out) != 0)
		bench_die("pipe");
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close_range(3, ~0u, 0);
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	memset(line, 'x', size);
	line[size - 1] = '\n';
	for (int i = 0; i < WARMUP + rounds; i++) {
		uint64_t t = bench_ns();

		line[0] = (char)('a' + i % 26);
		bench_write_all(in[1], line, size);
		read_all(out[0], back, size);
		if (i >= WARMUP)
			samples_add(&us, (double)(bench_ns() - t) / 1e3);
		if (memcmp(line, back, size) != 0) {
			fprintf(stderr, "pingpong: another line came back\n");
			return 1;
		}
	}
	close(in[1]);
	waitpid(pid, NULL, 0);
	printf("{\"median_us\":%.2f,\"p90_us\":%.2f}\n", samples_quantile(&us, 0.5),
	    samples_quantile(&us, 0.9));
	return 0;
}
